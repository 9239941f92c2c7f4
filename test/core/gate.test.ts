import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { transition } from "../../src/core/breaker.ts";
import { isEndAwaited } from "../../src/core/gate.ts";
import { readMeter } from "../../src/core/limit.ts";
import { isClosed } from "../../src/core/state.ts";
import { ABORT, asks, CLOSE, Driver, EVENTS, sum } from "./driver.ts";

describe("a turn", () => {
	test("is counted when it starts", () => {
		const run = new Driver().prompt();
		run.request();
		assert.equal(run.used(), 1);
		run.end();
		assert.equal(run.used(), 1);
	});

	test("is neither counted nor gated again when it is retried, also at a limit of 0", () => {
		for (const turns of [0, 1]) {
			const run = new Driver({ turns, attended: true }).prompt();
			if (turns === 0) run.request();
			if (turns === 0) run.answer("yes");
			run.request();
			for (let retry = 1; retry <= 3; retry++) {
				assert.deepEqual(run.fail(), []);
				assert.deepEqual(run.request(), ["admit"]);
				assert.equal(run.used(), 1);
			}
			assert.deepEqual(run.end(), [asks("turns")]);
		}
	});

	test("that fails twice is a failure once, with the first message", () => {
		const run = new Driver().prompt();
		run.request();
		run.fail("first");
		const before = run.state;
		run.fail("second");
		assert.equal(run.state, before);
		const outcome = run.settle();
		assert.equal(outcome?.kind === "failed" && outcome.message, "first");
	});

	test("that has ended can fail, because the host may take its answer back, and is then retried", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.request();
		run.end(false);
		run.fail();
		assert.deepEqual([...run.request(), run.used()], ["admit", 1]);
	});

	test("is not retried while a question is open", () => {
		const run = new Driver({ toolCalls: 0, attended: true }).prompt();
		run.request();
		run.fail();
		assert.deepEqual(run.call(), [asks("toolCalls"), "wait"]);
		assert.deepEqual(run.request(), ["wait"]);
	});

	test("whose end was never reported does not escape the count", () => {
		const run = new Driver({ turns: 2 }).prompt();
		assert.deepEqual([...run.request(), ...run.request(), ...run.request()], ["admit", "admit", "abort"]);
	});

	test("that nobody foresaw meets the gate when it is requested", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.request();
		assert.deepEqual(run.end(false), []);
		assert.deepEqual(run.request(), [asks("turns"), "wait"]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.request(), ["admit"]);
		assert.equal(run.used(), 1);
	});
});

describe("runs", () => {
	test("only a person's prompt refills", () => {
		const run = new Driver({ turns: 3, toolCalls: 5, cost: 10 }).prompt();
		const used = (): number[] => [run.used(), run.used("toolCalls"), run.used("cost")];
		run.request();
		run.call();
		run.charge("cost", 4);
		run.finish();
		run.settle();
		run.request();
		assert.deepEqual(used(), [2, 1, 4]);
		run.finish();
		assert.equal(run.settle()?.turns, 1);
		run.prompt().request();
		assert.deepEqual(used(), [1, 0, 0]);
	});

	test("calls of all turns of a run are counted together", () => {
		const run = new Driver({ toolCalls: 3 }).prompt();
		run.request();
		run.calls(2);
		run.end();
		run.request();
		assert.deepEqual(run.calls(2), ["refuse"]);
	});

	test("a prompt typed into a running run is no new run", () => {
		const run = new Driver().prompt();
		run.turns(3);
		const before = run.state;
		run.prompt();
		assert.equal(run.state, before);
	});

	test("after a stop the next prompt starts anew: the run is over, not the session", () => {
		const run = new Driver({ turns: 5, attended: true }).prompt();
		run.turns(5);
		run.answer("no");
		run.settle();
		assert.deepEqual(run.prompt().turns(4), []);
	});

	test("a person can continue any number of times", () => {
		const run = new Driver({ turns: 5, attended: true }).prompt();
		for (let n = 0; n < 100; n++) {
			assert.deepEqual(run.turns(5), [asks("turns")]);
			assert.deepEqual(run.answer("yes"), []);
		}
		run.request();
		run.finish();
		const outcome = run.settle();
		assert.deepEqual([outcome?.kind, outcome?.turns, outcome?.continuations], ["completed", 501, 100]);
	});
});

