/** The commands of docs/fleet.md, in their order, on a server of their own. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, suite, test } from "node:test";
import postgres, { type Sql } from "postgres";
import { openPostgres } from "../../../src/ledger/postgres/ledger.ts";
import { root } from "../../harness/process.ts";
import { defer } from "../../harness/wait.ts";
import { MINUTE } from "../../ledger/world.ts";
import { file } from "../file.ts";
import { Server } from "../server.ts";

const page = readFileSync(join(root, "docs/fleet.md"), "utf8");
const blocks = (language: string): string[] =>
	[...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);

const [roles = "", operating = "", clearing = "", ...others] = blocks("sql");
/** In place of what the page leaves out. */
const PASSWORD = "secret";

suite("docs/fleet.md", () => {
	let server: Server;
	/** Somebody's connection to the database of the page. */
	const as = (user: string): Sql => {
		const sql = postgres(addressOf(user), { max: 1 });
		defer(file, () => sql.end());
		return sql;
	};
	const addressOf = (user: string): string => `postgres://${user}:${PASSWORD}@127.0.0.1:${server.port}/budgets`;

	before(async () => {
		server = await Server.make();
		defer(file, () => server.remove());
	});

	test("sets a database up by its shell commands, and makes logins", async () => {
		const [setUp = "", ...more] = blocks("sh");
		assert.deepEqual(more, []);
		execFileSync("sh", ["-ec", setUp], { cwd: root, env: server.environment(), stdio: "pipe" });
		const sql = postgres(server.address("budgets"), { max: 1 });
		defer(file, () => sql.end());
		await sql.unsafe(roles.replaceAll("…", PASSWORD));
	});

	test("has the budget of its example, which an agent spends of", async () => {
		const [example = ""] = blocks("json");
		const { budget } = JSON.parse(example) as { budget: { account: string; maxCost: number } };
		const agent = await openPostgres({ address: addressOf("ci_agent") });
		const account = { scope: "fleet", name: budget.account, caps: { cost: budget.maxCost * 1_000_000 } } as const;
		await agent.join(account);
		await agent.reserve("a", [account], { turns: 1, cost: 1_000_000 }, MINUTE);
		agent.close();
	});

	test("lets an operator read, raise, set, reset and delete it", async () => {
		const ada = as("ada");
		const capOf = async (): Promise<unknown> =>
			(await ada`SELECT cap FROM pi_turn_limit.budgets() WHERE meter = 'cost'`)[0]?.["cap"];
		const caps: unknown[] = [await capOf()];
		const statements = operating.split(/;\n/).filter((statement) => statement.trim() !== "");
		for (const statement of statements) {
			await ada.unsafe(statement);
			caps.push(await capOf());
		}
		assert.deepEqual(caps, ["20", "20", "20", "25", "20", "20", undefined]);
	});

	test("lets an operator delete old days, and nothing else", async () => {
		const ada = as("ada");
		for (const name of ["old 2026-02-03", "new 2026-02-03", "old"])
			await ada`SELECT pi_turn_limit.set_budget(${name}, turns => 1, cost => 1)`;
		const owner = postgres(server.address("budgets"), { max: 1 });
		defer(file, () => owner.end());
		await owner`UPDATE pi_turn_limit.account SET touched = 0 WHERE key LIKE 'fleet old%'`;
		await ada.unsafe(clearing);
		const left = await ada`SELECT DISTINCT account FROM pi_turn_limit.budgets() ORDER BY account`;
		assert.deepEqual(
			left.map((row) => row["account"] as string),
			["new 2026-02-03", "old"],
		);
	});

	test("has no other SQL", () => assert.deepEqual(others, []));
});
