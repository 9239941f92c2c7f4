/** What seeds/pikuri-step-limit.txt documents, and where design.md decides otherwise, of our core. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromText, isMax, isPolicy, read } from "../../src/core/limit.ts";
import { create } from "../../src/core/state.ts";
import { describe as inWords, finalPass, refusal } from "../../src/core/wording.ts";
import { defaults, resolve } from "../../src/settings/settings.ts";
import { ABORT, ASK_CALLS, Driver, type Given, REFUSE, SYNTHESIZE } from "../core/driver.ts";

/** A run in its first turn. */
function running(given: Given): Driver {
	const run = new Driver(given).prompt();
	run.request();
	return run;
}

const reading = ({ state }: Driver) => read(state.meters.toolCalls);

describe("the budget", () => {
	test("lets exactly as many calls through as it says, and refuses the next", () => {
		const run = running({ toolCalls: 3 });
		assert.deepEqual(run.calls(3), []);
		assert.deepEqual(run.call(), [REFUSE]);
	});

	test("counts the calls of all turns of a run together", () => {
		const run = running({ toolCalls: 3 });
		run.calls(2);
		assert.deepEqual(run.end(), []);
		run.request();
		assert.deepEqual(run.calls(2), [REFUSE]);
	});

	test("can be read at any time: used, limit, remaining, policy", () => {
		const run = running({ toolCalls: 3, policy: "synthesize" });
		assert.deepEqual(reading(run), { used: 0, limit: 3, remaining: 3, policy: "synthesize" });
		run.calls(2);
		assert.deepEqual(reading(run), { used: 2, limit: 3, remaining: 1, policy: "synthesize" });
		run.calls(2);
		assert.deepEqual(reading(run), { used: 3, limit: 3, remaining: 0, policy: "synthesize" });
	});

	test("does not count what it refuses (design.md 12)", () => {
		const run = running({ toolCalls: 3 });
		assert.deepEqual(run.calls(9).length, 6);
		assert.equal(run.used("toolCalls"), 3);
		run.end();
		assert.equal(run.settle()?.toolCalls, 3);
	});

	test("is unlimited by default, and counts all the same", () => {
		assert.equal(defaults(false).maxToolCalls, "unlimited");
		const run = running({});
		assert.deepEqual(run.calls(1000), []);
		assert.deepEqual(reading(run), { used: 1000, limit: "unlimited", remaining: "unlimited", policy: "abort" });
	});

	test("of 0 is a budget: nothing passes where nobody can be asked (design.md 10)", () => {
		assert.deepEqual(running({ toolCalls: 0 }).call(), [REFUSE]);
	});
});

describe("what refills the budget", () => {
	test("a new run does, so that one budget governs many", () => {
		const run = running({ toolCalls: 2 });
		for (let n = 0; n < 3; n++) {
			assert.deepEqual(run.calls(3), [REFUSE]);
			run.end();
			run.settle();
			run.prompt().request();
			assert.equal(run.used("toolCalls"), 0);
		}
	});

	test("what is typed into the run does not", () => {
		const run = running({ toolCalls: 2 });
		run.calls(2);
		run.prompt();
		assert.deepEqual(run.end(), []);
		run.request();
		assert.deepEqual(run.call(), [REFUSE]);
	});

	test("a run that an extension starts does not (design.md 3)", () => {
		const run = running({ toolCalls: 2 });
		run.calls(2);
		run.end(false);
		run.settle();
		run.request();
		assert.deepEqual(run.call(), [REFUSE]);
	});

	test("a yes does, for the held call and the rest of the budget", () => {
		const run = running({ toolCalls: 2, attended: true });
		assert.deepEqual(run.calls(3), [ASK_CALLS]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.calls(2), []);
		assert.deepEqual(run.call(), [ASK_CALLS]);
	});

	test("enabling it again does, changing it does not", () => {
		const run = running({ toolCalls: 9 });
		run.calls(5);
		run.send({ type: "limit_set", meter: "toolCalls", max: 7 });
		assert.equal(run.used("toolCalls"), 5);
		run.send({ type: "limit_set", meter: "toolCalls", max: "unlimited" });
		assert.equal(run.used("toolCalls"), 5);
		run.send({ type: "limit_set", meter: "toolCalls", max: 7 });
		assert.equal(run.used("toolCalls"), 0);
	});
});

