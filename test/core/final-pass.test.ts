import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FINAL_TURNS } from "../../src/core/gate.ts";
import { ABORT, asks, CONTINUE, Driver, EVENTS, RESUME, sum, SYNTHESIZE } from "./driver.ts";

const synthesize = { policy: "synthesize" } as const;

/** A run whose turn limit has just run out. */
function spent(given = {}): Driver {
	const run = new Driver({ ...synthesize, turns: 2, ...given }).prompt();
	assert.deepEqual(run.turns(2), [SYNTHESIZE]);
	return run;
}

test("the model is told once and answers in the turn after the limit", () => {
	const run = spent();
	assert.deepEqual(run.request(), ["admit"]);
	assert.deepEqual(run.finish(), []);
	assert.deepEqual(run.settle(), { ...sum({ turns: 3 }), kind: "synthesized", meter: "turns", limit: 2 });
	assert.equal(run.used(), 2, "it counts for the run, not for the round");
});

test("every tool call is refused, and after two turns without an answer the run is aborted", () => {
	const run = spent();
	for (let turn = 1; turn <= FINAL_TURNS; turn++) {
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.calls(2), ["refuse", "refuse"]);
		assert.deepEqual(run.end(), turn < FINAL_TURNS ? [] : [ABORT]);
	}
	assert.deepEqual(run.settle(), { ...sum({ turns: 4 }), kind: "exhausted", meter: "turns", limit: 2 });
});

test("a turn of it that was not foreseen is refused as well, and the answer stands", () => {
	const run = spent();
	for (let turn = 1; turn <= FINAL_TURNS; turn++) {
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.end(false, turn === 1), []);
	}
	assert.deepEqual(run.request(), ["abort"]);
	assert.equal(run.settle()?.kind, "synthesized");
});

test("a failed turn of it is retried and counted once", () => {
	const run = spent();
	run.request();
	run.fail();
	run.request();
	run.fail();
	assert.deepEqual(run.request(), ["admit"]);
	assert.deepEqual(run.end(), []);
	assert.deepEqual(run.turns(1), [ABORT]);
});

test("a provider that fails for good in it is a failure that names the limit", () => {
	const run = spent();
	run.request();
	run.fail("overloaded");
	assert.deepEqual(run.settle(), {
		...sum({ turns: 3 }),
		...{ kind: "failed", by: "provider", message: "overloaded", meter: "turns", limit: 2 },
	});
});

test("where the gate was met at a turn's start, the message goes with that turn", () => {
	const run = new Driver({ ...synthesize, turns: 1 }).prompt();
	run.request();
	run.end(false);
	assert.deepEqual(run.request(), [SYNTHESIZE, "admit"]);
	assert.equal(run.settle()?.turns, 2);
});

test("for tool calls the refusals tell it: no message, one refusal per call", () => {
	const run = new Driver({ ...synthesize, toolCalls: 1 }).prompt();
	run.request();
	assert.deepEqual(run.calls(3), ["refuse", "refuse"]);
	assert.deepEqual(run.end(), []);
	assert.deepEqual(run.request(), ["admit"]);
	run.finish();
	const outcome = run.settle();
	assert.deepEqual(outcome?.kind === "synthesized" && outcome.meter, "toolCalls");
});

test("it also follows a no", () => {
	const turns = new Driver({ ...synthesize, turns: 1, attended: true }).prompt();
	assert.deepEqual(turns.turns(1), [asks("turns")]);
	assert.deepEqual(turns.answer("no"), [SYNTHESIZE]);
	assert.deepEqual(turns.request(), ["admit"]);
	turns.finish();
	assert.equal(turns.settle()?.kind, "synthesized");

	const calls = new Driver({ ...synthesize, toolCalls: 0, attended: true }).prompt();
	calls.request();
	assert.deepEqual(calls.call(), [asks("toolCalls"), "wait"]);
	assert.deepEqual(calls.answer("none"), []);
	assert.deepEqual(calls.call(), ["refuse"]);
	assert.deepEqual(calls.end(), []);
});

