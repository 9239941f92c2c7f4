/** The alphabet of the breaker: its state, the events it hears, the requests it decides, the effects it asks for. */
import { type Limit, type Meter, meter, type Policy } from "./limit.ts";
import { type AmountId, type Call, type Gate, type Max, type MeterId, type PerMeter, perMeter } from "./meters.ts";
import type { Outcome, Spent, Trip, Verdict } from "./outcome.ts";
import { NO_STREAK, type Streak } from "./streak.ts";
import { hasFailed, type Turn } from "./turn.ts";

/** The run in progress. */
export interface Run {
	readonly spent: Spent;
	readonly turn: Turn;
	/** A yes admits one request past each of these meters, whatever its limit: so a limit of 0 can go on. */
	readonly passes: readonly MeterId[];
	/** The meter that the wrap-up was about, since the last continuation. */
	readonly advised?: MeterId | undefined;
	/** The last tool call that was let through, for the question. */
	readonly lastCall?: Call | undefined;
	/** Nobody prompted after the last run was stopped at a limit; the number of runs refused since then. */
	readonly woken?: number | undefined;
	/** It was stopped while a question was open, or without the ledger: nobody is asked again before a prompt. */
	readonly wasAsked: boolean;
	/** Turns of this run that the gate aborted. */
	readonly refusals: number;
	/** The ledger holds room for the next turn. */
	readonly isHeld: boolean;
	/** The person goes on although the ledger cannot be used. */
	readonly isWaived: boolean;
}

export interface Idle {
	readonly name: "idle";
	readonly prompted: boolean;
	/** Granted between runs, for the next run's first round. */
	readonly promised: PerMeter<number>;
	/** The last run was stopped at a limit; the number of runs refused since then. */
	readonly refused?: number | undefined;
}

export interface Running {
	readonly name: "running";
	readonly run: Run;
}

export interface Asking {
	readonly name: "asking";
	readonly run: Run;
	readonly meter: MeterId;
	/** The gate at which the request waits. */
	readonly gate: Gate;
	/** The tool call that waits, if it is one. */
	readonly call?: Call | undefined;
	/** Why the ledger cannot be used, if that is the question. */
	readonly unreachable?: string | undefined;
}

/** The final pass. */
export interface Finishing {
	readonly name: "finishing";
	readonly run: Run;
	readonly trip: Trip;
	readonly turns: number;
	/** The model has given the answer that is due; further turns are for messages that were queued. */
	readonly concluded: boolean;
}

/** Decided: no request leaves until the host has settled. */
export interface Stopped {
	readonly name: "stopped";
	readonly run: Run;
	readonly verdict: Verdict;
}

export type Active = Running | Asking | Finishing | Stopped;
export type Phase = Idle | Active;

export interface State {
	/** There is a person who can be asked. */
	readonly attended: boolean;
	/** An agent started this session: nobody can grant here what it shares with others. */
	readonly isMember: boolean;
	readonly meters: PerMeter<Meter>;
	readonly grace: number;
	/** The wrap-up of this round: due at a soft limit, asked for by the person, or given about a meter. */
	readonly advice: "armed" | "requested" | { readonly given: MeterId };
	/** Calls in a row, for the meter that counts repetitions. */
	readonly calls: Streak;
	/** Tools whose calls may repeat: a poll, for example. */
	readonly exempt: readonly string[];
	readonly phase: Phase;
}

/** A breaker in a phase. */
export type In<P extends Phase> = State & { readonly phase: P };

/** A breaker in a run. */
export type Busy = In<Active>;

/** A person's word on a question; `wrap_up`: a final pass, whatever the policy; `none`: there was no answer. */
export type Answer = "yes" | "wrap_up" | "no" | "none";

/**
 * By shared meter that is limited: what is used, or held by others, and the limit with all that was granted. A turn
 * counts from its admission, so what is held for one that has not begun is left out.
 */
export type Balances = Readonly<Partial<PerMeter<{ readonly used: number; readonly cap: number }>>>;

/** Something that must not happen without a decision. The first turn of a run starts the run. */
export type Request =
	{ readonly type: "turn_requested" } | { readonly type: "tool_call_requested"; readonly call: Call };

/**
 * The gate's word on one request. `wait`: make the request again once the open question is closed, or
 * the ledger has answered. `refuse`: give
 * the tool call an error result. `abort`: stop the run.
 */
export type Decision = "admit" | "wait" | "refuse" | "abort";

