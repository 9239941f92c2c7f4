/** Real processes on one file. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Account } from "../../src/ledger/port.ts";
import { agents } from "./agents.ts";
import { sandbox } from "./sandbox.ts";
import { balance, day, fault, MINUTE, tree } from "./world.ts";

const EIGHT = Array.from({ length: 8 });

test("eight processes that reserve 500 times each get exactly what the cap allows", async (t) => {
	const box = sandbox(t);
	const start = agents(t, box);
	const accounts = [day({ turns: 5_000 }), tree({ turns: 3_000 })];
	const all = EIGHT.map(() => start({ accounts, times: 500 }));
	for (const agent of all) await agent.until("ready");
	for (const agent of all) agent.go();
	for (const agent of all) await agent.until("done");
	assert.deepEqual(
		["granted", "refused"].map((line) => sum(all.map((agent) => agent.count(line)))),
		[3_000, 1_000],
	);
	const ledger = await box.open();
	for (const account of accounts)
		assert.deepEqual((await balance(ledger, account))?.slice(0, 2), [3_000, 0], account.scope);
});

test("48 of them are killed, and no unit is lost, none granted twice, at most one a kill not told", async (t) => {
	const box = sandbox(t);
	const start = agents(t, box);
	const cap = 3_000;
	const accounts: Account[] = [day(), tree({ turns: cap })];
	const life = async (times: number, kill: boolean): Promise<number> => {
		const agent = start({ accounts, times });
		await agent.until("ready");
		agent.go();
		if (kill) await agent.until("granted", 1 + Math.floor(Math.random() * 25));
		else await agent.until("done");
		await agent.kill();
		return agent.count("granted");
	};
	// 48 lives of 50 leave the cap unreached until the last eight.
	const killed = await Promise.all(EIGHT.flatMap(() => inTurn(6, () => life(50, true))));
	const last = await Promise.all(EIGHT.map(() => life(cap / 8, false)));
	const told = sum([...killed, ...last].flat());

	const counted = async (now: number): Promise<unknown> => balance(await box.open({ now: () => now }), tree());
	const [used = 0, held = 0] = (await counted(Date.now())) as number[];
	assert.equal(used + held, cap);
	assert.ok(told <= cap && told >= cap - 48, `${told} told of ${cap}`);
	assert.deepEqual(await counted(Date.now() + MINUTE), [cap, 0, cap], "what a killed one held lapses into a charge");
});

test("a process that is killed while it holds the lock frees it", async (t) => {
	const box = sandbox(t);
	const ledger = await box.open({ deadline: 100 });
	const agent = agents(t, box)({ accounts: [tree()], times: 0, instead: "lock" });
	await agent.until("ready");
	agent.go();
	await agent.until("done");
	await assert.rejects(ledger.settle("a", [tree()], { turns: 1 }), fault("locked"));
	assert.equal(await balance(ledger, tree()), undefined, "it can be read meanwhile");
	await agent.kill();
	await ledger.settle("a", [tree()], { turns: 1 });
	assert.deepEqual(await balance(ledger, tree()), [1, 0, "unlimited"]);
});

function sum(numbers: readonly number[]): number {
	return numbers.reduce((sum, n) => sum + n, 0);
}

/** One after the other. */
async function inTurn<T>(times: number, work: () => Promise<T>): Promise<T[]> {
	const results: T[] = [];
	for (let i = 0; i < times; i++) results.push(await work());
	return results;
}
