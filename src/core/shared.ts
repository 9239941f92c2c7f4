/** Limits that agents share: what the ledger says of them, and what it is told. */
import { atLimit, entering, isBarred } from "./gate.ts";
import { balance, isLimited } from "./limit.ts";
import { type MeterId, perMeter, SHARED } from "./meters.ts";
import { brokenBy, stop } from "./run.ts";
import type { Balances, Effect, Step } from "./protocol.ts";
import { type Asking, type In, type Running, type State, withRun } from "./state.ts";

/** The ledger has the last word on what is used and granted. */
export function balanced<S extends State>(state: S, balances: Balances): S {
	const meters = perMeter((id) => {
		const told = balances[id];
		return told && isLimited(state.meters[id]) ? balance(state.meters[id], told) : state.meters[id];
	});
	return { ...state, meters };
}

/** The ledger holds room for the next turn; a run that does not go on has no use for it. */
export function hold(state: State, balances: Balances): Step {
	const { phase } = state;
	if (phase.name !== "running") return [state, [{ type: "release" }]];
	return [withRun(balanced(state, balances), phase, { isHeld: true }), []];
}

/** The ledger has no room for the next turn. */
export function fill(state: State, id: MeterId, balances: Balances): Step {
	if (!isWaiting(state) || !isLimited(state.meters[id])) return [state, []];
	const next = atLimit(balanced(state, balances), state.phase.run, id, "turn");
	// The turn that waits is requested again, and aborted then.
	return [next, next.phase.name === "stopped" ? [] : entering(next.phase)];
}

/** The ledger cannot be used: closed, unless the person goes on without it. */
export function closeWithout(state: State, message: string): Step {
	if (!isWaiting(state)) return [state, []];
	const { run } = state.phase;
	const meter = SHARED.find((id) => isLimited(state.meters[id]));
	if (meter === undefined || run.isWaived) return [withRun(state, state.phase, { isHeld: true }), []];
	if (!state.attended || state.isMember || isBarred(run)) {
		return stop(withRun(state, state.phase, { endsAsking: true }), brokenBy(message), { type: "abort" });
	}
	const asking: Asking = { name: "asking", run, meter, gate: "turn", unreachable: message };
	return [{ ...state, phase: asking }, entering(asking)];
}

/** The ledger may be answering: a run goes on, and no room is held for its next turn. */
function isWaiting(state: State): state is In<Running> {
	return state.phase.name === "running" && !state.phase.run.isHeld;
}

/** Releases the hold of a run that does not go on to its next turn. */
export function releaseUnused(before: State, after: State): Step {
	const wasHeld = before.phase.name === "running" && before.phase.run.isHeld;
	if (!wasHeld || after.phase.name === "running") return [after, []];
	const next = after.phase.name === "idle" ? after : withRun(after, after.phase, { isHeld: false });
	return [next, [{ type: "release" }]];
}

/** Raises the tree by what was granted between runs, if nobody prompted: such a run goes on with the old tree. A prompt begins a tree with those grants. */
export function raisePromised({ phase }: State): readonly Effect[] {
	if (phase.name !== "idle" || phase.prompted) return [];
	const promised = SHARED.filter((id) => phase.promised[id] > 0);
	return promised.map((meter) => ({ type: "raise", meter, by: phase.promised[meter] }));
}
