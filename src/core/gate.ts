/** Requests and answers: when a request may pass, and what follows when it may not. */
import { count, countAdmitted, countFinalTurn, countRepetition, countTurn, isCheckedFor } from "./count.ts";
import { type Answer, ANSWERS, isYes, policyAfter } from "./answers.ts";
import { bound, grant, grantMore, isLimited, isReached, readMeter, softLimit, toNumber } from "./limit.ts";
import { type Call, type Gate, isShared, METER_IDS, type MeterId, OWN, scopeOf, SHARED } from "./meters.ts";
import { brokenBy, endOf, type Halted, nobodyContinues, stop, trip } from "./run.ts";
import { NO_STREAK } from "./streak.ts";
import type { BusyStep, Effect, Ruling, Step } from "./protocol.ts";
import {
	type Active,
	type Asking,
	type Busy,
	type Finishing,
	givenAbout,
	type In,
	isBusy,
	type Run,
	type Running,
	type State,
	type Stopped,
	withMeter,
	withRun,
} from "./state.ts";
import { hasFailed } from "./turn.ts";

/** How many turns the final pass may take before the run is aborted without an answer. */
export const FINAL_TURNS = 2;

/** The repetition at which the model is told that it goes in circles. */
const POINTED_OUT = 3;

/** A turn of a run that has started; also without a `turn_ended` before it, so that no turn escapes the count. */
export function requestTurn(state: Busy): Ruling {
	const { phase } = state;
	const { turn } = phase.run;
	if ((phase.name === "running" || phase.name === "finishing") && hasFailed(turn, "nothing")) {
		return [withRun(state, phase, { turn: { ...turn, since: "retry" } }), "admit", []];
	}
	if (phase.name === "running" && !phase.run.isHeld && isSharing(state)) return [state, "wait", [{ type: "reserve" }]];
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

/** True if a shared limit is set: the ledger is asked before every turn. */
export function isSharing({ meters }: State): boolean {
	return SHARED.some((id) => isLimited(meters[id]));
}

export function requestCall(before: State, call: Call): Ruling {
	const { phase } = before;
	const state = countRepetition(before, call);
	switch (phase.name) {
		case "idle":
			// The command of another extension can call a tool without a run.
			return [count(state, "call", call), "admit", []];
		case "asking":
			return [before, "wait", []];
		case "finishing":
		case "stopped":
			return [before, "refuse", []];
		case "running": {
			const [id] = obstacles(state, phase.run, "call", call);
			if (id === undefined) return admitCall(state, phase, call);
			// Told that it goes in circles, the model may find a way out.
			if (id === "repeats" && !state.attended && state.streak.warned !== "earlier") {
				return [{ ...state, streak: { ...state.streak, warned: "just_now" } }, "refuse", []];
			}
			const next = atLimit(state, phase.run, id, "call", call);
			if (next.phase.name !== "asking") return [next, "refuse", []];
			// Once the question is closed the call is requested, and so counted, again.
			return [{ ...next, streak: before.streak }, "wait", [{ type: "ask", meter: id }]];
		}
	}
}

function admitCall(state: State, phase: Running, call: Call): Ruling {
	const next = countAdmitted(state, phase, "call", call, {});
	const max = toNumber(bound(state.meters.repeats));
	const isDue = max > POINTED_OUT && max < Infinity && next.meters.repeats.used === POINTED_OUT;
	const isNew = isDue && isCheckedFor(state, "repeats", "call", call);
	return [next, "admit", isNew ? [{ type: "point_out", call, times: POINTED_OUT }] : []];
}

/** Between two turns of a run that goes on: the gate, the wrap-up, the bound of the final pass. */
export function boundary(state: Busy): BusyStep {
	const { phase } = state;
	switch (phase.name) {
		case "running": {
			// A wider limit is asked about first, and only the ledger knows whether it is still reached.
			if (!phase.run.isHeld && SHARED.some((id) => isReached(state.meters[id]))) return [state, []];
			const [id] = obstacles(state, phase.run, "turn");
			if (id === undefined) return adviseIfDue(state, phase);
			const next = atLimit(state, phase.run, id, "turn");
			return [next, entering(next.phase)];
		}
		case "finishing": {
			if (!isLastTurn(phase)) return [state, []];
			return stop(state, endOf(phase), { type: "abort" });
		}
		case "stopped":
			return [state, [{ type: "abort" }]];
		case "asking":
			return [state, []];
	}
}

/** The final pass has no turn left after this one. */
export function isLastTurn({ turns }: Finishing): boolean {
	return turns >= FINAL_TURNS;
}

/** The effects of a phase that begins between two turns. At the call gate the refused call tells the model. */
export function entering(phase: Exclude<Active, Running>): readonly Effect[] {
	switch (phase.name) {
		case "asking":
			return [{ type: "ask", meter: phase.meter }];
		case "finishing":
			return [{ type: "synthesize" }];
		case "stopped":
			return [{ type: "abort" }];
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

/** `chosen`: how much a yes buys, where the person says it. The repeats of a round are no amount to choose. */
export function answer(state: State, phase: Asking, given: Answer, chosen?: number): Step {
	const { run, meter, gate, unreachable } = phase;
	if (unreachable !== undefined) {
		if (isYes(given)) return [goOn(state, { ...run, isWaived: true }), []];
		const stopped: Stopped = { name: "stopped", run: { ...run, endsAsking: true }, verdict: brokenBy(unreachable) };
		return [{ ...state, phase: stopped }, entering(stopped)];
	}
	const verdict = { kind: "declined", answered: ANSWERS[given].isGiven, ...trip(state, meter) } as const;
	const policy = policyAfter(given, state.meters[meter].limit.policy);
	const usual = toNumber(grant(meter, state.meters[meter]));
	const by = meter === "repeats" ? usual : (chosen ?? usual);
	const next = isYes(given) ? continueRun(state, run, meter, by) : nobodyContinues(state, run, verdict, policy);
	// A tool call that waits is requested again and decided then; turns are asked about between two turns.
	if (gate === "call") return [next, []];
	if (next.phase.name !== "running") return [next, entering(next.phase)];
	if (!isShared(meter)) return boundary(next);
	return [next, [{ type: "raise", meter, by, isAnswer: true }]];
}

/** The run goes on after a yes. */
function goOn(state: State, { spent, ...run }: Run): In<Running> {
	const more = { ...spent, continuations: spent.continuations + 1 };
	return { ...state, phase: { name: "running", run: { ...run, spent: more } } };
}

function continueRun(state: State, run: Run, id: MeterId, by: number): Busy {
	const next = withMeter(restart(state, id), id, grantMore(id, state.meters[id], by));
	return goOn(next, { ...run, passes: [...run.passes, id], advised: undefined });
}

/** The new round of a meter has a wrap-up and a streak of its own; a wrap-up that the person asked for is still due. */
export function restart(state: State, id: MeterId): State {
	return {
		...state,
		advice: givenAbout(state) === id ? "armed" : state.advice,
		streak: id === "repeats" ? NO_STREAK : state.streak,
	};
}

/** The limits of this breaker's own that keep the request from passing, the widest scope first. */
export function obstacles(state: State, run: Run, gate: Gate, call?: Call): readonly MeterId[] {
	const isChecked = (id: MeterId): boolean => isBarred(run) || isCheckedFor(state, id, gate, call);
	return OWN.filter((id) => isReached(state.meters[id]) && !run.passes.includes(id) && isChecked(id));
}

/** After a stop only a person's prompt, or a larger limit, lets a run begin, whatever gate the limit is checked at. */
export function isBarred({ refusedSinceStop, spent }: Run): boolean {
	return refusedSinceStop !== undefined && spent.turns === 0;
}

/** True if somebody can be asked, and can grant more. */
function canAsk(state: State, run: Run, id: MeterId): boolean {
	return state.attended && !isBarred(run) && canGrant(state, id);
}

/** False for a shared limit in a member, because only the root raises it, and for a fleet's budget everywhere. */
export function canGrant({ isMember }: State, id: MeterId): boolean {
	const { grantedBy } = scopeOf(id);
	return grantedBy === "person" || (grantedBy === "root" && !isMember);
}

/** Asking, or the policy's next phase where nobody can be asked. */
export function atLimit(state: State, run: Run, id: MeterId, gate: Gate, call?: Call): In<Asking | Halted> {
	if (canAsk(state, run, id)) return { ...state, phase: { name: "asking", run, meter: id, gate, call } };
	return nobodyContinues(state, run, { kind: "exhausted", ...trip(state, id) }, state.meters[id].limit.policy);
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
	return { type: "advise", meter: id, remaining: readMeter(state.meters[id]).remaining };
}