test("a person can ask for it at the question, whatever the policy", () => {
	for (const policy of ["abort", "synthesize"] as const) {
		const turns = new Driver({ policy, turns: 1, attended: true }).prompt();
		turns.turns(1);
		assert.deepEqual(turns.answer("wrap_up"), [SYNTHESIZE]);
		assert.deepEqual(turns.request(), ["admit"]);
		assert.deepEqual(turns.call(), ["refuse"]);
		turns.finish();
		assert.deepEqual(turns.settle(), { ...sum({ turns: 2 }), kind: "synthesized", meter: "turns", limit: 1 });
	}
	const calls = new Driver({ toolCalls: 0, attended: true }).prompt();
	calls.request();
	calls.call();
	assert.deepEqual(calls.answer("wrap_up"), []);
	assert.deepEqual(calls.call(), ["refuse"]);
	assert.deepEqual(calls.end(), []);
	assert.equal(calls.phase, "finishing");
});

test("a run that had no turn yet has nothing to answer from and is aborted", () => {
	assert.deepEqual(new Driver({ ...synthesize, turns: 0 }).prompt().request(), ["abort"]);
	const asked = new Driver({ ...synthesize, turns: 0, attended: true }).prompt();
	asked.request();
	assert.deepEqual(asked.answer("no"), [ABORT]);
	const urged = new Driver({ turns: 0, attended: true }).prompt();
	urged.request();
	assert.deepEqual(urged.answer("wrap_up"), [ABORT]);
	assert.deepEqual(urged.settle(), { ...sum(), kind: "declined", answered: true, meter: "turns", limit: 0 });
	const again = spent();
	again.settle();
	assert.deepEqual(again.request(), ["abort"], "a run that an extension starts gets no second final pass");
});

test("a limit that is lowered does not gate it", () => {
	const run = spent();
	run.set("turns", 0);
	assert.deepEqual(run.request(), ["admit"]);
	assert.equal(run.phase, "finishing");
});

test("a compaction that takes the message away brings it again", () => {
	assert.deepEqual(spent().send(EVENTS.message_lost), [SYNTHESIZE]);
});

test("an interruption ends it as one", () => {
	const run = spent();
	run.request();
	run.send(EVENTS.interrupted);
	assert.deepEqual(run.settle(), { ...sum({ turns: 3 }), kind: "interrupted" });
});

describe("a final turn without an answer", () => {
	test("after which the host would stop is followed by another, for which the answer is demanded again", () => {
		const run = spent();
		run.request();
		assert.deepEqual(run.end(false), [SYNTHESIZE, CONTINUE]);
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.finish(), []);
		assert.equal(run.settle()?.kind, "synthesized");
	});

	test("that is the last one ends the run as exhausted", () => {
		const run = spent();
		run.request();
		run.end(false);
		run.request();
		assert.deepEqual(run.end(false), [ABORT]);
		assert.equal(run.settle()?.kind, "exhausted");
	});

	test("that the host settles after all is exhausted too", () => {
		const run = spent();
		run.request();
		run.end(false);
		assert.equal(run.settle()?.kind, "exhausted");
	});

	test("is demanded again also where tool calls ran out in the turn that ends", () => {
		const run = new Driver({ ...synthesize, toolCalls: 0 }).prompt();
		run.request();
		run.call();
		assert.deepEqual(run.end(false), [SYNTHESIZE, CONTINUE]);
	});
});

describe("a limit that makes room in it", () => {
	for (const [how, change] of [
		["raised", { type: "limit_raised", meter: "turns", by: 1 }],
		["set higher", { type: "limit_set", meter: "turns", max: 3 }],
		["lifted", { type: "limit_set", meter: "turns", max: "unlimited" }],
	] as const) {
		test(`${how}: the final pass is over, and the model works again`, () => {
			const run = spent();
			run.request();
			assert.deepEqual(run.send(change), [RESUME]);
			assert.deepEqual(run.call(), ["admit"]);
			assert.deepEqual(run.end(), []);
			assert.deepEqual(run.request(), ["admit"]);
			assert.equal(run.used(), 3);
			run.finish();
			assert.equal(run.settle()?.kind, "completed");
		});
	}

	test("is one that ran out: others, and one that stays reached, change nothing about it", () => {
		for (const change of [
			{ type: "limit_set", meter: "turns", max: 2 },
			{ type: "limit_set", meter: "toolCalls", max: 99 },
			{ type: "limit_raised", meter: "cost", by: 1 },
		] as const) {
			const run = spent({ cost: 10 });
			assert.deepEqual(run.send(change), []);
			assert.equal(run.phase, "finishing");
		}
	});

	test("lets the limit be met again, with a final pass of its own", () => {
		const run = spent();
		run.turns(1);
		run.raise("turns", 1);
		assert.deepEqual(run.turns(1), [SYNTHESIZE]);
		assert.deepEqual(run.turns(FINAL_TURNS), [ABORT]);
	});
});
