import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults, type Key, KEYS, type Place, resolve, SETTINGS } from "../../src/settings/settings.ts";
import { anyValues } from "./values.ts";

/** Who can set something; the first three are the person's own word, the others yield to a project's file. */
const SOURCES = ["command", "flag", "environment", "user", "project"] as const;

type Given = { readonly [S in (typeof SOURCES)[number]]?: Place["values"] };

const fallback = defaults(false);

function place(source: (typeof SOURCES)[number], values: Place["values"] = {}): Place {
	return { values, name: (key) => `${source}'s ${key}`, ...(source === "user" && { yieldsToProject: true }) };
}

function resolved(given: Given): ReturnType<typeof resolve> {
	const places = SOURCES.filter((source) => source !== "project").map((source) => place(source, given[source]));
	return resolve(places, given.project && place("project", given.project), fallback);
}

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

test("whatever stands in the sources, every setting is valid or the default, and every bad value is told", () => {
	const given = fc.record(Object.fromEntries(SOURCES.map((source) => [source, anyValues])), { requiredKeys: [] });
	fc.assert(
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
	);
});
