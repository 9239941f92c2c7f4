/** Drives the core as a host would, one event or request at a time. */
import { decide, transition } from "../../src/core/breaker.ts";
import type { Policy } from "../../src/core/policies.ts";
import {
	type Call,
	type Gate,
	concerns,
	kindOf,
	type Max,
	METER_IDS,
	type MeterId,
	type PerMeter,
	perMeter,
	perRunMeter,
} from "../../src/core/meters.ts";
import type { Outcome, Spent } from "../../src/core/outcome.ts";
import type { Answer } from "../../src/core/answers.ts";
import type { Decision, Effect, Event, Request } from "../../src/core/protocol.ts";
import { create, isTurnOpen, type State } from "../../src/core/state.ts";
import { Ledger } from "./ledger.ts";

/** Limits by meter; a meter without one has the default of programs. */
export type Given = Partial<PerMeter<Max>> & {
	policy?: Policy;
	grace?: number;
	attended?: boolean;
	isMember?: boolean;
};

/** The effects of a request, and its decision at the end. */
export type Said = Effect | Decision;

/** A breaker in the hands of a test. */
export class Driver {
	state: State;
	/** It hears of everything that it has to know; `request` has it answer. */
	readonly ledger = new Ledger();

	constructor({ policy = "abort", grace = 0, attended = false, isMember = false, ...limits }: Given = {}) {
		const limit = (id: MeterId) => ({ max: limits[id] ?? kindOf(id).embedded ?? kindOf(id).default, policy });
		this.state = create({ attended, isMember, limits: perMeter(limit), grace });
	}

	/** Commits an event; gives its effects, but for those that the ledger has carried out. */
	send(event: Event): readonly Effect[] {
		const [next, effects] = transition(this.state, event);
		this.state = next;
		return this.#carryOut(effects);
	}

	/** Makes a request once; gives its effects like `send`, then its decision. */
	ask(request: Request): readonly Said[] {
		const { phase } = this.state;
		if (phase.name === "idle" && phase.prompted) this.ledger.beginTree(phase.promised);
		const before = this.spent?.turns ?? 0;
		const [next, decision, effects] = decide(this.state, request);
		this.state = next;
		this.ledger.spend("turns", (this.spent?.turns ?? 0) - before);
		return [...this.#carryOut(effects), decision];
	}

	#carryOut(effects: readonly Effect[]): readonly Effect[] {
		return effects.filter((effect) => {
			if (effect.type === "release") this.ledger.release();
			if (effect.type === "raise") this.ledger.raise(effect.meter, effect.by, this.state);
			return effect.type !== "release" && effect.type !== "raise";
		});
	}

	prompt(): this {
		this.send({ type: "prompted" });
		return this;
	}

	/** Requests a turn, again after the ledger has answered; gives everything but that. */
	request(): readonly Said[] {
		const said = this.ask({ type: "turn_requested" });
		if (!said.some((word) => typeof word === "object" && word.type === "reserve")) return said;
		return [...this.send(this.ledger.reserve(this.state)), ...this.request()];
	}

	call(call: Call = BASH): readonly Said[] {
		return this.ask({ type: "tool_call_requested", call });
	}

	/** The turn ends and the loop goes on, unless told otherwise. */
	end(goesOn = true, concluded = false): readonly Effect[] {
		return this.send({ type: "turn_ended", goesOn, concluded });
	}

	/** The turn ends, and the run with it: the model concluded. */
	finish(): readonly Effect[] {
		return this.end(false, true);
	}

	fail(message = "overloaded"): readonly Effect[] {
		return this.send({ type: "turn_failed", message });
	}

	charge(id: MeterId, amount: number): readonly Effect[] {
		const { of } = kindOf(id);
		this.ledger.spend(of, amount);
		const effects = this.send({ type: "charged", amounts: { [of]: amount } });
		return [...effects, ...this.send({ type: "balanced", balances: this.ledger.balances(this.state) })];
	}

	set(meter: MeterId, max: Max): readonly Effect[] {
		return this.send({ type: "limit_set", meter, max });
	}

	raise(meter: MeterId, by: number): readonly Effect[] {
		return this.send({ type: "limit_raised", meter, by });
	}

	answer(answer: Answer, grant?: number): readonly Effect[] {
		return this.send({ type: "answered", answer, grant });
	}

	/** Whole turns, each of which is followed by another; gives everything that was said but `admit`. */
	turns(n: number): readonly Said[] {
		return Array.from({ length: n }).flatMap(() => [...withoutAdmits(this.request()), ...this.end()]);
	}

	/** Tool calls in a row; gives everything that was said but `admit`. */
	calls(n: number): readonly Said[] {
		return Array.from({ length: n }).flatMap(() => withoutAdmits(this.call()));
	}

