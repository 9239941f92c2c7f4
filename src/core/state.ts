/** The breaker's state. */
import { type Limit, type Meter, meter } from "./limit.ts";
import { type Call, type Gate, type MeterId, type PerMeter, perMeter } from "./meters.ts";
import type { Spent, Trip, Verdict } from "./outcome.ts";
import { NO_STREAK, type Streak } from "./streak.ts";
import { hasFailed, type TurnState } from "./turn.ts";

/** The run in progress. */
export interface Run {
	readonly spent: Spent;
	readonly turn: TurnState;
	/** A yes admits one request past each of these meters, whatever its limit: so a limit of 0 can go on. */
	readonly passes: readonly MeterId[];
	/** The meter that the wrap-up was about, since the last continuation. */
	readonly advised?: MeterId | undefined;
	/** The number of runs refused since one was stopped at a limit, at a question or without the ledger; undefined once somebody prompts. */
	readonly refusedSinceStop?: number | undefined;
	/** It was stopped while a question was open, or without the ledger: nobody is asked again before a prompt. */
	readonly endsAsking: boolean;
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
	/** Granted between runs, for the first round of the next one and for its tree. */
	readonly promised: PerMeter<number>;
	/** The last run was stopped so that only a prompt starts another; so many runs were refused since then. */
	readonly refusedSinceStop?: number | undefined;
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
	readonly streak: Streak;
	/** Tools whose calls may repeat: a poll, for example. */
	readonly exempt: readonly string[];
	readonly phase: Phase;
}

/** A breaker in a phase. */
export type In<P extends Phase> = State & { readonly phase: P };

/** A breaker in a run. */
export type Busy = In<Active>;

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
	return { attended, isMember, meters, grace, advice: "armed", streak: NO_STREAK, exempt, phase: IDLE };
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
