import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, held, mark, text } from "../harness/index.ts";
import { bare, said } from "./bare.ts";

// Who prompted

/** Tells who prompted, as far as `input` knows. */
function tells(pi: ExtensionAPI): void {
	pi.on("input", ({ text, source, streamingBehavior }) => console.error(text, source, streamingBehavior));
}

test("input tells who prompted: print's prompts are interactive", async (t) => {
	assert.deepEqual(await said(t, tells), ["go interactive undefined"]);
});

test("input tells who prompted: the prompt of a terminal is interactive", async (t) => {
	const notifies = (pi: ExtensionAPI): void => void pi.on("input", ({ source }, ctx) => ctx.ui.notify(`by ${source}`));
	const pi = await bare(t, notifies);
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("by interactive");
});

test("input tells who prompted: over rpc the client, and whether into a running run", async (t) => {
	const slow = held(text("first"));
	const pi = await bare(t, tells, { model: [slow, text("second"), text("third")] });
	const rpc = await pi.rpc();
	await rpc.prompt("one");
	await pi.model.arrival(1);
	await rpc.send({ type: "prompt", message: "two", streamingBehavior: "steer" });
	await rpc.send({ type: "prompt", message: "three", streamingBehavior: "followUp" });
	slow.release();
	await rpc.settled();
	assert.equal((await rpc.close()).stderr, "one rpc undefined\ntwo rpc steer\nthree rpc followUp\n");
});

for (const kind of ["steer", "followUp"] as const) {
	test(`input does not tell of an rpc client's ${kind} as if it started a run`, async (t) => {
		const slow = held(text("first"));
		const pi = await bare(t, tells, { model: [slow, text("second")] });
		const rpc = await pi.rpc();
		await rpc.prompt("one");
		await pi.model.arrival(1);
		await rpc[kind]("two");
		slow.release();
		await rpc.settled();
		const lines = (await rpc.close()).stderr.trimEnd().split("\n");
		assert.equal(pi.model.requests[1]?.last, "two");
		assert.deepEqual(
			lines.filter((line) => line.endsWith(" undefined")),
			["one rpc undefined"],
		);
	});
}

test("input tells who prompted: an extension", async (t) => {
	const wakes = (pi: ExtensionAPI): void => {
		let left = 1;
		pi.on("agent_settled", () => {
			if (left-- > 0) pi.sendUserMessage("again");
		});
	};
	const lines = await said(t, [tells, wakes], { model: endless(text("done")) });
	assert.deepEqual(lines, ["go interactive undefined", "again extension undefined"]);
});

test("a run that an extension starts with a message of its own fires no input", async (t) => {
	const wakes = (pi: ExtensionAPI): void => {
		let left = 1;
		const message = { customType: "wake-up", content: "again", display: true };
		pi.on("agent_settled", () => {
			if (left-- > 0) pi.sendMessage(message, { triggerTurn: true });
		});
	};
	const pi = await bare(t, [tells, wakes], { model: endless(text("done")) });
	const { stderr } = await pi.print("go");
	assert.equal(pi.model.requests.length, 2);
	assert.equal(stderr, "go interactive undefined\n");
});

