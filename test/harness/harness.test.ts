import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, fail, held, host, mark, overflow, reloader, text, thinks, times } from "./index.ts";
import { noop, session } from "./session.ts";

const bare = { extension: false };

/** Asks before every second and later turn, and aborts unless the answer is true. */
function asking(pi: ExtensionAPI): void {
	pi.on("turn_start", async ({ turnIndex }, ctx) => {
		if (turnIndex === 0) return;
		const yes: unknown = await ctx.ui.confirm("More?", `After ${turnIndex}`, ctx.signal ? { signal: ctx.signal } : {});
		ctx.ui.notify(`answered ${String(yes)}`, "warning");
		ctx.ui.setWidget("turn-limit", yes ? [`Turns: ${turnIndex}`] : undefined);
		if (yes !== true) ctx.abort();
	});
}

test("print gives the model's last text, and every tool call has run", async (t) => {
	const pi = await host(t, { ...bare, model: [...times(2), mark("a", "b"), text("All done.")] });
	const run = await pi.print("go");
	assert.deepEqual(run, { stdout: "All done.\n", stderr: "", code: 0, signal: null });
	assert.equal(pi.model.requests.length, 4);
	assert.equal(pi.model.requests[0]?.last, "go");
	assert.deepEqual(pi.marks().slice(0, 2), ["x", "x"]);
	assert.deepEqual(pi.marks().slice(2).sort(), ["a", "b"]);
});

test("the model can think, before it says something or alone", async (t) => {
	const pi = await host(t, { ...bare, model: [{ ...thinks("Hm."), ...text("All done.") }, thinks("Hm.")] });
	const { events } = await pi.json("go", "again");
	const ended = events.filter(({ type }) => type === "turn_end").map(({ message }) => message as { content: object[] });
	const parts = ended.map(({ content }) => content.map((part) => (part as { type: string }).type));
	assert.deepEqual(parts, [["thinking", "text"], ["thinking"]]);
});

test("a turn beyond the script fails and says so", async (t) => {
	const pi = await host(t, { ...bare, model: [mark()] });
	const run = await pi.print("go");
	assert.match(run.stderr, /no reply for turn 2/);
	assert.equal(run.code, 1);
});

test("json gives the events, and a failed request is retried", async (t) => {
	const pi = await host(t, {
		...bare,
		model: [mark(), fail(529), { ...text("half"), cut: true }, text("done")],
	});
	const run = await pi.json("go");
	assert.equal(pi.model.turns.length, 4);
	assert.equal(run.events.filter(({ type }) => type === "auto_retry_start").length, 2);
	assert.equal(run.events.at(-1)?.type, "agent_settled");
});

test("a started process can be ended by a signal while the model is slow", async (t) => {
	const pi = await host(t, { ...bare, model: [held(text("never"))] });
	const run = pi.start("-p", "go");
	const request = await pi.model.arrival(1);
	run.child.kill("SIGTERM");
	assert.equal((await run.ended()).code, 143);
	assert.equal(request.aborted, true);
});

test("compaction and overflow recovery ask for summaries, which are no turns", async (t) => {
	const pi = await host(t, {
		...bare,
		model: [mark(), { ...mark(), usage: { prompt: 9_000 } }, mark(), overflow(), text("done")],
		modelFields: { contextWindow: 10_000 },
		settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
	});
	const run = await pi.print("go");
	assert.equal(run.stdout, "done\n");
	assert.deepEqual(
		pi.model.requests.map(({ kind }) => kind),
		["turn", "turn", "summary", "turn", "turn", "summary", "turn"],
	);
	assert.equal(pi.model.turns.at(-1)?.count("A summary."), 1);
});

test("cache warming is told from turns", async (t) => {
	const slow = held(text("done"));
	const pi = await host(t, {
		...bare,
		model: [{ ...mark(), usage: { prompt: 10_000 } }, slow],
		modelFields: { promptCache: { short: 10.05 } },
	});
	const run = pi.start("-p", "go");
	await pi.model.arrival(1, "warmings");
	slow.release();
	assert.equal((await run.ended()).stdout, "done\n");
	assert.equal(pi.model.turns.length, 2);
});

