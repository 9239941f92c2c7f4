/** Core and spec side by side: both take every event and every request, and their results have to agree. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { decide, transition } from "../../src/core/breaker.ts";
import { softLimit } from "../../src/core/limit.ts";
import { type Call, kindOf, METER_IDS, type MeterId, perMeter, perRunMeter } from "../../src/core/meters.ts";
import { refusalsInARow } from "../../src/core/run.ts";
import type { Balances, Decision, Effect, Event, Request } from "../../src/core/protocol.ts";
import { create, type State } from "../../src/core/state.ts";
import { defaults, KEY_OF } from "../../src/settings/settings.ts";
import { echoes, LENGTHS } from "./circles.ts";
import type { Instance, Value } from "./expression.ts";
import { type Consequence, Machine, nameOf, record } from "./machine.ts";
import { CONSEQUENCES, DECISIONS, idOf, measureOf, NAMES, triggerOf } from "./names.ts";

/** An event or a request. */
export type Input = Event | Request;

/** One input and its result. */
export interface Moment {
	readonly before: State;
	readonly input: Input;
	/** Of a request. */
	readonly decision: Decision | undefined;
	readonly effects: readonly Effect[];
	readonly after: State;
}

/** A core with the default settings. */
export function fresh(attended: boolean, isMember = false): State {
	const { policy, grace, ...settings } = defaults(attended);
	return create({ attended, isMember, limits: perMeter((id) => ({ max: settings[KEY_OF[id]], policy })), grace });
}

/** The core takes an input. */
export function take(before: State, input: Input): Moment {
	if (isRequest(input)) {
		const [after, decision, effects] = decide(before, input);
		return { before, input, decision, effects, after };
	}
	const [after, effects] = transition(before, input);
	return { before, input, decision: undefined, effects, after };
}

export function isRequest(input: Input): input is Request {
	return input.type === "turn_requested" || input.type === "tool_call_requested";
}

export class Sides {
	state: State;
	readonly machine: Machine;

	constructor(attended: boolean, isMember = false) {
		this.state = fresh(attended, isMember);
		this.machine = new Machine(attended, isMember);
		same(plain(this.state), stateOf(this.machine), "the state at the start");
		same(METER_IDS.map(rowOf), this.machine.meters.map(specRowOf), "the table of meters");
	}

	/** Both take the input; fails unless acceptance, decision, effects and state agree and every invariant holds. */
	send(input: Input): Moment & { readonly rules: readonly string[] } {
		const moment = take(this.state, input);
		const { before, decision, effects, after } = moment;
		this.state = after;
		const { type, ...values } = input;
		const { rules, consequences } = this.machine.trigger(triggerOf(type), toSpec(values, this.machine));
		const decisions = consequences.flatMap(({ name }) => decisionOf(name) ?? []);
		same(decision === undefined ? [] : [decision], decisions, `the decision about ${type}`);
		const others = consequences.filter(({ name }) => decisionOf(name) === undefined);
		const expected = others.map((consequence) => effectOf(consequence, this.machine));
		same(effects, expected, `the effects of ${type}`);
		if (rules.length === 0) {
			assert.equal(after, before, `${type}, which the spec does not accept`);
			return { ...moment, rules };
		}
		same(plain(after), stateOf(this.machine), `the state after ${type}`);
		same(refusalsInARow(after), this.machine.session.get("refusals_in_a_row"), `the refusals after ${type}`);
		for (const id of METER_IDS) {
			const isShort = after.meters[id].used >= (softLimit(id, after.meters[id], after.grace) ?? Infinity);
			same(isShort, of(this.machine, id).get("short"), `whether ${id} are short after ${type}`);
		}
		same(this.machine.violations(), [], `the invariants after ${type}`);
		return { ...moment, rules };
	}
}

/** Quick; only a difference is compared again for its message. */
function same(actual: unknown, expected: unknown, about: string): void {
	if (!isDeepStrictEqual(actual, expected)) assert.deepEqual({ [about]: actual }, { [about]: expected });
}

