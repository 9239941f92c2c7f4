/** Requests and answers: when a request may pass, and what follows when it may not. */
import { isReached, read, softLimit } from "./limit.ts";
import { type Call, type Gate, concerns, kindOf, METER_IDS, type MeterId, perMeter } from "./meters.ts";
import { nobodyContinues, stop, trip } from "./run.ts";
import {
	type Active,
	type Answer,
	type Asking,
	type Busy,
	type BusyStep,
	type Effect,
	isBusy,
	type Finishing,
	type Ruling,
	type Run,
	type Running,
	type State,
	type Step,
	withMeter,
	withRun,
} from "./state.ts";

/** How many turns the final pass may take before the run is aborted without an answer. */
export const FINAL_TURNS = 2;

/** A turn of a run that has started; also without a `turn_ended` before it, so that no turn escapes the count. */
export function requestTurn(state: Busy): Ruling {
	const { phase } = state;
	if (phase.name === "running" || phase.name === "finishing") {
		const { turn } = phase.run;
		if (typeof turn === "object" && turn.since === "nothing") {
			return [withRun(state, phase, { turn: { ...turn, since: "retry" } }), "admit", []];
		}
	}
	const [next, effects] = boundary(state);
	switch (next.phase.name) {
		case "running":
			return [countTurn(next, next.phase), "admit", effects];
		case "finishing":
			return [countFinalTurn(next, next.phase), "admit", effects];
		case "asking":
			return [next, "wait", effects];
		case "stopped":
			return [withRun(next, next.phase, { refusals: next.phase.run.refusals + 1 }), "abort", []];
	}
}

export function requestCall(state: State, call: Call): Ruling {
	const { phase } = state;
	switch (phase.name) {
		case "idle":
			// The command of another extension can call a tool without a run.
			return [count(state, "call", call), "admit", []];
		case "asking":
			return [state, "wait", []];
		case "finishing":
		case "stopped":
			return [state, "refuse", []];
		case "running": {
			const next = check({ ...state, phase }, phase.run, "call", call);
			if (next.phase.name === "asking") return [next, "wait", [{ type: "ask", meter: next.phase.meter }]];
			if (next.phase.name !== "running") return [next, "refuse", []];
			return [countAdmitted(next, phase, "call", call, { lastCall: call }), "admit", []];
		}
	}
}

/** Between two turns of a run that goes on: the gate, the wrap-up, the bound of the final pass. */
export function boundary(state: Busy): BusyStep {
	const { phase } = state;
	switch (phase.name) {
		case "running": {
			const next = check(state, phase.run, "turn");
			return next === state ? adviseIfDue(state, phase) : [next, entering(next.phase)];
		}
		case "finishing": {
			if (phase.turns < FINAL_TURNS) return [state, []];
			const kind = phase.concluded ? "synthesized" : "exhausted";
			return stop(state, { kind, ...phase.trip }, { type: "abort" });
		}
		case "stopped":
			return [state, [{ type: "abort" }]];
		case "asking":
			return [state, []];
	}
}

/** What a phase asks for when it begins between two turns. At the call gate the refused call tells the model. */
function entering(phase: Active): readonly Effect[] {
	switch (phase.name) {
		case "asking":
			return [{ type: "ask", meter: phase.meter }];
		case "finishing":
			return [{ type: "synthesize" }];
		case "stopped":
			return [{ type: "abort" }];
		case "running":
			return [];
	}
}

/** A final turn that gave no answer and after which the host would stop: another one, if the final pass has room. */
export function demandAgain(state: Busy): BusyStep {
	const [next, effects] = boundary(state);
	return next.phase.name === "finishing" ? [next, [{ type: "synthesize" }, { type: "continue" }]] : [next, effects];
}

/** True if the end of this turn can change anything; otherwise the host need not report it. */
export function isEndAwaited(state: State): boolean {
	return isBusy(state) && (state.phase.name === "finishing" || boundary(state)[1].length > 0);
}

