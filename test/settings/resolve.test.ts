import assert from "node:assert/strict";
import { test } from "node:test";
import { type Key, KEYS } from "../../src/settings/settings.ts";
import { fallback, resolved, SOURCES } from "./given.ts";

/** For each setting some values, the default among them unless that is a text, from the tightest to the loosest. */
const VALUES: { readonly [K in Key]: readonly unknown[] } = {
	maxTurns: [0, 25, "unlimited"],
	maxToolCalls: [0, 200, "unlimited"],
	policy: ["abort", "synthesize"],
	grace: [3, 2, 0],
	askTimeout: [1, 60, "unlimited"],
	wrapUpMessage: ["Stop.", "Finish."],
};

/** Every choice of one of the values, or of none, for every source. */
function combinations(values: readonly unknown[]): Partial<Record<(typeof SOURCES)[number], unknown>>[] {
	return SOURCES.reduce<Partial<Record<(typeof SOURCES)[number], unknown>>[]>(
		(all, source) => all.flatMap((given) => [given, ...values.map((value) => ({ ...given, [source]: value }))]),
		[{}],
	);
}

for (const key of KEYS) {
	test(`${key}: the strongest source wins in every combination, and a project only tightens`, () => {
		const values = VALUES[key];
		for (const combination of combinations(values)) {
			const own = (["command", "flag", "environment"] as const).find((source) => combination[source] !== undefined);
			const base = own ?? (combination.user === undefined ? undefined : "user");
			const before = base === undefined ? fallback[key] : combination[base];
			const wish = combination.project;
			const isWish = own === undefined && wish !== undefined;
			const tightens = key !== "wrapUpMessage" && values.indexOf(wish) <= values.indexOf(before);
			const expected = isWish && tightens ? "project" : base;

			const given = Object.fromEntries(
				Object.entries(combination).map(([source, value]) => [source, { [key]: value }]),
			);
			const { settings, problems } = resolved(given);
			const source = expected === undefined ? "default" : `${expected}'s ${key}`;
			const value = expected === undefined ? fallback[key] : combination[expected];
			assert.deepEqual(settings[key], { value, source }, JSON.stringify(combination));
			assert.equal(problems.length, isWish && !tightens ? 1 : 0, JSON.stringify(combination));
		}
	});
}

test("a project's wish to raise is told with what holds instead", () => {
	assert.deepEqual(resolved({ project: { maxTurns: 99 } }).problems, [
		"project's maxTurns: 99 is not for a project to set: its file can only lower a limit. Using 25 (default).",
	]);
});

test("a bad value gives one problem that names place, value, what is allowed and what is used instead", () => {
	assert.deepEqual(resolved({ flag: { maxTurns: "ten" }, user: { maxTurns: 7 } }).problems, [
		`flag's maxTurns: "ten" is not a whole number from 0, or unlimited. Using 7 (user's maxTurns).`,
	]);
	assert.deepEqual(resolved({ user: { policy: "stop", grace: -1, askTimeout: 0, wrapUpMessage: " " } }).problems, [
		`user's policy: "stop" is not abort or synthesize. Using "abort" (default).`,
		"user's grace: -1 is not a whole number from 0. Using 2 (default).",
		`user's askTimeout: 0 is not a whole number of seconds from 1 to 2147483, or unlimited. Using "unlimited" (default).`,
		`user's wrapUpMessage: " " is not a text that is not empty. Using the built-in one (default).`,
	]);
});

test("a time to answer is as long as a timer can wait, at most", () => {
	assert.deepEqual(resolved({ user: { askTimeout: 2_147_483 } }).problems, []);
	assert.equal(resolved({ user: { askTimeout: 2_147_484 } }).problems.length, 1);
});

test("a number that is no number is named as what it is", () => {
	assert.match(String(resolved({ user: { maxTurns: Infinity } }).problems), /: Infinity is not a whole number/);
});

test("a bad value is told wherever it stands, also where a stronger source is used", () => {
	for (const source of SOURCES) {
		const { settings, problems } = resolved({ command: { maxTurns: 5 }, [source]: { maxTurns: 0.5 } });
		const used = source === "command" ? { value: 25, source: "default" } : { value: 5, source: "command's maxTurns" };
		assert.deepEqual(settings.maxTurns, used);
		assert.deepEqual(problems, [
			`${source}'s maxTurns: 0.5 is not a whole number from 0, or unlimited. Using ${used.value} (${used.source}).`,
		]);
	}
});
