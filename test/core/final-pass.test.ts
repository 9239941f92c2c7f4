import assert from "node:assert/strict";
import { test } from "node:test";
import { FINAL_TURNS } from "../../src/core/breaker.ts";
import { ABORT, ASK_CALLS, ASK_TURNS, Driver, REFUSE, SYNTHESIZE } from "./driver.ts";

const synthesize = { policy: "synthesize" } as const;

/** A run whose turn limit has just run out. */
function spent(): Driver {
	const run = new Driver({ ...synthesize, turns: 2 }).prompt();
	assert.deepEqual(run.turns(2), [SYNTHESIZE]);
	return run;
}

test("the model is told once and answers in the turn after the limit", () => {
	const run = spent();
	assert.deepEqual(run.request(), []);
	run.end(false);
	assert.deepEqual(run.settle(), {
		...{ kind: "synthesized", meter: "turns", limit: 2 },
		...{ turns: 3, toolCalls: 0, cost: 0, continuations: 0, advised: false },
	});
});

test("every tool call is refused, and after two turns without an answer the run is aborted", () => {
	const run = spent();
	for (let turn = 1; turn <= FINAL_TURNS; turn++) {
		assert.deepEqual(run.request(), []);
		assert.deepEqual(run.calls(2), [REFUSE, REFUSE]);
		assert.deepEqual(run.end(), turn < FINAL_TURNS ? [] : [ABORT]);
	}
	const outcome = run.settle();
	assert.deepEqual([outcome?.kind, outcome?.turns, outcome?.toolCalls], ["exhausted", 4, 0]);
});

test("a turn of it that was not foreseen is refused as well", () => {
	const run = spent();
	for (let turn = 1; turn <= FINAL_TURNS; turn++) {
		assert.deepEqual(run.request(), []);
		assert.deepEqual(run.end(false), []);
	}
	assert.deepEqual(run.request(), [ABORT]);
});

test("a failed turn of it is retried and counted once", () => {
	const run = spent();
	run.request();
	run.send({ type: "turn_failed", message: "overloaded" });
	run.request();
	run.send({ type: "turn_failed", message: "overloaded" });
	assert.deepEqual(run.request(), []);
	assert.deepEqual(run.end(), []);
	assert.deepEqual(run.turns(1), [ABORT]);
});

test("a provider that fails for good in it is a failure", () => {
	const run = spent();
	run.request();
	run.send({ type: "turn_failed", message: "overloaded" });
	const outcome = run.settle();
	assert.equal(outcome?.kind === "failed" && outcome.by, "provider");
});

test("where the gate was met at a turn's start, the message goes with that turn", () => {
	const run = new Driver({ ...synthesize, turns: 1 }).prompt();
	run.request();
	run.end(false);
	assert.deepEqual(run.request(), [SYNTHESIZE]);
	assert.equal(run.settle()?.turns, 2);
});

test("for tool calls the refusals tell it: no message, one refusal per call", () => {
	const run = new Driver({ ...synthesize, toolCalls: 1 }).prompt();
	run.request();
	assert.deepEqual(run.calls(3), [REFUSE, REFUSE]);
	assert.deepEqual(run.end(), []);
	assert.deepEqual(run.request(), []);
	run.end(false);
	const outcome = run.settle();
	assert.deepEqual(outcome?.kind === "synthesized" && outcome.meter, "toolCalls");
});

test("it also follows a no", () => {
	const turns = new Driver({ ...synthesize, turns: 1, attended: true }).prompt();
	assert.deepEqual(turns.turns(1), [ASK_TURNS]);
	assert.deepEqual(turns.answer("no"), [SYNTHESIZE]);
	assert.deepEqual(turns.request(), []);
	turns.end(false);
	assert.equal(turns.settle()?.kind, "synthesized");

	const calls = new Driver({ ...synthesize, toolCalls: 0, attended: true }).prompt();
	calls.request();
	assert.deepEqual(calls.call(), [ASK_CALLS]);
	assert.deepEqual(calls.answer("none"), []);
	assert.deepEqual(calls.call(), [REFUSE]);
	assert.deepEqual(calls.end(), []);
});

test("a run that had no turn yet has nothing to answer from and is aborted", () => {
	assert.deepEqual(new Driver({ ...synthesize, turns: 0 }).prompt().request(), [ABORT]);
	const asked = new Driver({ ...synthesize, turns: 0, attended: true }).prompt();
	asked.request();
	assert.deepEqual(asked.answer("no"), [ABORT]);
	const again = spent();
	again.settle();
	assert.deepEqual(again.request(), [ABORT], "a run that an extension starts gets no second final pass");
});

test("no limit, old or new, gates it", () => {
	const run = spent();
	run.send({ type: "limit_set", meter: "turns", max: 0 });
	assert.deepEqual(run.request(), []);
	assert.equal(run.phase, "finishing");
});

test("a compaction that takes the message away brings it again", () => {
	const run = spent();
	assert.deepEqual(run.send({ type: "message_lost" }), [SYNTHESIZE]);
});

test("an interruption ends it as one", () => {
	const run = spent();
	run.request();
	run.send({ type: "interrupted" });
	assert.equal(run.settle()?.kind, "interrupted");
});

test("each limit has a policy of its own", () => {
	const run = new Driver({ turns: 1, toolCalls: 0 }).prompt();
	run.send({ type: "policy_set", meter: "toolCalls", policy: "synthesize" });
	run.request();
	assert.deepEqual(run.call(), [REFUSE]);
	assert.deepEqual(run.end(), [], "the final pass of the tool limit");
	const other = new Driver({ turns: 1 }).prompt();
	other.send({ type: "policy_set", meter: "toolCalls", policy: "synthesize" });
	assert.deepEqual(other.turns(1), [ABORT]);
});
