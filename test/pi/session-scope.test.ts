import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host, mark, outcomes, spy, text } from "../harness/index.ts";
import { leaf, navigator, reply, run, status } from "../settings/status.ts";

const done = text("done");

test("a session that is resumed goes on from what it has spent", async (t) => {
	const env = { PI_TURN_LIMIT_GRACE: "0" };
	const pi = await host(t, { session: true, model: (_request, n) => (n === 2 ? done : mark()), env, after: [spy] });
	assert.equal((await pi.print("go")).code, 0);
	pi.env["PI_TURN_LIMIT_SESSION_TURNS"] = "3";
	const { code, stderr } = await pi.print("-c", "go on");
	assert.equal(pi.model.requests.length, 3);
	assert.equal(code, 53);
	assert.equal(
		stderr,
		"pi-turn-limit: stopped at the limit of 3 turns in this session (PI_TURN_LIMIT_SESSION_TURNS), without an answer; spent in this run: 1 turn, 1 tool call, $0.01.\n",
	);
	assert.deepEqual(
		outcomes(pi).map(({ kind, turns }) => [kind, turns]),
		[
			["completed", 2],
			["exhausted", 1],
		],
	);
	const again = await pi.print("-c", "and again");
	assert.equal(pi.model.requests.length, 3, "no prompt refills it");
	assert.equal(again.code, 53);
});

test("/turn-limit shows the session always; summaries count, and a resume finds the same", async (t) => {
	const pi = await host(t, { session: true, model: endless(done), settings: { compaction: { keepRecentTokens: 1 } } });
	const rpc = await pi.rpc();
	assert.equal((await status(rpc))["session turns"], "0, unlimited | default");
	await run(rpc);
	await run(rpc, "more");
	await rpc.send({ type: "compact" });
	const shown = await reply(rpc, "session");
	assert.match(
		shown,
		/^session turns +2, unlimited +default\nsession cost +\$0\.04, unlimited +default\nsession tokens +2\.2k, unlimited/,
	);
	await rpc.close();
	assert.equal(await reply(await pi.rpc({ args: ["-c"] }), "session"), shown);
});

test("branches that were left count", async (t) => {
	const pi = await host(t, { session: true, model: endless(done), after: [navigator] });
	const rpc = await pi.rpc();
	await run(rpc);
	const first = await leaf(rpc);
	await run(rpc, "this way");
	await rpc.prompt(`/go-to ${first}`);
	await run(rpc, "that way");
	assert.equal((await status(rpc))["session turns"], "3, unlimited | default");
	await rpc.close();
	assert.equal((await status(await pi.rpc({ args: ["-c"] })))["session turns"], "3, unlimited | default");
});

test("a yes grants a tenth of the session's limit, +n another amount, and both last", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_MAX_TURNS: "unlimited" } });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	assert.equal(await reply(rpc, "session turns 20"), "Session turn limit set to 20.");
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 22);
	assert.equal(await reply(rpc, "session +3"), "3 turns more: 25 in this session.");
	assert.equal((await status(rpc))["session turns"], "22 of 25 (20 + 5) | /turn-limit");
	await rpc.run("go on");
	assert.equal(pi.model.requests.length, 25);
	assert.deepEqual(
		rpc.questions.map(({ message }) => message?.split("\n")[0]),
		[20, 22, 25].map((n) => `You've used ${n} turns in this session. Continue?`),
	);
});

test("near the end of the session's budget the model is told to wrap up, with what is short", async (t) => {
	const env = { PI_TURN_LIMIT_SESSION_COST: "0.10", PI_TURN_LIMIT_GRACE: "2" };
	const pi = await host(t, { model: endless(), env });
	const { stderr, code } = await pi.print("go");
	assert.match(pi.model.requests[9]!.last, /^Only \$0\.01 left in this session\./);
	assert.equal(pi.model.requests.length, 10);
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of \$0\.10 in this session/);
	assert.equal(code, 53);
});

test("six limits at once fit 80 columns", async (t) => {
	const env = {
		...{ PI_TURN_LIMIT_TOOLS: "200", PI_TURN_LIMIT_COST: "2.50", PI_TURN_LIMIT_TOKENS: "1.5M" },
		...{ PI_TURN_LIMIT_TIME: "1h30m", PI_TURN_LIMIT_REPEATS: "9" },
	};
	const pi = await host(t, { model: endless(), env: { ...env, PI_MAX_TURNS: "5" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	const [widget] = rpc
		.widgets()
		.filter((lines) => lines?.[0]?.includes("Turns: 5/5"))
		.at(-1)!;
	assert.match(
		widget!,
		/^Turns: 5\/5 · Tools: 5\/200 · Cost: \$0\.05\/\$2\.50 · Tokens: 2\.75k\/1\.5M · Time: [\d.]+s\/1h30m · Repeats: 5\/9$/,
	);
	const longest = widget!
		.replace(/5\/5/, "25/25")
		.replace(/5\/200/, "199/200")
		.replace(/[\d.]+s\//, "1h29m59s/");
	assert.ok(longest.length <= 120, longest);
});
