/** When a request may pass, and what happens when it may not. */
import { bound, isReached, type Meter, read, softLimit } from "./limit.ts";
import type { Trip, Verdict } from "./outcome.ts";
import type { Answer, Effect, MeterId, Phase, Run, State } from "./state.ts";

/** How many turns the final pass may take before the run is aborted without an answer. */
export const FINAL_TURNS = 2;

export type Step = readonly [state: State, effects: readonly Effect[]];

export type Active = Exclude<Phase, { name: "idle" }>;
export type Asking = Extract<Phase, { name: "asking" }>;

/** The host requests a turn; also without a `turn_ended` before it, so that no turn escapes the count. */
export function requestTurn(state: State): Step {
	const { phase } = state;
	if (phase.name === "asking") return [state, [{ type: "hold" }]];
	if (phase.name === "running" || phase.name === "finishing") {
		if (typeof phase.run.turn === "object") return [withRun(state, phase, { turn: "open" }), []];
	}
	const [next, effects] = boundary(state);
	return [countTurn(next), effects];
}

function countTurn(state: State): State {
	const { phase } = state;
	if (phase.name === "running") return charge(state, phase, "turns", { turn: "open" });
	if (phase.name !== "finishing") return state;
	const spent = { ...phase.run.spent, turns: phase.run.spent.turns + 1 };
	return { ...state, phase: { ...phase, turns: phase.turns + 1, run: { ...phase.run, spent, turn: "open" } } };
}

/** Between two turns of a run that goes on: the gate, the wrap-up, the bound of the final pass. */
export function boundary(state: State): Step {
	const { phase } = state;
	switch (phase.name) {
		case "running": {
			const next = gate(state, phase.run, "turns");
			if (next.phase.name === "asking") return [next, [{ type: "ask", meter: "turns" }]];
			if (next.phase.name !== "running") return boundary(next);
			if (!isWrapUpDue(next)) return [next, []];
			const told = withRun(next, phase, { spent: { ...phase.run.spent, advised: true } });
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

/** Does anything depend on how the present turn ends? If not, nobody needs to tell. */
export function isEndAwaited(state: State): boolean {
	return state.phase.name === "finishing" || boundary(state)[1].length > 0;
}

export function requestCall(state: State, phase: Active, call: string): Step {
	if (phase.name === "asking") return [state, [{ type: "hold" }]];
	if (phase.name !== "running") return [state, [{ type: "refuse" }]];
	const next = gate(state, phase.run, "toolCalls");
	if (next.phase.name === "asking") return [next, [{ type: "ask", meter: "toolCalls" }]];
	if (next.phase.name !== "running") return [next, [{ type: "refuse" }]];
	return [charge(next, phase, "toolCalls", { lastCall: call }), []];
}

/** Running if the request may pass, else asking, or what the policy says where there is nobody to ask. */
function gate(state: State, run: Run, id: MeterId): State {
	if (run.pass === id || !isReached(state.meters[id])) return state;
	if (state.attended) return { ...state, phase: { name: "asking", run, meter: id } };
	return nobodyContinues(state, run, { kind: "exhausted", ...trip(state, id) });
}

export function answered(state: State, phase: Asking, answer: Answer): Step {
	const { run, meter } = phase;
	const next =
		answer === "yes"
			? continueRun(state, run, meter)
			: nobodyContinues(state, run, { kind: "declined", answered: answer === "no", ...trip(state, meter) });
	// A held tool call is requested again and decided then; all else is asked about between two turns.
	return meter === "toolCalls" ? [next, []] : boundary(next);
}

function continueRun(state: State, run: Run, id: MeterId): State {
	const spent = { ...run.spent, continuations: run.spent.continuations + 1, advised: false };
	const next: State = { ...rearm(state, id), phase: { name: "running", run: { ...run, spent, pass: id } } };
	return withMeter(next, id, { ...state.meters[id], used: 0, extra: 0 });
}

/** A new round of turns has its own wrap-up; one that the person asked for is still due. */
export function rearm(state: State, id: MeterId): State {
	return id === "turns" && state.advice === "given" ? { ...state, advice: "armed" } : state;
}

/** A final pass needs something to answer from: a run that had no turn yet is stopped under either policy. */
function nobodyContinues(state: State, run: Run, verdict: Verdict & Trip): State {
	const { meter, limit } = verdict;
	if (state.meters[meter].limit.policy === "abort" || run.spent.turns === 0) {
		return { ...state, phase: { name: "stopped", run, verdict } };
	}
	const told = meter === "toolCalls";
	return { ...state, phase: { name: "finishing", run, trip: { meter, limit }, turns: 0, told, answered: false } };
}

function isWrapUpDue(state: State): boolean {
	if (state.advice !== "armed") return state.advice === "requested";
	return state.meters.turns.used >= (softLimit(state.meters.turns, state.grace) ?? Infinity);
}

export function advice(state: State): Effect {
	return { type: "advise", remaining: read(state.meters.turns).remaining };
}

export function stop(state: State, phase: Active, verdict: Verdict, ...effects: Effect[]): Step {
	if (phase.name === "stopped") return [state, effects];
	const stopped: State = { ...state, phase: { name: "stopped", run: phase.run, verdict } };
	return [stopped, phase.name === "asking" ? [{ type: "close_question" }, ...effects] : effects];
}

// The state, changed

export function trip(state: State, id: MeterId): Trip {
	return { meter: id, limit: bound(state.meters[id]) };
}

function charge(state: State, phase: Active, id: MeterId, change: Partial<Run>): State {
	const { run } = phase;
	const meter = state.meters[id];
	const spent = { ...run.spent, [id]: run.spent[id] + 1 };
	const pass = run.pass === id ? undefined : run.pass;
	return withRun(withMeter(state, id, { ...meter, used: meter.used + 1 }), phase, { ...change, spent, pass });
}

export function withRun(state: State, phase: Active, change: Partial<Run>): State {
	return { ...state, phase: { ...phase, run: { ...phase.run, ...change } } };
}

export function withMeter(state: State, id: MeterId, meter: Meter): State {
	return { ...state, meters: { ...state.meters, [id]: meter } };
}
