import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isEndAwaited } from "../../src/core/breaker.ts";
import { ABORT, ASK_CALLS, ASK_TURNS, CLOSE, Driver, EVENTS, HOLD, REFUSE } from "./driver.ts";

for (const n of [0, 1, 2, 25]) {
	describe(`a limit of ${n}`, () => {
		test(`lets ${n} turns run and stops the next where nobody can be asked`, () => {
			const run = new Driver({ turns: n }).prompt();
			if (n > 1) assert.deepEqual(run.turns(n - 1), []);
			if (n > 0) assert.deepEqual(run.request(), []);
			assert.equal(run.used(), n);
			assert.deepEqual(n > 0 ? run.end() : run.request(), [ABORT]);
			assert.deepEqual(run.request(), [ABORT]);
			assert.equal(run.used(), n);
			assert.deepEqual(run.settle(), {
				...{ kind: "exhausted", meter: "turns", limit: n },
				...{ turns: n, toolCalls: 0, cost: 0, continuations: 0, advised: false },
			});
		});

		test(`asks after ${n} turns, and every yes admits ${Math.max(1, n)} more`, () => {
			const run = new Driver({ turns: n, attended: true }).prompt();
			for (let turn = 1; turn < n; turn++) assert.deepEqual(run.turns(1), []);
			assert.deepEqual(n > 0 ? [...run.request(), ...run.end()] : run.request(), [ASK_TURNS]);
			for (const round of [1, 2]) {
				assert.deepEqual(run.answer("yes"), []);
				assert.equal(run.used(), 0);
				for (let turn = 1; turn < n; turn++) assert.deepEqual(run.turns(1), []);
				assert.deepEqual(run.request(), []);
				assert.equal(run.used(), Math.max(1, n));
				assert.deepEqual(run.end(), [ASK_TURNS], `round ${round}`);
			}
			assert.deepEqual(run.answer("no"), [ABORT]);
			assert.equal(run.settle()?.continuations, 2);
		});

		test(`lets ${n} tool calls run and refuses the next where nobody can be asked`, () => {
			const run = new Driver({ toolCalls: n }).prompt();
			run.request();
			assert.deepEqual(run.calls(n), []);
			assert.deepEqual(run.call(), [REFUSE]);
			assert.deepEqual(run.call(), [REFUSE]);
			assert.equal(run.used("toolCalls"), n);
			assert.deepEqual(run.end(), [ABORT]);
			assert.deepEqual(run.settle(), {
				...{ kind: "exhausted", meter: "toolCalls", limit: n },
				...{ turns: 1, toolCalls: n, cost: 0, continuations: 0, advised: false },
			});
		});

		test(`asks after ${n} tool calls, and a yes makes the held call the first of the next`, () => {
			const run = new Driver({ toolCalls: n, attended: true }).prompt();
			run.request();
			assert.deepEqual(run.calls(n), []);
			assert.deepEqual(run.call(), [ASK_CALLS]);
			assert.deepEqual(run.answer("yes"), []);
			assert.equal(run.used("toolCalls"), 0);
			assert.deepEqual(run.calls(Math.max(1, n)), []);
			assert.deepEqual(run.call(), [ASK_CALLS]);
			assert.equal(run.used("turns"), 1);
		});
	});

	if (n > 0) {
		test(`a run that finishes by itself on turn ${n} of ${n} is completed`, () => {
			const run = new Driver({ turns: n, attended: true }).prompt();
			for (let turn = 1; turn < n; turn++) run.turns(1);
			run.request();
			assert.deepEqual(run.end(false), []);
			assert.equal(run.settle()?.kind, "completed");
		});
	}
}

test("unlimited never gates and still counts", () => {
	const run = new Driver({ turns: "unlimited" }).prompt();
	assert.deepEqual(run.turns(1000), []);
	assert.equal(run.used(), 1000);
	assert.equal(run.settle()?.kind, "completed");
});

test("a retried turn is neither counted nor gated again, also at a limit of 0", () => {
	for (const turns of [0, 1]) {
		const run = new Driver({ turns, attended: true }).prompt();
		if (turns === 0) run.request();
		if (turns === 0) run.answer("yes");
		run.request();
		for (let retry = 1; retry <= 3; retry++) {
			assert.deepEqual(run.send({ type: "turn_failed", message: "overloaded" }), []);
			assert.deepEqual(run.request(), []);
			assert.equal(run.used(), 1);
		}
		assert.deepEqual(run.end(), [ASK_TURNS]);
	}
});

