import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limits, readMeter } from "../../src/core/limit.ts";
import { isPolicy } from "../../src/core/policies.ts";
import { type MeterId } from "../../src/core/meters.ts";
import { ABORT, asks, Driver, sum } from "./driver.ts";

const reading = (run: Driver, id: MeterId = "turns") => readMeter(run.state.meters[id]);

test("only abort and synthesize are policies", () => {
	assert.ok(isPolicy("abort") && isPolicy("synthesize"));
	assert.ok(![undefined, "", "raise", "Abort", 0].some(isPolicy));
});

test("limits are written in people's units, and those that are left out are unlimited", () => {
	const { turns, cost, time, tokens, dayCost } = limits({ turns: 0, cost: "$2.50", time: 90, dayCost: "unlimited" });
	const max = [turns, cost, time].map((limit) => limit.max);
	assert.deepEqual([max, turns.policy], [[0, 2_500_000, 90_000], "abort"]);
	assert.deepEqual([tokens.max, dayCost.max], ["unlimited", "unlimited"]);
	assert.equal(limits({ turns: 3 }, "synthesize").cost.policy, "synthesize");
	const message = "turns: expected a whole number from 0, or unlimited, got -1.";
	assert.throws(() => limits({ turns: -1 }), { name: "RangeError", message });
});

test("a budget can be read at any time: used, limit, remaining, policy", () => {
	const run = new Driver({ toolCalls: 3, policy: "synthesize" }).prompt();
	run.request();
	const expected = (used: number) => ({ used, limit: 3, remaining: 3 - used, policy: "synthesize" });
	assert.deepEqual(reading(run, "toolCalls"), expected(0));
	run.calls(2);
	assert.deepEqual(reading(run, "toolCalls"), expected(2));
	run.calls(2);
	assert.deepEqual(reading(run, "toolCalls"), expected(3));
});

describe("a limit that changes", () => {
	test("from unlimited to a number restarts the count", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.turns(7);
		run.set("turns", 5);
		assert.equal(run.used(), 0);
		assert.deepEqual(run.turns(5), [ABORT]);
	});

	test("from one number to another does not", () => {
		const run = new Driver({ turns: 9 }).prompt();
		run.turns(4);
		run.set("turns", 6);
		assert.equal(run.used(), 4);
		assert.deepEqual(run.turns(2), [ABORT]);
	});

	test("to unlimited never gates, and the count goes on", () => {
		const run = new Driver({ turns: 2 }).prompt();
		run.request();
		run.set("turns", "unlimited");
		run.end();
		assert.deepEqual(run.turns(5), []);
		assert.equal(run.used(), 6);
		run.set("turns", "unlimited");
		assert.equal(run.used(), 6);
	});

	test("twice has its last value", () => {
		const run = new Driver({ attended: true }).prompt();
		run.turns(3);
		run.set("turns", 4);
		run.set("turns", 6);
		assert.deepEqual(run.turns(2), []);
		assert.deepEqual(run.turns(1), [asks("turns")]);
	});
});

describe("+n", () => {
	test("raises this round only", () => {
		const run = new Driver({ turns: 2, attended: true }).prompt();
		run.request();
		run.raise("turns", 3);
		assert.deepEqual(reading(run), { used: 1, limit: 5, remaining: 4, policy: "abort" });
		assert.deepEqual([...run.end(), ...run.turns(4)], [asks("turns")]);
		run.answer("yes");
		assert.deepEqual(run.turns(2), [asks("turns")]);
	});

	test("between runs raises the next run's first round", () => {
		const run = new Driver({ turns: 1 });
		run.raise("turns", 1);
		run.raise("turns", 1);
		assert.equal(reading(run).limit, 1);
		assert.deepEqual(run.prompt().turns(3), [ABORT]);
		run.settle();
		assert.deepEqual(run.prompt().turns(1), [ABORT]);
	});

	test("between runs also raises the round that an extension goes on with", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.turns(1);
		run.settle();
		run.raise("turns", 2);
		assert.deepEqual(run.turns(2), [ABORT]);
	});

	test("counts from what is spent when that is above the limit", () => {
		const run = new Driver({ turns: 9, attended: true }).prompt();
		run.turns(5);
		run.set("turns", 2);
		run.request();
		run.raise("turns", 1);
		assert.deepEqual(reading(run), { used: 5, limit: 6, remaining: 1, policy: "abort" });
	});

	test("is forgotten when the limit is set, running or not", () => {
		const run = new Driver({ turns: 1 });
		run.raise("turns", 5);
		run.set("turns", 2);
		assert.deepEqual(run.prompt().turns(2), [ABORT]);
		run.settle();
		run.prompt().request();
		run.raise("turns", 5);
		run.set("turns", 3);
		assert.equal(reading(run).limit, 3);
	});

	test("of an unlimited meter changes nothing", () => {
		for (const run of [new Driver({ turns: "unlimited" }), new Driver({ turns: "unlimited" }).prompt()]) {
			const before = run.state;
			assert.deepEqual(run.raise("turns", 5), []);
			assert.equal(run.state, before);
		}
	});

	test("of one meter leaves the others alone, between runs too", () => {
		const run = new Driver({ turns: 2, toolCalls: 2 });
		run.raise("turns", 1);
		run.raise("toolCalls", 1);
		run.prompt().request();
		run.raise("toolCalls", 1);
		assert.deepEqual([reading(run).limit, reading(run, "toolCalls").limit], [3, 4]);
	});
});

test("what remains is never less than nothing", () => {
	const run = new Driver({ turns: 9 }).prompt();
	run.turns(5);
	run.set("turns", 2);
	assert.equal(reading(run).remaining, 0);
	run.set("turns", "unlimited");
	assert.deepEqual(reading(run), { used: 5, limit: "unlimited", remaining: "unlimited", policy: "abort" });
});

test("what a run spends is counted over all its rounds", () => {
	const run = new Driver({ turns: 2, attended: true }).prompt();
	run.turns(2);
	run.answer("yes");
	run.request();
	run.call();
	run.charge("cost", 25);
	run.charge("cost", 50);
	run.finish();
	const spent = sum({ turns: 3, toolCalls: 1, cost: 75, repeats: 1, continuations: 1 });
	assert.deepEqual(run.settle(), { ...spent, kind: "completed" });
});
