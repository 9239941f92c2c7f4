/**
 * The circuit breaker as one pure machine: `transition(state, event)` gives the next state and, as data, what
 * the shell has to do. It knows no host, no clock and no words. `state.ts` defines its alphabet, `gate.ts` decides.
 */
import * as gate from "./gate.ts";
import { type Active, type Asking, type Step, withMeter, withRun } from "./gate.ts";
import { bound, isReached, type Meter, raise, read, type Reading, setMax, setPolicy, softLimit } from "./limit.ts";
import type { Outcome, Spent, Verdict } from "./outcome.ts";
import { type Event, IDLE, isClosed, type MeterId, type PerMeter, perMeter, type State } from "./state.ts";

export { FINAL_TURNS, isEndAwaited, type Step } from "./gate.ts";

/** Total: an event that has no place in the present state gives back the same state and no effects. */
export function transition(state: State, event: Event): Step {
	const { phase } = state;
	switch (event.type) {
		case "prompted":
			return [phase.name === "idle" ? { ...state, phase: { ...phase, prompted: true } } : state, []];
		case "turn_requested":
			return gate.requestTurn(startRun(state));
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
			const isAnswer = phase.name === "finishing" && event.answered;
			const ended = withRun(state, isAnswer ? { ...phase, answered: true } : phase, { turn: "ended" });
			return event.goesOn ? gate.boundary(ended) : [ended, []];
		}
		case "turn_failed":
			if (isClosed(state) || typeof turn === "object") return [state, []];
			return [withRun(state, phase, { turn: { failed: event.message } }), []];
		case "tool_call_requested":
			return gate.requestCall(state, phase, event.call);
		case "charged":
			return [withRun(state, phase, { spent: { ...spent, cost: spent.cost + event.cost } }), []];
		case "answered":
			return phase.name === "asking" ? gate.answered(state, phase, event.answer) : [state, []];
		case "wrap_up_requested":
			return [phase.name === "running" || phase.name === "asking" ? { ...state, advice: "requested" } : state, []];
		case "message_lost":
			if (phase.name === "finishing") return [state, [{ type: "synthesize" }]];
			return [state, phase.name === "running" && state.advice === "given" ? [gate.advice(state)] : []];
		case "interrupted":
			return gate.stop(state, phase, { kind: "interrupted" });
		case "broke":
			return gate.stop(state, phase, { kind: "failed", by: "breaker", message: event.message }, { type: "abort" });
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
	return { ...perMeter((id) => read(meters[id])), turns };
}

// Runs

function startRun(state: State): State {
	const { phase } = state;
	if (phase.name !== "idle") return state;
	const spent: Spent = { ...perMeter(() => 0), cost: 0, continuations: 0, advised: false };
	const begun: State = { ...state, phase: { name: "running", run: { spent, turn: "ended" } } };
	// Only a person's prompt refills: a run that an extension starts goes on in the same round.
	if (!phase.prompted) return mapMeters(begun, (meter, id) => ({ ...meter, extra: meter.extra + phase.extra[id] }));
	return mapMeters({ ...begun, advice: "armed" }, (meter, id) => ({ ...meter, used: 0, extra: phase.extra[id] }));
}

function settle(state: State, phase: Exclude<Active, Asking>): Step {
	return [{ ...state, phase: IDLE }, [{ type: "end", outcome: outcomeOf(state, phase) }]];
}

function outcomeOf(state: State, phase: Exclude<Active, Asking>): Outcome {
	const { spent, turn } = phase.run;
	if (phase.name === "stopped") return { ...spent, ...phase.verdict };
	if (typeof turn === "object") return { ...spent, kind: "failed", by: "provider", message: turn.failed };
	if (phase.name === "finishing") return { ...spent, kind: "synthesized", ...phase.trip };
	return spent.advised
		? { ...spent, kind: "wrapped_up", ...gate.trip(state, "turns") }
		: { ...spent, kind: "completed" };
}

function shutDown(state: State, phase: Active): Step {
	const verdict: Verdict =
		phase.name === "asking"
			? { kind: "declined", answered: false, ...gate.trip(state, phase.meter) }
			: { kind: "interrupted" };
	const [stopped, effects] = gate.stop(state, phase, verdict, { type: "abort" });
	const [settled, end] = transition(stopped, { type: "settled" });
	return [settled, [...effects, ...end]];
}

function raiseLimit(state: State, id: MeterId, by: number): Step {
	const { phase } = state;
	if (bound(state.meters[id]) === "unlimited") return [state, []];
	if (phase.name === "idle") return setLimit(state, id, state.meters[id], phase.extra[id] + by);
	return setLimit(state, id, raise(state.meters[id], by), 0);
}

/** A change that takes the meter below its limit answers the question about it. */
function setLimit(state: State, id: MeterId, meter: Meter, extra: number): Step {
	const { phase } = state;
	const next = withMeter(meter.used < state.meters[id].used ? gate.rearm(state, id) : state, id, meter);
	switch (phase.name) {
		case "idle":
			return [{ ...next, phase: { ...phase, extra: { ...phase.extra, [id]: extra } } }, []];
		case "asking":
			if (phase.meter !== id || isReached(meter)) return [next, []];
			return [{ ...next, phase: { name: "running", run: phase.run } }, [{ type: "close_question" }]];
		default:
			return [next, []];
	}
}

function mapMeters(state: State, change: (meter: Meter, id: MeterId) => Meter): State {
	return { ...state, meters: perMeter((id) => change(state.meters[id], id)) };
}