test("a turn whose end was never seen does not escape the count", () => {
	const run = new Driver({ turns: 2 }).prompt();
	assert.deepEqual(run.request(), []);
	assert.deepEqual(run.request(), []);
	assert.deepEqual(run.request(), [ABORT]);
});

test("a follow-up that nobody foresaw meets the gate when its turn is requested", () => {
	const run = new Driver({ turns: 1, attended: true }).prompt();
	run.request();
	assert.deepEqual(run.end(false), []);
	assert.deepEqual(run.request(), [ASK_TURNS]);
	assert.deepEqual(run.answer("yes"), []);
	assert.deepEqual(run.request(), []);
	assert.equal(run.used(), 1);
});

describe("runs", () => {
	test("only a person's prompt refills", () => {
		const run = new Driver({ turns: 3, toolCalls: 5 }).prompt();
		run.request();
		run.call();
		run.end(false);
		run.settle();
		run.request();
		assert.equal(run.used(), 2);
		assert.equal(run.used("toolCalls"), 1);
		run.end(false);
		assert.equal(run.settle()?.turns, 1);
		run.prompt().request();
		assert.equal(run.used(), 1);
		assert.equal(run.used("toolCalls"), 0);
	});

	test("a run that an extension starts after a stop meets the gate at once", () => {
		const run = new Driver({ turns: 2 }).prompt();
		run.turns(2);
		run.settle();
		assert.deepEqual(run.request(), [ABORT]);
		assert.equal(run.settle()?.turns, 0);
	});

	test("a prompt typed into a running run is no new run", () => {
		const run = new Driver().prompt();
		run.turns(3);
		const before = run.state;
		run.prompt();
		assert.equal(run.state, before);
	});
});

describe("the question", () => {
	test("holds further requests until it is answered", () => {
		const run = new Driver({ toolCalls: 1, attended: true }).prompt();
		run.request();
		run.calls(2);
		assert.deepEqual(run.call(), [HOLD]);
		assert.deepEqual(run.request(), [HOLD]);
		assert.equal(run.used("toolCalls"), 1);
	});

	test("is never open twice: both meters at their limit are asked about one after the other", () => {
		const run = new Driver({ turns: 1, toolCalls: 1, attended: true }).prompt();
		run.request();
		assert.deepEqual(run.calls(2), [ASK_CALLS]);
		run.answer("yes");
		assert.deepEqual(run.call(), []);
		assert.deepEqual(run.end(), [ASK_TURNS]);
		run.answer("yes");
		assert.equal(run.used("toolCalls"), 1);
		assert.deepEqual(run.request(), []);
		assert.equal(run.used(), 1);
		assert.deepEqual(run.call(), [ASK_CALLS]);
	});

	test("tells a no from no answer", () => {
		for (const answer of ["no", "none"] as const) {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			assert.deepEqual(run.answer(answer), [ABORT]);
			const outcome = run.settle();
			assert.equal(outcome?.kind, "declined");
			assert.equal("answered" in outcome && outcome.answered, answer === "no");
		}
	});

	test("about tool calls leaves the rest of the batch to be refused and stops at the turn's end", () => {
		const run = new Driver({ toolCalls: 0, attended: true }).prompt();
		run.request();
		run.call();
		assert.deepEqual(run.answer("no"), []);
		assert.deepEqual(run.calls(2), [REFUSE, REFUSE]);
		assert.deepEqual(run.end(), [ABORT]);
	});

	test("is closed by an interruption, a failure of the breaker and the end of the session", () => {
		const asked = () => {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			return run;
		};
		assert.deepEqual(asked().send({ type: "interrupted" }), [CLOSE]);
		assert.deepEqual(asked().send({ type: "broke", message: "bug" }), [CLOSE, ABORT]);
		const [close, abort, end] = asked().send({ type: "shut_down" });
		assert.deepEqual([close, abort], [CLOSE, ABORT]);
		assert.equal(end?.type === "end" && end.outcome.kind, "declined");
		assert.equal(asked().settle()?.kind, "declined");
	});

	test("is answered by any change that takes the meter below its limit", () => {
		for (const change of [
			{ type: "limit_raised", meter: "turns", by: 1 },
			{ type: "limit_set", meter: "turns", max: 3 },
			{ type: "limit_set", meter: "turns", max: "unlimited" },
		] as const) {
			const run = new Driver({ turns: 2, attended: true }).prompt();
			run.turns(2);
			assert.deepEqual(run.send(change), [CLOSE]);
			assert.deepEqual(run.answer("no"), [], "a late answer");
			assert.deepEqual(run.request(), []);
			assert.equal(run.used(), 3, "the counter stays");
		}
	});

	test("stays open when the limit stays reached, or another meter's changes", () => {
		for (const change of [
			{ type: "limit_set", meter: "turns", max: 1 },
			{ type: "limit_set", meter: "toolCalls", max: 9 },
			{ type: "limit_raised", meter: "toolCalls", by: 1 },
		] as const) {
			const run = new Driver({ turns: 2, toolCalls: 5, attended: true }).prompt();
			run.turns(2);
			assert.deepEqual(run.send(change), []);
			assert.equal(run.phase, "asking");
		}
	});
});

