import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { perMeter } from "../../src/core/meters.ts";
import { LimitExceeded, turnLimit, type Outcome, type TurnLimitOptions } from "../../src/index.ts";
import { noop, session, type SessionOptions } from "../harness/session.ts";

/** A session that is guarded with these options; the model never stops unless told otherwise. */
async function guarded(t: TestContext, options: TurnLimitOptions, more: Partial<SessionOptions> = {}) {
	const outcomes: Outcome[] = [];
	const limit = turnLimit({ ...options, onOutcome: (outcome) => void outcomes.push(outcome) });
	const pi = await session(t, { reply: () => noop, extensions: [limit], ...more });
	return { limit, outcomes, ...pi };
}

test("a session is guarded by options alone", async (t) => {
	const { prompt, turns, outcomes, errors } = await guarded(t, { turns: 3 }, { env: { PI_MAX_TURNS: "1" } });
	await prompt("go");
	assert.equal(turns(), 3);
	assert.deepEqual(
		outcomes.map(({ kind }) => kind),
		["exhausted"],
	);
	assert.deepEqual(errors, []);
});

test("the limits hold in a session that no program has bound", async (t) => {
	const { prompt, turns } = await guarded(t, { turns: 2 }, { bind: false });
	await prompt("go");
	assert.equal(turns(), 2);
});

/** Was pi to tell of the end of the nth turn? It copies the whole transcript for that. */
async function listening(t: TestContext, options: TurnLimitOptions): Promise<boolean[]> {
	const heard: boolean[] = [];
	const looks = (pi: ExtensionAPI): void => {
		pi.on("tool_execution_end", () => void heard.push(host.session.hasExtensionHandlers("turn_end")));
	};
	const host = await session(t, { reply: () => noop, extensions: [turnLimit(options), looks] });
	await host.prompt("go");
	return heard;
}

test("pi is made to tell of the end of a turn only where something depends on it", async (t) => {
	assert.deepEqual(await listening(t, { turns: 6, grace: 2 }), [false, false, false, true, false, true]);
	const late = await listening(t, { turns: 3, grace: () => 1 });
	assert.deepEqual(late, [true, true, true]);
});

test("prompting within limits gives the outcome of a run that ended by itself", async (t) => {
	const reply = (n: number) => (n < 3 ? noop : { text: "done" });
	const { limit, session: pi } = await guarded(t, { turns: 3, grace: 0 }, { reply });
	assert.equal((await limit.prompt(pi, "go")).kind, "completed");
	assert.equal(pi.getLastAssistantText(), "done");
});

test("prompting within limits rejects, after pi has settled, when a limit ended the run", async (t) => {
	const { limit, session: pi } = await guarded(t, { turns: 2 });
	await assert.rejects(limit.prompt(pi, "go"), (error: unknown) => {
		assert.ok(error instanceof LimitExceeded);
		assert.equal(error.name, "LimitExceeded");
		assert.equal(
			error.message,
			"pi-turn-limit: stopped at the limit of 2 turns (option), without an answer; spent: 2 turns, 2 tool calls.",
		);
		assert.deepEqual([error.outcome.kind, error.outcome.turns], ["exhausted", 2]);
		assert.ok(!pi.isStreaming);
		return true;
	});
});

test("a person who declines is an error too; a final answer is none", async (t) => {
	const ui = { confirm: () => Promise.resolve(false) };
	const declined = await guarded(t, { turns: 2 }, { ui });
	await assert.rejects(declined.limit.prompt(declined.session, "go"), { name: "LimitExceeded" });
	const reply = (n: number) => (n <= 2 ? noop : { text: "the best I have" });
	const answered = await guarded(t, { turns: 2, policy: "synthesize" }, { ui, reply });
	assert.equal((await answered.limit.prompt(answered.session, "go")).kind, "synthesized");
});

test("a prompt that starts no run is an error", async (t) => {
	const { limit, session: pi } = await guarded(t, { turns: 2 });
	await assert.rejects(limit.prompt(pi, "/turn-limit"), /started no run/);
});

test("each limit has its own policy, and the others have the common one", async (t) => {
	const { limit } = await guarded(t, { turns: { max: 5, policy: "abort" }, toolCalls: 3, policy: "synthesize" });
	const { turns, toolCalls } = limit.snapshot();
	assert.deepEqual([turns.policy, toolCalls.policy], ["abort", "synthesize"]);
});