	/**
	 * The next request at a gate: a turn after the open one, or a call in the open turn, which counts for the meter.
	 * Gives everything that was said but `admit`.
	 */
	knock(gate: Gate, id: MeterId): readonly Said[] {
		if (gate === "turn") {
			const ended = this.#isOpen ? this.end() : [];
			return ended.length > 0 ? ended : withoutAdmits(this.request());
		}
		const opened = this.#isOpen ? [] : withoutAdmits(this.request());
		return opened.length > 0 ? opened : withoutAdmits(this.call(concerns(id, "call") ? CALLS[0] : undefined));
	}

	/** Requests at a gate until they have spent `n` of a meter: each counts 1, or 1 is charged after it. */
	spend(gate: Gate, id: MeterId, n: number): readonly Said[] {
		return Array.from({ length: n }).flatMap(() => {
			const said = this.knock(gate, id);
			if (kindOf(id).known === "after") this.charge(id, 1);
			return said;
		});
	}

	/** The host settles; gives the outcome. */
	settle(): Outcome | undefined {
		return outcome(this.send({ type: "settled" }));
	}

	get phase(): string {
		return this.state.phase.name;
	}

	get spent(): Spent | undefined {
		return this.state.phase.name === "idle" ? undefined : this.state.phase.run.spent;
	}

	used(meter: MeterId = "turns"): number {
		return this.state.meters[meter].used;
	}

	get #isOpen(): boolean {
		return this.state.phase.name !== "idle" && isTurnOpen(this.state.phase.run);
	}
}

function withoutAdmits(said: readonly Said[]): readonly Said[] {
	return said.filter((word) => word !== "admit");
}

/** The outcome among effects. */
export function outcome(effects: readonly Effect[]): Outcome | undefined {
	return effects.flatMap((effect) => (effect.type === "end" ? [effect.outcome] : []))[0];
}

/** What a run has spent, as its outcome says it. */
export function sum(spent: Partial<Outcome> = {}): Spent & { advised: boolean } {
	return { ...perRunMeter(() => 0), continuations: 0, advised: false, ...spent };
}

/** Every meter that sums up and that somebody here can be asked about, at each gate that checks it. */
export const GATES = METER_IDS.filter((id) => id !== "repeats" && kindOf(id).scope !== "fleet").flatMap((id) =>
	kindOf(id).gates.map((gate) => ({ id, gate })),
);

const BASH: Call = { tool: "bash", input: { command: "true" } };

/** Each meter that counts calls counts one of these. */
const CALLS: readonly Call[] = [BASH, { tool: "write", input: {} }, { tool: "edit", input: {} }];

export const ABORT: Effect = { type: "abort" };
export const CLOSE: Effect = { type: "close_question" };
export const SYNTHESIZE: Effect = { type: "synthesize" };
export const CONTINUE: Effect = { type: "continue" };
export const RESUME: Effect = { type: "resume" };

export function asks(meter: MeterId): Effect {
	return { type: "ask", meter };
}

export function advises(meter: MeterId, remaining: Max): Effect {
	return { type: "advise", meter, remaining };
}

/** One event of each type. */
export const EVENTS: { readonly [T in Event["type"]]: Extract<Event, { type: T }> } = {
	prompted: { type: "prompted" },
	begun: { type: "begun" },
	attended_set: { type: "attended_set", attended: true },
	turn_ended: { type: "turn_ended", goesOn: true },
	turn_failed: { type: "turn_failed", message: "overloaded" },
	message_entered: { type: "message_entered" },
	charged: { type: "charged", amounts: { cost: 1 } },
	answered: { type: "answered", answer: "yes" },
	wrap_up_requested: { type: "wrap_up_requested" },
	message_lost: { type: "message_lost" },
	limit_set: { type: "limit_set", meter: "turns", max: 7 },
	limit_raised: { type: "limit_raised", meter: "turns", by: 3 },
	policy_set: { type: "policy_set", meter: "turns", policy: "synthesize" },
	counted: { type: "counted", used: { sessionTurns: 4 } },
	held: { type: "held", balances: {} },
	filled: { type: "filled", meter: "dayTurns", balances: {} },
	unreachable: { type: "unreachable", message: "locked" },
	balanced: { type: "balanced", balances: { dayTurns: { used: 4, cap: 9 } } },
	ran_out: { type: "ran_out", meter: "time" },
	grace_set: { type: "grace_set", grace: 1 },
	exempt_set: { type: "exempt_set", exempt: ["poll"] },
	interrupted: { type: "interrupted" },
	broke: { type: "broke", message: "bug" },
	settled: { type: "settled" },
	shut_down: { type: "shut_down" },
};
