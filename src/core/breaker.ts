/**
 * The circuit breaker as one pure machine: `transition(state, event)` gives the next state and, as data, what
 * the shell has to do. It knows no host, no clock and no words. `state.ts` defines its alphabet.
 */
import { bound, isReached, type Meter, raise, read, type Reading, setMax, setPolicy, softLimit } from "./limit.ts";
import type { Outcome, Spent, Trip, Verdict } from "./outcome.ts";
import {
	type Answer,
	type Effect,
	type Event,
	IDLE,
	isClosed,
	type MeterId,
	type PerMeter,
	type Phase,
	type Run,
	type State,
} from "./state.ts";

/** How many turns the final pass may take before the run is aborted without an answer. */
export const FINAL_TURNS = 2;

export type Step = readonly [state: State, effects: readonly Effect[]];

type Active = Exclude<Phase, { name: "idle" }>;
type Asking = Extract<Phase, { name: "asking" }>;

/** Total: an event that has no place in the present state gives back the same state and no effects. */
export function transition(state: State, event: Event): Step {
	const { phase } = state;
	switch (event.type) {
		case "prompted":
			return [phase.name === "idle" ? { ...state, phase: { ...phase, prompted: true } } : state, []];
		case "turn_requested":
			return requestTurn(startRun(state));
		case "limit_set":
			return setLimit(state, event.meter, setMax(state.meters[event.meter], event.max), 0);
		case "limit_raised":
			return raiseLimit(state, event.meter, event.by);
		case "policy_set":
			return [withMeter(state, event.meter, setPolicy(state.meters[event.meter], event.policy)), []];
		case "grace_set":
			return [{ ...state, grace: event.grace }, []];
		default:
			return phase.name === "idle" ? [state, []] : transitionRun(state, phase, event);
	}
}

function transitionRun(state: State, phase: Active, event: Event): Step {
	const { turn, spent } = phase.run;
	switch (event.type) {
		case "turn_ended": {
			if (turn !== "open") return [state, []];
			const ended = withRun(event.answered ? withAnswer(state) : state, { turn: "ended" });
			return event.goesOn ? boundary(ended) : [ended, []];
		}
		case "turn_failed":
			if (isClosed(state) || typeof turn === "object") return [state, []];
			return [withRun(state, { turn: { failed: event.message } }), []];
		case "tool_call_requested":
			return requestCall(state, phase, event.call);
		case "charged":
			return [withRun(state, { spent: { ...spent, cost: spent.cost + event.cost } }), []];
		case "answered":
			return phase.name === "asking" ? answered(state, phase, event.answer) : [state, []];
		case "wrap_up_requested":
			return [phase.name === "running" || phase.name === "asking" ? { ...state, advice: "requested" } : state, []];
		case "message_lost":
			if (phase.name === "finishing") return [state, [{ type: "synthesize" }]];
			return [state, phase.name === "running" && state.advice === "given" ? [advice(state)] : []];
		case "interrupted":
			return stop(state, phase, { kind: "interrupted" });
		case "broke":
			return stop(state, phase, { kind: "failed", by: "breaker", message: event.message }, { type: "abort" });
		case "settled":
			return phase.name === "asking" ? shutDown(state, phase) : settle(state, phase);
		case "shut_down":
			return shutDown(state, phase);
		default:
			return [state, []];
	}
}

/** Where every meter stands. */
export type Snapshot = PerMeter<Reading> & {
	readonly turns: {
		/** The number of turns after which the wrap-up is due in this round, if one is. */
		readonly softLimit: number | undefined;
		/** Was it given in this round? */
		readonly advised: boolean;
	};
};

export function snapshot({ meters, grace, advice }: State): Snapshot {
	const turns = { ...read(meters.turns), softLimit: softLimit(meters.turns, grace), advised: advice === "given" };
	return { turns, toolCalls: read(meters.toolCalls) };
}

// Runs

function startRun(state: State): State {
	const { phase } = state;
	if (phase.name !== "idle") return state;
	const spent: Spent = { turns: 0, toolCalls: 0, cost: 0, continuations: 0, advised: false };
	const begun: State = { ...state, phase: { name: "running", run: { spent, turn: "ended" } } };
	// Only a person's prompt refills: a run that an extension starts goes on in the same round.
	if (!phase.prompted) return mapMeters(begun, (meter, id) => ({ ...meter, extra: meter.extra + phase.extra[id] }));
	return mapMeters({ ...begun, advice: "armed" }, (meter, id) => ({ ...meter, used: 0, extra: phase.extra[id] }));
}

