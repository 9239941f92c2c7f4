/** Events at random, one arbitrary per trigger. Numbers are small, so that limits are met often. */
import fc from "fast-check";
import type { Max } from "../../src/core/limit.ts";
import { type Event, METER_IDS, type MeterId } from "../../src/core/state.ts";

const meter = fc.constantFrom(...METER_IDS);
const count = fc.nat({ max: 4 });
const max: fc.Arbitrary<Max> = fc.oneof(
	{ weight: 4, arbitrary: count },
	{ weight: 1, arbitrary: fc.constant("unlimited") },
);
const message = fc.constantFrom("overloaded", "bug");

type Of<T extends Event["type"]> = Extract<Event, { type: T }>;

type Values<T> = { readonly [K in Exclude<keyof T, "type">]: fc.Arbitrary<T[K]> };

function event<T extends Event["type"]>(type: T, values: Values<Of<T>>): fc.Arbitrary<Of<T>> {
	return fc.record(values as Record<string, fc.Arbitrary<unknown>>).map((is) => ({ type, ...is }) as Of<T>);
}

export const EVENTS: { readonly [T in Event["type"]]: fc.Arbitrary<Of<T>> } = {
	prompted: event("prompted", {}),
	turn_requested: event("turn_requested", {}),
	turn_ended: event("turn_ended", { goesOn: fc.constantFrom(true, true, false), answered: fc.boolean() }),
	turn_failed: event("turn_failed", { message }),
	tool_call_requested: event("tool_call_requested", { call: fc.constantFrom("read a", "write b") }),
	charged: event("charged", { cost: fc.constantFrom(0.25, 0.5) }),
	answered: event("answered", { answer: fc.constantFrom("yes", "yes", "no", "none") }),
	wrap_up_requested: event("wrap_up_requested", {}),
	message_lost: event("message_lost", {}),
	limit_set: event("limit_set", { meter, max }),
	limit_raised: event("limit_raised", { meter, by: fc.integer({ min: 1, max: 3 }) }),
	policy_set: event("policy_set", { meter, policy: fc.constantFrom("abort", "synthesize") }),
	grace_set: event("grace_set", { grace: count }),
	interrupted: event("interrupted", {}),
	broke: event("broke", { message }),
	settled: event("settled", {}),
	shut_down: event("shut_down", {}),
};

/** What a host does most, often; what seldom happens, seldom. */
const OFTEN: Partial<Record<Event["type"], number>> = {
	...{ prompted: 3, turn_requested: 9, turn_ended: 9, tool_call_requested: 6, answered: 4, settled: 2, turn_failed: 3 },
};

export const weighted: readonly fc.Arbitrary<Event>[] = Object.entries(EVENTS).flatMap(([type, arbitrary]) =>
	Array.from({ length: OFTEN[type as Event["type"]] ?? 1 }, () => arbitrary as fc.Arbitrary<Event>),
);

/** Limits to begin with: some that are soon reached, with and without somebody to ask. */
export const setup: fc.Arbitrary<{ readonly attended: boolean; readonly events: readonly Event[] }> = fc.record({
	attended: fc.boolean(),
	events: fc.tuple(...METER_IDS.flatMap((id) => [limit(id), policy(id)]), EVENTS.grace_set),
});

function limit(id: MeterId): fc.Arbitrary<Event> {
	return max.map((max) => ({ type: "limit_set", meter: id, max }));
}

function policy(id: MeterId): fc.Arbitrary<Event> {
	return EVENTS.policy_set.map((event) => ({ ...event, meter: id }));
}
