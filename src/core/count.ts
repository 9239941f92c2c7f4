/** Counting: what a request adds to the meters, once the gate has admitted it. */
import { isCounted, isOfRound, type Meter } from "./limit.ts";
import { type Call, concerns, type Gate, kindOf, type MeterId, perMeter, perRunMeter } from "./meters.ts";
import { type Finishing, type Run, type Running, type State, withMeter, withRun } from "./state.ts";
import { extend, NO_STREAK, repetitions } from "./streak.ts";

/** True if the limit of the meter is checked for this request. */
export function isCheckedFor(state: State, id: MeterId, gate: Gate, call: Call | undefined): boolean {
	return concerns(id, gate, call) && !(isExempt(state, call) && id === "repeats");
}

export function countTurn(state: State, phase: Running): State {
	const { calls } = state;
	const known: State = calls.warned === "just_now" ? { ...state, calls: { ...calls, warned: "earlier" } } : state;
	return countAdmitted(known, phase, "turn", undefined, { turn: "open", isHeld: false });
}

/** The final pass comes on top of a round's limit: it counts for the run and for all that is wider, not for the round. */
export function countFinalTurn(state: State, phase: Finishing): State {
	const meters = perMeter((id) => (isOfRound(id) ? state.meters[id] : counted(state, id, "turn", undefined)));
	const spent = addTo(phase.run.spent, state, "turn", undefined);
	return { ...state, meters, phase: { ...phase, turns: phase.turns + 1, run: { ...phase.run, spent, turn: "open" } } };
}

export function countAdmitted(
	state: State,
	phase: Running,
	gate: Gate,
	call: Call | undefined,
	change: Partial<Run>,
): State {
	const spent = addTo(phase.run.spent, state, gate, call);
	const passes = phase.run.passes.filter((id) => !isCheckedFor(state, id, gate, call));
	return withRun(count(state, gate, call), phase, { ...change, spent, passes });
}

export function count(state: State, gate: Gate, call: Call | undefined): State {
	return { ...state, meters: perMeter((id) => counted(state, id, gate, call)) };
}

/** The meter, one request later. */
function counted(state: State, id: MeterId, gate: Gate, call: Call | undefined): Meter {
	const meter = state.meters[id];
	const isOne = kindOf(id).known === "before" && isCounted(id, meter) && isCheckedFor(state, id, gate, call);
	return isOne ? { ...meter, used: meter.used + 1 } : meter;
}

function addTo(spent: Run["spent"], state: State, gate: Gate, call: Call | undefined): Run["spent"] {
	const sum = perRunMeter((id) => {
		const { used } = counted(state, id, gate, call);
		const more = used - state.meters[id].used;
		// Repetitions do not add up: a run has its longest streak.
		return id === "repeats" && more > 0 ? Math.max(spent[id], used) : spent[id] + more;
	});
	return { ...spent, ...sum };
}

/** The state in which `call` is one more in a row; the meter tells how many like it were before. */
export function countRepetition(state: State, call: Call): State {
	const calls = isExempt(state, call) ? NO_STREAK : extend(state.calls, call);
	const before = isExempt(state, call) ? 0 : repetitions(calls) - 1;
	return withMeter({ ...state, calls }, "repeats", { ...state.meters.repeats, used: before });
}

function isExempt({ exempt }: State, call: Call | undefined): boolean {
	return call !== undefined && exempt.includes(call.tool);
}
