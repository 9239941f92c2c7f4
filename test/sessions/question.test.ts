/** The question at a limit: what it says, and what counts as an answer. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { MeterId } from "../../src/core/meters.ts";
import type { Context } from "../../src/hosts/pi/host/api.ts";
import { ask } from "../../src/hosts/pi/ui/question.ts";
import { type Question, questionAbout } from "../../src/loop/question.ts";
import { Driver, type Given } from "../core/driver.ts";

/** What a run asks after some turns, each with one call. */
function asks(turns: number, id: MeterId, given: Given, calls = 1): Question {
	const run = new Driver({ attended: true, repeats: "unlimited", ...given }).prompt();
	for (let i = 0; i < turns; i++) {
		run.request();
		run.calls(calls);
		run.charge("cost", 500_000);
		run.end();
	}
	if (run.phase !== "asking") run.request();
	if (run.phase !== "asking") run.call();
	assert.equal(run.phase, "asking");
	return questionAbout(run.state, id, ({ tool }) => `<${tool}>`);
}

const labels = ({ choices }: Question) => choices.map(({ id, label }) => `${id}: ${label}`);

describe("the question", () => {
	test("says what is spent, what was done last, and what yes and no mean", () => {
		const question = asks(2, "turns", { turns: 2 });
		assert.equal(question.title, "Turn limit reached");
		assert.deepEqual(question.message.split("\n"), [
			"You've used 2 turns. Continue?",
			"This run so far: 2 turns, 2 tool calls, $1.00. Last call: <bash>",
			"Yes: 2 more turns. No: the run ends here.",
		]);
	});

	test("is a list in the terminal, in which the words for yes and no can be typed", () => {
		const { message: _message, ...list } = asks(2, "turns", { turns: 2 });
		assert.deepEqual(list, {
			title: "Turn limit reached",
			lines: [
				"You've used 2 turns. Continue?",
				"This run so far: 2 turns, 2 tool calls, $1.00. Last call: <bash>",
				"Stop ends the run here; Wrap up now gets an answer first.",
			],
			choices: [
				{ id: "yes", label: "Continue (2 more turns)", typed: ["y", "yes"] },
				{ id: "tell", label: "Continue, and tell it something…", asks: "What should it know?" },
				{ id: "wrap_up", label: "Wrap up now" },
				{ id: "no", label: "Stop", typed: ["n", "no"] },
			],
			escape: "Escape stops.",
			meter: "turns",
			grants: 2,
		});
	});

	test("names no last call where there was none", () => {
		const { message } = asks(1, "turns", { turns: 1 }, 0);
		assert.match(message, /^This run so far: 1 turn, 0 tool calls, \$0\.50\.$/m);
		assert.match(message, /^Yes: 1 more turn\. /m);
	});

	test("has further lines of the host after what was spent", () => {
		const run = new Driver({ attended: true, turns: 1 }).prompt();
		run.turns(1);
		const { message, lines } = questionAbout(run.state, "turns", String, ["Extra."]);
		assert.equal(message.split("\n")[2], "Extra.");
		assert.equal(lines[2], "Extra.");
	});

	test("names the call that waits", () => {
		const { title, message } = asks(1, "toolCalls", { toolCalls: 1 });
		assert.equal(title, "Tool limit reached");
		assert.match(message, /^You've used 1 tool call\. Continue\?\nThis run so far: .*\. Waiting: <bash>\n/);
		assert.match(message, /\nYes: 1 more tool call\. /);
	});

	test("offers an answer as the end of the run where that is the policy", () => {
		const question = asks(2, "turns", { turns: 2, policy: "synthesize" });
		assert.match(question.message, / No: one last answer, without tools\.$/);
		assert.equal(question.lines[2], "Stop lets it answer from what it has, without tools.");
		assert.deepEqual(labels(question).slice(2), ["no: Stop with an answer"]);
	});

	for (const policy of ["abort", "synthesize"] as const) {
		test(`offers no answer before the first turn, with the policy ${policy}`, () => {
			const question = asks(0, "turns", { turns: 0, policy });
			assert.match(question.message, /\nYes: 1 more turn\. No: the run ends here\.$/);
			assert.equal(question.lines[2], "Stop ends the run here.");
			assert.deepEqual(labels(question), [
				"yes: Continue (1 more turn)",
				"tell: Continue, and tell it something…",
				"no: Stop",
			]);
		});
	}

	test("offers one call at a limit of 0 tool calls", () => {
		assert.match(asks(0, "toolCalls", { toolCalls: 0 }).message, /\nYes: 1 more tool call\. /);
	});

	test("offers an amount that is no count without a noun", () => {
		const { message } = asks(3, "cost", { cost: 1_500_000 });
		assert.match(message, /^You've used \$1\.50\. Continue\?\n/);
		assert.match(message, /\nYes: \$1\.50 more\. /);
	});

	test("says where the count goes on beyond the run", () => {
		assert.match(asks(2, "sessionTurns", { sessionTurns: 2 }).message, /^You've used 2 turns in this session\. /);
	});

	test("says that the shared budget is out of reach, and offers to go on without it", () => {
		const run = new Driver({ attended: true, dayTurns: 5, policy: "synthesize" }).prompt();
		run.turns(1);
		run.ask({ type: "turn_requested" });
		run.send({ type: "unreachable", message: "The ledger\n\u001bis locked." });
		const question = questionAbout(run.state, "dayTurns", String);
		assert.equal(question.title, "Shared budget out of reach");
		assert.match(question.message, /^The ledger is locked\. Continue without the day turn limit, for this run\?\n/);
		assert.match(question.message, /\nYes: without it\. No: the run ends here\.$/);
		assert.deepEqual(labels(question), [
			"yes: Continue (without it)",
			"tell: Continue, and tell it something…",
			"no: Stop",
		]);
	});
});

describe("an answer", () => {
	const question: Question = {
		...{ title: "Title", message: "Message", lines: [], choices: [], escape: "", meter: "turns", grants: 1 },
	};

	/** How a person replies: `confirm` answers yes or no, `custom` picks from the list. */
	interface Person {
		confirm?: (title: string, message: string, options: { signal: AbortSignal; timeout?: number }) => Promise<unknown>;
		custom?: () => Promise<unknown>;
		signal?: AbortSignal;
		mode?: string;
	}

	function context({ signal, mode = "rpc", ...ui }: Person): Context {
		return { ui, mode, signal } as unknown as Context;
	}

	const never = () => new Promise(() => {});

	for (const [said, answer] of [
		[true, "yes"],
		[false, "no"],
		[undefined, "no"],
		["yes", "no"],
	] as const) {
		test(`of ${String(said)} to a dialog is ${answer}`, async () => {
			const person = context({ confirm: () => Promise.resolve(said) });
			assert.deepEqual(await ask(person, question, "unlimited", false).reply, { answer });
		});
	}

	test("is asked for with the question's words, and without an end if it has none", async () => {
		const asked: unknown[] = [];
		const person = context({
			confirm: (title, message, options) => {
				asked.push(title, message, Object.keys(options), options.timeout, options.signal.aborted);
				return Promise.resolve(true);
			},
		});
		await ask(person, question, "unlimited", false).reply;
		await ask(person, question, 30, false).reply;
		assert.deepEqual(asked, [
			...["Title", "Message", ["signal"], undefined, false],
			...["Title", "Message", ["signal", "timeout"], 30_000, false],
		]);
	});

	test("that fails is none", async () => {
		const person = context({ confirm: () => Promise.reject(new Error("gone")) });
		assert.deepEqual(await ask(person, question, "unlimited", false).reply, { answer: "none" });
	});

	test("is none once the question is closed, and the dialog goes", async () => {
		let closed: AbortSignal | undefined;
		const person = context({ confirm: (_title, _message, { signal }) => ((closed = signal), never()) });
		const open = ask(person, question, "unlimited", false);
		assert.equal(closed?.aborted, false);
		open.close();
		assert.deepEqual(await open.reply, { answer: "none" });
		assert.equal(closed.aborted, true);
	});

	test("is none once the run is aborted", async () => {
		const run = new AbortController();
		let closed: AbortSignal | undefined;
		const confirm: Person["confirm"] = (_title, _message, { signal }) => ((closed = signal), never());
		const open = ask(context({ confirm, signal: run.signal }), question, "unlimited", false);
		run.abort();
		assert.deepEqual(await open.reply, { answer: "none" });
		assert.equal(closed?.aborted, true);
		const other = ask(context({ confirm, signal: new AbortController().signal }), question, "unlimited", false);
		other.close();
		assert.deepEqual(await other.reply, { answer: "none" });
	});

	test("is none, and no list is shown, where the run was aborted before", async () => {
		const custom = () => assert.fail("the run is over");
		const person = context({ custom, confirm: () => Promise.resolve(true), mode: "tui", signal: AbortSignal.abort() });
		assert.deepEqual(await ask(person, question, "unlimited", false).reply, { answer: "none" });
	});

	function clock(t: TestContext): { pass: (ms: number) => void; waiting: () => number } {
		const timers = new Map<object, { act: () => void; at: number }>();
		t.mock.method(globalThis, "setTimeout", ((act: () => void, at: number) => {
			const timer = {};
			timers.set(timer, { act, at });
			return timer;
		}) as unknown as typeof setTimeout);
		t.mock.method(globalThis, "clearTimeout", ((timer: object) => timers.delete(timer)) as typeof clearTimeout);
		return {
			pass: (ms) => {
				for (const { act, at } of timers.values()) if (at <= ms) act();
			},
			waiting: () => timers.size,
		};
	}

	test("is none a moment before the host's own time is over, which would be a no", async (t) => {
		const { pass } = clock(t);
		let isOpen = true;
		const open = ask(context({ confirm: never }), question, 2, false);
		void open.reply.then(() => (isOpen = false));
		pass(1989);
		await Promise.resolve();
		assert.equal(isOpen, true);
		pass(1990);
		assert.deepEqual(await open.reply, { answer: "none" });
	});

	test("leaves no timer behind, and starts none without a time", async (t) => {
		const { waiting } = clock(t);
		const person = context({ confirm: () => Promise.resolve(true) });
		const open = ask(person, question, 2, false);
		assert.equal(waiting(), 1);
		await open.reply;
		assert.equal(waiting(), 0);
		const endless = ask(person, question, "unlimited", false);
		assert.equal(waiting(), 0);
		await endless.reply;
	});

	for (const [what, picked, reply] of [
		["that was picked", { kind: "picked", id: "yes" }, { answer: "yes" }],
		["to wrap up", { kind: "picked", id: "wrap_up" }, { answer: "wrap_up" }],
		[
			"with words for the model",
			{ kind: "picked", id: "tell", text: "Use npm" },
			{ answer: "yes", guidance: "Use npm" },
		],
		["that was dismissed", { kind: "dismissed" }, { answer: "no" }],
		["to a list that was withdrawn", { kind: "withdrawn" }, { answer: "none" }],
	] as const) {
		test(`${what} in the terminal is ${JSON.stringify(reply)}`, async () => {
			const confirm = () => assert.fail("the list is enough");
			const person = context({ custom: () => Promise.resolve(picked), confirm, mode: "tui" });
			assert.deepEqual(await ask(person, question, "unlimited", false).reply, reply);
		});
	}

	test("is asked for by yes or no where the terminal cannot show the list", async () => {
		const custom = () => Promise.reject(new Error("There is no screen."));
		const person = context({ custom, confirm: () => Promise.resolve(true), mode: "tui" });
		assert.deepEqual(await ask(person, question, "unlimited", false).reply, { answer: "yes" });
	});
});
