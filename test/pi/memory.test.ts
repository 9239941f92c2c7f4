import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, host, mark, reloader, text } from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { leaf, navigator, reply, run, status, turns, UNSET } from "../settings/status.ts";

const chatty = { model: endless(text("done")), session: true };

/** Leaves entries under our name that are not ours. */
function vandal(pi: ExtensionAPI): void {
	pi.registerCommand("damage", {
		handler: (json) => Promise.resolve(pi.appendEntry("turn-limit", JSON.parse(json))),
	});
}

test("what the command has set holds after a reload", async (t) => {
	const pi = await host(t, { after: [reloader] });
	const rpc = await pi.rpc();
	for (const args of ["7", "tools 70", "policy synthesize", "grace 3"]) await reply(rpc, args);
	await rpc.prompt("/reload-now");
	assert.deepEqual(await status(rpc), {
		turns: "0 of 7 turns, synthesize | /turn-limit",
		"tool calls": "0 of 70 tool calls, synthesize | /turn-limit",
		policy: "synthesize | /turn-limit",
		grace: "3 | /turn-limit",
		...UNSET,
	});
	assert.deepEqual(rpc.errors, []);
});

test("a reload in the middle of a run keeps the counters and what was granted", async (t) => {
	const { pi, rpc } = await during(
		t,
		3,
		async (rpc) => {
			await reply(rpc, "+2");
			await rpc.prompt("/reload-now");
			assert.equal(await turns(rpc), "3 of 7 turns (5 + 2) | PI_MAX_TURNS");
		},
		{ model: endless(), env: { PI_MAX_TURNS: "5" }, after: [reloader], answer: "no" },
	);
	assert.equal(pi.model.requests.length, 7);
	assert.match(rpc.questions[0]?.message ?? "", /^You've used 7 turns\. Continue\?\nThis run so far: 7 turns, /);
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(rpc.errors, []);
});

for (const [limit, round] of [
	[0, 1],
	[2, 2],
] as const) {
	test(`a reload at the question after ${limit} turns asks again and lets nothing leave before the answer`, async (t) => {
		const pi = await host(t, { model: endless(), env: { PI_MAX_TURNS: String(limit) }, after: [reloader] });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		const first = await rpc.question();
		await rpc.prompt("/reload-now");
		const second = await rpc.question();
		assert.equal(second.message, first.message);
		first.no();
		second.yes();
		(await rpc.question()).no();
		await rpc.settled();
		assert.equal(pi.model.requests.length, limit + round);
		assert.equal(rpc.questions.length, 3);
		assert.deepEqual(rpc.errors, []);
	});
}

test("a tool call that waits for an answer does not outlive a reload, and the next one is asked about", async (t) => {
	const model = [mark("a"), mark("b"), text("done")];
	const pi = await host(t, { model, env: { PI_TURN_LIMIT_TOOLS: "0" }, after: [reloader] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.prompt("/reload-now");
	(await rpc.question()).yes();
	await rpc.settled();
	assert.deepEqual(pi.marks(), ["b"]);
	assert.match(pi.model.requests[1]?.last ?? "", /^Not run: .* reload/);
	assert.equal(rpc.questions.length, 2);
	assert.deepEqual(rpc.errors, []);
});

test("what the command has set holds after quitting and resuming", async (t) => {
	const pi = await host(t, chatty);
	const first = await pi.rpc();
	await run(first);
	await reply(first, "7");
	await first.close();
	const second = await pi.rpc({ args: ["--continue"] });
	assert.equal(await turns(second), "0 of 7 turns | /turn-limit");
});

test("a resumed limit is the one that stops a run without a person", async (t) => {
	const pi = await host(t, { model: (_request, n) => (n === 1 ? text("done") : mark()), session: true });
	const rpc = await pi.rpc();
	await run(rpc);
	await reply(rpc, "2");
	await rpc.close();
	const { stderr, code } = await pi.print("--continue", "go");
	assert.match(stderr, /stopped at the limit of 2 turns \(\/turn-limit\)/);
	assert.equal(code, 53);
	assert.equal(pi.model.requests.length, 3);
});

test("a new session starts without it, and the old one still has it", async (t) => {
	const pi = await host(t, chatty);
	const rpc = await pi.rpc();
	await run(rpc);
	await reply(rpc, "7");
	const { sessionFile } = (await rpc.send({ type: "get_state" })) as { sessionFile: string };
	await rpc.newSession();
	assert.equal(await turns(rpc), "0 of 25 turns | default");
	await rpc.send({ type: "switch_session", sessionPath: sessionFile });
	assert.equal(await turns(rpc), "0 of 7 turns | /turn-limit");
});

test("back on a branch before the command its earlier value holds, and forward again the later one", async (t) => {
	const pi = await host(t, { ...chatty, after: [navigator] });
	const rpc = await pi.rpc();
	await reply(rpc, "9");
	await run(rpc);
	const before = await leaf(rpc);
	await reply(rpc, "7");
	await run(rpc);
	const after = await leaf(rpc);
	await rpc.prompt(`/go-to ${before}`);
	assert.equal(await turns(rpc), "1 of 9 turns | /turn-limit");
	await rpc.prompt(`/go-to ${after}`);
	assert.equal(await turns(rpc), "1 of 7 turns | /turn-limit");
	assert.deepEqual(rpc.errors, []);
});

test("the line that a command left on the screen goes with its branch", async (t) => {
	const pi = await host(t, { ...chatty, after: [navigator] });
	const rpc = await pi.rpc();
	await run(rpc);
	const before = await leaf(rpc);
	await reply(rpc, "7");
	assert.deepEqual(rpc.widgets().at(-1), ["Turns: 0/7"]);
	await rpc.prompt(`/go-to ${before}`);
	assert.notDeepEqual(rpc.widgets().at(-1), ["Turns: 0/7"]);
});

test("a fork keeps what was set before it, and only that", async (t) => {
	const pi = await host(t, chatty);
	const rpc = await pi.rpc();
	await run(rpc, "one");
	await reply(rpc, "7");
	await run(rpc, "two");
	await reply(rpc, "5");
	const { messages } = (await rpc.send({ type: "get_fork_messages" })) as { messages: { entryId: string }[] };
	for (const [fork, held] of [
		[1, "0 of 7 turns | /turn-limit"],
		[0, "0 of 25 turns | default"],
	] as const) {
		await rpc.send({ type: "fork", entryId: messages[fork]?.entryId });
		assert.equal(await turns(rpc), held);
	}
});

test("damaged and foreign entries are ignored and said once", async (t) => {
	const pi = await host(t, { ...chatty, after: [vandal, reloader, navigator] });
	const rpc = await pi.rpc();
	const start = await leaf(rpc);
	await run(rpc);
	await reply(rpc, "7");
	await rpc.prompt('/damage { "version": 1, "values": { "maxTurns": -1 } }');
	await rpc.prompt('/damage "99"');
	await rpc.prompt("/reload-now");
	assert.equal(await turns(rpc), "1 of 7 turns | /turn-limit");
	const end = await leaf(rpc);
	for (const place of [start, end]) await rpc.prompt(`/go-to ${place}`);
	await run(rpc);
	const said = rpc.notifications.filter(({ type }) => type === "warning");
	assert.deepEqual(said, [
		{ message: "Ignoring 2 damaged or foreign turn-limit entries of this session.", type: "warning" },
	]);
	assert.deepEqual(rpc.errors, []);
});

test("a damaged entry on another branch is said when that branch is entered", async (t) => {
	const pi = await host(t, { ...chatty, after: [vandal, navigator] });
	const rpc = await pi.rpc();
	await run(rpc);
	const healthy = await leaf(rpc);
	await rpc.prompt("/damage null");
	const damaged = await leaf(rpc);
	await rpc.prompt(`/go-to ${healthy}`);
	assert.deepEqual(rpc.notifications, []);
	await rpc.prompt(`/go-to ${damaged}`);
	assert.deepEqual(rpc.notifications, [
		{ message: "Ignoring 1 damaged or foreign turn-limit entry of this session.", type: "warning" },
	]);
});

test("nothing that a command sets is written to a settings file", async (t) => {
	const file = "turn-limit.json";
	const pi = await host(t, { agentFiles: { [file]: { maxTurns: 9 } }, files: { [`.pi/${file}`]: { maxTurns: 8 } } });
	const rpc = await pi.rpc();
	const files = [join(pi.agentDir, file), join(pi.cwd, ".pi", file), join(pi.agentDir, "settings.json")];
	const contents = () => files.map((path) => readFileSync(path, "utf8"));
	const before = contents();
	for (const args of ["7", "+10", "tools 70", "policy synthesize", "grace 3"]) await reply(rpc, args);
	await run(rpc);
	await rpc.close();
	assert.deepEqual(contents(), before);
});