test("the snapshot tells where every meter stands, before, in and after a run", async (t) => {
	const seen: unknown[] = [];
	const { limit, prompt } = await guarded(
		t,
		{ turns: 4, toolCalls: 9, grace: 2 },
		{
			reply: (n) => {
				seen.push([limit.snapshot().turns.used, limit.snapshot().turns.advised]);
				return n < 4 ? noop : { text: "done" };
			},
		},
	);
	const unlimited = {
		...{ used: 0, limit: "unlimited", remaining: "unlimited", policy: "abort" },
		...{ softLimit: undefined, advised: false },
	};
	assert.deepEqual(limit.snapshot(), {
		...perMeter(() => unlimited),
		turns: { used: 0, limit: 4, remaining: 4, policy: "abort", softLimit: 2, advised: false },
		toolCalls: { used: 0, limit: 9, remaining: 9, policy: "abort", softLimit: undefined, advised: false },
	});
	await prompt("go");
	assert.deepEqual(seen, [
		[1, false],
		[2, false],
		[3, true],
		[4, true],
	]);
	const { used, remaining } = limit.snapshot().toolCalls;
	assert.deepEqual({ used, remaining }, { used: 3, remaining: 6 });
});

test("the snapshot goes on after a reload", async (t) => {
	const {
		limit,
		prompt,
		session: pi,
	} = await guarded(t, { sessionTurns: 9 }, { reply: (n) => (n % 2 ? noop : { text: "done" }) });
	await prompt("go");
	await pi.reload();
	await prompt("again");
	assert.equal(limit.snapshot().sessionTurns.used, 4);
});

test("the snapshot of a limit that no session has loaded has its options and a program's defaults", () => {
	const { turns, repeats, time } = turnLimit({ turns: 9, policy: "synthesize" }).snapshot();
	assert.deepEqual(turns, { used: 0, limit: 9, remaining: 9, policy: "synthesize", softLimit: 7, advised: false });
	assert.deepEqual([repeats.limit, time.limit], ["unlimited", "unlimited"]);
	assert.equal(turnLimit({ turns: 9, grace: () => 4 }).snapshot().turns.softLimit, 5);
});

test("a session without `onOutcome` ends without an error", async (t) => {
	const { prompt, turns, errors } = await session(t, { reply: () => noop, extensions: [turnLimit({ turns: 2 })] });
	await prompt("go");
	assert.equal(turns(), 2);
	assert.deepEqual(errors, []);
});

test("a wrap-up message that is text is what the model reads", async (t) => {
	const { prompt, session: pi } = await guarded(t, { turns: 4, grace: 2, wrapUpMessage: "Hand in what you have." });
	await prompt("go");
	assert.equal(pi.messages.filter((message) => JSON.stringify(message).includes("Hand in what you have.")).length, 1);
});

test("a budget of a fleet that cannot be reached stops every prompt before its first turn, and says why", async (t) => {
	const budget = { at: "postgres://nobody@127.0.0.1:1/none", account: "team", maxTurns: 5 };
	const { limit, session: pi, turns } = await guarded(t, { budget });
	await assert.rejects(limit.prompt(pi, "go"), /^Error: pi-turn-limit: failed and stopped the run: /);
	assert.equal(turns(), 0);
});

describe("functions", () => {
	test("grace is read at every check, the message only when it is sent", async (t) => {
		let checks = 0;
		let messages = 0;
		const { prompt, session: pi } = await guarded(t, {
			turns: 10,
			grace: () => (++checks < 5 ? 1 : 6),
			wrapUpMessage: () => `Stop, please (${++messages}).`,
		});
		await prompt("go");
		assert.ok(checks >= 9);
		assert.equal(messages, 1);
		const told = pi.messages.filter((message) => JSON.stringify(message).includes("Stop, please"));
		assert.equal(told.length, 1);
	});

	test("one that throws is replaced by the default, said once, and the advice still comes", async (t) => {
		const warnings: string[] = [];
		const nonsense = () => {
			throw new Error("no idea");
		};
		const { prompt, session: pi } = await guarded(
			t,
			{ turns: 6, grace: nonsense, wrapUpMessage: nonsense },
			{ ui: { confirm: () => Promise.resolve(false), notify: (message) => void warnings.push(message) } },
		);
		await prompt("go");
		assert.equal(pi.messages.filter((message) => JSON.stringify(message).includes("Only 2 turns left")).length, 1);
		assert.equal(warnings.filter((message) => message.startsWith("grace():")).length, 1);
		assert.equal(warnings.filter((message) => message.startsWith("wrapUpMessage():")).length, 1);
	});
});

