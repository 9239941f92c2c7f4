/** What the roles of sql/fleet.sql may do, tried by SQL. */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { day, fault, fleet, MINUTE, tree } from "../ledger/world.ts";
import { budgets, database, type Database } from "./database.ts";
import { said } from "./said.ts";

/** A budget of three turns and two dollars, of which a turn and half a dollar are spent and a turn is held. */
async function spent(t: TestContext): Promise<Database> {
	const base = await database(t);
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

const denied = { code: "42501" };
const misuse = { code: "22023" };

const call = (operation: string, request: object): string =>
	`SELECT pi_turn_limit.ledger_${operation}('${JSON.stringify(request)}')`;
const accounts = [fleet()];

suite("an agent's role", () => {
	const forbidden: Record<string, string> = {
		"raise a budget": call("raise", { id: "x", accounts, amounts: { turns: 1 } }),
		"raise a budget as an operator does": "SELECT pi_turn_limit.raise_budget('f', cost => 5)",
		"set a cap": "SELECT pi_turn_limit.set_budget('f', turns => 100)",
		"reset a budget": "SELECT pi_turn_limit.reset_budget('f')",
		"delete a budget": "SELECT pi_turn_limit.delete_budget('f')",
		"list the budgets": "SELECT * FROM pi_turn_limit.budgets()",
		"read a table": "SELECT * FROM pi_turn_limit.hold",
		"change a count": "UPDATE pi_turn_limit.meter SET used = 0",
		"delete an account": "DELETE FROM pi_turn_limit.account",
		"forget an id": "DELETE FROM pi_turn_limit.done",
		"empty a table": "TRUNCATE pi_turn_limit.account CASCADE",
		"call what the functions are made of": "SELECT pi_turn_limit.release('held')",
		"set the clock":
			"CREATE OR REPLACE FUNCTION pi_turn_limit.clock() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint'",
		"make something in the schema": "CREATE TABLE pi_turn_limit.mine (n int)",
		"become an operator": "SET ROLE pi_turn_limit_operator",
		"make itself an operator": "GRANT pi_turn_limit_operator TO CURRENT_USER",
	};
	for (const [what, query] of Object.entries(forbidden)) {
		test(`cannot ${what}`, async (t) => {
			const base = await spent(t);
			await assert.rejects(base.as("agent").unsafe(query), denied);
			assert.deepEqual(await budgets(base), SPENT);
		});
	}

	const wrong: Record<string, string> = {
		"a negative charge": call("settle", { id: "x", accounts, amounts: { turns: -1 } }),
		"a negative charge among others": call("settle", { id: "x", accounts, amounts: { turns: 1, cost: -500_000 } }),
		"a fraction": call("settle", { id: "x", accounts, amounts: { turns: 0.5 } }),
		"a charge that is text": call("settle", { id: "x", accounts, amounts: { turns: "-1" } }),
		"charges in a list": call("settle", { id: "x", accounts, amounts: [-1] }),
		"a charge beyond all measure": call("settle", { id: "x", accounts, amounts: { turns: 1e13 } }),
		"a charge of a meter that nobody has": call("settle", { id: "x", accounts, amounts: { junk: 1 } }),
		"a negative hold": call("reserve", { id: "x", accounts, amounts: { turns: -1 }, ttl: MINUTE }),
		"a negative cap": call("join", { accounts: [fleet({ turns: -1 })] }),
		"a hold for ever": call("reserve", { id: "x", accounts, amounts: { turns: 1 }, ttl: 1e12 }),
		"no id": call("settle", { accounts, amounts: { turns: 1 } }),
		"no caps": call("join", { accounts: [{ scope: "fleet", name: "f" }] }),
		"another scope": call("join", { accounts: [{ ...fleet(), scope: "all" }] }),
		"a tree, which no operator could list or delete": call("join", { accounts: [tree()] }),
		"a day, which no operator could list or delete": call("settle", { id: "x", accounts: [day()], amounts: {} }),
		"a name that an operator's terminal would obey": call("join", { accounts: [{ ...fleet(), name: "f\u001b[2J" }] }),
		"a period that its name does not end with": call("join", { accounts: [{ ...fleet(), period: "day" }] }),
		"another period": call("join", { accounts: [{ ...fleet(), name: "f 2026", period: "year" }] }),
	};
	for (const [what, query] of Object.entries(wrong)) {
		test(`is refused ${what}, and nothing changes`, async (t) => {
			const base = await spent(t);
			await assert.rejects(base.as("agent").unsafe(query), misuse);
			assert.deepEqual(await budgets(base), SPENT);
		});
	}

	test("is refused every name with a character that cannot be seen, and so is an operator's", async (t) => {
		const base = await spent(t);
		const [agent, operator] = [base.as("agent"), base.as("operator")];
		const characters = Array.from({ length: 0x10ffff }, (_, i) => String.fromCodePoint(i + 1));
		for (const unseen of characters.filter((character) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(character))) {
			const name = `f${unseen}`;
			await assert.rejects(
				agent.unsafe(call("join", { accounts: [{ ...fleet(), name }] })),
				misuse,
				encodeURIComponent(name),
			);
			await assert.rejects(
				operator`SELECT pi_turn_limit.set_budget(${name}, turns => 3)`,
				misuse,
				encodeURIComponent(name),
			);
		}
		assert.deepEqual(await budgets(base), SPENT);
	});

	test("cannot join with a higher cap, nor spend beyond the cap", async (t) => {
		const base = await spent(t);
		const agent = await base.open(t, { address: base.address("agent") });
		await agent.join(fleet({ turns: 100 }));
		assert.ok((await agent.reserve("third", [fleet({ turns: 100 })], { turns: 1 }, MINUTE)).granted);
		assert.equal((await agent.reserve("fourth", [fleet({ turns: 100 })], { turns: 1 }, MINUTE)).granted, false);
	});

	test("cannot look at an old state of the budget to spend more", async (t) => {
		const base = await spent(t);
		const [agent, operator] = [base.as("agent"), base.as("operator")];
		for (const level of ["REPEATABLE READ", "SERIALIZABLE"]) {
			for (const [sql, operation] of [
				[agent, "join"],
				[agent, "reserve"],
				[agent, "settle"],
				[operator, "raise"],
			] as const) {
				const query = call(operation, { id: "x", accounts, amounts: { turns: 1 }, ttl: MINUTE });
				const transaction = sql.begin(`ISOLATION LEVEL ${level}`, (sql) => sql.unsafe(query));
				await assert.rejects(transaction, { code: "TL002" }, operation);
			}
		}
		assert.deepEqual(await budgets(base), SPENT);
	});

	test("cannot put its own views and functions in the way, which would run with the owner's rights", async (t) => {
		const base = await spent(t);
		const agent = base.as("agent");
		await agent.unsafe(`
			CREATE FUNCTION pg_temp.steal() RETURNS text LANGUAGE plpgsql
			AS $$ BEGIN UPDATE pi_turn_limit.meter SET used = 0; RETURN 'fleet f'; END $$;
			CREATE FUNCTION pg_temp.clock() RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
			CREATE TEMP VIEW setup AS SELECT 1 AS version, pg_temp.steal();
			CREATE TEMP VIEW account AS SELECT pg_temp.steal() AS key, '{}'::jsonb AS caps, 0 AS touched, 0 AS ends;
			CREATE TEMP VIEW meter AS SELECT pg_temp.steal() AS key, 'turns' AS meter, 0 AS used, 0 AS held, 0 AS granted;
			CREATE TEMP VIEW hold AS SELECT pg_temp.steal() AS key, 'held' AS id, 'turns' AS meter, 1 AS amount, 0 AS until;
			CREATE TEMP VIEW done AS SELECT pg_temp.steal() AS id, 0 AS at;
			SET search_path = pg_temp`);
		const request = { accounts, amounts: { turns: 1 }, ttl: MINUTE };
		await agent.unsafe("SELECT pi_turn_limit.version()");
		await agent.unsafe(call("settle", { ...request, id: "x" }));
		await agent.unsafe(call("reserve", { ...request, id: "y" }));
		await agent.unsafe(call("renew", { ...request, ids: ["held"] }));
		for (const operation of ["join", "read"]) await agent.unsafe(call(operation, request));
		assert.deepEqual(await budgets(base), [SPENT[0], ["f", "turns", 2, 1, 3]]);
	});

	test("calls nothing with the owner's rights that looks among the agent's own things first", async (t) => {
		const base = await spent(t);
		const lawless = await base.sql`
			SELECT proname FROM pg_proc WHERE pronamespace = 'pi_turn_limit'::regnamespace AND prosecdef
			AND 'search_path=pg_catalog, pi_turn_limit, pg_temp' <> ALL (coalesce(proconfig, '{}'))`;
		assert.deepEqual([...lawless], []);
	});

	test("is told that only an operator raises, and can go on", async (t) => {
		const base = await spent(t);
		const agent = await base.open(t, { address: base.address("agent") });
		const only = said(base, "denied", /^Only an operator can raise the budget at [\w.]+\/\w+\.$/);
		await assert.rejects(agent.raise("yes", fleet(), { turns: 1 }), only);
		assert.ok((await agent.reserve("next", [fleet()], { turns: 1 }, MINUTE)).granted);
	});
});

suite("an operator's role", () => {
	const can: Record<string, [string, unknown]> = {
		"read the budgets": ["SELECT", SPENT],
		"raise a cap": ["SELECT pi_turn_limit.raise_budget('f', cost => 2.5)", [["f", "cost", 0.5, 0, 4.5], SPENT[1]]],
		"set a cap, and leave another out": [
			"SELECT pi_turn_limit.set_budget('f', turns => 2)",
			[
				["f", "cost", 0.5, 0, null],
				["f", "turns", 1, 1, 2],
			],
		],
		"make a budget before any agent joins": [
			"SELECT pi_turn_limit.set_budget('g', cost => 20)",
			[...SPENT, ["g", "cost", 0, 0, 20]],
		],
		"reset a budget, except for what is in flight": [
			"SELECT pi_turn_limit.reset_budget('f')",
			[
				["f", "cost", 0, 0, 2],
				["f", "turns", 0, 1, 3],
			],
		],
		"delete a budget": ["SELECT pi_turn_limit.delete_budget('f')", []],
	};
	for (const [what, [query, after]] of Object.entries(can)) {
		test(`can ${what}`, async (t) => {
			const base = await spent(t);
			await base.as("operator").unsafe(query);
			assert.deepEqual(await budgets(base), after);
		});
	}

	test("reads amounts as people write them", async (t) => {
		const base = await spent(t);
		const [cost] = await base.as("operator")`SELECT used, cap FROM pi_turn_limit.budgets() WHERE meter = 'cost'`;
		assert.deepEqual({ ...cost }, { used: "0.5", cap: "2" });
	});

	test("raises a cap on top of what is used where that is more", async (t) => {
		const base = await spent(t);
		const agent = await base.open(t, { address: base.address("agent") });
		await agent.settle("dear", [fleet()], { cost: 9_500_000 });
		await base.as("operator").unsafe("SELECT pi_turn_limit.raise_budget('f', cost => 1)");
		assert.deepEqual(await budgets(base), [["f", "cost", 10, 0, 11], SPENT[1]]);
	});

	const wrong: Record<string, [string, object]> = {
		"a budget that does not exist": ["SELECT pi_turn_limit.raise_budget('g', cost => 1)", misuse],
		"a reset of a budget that does not exist": ["SELECT pi_turn_limit.reset_budget('g')", misuse],
		"a negative grant": ["SELECT pi_turn_limit.raise_budget('f', cost => -1)", misuse],
		"a negative cap": ["SELECT pi_turn_limit.set_budget('f', turns => -1)", misuse],
		"to spend": [call("settle", { id: "x", accounts, amounts: { turns: 1 } }), denied],
		"the tables": ["DELETE FROM pi_turn_limit.account", denied],
	};
	for (const [what, [query, error]] of Object.entries(wrong)) {
		test(`is refused ${what}`, async (t) => {
			const base = await spent(t);
			await assert.rejects(base.as("operator").unsafe(query), error);
			assert.deepEqual(await budgets(base), SPENT);
		});
	}

	test("that ends a budget ends it for its agents", async (t) => {
		const base = await spent(t);
		const agent = await base.open(t, { address: base.address("agent") });
		await base.as("operator").unsafe("SELECT pi_turn_limit.delete_budget('f')");
		await assert.rejects(agent.reserve("next", [fleet()], { turns: 1 }, MINUTE), fault("unjoined"));
	});
});
