/** Events and requests at random, one arbitrary per type. Numbers are small, so that limits are met often. */
import fc from "fast-check";
import { type AmountId, kindOf, type Max, METER_IDS, type MeterId } from "../../src/core/meters.ts";
import type { Event } from "../../src/core/state.ts";
import type { Input } from "./sides.ts";

const AMOUNTS = METER_IDS.filter((id) => kindOf(id).known === "after") as AmountId[];

const meter = fc.constantFrom(...METER_IDS);
const message = fc.constantFrom("overloaded", "bug");
const call = fc.constantFrom(...["read", "write"].map((tool) => ({ tool, input: { path: "a" } })));

/** A tenth of an amount has to be a whole number, or the wrap-up about it never comes before its limit. */
function scale(id: MeterId): number {
	return kindOf(id).known === "after" ? 10 : 1;
}

function max(id: MeterId): fc.Arbitrary<Max> {
	return fc.oneof(
		{ weight: 4, arbitrary: fc.nat({ max: 4 }).map((n) => n * scale(id)) },
		{ weight: 1, arbitrary: fc.constant("unlimited") },
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
		amounts: fc.constantFrom(...AMOUNTS).chain((id) => fc.constantFrom(1, 9, 10).map((by) => ({ [id]: by }))),
	}),
	answered: input("answered", { answer: fc.constantFrom("yes", "yes", "wrap_up", "no", "none") }),
	wrap_up_requested: input("wrap_up_requested", {}),
	message_lost: input("message_lost", {}),
	limit_set: meter.chain((id) => input("limit_set", { meter: fc.constant(id), max: max(id) })),
	limit_raised: meter.chain((id) => {
		const by = fc.integer({ min: 1, max: 3 }).map((n) => n * scale(id));
		return input("limit_raised", { meter: fc.constant(id), by });
	}),
	policy_set: input("policy_set", { meter, policy: fc.constantFrom("abort", "synthesize") }),
	grace_set: input("grace_set", { grace: fc.nat({ max: 4 }) }),
	interrupted: input("interrupted", {}),
	broke: input("broke", { message }),
	settled: input("settled", {}),
	shut_down: input("shut_down", {}),
};

/** The steps of a host's loop are frequent, the others rare. */
const OFTEN: Partial<Record<Input["type"], number>> = {
	...{ prompted: 3, turn_requested: 9, turn_ended: 9, tool_call_requested: 6, charged: 3, answered: 4 },
	...{ settled: 3, turn_failed: 3, message_entered: 2, limit_raised: 2 },
};

export const weighted: readonly fc.Arbitrary<Input>[] = Object.entries(INPUTS).flatMap(([type, arbitrary]) =>
	Array.from({ length: OFTEN[type as Input["type"]] ?? 1 }, () => arbitrary as fc.Arbitrary<Input>),
);

/** Limits to begin with: some that are soon reached, with and without somebody to ask. */
export const setup: fc.Arbitrary<{ readonly attended: boolean; readonly events: readonly Event[] }> = fc.record({
	attended: fc.boolean(),
	events: fc.tuple(...METER_IDS.flatMap((id) => [limit(id), policy(id)]), INPUTS.grace_set),
});

function limit(id: MeterId): fc.Arbitrary<Event> {
	return max(id).map((max) => ({ type: "limit_set", meter: id, max }));
}

function policy(id: MeterId): fc.Arbitrary<Event> {
	return INPUTS.policy_set.map((event) => ({ ...event, meter: id }));
}
