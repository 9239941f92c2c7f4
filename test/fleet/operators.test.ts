/** What becomes of budgets that operators reset, list and leave alone. */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import type { Amounts, FleetAccount, Ledger } from "../../src/ledger/port.ts";
import { balance, DAY, fleet, MINUTE, NOON } from "../ledger/world.ts";
import { budgets, database, type Database } from "./database.ts";

const total = fleet({ turns: 9 });
const today: FleetAccount = { scope: "fleet", name: "f 2026-02-03", period: "day", caps: { turns: 2 } };

/** An agent that has joined a budget and its day. */
async function joined(t: TestContext, caps: Amounts = total.caps) {
	const base = await database(t);
	const agent = await base.open(t, { address: base.address("agent") });
	const accounts = [fleet(caps), today];
	for (const account of accounts) await agent.join(account);
	const operator = (query: string) => base.as("operator").unsafe(`SELECT pi_turn_limit.${query}`);
	const lapse = () => base.sql`UPDATE pi_turn_limit.hold SET until = pi_turn_limit.clock() - 1`;
	return { base, agent, accounts, operator, lapse };
}

/** Sets the server's clock. */
async function setClock({ sql }: Database, now: number): Promise<void> {
	await sql.unsafe(
		`CREATE OR REPLACE FUNCTION pi_turn_limit.clock() RETURNS bigint LANGUAGE sql AS 'SELECT ${now}::bigint'`,
	);
}

test("a hold that has lapsed is replaced by what its turn has cost, also where another agent has joined since", async (t) => {
	const { base, agent, accounts, lapse } = await joined(t, { cost: 20 });
	await agent.reserve("a", accounts, { turns: 1, cost: 1 }, MINUTE);
	await lapse();
	const other = await base.open(t, { address: base.address("agent") });
	for (const account of accounts) await other.join(account);
	await agent.settle("a", accounts, { turns: 1, cost: 9 });
	assert.deepEqual(await balance(agent, fleet(), "cost"), [9, 0, 20]);
});

for (const [where, charged, isJoined] of [
	["", 9, false],
	[", and is charged as its hold if another agent has joined since", 1, true],
] as const) {
	test(`a turn that is settled more than a week late counts once${where}`, async (t) => {
		const { base, agent, accounts } = await joined(t, { cost: 20 });
		await agent.reserve("a", accounts, { turns: 1, cost: 1 }, MINUTE);
		await base.sql`UPDATE pi_turn_limit.hold SET until = pi_turn_limit.clock() - ${8 * DAY}::bigint`;
		const other = await base.open(t, { address: base.address("agent") });
		for (const account of isJoined ? accounts : []) await other.join(account);
		for (const reader of [agent, other]) await reader.settle("a", accounts, { turns: 1, cost: 9 });
		assert.deepEqual(await balance(agent, fleet(), "cost"), [charged, 0, 20]);
		assert.deepEqual(await balance(agent, today), [1, 0, 2]);
	});
}