test("it never touches the process: exit code, standard error, variables, listeners", async (t) => {
	const written: unknown[] = [];
	t.mock.method(console, "error", (...text: unknown[]) => written.push(text));
	const listeners = process.eventNames().map((name) => process.listenerCount(name));
	const { prompt } = await guarded(t, { turns: 2 });
	await prompt("go");
	assert.deepEqual([process.exitCode, process.env["PI_TURN_LIMIT_ROOT"]], [undefined, undefined]);
	assert.deepEqual(written, []);
	assert.deepEqual(
		process.eventNames().map((name) => process.listenerCount(name)),
		listeners,
	);
});

describe("wrong options", () => {
	const wrong: [options: object, error: typeof RangeError, message: string][] = [
		[{ turns: -1 }, RangeError, "turns: expected a whole number from 0, or unlimited, got -1."],
		[{ turns: 1.5 }, RangeError, "turns: expected a whole number from 0, or unlimited, got 1.5."],
		[{ turns: "many" }, RangeError, 'turns: expected a whole number from 0, or unlimited, got "many".'],
		[{ turns: true }, TypeError, "turns: expected a whole number from 0, or unlimited, got true."],
		[{ turns: null }, TypeError, "turns: expected a whole number from 0, or unlimited, got null."],
		[{ turns: { max: -1 } }, RangeError, "turns.max: expected a whole number from 0, or unlimited, got -1."],
		[
			{ toolCalls: { max: 1, policy: "raise" } },
			RangeError,
			'toolCalls.policy: expected abort or synthesize, got "raise".',
		],
		[{ policy: 3 }, RangeError, "policy: expected abort or synthesize, got 3."],
		[{ grace: -1 }, RangeError, "grace: expected a whole number from 0, got -1."],
		[
			{ askTimeout: 0 },
			RangeError,
			"askTimeout: expected a whole number of seconds from 1 to 2147483, or unlimited, got 0.",
		],
		[{ wrapUpMessage: "" }, RangeError, 'wrapUpMessage: expected non-empty text, got "".'],
		[{ onOutcome: "log" }, TypeError, 'onOutcome: expected a function, got "log".'],
		[
			{ maxTurns: 5 },
			TypeError,
			'turnLimit(): unknown option "maxTurns". Known options: turns, toolCalls, cost, tokens, time, repeats, sessionTurns, sessionCost, sessionTokens, treeTurns, treeCost, treeTokens, dayTurns, dayCost, dayTokens, weekTurns, weekCost, weekTokens, monthTurns, monthCost, monthTokens, policy, grace, wrapUpMessage, askTimeout, repeatsExcept, partialNote, bell, onOutcome, budget, parent.',
		],
	];
	const others: [options: unknown, got: string][] = [
		[3, "3"],
		[true, "true"],
		["3", '"3"'],
		[null, "null"],
		[[], "[]"],
		[() => 3, "a function"],
	];
	for (const [options, got] of others) {
		test(`${got} in place of options`, () => {
			const message = `turnLimit(): expected an object of options, got ${got}.`;
			assert.throws(() => turnLimit(options as never), { name: "TypeError", message });
		});
	}

	test("a misspelt key of a limit", () => {
		assert.throws(() => turnLimit({ turns: { max: 3, polciy: "synthesize" } } as never), {
			name: "TypeError",
			message: 'turns: expected { max, policy }, got {"max":3,"polciy":"synthesize"}.',
		});
	});

	test("a function where none is taken", () => {
		assert.throws(() => turnLimit({ turns: () => 3 } as never), {
			name: "TypeError",
			message: "turns: expected a whole number from 0, or unlimited, got a function.",
		});
	});

	for (const [options, error, message] of wrong) {
		test(message, () => {
			assert.throws(() => turnLimit(options), { name: error.name, message });
		});
	}

	test("a name that every object has is no option", () => {
		assert.throws(() => turnLimit({ constructor: 1 } as never), {
			message: /^turnLimit\(\): unknown option "constructor"\. Known/,
		});
	});

	test("what is undefined is not given", () => {
		assert.equal(turnLimit({ turns: undefined } as never).snapshot().turns.limit, 25);
	});
});
