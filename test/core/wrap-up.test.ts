import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { snapshot } from "../../src/core/breaker.ts";
import { DEFAULT_GRACE, readGrace, readMessage } from "../../src/core/late.ts";
import type { Effect } from "../../src/core/state.ts";
import { ABORT, ASK_TURNS, Driver } from "./driver.ts";

const advise = (remaining: number | "unlimited"): Effect => ({ type: "advise", remaining });

/** After how many turns the advice comes, with how many left; none for a run of `n` turns without it. */
function advisedAfter(run: Driver, n: number): string {
	for (let turn = 1; turn <= n; turn++) {
		const effect = run.turns(1).find(({ type }) => type === "advise");
		if (effect?.type === "advise") return `${turn}, ${effect.remaining} left`;
	}
	return "none";
}

test("the wrap-up is due when grace turns remain, clamped to the turns there are", () => {
	const cases: [turns: number | "unlimited", grace: number, expected: string][] = [
		[5, 2, "3, 2 left"],
		[5, 1, "4, 1 left"],
		[5, 4, "1, 4 left"],
		[5, 5, "1, 4 left"],
		[5, 99, "1, 4 left"],
		[2, 1, "1, 1 left"],
		[2, 2, "1, 1 left"],
		[5, 0, "none"],
		[1, 1, "none"],
		[0, 1, "none"],
		["unlimited", 2, "none"],
	];
	for (const [turns, grace, expected] of cases) {
		assert.equal(advisedAfter(new Driver({ turns, grace }).prompt(), 6), expected, `${turns}, grace ${grace}`);
	}
});

test("it is given once per round, and the limit still holds", () => {
	const run = new Driver({ turns: 4, grace: 3 }).prompt();
	assert.deepEqual(run.turns(4), [advise(3), ABORT]);
	assert.equal(run.settle()?.advised, true);
});

test("a run that finishes on the turn after which it would be due is completed", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(2);
	run.request();
	assert.deepEqual(run.end(false), []);
	assert.equal(run.settle()?.kind, "completed");
});

test("a run that ends by itself after it is wrapped up", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(3);
	run.request();
	run.end(false);
	const outcome = run.settle();
	assert.equal(outcome?.kind, "wrapped_up");
	assert.deepEqual("meter" in outcome && [outcome.meter, outcome.limit], ["turns", 5]);
});

test("a continuation arms it again and clears what came of it", () => {
	const run = new Driver({ turns: 3, grace: 1, attended: true }).prompt();
	assert.deepEqual(run.turns(3), [advise(1), ASK_TURNS]);
	assert.deepEqual(run.answer("yes"), []);
	run.request();
	assert.equal(run.state.advice, "armed");
	assert.deepEqual([...run.end(), ...run.turns(1)], [advise(1)]);
	const finished = new Driver({ turns: 3, grace: 1, attended: true }).prompt();
	finished.turns(3);
	finished.answer("yes");
	finished.request();
	finished.end(false);
	assert.equal(finished.settle()?.kind, "completed");
});

test("a yes about tool calls opens no new round for it", () => {
	const run = new Driver({ turns: 3, toolCalls: 0, grace: 2, attended: true }).prompt();
	assert.deepEqual(run.turns(1), [advise(2)]);
	run.request();
	run.call();
	run.answer("yes");
	run.call();
	assert.deepEqual(run.end(), []);
	assert.equal(run.state.advice, "given");
});

test("a new prompt arms it again; a run that an extension starts does not", () => {
	const run = new Driver({ turns: 3, grace: 2 }).prompt();
	assert.deepEqual(run.turns(1), [advise(2)]);
	run.settle();
	assert.deepEqual(run.turns(1), []);
	run.settle();
	assert.deepEqual(run.prompt().turns(1), [advise(2)]);
});

test("a grace or a limit that changes counts at the next check", () => {
	const widened = new Driver({ turns: 20, grace: 3 }).prompt();
	assert.deepEqual(widened.turns(16), []);
	widened.send({ type: "grace_set", grace: 8 });
	assert.deepEqual(widened.turns(1), [advise(4)]);
	const lowered = new Driver({ turns: 20, grace: 2 }).prompt();
	lowered.turns(5);
	lowered.send({ type: "limit_set", meter: "turns", max: 8 });
	assert.deepEqual(lowered.turns(1), [advise(2)]);
	const raised = new Driver({ turns: 4, grace: 2 }).prompt();
	raised.turns(2);
	raised.send({ type: "limit_set", meter: "turns", max: 9 });
	assert.deepEqual(raised.turns(6), [], "once per round");
});

