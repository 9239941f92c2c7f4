/** Other extensions: they start runs, call tools, send messages and fail in between. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isRetrying } from "../../src/core/state.ts";
import { isSpinning, pauseBeforeRefusal, refusalsInARow } from "../../src/core/run.ts";
import { asks, Driver, EVENTS, GATES, type Given, sum } from "./driver.ts";

/** A run that its limit has just stopped. */
function stopped(given: Given = {}): Driver {
	const run = new Driver({ turns: 2, ...given }).prompt();
	run.turns(2);
	if (given.attended) run.answer("no");
	run.settle();
	return run;
}

/** A run that nobody prompted, to its end; gives the decision about its first turn, and its end. */
function wake(run: Driver): unknown[] {
	const said = run.request();
	const end = run.send(EVENTS.settled).find((effect) => effect.type === "end");
	return [...said, end?.outcome.turns, end?.repeated];
}

describe("a run that nobody prompted, after a limit stopped the last one", () => {
	test("is refused without a question, and from the second on it is a repetition", () => {
		for (const attended of [true, false]) {
			const run = stopped({ attended });
			assert.deepEqual(wake(run), ["abort", 0, false]);
			assert.deepEqual(wake(run), ["abort", 0, true]);
			assert.deepEqual(wake(run), ["abort", 0, true]);
		}
	});

	for (const { id, gate } of GATES) {
		test(`is refused because of ${id}, also where the limit is checked later than at the first turn`, () => {
			const run = new Driver({ turns: "unlimited", [id]: 2, attended: true }).prompt();
			run.spend(gate, id, 2);
			run.knock(gate, id);
			run.answer("no");
			run.settle();
			assert.deepEqual(run.request(), ["abort"]);
			assert.deepEqual(run.settle(), { ...sum(), kind: "exhausted", meter: id, limit: 2 });
		});
	}

	test("is refused also after a final pass, a provider that failed in it, and a session that ended at the question", () => {
		const answered = new Driver({ turns: 1, policy: "synthesize", attended: true }).prompt();
		answered.turns(1);
		answered.answer("no");
		answered.request();
		answered.finish();
		assert.equal(answered.settle()?.kind, "synthesized");
		assert.deepEqual(answered.request(), ["abort"]);
		const failed = new Driver({ turns: 1, policy: "synthesize", attended: true }).prompt();
		failed.turns(1);
		failed.answer("no");
		failed.request();
		failed.fail();
		failed.settle();
		assert.deepEqual(failed.request(), ["abort"]);
		const asked = new Driver({ turns: 1, attended: true }).prompt();
		asked.turns(1);
		asked.send(EVENTS.shut_down);
		assert.deepEqual(asked.request(), ["abort"]);
	});

	test("is refused after somebody interrupted the last one at the question, or the breaker failed there", () => {
		for (const event of [EVENTS.interrupted, EVENTS.broke]) {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			run.send(event);
			run.settle();
			assert.deepEqual(wake(run), ["abort", 0, false]);
			assert.deepEqual(wake(run), ["abort", 0, true]);
		}
	});

	test("is asked about where the last one was interrupted after a yes", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.turns(1);
		run.answer("yes");
		run.request();
		run.send(EVENTS.interrupted);
		run.settle();
		assert.deepEqual(run.request(), [asks("turns"), "wait"]);
	});

	test("need not begin once two were refused, until somebody prompts", () => {
		const run = stopped({ attended: true });
		assert.equal(isSpinning(run.state), false);
		wake(run);
		assert.equal(isSpinning(run.state), false);
		wake(run);
		assert.equal(isSpinning(run.state), true);
		run.request();
		assert.equal(isSpinning(run.state), false, "in a run");
		run.settle();
		run.prompt();
		assert.equal(isSpinning(run.state), false);
	});

	test("is asked about where no limit stopped the last run", () => {
		const ends: ((run: Driver) => void)[] = [
			(run) => void run.finish(),
			(run) => void run.fail(),
			(run) => void run.send(EVENTS.interrupted),
			(run) => void run.send(EVENTS.broke),
		];
		for (const end of ends) {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.request();
			end(run);
			run.settle();
			assert.deepEqual(run.request(), [asks("turns"), "wait"]);
		}
	});

	test("is asked about after a run that was wrapped up", () => {
		const run = new Driver({ turns: 2, grace: 1, attended: true }).prompt();
		run.turns(1);
		run.request();
		run.finish();
		assert.equal(run.settle()?.kind, "wrapped_up");
		assert.deepEqual(run.request(), [asks("turns"), "wait"]);
	});

	test("may begin once the limit is raised, and is asked about when that is spent", () => {
		const run = stopped({ attended: true });
		wake(run);
		run.raise("turns", 1);
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.end(), [asks("turns")]);
		run.answer("no");
		run.settle();
		assert.deepEqual(wake(run), ["abort", 0, false], "counted from the new stop on");
	});

	test("is followed by a person's prompt as if it had not been", () => {
		const run = stopped({ attended: true });
		wake(run);
		run.prompt();
		assert.deepEqual(run.turns(2), [asks("turns")]);
		run.answer("no");
		run.settle();
		assert.deepEqual(wake(run), ["abort", 0, false]);
	});

	test("waits longer each time before it is refused, up to half a minute", () => {
		const run = stopped();
		const pauses = Array.from({ length: 9 }, () => {
			run.request();
			const pause = pauseBeforeRefusal(run.state);
			run.settle();
			return pause;
		});
		assert.deepEqual(pauses, [0, 1, 2, 4, 8, 16, 30, 30, 30]);
	});
});

