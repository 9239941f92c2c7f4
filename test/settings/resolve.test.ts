import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, METER_IDS } from "../../src/core/meters.ts";
import { resolve } from "../../src/settings/resolve.ts";
import { type Key, KEY_OF, KEYS, type LimitKey, SETTINGS } from "../../src/settings/settings.ts";
import { fallback, type Given, lowering, place, resolved, type Source, SOURCES, stopping, told } from "./given.ts";

const limits = Object.fromEntries(
	METER_IDS.map((id) => {
		const { unit, samples } = kindOf(id);
		const byDefault = fallback[KEY_OF[id]];
		const few = new Set([0, Number(unit.parse(samples[0]!)), byDefault === "unlimited" ? 0 : unit.write(byDefault)]);
		return [KEY_OF[id], [...[...few].toSorted((a, b) => a - b), "unlimited"]];
	}),
) as unknown as Record<LimitKey, readonly unknown[]>;

/** Some values of each setting as files write them, from the tightest to the loosest. */
const VALUES: { readonly [K in Key]: readonly unknown[] } = {
	...limits,
	policy: ["abort", "synthesize"],
	grace: [3, 2, 0],
	askTimeout: [1, 60, "unlimited"],
	wrapUpMessage: ["Stop.", "Finish."],
	partialNote: [false, true],
	bell: [false, true],
	odds: [false, true],
	repeatsExcept: [["poll"], ["wait", "poll"]],
};

const NOT_FOR_PROJECTS: readonly Key[] = [
	...(["wrapUpMessage", "partialNote", "bell", "odds", "repeatsExcept"] as const),
	...KEYS.filter((key) => key.startsWith("budget.")),
];

type Choice = Partial<Record<Source, unknown>>;

/** Every choice of one of the values, or of none, for every source. */
function combinations(values: readonly unknown[]): Choice[] {
	return SOURCES.reduce<Choice[]>(
		(all, source) => all.flatMap((given) => [given, ...values.map((value) => ({ ...given, [source]: value }))]),
		[{}],
	);
}

for (const key of KEYS) {
	const { read, write } = SETTINGS[key] as (typeof SETTINGS)["grace"];
	const byDefault = fallback[key];

	test(`${key}: the strongest source wins in every combination, and a project only tightens`, () => {
		const values = VALUES[key];
		for (const combination of combinations(values)) {
			const own = (["command", "flag", "environment"] as const).find((source) => combination[source] !== undefined);
			const base = own ?? (combination.user === undefined ? undefined : "user");
			const before = base === undefined ? write(byDefault as number) : combination[base];
			const wish = combination.project;
			const isWish = own === undefined && wish !== undefined;
			const tightens = !NOT_FOR_PROJECTS.includes(key) && values.indexOf(wish) <= values.indexOf(before);
			const isRefused = isWish && !tightens && !(NOT_FOR_PROJECTS.includes(key) && wish === before);
			const expected = isWish && tightens ? "project" : base;

			const entries = Object.entries(combination).map(([source, value]) => [source, { [key]: value }]);
			const { settings, problems } = resolved(Object.fromEntries(entries) as Given);
			const source = expected === undefined ? "default" : `${expected}'s ${key}`;
			const value = expected === undefined ? byDefault : read(combination[expected]);
			assert.deepEqual(settings[key], { value, source }, JSON.stringify(combination));
			assert.equal(problems.length, isRefused ? 1 : 0, JSON.stringify(combination));
		}
	});
}

test("a project that would raise a limit is told which value is used instead", () => {
	assert.deepEqual(told(resolved({ project: { maxTurns: 99, maxCost: "$9" }, user: { maxCost: 2 } }).problems), [
		"A project file can only lower a limit; ignoring maxTurns: 99. Using 25 (default).",
		'A project file can only lower a limit; ignoring maxCost: "$9". Using $2.00 (user\'s maxCost).',
	]);
});

test("a project that sets what is no project's to set is told so", () => {
	assert.deepEqual(told(resolved({ project: { bell: false, repeatsExcept: ["poll"], grace: 0 } }).problems), [
		"A project file can only lower a limit; ignoring grace: 0. Using 2 (default).",
		"A project file cannot set bell; ignoring false. Using on (default).",
		'A project file cannot set repeatsExcept; ignoring ["poll"]. Using none (default).',
	]);
});

