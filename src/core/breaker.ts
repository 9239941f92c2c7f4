/**
 * The circuit breaker as a pure machine: `transition` takes an event, `decide` a request. Both give the next state
 * and, as data, the effects that the shell carries out. `protocol.ts` says which there are; CONTRIBUTING.md says where
 * a line of the core belongs.
 */
import * as gate from "./gate.ts";
import {
	beginsWithRun,
	isLimited,
	isReached,
	type Meter,
	raise,
	setMax,
	setPolicy,
	spend,
	startsAfresh,
} from "./limit.ts";
import { POLICIES } from "./policies.ts";
import {
	overAllScopes,
	type AmountId,
	isShared,
	kindOf,
	type Max,
	type MeterId,
	type PerMeter,
	perMeter,
} from "./meters.ts";
import * as share from "./shared.ts";
import { brokenBy, settle, shutDown, start, stop, trip } from "./run.ts";
import type { BusyStep, Event, Request, Ruling, Step } from "./protocol.ts";
import {
	type Active,
	type Busy,
	givenAbout,
	isBusy,
	isClosed,
	isTurnOpen,
	type State,
	withMeter,
	withRun,
} from "./state.ts";
import { hasFailed } from "./turn.ts";

/** The gate: nothing passes unless it says `admit`. */
export function decide(state: State, request: Request): Ruling {
	const [next, decision, effects] = ruling(state, request);
	const [after, releases] = share.releaseUnused(state, next);
	return [after, decision, [...releases, ...effects]];
}

/** Total: an event that has no place in the present state gives back the same state and no effects. */
export function transition(state: State, event: Event): Step {
	const [next, effects] = step(state, event);
	const [after, releases] = share.releaseUnused(state, next);
	return [after, [...releases, ...effects]];
}

function ruling(state: State, request: Request): Ruling {
	switch (request.type) {
		case "turn_requested": {
			const [begun, raises] = begin(state);
			const [next, decision, effects] = gate.requestTurn(begun);
			return [next, decision, [...raises, ...effects]];
		}
		case "tool_call_requested":
			return gate.requestCall(state, request.call);
	}
}

function step(state: State, event: Event): Step {
	const { phase } = state;
	switch (event.type) {
		case "prompted":
			return [phase.name === "idle" ? { ...state, phase: { ...phase, prompted: true } } : state, []];
		case "begun":
			return begin(state);
		case "attended_set":
			return [phase.name === "idle" ? { ...state, attended: event.attended } : state, []];
		case "charged":
			return [charge(state, event.amounts), []];
		case "limit_set":
			return changeLimit(state, event.meter, event.max);
		case "limit_raised":
			return raiseLimit(state, event.meter, event.by);
		case "policy_set":
			return [withMeter(state, event.meter, setPolicy(state.meters[event.meter], event.policy)), []];
		case "grace_set":
			return [{ ...state, grace: event.grace }, []];
		case "exempt_set":
			return [{ ...state, exempt: event.exempt }, []];
		case "balanced":
			return [share.balanced(state, event.balances), []];
		case "held":
			return share.hold(state, event.balances);
		case "filled":
			return share.fill(state, event.meter, event.balances);
		case "unreachable":
			return share.closeWithout(state, event.message);
		case "counted":
			return [phase.name === "idle" ? recount(state, event.used) : state, []];
		default:
			return isBusy(state) ? transitionRun(state, event) : [state, []];
	}
}

function begin(state: State): BusyStep {
	return [start(state), share.raisePromised(state)];
}