describe("when it runs out", () => {
	test("the default is to stop, at the end of the turn, and to say so", () => {
		assert.equal(defaults(false).policy, "abort");
		const run = running({ toolCalls: 1 });
		run.calls(2);
		assert.match(refusal(run.state), /^Not run: the limit of 1 tool call for this run is reached/);
		assert.deepEqual(run.end(), [ABORT]);
		const outcome = run.settle();
		assert.deepEqual(outcome && { ...outcome, cost: 0 }, {
			...{ kind: "exhausted", meter: "toolCalls", limit: 1 },
			...{ turns: 1, toolCalls: 1, cost: 0, continuations: 0, advised: false },
		});
	});

	test("after a stop the person just says to go on", () => {
		const run = running({ toolCalls: 1 });
		run.calls(2);
		run.end();
		run.settle();
		run.prompt();
		assert.deepEqual([...run.request(), ...run.call()], []);
	});

	test("synthesize salvages an answer: the refused call carries the instruction, and the answer is the outcome", () => {
		const run = running({ toolCalls: 1, policy: "synthesize" });
		assert.deepEqual(run.calls(2), [REFUSE]);
		assert.equal(refusal(run.state), `Not run. ${finalPass({ meter: "toolCalls", limit: 1 })}`);
		assert.deepEqual([...run.end(), ...run.request(), ...run.end(false)], []);
		assert.equal(run.settle()?.kind, "synthesized");
	});

	test("synthesize executes nothing more and has two turns for the answer", () => {
		const run = running({ toolCalls: 1, policy: "synthesize" });
		run.calls(2);
		run.end();
		for (const expected of [[], [ABORT]]) {
			assert.deepEqual(run.request(), []);
			assert.deepEqual(run.calls(2), [REFUSE, REFUSE]);
			assert.deepEqual(run.end(), expected);
		}
		assert.equal(run.settle()?.kind, "exhausted");
	});

	test("the policy belongs to the budget: one may stop the run where the other asks for an answer", () => {
		const limits = {
			turns: { max: 1, policy: "synthesize" },
			toolCalls: { max: 1, policy: "abort" },
		} as const;
		const run = new Driver();
		run.state = create({ attended: false, limits, grace: 0 });
		run.prompt().request();
		assert.deepEqual(run.end(), [SYNTHESIZE]);
		run.settle();
		run.prompt().request();
		run.calls(2);
		assert.deepEqual(run.end(), [ABORT]);
	});
});

describe("a value that is none", () => {
	/** The settings that come of it, and what is said. */
	const set = (values: Record<string, unknown>) =>
		resolve([{ values, name: (key) => key }], undefined, defaults(false));

	for (const value of [-1, 1.5, NaN, Infinity, "many", "", null, true]) {
		test(`${String(value)} is no limit: it is refused with a message, and the default stays`, () => {
			assert.equal(isMax(value), false);
			const { settings, problems } = set({ maxToolCalls: value });
			assert.equal(settings.maxToolCalls.value, "unlimited");
			assert.match(problems.join(), /^maxToolCalls: .* is not a whole number from 0, or unlimited\. Using "unlimited"/);
		});
	}

	for (const value of ["raise", "Synthesize", "", 1, null]) {
		test(`${JSON.stringify(value)} is no policy: it is refused with a message, and the default stays`, () => {
			assert.equal(isPolicy(value), false);
			const { settings, problems } = set({ policy: value });
			assert.equal(settings.policy.value, "abort");
			assert.match(problems.join(), /^policy: .* is not abort or synthesize\. Using "abort"/);
		});
	}

	test("0, any whole number and unlimited are limits; abort and synthesize are policies", () => {
		for (const value of ["0", "1", "200", "unlimited"]) assert.ok(isMax(fromText(value)), value);
		for (const value of ["abort", "synthesize"]) assert.ok(isPolicy(fromText(value)), value);
	});
});

describe("in one short line", () => {
	test("it says limit and use, and nothing of the default policy", () => {
		const run = running({ toolCalls: 20 });
		run.calls(3);
		assert.equal(inWords("toolCalls", run.state.meters.toolCalls), "3 of 20 tool calls");
	});

	test("it names the other policy", () => {
		const run = running({ toolCalls: 20, policy: "synthesize" });
		assert.equal(inWords("toolCalls", run.state.meters.toolCalls), "0 of 20 tool calls, synthesize");
	});
});
