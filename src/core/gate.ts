/** Requests and answers: when a request may pass, and what follows when it may not. */
import { isReached, read, softLimit } from "./limit.ts";
import { type Call, type Gate, isCounted, kindOf, METER_IDS, type MeterId, perMeter } from "./meters.ts";
import { nobodyContinues, stop, trip } from "./run.ts";
import {
	type Answer,
	type Asking,
	type Effect,
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
export function requestTurn(state: State): Ruling {
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
		case "idle":
			return [next, "abort", []];
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
			const next = check(state, phase.run, "call", call);
			if (next.phase.name === "asking") return [next, "wait", [{ type: "ask", meter: next.phase.meter }]];
			if (next.phase.name !== "running") return [next, "refuse", []];
			return [admit(next, phase, "call", call, { lastCall: call }), "admit", []];
		}
	}
}

/** Between two turns of a run that goes on: the gate, the wrap-up, the bound of the final pass. */
export function boundary(state: State): Step {
	const { phase } = state;
	switch (phase.name) {
		case "running": {
			const next = check(state, phase.run, "turn");
			if (next.phase.name === "asking") return [next, [{ type: "ask", meter: next.phase.meter }]];
			return next.phase.name === "running" ? adviseIfDue(next, phase) : boundary(next);
		}
		case "finishing":
			if (phase.turns >= FINAL_TURNS) {
				const kind = phase.answered ? "synthesized" : "exhausted";
				return stop(state, phase, { kind, ...phase.trip }, { type: "abort" });
			}
			if (phase.instructed) return [state, []];
			return [{ ...state, phase: { ...phase, instructed: true } }, [{ type: "synthesize" }]];
		case "stopped":
			return [state, [{ type: "abort" }]];
		case "idle":
		case "asking":
			return [state, []];
	}
}

/** A final turn that gave no answer and after which the host would stop: another one, if the final pass has room. */
export function demandAgain(state: State, phase: Finishing): Step {
	const [next, effects] = boundary({ ...state, phase: { ...phase, instructed: false } });
	return [next, next.phase.name === "finishing" ? [...effects, { type: "continue" }] : effects];
}

/** True if the end of this turn can change anything; otherwise the host need not report it. */
export function isEndAwaited(state: State): boolean {
	return state.phase.name === "finishing" || boundary(state)[1].length > 0;
}

export function answer(state: State, phase: Asking, given: Answer): Step {
	const { run, meter, gate } = phase;
	const next =
		given === "yes"
			? continueRun(state, run, meter)
			: nobodyContinues(state, run, { kind: "declined", answered: given === "no", ...trip(state, meter) }, gate);
	// A tool call that waits is requested again and decided then; turns are asked about between two turns.
	return gate === "call" ? [next, []] : boundary(next);
}

function continueRun(state: State, run: Run, id: MeterId): State {
	const spent = { ...run.spent, continuations: run.spent.continuations + 1 };
	const passes = [...run.passes, id];
	const next: State = {
		...rearm(state, id),
		phase: { name: "running", run: { ...run, spent, passes, advised: undefined } },
	};
	return withMeter(next, id, { ...state.meters[id], used: 0, extra: 0 });
}

/** The new round of a meter has a wrap-up of its own; one that the person asked for is still due. */
export function rearm(state: State, id: MeterId): State {
	const isAbout = typeof state.advice === "object" && state.advice.given === id;
	return isAbout ? { ...state, advice: "armed" } : state;
}

/** Running if the request may pass, else asking, or the policy's next phase where nobody can be asked. */
function check(state: State, run: Run, gate: Gate, call?: Call): State {
	// After a stop only a person's prompt, or a larger limit, lets a run begin, whatever gate the limit is checked at.
	const isBarred = run.woken !== undefined && run.spent.turns === 0;
	const isHere = (id: MeterId): boolean => isBarred || isCounted(id, gate, call);
	const id = METER_IDS.find((id) => isHere(id) && !run.passes.includes(id) && isReached(state.meters[id]));
	if (id === undefined) return state;
	if (state.attended && !isBarred) return { ...state, phase: { name: "asking", run, meter: id, gate } };
	return nobodyContinues(state, run, { kind: "exhausted", ...trip(state, id) }, gate);
}

function adviseIfDue(state: State, phase: Running): Step {
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
	return admit(state, phase, "turn", undefined, { turn: "open" });
}

/** The final pass comes on top of the limit: it counts for the run, not for the round. */
function countFinalTurn(state: State, phase: Finishing): State {
	const spent = addTo(phase.run.spent, "turn", undefined);
	return { ...state, phase: { ...phase, turns: phase.turns + 1, run: { ...phase.run, spent, turn: "open" } } };
}

function admit(state: State, phase: Running, gate: Gate, call: Call | undefined, change: Partial<Run>): State {
	const spent = addTo(phase.run.spent, gate, call);
	const passes = phase.run.passes.filter((id) => !isCounted(id, gate, call));
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
	return kindOf(id).known === "before" && isCounted(id, gate, call);
}
