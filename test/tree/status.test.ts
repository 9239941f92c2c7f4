/** What `/turn-limit` says and does about limits that agents share. */
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { held, host, mark, type Reply, text, times } from "../harness/index.ts";
import { reply } from "../settings/status.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

function asked(t: TestContext, model: readonly Reply[], env: Record<string, string>) {
	return host(t, { model, env: { ...NO_GRACE, ...env } });
}

test("/turn-limit tree counts only what is limited", async (t) => {
	const pi = await asked(t, [...times(2), text("done")], { PI_TURN_LIMIT_TREE_TURNS: "9" });
	const rpc = await pi.rpc();
	await rpc.run("go");
	const lines = (await reply(rpc, "tree")).split("\n").map((line) => line.replaceAll(/ {2,}/g, "  "));
	assert.deepEqual(lines, [
		"tree turns  3 of 9  PI_TURN_LIMIT_TREE_TURNS",
		"tree cost  unlimited  default",
		"tree tokens  unlimited  default",
	]);
});

for (const [word, env] of [
	["", { PI_MAX_TURNS: "2" }],
	["tree turns", { PI_TURN_LIMIT_TREE_TURNS: "2" }],
] as [string, Record<string, string>][]) {
	test(`after a run with a grant the status shows it: ${word || "turns"}`, async (t) => {
		const third = held();
		const model = (_request: unknown, n: number): Reply => [mark(), third, mark(), text("done")][n - 1] ?? text("end");
		const pi = await host(t, { model, env: { ...NO_GRACE, ...env } });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await pi.model.arrival(2);
		await rpc.send({ type: "prompt", message: `/turn-limit ${word} +5` });
		third.release();
		await rpc.settled();
		assert.match(await reply(rpc, word || "turns"), / 4 of 7/);
	});
}

test("+5 for a tree between runs is for the next run's", async (t) => {
	const pi = await asked(t, [...times(7), text("done")], { PI_TURN_LIMIT_TREE_TURNS: "3" });
	const rpc = await pi.rpc({ answer: "no" });
	assert.equal(await reply(rpc, "tree turns +5"), "5 turns more: 8 in the next run's tree of agents.");
	assert.match(await reply(rpc, "tree turns"), /0 of 8/);
	await rpc.run("go");
	assert.deepEqual([pi.model.requests.length, rpc.questions.length], [8, 0]);
});

test("a limit that is set twice in mid-run is the second one", async (t) => {
	const second = held();
	const pi = await host(t, {
		model: (_request: unknown, n: number): Reply => (n === 2 ? second : mark()),
		env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_COST: "9" },
	});
	const rpc = await pi.rpc({ answer: (_question, n) => (n === 1 ? undefined : false) });
	await rpc.prompt("go");
	await pi.model.arrival(2);
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns 3" });
	second.release();
	await rpc.question();
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns 6" });
	await rpc.settled();
	assert.equal(rpc.questions.at(-1)?.message?.split("\n")[0], "You've used 6 turns in this tree of agents. Continue?");
});

test("what a turn has spent is counted although the day's limit is lifted while it is under way", async (t) => {
	const second = held({ ...text("done"), usage: { prompt: 2000, completion: 0 } });
	const first = { ...mark(), usage: { prompt: 1000, completion: 0 } };
	const pi = await host(t, { model: [first, second], env: { ...NO_GRACE, PI_TURN_LIMIT_DAY_TOKENS: "90k" } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(2);
	await rpc.send({ type: "prompt", message: "/turn-limit day tokens unlimited" });
	second.release();
	await rpc.settled();
	await rpc.prompt("/turn-limit day tokens 90k");
	assert.match(await reply(rpc, "day tokens"), / 3k of 90k/);
});

test("without the ledger there is no wrap-up to choose: the run goes on without it, or ends", async (t) => {
	const first = held();
	const pi = await asked(t, [first], { PI_TURN_LIMIT_DAY_TURNS: "9" });
	const tui = await pi.terminal();
	tui.type("go\r");
	await pi.model.arrival(1);
	rmSync(join(pi.agentDir, "turn-limit-ledger"), { recursive: true });
	first.release();
	await tui.shows("Shared budget out of reach");
	await tui.shows("→ Continue (without it)");
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	tui.press("escape");
	await tui.lacks("Shared budget out of reach");
	assert.equal(pi.model.requests.length, 1);
});
