/** What counts as a prompt of the person, and what does not. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, held, host, mark, outcomes, type Reply, type Request, spy, text } from "../harness/index.ts";
import { settles, sleeper, wake, waker } from "./extensions.ts";

const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n), PI_TURN_LIMIT_GRACE: "0" });

/** `/review` starts a run, `/hush` starts none. */
function commands(pi: ExtensionAPI): void {
	pi.registerCommand("review", { handler: () => Promise.resolve(pi.sendUserMessage("review it")) });
	pi.registerCommand("hush", { handler: (_args, ctx) => Promise.resolve(ctx.ui.setStatus("hush", "hushed")) });
}

describe("a slash command of another extension, in the terminal", () => {
	test("has 3 turns also when pi's completion has finished its name", async (t) => {
		const model = (_request: Request, n: number): Reply => (n === 2 ? text("done") : mark());
		const pi = await host(t, { model, env: limit(3), after: [commands, settles] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("settled 1");
		tui.type("/rev");
		await tui.shows(/→ review/);
		tui.type("\r");
		await tui.shows("Continue?");
		assert.equal(pi.model.requests.length, 2 + 3);
	});

	test("that was entered before a no refills nothing after it", async (t) => {
		const second = held();
		const model = (_request: Request, n: number): Reply => (n === 2 ? second : mark());
		const pi = await host(t, { model, env: limit(3), after: [commands, sleeper, settles, spy] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await pi.model.arrival(2);
		tui.type("/hush\r");
		await tui.shows("hushed");
		second.release();
		await tui.shows("Continue?");
		tui.press("escape");
		await tui.shows("settled 1");
		wake(pi);
		await tui.shows(/settled 2|Continue\?/);
		assert.equal(pi.model.requests.length, 3);
	});

	test("that stands in the editor while Enter answers the question is not entered by that", async (t) => {
		const second = held();
		const model = (_request: Request, n: number): Reply => (n === 2 ? second : n === 4 ? text("done") : mark());
		const pi = await host(t, { model, env: limit(3), after: [commands, sleeper, settles] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await pi.model.arrival(2);
		tui.type("/review src");
		await tui.shows("/review src");
		second.release();
		await tui.shows("→ Continue");
		tui.press("enter");
		await tui.shows("settled 1");
		wake(pi);
		await tui.shows("Continue?");
		// The yes opened a round, of which the first run has used 1 turn.
		assert.equal(pi.model.requests.length, 4 + 2);
	});
});

describe("a message that another extension sends while a prompt is still starting", () => {
	/** Sends a message of its own when the person prompts for the second time. */
	function interjects(pi: ExtensionAPI): void {
		pi.on("input", ({ source, text }) => {
			if (source !== "extension" && text === "again") pi.sendUserMessage("mind the tests", { deliverAs: "steer" });
		});
	}

	test("leaves the prompt its 3 turns", async (t) => {
		const pi = await host(t, { model: endless(), env: limit(3), after: [interjects, spy] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		await rpc.prompt("again");
		// Not the end of the run: pi 0.87 says that it has settled when the message of the extension cannot start one.
		await rpc.until("the second question", () => rpc.questions.length === 2);
		assert.equal(pi.model.requests.length, 3 + 3);
	});
});

describe("a person whose pi an extension wakes without end", () => {
	const options = { model: endless(), env: { ...limit(2), WAKES_BY: "prompt" }, after: [waker, spy] };

	test("says no in the terminal, sends a message, and has the turns of a prompt", async (t) => {
		const pi = await host(t, options);
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("Continue?");
		tui.press("escape");
		await tui.shows("woken 3");
		tui.type("hello\r");
		await pi.model.arrival(3);
		assert.ok(pi.model.requests[2]?.texts("user").includes("hello"));
	});

	test("is not told of a final pass that there was none", async (t) => {
		const pi = await host(t, { ...options, env: { ...options.env, WAKES: "2" } });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt("go");
		for (let runs = 0; runs < 3; runs++) await rpc.settled();
		assert.doesNotMatch(rpc.notifications.map(({ message }) => message).join("\n"), /final pass/);
	});

	test("aborts at the question over rpc, is answered, and is not asked again", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await rpc.question();
		await rpc.abort();
		await rpc.until("the run after it", () => outcomes(pi).length > 1);
		assert.equal(rpc.questions.length, 1);
	});
});
