/** Drives the core as a host would, one event at a time. */
import { transition } from "../../src/core/breaker.ts";
import type { Max, Policy } from "../../src/core/limit.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { create, type Effect, type Event, type State } from "../../src/core/state.ts";

export interface Given {
	turns?: Max;
	toolCalls?: Max;
	policy?: Policy;
	grace?: number;
	attended?: boolean;
}

/** A breaker and everything it has asked for. */
export class Driver {
	state: State;

	constructor({ turns = 25, toolCalls = "unlimited", policy = "abort", grace = 0, attended = false }: Given = {}) {
		const limits = { turns: { max: turns, policy }, toolCalls: { max: toolCalls, policy } };
		this.state = create({ attended, limits, grace });
	}

	/** Commits an event; gives the effects. */
	send(event: Event): readonly Effect[] {
		const [next, effects] = transition(this.state, event);
		this.state = next;
		return effects;
	}

	prompt(): this {
		this.send({ type: "prompted" });
		return this;
	}

	request(): readonly Effect[] {
		return this.send({ type: "turn_requested" });
	}

	/** The turn ends and the loop goes on, unless told otherwise. */
	end(goesOn = true): readonly Effect[] {
		return this.send({ type: "turn_ended", goesOn });
	}

	call(call = "bash true"): readonly Effect[] {
		return this.send({ type: "tool_call_requested", call });
	}

	/** Whole turns, each of which is followed by another; gives all effects. */
	turns(n: number): readonly Effect[] {
		return Array.from({ length: n }).flatMap(() => [...this.request(), ...this.end()]);
	}

	/** Tool calls in a row; gives all effects. */
	calls(n: number): readonly Effect[] {
		return Array.from({ length: n }).flatMap(() => this.call());
	}

	answer(answer: "yes" | "no" | "none"): readonly Effect[] {
		return this.send({ type: "answered", answer });
	}

	/** The host settles; gives the outcome. */
	settle(): Outcome | undefined {
		return outcome(this.send({ type: "settled" }));
	}

	get phase(): string {
		return this.state.phase.name;
	}

	used(meter: "turns" | "toolCalls" = "turns"): number {
		return this.state.meters[meter].used;
	}
}

/** The outcome among effects. */
export function outcome(effects: readonly Effect[]): Outcome | undefined {
	return effects.flatMap((effect) => (effect.type === "end" ? [effect.outcome] : []))[0];
}

export const ASK_TURNS: Effect = { type: "ask", meter: "turns" };
export const ASK_CALLS: Effect = { type: "ask", meter: "toolCalls" };
export const ABORT: Effect = { type: "abort" };
export const REFUSE: Effect = { type: "refuse" };
export const HOLD: Effect = { type: "hold" };
export const CLOSE: Effect = { type: "close_question" };
export const SYNTHESIZE: Effect = { type: "synthesize" };

/** One event of each type, to throw at a state. */
export const EVENTS: readonly Event[] = [
	{ type: "prompted" },
	{ type: "turn_requested" },
	{ type: "turn_ended", goesOn: true },
	{ type: "turn_failed", message: "overloaded" },
	{ type: "tool_call_requested", call: "bash true" },
	{ type: "charged", cost: 1 },
	{ type: "answered", answer: "yes" },
	{ type: "wrap_up_requested" },
	{ type: "message_lost" },
	{ type: "limit_set", meter: "turns", max: 7 },
	{ type: "limit_raised", meter: "turns", by: 3 },
	{ type: "policy_set", meter: "turns", policy: "synthesize" },
	{ type: "grace_set", grace: 1 },
	{ type: "interrupted" },
	{ type: "broke", message: "bug" },
	{ type: "settled" },
	{ type: "shut_down" },
];
