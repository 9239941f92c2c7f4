/** A program that uses a ledger wrongly is told where, what was expected and what came, and nothing is counted. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { LONGEST, WEEK } from "../../src/ledger/checks.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import { LEDGER_MOST } from "../../src/core/meters.ts";
import type { Account, Ledger } from "../../src/ledger/port.ts";
import { balance, day, fleet, MINUTE, month, NOON, tree, week } from "./world.ts";

const nameless = tree({}, "");
const undated: Account = { ...day(), date: "today" };
const idle = `ttl: expected whole milliseconds from 1 to ${LONGEST}, got 0.`;
const range = `expected a whole number from 0 to ${LEDGER_MOST}, got -1.`;

type Use = (ledger: Ledger) => Promise<unknown>;

const told: readonly [says: string, ...uses: Use[]][] = [
	[
		'id: expected text that is not empty, got "".',
		(ledger) => ledger.reserve("", [tree()], { turns: 1 }, MINUTE),
		(ledger) => ledger.settle("", [tree()], { turns: 1 }),
		(ledger) => ledger.raise("", tree(), { turns: 1 }),
		(ledger) => ledger.renew(["a", ""], MINUTE),
	],
	["id: expected text that is not empty, got 7.", (ledger) => ledger.settle(7 as never, [tree()], { turns: 1 })],
	[
		"tree: expected a name that is not empty.",
		(ledger) => ledger.join(nameless),
		(ledger) => ledger.reserve("x", [nameless], { turns: 1 }, MINUTE),
		(ledger) => ledger.settle("x", [nameless], { turns: 1 }),
		(ledger) => ledger.raise("x", nameless, { turns: 1 }),
		(ledger) => ledger.read([nameless]),
	],
	["date: expected YYYY-MM-DD, got today.", (ledger) => ledger.join(undated), (ledger) => ledger.read([undated])],
	["date: expected YYYY-Www, got today.", (ledger) => ledger.join({ ...week(), date: "today" })],
	["date: expected YYYY-MM, got today.", (ledger) => ledger.join({ ...month(), date: "today" })],
	[
		idle,
		(ledger) => ledger.reserve("x", [tree()], { turns: 1 }, 0),
		(ledger) => ledger.renew(["a"], 0),
		(ledger) => ledger.renew([], 0),
	],
	[
		`amounts.cost: ${range}`,
		(ledger) => ledger.reserve("x", [tree()], { cost: -1 }, MINUTE),
		(ledger) => ledger.settle("x", [tree()], { cost: -1 }),
	],
	[`by.cost: ${range}`, (ledger) => ledger.raise("x", tree(), { cost: -1 })],
	[`caps.cost: ${range}`, (ledger) => ledger.join(tree({ cost: -1 }))],
	[
		"reserve: expected at least one account and one meter.",
		(ledger) => ledger.reserve("x", [], { turns: 1 }, MINUTE),
		(ledger) => ledger.reserve("x", [tree()], {}, MINUTE),
	],
	["accounts: expected each account once.", (ledger) => ledger.read([tree(), tree()])],
	['reserve: the id "a" has been settled.', (ledger) => ledger.reserve("a", [tree()], { turns: 1 }, MINUTE)],
];

suite("a ledger that is used wrongly says", () => {
	for (const [says, ...uses] of told) {
		test(says, async () => {
			const ledger = memory(() => NOON, WEEK, LONGEST)();
			await ledger.join(tree({ turns: 3 }));
			await ledger.settle("a", [tree()], { turns: 1 });
			for (const use of uses) await assert.rejects(use(ledger), { name: "RangeError", message: says });
			assert.deepEqual(await balance(ledger, tree()), [1, 0, 3]);
		});
	}

	test("that it does not know a tree or a fleet that nobody has joined", async () => {
		const ledger = memory()();
		for (const [account, message] of [
			[tree(), "The ledger does not know the tree t."],
			[fleet(), "The ledger does not know the fleet f."],
		] as const)
			await assert.rejects(ledger.read([account]), { name: "LedgerError", kind: "unjoined", message });
	});

	test("that it is closed", async () => {
		const ledger = memory()();
		ledger.close();
		await assert.rejects(ledger.read([tree()]), { kind: "closed", message: "The ledger is closed." });
	});
});

test("a ledger in memory forgets the ids that it has to remember no longer, and those alone", async () => {
	const clock = { now: NOON };
	const ledger = memory(() => clock.now, 1000)();
	await ledger.join(tree());
	const settle = (id: string): Promise<unknown> => ledger.settle(id, [tree()], { turns: 1 });
	await settle("a");
	clock.now += 999;
	await settle("b");
	await settle("a");
	assert.deepEqual(await balance(ledger, tree()), [2, 0, "unlimited"]);
	clock.now += 1;
	await settle("c");
	await settle("a");
	await settle("b");
	assert.deepEqual(await balance(ledger, tree()), [4, 0, "unlimited"]);
});

test("a hold of another account is not cut short where the clock has gone back", async () => {
	const clock = { now: NOON };
	const ledger = memory(() => clock.now, WEEK, LONGEST)();
	for (const name of ["t", "other"]) await ledger.join(tree({ turns: 3 }, name));
	await ledger.reserve("a", [tree({}, "other")], { turns: 1 }, LONGEST);
	clock.now -= MINUTE;
	await ledger.reserve("b", [tree()], { turns: 1 }, MINUTE);
	clock.now += LONGEST;
	assert.deepEqual(await balance(ledger, tree({}, "other")), [0, 1, 3]);
});

test("a reservation that is refused says whether what is spent is enough to refuse it, for any of its meters", async () => {
	const ledger = memory()();
	await ledger.join(tree({ turns: 2, cost: 5 }));
	await ledger.reserve("a", [tree()], { turns: 2 }, MINUTE);
	const held = await ledger.reserve("b", [tree()], { turns: 1, cost: 1, tokens: 1 }, MINUTE);
	assert.deepEqual(!held.granted && [held.meters, held.spent], [["turns"], false]);
	await ledger.settle("c", [tree()], { cost: 5, tokens: 9 });
	const spent = await ledger.reserve("d", [tree()], { turns: 1, cost: 1, tokens: 1 }, MINUTE);
	assert.deepEqual(!spent.granted && [spent.meters, spent.spent], [["turns", "cost"], true]);
});
