/** A run's start, stop and end. */
import { bound, type Meter, refill } from "./limit.ts";
import { POLICIES, type Policy } from "./policies.ts";
import { type MeterId, type PerMeter, perMeter, perRunMeter } from "./meters.ts";
import { NO_STREAK } from "./streak.ts";
import { type Ending, type Outcome, type Spent, stoppedByLimit, type Trip, type Verdict } from "./outcome.ts";
import type { BusyStep, Effect, Step } from "./protocol.ts";
import {
	type Active,
	type Asking,
	type Busy,
	type Finishing,
	type Idle,
	IDLE,
	isBusy,
	type In,
	type Run,
	type State,
	type Stopped,
} from "./state.ts";
import { hasFailed } from "./turn.ts";

/** The longest pause before a run is refused once more, in seconds. */
const LONGEST_PAUSE = 30;

/** Only a person's prompt refills: a run that an extension starts goes on in the same round. */
export function start(state: State): Busy {
	if (isBusy(state)) return state;
	const { prompted, promised, refusedSinceStop } = state.phase as Idle;
	const spent: Spent = { ...perRunMeter(() => 0), continuations: 0 };
	const run: Run = {
		spent,
		turn: "ended",
		passes: [],
		endsAsking: false,
		refusals: 0,
		isHeld: false,
		isWaived: false,
		refusedSinceStop: prompted ? undefined : refusedSinceStop,
	};
	const begun: Busy = { ...state, phase: { name: "running", run } };
	if (!prompted) return mapMeters(begun, (meter, id) => ({ ...meter, extra: meter.extra + promised[id] }));
	return mapMeters({ ...begun, advice: "armed", streak: NO_STREAK }, (meter, id) => refill(id, meter, promised[id]));
}

/** The phases in which nobody continues a run. */
export type Halted = Finishing | Stopped;

/** A final pass needs something to answer from: a run that had no turn yet is stopped under either policy. */
export function nobodyContinues(state: State, run: Run, verdict: Verdict & Trip, policy: Policy): In<Halted> {
	const { meter, limit } = verdict;
	if (!POLICIES[policy].answers || run.spent.turns === 0) return { ...state, phase: { name: "stopped", run, verdict } };
	return { ...state, phase: { name: "finishing", run, trip: { meter, limit }, turns: 0, concluded: false } };
}

export function stop(state: Busy, verdict: Verdict, ...effects: Effect[]): BusyStep {
	const { phase } = state;
	if (phase.name === "stopped") return [state, effects];
	if (phase.name !== "asking") return [{ ...state, phase: { name: "stopped", run: phase.run, verdict } }, effects];
	const stopped: Busy = { ...state, phase: { name: "stopped", run: { ...phase.run, endsAsking: true }, verdict } };
	return [stopped, [{ type: "close_question" }, ...effects]];
}

/** The session ends, whatever is under way. */
export function shutDown(state: Busy): Step {
	const { phase } = state;
	const verdict = phase.name === "asking" ? unanswered(state, phase) : ({ kind: "interrupted" } as const);
	const [stopped, effects] = stop(state, verdict, { type: "abort" });
	const [settled, end] = settle(stopped, stopped.phase as Exclude<Active, Asking>);
	return [settled, [...effects, ...end]];
}

function unanswered(state: State, { meter, unreachable }: Asking): Verdict {
	if (unreachable !== undefined) return brokenBy(unreachable);
	return { kind: "declined", answered: false, ...trip(state, meter) };
}

/** The breaker cannot decide: it failed itself, or cannot use the ledger. */
export function brokenBy(message: string): Verdict {
	return { kind: "failed", by: "breaker", message };
}

export function settle(state: State, phase: Exclude<Active, Asking>): Step {
	const outcome = outcomeOf(state, phase);
	const { refusedSinceStop: before, endsAsking } = phase.run;
	const isRefused = before !== undefined && outcome.turns === 0;
	const isStop = stoppedByLimit(outcome) || endsAsking;
	const refusedSinceStop = isStop ? (isRefused ? before + 1 : 0) : undefined;
	const repeated = isStop && isRefused && before > 0;
	return [{ ...state, phase: { ...IDLE, refusedSinceStop } }, [{ type: "end", outcome, repeated }]];
}

function outcomeOf(state: State, phase: Exclude<Active, Asking>): Outcome {
	const { run } = phase;
	const { turn, advised } = run;
	if (phase.name === "stopped") return outcomeBy(run, phase.verdict);
	if (hasFailed(turn, "nothing", "message")) {
		const { trip = {} } = { trip: undefined, ...phase };
		return outcomeBy(run, { kind: "failed", by: "provider", message: turn.failed, ...trip });
	}
	if (phase.name === "finishing") return outcomeBy(run, endOf(phase));
	if (advised === undefined) return outcomeBy(run, { kind: "completed" });
	return outcomeBy(run, { kind: "wrapped_up", ...trip(state, advised) });
}

export function outcomeBy({ spent, advised }: Run, end: Ending | Verdict): Outcome {
	return { ...spent, advised: advised !== undefined, ...end };
}

/** The verdict if the final pass ended now. */
export function endOf({ concluded, trip }: Finishing): Verdict {
	return concluded ? { kind: "synthesized", ...trip } : { kind: "exhausted", ...trip };
}

/** How often in a row a turn was refused that nobody prompted, counted from the stop on. */
export function refusalsInARow({ phase }: State): number {
	return phase.name === "stopped" ? phase.run.refusals + (phase.run.refusedSinceStop ?? 0) : 0;
}

/** Refusals in a row after which a host that can drops the message that would start the next run. */
const REFUSALS_TO_DROP = 2;

/** So many unprompted runs were refused that the host may drop the next one, if it would be refused too. */
export function isSpinning({ phase }: State): boolean {
	const { prompted, refusedSinceStop = 0 } = phase as Partial<Idle>;
	return prompted === false && refusedSinceStop >= REFUSALS_TO_DROP;
}

/** Seconds to wait before the next refusal, so that an extension that wakes the agent cannot make it spin. */
export function pauseBeforeRefusal(state: State): number {
	const before = refusalsInARow(state) - 1;
	return before < 1 ? 0 : Math.min(LONGEST_PAUSE, 2 ** (before - 1));
}

export function trip(state: State, id: MeterId): Trip {
	return { meter: id, limit: bound(state.meters[id]) };
}

function mapMeters(state: Busy, change: (meter: Meter, id: MeterId) => Meter): Busy {
	const meters: PerMeter<Meter> = perMeter((id) => change(state.meters[id], id));
	return { ...state, meters };
}