test("a slash command of an extension fires no input, and runs while the agent streams", async (t) => {
	const pings = (pi: ExtensionAPI): void => {
		pi.registerCommand("ping", { handler: (args, ctx) => Promise.resolve(ctx.ui.notify(`pong ${args}`)) });
	};
	const pi = await bare(t, [tells, pings], { model: [held(text("never"))] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.prompt("/ping now");
	assert.equal(rpc.notifications[0]?.message, "pong now");
	assert.equal((await rpc.close()).stderr, "go rpc undefined\n");
});

/** Tells when a run is about to start, and who started it as far as pi says. */
function starts(pi: ExtensionAPI): void {
	pi.on("before_agent_start", (event) => {
		console.error("start", (event as { messageType?: string }).messageType);
	});
}

test("before_agent_start follows the input of a prompt that starts a run", async (t) => {
	const [input, start, ...others] = await said(t, [tells, starts]);
	assert.equal(input, "go interactive undefined");
	assert.match(start ?? "", /^start (?!custom)/);
	assert.deepEqual(others, []);
});

test("before_agent_start does not fire for a prompt that an extension answers itself", async (t) => {
	const handles = (pi: ExtensionAPI): void => void pi.on("input", () => ({ action: "handled" }));
	const pi = await bare(t, [tells, starts, handles], { model: [mark()] });
	const { stderr } = await pi.print("go");
	assert.equal(stderr, "go interactive undefined\n");
	assert.equal(pi.model.requests.length, 0);
});

test("before_agent_start of a run that an extension starts with a message of its own says custom, if it fires", async (t) => {
	const wakes = (pi: ExtensionAPI): void => {
		let left = 1;
		const message = { customType: "wake-up", content: "again", display: true };
		pi.on("agent_settled", () => {
			if (left-- > 0) pi.sendMessage(message, { triggerTurn: true });
		});
	};
	const pi = await bare(t, [starts, wakes], { model: endless(text("done")) });
	const [first, ...others] = (await pi.print("go")).stderr.trimEnd().split("\n");
	assert.equal(pi.model.requests.length, 2);
	assert.match(first ?? "", /^start (?!custom)/);
	for (const other of others) assert.equal(other, "start custom");
});

// Who can be asked

for (const [mode, args] of [
	["print", ["-p"]],
	["json", ["--mode", "json"]],
] as const) {
	test(`in ${mode} mode nobody can be asked`, async (t) => {
		const tells = (pi: ExtensionAPI): void => {
			pi.on("session_start", (_event, { mode, hasUI }) => console.error(mode, hasUI));
		};
		const pi = await bare(t, tells);
		assert.equal((await pi.start(...args, "go").ended()).stderr, `${mode} false\n`);
	});
}

/** Asks before every turn, and tells the answer. */
function asks(pi: ExtensionAPI): void {
	pi.registerCommand("ping", { handler: (_args, ctx) => Promise.resolve(ctx.ui.notify("pong")) });
	pi.on("turn_start", async (_event, ctx) => {
		const answer: unknown = await ctx.ui.confirm("Go on?", "", ctx.signal ? { signal: ctx.signal } : {});
		ctx.ui.notify(`${ctx.mode}: ${typeof answer} ${String(answer)}`);
	});
}

for (const [answer, told] of [
	[{ confirmed: true }, "rpc: boolean true"],
	[{ confirmed: false }, "rpc: boolean false"],
	[{ cancelled: true }, "rpc: boolean false"],
	[{ confirmed: "no" }, "rpc: string no"],
] as const) {
	test(`confirm's answer is handed through as it is: ${JSON.stringify(answer)}`, async (t) => {
		const pi = await bare(t, asks);
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		(await rpc.question()).answer(answer);
		await rpc.settled();
		assert.equal(rpc.notifications[0]?.message, told);
	});
}

for (const [key, told] of [
	["enter", "tui: boolean true"],
	["escape", "tui: boolean false"],
] as const) {
	test(`in the terminal ${key} answers a confirm: ${told}`, async (t) => {
		const pi = await bare(t, asks);
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("→ Yes");
		tui.press(key);
		await tui.shows(told);
	});
}

test("an abort answers a confirm that has the run's signal: false", async (t) => {
	const pi = await bare(t, asks);
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.abort();
	assert.equal(rpc.notifications[0]?.message, "rpc: boolean false");
	assert.equal(pi.model.requests.length, 0);
});

test("a signal of the extension's own answers a confirm: false", async (t) => {
	const closes = (pi: ExtensionAPI): void => {
		const closing = new AbortController();
		pi.registerCommand("close", { handler: () => Promise.resolve(closing.abort()) });
		pi.on("turn_start", async (_event, ctx) => {
			ctx.ui.notify(String(await ctx.ui.confirm("Go on?", "", { signal: closing.signal })));
		});
	};
	const pi = await bare(t, closes);
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.run("/close");
	assert.equal(rpc.notifications[0]?.message, "false");
});

test("over rpc commands run while a question is open", async (t) => {
	const pi = await bare(t, asks);
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.prompt("/ping");
	assert.deepEqual(rpc.notifications, [{ message: "pong", type: "info" }]);
	assert.equal(pi.model.requests.length, 0);
});

// Going away

/** Writes down why a session ends. */
function leaves(pi: ExtensionAPI): void {
	const { appendFileSync } = process.getBuiltinModule("node:fs");
	pi.on("session_shutdown", ({ reason }) => appendFileSync("reasons", `${reason}\n`));
}

test("session_shutdown fires when the rpc client goes away, also while it is asked", async (t) => {
	const pi = await bare(t, [asks, leaves]);
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	assert.equal((await rpc.close()).code, 0);
	assert.equal(readFileSync(join(pi.cwd, "reasons"), "utf8"), "quit\n");
	assert.equal(pi.model.requests.length, 0);
});