describe("refusals in a row", () => {
	test("are counted over the runs since the stop", () => {
		const run = stopped();
		assert.equal(refusalsInARow(run.state), 0, "between runs");
		for (const n of [1, 2, 3]) {
			run.request();
			assert.equal(refusalsInARow(run.state), n);
			run.settle();
		}
	});

	test("are counted within a run whose turns are requested again and again", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.turns(1);
		assert.equal(refusalsInARow(run.state), 0);
		assert.equal(pauseBeforeRefusal(run.state), 0);
		for (const n of [1, 2]) {
			run.request();
			assert.equal(refusalsInARow(run.state), n);
		}
		assert.equal(pauseBeforeRefusal(run.state), 1);
	});

	test("are none while the run goes on", () => {
		const run = new Driver().prompt();
		run.request();
		assert.deepEqual([refusalsInARow(run.state), pauseBeforeRefusal(run.state)], [0, 0]);
	});
});

describe("a message that enters after a failed turn", () => {
	test("makes the next turn a new one: it is counted", () => {
		const run = new Driver({ turns: 3 }).prompt();
		run.request();
		run.fail();
		run.send(EVENTS.message_entered);
		assert.deepEqual(run.request(), ["admit"]);
		assert.equal(run.used(), 2);
		assert.equal(run.spent?.turns, 2);
	});

	test("makes the next turn meet the gate", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.request();
		run.fail();
		run.send(EVENTS.message_entered);
		assert.deepEqual(run.request(), ["abort"]);
	});

	test("makes it the last turn of the final pass", () => {
		const run = new Driver({ turns: 1, policy: "synthesize" }).prompt();
		run.turns(1);
		run.request();
		run.fail();
		run.send(EVENTS.message_entered);
		assert.deepEqual(run.turns(1), [{ type: "abort" }]);
	});

	test("makes a retry that has just started a new turn, which is decided once more", () => {
		const run = new Driver({ turns: 2 }).prompt();
		run.request();
		for (const decision of ["admit", "abort"] as const) {
			run.fail();
			assert.deepEqual(run.request(), ["admit"], "the retry");
			run.send(EVENTS.message_entered);
			assert.deepEqual(run.request(), [decision], "the new turn");
		}
		assert.equal(run.settle()?.turns, 2);
	});

	test("leaves the run failed if no turn follows", () => {
		const run = new Driver().prompt();
		run.request();
		run.fail("overloaded");
		run.send(EVENTS.message_entered);
		const before = run.state;
		run.send(EVENTS.message_entered);
		assert.equal(run.state, before);
		const outcome = run.settle();
		assert.equal(outcome?.kind === "failed" && outcome.message, "overloaded");
	});

	test("is nothing to a turn that was repeated with success", () => {
		const run = new Driver().prompt();
		run.request();
		run.fail();
		run.request();
		assert.equal(isRetrying(run.state), true);
		run.end();
		assert.equal(isRetrying(run.state), false);
		const before = run.state;
		run.send(EVENTS.message_entered);
		assert.equal(run.state, before);
		run.finish();
		assert.deepEqual([run.settle()?.kind, isRetrying(run.state)], ["completed", false]);
	});

	test("does not outlive the turn that follows it", () => {
		const run = new Driver().prompt();
		run.request();
		run.fail();
		run.send(EVENTS.message_entered);
		run.request();
		run.fail();
		assert.deepEqual([...run.request(), run.used()], ["admit", 2], "a retry again");
		run.finish();
		assert.equal(run.settle()?.kind, "completed");
	});
});

test("a tool call outside a run is admitted and counted, whatever the limit", () => {
	const run = new Driver({ toolCalls: 1, attended: true });
	assert.deepEqual([...run.call(), ...run.call()], ["admit", "admit"]);
	assert.equal(run.used("toolCalls"), 2);
	run.request();
	assert.deepEqual(run.call(), [asks("toolCalls"), "wait"], "in the same round");
	assert.equal(run.settle()?.toolCalls, 0, "they belong to no run");
	run.prompt().request();
	assert.equal(run.used("toolCalls"), 0);
});

describe("whether there is a person to ask", () => {
	test("is read between runs", () => {
		const run = new Driver({ turns: 1 });
		run.send({ type: "attended_set", attended: true });
		assert.deepEqual(run.prompt().turns(1), [asks("turns")]);
	});

	test("does not change in the middle of one", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.request();
		run.send({ type: "attended_set", attended: false });
		assert.deepEqual(run.end(), [asks("turns")]);
	});
});
