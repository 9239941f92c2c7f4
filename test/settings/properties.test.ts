/** Only valid settings come of any content of the places. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Problem, sentenceOf } from "../../src/settings/problem.ts";
import { fromEnvironment, fromFlags, fromMemory, remember } from "../../src/settings/places.ts";
import { type Place, resolve } from "../../src/settings/resolve.ts";
import { type Key, KEYS, SETTINGS } from "../../src/settings/settings.ts";
import { check } from "../spec/check.ts";
import { fallback, type Given, lowering, place, read, resolved, SOURCES, told } from "./given.ts";
import { anything, anyValues, validValues } from "./values.ts";

/** A value that the core can use: it survives being written to a file. */
function assertValid(key: Key, { value, source }: { readonly value: unknown; readonly source: string }): void {
	if (source === "default") assert.equal(value, fallback[key]);
	else assert.deepEqual(SETTINGS[key].read(SETTINGS[key].write(value as never)), value);
}

function assertHarmless(place: Place, problems: readonly Problem[] = []): void {
	const { settings } = resolve([place], [lowering(place)], fallback);
	for (const key of KEYS) assertValid(key, settings[key]);
	for (const problem of problems) assert.doesNotMatch(sentenceOf(problem), /[\p{Cc}\p{Zl}\p{Zp}]/u);
}

test("no bytes, no JSON and no object in a file make reading throw or give an invalid setting", async () => {
	const content = fc.oneof(
		fc.string({ unit: "binary" }),
		fc.uint8Array(),
		fc.json(),
		fc.dictionary(fc.oneof(fc.constantFrom(...KEYS), fc.string()), fc.jsonValue()).map((o) => JSON.stringify(o)),
	);
	await check(
		fc.property(content, (content) => {
			const { place, problems } = read(content);
			assertHarmless(place, problems);
		}),
		100,
	);
});

test("no text in flags and variables makes reading throw or gives an invalid setting", async () => {
	const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[-+]?\d+(\.\d+)?(e\d+)?$/));
	await check(
		fc.property(text, (text) => {
			assertHarmless(fromFlags(() => text));
			const names = KEYS.flatMap((key) => SETTINGS[key].env ?? []);
			const env = { ...Object.fromEntries(names.map((name) => [name, text])), [`PI_TURN_LIMIT_${text}`]: "1" };
			const { places, problems } = fromEnvironment(env);
			for (const place of places) assertHarmless(place, problems);
		}),
		100,
	);
});

test("values that the command has set come back from the session's file as they were", async () => {
	await check(
		fc.property(validValues, (any) => {
			const isTyped = ([key]: [string, unknown]): boolean => SETTINGS[key as Key].word !== undefined;
			const values = Object.fromEntries(Object.entries(any).filter(isTyped));
			const stored: unknown = JSON.parse(JSON.stringify(remember(values)));
			const found = fromMemory([remember({ maxTurns: 1, grace: 1 }), stored]);
			assert.deepEqual({ ...found.values }, { ...values });
			assert.deepEqual(found.problems, []);
		}),
		100,
	);
});

test("no entries make reading throw or give an invalid setting", async () => {
	const version = fc.oneof(fc.constant(1), anything);
	const entry = fc.oneof(anything, fc.record({ version, values: fc.oneof(anyValues, anything) }));
	await check(
		fc.property(fc.array(entry), (entries) => {
			const { values, problems } = fromMemory(entries);
			assertHarmless(place("command", values), problems);
		}),
		100,
	);
});

test("every setting is valid or the default, and every bad value is reported", async () => {
	const given = fc.record(Object.fromEntries(SOURCES.map((source) => [source, anyValues])), { requiredKeys: [] });
	await check(
		fc.property(given, (given: Given) => {
			const { settings, ...found } = resolved(given);
			const problems = told(found.problems);
			for (const key of KEYS) {
				assertValid(key, settings[key]);
				for (const from of SOURCES) {
					const value = given[from]?.[key];
					const isBad = value !== undefined && SETTINGS[key].read(value) === undefined;
					const reports = problems.filter((problem) => problem.startsWith(`${from}'s ${key}: expected `));
					assert.equal(reports.length, isBad ? 1 : 0);
				}
			}
			assert.ok(problems.every((problem) => !/[\n\r\u001b]/.test(problem) && problem.length < 300));
		}),
		100,
	);
});