suite("a budget that is reset", () => {
	test("counts anew alone: its day goes on, also with turns of agents that were killed", async (t) => {
		const { agent, accounts, operator, lapse } = await joined(t);
		for (const id of ["a", "b"]) await agent.reserve(id, accounts, { turns: 1 }, MINUTE);
		await lapse();
		await operator("reset_budget('f')");
		assert.deepEqual(await balance(agent, total), [0, 0, 9]);
		assert.deepEqual(await balance(agent, today), [2, 0, 2]);
		assert.equal((await agent.reserve("c", accounts, { turns: 1 }, MINUTE)).granted, false);
	});

	test("is charged with what a turn has cost that is settled later, after its hold has lapsed", async (t) => {
		const { agent, accounts, operator, lapse } = await joined(t, { cost: 20 });
		await agent.reserve("a", accounts, { turns: 1, cost: 1 }, MINUTE);
		await lapse();
		await operator("reset_budget('f')");
		for (let i = 0; i < 2; i++) await agent.settle("a", accounts, { turns: 1, cost: 9 });
		assert.deepEqual(await balance(agent, fleet(), "cost"), [9, 0, 20]);
		assert.deepEqual(await balance(agent, today), [1, 0, 2]);
	});

	test("is charged with what was in flight, and held it meanwhile", async (t) => {
		const { agent, accounts, operator } = await joined(t);
		await agent.reserve("a", accounts, { turns: 1 }, MINUTE);
		await operator("reset_budget('f')");
		assert.deepEqual(await balance(agent, total), [0, 1, 9]);
		await agent.settle("a", accounts, { turns: 1 });
		assert.deepEqual(await balance(agent, total), [1, 0, 9]);
	});

	test("has its cap again, without what was granted", async (t) => {
		const { base, agent, operator } = await joined(t);
		await agent.settle("a", [total], { turns: 12 });
		await operator("raise_budget('f', turns => 5)");
		assert.deepEqual(await balance(agent, total), [12, 0, 17]);
		await operator("reset_budget('f')");
		assert.deepEqual(await budgets(base, "f"), [
			["f", "turns", 0, 0, 9],
			["f 2026-02-03", "turns", 0, 0, 2],
		]);
	});

	test("stops none of its agents, however many others were killed", async (t) => {
		const { base, agent, accounts, operator } = await joined(t);
		await base.sql.unsafe(`
			INSERT INTO pi_turn_limit.hold SELECT 'killed ' || n, 'fleet f', meter, 1, pi_turn_limit.clock() - 1
			FROM generate_series(1, 20000) AS n, unnest(ARRAY['turns', 'cost', 'tokens']) AS meter;
			INSERT INTO pi_turn_limit.meter (key, meter, held, holds)
			SELECT 'fleet f', meter, 20000, 20000 FROM unnest(ARRAY['turns', 'cost', 'tokens']) AS meter`);
		assert.deepEqual(await balance(agent, total), [20_000, 0, 9]);
		const resetting = { isOver: false };
		const reset = operator("reset_budget('f')").then(() => (resetting.isOver = true));
		for (let n = 0; !resetting.isOver; n++) await agent.settle(`turn ${n}`, accounts, { turns: 1 });
		await reset;
		assert.deepEqual((await balance(agent, total))?.slice(1), [0, 9]);
	});
});

suite("the list of budgets", () => {
	test("shows one with its periods, and no other", async (t) => {
		const { base, agent } = await joined(t);
		for (const name of ["f 2026-W06", "f team", "f team 2026-02-03", "f2", "g"]) await agent.join({ ...total, name });
		await agent.settle("a", [{ ...total, name: "f 2026-W06" }], { cost: 1_500_000 });
		const of = [
			["f", "turns", 0, 0, 9],
			["f 2026-02-03", "turns", 0, 0, 2],
			["f 2026-W06", "cost", 1.5, 0, null],
			["f 2026-W06", "turns", 0, 0, 9],
		];
		assert.deepEqual(await budgets(base, "f"), of);
		const others = ["f team", "f team 2026-02-03", "f2", "g"].map((name) => [name, "turns", 0, 0, 9]);
		assert.deepEqual(await budgets(base), [...of, ...others]);
	});

	test("counts a lapsed hold as used, and names a budget without caps", async (t) => {
		const { base, agent, accounts, lapse } = await joined(t);
		await agent.reserve("a", accounts, { turns: 1, cost: 2_000_000 }, MINUTE);
		await lapse();
		await agent.reserve("b", [total], { turns: 1 }, MINUTE);
		await agent.join({ ...total, name: "none", caps: {} });
		assert.deepEqual(await budgets(base), [
			["f", "cost", 2, 0, null],
			["f", "turns", 1, 1, 9],
			["f 2026-02-03", "cost", 2, 0, null],
			["f 2026-02-03", "turns", 1, 0, 2],
			["none", null, null, null, null],
		]);
	});
});

