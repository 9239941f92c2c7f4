/** The question at a limit: what it says, and what counts as an answer. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { kindOf, type MeterId } from "../../src/core/meters.ts";
import type { Context } from "../../src/hosts/pi/host/api.ts";
import { ask } from "../../src/hosts/pi/ui/question.ts";
import { type Question, questionAbout } from "../../src/loop/question.ts";
import { Tally } from "../../src/loop/tally.ts";
import { Driver, type Given, sum } from "../core/driver.ts";

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
			"This run so far: 2 turns, 2 tool calls, $1.00.",
			"Yes: 2 more turns. No: the run ends here.",
		]);
	});

	test("is a list in the terminal, in which the words for yes and no can be typed", () => {
		const { message, size, ...list } = asks(2, "turns", { turns: 2 });
		assert.deepEqual([typeof message, typeof size], ["string", "function"]);
		assert.deepEqual(list, {
			title: "Turn limit reached",
			lines: [
				"You've used 2 turns. Continue?",
				"This run so far: 2 turns, 2 tool calls, $1.00.",
				"Stop ends the run here; Wrap up now gets an answer first.",
			],
			activity: [],
			choices: [
				{ id: "yes", label: "Continue (2 more turns)", typed: ["y", "yes"] },
				{ id: "tell", label: "Continue, and tell it something…", asks: "What should it know?" },
				{ id: "wrap_up", label: "Wrap up now" },
				{ id: "no", label: "Stop", typed: ["n", "no"] },
			],
			escape: "Escape stops.",
			escapeShort: "Esc stops.",
			expires: "Stops by itself in",
			meter: "turns",
		});
	});

	test("says what was done since the person's prompt or yes, in the list and in the message", () => {
		const run = new Driver({ attended: true, turns: 1 }).prompt();
		run.turns(1);
		const tally = new Tally();
		tally.prompted();
		for (const id of ["a", "b"]) tally.called({ tool: "edit", input: { path: `${id}.ts` }, id });
		tally.callEnded("a", false);
		tally.callEnded("b", true);
		for (const command of ["npm test", "ls", "git diff"]) tally.called({ tool: "bash", input: { command } });
		const first = questionAbout(run.state, "turns", ({ input }) => Object.values(input as object).join(), [], tally);
		assert.deepEqual(first.activity, [
			"Since your prompt: 3 bash, 2 edit · 1 file changed · 1 error",
			"Last: git diff · ls · npm test",
		]);
		assert.ok(first.message.includes(`\n${first.activity.join("\n")}\nYes: `));
		tally.continued();
		assert.deepEqual(questionAbout(run.state, "turns", String, [], tally).activity, []);
		tally.called({ tool: "write", input: { file_path: "c.ts" } });
		tally.called({ tool: "write", input: { file_path: "d.ts" } });
		tally.callEnded("x", true);
		tally.callEnded("y", true);
		assert.equal(tally.lines(String)[0], "Since your yes: 2 write · 2 files changed · 2 errors");
		tally.prompted();
		assert.deepEqual(tally.lines(String), []);
	});

	test("counts no file for a tool that changes none, or that names none", () => {
		const tally = new Tally();
		for (const input of [null, "a", { path: 3 }, {}]) tally.called({ tool: "write", input });
		tally.called({ tool: "read", input: { path: "a" } });
		tally.called({ tool: "rewrite", input: { path: "a" } });
		tally.called({ tool: "writer", input: { path: "a" } });
		assert.equal(tally.lines(String)[0], "Since your prompt: 4 write, 1 read, 1 rewrite, 1 writer");
	});

	test("says what was spent since the person's prompt where an extension has started the run", () => {
		const run = new Driver({ attended: true, turns: 3 }).prompt();
		const tally = new Tally();
		tally.prompted();
		run.turns(2);
		run.finish();
		tally.ended(run.spent!);
		run.settle();
		run.turns(1);
		const { message } = questionAbout(run.state, "turns", String, [], tally);
		assert.match(message, /^You've used 3 turns\. Continue\?\nSpent since your prompt: 3 turns, 0 tool calls\.\n/);
		tally.prompted();
		assert.match(questionAbout(run.state, "turns", String, [], tally).message, /\nThis run so far: 1 turn, /);
		const idle = new Tally();
		idle.ended(sum());
		assert.match(questionAbout(run.state, "turns", String, [], idle).message, /\nThis run so far: 1 turn, /);
	});

	test("adds up what several runs have spent, and the answers", () => {
		const tally = new Tally();
		tally.ended(sum({ turns: 2, cost: 5, repeats: 4, continuations: 1 }));
		tally.ended(sum({ turns: 1, cost: 1, repeats: 3, continuations: 1 }));
		const { turns, cost, repeats, continuations } = tally.sincePrompt(sum({ turns: 1, repeats: 2 }))!;
		assert.deepEqual([turns, cost, repeats, continuations], [4, 6, 2, 2]);
	});

	test("says what the tree has spent where the limit is the tree's", () => {
		const run = new Driver({ attended: true, treeTurns: 1, treeCost: 50_000_000 }).prompt();
		run.turns(1);
		run.request();
		const { message } = questionAbout(run.state, "treeTurns", String);
		assert.match(message, /\nThis run so far: 1 turn, 0 tool calls; with its agents 1 turn, \$0\.00\.\n/);
	});

	test("says how many limits are reached, and which one is next", () => {
		const run = new Driver({ attended: true, turns: 1, cost: 500_000, sessionTurns: 1 }).prompt();
		run.request();
		run.charge("cost", 500_000);
		run.end();
		const seen = (id: MeterId): unknown[] => {
			const { title, choices } = questionAbout(run.state, id, String);
			return [title, choices[0]?.label];
		};
		const { title } = kindOf("sessionTurns");
		assert.deepEqual(seen("sessionTurns"), [
			`${title} reached (1 of 3)`,
			"Continue (1 more turn; the turn limit is next)",
		]);
		run.answer("yes");
		assert.deepEqual(seen("turns"), ["Turn limit reached (2 of 3)", "Continue (1 more turn; the cost limit is next)"]);
		run.answer("yes");
		assert.deepEqual(seen("cost"), ["Cost limit reached (3 of 3)", "Continue ($0.50 more)"]);
	});

	test("counts shared limits that are reached as well, and names the one that comes next", () => {
		const run = new Driver({
			attended: true,
			dayCost: 500_000,
			treeTurns: 1,
			monthCost: 9e6,
			sessionTurns: 1,
		}).prompt();
		run.request();
		run.charge("cost", 500_000);
		run.end();
		const seen: unknown[] = [];
		while (run.request().every((word) => word !== "admit") && run.phase === "asking") {
			for (; run.state.phase.name === "asking"; run.answer("yes")) {
				const { title, choices } = questionAbout(run.state, run.state.phase.meter, String);
				seen.push(`${title}: ${choices[0]?.label}`);
			}
		}
		assert.deepEqual(seen, [
			"Day cost limit reached (1 of 3): Continue ($0.05 more; the tree turn limit is next)",
			"Tree turn limit reached (2 of 3): Continue (1 more turn; the session turn limit is next)",
			"Session turn limit reached (3 of 3): Continue (1 more turn)",
		]);
	});

	test("counts no shared limit where the question is about one that is not, and no budget of a fleet, which nobody here is asked about", () => {
		const call = new Driver({ attended: true, toolCalls: 1, treeCost: 500_000 }).prompt();
		call.request();
		call.calls(1);
		call.charge("cost", 500_000);
		call.call();
		assert.equal(questionAbout(call.state, "toolCalls", String).title, "Tool limit reached");
		const run = new Driver({ attended: true, dayTurns: 1, budgetTurns: 2 }).prompt();
		run.turns(1);
		run.ask({ type: "turn_requested" });
		const full = { used: 2, cap: 2 };
		run.send({ type: "filled", meter: "dayTurns", balances: { dayTurns: { used: 1, cap: 1 }, budgetTurns: full } });
		assert.equal(questionAbout(run.state, "dayTurns", String).title, "Day turn limit reached");
	});

	test("promises no more than another limit of the same leaves", () => {
		const run = new Driver({ attended: true, turns: 2, sessionTurns: 3 }).prompt();
		run.turns(2);
		const { choices, lines, message, size } = questionAbout(run.state, "turns", String);
		assert.equal(choices[0]?.label, "Continue (1 more turn, then the session turn limit)");
		assert.equal(lines[2], "A yes grants 2 turns; left in this session: 1 turn.");
		assert.match(message, /left in this session: 1 turn\.\nYes: 1 more turn, then the session turn limit\. /);
		const label = "Continue (1 more turn, then the session turn limit)";
		assert.deepEqual(size?.("50"), { grant: 50, label });
	});

	test("promises the least of what several others leave", () => {
		const run = new Driver({ attended: true, turns: 2, sessionTurns: 4, dayTurns: 3 }).prompt();
		run.turns(2);
		const { lines } = questionAbout(run.state, "turns", String);
		assert.equal(lines[2], "A yes grants 2 turns; left today: 1 turn.");
	});

	test("reads an amount that the person types, and says what it buys", () => {
		const { size } = asks(2, "turns", { turns: 2 });
		assert.deepEqual(size?.("50"), { grant: 50, label: "Continue (50 more turns)" });
		assert.deepEqual(size("+1"), { grant: 1, label: "Continue (1 more turn)" });
		for (const text of ["0", "", "+", "5k", "-3", "1.5", "++3"]) assert.equal(size(text), undefined, text);
		const cost = asks(3, "cost", { cost: 1_500_000 });
		assert.deepEqual(cost.size?.("$2.50"), { grant: 2_500_000, label: "Continue ($2.50 more)" });
		const none = asks(0, "turns", { turns: 0 });
		assert.deepEqual(none.size?.("3"), { grant: 3, label: "Continue (3 more turns)" });
	});

	for (const [repeats, cycle, words, more] of [
		[5, 1, "The same call 5 times in a row. Continue?", "5 more times"],
		[5, 2, "The same 2 calls, 5 times over. Continue?", "5 more times"],
		[2, 3, "The same 3 calls, 2 times over. Continue?", "2 more times"],
		[1, 1, "The same call again. Continue?", "1 more time"],
		[1, 2, "The same 2 calls again. Continue?", "1 more time"],
		[0, 1, "Every call is asked about. Continue?", "1 more tool call"],
	] as const) {
		test(`says: ${words}`, () => {
			const run = new Driver({ attended: true, repeats }).prompt();
			run.request();
			for (let i = 0; run.phase !== "asking"; i++) run.call({ tool: `tool ${i % cycle}`, input: {} });
			const { lines, choices, size } = questionAbout(run.state, "repeats", String);
			assert.equal(lines[0], words);
			assert.doesNotMatch(lines[1] ?? "", /identical/);
			assert.equal(choices[0]?.label, `Continue (${more})`);
			assert.equal(size, undefined);
		});
	}

	test("names no calls where there were none", () => {
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
		assert.equal(question.lines[2], "Stop with an answer: from what it has, without tools. Stop now ends the run.");
		assert.deepEqual(labels(question).slice(2), ["no: Stop with an answer", "stop: Stop now"]);
		assert.equal(question.escape, "Escape stops with an answer.");
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
		...{
			title: "Title",
			message: "Message",
			lines: [],
			activity: [],
			choices: [],
			escape: "",
			meter: "turns",
		},
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
