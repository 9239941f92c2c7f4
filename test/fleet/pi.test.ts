/** A real pi with a fleet's budget. */
import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { PERIODS } from "../../src/core/scopes.ts";
import { dateIn, isDate } from "../../src/ledger/calendar.ts";
import { bash, calls, endless, type Host, host, type HostOptions, mark, text, times } from "../harness/index.ts";
import { write } from "../harness/folders.ts";
import { budgets, type Database, database } from "./database.ts";

/** A pi of its own agent directory, as on a machine of its own. */
function agent(t: TestContext, base: Database, caps: object, options: Partial<HostOptions> = {}): Promise<Host> {
	const budget = { at: base.address("agent"), account: "ticket-42", ...caps };
	return machine(t, { model: endless(), agentFiles: { "turn-limit.json": { grace: 0, budget } }, ...options });
}

async function machine(t: TestContext, options: HostOptions): Promise<Host> {
	const pi = await host(t, options);
	const file = join(pi.agentDir, "turn-limit.json");
	if (readdirSync(pi.agentDir).includes("turn-limit.json")) chmodSync(file, 0o600);
	return pi;
}

function requests(pis: readonly Host[]): number {
	return pis.reduce((sum, { model }) => sum + model.requests.length, 0);
}

test("three machines and one budget of 7 turns: exactly 7 requests in all", async (t) => {
	const base = await database(t);
	const pis = await Promise.all([1, 2, 3].map(() => agent(t, base, { maxTurns: 7 })));
	const ends = await Promise.all(pis.map((pi) => pi.print("go")));
	assert.equal(requests(pis), 7);
	for (const { code, stderr } of ends) {
		assert.equal(code, 53);
		assert.match(stderr, /stopped at the limit of 7 turns in this fleet's budget/);
	}
});

test("three machines and one budget of dollars: at most one turn each beyond it", async (t) => {
	const base = await database(t);
	const pis = await Promise.all([1, 2, 3].map(() => agent(t, base, { maxCost: 0.05 })));
	await Promise.all(pis.map((pi) => pi.print("go")));
	assert.ok(requests(pis) >= 5 && requests(pis) <= 5 + 3, String(requests(pis)));
});

for (const period of PERIODS) {
	test(`two machines and a budget of 5 turns a ${period}: exactly 5 requests in all`, async (t) => {
		const base = await database(t);
		const pis = await Promise.all([1, 2].map(() => agent(t, base, { [period]: { maxTurns: 5 } })));
		const ends = await Promise.all(pis.map((pi) => pi.print("go")));
		assert.equal(requests(pis), 5);
		for (const { code, stderr } of ends) {
			assert.equal(code, 53);
			assert.match(stderr, /at the limit of 5 turns in this fleet's budget/);
		}
		const [[account, ...counts] = []] = (await budgets(base))
			.map((row) => row as unknown[])
			.filter((row) => row[1] === "turns");
		const [name, date = ""] = String(account).split(" ");
		assert.ok(name === "ticket-42" && isDate(period, date), String(account));
		assert.deepEqual(counts, ["turns", 5, 0, 5]);
	});
}

test("the lowest of budget, day of the budget, day and tree holds", async (t) => {
	const base = await database(t);
	const account = { at: base.address("agent"), account: "team" };
	for (const [n, limits, of] of [
		[2, { budget: { ...account, maxTurns: 9, day: { maxTurns: 2 } } }, "in this fleet's budget"],
		[3, { budget: { ...account, account: "b", maxTurns: 9 }, day: { maxTurns: 3 } }, "today"],
		[4, { budget: { ...account, account: "c", maxTurns: 9 }, tree: { maxTurns: 4 } }, "in this tree of agents"],
	] as const) {
		const pi = await machine(t, { model: endless(), agentFiles: { "turn-limit.json": { grace: 0, ...limits } } });
		const { stderr } = await pi.print("go");
		assert.equal(pi.model.requests.length, n, stderr);
		assert.match(stderr, new RegExp(`at the limit of ${n} turns ${of}`));
	}
	const [used] = await base.sql`SELECT used FROM pi_turn_limit.budgets() WHERE account = 'c' AND meter = 'turns'`;
	assert.equal(Number(used?.["used"]), 4, "what the tree refused is not counted for the fleet");
});

test("a person is not asked at a fleet's limit, sees what is left, and goes on once an operator has raised it", async (t) => {
	const base = await database(t);
	const pi = await agent(t, base, { maxTurns: 2 }, { model: [...times(4), text("done")] });
	const rpc = await pi.rpc();
	await rpc.run("go");
	assert.deepEqual([rpc.questions.length, pi.model.requests.length], [0, 2]);
	assert.match(
		rpc.notifications.at(-1)?.message ?? "",
		/without an answer\. An operator of the budget can raise it\.$/,
	);
	await rpc.prompt("/turn-limit");
	assert.match(rpc.notifications.at(-1)?.message ?? "", /^budget turns +2 of 2 +budget ticket-42$/m);
	await base.as("operator")`SELECT pi_turn_limit.raise_budget('ticket-42', turns => 5)`;
	await rpc.run("go on");
	assert.equal(pi.model.requests.length, 5);
});

test("a cap that only an operator has set stops an agent whose settings do not name it, and is shown", async (t) => {
	const base = await database(t);
	await base.as("operator")`SELECT pi_turn_limit.set_budget('ticket-42', turns => 2, cost => 20)`;
	const pi = await agent(t, base, { maxCost: 20 });
	const rpc = await pi.rpc();
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 2);
	await rpc.prompt("/turn-limit");
	assert.match(rpc.notifications.at(-1)?.message ?? "", /^budget turns +2 of 2 +budget ticket-42$/m);
	await base.as("operator")`SELECT pi_turn_limit.raise_budget('ticket-42', turns => 1)`;
	await rpc.run("go on");
	assert.equal(pi.model.requests.length, 3);
});

test("/turn-limit shows how a budget stands before the first run, and makes none", async (t) => {
	const base = await database(t);
	const shown = async (): Promise<string> => {
		const rpc = await (await agent(t, base, { maxTurns: 7, day: { maxTurns: 5 } })).rpc();
		await rpc.prompt("/turn-limit");
		return /^budget turns.*/m.exec(rpc.notifications.at(-1)?.message ?? "")?.[0].replaceAll(/ +/g, " ") ?? "";
	};
	assert.equal(await shown(), "budget turns 0 of 5 budget ticket-42");
	assert.deepEqual([...(await base.sql`SELECT FROM pi_turn_limit.budgets()`)], []);
	await (await agent(t, base, { maxTurns: 2 })).print("go");
	assert.equal(await shown(), "budget turns 2 of 2 budget ticket-42");
});

test("/turn-limit names each day, week and month of a budget, with what is left in it and its end", async (t) => {
	const base = await database(t);
	const periods = { day: { maxTurns: 5 }, week: { maxTurns: 2, maxCost: 3 }, month: { maxCost: 4 } };
	const rpc = await (await agent(t, base, { maxTurns: 9, ...periods, zone: "Asia/Tokyo" })).rpc();
	await rpc.run("go");
	await rpc.prompt("/turn-limit");
	const shown = rpc.notifications.at(-1)?.message ?? "";
	const lines = shown.match(/^Budget .*/gm)?.map((line) => line.replace(/\w+ \d+ \w+ \d\d:\d\d\.$/, "its end"));
	const now = Date.now();
	assert.deepEqual(lines, [
		`Budget ticket-42 ${dateIn("month", "Asia/Tokyo", now)}: $3.98 left, until its end`,
		`Budget ticket-42 ${dateIn("week", "Asia/Tokyo", now)}: 0 turns, $2.98 left, until its end`,
		`Budget ticket-42 ${dateIn("day", "Asia/Tokyo", now)}: 3 turns left, until its end`,
	]);
});

test("an agent of a budget alone neither needs this machine's ledger nor pays what others owe there", async (t) => {
	const base = await database(t);
	const debt = { version: 1, id: "x", accounts: [{ scope: "day", zone: "UTC", at: 0 }], amounts: { turns: 1 } };
	const pi = await agent(t, base, { maxTurns: 9 }, { model: [text("done")] });
	write(pi.agentDir, { "turn-limit-ledger": "no directory", "turn-limit-ledger.debts/debt-x.json": debt });
	assert.deepEqual(await pi.print("go"), { code: 0, stdout: "done\n", stderr: "", signal: null });
	assert.deepEqual(readdirSync(join(pi.agentDir, "turn-limit-ledger.debts")), ["debt-x.json"]);
});

test("a run leaves no connection behind", async (t) => {
	const base = await database(t);
	const pi = await agent(t, base, { maxTurns: 9 }, { model: [...times(2), text("done")] });
	const rpc = await pi.rpc();
	const connections = () => base.sql`
		SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pi-turn-limit'`;
	await rpc.run("go");
	// The server takes a moment to see it leave.
	while (!t.signal.aborted && (await connections()).length > 0);
	assert.equal((await budgets(base))[0]?.toString(), "ticket-42,cost,0.03,0,");
});

test("no secret stands in a message, an entry, a process list, or what a tool inherits", async (t) => {
	const base = await database(t);
	const look = bash("env; ps -eo args; cat turn-limit.json 2>/dev/null; true");
	const env = {
		PI_TURN_LIMIT_BUDGET: base.address("agent"),
		PI_TURN_LIMIT_BUDGET_ACCOUNT: "ticket-42",
		PI_TURN_LIMIT_BUDGET_TURNS: "2",
	};
	const pi = await host(t, { model: [calls(look), mark(), text("done")], env, session: true });
	const { stdout, stderr } = await pi.print("go");
	const wrong = await host(t, {
		model: endless(),
		env: { ...env, PI_TURN_LIMIT_BUDGET: env.PI_TURN_LIMIT_BUDGET.replace(base.password, `x${base.password}`) },
	});
	const refused = await wrong.print("go");
	assert.match(refused.stderr, /refuses the user or the password/);
	assert.deepEqual([refused.code, wrong.model.requests.length], [1, 0]);
	const told = JSON.stringify(pi.model.requests.map(({ body }) => body));
	assert.match(told, /PI_TURN_LIMIT_BUDGET=taken/);
	const written = readdirSync(dirname(pi.agentDir), { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
	const places = { stdout, stderr, told, refused: refused.stderr, written: written.join() };
	for (const [place, words] of Object.entries(places)) assert.ok(!words.includes(base.password), place);
});

for (const [what, budget, said] of [
	[
		"without an account",
		{ maxTurns: 3 },
		/budget\.account in \S+\/turn-limit\.json: expected a name there or in .*, got nothing/,
	],
	[
		"with a wrong cap",
		{ account: "a", maxTurns: "many" },
		/budget\.maxTurns in \S+\/turn-limit\.json: expected a whole/,
	],
	["where nothing listens", { account: "a", maxTurns: 3 }, /The budget at 127\.0\.0\.1\/none cannot be reached/],
] as [string, object, RegExp][]) {
	test(`a budget ${what} stops the run before its first request, and says why`, async (t) => {
		const at = "postgres://ada:s3cret@127.0.0.1:1/none";
		const pi = await machine(t, { model: endless(), agentFiles: { "turn-limit.json": { budget: { at, ...budget } } } });
		const { code, stderr } = await pi.print("go");
		assert.deepEqual([code, pi.model.requests.length], [1, 0]);
		assert.match(stderr, said);
		assert.doesNotMatch(stderr, /s3cret/);
	});
}

test("a budget in a file with a mistake stops the run before its first request, and its address is not shown", async (t) => {
	const file = `{ "budget": { "at": 'postgres://ada:s3cret@127.0.0.1:1/none', "account": "a", "maxTurns": 3 } }`;
	const pi = await machine(t, { model: endless(), agentFiles: { "turn-limit.json": file } });
	const { code, stderr } = await pi.print("go");
	assert.deepEqual([code, pi.model.requests.length], [1, 0]);
	assert.match(stderr, /budget in \S+\/turn-limit\.json: expected an object, got a file that cannot be read\./);
	assert.doesNotMatch(stderr, /postgres/);
});

test("a budget in a project's file is named and ignored", async (t) => {
	const budget = { at: "postgres://ada:s3cret@127.0.0.1:1/none", account: "a", maxTurns: 0 };
	const pi = await host(t, { model: [text("done")], files: { ".pi/turn-limit.json": { budget } } });
	const { code, stderr } = await pi.print("go");
	assert.equal(code, 0);
	assert.match(stderr, /A project file cannot set a budget; ignoring budget in \.pi\/turn-limit\.json\./);
});
