/** What settings can be, for properties. */
import fc from "fast-check";
import { type Key, KEYS, type Settings } from "../../src/settings/settings.ts";

const limit = fc.oneof(fc.nat(30), fc.maxSafeNat(), fc.constant("unlimited" as const));

/** Valid values of each setting. */
export const valid: { readonly [K in Key]: fc.Arbitrary<Settings[K]> } = {
	maxTurns: limit,
	maxToolCalls: limit,
	policy: fc.constantFrom("abort", "synthesize"),
	grace: fc.oneof(fc.nat(30), fc.maxSafeNat()),
	askTimeout: fc.oneof(fc.integer({ min: 1, max: 2_147_483 }), fc.constant("unlimited" as const)),
	wrapUpMessage: fc.string({ unit: "binary" }).filter((text) => text.trim() !== ""),
};

/** Some of the settings, with valid values. */
export const validValues = fc.record(valid, { requiredKeys: [] });

/** Numbers that look almost like a limit. */
const nearMisses = fc.constantFrom<unknown>(
	-1,
	0.5,
	2 ** 53,
	1e308,
	NaN,
	Infinity,
	"",
	"1",
	"Unlimited",
	" ",
	null,
	true,
);

/** Anything, often close to what is valid. */
export const anything = fc.oneof(nearMisses, fc.anything({ withBigInt: true, withNullPrototype: true }));

/** Some of the settings, with good or bad values. */
export const anyValues = fc.record(
	Object.fromEntries(KEYS.map((key) => [key, fc.oneof(valid[key], anything)])) as { [K in Key]: fc.Arbitrary<unknown> },
	{ requiredKeys: [] },
);