suite("the account of a day, a week or a month", () => {
	const WEEK = 7 * DAY;

	/** An agent joins as many newer ones of the same budget and kind. */
	async function joinNewer(agent: Ledger, account: FleetAccount, times = 100): Promise<void> {
		for (let year = 3001; year <= 3000 + times; year++)
			await agent.join({ ...account, name: account.name.replace(/\d{4}(?=\S+$)/, `${year}`) });
	}

	const ends: [name: string, period: "day" | "week" | "month", end: number][] = [
		["f 2026-02-03", "day", Date.UTC(2026, 1, 4)],
		["f 2026-W53", "week", Date.UTC(2027, 0, 4)],
		["f 2028-02", "month", Date.UTC(2028, 2, 1)],
	];
	for (const [name, period, end] of ends) {
		test(`is deleted a week after its end in every zone, if 100 are newer (${name})`, async (t) => {
			const base = await database(t);
			const agent = await base.open(t, { address: base.address("agent") });
			const account: FleetAccount = { scope: "fleet", name, period, caps: { turns: 3 } };
			await setClock(base, end - DAY);
			await agent.join(account);
			for (const [now, newer, isKept] of [
				[end + DAY + WEEK + 1, 99, true],
				[end + DAY + WEEK, 100, true],
				[end + DAY + WEEK + 1, 100, false],
			] as const) {
				await setClock(base, now);
				await joinNewer(agent, account, newer);
				const kept = (await budgets(base)).filter((row) => (row as unknown[])[0] === name);
				assert.deepEqual(kept, isKept ? [[name, "turns", 0, 0, 3]] : []);
			}
		});
	}

	test("is not lost with what runs and is held in it if the server's clock jumps forward and back", async (t) => {
		const { base, agent } = await joined(t);
		const week: FleetAccount = { ...today, name: "f 2026-W06", period: "week", caps: { turns: 9 } };
		const accounts = [total, week, today];
		await setClock(base, NOON);
		await agent.join(week);
		for (const id of ["a", "b"]) await agent.settle(id, accounts, { turns: 1 });
		await agent.reserve("running", [total, week], { turns: 1 }, MINUTE);
		const before = await budgets(base);
		await setClock(base, NOON + 400 * DAY);
		const other = await base.open(t, { address: base.address("agent") });
		await other.join({ ...total, name: "another" });
		await other.join({ ...today, name: "f 2027-03-10" });
		await other.join({ ...week, name: "f 2027-W10" });
		await setClock(base, NOON);
		const isOld = (row: unknown): boolean => /^f(?: 2026\S+)?$/.test(String((row as unknown[])[0]));
		assert.deepEqual((await budgets(base)).filter(isOld), before);
		const refused = await agent.reserve("next", accounts, { turns: 1 }, MINUTE);
		assert.ok(!refused.granted && refused.spent);
		await agent.settle("running", [total, week], { turns: 1 });
		assert.deepEqual(await balance(agent, week), [3, 0, 9]);
	});

	test("stays as long as it is used, and if an operator has set it, or no agent has said that it ends", async (t) => {
		const base = await database(t);
		const agent = await base.open(t, { address: base.address("agent") });
		const named = (name: string): FleetAccount => ({ ...today, name: `${name} 2026-02-03` });
		await setClock(base, NOON);
		await base.as("operator")`SELECT pi_turn_limit.set_budget('set 2026-02-03', turns => 2)`;
		for (const name of ["used", "set", "left"]) await agent.join(named(name));
		await agent.join({ scope: "fleet", name: "sprint 2026-02-03", caps: { turns: 2 } });
		await setClock(base, NOON + 20 * DAY);
		await agent.settle("late", [named("used")], { turns: 1 });
		for (const name of ["used", "set", "left", "sprint"]) await joinNewer(agent, named(name));
		assert.deepEqual(
			(await budgets(base)).map((row) => String((row as unknown[])[0])).filter((name) => name.endsWith("2026-02-03")),
			["set 2026-02-03", "sprint 2026-02-03", "used 2026-02-03"],
		);
	});

	test("that has been deleted takes what is settled late, and is deleted again", async (t) => {
		const { base, agent, operator } = await joined(t);
		await operator(`delete_budget('${today.name}')`);
		await setClock(base, NOON + 20 * DAY);
		await agent.settle("late", [today], { turns: 1 });
		const listed = async () => (await budgets(base)).filter((row) => (row as unknown[])[0] === today.name);
		assert.deepEqual(await listed(), [[today.name, "turns", 1, 0, null]]);
		await setClock(base, NOON + 40 * DAY);
		await joinNewer(agent, today);
		assert.deepEqual(await listed(), []);
	});
});