test("places that can only lower are heard one after the other, each against the strengths it lowers", () => {
	const at = (max: number) => place("project", { maxTurns: max });
	const found = (...places: ReturnType<typeof lowering>[]) =>
		resolve([place("flag", { maxTurns: 9 })], places, fallback).settings.maxTurns.value;
	assert.equal(found(lowering(at(5), ["file"])), 9, "a flag is stronger than a project");
	assert.equal(found(lowering(at(5), ["flag", "file"])), 5);
	assert.equal(found(lowering(at(5), ["flag"]), lowering(at(3), ["flag"])), 5, "the second finds no flag any more");
	assert.equal(found(lowering(at(5), ["flag"]), lowering(at(3), ["file"])), 3, "the second lowers the first");
	assert.equal(resolve([], [lowering(at(5), [])], fallback).settings.maxTurns.value, 5, "defaults are always lowered");
});

test("a bad value gives one problem: where, what was expected, what came, what is used instead", () => {
	assert.deepEqual(told(resolved({ flag: { maxTurns: "ten" }, user: { maxTurns: 7 } }).problems), [
		`flag's maxTurns: expected a whole number from 0, or unlimited, got "ten". Using 7 (user's maxTurns).`,
	]);
	const bad = { maxCost: -1, policy: "stop", grace: -1, askTimeout: 0, wrapUpMessage: " ", partialNote: "yes" };
	assert.deepEqual(told(resolved({ user: bad }).problems), [
		"user's maxCost: expected dollars such as 2.50 or $2.50, or unlimited, got -1. Using unlimited (default).",
		`user's policy: expected abort or synthesize, got "stop". Using abort (default).`,
		"user's grace: expected a whole number from 0, got -1. Using 2 (default).",
		"user's askTimeout: expected a whole number of seconds from 1 to 2147483, or unlimited, got 0. Using unlimited (default).",
		`user's wrapUpMessage: expected non-empty text, got " ". Using the built-in one (default).`,
		`user's partialNote: expected true or false, got "yes". Using on (default).`,
	]);
	assert.match(String(told(resolved({ user: { maxTurns: Infinity } }).problems)), /, got Infinity\. Using 25/);
});

test("a bad value is reported wherever it stands, also where a stronger source is used", () => {
	for (const source of SOURCES) {
		const { settings, problems } = resolved({ command: { maxTurns: 5 }, [source]: { maxTurns: 0.5 } });
		const used = source === "command" ? { value: 25, source: "default" } : { value: 5, source: "command's maxTurns" };
		assert.deepEqual(settings.maxTurns, used);
		assert.deepEqual(told(problems), [
			`${source}'s maxTurns: expected a whole number from 0, or unlimited, got 0.5. Using ${used.value} (${used.source}).`,
		]);
	}
});

/** The sources whose bad limit of turns keeps a script from starting. */
function stoppingSources(given: Given): readonly string[] {
	return stopping(resolved(given).problems).map((what) => what.slice(0, what.indexOf("'")));
}

test("a bad limit stops a script unless a stronger source sets that limit", () => {
	const bad = { maxTurns: "many" };
	const good = { maxTurns: 5 };
	for (const [given, stops] of [
		[{ flag: bad }, ["flag"]],
		[{ flag: bad, user: good }, ["flag"]],
		[{ flag: good, environment: bad, user: bad }, []],
		[{ flag: bad, environment: good, user: bad }, ["flag"]],
		[{ environment: bad, user: bad }, ["environment", "user"]],
		[{ user: bad, flag: { maxCost: 1 } }, ["user"]],
		[{ project: bad }, ["project"]],
		[{ project: bad, user: good }, ["project"]],
		[{ project: bad, environment: good }, []],
	] as [Given, string[]][])
		assert.deepEqual(stoppingSources(given), stops, JSON.stringify(given));
});

test("no other setting stops a script, nor does a project that would raise a limit", () => {
	const bad = { policy: "stop", grace: -1, askTimeout: 0, wrapUpMessage: " ", bell: 3, repeatsExcept: 5 };
	const { problems } = resolved({ user: bad, project: { maxTurns: 99 } });
	assert.deepEqual([problems.length, stopping(problems)], [7, []]);
});