test("the end of a turn is awaited where something depends on it", () => {
	const run = new Driver({ turns: 2, toolCalls: 0, policy: "synthesize" });
	assert.equal(isEndAwaited(run.state), false, "no run");
	run.prompt().request();
	assert.equal(isEndAwaited(run.state), false, "a turn to spare");
	run.end();
	run.request();
	assert.equal(isEndAwaited(run.state), true, "none to spare");
	run.call();
	run.end();
	run.request();
	assert.equal(isEndAwaited(run.state), true, "the final pass, told");
});

describe("stopped", () => {
	test("the run answers every request with an abort or a refusal until the host has settled", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.turns(1);
		assert.deepEqual(run.request(), [ABORT]);
		assert.deepEqual(run.call(), [REFUSE]);
		assert.equal(run.send({ type: "interrupted" }).length, 0);
		assert.deepEqual(run.send({ type: "broke", message: "bug" }), [ABORT]);
		assert.equal(run.settle()?.kind, "exhausted");
		assert.equal(run.phase, "idle");
	});

	test("a retry of a failed turn is not let through", () => {
		const run = new Driver().prompt();
		run.request();
		run.send({ type: "turn_failed", message: "overloaded" });
		run.send({ type: "interrupted" });
		assert.deepEqual(run.request(), [ABORT]);
	});

	test("a breaker that broke says so, and stops", () => {
		const run = new Driver().prompt();
		run.request();
		assert.deepEqual(run.send({ type: "broke", message: "bug" }), [ABORT]);
		const outcome = run.settle();
		assert.equal(outcome?.kind === "failed" && `${outcome.by}: ${outcome.message}`, "breaker: bug");
	});
});

describe("events that have no place change nothing", () => {
	const unplaced: Record<string, readonly string[]> = {
		idle: [
			...["turn_ended", "turn_failed", "tool_call_requested", "charged", "answered", "wrap_up_requested"],
			...["message_lost", "interrupted", "broke", "settled", "shut_down"],
		],
		running: ["prompted", "answered", "message_lost"],
		asking: ["prompted", "turn_ended", "turn_failed", "message_lost"],
		finishing: ["prompted", "answered", "wrap_up_requested"],
		stopped: ["prompted", "turn_failed", "answered", "wrap_up_requested", "message_lost", "interrupted"],
	};
	const states: Record<string, () => Driver> = {
		idle: () => new Driver(),
		running: () => {
			const run = new Driver().prompt();
			run.request();
			return run;
		},
		asking: () => {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			return run;
		},
		finishing: () => {
			const run = new Driver({ turns: 1, policy: "synthesize" }).prompt();
			run.turns(1);
			return run;
		},
		stopped: () => {
			const run = new Driver({ turns: 1 }).prompt();
			run.turns(1);
			return run;
		},
	};
	for (const [name, make] of Object.entries(states)) {
		for (const event of EVENTS.filter(({ type }) => unplaced[name]?.includes(type))) {
			test(`${event.type} while ${name}`, () => {
				const run = make();
				const before = run.state;
				const effects = run.send(event);
				assert.equal(run.state, before);
				if (!(name === "finishing" && event.type === "message_lost")) assert.deepEqual(effects, []);
			});
		}
	}

	test("an unknown event, in any state", () => {
		for (const make of Object.values(states)) {
			const run = make();
			const before = run.state;
			assert.deepEqual(run.send({ type: "no_such_event" } as never), []);
			assert.equal(run.state, before);
		}
	});

	test("a turn's end that comes twice", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.request();
		run.end(false);
		const before = run.state;
		assert.deepEqual(run.end(), []);
		assert.equal(run.state, before);
	});
});
