import type { Limit, Max, Meter, Policy } from "./limit.ts";
import { meter } from "./limit.ts";
import type { Outcome, Spent, Trip, Verdict } from "./outcome.ts";

/**
 * What a run spends, in the order in which it is shown.
 *
 * - `turns`: model responses, each with the tool calls it asks for. Not counted: the repetition of a failed
 *   request, a compaction, a turn that the gate refused.
 * - `toolCalls`: calls that were let through, those made by other tools included. Not counted: refused calls.
 */
export const METER_IDS = ["turns", "toolCalls"] as const;

export type MeterId = (typeof METER_IDS)[number];

export type PerMeter<T> = Readonly<Record<MeterId, T>>;

export function perMeter<T>(make: (id: MeterId) => T): PerMeter<T> {
	return Object.fromEntries(METER_IDS.map((id) => [id, make(id)])) as PerMeter<T>;
}

/** What is known of the run in progress. */
export interface Run {
	readonly spent: Spent;
	/** `failed` until the host repeats the turn, which is then neither counted nor gated. */
	readonly turn: "ended" | "open" | { readonly failed: string };
	/** A yes admits one request of this meter, whatever its limit: so a limit of 0 can go on. */
	readonly pass?: MeterId | undefined;
	/** The last tool call that was let through, for the question. */
	readonly lastCall?: string;
}

export type Phase =
	/** Between runs. `extra` was granted meanwhile, for the next run's first round. */
	| { readonly name: "idle"; readonly prompted: boolean; readonly extra: PerMeter<number> }
	| { readonly name: "running"; readonly run: Run }
	| { readonly name: "asking"; readonly run: Run; readonly meter: MeterId }
	/** The final pass. `told`: the model has its instruction, as a message or as refused calls' results. */
	| Finishing
	/** Decided: no request leaves until the host has settled. */
	| { readonly name: "stopped"; readonly run: Run; readonly verdict: Verdict };

interface Finishing {
	readonly name: "finishing";
	readonly run: Run;
	readonly trip: Trip;
	readonly turns: number;
	readonly told: boolean;
	/** The answer that is due has been given; what follows is for messages that were queued. */
	readonly answered: boolean;
}

export interface State {
	/** Is there a person who can be asked? */
	readonly attended: boolean;
	readonly meters: PerMeter<Meter>;
	readonly grace: number;
	/** The wrap-up of this round: due at the soft limit, asked for by the person, or given. */
	readonly advice: "armed" | "requested" | "given";
	readonly phase: Phase;
}

export type Answer = "yes" | "no" | "none";

export type Event =
	/** A person's prompt reached an idle agent: the run that follows starts with all counters at 0. */
	| { readonly type: "prompted" }
	/** The host is about to request a turn from the model; the first one of a run starts the run. */
	| { readonly type: "turn_requested" }
	/** `goesOn`: the host will request another turn unless it is stopped. `answered`: the model called no tool. */
	| { readonly type: "turn_ended"; readonly goesOn: boolean; readonly answered?: boolean }
	/** The request failed, or the host takes the answer back: it repeats the turn, or gives up. */
	| { readonly type: "turn_failed"; readonly message: string }
	| { readonly type: "tool_call_requested"; readonly call: string }
	| { readonly type: "charged"; readonly cost: number }
	| { readonly type: "answered"; readonly answer: Answer }
	| { readonly type: "wrap_up_requested" }
	/** The model does not see what we told it: a compaction took it, or a tool kept a refusal to itself. */
	| { readonly type: "message_lost" }
	| { readonly type: "limit_set"; readonly meter: MeterId; readonly max: Max }
	| { readonly type: "limit_raised"; readonly meter: MeterId; readonly by: number }
	| { readonly type: "policy_set"; readonly meter: MeterId; readonly policy: Policy }
	| { readonly type: "grace_set"; readonly grace: number }
	| { readonly type: "interrupted" }
	/** The breaker itself failed where it should decide. */
	| { readonly type: "broke"; readonly message: string }
	| { readonly type: "settled" }
	/** The session ends, perhaps in the middle of a run. */
	| { readonly type: "shut_down" };

export type Effect =
	/** Ask whether to continue, report `answered`, then make the request again. */
	| { readonly type: "ask"; readonly meter: MeterId }
	/** A question is open: wait for its answer, then make the request again. */
	| { readonly type: "hold" }
	/** The open question needs no answer any more. */
	| { readonly type: "close_question" }
	/** Tell the model to wrap up, with its next request. */
	| { readonly type: "advise"; readonly remaining: Max }
	/** Tell the model, with its next request, that its budget is spent and an answer is due. */
	| { readonly type: "synthesize" }
	/** Give the tool call an error result instead of running it. */
	| { readonly type: "refuse" }
	| { readonly type: "abort" }
	| { readonly type: "end"; readonly outcome: Outcome };

/** What a breaker starts from. */
export interface Setup {
	readonly attended: boolean;
	readonly limits: PerMeter<Limit>;
	readonly grace: number;
}

export const IDLE: Phase = { name: "idle", prompted: false, extra: perMeter(() => 0) };

export function create({ attended, limits, grace }: Setup): State {
	const meters = perMeter((id) => meter(limits[id]));
	return { attended, meters, grace, advice: "armed", phase: IDLE };
}

/** No request may leave: a question is open, or the run is being stopped. */
export function isClosed({ phase }: State): boolean {
	return phase.name === "asking" || phase.name === "stopped";
}
