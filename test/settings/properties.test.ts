/** Whatever stands in the places, only valid settings come of it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Found, fromEnvironment, fromFlags, fromMemory, remember } from "../../src/settings/places.ts";
import { defaults, KEYS, resolve, SETTINGS } from "../../src/settings/settings.ts";
import { check } from "../spec/check.ts";
import { fallback, type Given, read, resolved, SOURCES } from "./given.ts";
import { anything, anyValues, validValues } from "./values.ts";

function assertHarmless({ place, problems }: Found): void {
	const { settings } = resolve([place], place, defaults(false));
	for (const key of KEYS) {
		const { value, source } = settings[key];
		assert.ok(source === "default" ? value === defaults(false)[key] : SETTINGS[key].is(value));
	}
	for (const problem of problems) assert.doesNotMatch(problem, /[\p{Cc}\p{Zl}\p{Zp}]/u);
}

test("no bytes, no JSON and no object in a file make reading throw or give an invalid setting", async () => {
	const content = fc.oneof(
		fc.string({ unit: "binary" }),
		fc.uint8Array(),
		fc.json(),
		fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), fc.string()), fc.jsonValue()).map((o) => JSON.stringify(o)),
	);
	await check(
		fc.property(content, (content) => assertHarmless(read(content))),
		100,
	);
});

test("no text in flags and variables makes reading throw or gives an invalid setting", async () => {
	const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[-+]?\d+(\.\d+)?(e\d+)?$/));
	await check(
		fc.property(text, (text) => {
			assertHarmless({ place: fromFlags(() => text), problems: [] });
			const names = KEYS.flatMap((key) => SETTINGS[key].env ?? []);
			assertHarmless({ place: fromEnvironment(Object.fromEntries(names.map((name) => [name, text]))), problems: [] });
		}),
		100,
	);
});

test("what the command has set is remembered in the session's file as it was", async () => {
	await check(
		fc.property(validValues, (values) => {
			const stored: unknown = JSON.parse(JSON.stringify(remember(values)));
			const { place, problems } = fromMemory([remember({ maxTurns: 1, grace: 1 }), stored]);
			assert.deepEqual({ ...place.values }, { ...values });
			assert.deepEqual(problems, []);
			assert.equal(place.name("maxTurns"), "/turn-limit");
		}),
		100,
	);
});

test("no entries make reading throw or give an invalid setting", async () => {
	const version = fc.oneof(fc.constant(1), anything);
	const entry = fc.oneof(anything, fc.record({ version, values: fc.oneof(anyValues, anything) }));
	await check(
		fc.property(fc.array(entry), (entries) => assertHarmless(fromMemory(entries))),
		100,
	);
});

test("whatever stands in the sources, every setting is valid or the default, and every bad value is told", async () => {
	const given = fc.record(Object.fromEntries(SOURCES.map((source) => [source, anyValues])), { requiredKeys: [] });
	await check(
		fc.property(given, (given: Given) => {
			const { settings, problems } = resolved(given);
			for (const key of KEYS) {
				const { value, source } = settings[key];
				assert.ok(source === "default" ? value === fallback[key] : SETTINGS[key].is(value));
				for (const from of SOURCES) {
					const bad = given[from]?.[key] !== undefined && !SETTINGS[key].is(given[from][key]);
					const told = problems.filter((problem) => problem.startsWith(`${from}'s ${key}: `));
					if (bad || from !== "project") assert.equal(told.length, bad ? 1 : 0);
				}
			}
			assert.ok(problems.every((problem) => !/[\n\r\u001b]/.test(problem) && problem.length < 300));
		}),
		100,
	);
});