export type Event =
	/** A person's prompt reached an idle agent: the run that follows starts with all counters at 0. */
	| { readonly type: "prompted" }
	/** Whether there is a person to ask; read between runs. */
	| { readonly type: "attended_set"; readonly attended: boolean }
	/** `goesOn`: the host will request another turn unless it is stopped. `concluded`: the model gave its answer. */
	| { readonly type: "turn_ended"; readonly goesOn: boolean; readonly concluded?: boolean }
	/** The request failed, or the host takes the answer back: it repeats the turn, or gives up. */
	| { readonly type: "turn_failed"; readonly message: string }
	/**
	 * A new message entered the conversation, or the host has given up repeating. A retry under way is none any more:
	 * request the turn once more.
	 */
	| { readonly type: "message_entered" }
	/** Amounts that became known. */
	| { readonly type: "charged"; readonly amounts: Readonly<Partial<Record<AmountId, number>>> }
	/** What meters have counted before this breaker, told between runs: a session that is resumed has spent something. */
	| { readonly type: "counted"; readonly used: Readonly<Partial<PerMeter<number>>> }
	/** The ledger holds room for the next turn in every shared limit. */
	| { readonly type: "held"; readonly balances: Balances }
	/** The ledger has no room: this shared limit is reached, and no wider one. */
	| { readonly type: "filled"; readonly meter: MeterId; readonly balances: Balances }
	/** The ledger cannot be used. */
	| { readonly type: "unreachable"; readonly message: string }
	/** What the ledger says of shared meters. */
	| { readonly type: "balanced"; readonly balances: Balances }
	/** An amount reached its limit while a turn or a call is under way, and the host could cut that off. */
	| { readonly type: "ran_out"; readonly meter: MeterId }
	| { readonly type: "answered"; readonly answer: Answer }
	| { readonly type: "wrap_up_requested" }
	/** The model does not see our message: a compaction took it, or a tool kept a refusal to itself. */
	| { readonly type: "message_lost" }
	| { readonly type: "limit_set"; readonly meter: MeterId; readonly max: Max }
	| { readonly type: "limit_raised"; readonly meter: MeterId; readonly by: number }
	| { readonly type: "policy_set"; readonly meter: MeterId; readonly policy: Policy }
	| { readonly type: "grace_set"; readonly grace: number }
	| { readonly type: "exempt_set"; readonly exempt: readonly string[] }
	| { readonly type: "interrupted" }
	/** The breaker itself failed where it should decide. */
	| { readonly type: "broke"; readonly message: string }
	| { readonly type: "settled" }
	/** The session ends, perhaps in the middle of a run. */
	| { readonly type: "shut_down" };

export type Effect =
	/** Ask whether to continue and report `answered`. */
	| { readonly type: "ask"; readonly meter: MeterId }
	/** Hold room for a turn in the ledger and report `held`, `filled` or `unreachable`. */
	| { readonly type: "reserve" }
	/** The turn for which the ledger holds room does not begin. */
	| { readonly type: "release" }
	/** Grant so much more of a shared limit. */
	| { readonly type: "raise"; readonly meter: MeterId; readonly by: number }
	/** The open question needs no answer any more. */
	| { readonly type: "close_question" }
	/** Tell the model to wrap up, with its next request: little is left of this meter. */
	| { readonly type: "advise"; readonly meter: MeterId; readonly remaining: Max }
	/** Tell the model, with its next request, that it has made this call so often in a row. */
	| { readonly type: "point_out"; readonly call: Call; readonly times: number }
	/** Tell the model, with its next request, that its budget is spent and an answer is due. */
	| { readonly type: "synthesize" }
	/** Tell the model, with its next request, that it may work again. */
	| { readonly type: "resume" }
	/** Request another turn although the model called no tool. */
	| { readonly type: "continue" }
	/** Stop the run now. */
	| { readonly type: "abort" }
	/** `repeated`: a run like this one was refused and reported just before. */
	| { readonly type: "end"; readonly outcome: Outcome; readonly repeated: boolean };

export type Step = readonly [state: State, effects: readonly Effect[]];
export type BusyStep = readonly [state: Busy, effects: readonly Effect[]];

/** The answer to a request; the effects come before it is carried out. */
export type Ruling = readonly [state: State, decision: Decision, effects: readonly Effect[]];

/** The start values of a breaker. */
export interface Setup {
	readonly attended: boolean;
	readonly isMember?: boolean;
	readonly limits: PerMeter<Limit>;
	readonly grace: number;
	readonly exempt?: readonly string[];
}

export const IDLE: Idle = { name: "idle", prompted: false, promised: perMeter(() => 0) };

export function create({ attended, isMember = false, limits, grace, exempt = [] }: Setup): State {
	const meters = perMeter((id) => meter(limits[id]));
	return { attended, isMember, meters, grace, advice: "armed", calls: NO_STREAK, exempt, phase: IDLE };
}

export function isBusy(state: State): state is Busy {
	return state.phase.name !== "idle";
}

/** No request may leave: a question is open, or the run is being stopped. */
export function isClosed({ phase }: State): boolean {
	return phase.name === "asking" || phase.name === "stopped";
}

/** A turn is under way: its end has not been reported. */
export function isTurnOpen({ turn }: Run): boolean {
	return turn === "open" || hasFailed(turn, "retry");
}

/** A failed turn is being repeated. */
export function isRetrying({ phase }: State): boolean {
	return phase.name !== "idle" && hasFailed(phase.run.turn, "retry");
}

/** The meter that the wrap-up of this round was about, if it was given. */
export function givenAbout({ advice }: State): MeterId | undefined {
	// Stryker disable next-line ConditionalExpression: advice that is a word has no `given` at run time either.
	return typeof advice === "object" ? advice.given : undefined;
}

export function withRun<P extends Active>(state: State, phase: P, change: Partial<Run>): In<P> {
	return { ...state, phase: { ...phase, run: { ...phase.run, ...change } } };
}

export function withMeter(state: State, id: MeterId, meter: Meter): State {
	return { ...state, meters: { ...state.meters, [id]: meter } };
}