function stop(state: State, phase: Active, verdict: Verdict, ...effects: Effect[]): Step {
	if (phase.name === "stopped") return [state, effects];
	const stopped: State = { ...state, phase: { name: "stopped", run: phase.run, verdict } };
	return [stopped, phase.name === "asking" ? [{ type: "close_question" }, ...effects] : effects];
}

function settle(state: State, phase: Exclude<Active, Asking>): Step {
	return [{ ...state, phase: IDLE }, [{ type: "end", outcome: outcomeOf(state, phase) }]];
}

function outcomeOf(state: State, phase: Exclude<Active, Asking>): Outcome {
	const { spent, turn } = phase.run;
	if (phase.name === "stopped") return { ...spent, ...phase.verdict };
	if (typeof turn === "object") return { ...spent, kind: "failed", by: "provider", message: turn.failed };
	if (phase.name === "finishing") return { ...spent, kind: "synthesized", ...phase.trip };
	return spent.advised ? { ...spent, kind: "wrapped_up", ...trip(state, "turns") } : { ...spent, kind: "completed" };
}

function shutDown(state: State, phase: Active): Step {
	const verdict: Verdict =
		phase.name === "asking"
			? { kind: "declined", answered: false, ...trip(state, phase.meter) }
			: { kind: "interrupted" };
	const [stopped, effects] = stop(state, phase, verdict, { type: "abort" });
	const [settled, end] = transition(stopped, { type: "settled" });
	return [settled, [...effects, ...end]];
}

// The gate

/** The host requests a turn; also without a `turn_ended` before it, so that no turn escapes the count. */
function requestTurn(state: State): Step {
	const { phase } = state;
	if (phase.name === "asking") return [state, [{ type: "hold" }]];
	if (phase.name === "running" || phase.name === "finishing") {
		if (typeof phase.run.turn === "object") return [withRun(state, { turn: "open" }), []];
	}
	const [next, effects] = boundary(state);
	return [countTurn(next), effects];
}

function countTurn(state: State): State {
	const { phase } = state;
	if (phase.name === "running") return withRun(charge(state, phase.run, "turns"), { turn: "open" });
	if (phase.name !== "finishing") return state;
	const spent = { ...phase.run.spent, turns: phase.run.spent.turns + 1 };
	return { ...state, phase: { ...phase, turns: phase.turns + 1, run: { ...phase.run, spent, turn: "open" } } };
}

/** Between two turns of a run that goes on: the gate, the wrap-up, the bound of the final pass. */
function boundary(state: State): Step {
	const { phase } = state;
	switch (phase.name) {
		case "running": {
			const [next, effects] = gate(state, phase.run, "turns");
			if (next.phase.name === "asking") return [next, effects];
			if (next.phase.name !== "running") return boundary(next);
			if (!isWrapUpDue(next)) return [next, []];
			const told = withRun(next, { spent: { ...phase.run.spent, advised: true } });
			return [{ ...told, advice: "given" }, [advice(next)]];
		}
		case "finishing":
			if (phase.turns >= FINAL_TURNS) {
				const kind = phase.answered ? "synthesized" : "exhausted";
				return stop(state, phase, { kind, ...phase.trip }, { type: "abort" });
			}
			return phase.told ? [state, []] : [{ ...state, phase: { ...phase, told: true } }, [{ type: "synthesize" }]];
		case "stopped":
			return [state, [{ type: "abort" }]];
		default:
			return [state, []];
	}
}

function requestCall(state: State, phase: Active, call: string): Step {
	if (phase.name === "asking") return [state, [{ type: "hold" }]];
	if (phase.name !== "running") return [state, [{ type: "refuse" }]];
	const [next, effects] = gate(state, phase.run, "toolCalls");
	if (next.phase.name === "asking") return [next, effects];
	if (next.phase.name !== "running") return [next, [{ type: "refuse" }]];
	return [withRun(charge(next, phase.run, "toolCalls"), { lastCall: call }), []];
}