for (const [name, answer, requests] of [
	["yes", "yes", 3],
	["no", "no", 1],
	["yes, then no", (_: unknown, n: number) => n === 1, 2],
] as const) {
	test(`rpc answers dialogs: ${name}`, async (t) => {
		const pi = await host(t, { ...bare, model: [...times(2), text("done")], after: [asking] });
		const rpc = await pi.rpc({ answer });
		await rpc.prompt("go");
		await rpc.settled();
		assert.equal(pi.model.requests.length, requests);
		const asked = rpc.questions.map(({ title, message }) => `${title} ${message}`);
		assert.equal(asked[0], "More? After 1");
		const yes = requests > 1;
		assert.deepEqual(rpc.notifications[0], { message: `answered ${yes}`, type: "warning" });
		assert.deepEqual(rpc.widgets()[0], yes ? ["Turns: 1"] : undefined);
		assert.deepEqual(rpc.errors, []);
		assert.equal((await rpc.close()).code, 0);
	});
}

test("rpc leaves a dialog open until the test answers or aborts", async (t) => {
	const pi = await host(t, { ...bare, model: endless(), after: [asking] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	(await rpc.question()).yes();
	(await rpc.question()).answer({ confirmed: "no" });
	await rpc.settled();
	assert.equal(pi.model.requests.length, 2);
	await rpc.prompt("again");
	await rpc.question();
	await rpc.abort();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 3);
	await rpc.prompt("and again");
	await rpc.question();
	assert.equal((await rpc.close()).code, 0);
	assert.equal(pi.model.requests.length, 4);
});

test("rpc steers, queues, reloads and starts anew", async (t) => {
	const slow = held(text("first"));
	const pi = await host(t, {
		...bare,
		model: [slow, text("second"), text("third"), text("new")],
		after: [reloader],
	});
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.steer("left");
	await rpc.followUp("then right");
	slow.release();
	await rpc.settled();
	assert.deepEqual(
		pi.model.requests.map(({ last }) => last),
		["go", "left", "then right"],
	);
	await rpc.prompt("/reload-now");
	await rpc.newSession();
	await rpc.prompt("hello");
	await rpc.settled();
	assert.deepEqual(pi.model.requests[3]?.texts("user"), ["hello"]);
});

test("a wait for something that cannot come fails at once and shows what pi said", async (t) => {
	const pi = await host(t, { ...bare, model: [text("done")] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.settled();
	const wait = rpc.question();
	await Promise.all([rpc.close(), assert.rejects(wait, /No question 1: pi has ended \(0\)[^]*agent_settled/)]);
});

test("the terminal shows text and dialogs and takes keys", async (t) => {
	const pi = await host(t, { ...bare, model: [...times(2), text("All done.")], after: [asking] });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("After 1");
	tui.press("enter");
	await tui.shows("After 2");
	tui.press("down");
	tui.press("enter");
	await tui.shows("answered false");
	await tui.lacks("After 2");
	assert.equal(pi.model.requests.length, 2);
	tui.type("go on\r");
	await tui.shows("All done.");
	tui.press("ctrl+d");
	assert.equal(await tui.exit(), 0);
});

test("escape in the terminal interrupts a turn", async (t) => {
	const pi = await host(t, { ...bare, model: [{ ...text("Let me wait."), ...calls(bash("sleep 60")) }] });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("sleep 60");
	tui.press("escape");
	await tui.shows(/aborted/i);
	assert.equal(pi.model.requests.length, 1);
});

test("stored sessions are continued", async (t) => {
	const pi = await host(t, { ...bare, session: true, model: [text("one"), text("two")] });
	await pi.print("first");
	await pi.print("--continue", "second");
	assert.deepEqual(pi.model.requests[1]?.texts("user", "assistant"), ["first", "one", "second"]);
});

test("a session in this process runs, asks and reports what extensions throw", async (t) => {
	const titles: string[] = [];
	const confirm = (title: string): Promise<boolean> => Promise.resolve(titles.push(title) < 3);
	const s = await session(t, { reply: () => noop, extensions: [asking], ui: { confirm } });
	await s.prompt("go");
	assert.equal(s.turns(), 3);
	assert.deepEqual(titles, ["More?", "More?", "More?"]);
	assert.equal(s.events.at(-1)?.type, "agent_settled");
	assert.deepEqual(s.errors, []);
});

test("a session in this process can be long", async (t) => {
	const s = await session(t, {
		reply: (n) => (n < 100 ? noop : text("done")),
		env: { PI_MAX_TURNS: "unlimited" },
	});
	await s.prompt("go");
	assert.equal(s.turns(), 100);
	assert.equal(s.session.getLastAssistantText(), "done");
});