describe("the question", () => {
	test("makes further requests wait until it is answered", () => {
		const run = new Driver({ toolCalls: 1, attended: true }).prompt();
		run.request();
		run.calls(2);
		const before = run.state;
		assert.deepEqual(run.call(), ["wait"]);
		assert.deepEqual(run.request(), ["wait"]);
		assert.equal(run.state, before);
		assert.equal(isClosed(run.state), true);
	});

	test("is never open twice: meters at different gates are asked about one after the other", () => {
		const run = new Driver({ turns: 1, toolCalls: 1, attended: true }).prompt();
		run.request();
		assert.deepEqual(run.calls(2), [asks("toolCalls"), "wait"]);
		run.answer("yes");
		assert.deepEqual(run.call(), ["admit"]);
		assert.deepEqual(run.end(), [asks("turns")]);
		run.answer("yes");
		assert.equal(run.used("toolCalls"), 1);
		assert.deepEqual(run.request(), ["admit"]);
		assert.equal(run.used(), 1);
		assert.deepEqual(run.call(), [asks("toolCalls"), "wait"]);
	});

	test("opens one round of the size that the person says, and the next yes buys the limit again", () => {
		const run = new Driver({ turns: 2, attended: true }).prompt();
		run.turns(2);
		assert.deepEqual(run.answer("yes", 3), []);
		assert.deepEqual([run.used(), readMeter(run.state.meters.turns).limit], [0, 3]);
		assert.deepEqual(run.turns(3), [asks("turns")]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.turns(2), [asks("turns")]);
		run.answer("yes", 1);
		assert.deepEqual(run.turns(1), [asks("turns")]);
		run.answer("no", 5);
		assert.equal(run.phase, "stopped");
	});

	test("opens a round of the size that the person says at a limit of 0 too, and the next prompt does not have it", () => {
		const run = new Driver({ turns: 0, attended: true }).prompt();
		run.request();
		run.answer("yes", 2);
		assert.deepEqual(run.turns(2), [asks("turns")]);
		run.answer("yes", 5);
		run.settle();
		assert.deepEqual(run.prompt().request(), [asks("turns"), "wait"]);
	});

	test("grants so much more of a wider limit as the person says", () => {
		const run = new Driver({ sessionTurns: 2, turns: "unlimited", attended: true }).prompt();
		run.turns(2);
		run.answer("yes", 3);
		assert.equal(readMeter(run.state.meters.sessionTurns).limit, 5);
		const shared = new Driver({ dayTurns: 1, attended: true }).prompt();
		shared.turns(1);
		shared.request();
		const [, effects] = transition(shared.state, { type: "answered", answer: "yes", grant: 4 });
		assert.deepEqual(effects, [{ type: "raise", meter: "dayTurns", by: 4, isAnswer: true }]);
	});

	test("about repeats grants what it always does, whatever the person says", () => {
		const run = new Driver({ repeats: 2, attended: true }).prompt();
		run.request();
		assert.deepEqual(run.calls(3), [asks("repeats"), "wait"]);
		run.answer("yes", 9);
		assert.equal(readMeter(run.state.meters.repeats).limit, 2);
	});

	test("ends the run at once if the person says so, whatever the policy", () => {
		for (const policy of ["abort", "synthesize"] as const) {
			const run = new Driver({ turns: 1, policy, attended: true }).prompt();
			run.turns(1);
			assert.deepEqual(run.answer("stop"), [ABORT]);
			assert.deepEqual(run.settle(), {
				...sum({ turns: 1 }),
				...{ kind: "declined", answered: true, meter: "turns", limit: 1 },
			});
		}
	});

	test("knows the call that waits, and at the turn gate that none does", () => {
		const run = new Driver({ turns: 1, toolCalls: 0, attended: true }).prompt();
		const call = { tool: "bash", input: { command: "npm test" } };
		run.request();
		run.call(call);
		assert.equal(run.state.phase.name === "asking" && run.state.phase.call, call);
		run.answer("yes");
		run.end();
		assert.equal(run.state.phase.name === "asking" && run.state.phase.call, undefined);
	});

	test("tells a no from no answer", () => {
		for (const answer of ["no", "none"] as const) {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			assert.deepEqual(run.answer(answer), [ABORT]);
			const outcome = run.settle();
			assert.equal(outcome?.kind === "declined" && outcome.answered, answer === "no");
		}
	});

	test("about tool calls leaves the rest of the batch to be refused and stops at the turn's end", () => {
		const run = new Driver({ toolCalls: 0, attended: true }).prompt();
		run.request();
		run.call();
		assert.deepEqual(run.answer("no"), []);
		assert.deepEqual(run.calls(2), ["refuse", "refuse"]);
		assert.deepEqual(run.end(), [ABORT]);
	});

	test("that is still open when the turn ends stays open", () => {
		const run = new Driver({ toolCalls: 0, attended: true }).prompt();
		run.request();
		run.call();
		assert.deepEqual(run.end(), []);
		assert.equal(run.phase, "asking");
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.request(), ["admit"]);
	});

	test("is closed by an interruption, a failure of the breaker and the end of the session", () => {
		const asked = () => {
			const run = new Driver({ turns: 1, attended: true }).prompt();
			run.turns(1);
			return run;
		};
		assert.deepEqual(asked().send(EVENTS.interrupted), [CLOSE]);
		assert.deepEqual(asked().send(EVENTS.broke), [CLOSE, ABORT]);
		for (const event of [EVENTS.shut_down, EVENTS.settled]) {
			const run = asked();
			const { spent } = run;
			const end = { kind: "declined", answered: false, meter: "turns", limit: 1 };
			assert.deepEqual(run.send(event), [
				...[CLOSE, ABORT],
				{ type: "end", outcome: { ...spent, advised: false, ...end }, repeated: false },
			]);
			assert.equal(run.phase, "idle");
		}
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
			assert.deepEqual(run.request(), ["admit"]);
			assert.equal(run.used(), 3, "the counter stays");
			assert.equal(run.spent?.continuations, 0);
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
	const run = new Driver({ turns: 2, toolCalls: 0, cost: 5, policy: "synthesize" });
	assert.equal(isEndAwaited(run.state), false, "no run");
	run.prompt().request();
	assert.equal(isEndAwaited(run.state), false, "a turn to spare");
	run.charge("cost", 5);
	assert.equal(isEndAwaited(run.state), true, "an amount is spent");
	run.set("cost", "unlimited");
	run.end();
	run.request();
	assert.equal(isEndAwaited(run.state), true, "no turn to spare");
	run.call();
	run.end();
	run.request();
	assert.equal(isEndAwaited(run.state), true, "the final pass");
});

describe("stopped", () => {
	test("the run answers every request with an abort or a refusal until the host has settled", () => {
		const run = new Driver({ turns: 1 }).prompt();
		run.turns(1);
		assert.equal(isClosed(run.state), true);
		assert.deepEqual(run.request(), ["abort"]);
		assert.deepEqual(run.call(), ["refuse"]);
		assert.deepEqual(run.send(EVENTS.interrupted), []);
		assert.deepEqual(run.send(EVENTS.broke), [ABORT]);
		assert.equal(run.settle()?.kind, "exhausted");
		assert.equal(isClosed(run.state), false);
	});

	test("a turn that ends is followed by an abort, unless the run ends with it", () => {
		for (const goesOn of [true, false]) {
			const run = new Driver().prompt();
			run.request();
			run.send(EVENTS.interrupted);
			assert.deepEqual(run.end(goesOn), goesOn ? [ABORT] : []);
		}
	});

	test("a retry of a failed turn is not let through", () => {
		const run = new Driver().prompt();
		run.request();
		run.fail();
		run.send(EVENTS.interrupted);
		assert.deepEqual(run.request(), ["abort"]);
	});

	test("a breaker that broke says so, and stops", () => {
		const run = new Driver().prompt();
		run.request();
		assert.deepEqual(run.send(EVENTS.broke), [ABORT]);
		const outcome = run.settle();
		assert.equal(outcome?.kind === "failed" && `${outcome.by}: ${outcome.message}`, "breaker: bug");
	});

	test("the end of the session interrupts a run, and keeps the reason of one that was stopped before", () => {
		for (const [turns, kind] of [
			[9, "interrupted"],
			[1, "exhausted"],
		] as const) {
			const run = new Driver({ turns }).prompt();
			run.turns(1);
			const [abort, end] = run.send(EVENTS.shut_down);
			assert.deepEqual([abort, end?.type === "end" && end.outcome.kind, run.phase], [ABORT, kind, "idle"]);
		}
	});
});

test("a failure that is reported again after a new message changes nothing: the next turn is new", () => {
	const run = new Driver().prompt();
	run.request();
	run.send(EVENTS.turn_failed);
	run.send(EVENTS.message_entered);
	const { state } = run;
	assert.deepEqual(run.send(EVENTS.turn_failed), []);
	assert.equal(run.state, state);
});

describe("events that have no place change nothing", () => {
	const unplaced: Record<string, readonly (keyof typeof EVENTS)[]> = {
		idle: [
			...(["turn_ended", "turn_failed", "message_entered", "answered", "wrap_up_requested"] as const),
			...(["message_lost", "filled", "unreachable", "interrupted", "broke", "settled", "shut_down"] as const),
		],
		running: ["prompted", "attended_set", "message_entered", "answered", "message_lost"],
		asking: [
			...(["prompted", "attended_set", "turn_ended", "turn_failed", "message_entered", "message_lost"] as const),
			...(["filled", "unreachable"] as const),
		],
		finishing: [
			...(["prompted", "attended_set", "turn_ended", "message_entered", "answered", "wrap_up_requested"] as const),
			...(["filled", "unreachable"] as const),
		],
		stopped: [
			...(["prompted", "attended_set", "turn_ended", "turn_failed", "message_entered", "answered"] as const),
			...(["wrap_up_requested", "message_lost", "filled", "unreachable", "interrupted"] as const),
		],
	};
	const after = (turns: number, given = {}) => {
		const run = new Driver({ turns, dayTurns: 9, ...given }).prompt();
		run.turns(1);
		return run;
	};
	const states: Record<string, () => Driver> = {
		idle: () => new Driver(),
		running: () => {
			const run = new Driver().prompt();
			run.request();
			return run;
		},
		asking: () => after(1, { attended: true }),
		finishing: () => after(1, { policy: "synthesize" }),
		stopped: () => after(1),
	};
	for (const [name, make] of Object.entries(states)) {
		for (const type of unplaced[name] ?? []) {
			test(`${type} while ${name}`, () => {
				const run = make();
				const before = run.state;
				assert.deepEqual(run.send(EVENTS[type]), []);
				assert.equal(run.state, before);
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
