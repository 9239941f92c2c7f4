/** Counting: what a request adds to the meters, once the gate has admitted it. */
import { isOfRound, spend } from "./limit.ts";
import { type Call, concerns, type Gate, kindOf, METER_IDS, type MeterId, perMeter, RUN_METER_IDS } from "./meters.ts";
import { type Finishing, type Run, type Running, type State, withMeter, withRun } from "./state.ts";
import { extend, NO_STREAK, repetitions } from "./streak.ts";

/** The meters that grow by one with a request; amounts are charged. */
const COUNTS = METER_IDS.filter((id) => kindOf(id).known === "before");

/** True if the limit of the meter is checked for this request. */
export function isCheckedFor(state: State, id: MeterId, gate: Gate, call: Call | undefined): boolean {
	return concerns(id, gate) && !(isExempt(state, call) && id === "repeats");
}

export function countTurn(state: State, phase: Running): State {
	const { streak } = state;
	const known: State = streak.warned === "just_now" ? { ...state, streak: { ...streak, warned: "earlier" } } : state;
	return countAdmitted(known, phase, "turn", undefined, { turn: "open", isHeld: false });
}

/** The final pass comes on top of a round's limit: it counts for the run and for all that is wider, not for the round. */
export function countFinalTurn(state: State, phase: Finishing): State {
	const after = count(state, "turn", undefined).meters;
	const meters = perMeter((id) => (isOfRound(id) ? state.meters : after)[id]);
	const run: Run = { ...phase.run, spent: addTo(phase.run.spent, state.meters, after), turn: "open" };
	return { ...state, meters, phase: { ...phase, turns: phase.turns + 1, run } };
}

export function countAdmitted(
	state: State,
	phase: Running,
	gate: Gate,
	call: Call | undefined,
	change: Partial<Run>,
): State {
	const next = count(state, gate, call);
	const spent = addTo(phase.run.spent, state.meters, next.meters);
	const passes = phase.run.passes.filter((id) => !isCheckedFor(state, id, gate, call));
	return withRun(next, phase, { ...change, spent, passes });
}

export function count(state: State, gate: Gate, call: Call | undefined): State {
	const ids = COUNTS.filter((id) => isCheckedFor(state, id, gate, call));
	return { ...state, meters: spend(state.meters, ids, 1) };
}

function addTo(spent: Run["spent"], before: State["meters"], after: State["meters"]): Run["spent"] {
	const sum = { ...spent };
	for (const id of RUN_METER_IDS) {
		const { used } = after[id];
		const more = used - before[id].used;
		// Repetitions do not add up: a run has its longest streak.
		sum[id] = id === "repeats" && more > 0 ? Math.max(spent[id], used) : spent[id] + more;
	}
	return sum;
}

/** The state in which `call` is one more in a row; the meter tells how many like it were before. */
export function countRepetition(state: State, call: Call): State {
	const streak = isExempt(state, call) ? NO_STREAK : extend(state.streak, call);
	const before = isExempt(state, call) ? 0 : repetitions(streak) - 1;
	return withMeter({ ...state, streak }, "repeats", { ...state.meters.repeats, used: before });
}

function isExempt({ exempt }: State, call: Call | undefined): boolean {
	return call !== undefined && exempt.includes(call.tool);
}
