import assert from "node:assert/strict";
import { test } from "node:test";
import { runInNewContext } from "node:vm";
import {
	A_FUNCTION,
	expecting,
	COMMON_OTHERS,
	COMMON_SETTINGS,
	type OptionTable,
	readOptions,
} from "../../src/settings/options.ts";

const TABLE: OptionTable = {
	name: "limit",
	settings: [...COMMON_SETTINGS, "bell"],
	others: { ...COMMON_OTHERS, ask: A_FUNCTION, parent: expecting("a one", (value) => value === 1) },
};

const read = (options: unknown) => readOptions(TABLE, options);

test("limits become values of settings, with the policies that they carry", () => {
	const options = { turns: 3, cost: "$2.50", toolCalls: { max: 4, policy: "synthesize" }, dayTurns: { max: 5 } };
	assert.deepEqual(read({ ...options, policy: "abort", grace: 1, bell: false }), {
		values: {
			...{ maxTurns: 3, maxCost: "$2.50", maxToolCalls: 4, "day.maxTurns": 5 },
			...{ policy: "abort", grace: 1, bell: false },
		},
		policies: { toolCalls: "synthesize" },
	});
});

test("every common setting is an option, and what is undefined is not given", () => {
	const options = {
		...{ policy: "abort", grace: 2, wrapUpMessage: "Stop.", askTimeout: 3, repeatsExcept: ["poll"] },
		turns: undefined,
	};
	const { turns, ...given } = options;
	assert.deepEqual([read(options).values, turns], [given, undefined]);
});

test("options can come from another realm, or have no prototype", () => {
	for (const options of [runInNewContext("({ turns: 3 })"), Object.assign(Object.create(null), { turns: 3 })])
		assert.deepEqual(read(options).values, { maxTurns: 3 });
});

test("functions are taken where they are read later", () => {
	const options = { grace: () => 3, wrapUpMessage: () => "x", onOutcome: () => {}, ask: () => {}, parent: 1 };
	assert.deepEqual(read(options), { values: {}, policies: {} });
});

test("a whole budget is checked at once", () => {
	assert.deepEqual(read({ budget: { at: "postgres://u:p@h/d", account: "a", maxTurns: 1 } }).values, {});
	assert.throws(() => read({ budget: { account: 3 } }), {
		name: "TypeError",
		message: /budget\.at.*\n.*budget\.account/s,
	});
});

const WRONG: [options: unknown, error: string, message: string | RegExp][] = [
	[3, "TypeError", "limit(): expected an object of options, got 3."],
	[[], "TypeError", "limit(): expected an object of options, got []."],
	[null, "TypeError", "limit(): expected an object of options, got null."],
	[() => 3, "TypeError", "limit(): expected an object of options, got a function."],
	[Promise.resolve({ turns: 3 }), "TypeError", "limit(): expected an object of options, got an instance of Promise."],
	[new Map([["turns", 3]]), "TypeError", "limit(): expected an object of options, got an instance of Map."],
	[Object.create({ turns: 3 }), "TypeError", "limit(): expected an object of options, got an instance of Object."],
	[{ ask: 3 }, "TypeError", "ask: expected a function, got 3."],
	[{ onOutcome: "log" }, "TypeError", 'onOutcome: expected a function, got "log".'],
	[{ parent: 2 }, "TypeError", "parent: expected a one, got 2."],
	[{ turns: -1 }, "RangeError", "turns: expected a whole number from 0, or unlimited, got -1."],
	[{ turns: "x" }, "RangeError", 'turns: expected a whole number from 0, or unlimited, got "x".'],
	[{ turns: true }, "TypeError", "turns: expected a whole number from 0, or unlimited, got true."],
	[{ turns: () => 3 }, "TypeError", "turns: expected a whole number from 0, or unlimited, got a function."],
	[{ bell: () => true }, "TypeError", "bell: expected true or false, got a function."],
	[{ turns: null }, "TypeError", "turns: expected a whole number from 0, or unlimited, got null."],
	[{ turns: { max: -1 } }, "RangeError", "turns.max: expected a whole number from 0, or unlimited, got -1."],
	[{ turns: { max: 1, policy: "x" } }, "RangeError", 'turns.policy: expected abort or synthesize, got "x".'],
	[{ turns: { max: 1, polciy: "x" } }, "TypeError", 'turns: expected { max, policy }, got {"max":1,"polciy":"x"}.'],
	[{ repeatsExcept: { max: 1 } }, "TypeError", 'repeatsExcept: expected a list of tools\' names, got {"max":1}.'],
	[{ constructor: 1 }, "TypeError", /^limit\(\): unknown option "constructor"\./],
	[{ budgetTurns: 1 }, "TypeError", /^limit\(\): unknown option "budgetTurns"\./],
	[
		{ turn: 1 },
		"TypeError",
		/^limit\(\): unknown option "turn"\. Known options: turns, toolCalls, .*, policy, grace, wrapUpMessage, askTimeout, repeatsExcept, bell, onOutcome, budget, ask, parent\.$/,
	],
];

for (const [options, name, message] of WRONG) {
	test(`refused: ${String(message)}`, () => assert.throws(() => read(options), { name, message }));
}
