/** Core and spec side by side: every event goes to both, and they have to agree on what came of it. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { snapshot, transition } from "../../src/core/breaker.ts";
import {
	create,
	type Effect,
	type Event,
	METER_IDS,
	type MeterId,
	type PerMeter,
	perMeter,
	type Run,
	type State,
} from "../../src/core/state.ts";
import { defaults, LIMIT_OF } from "../../src/settings/settings.ts";
import type { Instance, Value } from "./expression.ts";
import { type Consequence, Machine } from "./machine.ts";

/** `turn_requested` → `TurnRequested`. */
export function triggerOf(type: string): string {
	return type
		.split("_")
		.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
		.join("");
}

/** What the core's effects are called in the spec. */
export const CONSEQUENCES = {
	ask: "ContinuationRequested",
	hold: "RequestHeld",
	close_question: "QuestionClosed",
	advise: "WrapUpAdvised",
	synthesize: "AnswerDemanded",
	refuse: "ToolCallRefused",
	abort: "RunAborted",
	end: "RunEnded",
} as const satisfies Record<Effect["type"], string>;

const METERS = { turns: "turns", toolCalls: "tool_calls" } as const satisfies PerMeter<string>;

/** One event and everything around it. */
export interface Moment {
	readonly before: State;
	readonly event: Event;
	readonly effects: readonly Effect[];
	readonly after: State;
	/** The spec's rules that took effect. */
	readonly rules: readonly string[];
}

/** A core as it is without any settings. */
export function fresh(attended: boolean): State {
	const { policy, grace, ...settings } = defaults(attended);
	return create({ attended, limits: perMeter((id) => ({ max: settings[LIMIT_OF[id]], policy })), grace });
}

export class Sides {
	state: State;
	readonly machine: Machine;

	constructor(attended: boolean) {
		this.state = fresh(attended);
		this.machine = new Machine(attended);
		same(whole(this.state), stateOf(this.machine), "the state at the start");
	}

	/** Both take the event; fails unless acceptance, state and effects agree and every invariant holds. */
	send(event: Event): Moment {
		const before = this.state;
		const [after, effects] = transition(before, event);
		this.state = after;
		const { type, ...values } = event;
		const { rules, consequences } = this.machine.trigger(triggerOf(type), toSpec(values, this.machine));
		const expected = consequences.map((consequence) => effectOf(consequence, this.machine));
		same(effects, expected, `the effects of ${type}`);
		if (rules.length === 0) {
			assert.equal(after, before, `${type}, which the spec does not accept`);
			return { before, event, effects, after, rules };
		}
		same(whole(after), stateOf(this.machine), `the state after ${type}`);
		const { softLimit = null } = snapshot(after).turns;
		same(softLimit, this.machine.session.get("wrap_up_after"), `the soft limit after ${type}`);
		same(this.machine.violations(), [], `the invariants after ${type}`);
		return { before, event, effects, after, rules };
	}
}

/** A quick look; the long one is left to say what differs. */
function same(actual: unknown, expected: unknown, about: string): void {
	if (!isDeepStrictEqual(actual, expected)) assert.deepEqual({ [about]: actual }, { [about]: expected });
}

/** An event's values as the spec has them. */
function toSpec(values: Readonly<Record<string, unknown>>, machine: Machine): Record<string, Value> {
	return Object.fromEntries(
		Object.entries(values).map(([name, value]) => {
			if (name === "meter") return [name, machine.meter(METERS[value as MeterId])];
			return [name === "goesOn" ? "goes_on" : name, value === "unlimited" ? null : (value as Value)];
		}),
	);
}

/** What is not there is there as undefined, so that it can be compared. */
function whole(state: State): State {
	const { phase } = state;
	if (phase.name === "idle") return state;
	const { pass, lastCall, ...run } = phase.run;
	return { ...state, phase: { ...phase, run: { ...run, pass, lastCall } as Run } };
}

/** The spec's session as the core would hold it. */
function stateOf(machine: Machine): unknown {
	const { session } = machine;
	const name = session.get("status");
	const meter = (id: MeterId): unknown => {
		const is = machine.meter(METERS[id]);
		const limit = { max: is.get("max") ?? "unlimited", policy: is.get("policy") };
		return { limit, used: is.get("used"), extra: is.get("extra") };
	};
	const promised = (id: MeterId): Value => machine.meter(METERS[id]).get("promised");
	const turn = session.get("turn");
	const run = {
		spent: spentOf(machine),
		turn: turn === "broken_off" ? { failed: session.get("failure") } : turn,
		pass: idOf(session.get("pass")),
		lastCall: session.get("last_call") ?? undefined,
	};
	const phases: Record<string, () => unknown> = {
		idle: () => ({
			prompted: session.get("prompted"),
			extra: perMeter(promised),
		}),
		running: () => ({ run }),
		asking: () => ({ run, meter: idOf(session.get("asked_about")) }),
		finishing: () => ({
			run,
			trip: tripOf(session),
			turns: session.get("final_turns"),
			told: session.get("told"),
			answered: session.get("replied"),
		}),
		stopped: () => ({ run, verdict: endOf(session, session.get("verdict"), tripOf(session)) }),
	};
	return {
		attended: session.get("attended"),
		grace: session.get("grace"),
		advice: session.get("advice"),
		meters: perMeter(meter),
		phase: { name, ...(phases[name as string]?.() as object) },
	};
}

function effectOf({ name, values }: Consequence, machine: Machine): unknown {
	const [type] = Object.entries(CONSEQUENCES).find(([, consequence]) => consequence === name) ?? [];
	switch (name) {
		case CONSEQUENCES.ask:
			return { type, meter: idOf(values["meter"]) };
		case CONSEQUENCES.advise:
			return { type, remaining: values["remaining"] ?? "unlimited" };
		case CONSEQUENCES.end: {
			const trip = { meter: idOf(values["meter"]), limit: values["limit"] ?? "unlimited" };
			return { type, outcome: { ...spentOf(machine), ...endOf(machine.session, values["outcome"], trip) } };
		}
		default:
			return { type };
	}
}

/** How a run ends, with what belongs to that. */
function endOf(session: Instance, kind: Value | undefined, trip: object): object {
	switch (kind) {
		case "declined":
			return { kind, answered: session.get("answered"), ...trip };
		case "wrapped_up":
		case "synthesized":
		case "exhausted":
			return { kind, ...trip };
		case "failed":
			return session.get("verdict") === "failed"
				? { kind, by: "breaker", message: session.get("fault") }
				: { kind, by: "provider", message: session.get("failure") };
		default:
			return { kind };
	}
}

function tripOf(session: Instance): object {
	return { meter: idOf(session.get("tripped")), limit: session.get("tripped_at") ?? "unlimited" };
}

function spentOf(machine: Machine): object {
	const { session } = machine;
	return {
		...perMeter((id) => machine.meter(METERS[id]).get("spent")),
		cost: session.get("cost"),
		continuations: session.get("continuations"),
		advised: session.get("advised"),
	};
}

function idOf(meter: Value | undefined): string | undefined {
	const counts = (meter as Instance | null | undefined)?.get("counts");
	return METER_IDS.find((id) => METERS[id] === counts);
}
