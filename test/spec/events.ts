/** Events and requests at random, one arbitrary per type. Numbers are small, so that limits are met often. */
import fc from "fast-check";
import { type AmountId, kindOf, type Max, METER_IDS, type MeterId, RUN_METER_IDS } from "../../src/core/meters.ts";
import type { Event } from "../../src/core/state.ts";
import type { Input } from "./sides.ts";

const AMOUNTS = RUN_METER_IDS.filter((id) => kindOf(id).known === "after") as AmountId[];
const OVER_SESSION = METER_IDS.filter((id) => kindOf(id).scope === "session");

const meter = fc.constantFrom(...METER_IDS);
const message = fc.constantFrom("overloaded", "bug");
/** The first two are the same. */
const call = fc.constantFrom(
	{ tool: "work", input: { path: "a", lines: [1] } },
	{ tool: "work", input: { lines: [1], path: "a" } },
	{ tool: "work", input: { path: "b" } },
	{ tool: "poll", input: { path: "b" } },
);

/** A tenth of an amount has to be a whole number, or the wrap-up about it never comes before its limit. */
function scale(id: MeterId): number {
	return kindOf(id).known === "after" ? 10 : 1;
}

/** `odds`: of a number against none. */
function max(id: MeterId, odds: number): fc.Arbitrary<Max> {
	return fc.oneof(
		{ weight: odds, arbitrary: fc.constantFrom(0, 1, 1, 2, 2, 2.5, 3, 3, 4, 4).map((n) => Math.floor(n * scale(id))) },
		{ weight: 4, arbitrary: fc.constant("unlimited") },
	);
}

type Of<T extends Input["type"]> = Extract<Input, { type: T }>;

type Values<T> = { readonly [K in Exclude<keyof T, "type">]-?: fc.Arbitrary<Exclude<T[K], undefined>> };

function input<T extends Input["type"]>(type: T, values: Values<Of<T>>): fc.Arbitrary<Of<T>> {
	return fc.record(values as Record<string, fc.Arbitrary<unknown>>).map((is) => ({ type, ...is }) as Of<T>);
}

export const INPUTS: { readonly [T in Input["type"]]: fc.Arbitrary<Of<T>> } = {
	prompted: input("prompted", {}),
	attended_set: input("attended_set", { attended: fc.boolean() }),
	turn_requested: input("turn_requested", {}),
	turn_ended: input("turn_ended", { goesOn: fc.constantFrom(true, true, false), concluded: fc.boolean() }),
	turn_failed: input("turn_failed", { message }),
	message_entered: input("message_entered", {}),
	tool_call_requested: input("tool_call_requested", { call }),
	charged: input("charged", {
		amounts: fc.constantFrom(...AMOUNTS).chain((id) => fc.constantFrom(1, 9, 10, 30).map((by) => ({ [id]: by }))),
	}),
	counted: input("counted", {
		used: fc.constantFrom(...OVER_SESSION).chain((id) => fc.nat({ max: 3 }).map((n) => ({ [id]: n * scale(id) }))),
	}),
	ran_out: input("ran_out", { meter: fc.oneof(fc.constantFrom(...AMOUNTS), meter) }),
	answered: input("answered", { answer: fc.constantFrom("yes", "yes", "yes", "wrap_up", "no", "none") }),
	wrap_up_requested: input("wrap_up_requested", {}),
	message_lost: input("message_lost", {}),
	limit_set: meter.chain((id) => input("limit_set", { meter: fc.constant(id), max: max(id, 16) })),
	limit_raised: meter.chain((id) => {
		const by = fc.integer({ min: 1, max: 3 }).map((n) => n * scale(id));
		return input("limit_raised", { meter: fc.constant(id), by });
	}),
	policy_set: input("policy_set", { meter, policy: fc.constantFrom("abort", "synthesize") }),
	grace_set: input("grace_set", { grace: fc.nat({ max: 4 }) }),
	exempt_set: input("exempt_set", { exempt: fc.subarray(["poll"]) }),
	interrupted: input("interrupted", {}),
	broke: input("broke", { message }),
	settled: input("settled", {}),
	shut_down: input("shut_down", {}),
};

/** The steps of a host's loop are frequent, the others rare. */
const OFTEN: Partial<Record<Input["type"], number>> = {
	...{ prompted: 5, turn_requested: 20, turn_ended: 18, tool_call_requested: 18, charged: 6, answered: 8 },
	...{ settled: 6, turn_failed: 4, message_entered: 3, message_lost: 2, limit_raised: 2 },
};

const weighted: readonly fc.Arbitrary<readonly Input[]>[] = Object.entries(INPUTS).flatMap(([type, arbitrary]) =>
	Array.from({ length: OFTEN[type as Input["type"]] ?? 1 }, () =>
		(arbitrary as fc.Arbitrary<Input>).map((input) => [input]),
	),
);

/** What chance seldom brings together: calls that go in circles, an amount that runs out, room for every meter. */
const TOGETHER: readonly fc.Arbitrary<readonly Input[]>[] = [
	fc
		.tuple(fc.array(INPUTS.tool_call_requested, { minLength: 1, maxLength: 3 }), fc.integer({ min: 2, max: 5 }))
		.map(([cycle, times]) => Array.from({ length: times }, () => cycle).flat()),
	fc.constantFrom(...METER_IDS.filter((id) => kindOf(id).known === "after")).map((id) => [
		{ type: "charged", amounts: { [kindOf(id).of]: 40 } },
		{ type: "ran_out", meter: id },
	]),
	fc.constant(METER_IDS.map((meter) => ({ type: "limit_raised", meter, by: scale(meter) }))),
];

/** Inputs, most of them one at a time. */
export const INPUT_GROUPS: readonly fc.Arbitrary<readonly Input[]>[] = [...weighted, ...TOGETHER, ...TOGETHER];

export function sequence(maxLength: number): fc.Arbitrary<readonly Input[]> {
	return fc.array(fc.oneof(...INPUT_GROUPS), { maxLength, size: "max" }).map((groups) => groups.flat());
}

/** Limits to begin with: a few that are soon reached, with and without somebody to ask. */
export const setup: fc.Arbitrary<{ readonly attended: boolean; readonly events: readonly Event[] }> = fc.record({
	attended: fc.boolean(),
	events: fc.tuple(...METER_IDS.flatMap((id) => [limit(id), policy(id)]), INPUTS.grace_set, INPUTS.exempt_set),
});

function limit(id: MeterId): fc.Arbitrary<Event> {
	return max(id, 2).map((max) => ({ type: "limit_set", meter: id, max }));
}

function policy(id: MeterId): fc.Arbitrary<Event> {
	return INPUTS.policy_set.map((event) => ({ ...event, meter: id }));
}
