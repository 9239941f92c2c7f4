/** Values of settings, for properties. */
import fc from "fast-check";
import { kindOf, METER_IDS, type MeterId } from "../../src/core/meters.ts";
import { type Key, KEY_OF, KEYS, type LimitKey } from "../../src/settings/settings.ts";

/** A limit of a meter as a file writes it. */
function limit(id: MeterId): fc.Arbitrary<unknown> {
	const { unit, samples } = kindOf(id);
	const counted = fc.oneof(fc.nat(30), fc.maxSafeNat()).map(unit.write);
	return fc.oneof(
		counted.filter((written) => unit.read(written) !== undefined),
		fc.constantFrom("unlimited", ...samples.map(unit.parse)),
	);
}

const limits = Object.fromEntries(METER_IDS.map((id) => [KEY_OF[id], limit(id)])) as Record<
	LimitKey,
	fc.Arbitrary<unknown>
>;

/** Valid values of each setting, as a file writes them. */
export const valid: { readonly [K in Key]: fc.Arbitrary<unknown> } = {
	...limits,
	policy: fc.constantFrom("abort", "synthesize"),
	grace: fc.oneof(fc.nat(30), fc.maxSafeNat()),
	askTimeout: fc.oneof(fc.integer({ min: 1, max: 2_147_483 }), fc.constant("unlimited")),
	wrapUpMessage: fc.string({ unit: "binary" }).filter((text) => text.trim() !== ""),
	partialNote: fc.boolean(),
	bell: fc.boolean(),
	odds: fc.boolean(),
	repeatsExcept: fc.array(fc.string().filter((name) => name.trim() !== "")),
};

/** Some of the settings, with valid values. */
export const validValues = fc.record(valid, { requiredKeys: [] });

/** Values that look almost like a setting. */
const nearMisses = fc.constantFrom<unknown>(
	...[-1, -1e-7, 0.5, 2.5, 2 ** 53, 1e9, 1e9 + 1, 1e308, NaN, Infinity],
	...[
		"",
		"1",
		"2.50",
		"$2.50",
		"$",
		"1000000000",
		"500k",
		"1.5M",
		"1.5",
		"1h30m",
		"1h30",
		"90s",
		"Unlimited",
		" ",
		"true",
		"Abort",
		null,
		true,
	],
);

/** Anything, often close to a valid value. */
export const anything = fc.oneof(nearMisses, fc.anything({ withBigInt: true, withNullPrototype: true }));

/** Some of the settings, with good or bad values. */
export const anyValues = fc.record(
	Object.fromEntries(KEYS.map((key) => [key, fc.oneof(valid[key], anything)])) as { [K in Key]: fc.Arbitrary<unknown> },
	{ requiredKeys: [] },
);