export function answer(state: State, phase: Asking, given: Answer): Step {
	const { run, meter, gate } = phase;
	const next =
		given === "yes"
			? continueRun(state, run, meter)
			: nobodyContinues(state, run, { kind: "declined", answered: given === "no", ...trip(state, meter) });
	// A tool call that waits is requested again and decided then; turns are asked about between two turns.
	if (gate === "call") return [next, []];
	return next.phase.name === "running" ? boundary(next) : [next, entering(next.phase)];
}

function continueRun(state: State, run: Run, id: MeterId): Busy {
	const spent = { ...run.spent, continuations: run.spent.continuations + 1 };
	const passes = [...run.passes, id];
	const next = withMeter(rearm(state, id), id, { ...state.meters[id], used: 0, extra: 0 });
	return { ...next, phase: { name: "running", run: { ...run, spent, passes, advised: undefined } } };
}

/** The new round of a meter has a wrap-up of its own; one that the person asked for is still due. */
export function rearm(state: State, id: MeterId): State {
	const isAbout = typeof state.advice === "object" && state.advice.given === id;
	return isAbout ? { ...state, advice: "armed" } : state;
}

/** Running if the request may pass, else asking, or the policy's next phase where nobody can be asked. */
function check(state: Busy, run: Run, gate: Gate, call?: Call): Busy {
	// After a stop only a person's prompt, or a larger limit, lets a run begin, whatever gate the limit is checked at.
	const isBarred = run.woken !== undefined && run.spent.turns === 0;
	const isHere = (id: MeterId): boolean => isBarred || concerns(id, gate, call);
	const id = METER_IDS.find((id) => isHere(id) && !run.passes.includes(id) && isReached(state.meters[id]));
	if (id === undefined) return state;
	if (state.attended && !isBarred) return { ...state, phase: { name: "asking", run, meter: id, gate } };
	return nobodyContinues(state, run, { kind: "exhausted", ...trip(state, id) });
}

function adviseIfDue(state: Busy, phase: Running): BusyStep {
	const id = shortMeter(state);
	if (id === undefined) return [state, []];
	const advised = withRun(state, phase, { advised: id });
	return [{ ...advised, advice: { given: id } }, [advice(state, id)]];
}

/** The meter that the wrap-up is due about; turns if the person asked for it. */
function shortMeter({ advice, meters, grace }: State): MeterId | undefined {
	if (advice !== "armed") return advice === "requested" ? "turns" : undefined;
	return METER_IDS.find((id) => meters[id].used >= (softLimit(id, meters[id], grace) ?? Infinity));
}

export function advice(state: State, id: MeterId): Effect {
	return { type: "advise", meter: id, remaining: read(state.meters[id]).remaining };
}

// Counting

function countTurn(state: State, phase: Running): State {
	return countAdmitted(state, phase, "turn", undefined, { turn: "open" });
}

/** The final pass comes on top of the limit: it counts for the run, not for the round. */
function countFinalTurn(state: State, phase: Finishing): State {
	const spent = addTo(phase.run.spent, "turn", undefined);
	return { ...state, phase: { ...phase, turns: phase.turns + 1, run: { ...phase.run, spent, turn: "open" } } };
}

function countAdmitted(state: State, phase: Running, gate: Gate, call: Call | undefined, change: Partial<Run>): State {
	const spent = addTo(phase.run.spent, gate, call);
	const passes = phase.run.passes.filter((id) => !concerns(id, gate, call));
	return withRun(count(state, gate, call), phase, { ...change, spent, passes });
}

/** What the round has used, one request more. */
function count(state: State, gate: Gate, call: Call | undefined): State {
	const one = (id: MeterId): number => (isOne(id, gate, call) ? 1 : 0);
	return { ...state, meters: perMeter((id) => ({ ...state.meters[id], used: state.meters[id].used + one(id) })) };
}

function addTo(spent: Run["spent"], gate: Gate, call: Call | undefined): Run["spent"] {
	return { ...spent, ...perMeter((id) => spent[id] + (isOne(id, gate, call) ? 1 : 0)) };
}

function isOne(id: MeterId, gate: Gate, call: Call | undefined): boolean {
	return kindOf(id).known === "before" && concerns(id, gate, call);
}