test("a limit that is set again after unlimited arms it", () => {
	const run = new Driver({ turns: 3, grace: 2 }).prompt();
	run.turns(1);
	run.send({ type: "limit_set", meter: "turns", max: "unlimited" });
	run.send({ type: "limit_set", meter: "turns", max: 3 });
	assert.deepEqual(run.turns(1), [advise(2)]);
});

describe("asked for by the person", () => {
	test("it goes with the next request, whatever the limit", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.request();
		run.send({ type: "wrap_up_requested" });
		assert.deepEqual(run.end(), [advise("unlimited")]);
		assert.deepEqual(run.turns(3), []);
		const outcome = run.settle();
		assert.deepEqual(outcome?.kind === "wrapped_up" && outcome.limit, "unlimited");
	});

	test("at an open question it waits for a yes", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.turns(1);
		run.send({ type: "wrap_up_requested" });
		assert.deepEqual(run.answer("yes"), [advise(1)]);
	});

	test("it is still due when a limit takes the place of unlimited", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.turns(1);
		run.request();
		run.send({ type: "wrap_up_requested" });
		run.send({ type: "limit_set", meter: "turns", max: 9 });
		assert.deepEqual(run.end(), [advise(9)]);
	});

	test("it is given again though it was given before", () => {
		const run = new Driver({ turns: 9, grace: 8 }).prompt();
		assert.deepEqual(run.turns(1), [advise(8)]);
		run.send({ type: "wrap_up_requested" });
		assert.deepEqual(run.turns(1), [advise(8)]);
	});
});

test("lost to a compaction it is given once more, and not before it was given", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(2);
	assert.deepEqual(run.send({ type: "message_lost" }), []);
	run.turns(1);
	assert.deepEqual(run.send({ type: "message_lost" }), [advise(2)]);
	assert.deepEqual(run.turns(1), []);
});

describe("as functions", () => {
	test("a grace is clamped to at least 1 and kept whole", () => {
		const graces = [0, -7, 1, 2.9, 999, Number.POSITIVE_INFINITY].map((value) => readGrace(() => value));
		assert.deepEqual(
			graces.map(({ value }) => value),
			[1, 1, 1, 2, 999, Number.MAX_SAFE_INTEGER],
		);
		assert.ok(graces.every(({ problem }) => problem === undefined));
	});

	test("a grace that is none, or throws, gives the default and says so", () => {
		for (const nonsense of [undefined, null, "3", Number.NaN, {}]) {
			const { value, problem } = readGrace(() => nonsense);
			assert.equal(value, DEFAULT_GRACE);
			assert.match(problem ?? "", /^The grace function gave .*, not a number\. Using 2\.$/);
		}
		const { value, problem } = readGrace(() => {
			throw new Error("no idea");
		});
		assert.equal(value, DEFAULT_GRACE);
		assert.match(problem ?? "", /no idea/);
	});

	test("a message that is no text, or throws, is replaced by the default and says so", () => {
		assert.deepEqual(
			readMessage(() => "Stop.", "Default."),
			{ value: "Stop." },
		);
		for (const nonsense of [undefined, 3, "", "  "]) {
			const { value, problem } = readMessage(() => nonsense, "Default.");
			assert.equal(value, "Default.");
			assert.match(problem ?? "", /^The wrap-up message function gave .*, not a text\./);
		}
		const thrown = readMessage(() => {
			throw new Error("no words");
		}, "Default.");
		assert.equal(thrown.value, "Default.");
		assert.match(thrown.problem ?? "", /no words/);
	});
});

test("there is a soft limit where a wrap-up can come", () => {
	const soft = (turns: number | "unlimited", grace: number) =>
		snapshot(new Driver({ turns, grace }).state).turns.softLimit;
	assert.deepEqual([soft(5, 2), soft(2, 1), soft(2, 9)], [3, 1, 1]);
	assert.deepEqual([soft(5, 0), soft(1, 1), soft("unlimited", 2)], [undefined, undefined, undefined]);
});

test("a snapshot tells where every meter stands", () => {
	const run = new Driver({ turns: 5, toolCalls: 3, grace: 2, policy: "synthesize" }).prompt();
	assert.equal(snapshot(run.state).turns.advised, false);
	run.turns(3);
	run.request();
	run.call();
	assert.deepEqual(snapshot(run.state), {
		turns: { used: 4, limit: 5, remaining: 1, policy: "synthesize", softLimit: 3, advised: true },
		toolCalls: { used: 1, limit: 3, remaining: 2, policy: "synthesize" },
	});
});
