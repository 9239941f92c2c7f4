import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, held, host, mark, text, times } from "../harness/index.ts";

const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n) });

const stopped = "You stopped the run at the turn limit. Send a message to go on.";

test("the widget shows turn 1 while it runs, and goes when pi has settled", async (t) => {
	const slow = held(text("All done."));
	const pi = await host(t, { model: [slow], env: limit(2) });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("Turns: 1/2");
	slow.release();
	await tui.lacks("Turns:");
	assert.match(tui.screen(), /All done\./);
});

test("the question stands on the screen with what helps to decide, and Continue comes first", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const tui = await pi.terminal();
	tui.type("go\r");
	const question = [
		" Turns: 2/2",
		"─".repeat(120),
		" Turn limit reached",
		" You've used 2 turns. Continue?",
		" This run so far: 2 turns, 2 tool calls, $0.02.",
		" Since your prompt: 2 bash",
		" Last: bash echo x >> marks · bash echo x >> marks",
		" Stop ends the run here; Wrap up now gets an answer first.",
		"",
		" → Continue (2 more turns) [y]",
		"   Continue, and tell it something…",
		"   Wrap up now",
		"   Stop [n]",
		"",
		" y/n, a number, or ↑↓ and Enter. Escape stops.",
	];
	await tui.shows(question.join("\n"));
	assert.equal(pi.model.requests.length, 2);
});

test("after yes the question is gone and the turn that was held runs as turn 1", async (t) => {
	const slow = held(text("All done."));
	const pi = await host(t, { model: [...times(2), slow], env: limit(2) });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue");
	tui.press("enter");
	const screen = await tui.shows("Turns: 1/2");
	assert.doesNotMatch(screen, /Continue\?/);
	slow.release();
	await tui.lacks("Turns:");
	assert.match(tui.screen(), /All done\./);
	assert.equal(pi.model.requests.length, 3);
});

for (const [how, keys] of [
	["no", ["up", "enter"]],
	["Escape in the dialog", ["escape"]],
] as const) {
	test(`after ${how} the screen says why, nothing leaves, and pi takes the next prompt`, async (t) => {
		const pi = await host(t, { model: [...times(2), text("All done.")], env: limit(2) });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("→ Continue");
		for (const key of keys) tui.press(key);
		await tui.shows(`\n ${stopped}`);
		const screen = await tui.lacks("Turns:");
		assert.doesNotMatch(screen, /Continue\?/);
		assert.equal(pi.model.requests.length, 2);
		tui.type("again\r");
		await tui.shows("All done.");
		assert.equal(pi.model.requests.length, 3);
	});
}

test("a question that nobody answers in time goes from the screen, which says so", async (t) => {
	const pi = await host(t, { model: endless(), env: { ...limit(2), PI_TURN_LIMIT_ASK_TIMEOUT: "1" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue");
	const screen = await tui.shows("Turn limit reached; nobody answered. Send a message to go on.");
	assert.doesNotMatch(screen, /Continue\?/);
	assert.equal(pi.model.requests.length, 2);
});

test("what was queued and what was half typed is back in the editor after a no", async (t) => {
	const slow = held();
	const pi = await host(t, { model: [slow, text("All done.")], env: limit(1) });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("Turns: 1/1");
	tui.type("look left\r");
	await tui.shows("Steering: look left");
	tui.type("and right");
	await tui.shows("and right");
	slow.release();
	await tui.shows("→ Continue");
	tui.press("escape");
	await tui.shows(stopped);
	await tui.shows(/─\nlook left\n\nand right\n─/);
	assert.doesNotMatch(tui.screen().replace(/\s+/g, " "), /kept for the next prompt/);
	assert.equal(pi.model.requests.length, 1);
	tui.press("enter");
	await tui.shows("All done.");
	assert.equal(pi.model.requests[1]?.last, "look left\n\nand right");
});

for (const [when, reply] of [
	["model answers", held()],
	["tool runs", calls(bash("sleep 60"))],
] as const) {
	test(`Escape while the last turn's ${when} ends the run without a question, and pi takes the next prompt`, async (t) => {
		const pi = await host(t, { model: [mark(), reply, text("All done.")], env: limit(2) });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("Turns: 2/2");
		if (!("until" in reply)) await tui.shows("sleep 60");
		tui.press("escape");
		const screen = await tui.lacks("Turns:");
		assert.doesNotMatch(screen, /Turn limit/);
		assert.equal(pi.model.requests.length, 2);
		tui.type("again\r");
		await tui.shows("All done.");
		assert.equal(pi.model.requests.length, 3);
	});
}

test("the prompt that pi is started with is a person's", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const tui = await pi.terminal({ args: ["go"] });
	await tui.shows("You've used 2 turns. Continue?");
	assert.equal(pi.model.requests.length, 2);
});

test("/turn-limit completes its arguments, and an idle screen shows the new limit at once", async (t) => {
	const pi = await host(t);
	const tui = await pi.terminal();
	tui.type("/turn-limit u");
	await tui.shows(/→ unlimited\s+count turns, never ask/);
	tui.press("tab");
	await tui.shows(/^\/turn-limit unlimited/m);
	tui.press("enter");
	await tui.shows("Turn limit set to unlimited; it never asks again in this session.");
	await tui.shows("Turns: 0/∞");
});

/** A tool that is named by a server from elsewhere. It draws its own calls, because pi shows a name as it is. */
function foreignTool(pi: ExtensionAPI): void {
	const draw = (): object => ({ render: () => ["Foreign."], invalidate() {} });
	pi.registerTool({
		name: "foreign\u001b]52;c;aGk=\u0007",
		label: "foreign",
		description: "Does nothing.",
		parameters: { type: "object", properties: {} },
		execute: () => Promise.resolve({ content: [{ type: "text", text: "ok" }], details: undefined }),
		renderCall: draw,
		renderResult: draw,
	} as unknown as Parameters<ExtensionAPI["registerTool"]>[0]);
}

test("our messages in the transcript put nothing into the clipboard, whatever they quote", async (t) => {
	const call = calls({ name: "foreign\u001b]52;c;aGk=\u0007", args: {} });
	const pi = await host(t, {
		model: [...times(4, call), text("All done.")],
		env: { ...limit(5), PI_TURN_LIMIT_REPEATS: "9" },
		agentFiles: { "turn-limit.json": { grace: 1, wrapUpMessage: "Please stop.\u001b]52;c;aGk=\u0007" } },
		before: [foreignTool],
	});
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("All done.");
	assert.match(tui.screen(), /going in circles[^]*foreign\uFFFD/);
	assert.match(tui.screen(), /Please stop\.\uFFFD/);
	assert.deepEqual(tui.clipboard, []);
});