/** Running if the request may pass, else asking, or what the policy says where there is nobody to ask. */
function gate(state: State, run: Run, id: MeterId): Step {
	if (run.pass === id || !isReached(state.meters[id])) return [state, []];
	if (state.attended) return [{ ...state, phase: { name: "asking", run, meter: id } }, [{ type: "ask", meter: id }]];
	return [nobodyContinues(state, run, { kind: "exhausted", ...trip(state, id) }), []];
}

function answered(state: State, phase: Asking, answer: Answer): Step {
	const { run, meter } = phase;
	const next =
		answer === "yes"
			? continueRun(state, run, meter)
			: nobodyContinues(state, run, { kind: "declined", answered: answer === "no", ...trip(state, meter) });
	// A held tool call is requested again and decided then; turns are asked about between two of them.
	return meter === "turns" ? boundary(next) : [next, []];
}

function continueRun(state: State, run: Run, id: MeterId): State {
	const spent = { ...run.spent, continuations: run.spent.continuations + 1, advised: false };
	const rearmed = id === "turns" && state.advice === "given" ? "armed" : state.advice;
	const next: State = { ...state, advice: rearmed, phase: { name: "running", run: { ...run, spent, pass: id } } };
	return withMeter(next, id, { ...state.meters[id], used: 0, extra: 0 });
}

/** A final pass needs something to answer from: a run that had no turn yet is stopped under either policy. */
function nobodyContinues(state: State, run: Run, verdict: Verdict & Trip): State {
	const { meter, limit } = verdict;
	if (state.meters[meter].limit.policy === "abort" || run.spent.turns === 0) {
		return { ...state, phase: { name: "stopped", run, verdict } };
	}
	const told = meter !== "turns";
	return { ...state, phase: { name: "finishing", run, trip: { meter, limit }, turns: 0, told, answered: false } };
}

function isWrapUpDue(state: State): boolean {
	if (state.advice !== "armed") return state.advice === "requested";
	const at = softLimit(state.meters.turns, state.grace);
	return at !== undefined && state.meters.turns.used >= at;
}

function advice(state: State): Effect {
	return { type: "advise", remaining: read(state.meters.turns).remaining };
}

// Limits

function raiseLimit(state: State, id: MeterId, by: number): Step {
	const { phase } = state;
	if (bound(state.meters[id]) === "unlimited") return [state, []];
	if (phase.name === "idle") return setLimit(state, id, state.meters[id], phase.extra[id] + by);
	return setLimit(state, id, raise(state.meters[id], by), 0);
}

/** A change that takes the meter below its limit answers the question about it. */
function setLimit(state: State, id: MeterId, meter: Meter, extra: number): Step {
	const { phase } = state;
	const rearmed = id === "turns" && meter.used < state.meters.turns.used ? "armed" : state.advice;
	const next = withMeter({ ...state, advice: rearmed }, id, meter);
	if (phase.name === "idle") return [{ ...next, phase: { ...phase, extra: { ...phase.extra, [id]: extra } } }, []];
	if (phase.name !== "asking" || phase.meter !== id || isReached(meter)) return [next, []];
	return [{ ...next, phase: { name: "running", run: phase.run } }, [{ type: "close_question" }]];
}

// State

function trip(state: State, id: MeterId): Trip {
	return { meter: id, limit: bound(state.meters[id]) };
}

function charge(state: State, run: Run, id: MeterId): State {
	const meter = state.meters[id];
	const spent = { ...run.spent, [id]: run.spent[id] + 1 };
	const pass = run.pass === id ? undefined : run.pass;
	return withRun(withMeter(state, id, { ...meter, used: meter.used + 1 }), { spent, pass });
}

function withAnswer(state: State): State {
	const { phase } = state;
	return phase.name === "finishing" ? { ...state, phase: { ...phase, answered: true } } : state;
}

function withRun(state: State, change: Partial<Run>): State {
	const { phase } = state;
	return phase.name === "idle" ? state : { ...state, phase: { ...phase, run: { ...phase.run, ...change } } };
}

function withMeter(state: State, id: MeterId, meter: Meter): State {
	return { ...state, meters: { ...state.meters, [id]: meter } };
}

function mapMeters(state: State, change: (meter: Meter, id: MeterId) => Meter): State {
	const { turns, toolCalls } = state.meters;
	return { ...state, meters: { turns: change(turns, "turns"), toolCalls: change(toolCalls, "toolCalls") } };
}
