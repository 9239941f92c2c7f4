import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { turnLimit } from "../../src/index.ts";
import {
	type Answer,
	calls,
	endless,
	type Event,
	host,
	type Host,
	type HostOptions,
	mark,
	essence,
	outcomes,
	type Request,
	type Rpc,
	type Script,
	spy,
	text,
	times,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { session } from "../harness/session.ts";

const tools = (n: number | "unlimited"): Record<string, string> => ({ PI_TURN_LIMIT_TOOLS: String(n) });

/** Three calls in one turn. */
const three = mark("a", "b", "c");

/** A call without arguments. */
const call = (name: string) => ({ name, args: {} });

/** The first line of every question. */
const asked = (rpc: Rpc): string[] => rpc.questions.map(({ message }) => message?.split("\n")[0] ?? "");

/** How each run ended, and how many calls it made. */
const ends = (pi: Host): [string, number][] => outcomes(pi).map(({ kind, toolCalls }) => [kind, toolCalls]);

/** The results of all tool calls, in order: the text of those that are errors. */
function errors(events: readonly Event[]): (string | undefined)[] {
	const messages = events.flatMap(({ type, message }) => (type === "message_end" ? [message as ToolResult] : []));
	return messages
		.filter(({ role }) => role === "toolResult")
		.map(({ isError, content }) => (isError ? content.map(({ text }) => text).join("") : undefined));
}

interface ToolResult {
	role: string;
	isError: boolean;
	content: { text: string }[];
}

/** Checks that every call in a request's transcript has its result. */
function assertWhole(request: Request | undefined, results: number): void {
	const messages: { tool_calls?: object[]; tool_call_id?: string }[] = request?.body.messages ?? [];
	const called = messages.flatMap(({ tool_calls = [] }) => tool_calls.map((call) => (call as { id: string }).id));
	const answered = messages.flatMap(({ tool_call_id = [] }) => tool_call_id);
	assert.deepEqual(answered, called);
	assert.equal(answered.length, results);
}

/** One run with somebody to ask, to its end. */
async function attended(t: TestContext, answer: Answer, options: HostOptions): Promise<{ pi: Host; rpc: Rpc }> {
	const pi = await host(t, { ...options, after: [spy, ...(options.after ?? [])] });
	const rpc = await pi.rpc({ answer });
	await rpc.run("go");
	return { pi, rpc };
}

/** What two refused calls are told. */
const refusals = (limit: number): string[] =>
	times(2).map(
		() => `Not run: the limit of ${limit} tool calls for this run is reached, and the run is being stopped.`,
	);

// A batch that crosses the limit

test("of 3 calls per turn exactly 7 run at a limit of 7, the others get error results, and the run is over", async (t) => {
	const pi = await host(t, { model: endless(three), env: tools(7), after: [spy] });
	const { events, code } = await pi.json("go");
	assert.equal(pi.marks().length, 7);
	assert.deepEqual(errors(events), [...times(7).map(() => undefined), ...refusals(7)]);
	assert.equal(pi.model.requests.length, 3);
	assert.equal(code, 53);
	assert.deepEqual(outcomes(pi).map(essence), [
		{
			...{ kind: "exhausted", meter: "toolCalls", limit: 7 },
			...{ turns: 3, toolCalls: 7, cost: 0.03, continuations: 0, advised: false },
		},
	]);
});

test("print mode says which limit it was", async (t) => {
	const pi = await host(t, { model: endless(three), env: tools(7) });
	assert.deepEqual(await pi.print("go"), {
		stdout: "",
		stderr:
			"pi-turn-limit: stopped at the limit of 7 tool calls (PI_TURN_LIMIT_TOOLS), without an answer; spent: 3 turns, 7 tool calls, $0.03.\n",
		code: 53,
		signal: null,
	});
});

test("after a stop in the middle of a batch every call has its own result in the next request", async (t) => {
	const pi = await host(t, { model: (_request, n) => (n <= 3 ? three : text("Hello.")), env: tools(7) });
	const { stdout } = await pi.print("go", "again");
	assert.equal(stdout, "Hello.\n");
	assertWhole(pi.model.requests[3], 9);
	assert.deepEqual(pi.model.requests[3]?.texts("tool"), [...times(7).map(() => "(no output)"), ...refusals(7)]);
});

for (const [limit, run, ending] of [
	[0, 0, "exhausted"],
	[2, 2, "exhausted"],
	[3, 3, "completed"],
] as const) {
	test(`a run of 3 calls under a limit of ${limit} makes ${run} of them and is ${ending}`, async (t) => {
		const pi = await host(t, { model: [three, text("finished")], env: tools(limit), after: [spy] });
		await pi.print("go");
		assert.equal(pi.marks().length, run);
		assert.deepEqual(ends(pi), [[ending, run]]);
	});
}

test("tool calls are unlimited by default, and counted", async (t) => {
	const pi = await host(t, { model: [...times(9, three), text("finished")], after: [spy] });
	await pi.print("go");
	assert.deepEqual(ends(pi), [["completed", 27]]);
});

// The question

test("after a yes the held call is the first of the next 7, and the second question comes before call 15", async (t) => {
	const pi = await host(t, { model: endless(three), env: tools(7) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const first = await rpc.question();
	assert.equal(first.title, "Tool limit reached");
	assert.equal(
		first.message,
		"You've used 7 tool calls. Continue?\nThis run so far: 3 turns, 7 tool calls, $0.03. Waiting: bash echo b >> marks\nSince your prompt: 7 bash\nLast: bash echo a >> marks · bash echo c >> marks · bash echo b >> marks\nYes: 7 more tool calls. No: the run ends here.",
	);
	assert.equal(pi.marks().length, 6);
	first.yes();
	const second = await rpc.question();
	assert.match(
		second.message ?? "",
		/^You've used 7 tool calls\. Continue\?\nThis run so far: 5 turns, 14 tool calls,/,
	);
	assert.equal(pi.marks().length, 12);
	second.no();
	await rpc.settled();
	assert.equal(pi.marks().length, 14);
	assert.equal(pi.model.requests.length, 5);
});

test("after a no the rest of the batch is refused without another question, and no request leaves", async (t) => {
	const { pi, rpc } = await attended(t, "no", { model: endless(three), env: tools(1) });
	assert.deepEqual(asked(rpc), ["You've used 1 tool call. Continue?"]);
	assert.equal(pi.marks().length, 1);
	assert.equal(pi.model.requests.length, 1);
	assert.deepEqual(rpc.notifications, [
		{ message: "Agent aborted by user. Tool limit reached. Send a message to go on.", type: "info" },
	]);
	assert.deepEqual(ends(pi), [["declined", 1]]);
});

test("the terminal asks in the middle of a batch, and Escape is a no", async (t) => {
	const pi = await host(t, { model: endless(three), env: tools(1) });
	const tui = await pi.terminal();
	tui.type("go\r");
	const screen = await tui.shows("You've used 1 tool call. Continue?");
	assert.match(screen, /Tool limit reached/);
	tui.press("escape");
	await tui.shows("You stopped the run at the tool limit.");
	assert.equal(pi.marks().length, 1);
	assert.equal(pi.model.requests.length, 1);
});

test("a limit of 0 asks before every call, and each yes admits one", async (t) => {
	const { pi, rpc } = await attended(t, (_question, n) => n <= 2, { model: endless(three), env: tools(0) });
	assert.deepEqual(asked(rpc), [
		"You've used 0 tool calls. Continue?",
		"You've used 1 tool call. Continue?",
		"You've used 1 tool call. Continue?",
	]);
	assert.equal(pi.marks().length, 2);
});

test("both meters run out in one turn: one question after the other, and each yes resets its own meter", async (t) => {
	const model = [...times(2, mark("a", "b")), text("finished")];
	const pi = await host(t, { model, env: { ...tools(3), PI_MAX_TURNS: "2" } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const first = await rpc.question();
	await rpc.send({ type: "get_state" });
	assert.equal(rpc.questions.length, 1);
	first.yes();
	const second = await rpc.question();
	assert.deepEqual([first.title, second.title], ["Tool limit reached", "Turn limit reached"]);
	second.yes();
	await rpc.settled();
	assert.equal(rpc.questions.length, 2);
	assert.equal(pi.marks().length, 4);
	assert.deepEqual(rpc.widgets().map(String).slice(4), [
		"Turns: 2/2 · Tools: 3/3",
		"Turns: 2/2 · Tools: 0/3",
		"Turns: 2/2 · Tools: 1/3",
		"Turns: 0/2 · Tools: 1/3",
		"Turns: 1/2 · Tools: 1/3",
		"undefined",
	]);
});

test("both meters run out in one turn: a no to the first question is not followed by the second", async (t) => {
	const env = { ...tools(3), PI_MAX_TURNS: "2" };
	const { pi, rpc } = await attended(t, "no", { model: endless(mark("a", "b")), env });
	assert.deepEqual(asked(rpc), ["You've used 3 tool calls. Continue?"]);
	assert.equal(pi.model.requests.length, 2);
});

// What refills it

test("a new prompt refills it", async (t) => {
	const pi = await host(t, { model: endless(three), env: tools(2) });
	await pi.print("go", "again");
	assert.equal(pi.marks().length, 4);
});

test("steering does not refill it", async (t) => {
	const steer = (rpc: Rpc) => rpc.steer("look left");
	const { pi, rpc } = await during(t, 2, steer, { model: endless(), env: tools(3), answer: "no" });
	assert.deepEqual(asked(rpc), ["You've used 3 tool calls. Continue?"]);
	assert.equal(pi.marks().length, 3);
});

test("from unlimited to a number it starts from 0", async (t) => {
	const set = (rpc: Rpc) => rpc.prompt("/turn-limit tools 2");
	const { pi, rpc } = await during(t, 3, set, { model: endless(), answer: "no" });
	assert.deepEqual(asked(rpc), ["You've used 2 tool calls. Continue?"]);
	assert.equal(pi.marks().length, 4);
});

for (const [limit, run] of [
	[1, 2],
	[3, 3],
] as const) {
	test(`a limit lowered from 9 to ${limit} after 2 calls keeps the count and lets ${run} run`, async (t) => {
		const set = (rpc: Rpc) => rpc.prompt(`/turn-limit tools ${limit}`);
		const { pi, rpc } = await during(t, 3, set, { model: endless(), env: tools(9), answer: "no" });
		assert.deepEqual(asked(rpc), [`You've used ${run} tool calls. Continue?`]);
		assert.equal(pi.marks().length, run);
	});
}

test("/turn-limit tools +2 at an open question answers it and keeps the count", async (t) => {
	const pi = await host(t, { model: endless(), env: tools(2) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.prompt("/turn-limit tools +2");
	const second = await rpc.question();
	assert.match(second.message ?? "", /^You've used 4 tool calls\. Continue\?/);
	second.no();
	await rpc.settled();
	assert.equal(pi.marks().length, 4);
});

// What counts

test("calls of unknown tools and with invalid arguments never run and are not counted", async (t) => {
	const bad = [call("no_such_tool"), call("bash")];
	const model: Script = () => calls(...bad, ...(mark().calls ?? []));
	const pi = await host(t, { model, env: tools(2), after: [spy] });
	const { events } = await pi.json("go");
	assert.equal(pi.marks().length, 2);
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual(ends(pi), [["exhausted", 2]]);
	assert.equal(errors(events).length, 9);
});

/** A tool that fails, and a tool that waits until it is aborted. */
function troubled(pi: ExtensionAPI): void {
	const parameters = { type: "object", properties: {} };
	pi.registerTool({
		...{ name: "fails", label: "fails", description: "fails", parameters },
		execute: () => Promise.reject(new Error("It broke.")),
	});
	pi.registerTool({
		...{ name: "waits", label: "waits", description: "waits", parameters },
		execute: (_id, _parameters, signal, _onUpdate, ctx) =>
			new Promise((_resolve, reject) => {
				signal?.addEventListener("abort", () => reject(new Error("aborted")));
				ctx.ui.notify("waiting");
			}),
	});
}

test("a call that fails counts like any other", async (t) => {
	const model = endless(calls(call("fails")));
	const pi = await host(t, { model, env: tools(2), after: [spy, troubled] });
	const { events } = await pi.json("go");
	assert.deepEqual(errors(events).slice(0, 2), ["It broke.", "It broke."]);
	assert.match(errors(events)[2] ?? "", /^Not run: the limit of 2 tool calls/);
	assert.deepEqual(ends(pi), [["exhausted", 2]]);
});

/** Blocks every call of bash. */
function forbids(pi: ExtensionAPI): void {
	pi.on("tool_call", ({ toolName }) => (toolName === "bash" ? { block: true, reason: "Forbidden." } : undefined));
}

test("a call that an extension before us blocks is not counted", async (t) => {
	const model = [three, text("finished")];
	const pi = await host(t, { model, env: tools(1), before: [forbids], after: [spy] });
	await pi.print("go");
	assert.deepEqual(ends(pi), [["completed", 0]]);
});

test("an abort in the middle of a batch ends the run, and the next prompt has all its calls", async (t) => {
	const model: Script = (_request, n) => (n === 1 ? calls(...times(3).map(() => call("waits"))) : three);
	const pi = await host(t, { model, env: tools(3), after: [spy, troubled] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await rpc.until("all three calls", () => rpc.notifications.length === 3);
	await rpc.abort();
	assert.deepEqual(ends(pi), [["interrupted", 3]]);
	assert.equal(rpc.questions.length, 0);
	await rpc.run("again");
	assertWhole(pi.model.requests[1], 3);
	assert.deepEqual(asked(rpc), ["You've used 3 tool calls. Continue?"]);
	assert.equal(pi.marks().length, 3);
});

test("an abort while asked in the middle of a batch runs nothing, and the next prompt is answered", async (t) => {
	const pi = await host(t, { model: (_request, n) => (n === 1 ? three : text("Hello.")), env: tools(1), after: [spy] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.abort();
	assert.deepEqual(ends(pi), [["interrupted", 1]]);
	assert.deepEqual(pi.marks(), []);
	await rpc.run("again");
	assert.equal(rpc.questions.length, 1);
	assertWhole(pi.model.requests[1], 3);
	assert.deepEqual(rpc.errors, []);
});

// Calls that tools make

/** A tool that makes three calls at once where pi lets tools do that (1.x), and says so where it does not. */
function nesting(pi: ExtensionAPI): void {
	pi.registerTool({
		...{ name: "nest", label: "nest", description: "nest", parameters: { type: "object", properties: {} } },
		execute: async (_id, _parameters, _signal, _onUpdate, ctx) => {
			const { executeTool } = ctx as { executeTool?: (name: string, args: object) => Promise<unknown> };
			const commands = ["a", "b", "c"].map((label) => ({ command: `echo ${label} >> marks` }));
			await Promise.all(commands.map(async (command) => executeTool?.("bash", command)));
			return { content: [{ type: "text", text: executeTool ? "nested" : "cannot nest" }], details: {} };
		},
	});
}

/** Three calls, then one that makes three more; where it cannot, the model asks for them itself, in one batch. */
const nested: Script = ({ last }, n) => {
	if (n === 1) return three;
	if (n === 2) return calls(call("nest"));
	return last === "cannot nest" ? three : text("finished");
};

test("three nested calls that reach the limit at once: one question, and a yes lets all three run", async (t) => {
	const { pi, rpc } = await attended(t, "yes", { model: nested, env: tools(4), after: [nesting] });
	assert.deepEqual(asked(rpc), ["You've used 4 tool calls. Continue?"]);
	assert.equal(pi.marks().length, 6);
	assert.deepEqual(ends(pi), [["completed", 7]]);
	assert.deepEqual(rpc.errors, []);
});

test("three nested calls that reach the limit at once: one question, and after a no none of them runs", async (t) => {
	const { pi, rpc } = await attended(t, "no", { model: nested, env: tools(4), after: [nesting] });
	assert.deepEqual(asked(rpc), ["You've used 4 tool calls. Continue?"]);
	assert.equal(pi.marks().length, 3);
	assert.deepEqual(ends(pi), [["declined", 4]]);
	assert.deepEqual(rpc.errors, []);
});

test("an abort while nested calls wait for the answer: none of them runs, and pi settles", async (t) => {
	const pi = await host(t, { model: nested, env: tools(4), after: [spy, nesting] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.abort();
	assert.equal(rpc.questions.length, 1);
	assert.equal(pi.marks().length, 3);
	assert.deepEqual(ends(pi), [["interrupted", 4]]);
});

/**
 * The same moment without a pi that nests: the last call that the limit allows hands three more to pi's own dispatcher
 * at once. Gives how many of them were let through, and how many questions there were, in all and open together.
 */
async function atOnce(t: TestContext, toolCalls: number, yes: boolean) {
	let [passed, questions, open, together] = [0, 0, 0, 0];
	const confirm = async (): Promise<boolean> => {
		questions++;
		together = Math.max(together, ++open);
		await new Promise(setImmediate);
		open--;
		return yes;
	};
	const fan = (pi: ExtensionAPI): void =>
		pi.registerTool({
			...{ name: "fan", label: "fan", description: "fan", parameters: { type: "object", properties: {} } },
			execute: async () => {
				const { extensionRunner } = s.session;
				const event = { type: "tool_call", toolName: "bash", input: { command: "true" } } as const;
				const ids = ["1", "2", "3"];
				const results = await Promise.all(
					ids.map((toolCallId) => extensionRunner.emitToolCall({ ...event, toolCallId })),
				);
				passed = results.filter((result) => !result?.block).length;
				return { content: [], details: {} };
			},
		});
	const before = Array.from({ length: toolCalls - 1 }, () => call("noop"));
	const s = await session(t, {
		reply: (n) => (n === 1 ? calls(...before, call("fan")) : text("finished")),
		extensions: [turnLimit({ toolCalls }), fan],
		ui: { confirm },
	});
	await s.prompt("go");
	return { passed, questions, together };
}

test("three calls at the same moment, with room for them after a yes: one question", async (t) => {
	assert.deepEqual(await atOnce(t, 3, true), { passed: 3, questions: 1, together: 1 });
});

test("three calls at the same moment, each of which needs a yes: three questions, one after the other", async (t) => {
	assert.deepEqual(await atOnce(t, 1, true), { passed: 3, questions: 3, together: 1 });
});

test("three calls at the same moment, and a no: one question, and nothing passes", async (t) => {
	assert.deepEqual(await atOnce(t, 1, false), { passed: 0, questions: 1, together: 1 });
});

// Settings and what is shown

test("/turn-limit tools sets the limit for the session", async (t) => {
	const pi = await host(t, { model: endless() });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit tools 2");
	assert.deepEqual(rpc.notifications, [{ message: "Tool limit set to 2.", type: "info" }]);
	assert.deepEqual(rpc.widgets(), [["Turns: 0/25 · Tools: 0/2"]]);
	await rpc.run("go");
	assert.equal(pi.marks().length, 2);
});

test("/turn-limit tools unlimited lifts it", async (t) => {
	const lift = (rpc: Rpc) => rpc.prompt("/turn-limit tools unlimited");
	const model = [...times(4), text("finished")];
	const { pi, rpc } = await during(t, 2, lift, { model, env: tools(2) });
	assert.equal(pi.marks().length, 4);
	assert.equal(rpc.questions.length, 0);
	assert.deepEqual(rpc.widgets().map(String).slice(-4), ["Turns: 3/25", "Turns: 4/25", "Turns: 5/25", "undefined"]);
});

test("a limit of tool calls that the command cannot take is refused with a message and changes nothing", async (t) => {
	const wrong = ["-1", "2.5", "many", "1e3"];
	const pi = await host(t, { model: endless(), env: tools(2) });
	const rpc = await pi.rpc({ answer: "no" });
	for (const value of wrong) await rpc.prompt(`/turn-limit tools ${value}`);
	for (const [i, value] of wrong.entries()) {
		assert.equal(rpc.notifications[i]?.type, "error");
		const said = `tools: expected a whole number from 0, or unlimited, got "${value}". Nothing has changed.`;
		assert.ok(rpc.notifications[i].message.startsWith(said));
	}
	assert.deepEqual(rpc.widgets(), []);
	await rpc.run("go");
	assert.equal(pi.marks().length, 2);
});

test("the widget shows tool calls beside the turns while they are limited", async (t) => {
	const model = [...times(3, mark("a", "b", "c", "d")), text("finished")];
	const { rpc } = await attended(t, "no", { model, env: tools(200) });
	const shown = rpc.widgets().map(String);
	assert.equal(shown[0], "Turns: 1/25 · Tools: 0/200");
	assert.equal(shown.filter((line) => line === "Turns: 3/25 · Tools: 12/200").length, 1);
});

test("/turn-limit says in one line where tool calls stand, in the middle of a run", async (t) => {
	const ask = (rpc: Rpc) => rpc.prompt("/turn-limit");
	const model = [...times(2, three), text("finished")];
	const { rpc } = await during(t, 3, ask, { model, env: tools(200) });
	assert.match(rpc.notifications[0]?.message ?? "", /^tool calls +6 of 200 tool calls +PI_TURN_LIMIT_TOOLS$/m);
});