// To the spec

/** The values of an input as the spec has them. */
function toSpec(values: Readonly<Record<string, unknown>>, machine: Machine): Record<string, Value> {
	return Object.fromEntries(
		Object.entries(values).map(([name, value]) => {
			if (name === "meter") return [name, of(machine, value as MeterId)];
			if (name === "amounts") return ["charges", charges(value as PerId)];
			if (name === "used") return ["counts", counts(value as PerId, machine)];
			if (name === "balances") return [name, told(value as Balances, machine)];
			return [name === "goesOn" ? "goes_on" : name, value === "unlimited" ? null : (value as Value)];
		}),
	);
}

type PerId = Readonly<Record<MeterId, number>>;

function charges(amounts: PerId): Value {
	return Object.entries(amounts).map(([id, by]) => record({ measure: measureOf(id as MeterId), by }));
}

function counts(counted: PerId, machine: Machine): Value {
	return Object.entries(counted).map(([id, used]) => record({ meter: of(machine, id as MeterId), used }));
}

function told(balances: Balances, machine: Machine): Value {
	return METER_IDS.flatMap((id) => {
		const balance = balances[id];
		return balance ? [record({ meter: of(machine, id), ...balance })] : [];
	});
}

function of(machine: Machine, id: MeterId): Instance {
	return machine.meter(NAMES[id]);
}

function decisionOf(consequence: string): Decision | undefined {
	const decisions = Object.keys(DECISIONS) as Decision[];
	return decisions.find((decision) => DECISIONS[decision] === consequence);
}

function rowOf(id: MeterId): object {
	const { gates, known } = kindOf(id);
	const kind = id === "repeats" ? "streak" : known === "before" ? "count" : "amount";
	return { id, kind, gates: gates.map((gate) => `before_${gate}`) };
}

// From the spec

function specRowOf(meter: Instance): object {
	return { id: meterOf(meter), kind: meter.get("kind"), gates: meter.get("gates") };
}

/** The core's state, with absent values as undefined and in one order, so that it can be compared. */
function plain(core: State): unknown {
	const { phase } = core;
	const state = {
		...core,
		streak: { ...core.streak, recent: core.streak.recent.map((key) => JSON.parse(key) as unknown) },
	};
	if (phase.name === "idle") return { ...state, phase: { ...phase, refusedSinceStop: phase.refusedSinceStop } };
	const asked = phase.name === "asking" ? { call: phase.call, unreachable: phase.unreachable } : {};
	const { advised, refusedSinceStop, ...run } = phase.run;
	const passes = METER_IDS.filter((id) => run.passes.includes(id));
	return { ...state, phase: { ...phase, ...asked, run: { ...run, passes, advised, refusedSinceStop } } };
}

/** The spec's session as the core would hold it. */
function stateOf(machine: Machine): unknown {
	const { session } = machine;
	const name = session.get("status");
	const meter = (id: MeterId): unknown => {
		const [max, policy, used, extra] = ["max", "policy", "used", "extra"].map((field) => of(machine, id).get(field));
		return { limit: { max: max ?? "unlimited", policy }, used, extra };
	};
	const refusedSinceStop = session.get("refused_since_stop") ?? undefined;
	const run = {
		spent: spentOf(machine),
		turn: turnOf(session),
		passes: METER_IDS.filter((id) => of(machine, id).get("passed")),
		advised: meterOf(session.get("advised")),
		refusedSinceStop,
		endsAsking: session.get("ends_asking"),
		refusals: session.get("refusals"),
		isHeld: session.get("held"),
		isWaived: session.get("waived"),
	};
	const phases: Record<string, () => object> = {
		idle: () => ({
			...{ prompted: session.get("prompted"), refusedSinceStop },
			promised: perMeter((id) => of(machine, id).get("promised")),
		}),
		running: () => ({ run }),
		asking: () => ({
			...{ run, meter: meterOf(session.get("asked_about")), gate: gateOf(session.get("asked_at")) },
			call: session.get("waiting_call") ?? undefined,
			unreachable: session.get("unreachable") ?? undefined,
		}),
		finishing: () => ({
			...{ run, trip: tripOf(session), turns: session.get("final_turns") },
			...{ concluded: session.get("concluded") },
		}),
		stopped: () => ({ run, verdict: endOf(session, session.get("verdict"), tripOf(session)) }),
	};
	const advice = session.get("advice");
	return {
		attended: session.get("attended"),
		isMember: session.get("member"),
		grace: session.get("grace"),
		advice: advice === "given" ? { given: meterOf(session.get("advice_about")) } : advice,
		streak: streakOf(session),
		exempt: session.get("exempt"),
		meters: perMeter(meter),
		phase: { name, ...phases[name as string]?.() },
	};
}

