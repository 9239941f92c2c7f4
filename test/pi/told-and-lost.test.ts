import assert from "node:assert/strict";
import { test } from "node:test";
import { bash, calls, fail, held, host, mark, type Reply, type Terminal, text } from "../harness/index.ts";
import { editor } from "./questions.ts";

const WORDS = "mind the tests";

/** Types what the model should know, at a question that is open or about to open; without the Enter that sends it. */
async function tell(tui: Terminal): Promise<void> {
	await tui.shows("→ Continue");
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type(WORDS);
	await tui.shows(editor(WORDS));
}

/** A run whose first turn is asked about gets the words, and its request comes to nothing. What the next prompt sends. */
async function after(t: Parameters<typeof host>[0], first: Reply, ends: (tui: Terminal) => Promise<unknown>) {
	const model = (_request: unknown, n: number): Reply => (n === 1 ? first : text("Done."));
	const pi = await host(t, { model, env: { PI_MAX_TURNS: "0" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tell(tui);
	tui.press("enter");
	await pi.model.arrival(1);
	await ends(tui);
	await tui.lacks("Working");
	const screen = tui.screen();
	// Words that are back in the editor are not lost.
	if (screen.includes(editor(WORDS))) return [WORDS];
	tui.type("go on\r");
	await tui.shows("→ Continue");
	tui.type("y");
	await tui.shows("Done.");
	return pi.model.requests.at(-1)!.texts("user");
}

test("what the person said at a question before the first turn is not lost if the request fails", async (t) => {
	const said = await after(t, fail(400), (tui) => tui.shows("Bad request"));
	assert.ok(said.includes(WORDS), `the model knows ${said.join(", ")}`);
});

test("what the person said at a question before the first turn is not lost if they then stop the answer", async (t) => {
	const slow = held(text("Hm"));
	const said = await after(t, slow, async (tui) => {
		await tui.shows("Hm");
		tui.press("escape");
		await tui.shows("Operation aborted");
		slow.release();
	});
	assert.ok(said.includes(WORDS), `the model knows ${said.join(", ")}`);
});

test("what the person is typing for the model is in the editor if the question's time is over", async (t) => {
	const env = { PI_MAX_TURNS: "1", PI_TURN_LIMIT_ASK_TIMEOUT: "5" };
	const pi = await host(t, { model: [mark()], env });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tell(tui);
	await tui.shows("nobody answered");
	await tui.lacks("Working");
	assert.ok(tui.screen().includes(editor(WORDS)), tui.screen());
});

test("what the person said when the time was over is not lost if they then stop the answer", async (t) => {
	const slow = held(text("Hm"));
	const replies = [calls(bash("sleep 0.6")), slow, text("Done.")];
	const pi = await host(t, { model: replies, env: { PI_TURN_LIMIT_TIME: "0.5s" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tell(tui);
	tui.press("enter");
	await tui.shows("Hm");
	tui.press("escape");
	await tui.lacks("Working");
	slow.release();
	if (tui.screen().includes(editor(WORDS))) return;
	tui.type("go on\r");
	await tui.shows("Done.");
	assert.deepEqual(pi.model.requests.at(-1)!.texts("user"), ["go", WORDS, "go on"]);
});
