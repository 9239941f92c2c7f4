/** sql/fleet.sql, run once more: over itself, over version 2.0's, and while agents work. */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { Account } from "../../src/ledger/port.ts";
import { balance, fleet, MINUTE } from "../ledger/world.ts";
import { budgets, database, type Database, SETUP, SETUP_OF_2_0 } from "./database.ts";

/** A budget of which something is spent and something held. */
async function spent(t: TestContext, setUp = SETUP): Promise<Database> {
	const base = await database(t, { setUp });
	const ledger = await base.open(t, { address: base.address("agent") });
	await ledger.join(fleet({ turns: 3, cost: 2_000_000 }));
	await ledger.settle("spent", [fleet()], { turns: 1, cost: 500_000 });
	await ledger.reserve("held", [fleet()], { turns: 1 }, MINUTE);
	return base;
}

const SPENT = [
	["f", "cost", 0.5, 0, 2],
	["f", "turns", 1, 1, 3],
];

const setUp = (base: Database) => base.sql.unsafe(SETUP);

suite("the set-up", () => {
	test("can be run again and keeps every budget", async (t) => {
		const base = await spent(t);
		await setUp(base);
		assert.deepEqual(await budgets(base), SPENT);
	});

	test("brings an older one up to date", async (t) => {
		const base = await spent(t);
		await base.sql`UPDATE pi_turn_limit.setup SET version = 0`;
		await setUp(base);
		await base.open(t, { address: base.address("agent") });
	});

	test("takes back rights that somebody has granted", async (t) => {
		const base = await spent(t);
		await base.sql`GRANT ALL ON ALL TABLES IN SCHEMA pi_turn_limit TO PUBLIC, pi_turn_limit_agent`;
		await base.sql`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pi_turn_limit TO pi_turn_limit_agent`;
		await setUp(base);
		for (const query of ["DELETE FROM pi_turn_limit.account", "SELECT pi_turn_limit.reset_budget('f')"])
			await assert.rejects(base.as("agent").unsafe(query), { code: "42501" });
	});

	test("of an older version does not replace a newer one", async (t) => {
		const base = await spent(t);
		await base.sql`UPDATE pi_turn_limit.setup SET version = 2`;
		await assert.rejects(setUp(base), /newer fleet\.sql/);
		await base.sql`ROLLBACK`;
		assert.equal((await base.sql`SELECT version FROM pi_turn_limit.setup`)[0]?.["version"], 2);
	});
});

suite("a database that version 2.0 has set up", () => {
	const month: Account = { scope: "fleet", name: "f 2026-11", period: "month", caps: { turns: 2 } };

	test("serves this version's agents, with weeks and months", async (t) => {
		const base = await spent(t, SETUP_OF_2_0);
		const agent = await base.open(t, { address: base.address("agent") });
		await agent.join(month);
		const accounts = [fleet(), month];
		assert.ok((await agent.reserve("a", accounts, { turns: 1 }, MINUTE)).granted);
		await agent.settle("a", accounts, { turns: 1 });
		assert.deepEqual(
			[await balance(agent, fleet()), await balance(agent, month)],
			[
				[2, 1, 3],
				[1, 0, 2],
			],
		);
	});

	test("keeps what was counted, held and granted when this version's file is run", async (t) => {
		const base = await spent(t, SETUP_OF_2_0);
		await base.as("operator")`SELECT pi_turn_limit.raise_budget('f', turns => 4)`;
		await setUp(base);
		assert.deepEqual(await budgets(base, "f"), [SPENT[0], ["f", "turns", 1, 1, 7]]);
		const agent = await base.open(t, { address: base.address("agent") });
		for (const id of ["spent", "held", "held"]) await agent.settle(id, [fleet()], { turns: 1 });
		assert.deepEqual(await balance(agent, fleet()), [2, 0, 7]);
		assert.equal((await base.sql`SELECT pi_turn_limit.version() AS version`)[0]?.["version"], 1);
	});

	test("loses accounts that no operator could list or delete, and nothing else", async (t) => {
		const base = await spent(t, SETUP_OF_2_0);
		const join = JSON.stringify({ accounts: [{ scope: "tree", name: "t", caps: {} }] });
		await base.as("agent").unsafe(`SELECT pi_turn_limit.ledger_join('${join}')`);
		await setUp(base);
		assert.deepEqual([...(await base.sql`SELECT key FROM pi_turn_limit.account`)], [{ key: "fleet f" }]);
		assert.deepEqual(await budgets(base), SPENT);
	});

	test("counts every turn of agents that work while either file is run", async (t) => {
		const base = await spent(t, SETUP_OF_2_0);
		const agents = await Promise.all([1, 2, 3].map(() => base.open(t, { address: base.address("agent") })));
		const account: Account = { scope: "fleet", name: "busy", caps: { turns: 1000 } };
		let isOver = false;
		let turns = 0;
		const work = agents.map(async (agent, i) => {
			await agent.join(account);
			for (let n = 0; !isOver; n++, turns++) {
				assert.ok((await agent.reserve(`${i} ${n}`, [account], { turns: 1 }, MINUTE)).granted);
				await agent.settle(`${i} ${n}`, [account], { turns: 1 });
			}
		});
		for (const file of [SETUP, SETUP_OF_2_0, SETUP, SETUP]) await base.sql.unsafe(file);
		isOver = true;
		await Promise.all(work);
		assert.deepEqual(await balance(agents[0]!, account), [turns, 0, 1000]);
	});
});