function transitionRun(state: Busy, event: Event): Step {
	const { phase } = state;
	const { turn } = phase.run;
	switch (event.type) {
		case "turn_ended":
			return isTurnOpen(phase.run) ? endTurn(state, phase, event.goesOn, event.concluded === true) : [state, []];
		case "turn_failed":
			if (isClosed(state) || hasFailed(turn, "nothing", "message")) return [state, []];
			return [withRun(state, phase, { turn: { failed: event.message, since: "nothing" } }), []];
		case "message_entered":
			if (!hasFailed(turn, "nothing", "retry")) return [state, []];
			return [withRun(state, phase, { turn: { ...turn, since: "message" } }), []];
		case "answered":
			return phase.name === "asking" ? gate.answer(state, phase, event.answer, event.grant) : [state, []];
		case "wrap_up_requested":
			return [phase.name === "running" || phase.name === "asking" ? { ...state, advice: "requested" } : state, []];
		case "message_lost": {
			if (phase.name === "finishing") return [state, [{ type: "synthesize" }]];
			const given = givenAbout(state);
			return [state, phase.name === "running" && given !== undefined ? [gate.advice(state, given)] : []];
		}
		case "ran_out":
			return runOut(state, event.meter);
		case "interrupted":
			return stop(state, { kind: "interrupted" });
		case "broke":
			return stop(state, brokenBy(event.message), { type: "abort" });
		case "settled":
			return phase.name === "asking" ? shutDown(state) : settle(state, phase);
		case "shut_down":
			return shutDown(state);
		default:
			return [state, []];
	}
}

function endTurn(state: State, phase: Active, goesOn: boolean, concluded: boolean): Step {
	if (phase.name !== "finishing") {
		const ended = withRun(state, phase, { turn: "ended" });
		return goesOn ? gate.boundary(ended) : [ended, []];
	}
	const ended = withRun(state, { ...phase, concluded: phase.concluded || concluded }, { turn: "ended" });
	if (goesOn) return gate.boundary(ended);
	return ended.phase.concluded ? [ended, []] : gate.demandAgain(ended);
}

/** Amounts are charged whenever they become known; they stop nothing by themselves. */
function charge(state: State, amounts: Readonly<Partial<Record<AmountId, number>>>): State {
	const { phase } = state;
	const charged = Object.entries(amounts) as [AmountId, number][];
	const meters = charged.reduce((before, [id, by]) => spend(before, overAllScopes(id), by), state.meters);
	if (phase.name === "idle") return { ...state, meters };
	const spent = { ...phase.run.spent };
	for (const [id, by] of charged) spent[id] += by;
	return withRun({ ...state, meters }, phase, { spent });
}

function recount(state: State, used: Readonly<Partial<PerMeter<number>>>): State {
	return { ...state, meters: perMeter((id) => ({ ...state.meters[id], used: used[id] ?? state.meters[id].used })) };
}

/** Stops an unattended run under `abort` in mid-turn. The gate has counted its turn and its calls already. */
function runOut(state: Busy, id: MeterId): Step {
	const meter = state.meters[id];
	const isAmount = kindOf(id).known === "after";
	const isCut = state.phase.name === "running" && !state.attended && !POLICIES[meter.limit.policy].answers;
	if (!isAmount || !isCut || !isReached(meter)) return [state, []];
	return stop(state, { kind: "exhausted", cut: true, ...trip(state, id) }, { type: "abort" });
}

// Limits

function changeLimit(state: State, id: MeterId, max: Max): Step {
	const meter = state.meters[id];
	return setLimit(startsAfresh(id, meter, max) ? gate.restart(state, id) : state, id, setMax(id, meter, max), 0);
}

function raiseLimit(state: State, id: MeterId, by: number): Step {
	const { phase } = state;
	if (!isLimited(state.meters[id]) || !gate.canGrant(state, id)) return [state, []];
	if (phase.name === "idle" && beginsWithRun(id)) return setLimit(state, id, state.meters[id], phase.promised[id] + by);
	const [next, effects] = setLimit(state, id, raise(state.meters[id], by), 0);
	return [next, isShared(id) ? [{ type: "raise", meter: id, by }, ...effects] : effects];
}

/**
 * A change that takes the meter below its limit answers the question about it, and ends the final pass. `promised`:
 * what the next run gets on top, if none is under way.
 */
function setLimit(state: State, id: MeterId, meter: Meter, promised: number): Step {
	const { phase } = state;
	const next = withMeter(state, id, meter);
	switch (phase.name) {
		case "idle":
			return [{ ...next, phase: { ...phase, promised: { ...phase.promised, [id]: promised } } }, []];
		case "asking":
			if (phase.meter !== id || isReached(meter)) return [next, []];
			return [{ ...next, phase: { name: "running", run: phase.run } }, [{ type: "close_question" }]];
		case "finishing":
			if (phase.trip.meter !== id || isReached(meter)) return [next, []];
			return [{ ...next, phase: { name: "running", run: phase.run } }, [{ type: "resume" }]];
		default:
			return [next, []];
	}
}
