/** Events and requests at random, one arbitrary per type. Numbers are small, so that limits are met often. */
import fc from "fast-check";
import {
	type AmountId,
	kindOf,
	type Max,
	METER_IDS,
	type MeterId,
	OWN,
	RUN_METER_IDS,
	SHARED,
} from "../../src/core/meters.ts";
import type { Balances, Event } from "../../src/core/protocol.ts";
import type { Input } from "./sides.ts";

const AMOUNTS = RUN_METER_IDS.filter((id) => kindOf(id).known === "after") as AmountId[];
const OVER_SESSION = METER_IDS.filter((id) => kindOf(id).scope === "session");

/** Few are shared, or most sequences would wait for the ledger. */
const meter = fc.oneof(
	{ weight: 6, arbitrary: fc.constantFrom(...OWN) },
	{ weight: 1, arbitrary: fc.constantFrom(...SHARED) },
);
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

/** The ledger's word on a few meters. */
const balances: fc.Arbitrary<Balances> = fc
	.array(
		fc.constantFrom(...SHARED).chain((id) => balance(id).map((told) => [id, told] as const)),
		{ maxLength: 3 },
	)
	.map((told) => Object.fromEntries(told));

function balance(id: MeterId): fc.Arbitrary<{ readonly used: number; readonly cap: number }> {
	const amount = fc.nat({ max: 4 }).map((n) => n * scale(id));
	return fc.record({ used: amount, cap: amount });
}

type Of<T extends Input["type"]> = Extract<Input, { type: T }>;

type Values<T> = { readonly [K in Exclude<keyof T, "type">]-?: fc.Arbitrary<Exclude<T[K], undefined>> };

function input<T extends Input["type"]>(type: T, values: Values<Of<T>>): fc.Arbitrary<Of<T>> {
	return fc.record(values as Record<string, fc.Arbitrary<unknown>>).map((is) => ({ type, ...is }) as Of<T>);
}

const INPUTS: { readonly [T in Input["type"]]: fc.Arbitrary<Of<T>> } = {
	prompted: input("prompted", {}),
	begun: input("begun", {}),
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
	held: input("held", { balances }),
	filled: fc.tuple(fc.constantFrom(...SHARED), fc.nat({ max: 4 }), balances).map(([meter, n, others]) => {
		const full = { used: n * scale(meter), cap: n * scale(meter) };
		return { type: "filled", meter, balances: { ...others, [meter]: full } };
	}),
	unreachable: input("unreachable", { message }),
	balanced: input("balanced", { balances }),
	ran_out: input("ran_out", { meter: fc.oneof(fc.constantFrom(...AMOUNTS), meter) }),
	answered: fc.record(
		{
			type: fc.constant("answered"),
			answer: fc.constantFrom("yes", "yes", "yes", "yes", "wrap_up", "stop", "no", "none"),
			grant: fc.constantFrom(1, 2, 3, 20),
		},
		{ requiredKeys: ["type", "answer"] },
	),
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
	...{ held: 6, filled: 3, unreachable: 2, balanced: 2 },
	...{ settled: 6, turn_failed: 4, message_entered: 3, message_lost: 2, limit_raised: 3 },
};

const weighted: readonly fc.Arbitrary<readonly Input[]>[] = Object.entries(INPUTS).flatMap(([type, arbitrary]) =>
	Array.from({ length: OFTEN[type as Input["type"]] ?? 1 }, () =>
		(arbitrary as fc.Arbitrary<Input>).map((input) => [input]),
	),
);

/** What chance seldom brings together: circles, an amount that runs out, room for every meter, a ledger without room. */
const TOGETHER: readonly fc.Arbitrary<readonly Input[]>[] = [
	fc
		.tuple(fc.array(INPUTS.tool_call_requested, { minLength: 1, maxLength: 3 }), fc.integer({ min: 2, max: 5 }))
		.map(([cycle, times]) => Array.from({ length: times }, () => cycle).flat()),
	fc.constantFrom(...METER_IDS.filter((id) => kindOf(id).known === "after")).map((id) => [
		{ type: "charged", amounts: { [kindOf(id).of]: 40 } },
		{ type: "ran_out", meter: id },
	]),
	fc.constant(METER_IDS.map((meter) => ({ type: "limit_raised", meter, by: scale(meter) }))),
	fc
		.tuple(fc.oneof(INPUTS.filled, INPUTS.unreachable), INPUTS.answered)
		.map(([event, answered]) => [{ type: "turn_requested" }, event, answered]),
];

/** Turns for which the ledger holds room. */
const TURNS_HELD: fc.Arbitrary<readonly Input[]> = fc
	.tuple(INPUTS.held, INPUTS.turn_ended, fc.integer({ min: 1, max: 3 }))
	.map(([held, ended, n]) => {
		const request = { type: "turn_requested" } as const;
		return Array.from({ length: n }, () => [request, held, request, ended]).flat();
	});

/** Inputs, most of them one at a time. */
export const INPUT_GROUPS: readonly fc.Arbitrary<readonly Input[]>[] = [
	...weighted,
	...Array.from({ length: 3 }, () => TOGETHER).flat(),
	...Array.from({ length: 8 }, () => TURNS_HELD),
];

export function sequence(maxLength: number): fc.Arbitrary<readonly Input[]> {
	return fc.array(fc.oneof(...INPUT_GROUPS), { maxLength, size: "max" }).map((groups) => groups.flat());
}

export interface Setup {
	readonly attended: boolean;
	readonly isMember: boolean;
	readonly events: readonly Event[];
}

/** Limits to begin with: a few that are soon reached, with and without somebody to ask; in some nothing is shared. */
export const setup: fc.Arbitrary<Setup> = fc.record({
	attended: fc.boolean(),
	isMember: fc.constantFrom(false, false, true),
	events: fc
		.tuple(
			fc.tuple(...OWN.map(limit)),
			shared(),
			fc.tuple(...METER_IDS.map(policy)),
			INPUTS.grace_set,
			INPUTS.exempt_set,
		)
		.map(([own, shared, policies, ...others]) => [...own, ...shared, ...policies, ...others]),
});

function shared(): fc.Arbitrary<readonly Event[]> {
	return fc.oneof(fc.constant([]), fc.tuple(...SHARED.map(limit)));
}

function limit(id: MeterId): fc.Arbitrary<Event> {
	return max(id, 2).map((max) => ({ type: "limit_set", meter: id, max }));
}

function policy(id: MeterId): fc.Arbitrary<Event> {
	return INPUTS.policy_set.map((event) => ({ ...event, meter: id }));
}