/** What the core keeps of the calls in a row. */
function streakOf(session: Instance): object {
	const calls = session.get("calls") as readonly Call[];
	const recent = calls.slice(-LENGTHS.length).reverse();
	return {
		recent: recent.map(({ tool, input }) => [tool, input]),
		same: LENGTHS.map((length) => echoes(calls, length)),
		warned: session.get("warned"),
	};
}

function turnOf(session: Instance): unknown {
	const status = session.get("turn_status");
	const since = { broken_off: "nothing", repeated: "retry", superseded: "message" }[status as string];
	return since === undefined ? status : { failed: session.get("failure"), since };
}

function effectOf({ name, values }: Consequence, machine: Machine): unknown {
	const [type] = Object.entries(CONSEQUENCES).find(([, consequence]) => consequence === name) ?? [];
	switch (name) {
		case CONSEQUENCES.ask:
			return { type, meter: meterOf(values["meter"]) };
		case CONSEQUENCES.raise:
			return {
				...{ type, meter: meterOf(values["meter"]), by: values["by"] },
				...(values["for_answer"] === true ? { isAnswer: true } : {}),
			};
		case CONSEQUENCES.advise:
			return { type, meter: meterOf(values["meter"]), remaining: values["remaining"] ?? "unlimited" };
		case CONSEQUENCES.point_out:
			return { type, call: values["call"], times: values["times"] };
		case CONSEQUENCES.end: {
			const { session } = machine;
			const trip = { meter: meterOf(values["meter"]), limit: values["limit"] ?? "unlimited" };
			const spent = { ...spentOf(machine), advised: session.get("advised") !== null };
			return { type, outcome: { ...spent, ...endOf(session, values["outcome"], trip) }, repeated: values["repeated"] };
		}
		default:
			return { type };
	}
}

/** The end of a run, with the values that belong to it. */
function endOf(session: Instance, kind: Value | undefined, trip: { readonly meter: MeterId | undefined }): object {
	switch (kind) {
		case "declined":
			return { kind, answered: session.get("answered"), ...trip };
		case "exhausted":
			return { kind, ...(session.get("cut") ? { cut: true } : {}), ...trip };
		case "wrapped_up":
		case "synthesized":
			return { kind, ...trip };
		case "failed":
			if (session.get("verdict") === "failed") return { kind, by: "breaker", message: session.get("fault") };
			return { kind, by: "provider", message: session.get("failure"), ...(trip.meter === undefined ? {} : trip) };
		default:
			return { kind };
	}
}

function tripOf(session: Instance): { readonly meter: MeterId | undefined; readonly limit: Value } {
	return { meter: meterOf(session.get("tripped")), limit: session.get("tripped_at") ?? "unlimited" };
}

function spentOf(machine: Machine): object {
	const spent = perRunMeter((id) => of(machine, id).get("spent"));
	return { ...spent, continuations: machine.session.get("continuations") };
}

function meterOf(meter: Value | undefined): MeterId | undefined {
	return meter ? idOf(nameOf(meter as Instance)) : undefined;
}

function gateOf(gate: Value): string {
	return (gate as string).replace("before_", "");
}
