import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromText, isCount, isMax, isPolicy, read } from "../../src/core/limit.ts";
import { ABORT, ASK_TURNS, Driver } from "./driver.ts";

const reading = (run: Driver, id: "turns" | "toolCalls" = "turns") => read(run.state.meters[id]);

describe("what a limit can be", () => {
	const right = ["0", "1", "25", "007", "9007199254740991", "unlimited"];
	const wrong = [
		...["", " ", "abc", "-1", "+1", "1.5", "1e3", "0x10", "∞", "١", "1 000", "Unlimited", "unlimited "],
		...["9007199254740992", "9".repeat(400), "NaN", "Infinity", "🦀"],
	];
	for (const text of right) test(`${text} is one`, () => assert.ok(isMax(fromText(text))));
	for (const text of wrong) test(`${JSON.stringify(text)} is none`, () => assert.ok(!isMax(fromText(text))));

	test("only whole numbers from 0 are counts", () => {
		assert.ok([0, 1, 25].every(isCount));
		assert.ok(![-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "1", null, undefined, [], {}].some(isCount));
	});

	test("only abort and synthesize are policies", () => {
		assert.ok(isPolicy("abort") && isPolicy("synthesize"));
		assert.ok(![undefined, "", "raise", "Abort", 0].some(isPolicy));
	});
});

describe("a limit that changes", () => {
	test("from unlimited to a number restarts the count", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.turns(7);
		run.send({ type: "limit_set", meter: "turns", max: 5 });
		assert.equal(run.used(), 0);
		assert.deepEqual(run.turns(5), [ABORT]);
	});

	test("from one number to another does not", () => {
		const run = new Driver({ turns: 9 }).prompt();
		run.turns(4);
		run.send({ type: "limit_set", meter: "turns", max: 6 });
		assert.equal(run.used(), 4);
		assert.deepEqual(run.turns(2), [ABORT]);
	});

	test("lowered to or below the count gates the next turn", () => {
		for (const max of [4, 3, 0]) {
			const run = new Driver({ turns: 9, attended: true }).prompt();
			run.turns(4);
			run.send({ type: "limit_set", meter: "turns", max });
			assert.deepEqual(run.request(), [ASK_TURNS]);
			assert.equal(run.used(), 4);
		}
	});

	test("to unlimited never gates, and the count goes on", () => {
		const run = new Driver({ turns: 2 }).prompt();
		run.request();
		run.send({ type: "limit_set", meter: "turns", max: "unlimited" });
		run.end();
		assert.deepEqual(run.turns(5), []);
		assert.equal(run.used(), 6);
	});
});

describe("+n", () => {
	test("raises this round only", () => {
		const run = new Driver({ turns: 2, attended: true }).prompt();
		run.request();
		run.send({ type: "limit_raised", meter: "turns", by: 3 });
		assert.deepEqual(reading(run), { used: 1, limit: 5, remaining: 4, policy: "abort" });
		assert.deepEqual([...run.end(), ...run.turns(4)], [ASK_TURNS]);
		run.answer("yes");
		assert.deepEqual(run.turns(2), [ASK_TURNS]);
	});

	test("between runs raises the next run's first round", () => {
		const run = new Driver({ turns: 1 });
		run.send({ type: "limit_raised", meter: "turns", by: 1 });
		run.send({ type: "limit_raised", meter: "turns", by: 1 });
		assert.deepEqual(run.prompt().turns(3), [ABORT]);
		run.settle();
		assert.deepEqual(run.prompt().turns(1), [ABORT]);
	});

	test("between runs also raises the round that an extension goes on with", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.turns(1);
		run.settle();
		run.send({ type: "limit_raised", meter: "turns", by: 2 });
		assert.deepEqual(run.turns(2), [ABORT]);
	});

	test("counts from what is spent when that is above the limit", () => {
		const run = new Driver({ turns: 9, attended: true }).prompt();
		run.turns(5);
		run.send({ type: "limit_set", meter: "turns", max: 2 });
		run.request();
		run.send({ type: "limit_raised", meter: "turns", by: 1 });
		assert.deepEqual(reading(run), { used: 5, limit: 6, remaining: 1, policy: "abort" });
	});

	test("is forgotten when the limit is set, running or not", () => {
		const run = new Driver({ turns: 1 });
		run.send({ type: "limit_raised", meter: "turns", by: 5 });
		run.send({ type: "limit_set", meter: "turns", max: 2 });
		assert.deepEqual(run.prompt().turns(2), [ABORT]);
		run.settle();
		run.prompt().request();
		run.send({ type: "limit_raised", meter: "turns", by: 5 });
		run.send({ type: "limit_set", meter: "turns", max: 3 });
		assert.equal(reading(run).limit, 3);
	});

	test("of an unlimited meter changes nothing", () => {
		for (const run of [new Driver({ turns: "unlimited" }), new Driver({ turns: "unlimited" }).prompt()]) {
			const before = run.state;
			run.send({ type: "limit_raised", meter: "turns", by: 5 });
			assert.equal(run.state, before);
		}
	});

	test("of one meter leaves the other alone", () => {
		const run = new Driver({ turns: 2, toolCalls: 2 }).prompt();
		run.request();
		run.send({ type: "limit_raised", meter: "toolCalls", by: 1 });
		assert.equal(reading(run).limit, 2);
		assert.equal(reading(run, "toolCalls").limit, 3);
	});
});

test("what remains is never less than nothing", () => {
	const run = new Driver({ turns: 9 }).prompt();
	run.turns(5);
	run.send({ type: "limit_set", meter: "turns", max: 2 });
	assert.equal(reading(run).remaining, 0);
	run.send({ type: "limit_set", meter: "turns", max: "unlimited" });
	assert.deepEqual(reading(run), { used: 5, limit: "unlimited", remaining: "unlimited", policy: "abort" });
});

test("what a run spends is counted over all its rounds", () => {
	const run = new Driver({ turns: 2, attended: true }).prompt();
	run.turns(2);
	run.answer("yes");
	run.request();
	run.call();
	run.send({ type: "charged", cost: 0.25 });
	run.send({ type: "charged", cost: 0.5 });
	run.end(false);
	assert.deepEqual(run.settle(), {
		...{ kind: "completed", turns: 3, toolCalls: 1, cost: 0.75, continuations: 1, advised: false },
	});
});
