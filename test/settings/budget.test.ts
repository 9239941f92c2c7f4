import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { inspect } from "node:util";
import {
	type Budget,
	type BudgetFound,
	type Environment,
	lowestCaps,
	readBudget,
	readOption,
	takeAddress,
} from "../../src/settings/budget.ts";
import { defer } from "../harness/wait.ts";
import { NO_PERIODS } from "./given.ts";

const AT = "postgres://ada:s3cret@db.example/budgets";

/** What the user's file and the environment say of the budget. */
function read(t: TestContext, budget: unknown, env: Environment = {}, mode = 0o600): BudgetFound {
	const path = fileOf(t, budget, mode);
	return readBudget(path, "turn-limit.json", env, takeAddress(env, {}));
}

function fileOf(t: TestContext, budget: unknown, mode: number): string {
	const folder = mkdtempSync(join(tmpdir(), "pi-budget-"));
	defer(t, () => rmSync(folder, { recursive: true }));
	const path = join(folder, "turn-limit.json");
	writeFileSync(path, JSON.stringify({ maxTurns: 5, budget }));
	chmodSync(path, mode);
	return path;
}

function usable(found: BudgetFound): Budget & { address: string } {
	assert.ok(found.kind === "budget", inspect(found));
	assert.ok(!inspect(found, { depth: 9 }).includes("s3cret"));
	return { ...found.budget, address: found.budget.at() };
}

function wrong(found: BudgetFound): readonly string[] {
	assert.ok(found.kind === "unusable", inspect(found));
	assert.ok(!found.why.join().includes("s3cret"), found.why.join());
	return found.why.map((line) => {
		assert.ok(line.endsWith(". The budget cannot be used."), line);
		return line.slice(0, -". The budget cannot be used.".length);
	});
}

describe("a budget", () => {
	test("that nobody has set is none", (t) => {
		assert.deepEqual(read(t, undefined), { kind: "none" });
		assert.deepEqual(readBudget("/nowhere/turn-limit.json", "turn-limit.json", {}, undefined), { kind: "none" });
	});

	test("in the user's file has an address, an account and caps as people write them", (t) => {
		const { address, account, caps, periods, zone } = usable(
			read(t, { at: AT, account: "ticket-42", maxCost: "$20", maxTurns: 100, maxTokens: "1.5M" }),
		);
		assert.deepEqual([address, account, zone], [AT, "ticket-42", "UTC"]);
		assert.deepEqual([caps, periods], [{ turns: 100, cost: 20_000_000, tokens: 1_500_000 }, NO_PERIODS]);
	});

	test("can come from variables alone", (t) => {
		const env = {
			PI_TURN_LIMIT_BUDGET: AT,
			PI_TURN_LIMIT_BUDGET_ACCOUNT: "team-a",
			PI_TURN_LIMIT_BUDGET_COST: "2.50",
			PI_TURN_LIMIT_BUDGET_DAY_TURNS: "7",
			PI_TURN_LIMIT_BUDGET_WEEK_COST: "$10",
			PI_TURN_LIMIT_BUDGET_MONTH_TOKENS: "5M",
			PI_TURN_LIMIT_BUDGET_ZONE: "Asia/Tokyo",
		};
		const { address, account, caps, periods, zone } = usable(read(t, undefined, env));
		assert.deepEqual([address, account, zone], [AT, "team-a", "Asia/Tokyo"]);
		assert.deepEqual(caps, { cost: 2_500_000 });
		assert.deepEqual(periods, { month: { tokens: 5_000_000 }, week: { cost: 10_000_000 }, day: { turns: 7 } });
	});

	test("in the file is overruled by variables, one by one", (t) => {
		const env = { PI_TURN_LIMIT_BUDGET_ACCOUNT: "other", PI_TURN_LIMIT_BUDGET_TURNS: "3" };
		const { account, caps } = usable(read(t, { at: AT, account: "a", maxTurns: 9, maxCost: 1 }, env));
		assert.deepEqual([account, caps], ["other", { turns: 3, cost: 1_000_000 }]);
	});

	test("without a cap cannot be used, because nothing would be asked of it", (t) => {
		for (const maxCost of ["unlimited", "Unlimited"])
			assert.deepEqual(wrong(read(t, { at: AT, account: "a", maxCost })), [
				"budget in turn-limit.json: expected a cap: maxTurns, maxCost, maxTokens, got none",
			]);
	});

	test("is held to the lowest cap of all, of a month, of a week and of a day", (t) => {
		const periods = { day: { maxTurns: 3, maxTokens: 5 }, week: { maxCost: 1 }, month: { maxTurns: 2, maxCost: 3 } };
		const budget = usable(read(t, { at: AT, account: "a", maxTurns: 9, maxCost: 2, ...periods }));
		assert.deepEqual(lowestCaps(budget), { turns: 2, cost: 1_000_000, tokens: 5 });
	});

	for (const period of ["day", "week", "month"]) {
		test(`can have caps for each ${period} alone`, (t) => {
			const { caps, periods } = usable(read(t, { at: AT, account: "a", [period]: { maxTurns: 3 } }));
			assert.deepEqual([caps, periods], [{}, { ...NO_PERIODS, [period]: { turns: 3 } }]);
		});
	}
});

describe("an address", () => {
	for (const mode of [0o644, 0o640, 0o604]) {
		test(`in a file of mode ${mode.toString(8)} is refused`, (t) => {
			assert.deepEqual(wrong(read(t, { at: AT, account: "a" }, {}, mode)), [
				`budget.at in turn-limit.json: expected a file of yours that only you can read (chmod 600), got mode ${mode.toString(8)}`,
			]);
		});
	}

	test("in somebody else's file is refused", (t) => {
		const path = fileOf(t, { at: AT, account: "a" }, 0o600);
		// Only root can give a file away; for others /etc/passwd would be one, but it holds no budget.
		if (process.getuid?.() !== 0) return;
		chownSync(path, 65534, 65534);
		assert.match(wrong(readBudget(path, "turn-limit.json", {}, undefined)).join(), /got one of somebody else$/);
	});

	test("in a variable leaves the file's mode alone", (t) => {
		usable(read(t, { account: "a", maxTurns: 1 }, { PI_TURN_LIMIT_BUDGET: AT }, 0o644));
		assert.equal(
			usable(read(t, { at: "x", account: "a", maxTurns: 1 }, { PI_TURN_LIMIT_BUDGET: AT }, 0o644)).address,
			AT,
		);
	});

	test("is taken out of the environment, and known to the process as long as it lives", () => {
		const env: Environment = { PI_TURN_LIMIT_BUDGET: ` ${AT} `, OTHER: "kept" };
		const kept = {};
		assert.deepEqual([takeAddress(env, kept), takeAddress(env, kept)], [AT, AT]);
		assert.deepEqual(env, { PI_TURN_LIMIT_BUDGET: "taken", OTHER: "kept" });
	});

	test("that a parent has taken closes the budget of those it starts, unless the file has one", (t) => {
		const env = { PI_TURN_LIMIT_BUDGET: "taken", PI_TURN_LIMIT_BUDGET_ACCOUNT: "a" };
		assert.deepEqual(wrong(read(t, undefined, env)), [
			"budget.at in turn-limit.json: expected an address, since PI_TURN_LIMIT_BUDGET is not passed on to the agents that an agent starts, got nothing",
		]);
		assert.equal(usable(read(t, { at: AT, maxTurns: 1 }, env)).address, AT);
	});

	test("alone in the environment closes the budget too where a parent has taken it", (t) => {
		assert.equal(read(t, undefined, { PI_TURN_LIMIT_BUDGET: "taken" }).kind, "unusable");
	});
});

describe("a budget that is wrong cannot be used, and says why:", () => {
	const cases: Record<string, [unknown, string]> = {
		"no address": [
			{ account: "a" },
			"budget.at in turn-limit.json: expected an address there or in PI_TURN_LIMIT_BUDGET, got nothing",
		],
		"an address that is a number": [
			{ at: 5, account: "a" },
			"budget.at in turn-limit.json: expected an address, got a number",
		],
		"an address that is an object": [
			{ at: {}, account: "a" },
			"budget.at in turn-limit.json: expected an address, got an object",
		],
		"an empty address": [
			{ at: " ", account: "a" },
			"budget.at in turn-limit.json: expected an address, got an empty text",
		],
		"no account": [
			{ at: AT },
			"budget.account in turn-limit.json: expected a name there or in PI_TURN_LIMIT_BUDGET_ACCOUNT, got nothing",
		],
		"an empty account": [
			{ at: AT, account: " " },
			'budget.account in turn-limit.json: expected a name of 1 to 200 visible characters, got " "',
		],
		"an account that is no text": [
			{ at: AT, account: "a\ud800" },
			'budget.account in turn-limit.json: expected a name of 1 to 200 visible characters, got "a\\ud800"',
		],
		"an account that a terminal would turn around": [
			{ at: AT, account: "a\u202eb" },
			'budget.account in turn-limit.json: expected a name of 1 to 200 visible characters, got "a b"',
		],
		"a long account": [
			{ at: AT, account: "a".repeat(201) },
			`budget.account in turn-limit.json: expected a name of 1 to 200 visible characters, got "${"a".repeat(58)}…`,
		],
		"a negative cap": [
			{ at: AT, account: "a", maxTurns: -1 },
			"budget.maxTurns in turn-limit.json: expected a whole number from 0, or unlimited, got -1",
		],
		"a cap that is no amount": [
			{ at: AT, account: "a", day: { maxCost: "much" } },
			'budget.day.maxCost in turn-limit.json: expected dollars such as 2.50 or $2.50, or unlimited, got "much"',
		],
		"a cap beyond what a ledger takes": [
			{ at: AT, account: "a", maxCost: 2_000_000 },
			"budget.maxCost in turn-limit.json: expected dollars such as 2.50 or $2.50, or unlimited, got 2000000",
		],
		"an unknown zone": [
			{ at: AT, account: "a", zone: "Atlantis" },
			'budget.zone in turn-limit.json: expected a time zone such as Europe/Berlin, got "Atlantis"',
		],
		"no zone": [
			{ at: AT, account: "a", zone: null },
			"budget.zone in turn-limit.json: expected a time zone such as Europe/Berlin, got null",
		],
		"a day that is a number": [
			{ at: AT, account: "a", day: 50 },
			"budget.day in turn-limit.json: expected an object, got 50",
		],
		"a month that is a text": [
			{ at: AT, account: "a", month: "$50" },
			'budget.month in turn-limit.json: expected an object, got "$50"',
		],
		"a wrong cap of a week": [
			{ at: AT, account: "a", week: { maxTurns: -1 } },
			"budget.week.maxTurns in turn-limit.json: expected a whole number from 0, or unlimited, got -1",
		],
		"an unknown key": [
			{ at: AT, account: "a", maxMoney: 5 },
			'budget in turn-limit.json: expected at, account, zone, month, week, day, maxTurns, maxCost, maxTokens, got "maxMoney"',
		],
		"unknown keys, also of a period": [
			{ at: AT, account: "a", maxMoney: 5, day: { maxTurns: 3, maxTime: 5 }, month: { maxCalls: 1 } },
			'budget in turn-limit.json: expected at, account, zone, month, week, day, maxTurns, maxCost, maxTokens, got "maxMoney", "maxCalls", "maxTime"',
		],
	};
	for (const [got, budget] of Object.entries({ "a string": AT, "a list": [AT], null: null, "a number": 5 })) {
		test(`no object but ${got}`, (t) => {
			assert.deepEqual(wrong(read(t, budget)), [`budget in turn-limit.json: expected an object, got ${got}`]);
		});
	}

	for (const [what, [budget, message]] of Object.entries(cases)) {
		test(what, (t) => assert.ok(wrong(read(t, budget)).includes(message), inspect(read(t, budget))));
	}

	test("a variable is named as itself", (t) => {
		const env = { PI_TURN_LIMIT_BUDGET_TURNS: "many" };
		assert.deepEqual(wrong(read(t, { at: AT, account: "a", maxTurns: 3 }, env)), [
			'PI_TURN_LIMIT_BUDGET_TURNS: expected a whole number from 0, or unlimited, got "many"',
		]);
	});
});

describe("a budget of which only one thing is set cannot be used:", () => {
	for (const name of ["ACCOUNT", "ZONE", "TURNS", "DAY_COST", "WEEK_TURNS", "MONTH_TOKENS"]) {
		test(`PI_TURN_LIMIT_BUDGET_${name}`, (t) => {
			assert.equal(read(t, undefined, { [`PI_TURN_LIMIT_BUDGET_${name}`]: "5" }).kind, "unusable");
		});
	}

	test("the address, which an earlier session of the process has taken", (t) => {
		assert.equal(readBudget(fileOf(t, undefined, 0o600), "turn-limit.json", {}, AT).kind, "unusable");
	});
});

describe("a file that cannot be read", () => {
	const found = (path: string): BudgetFound => readBudget(path, "turn-limit.json", {}, undefined);
	const unread = ["budget in turn-limit.json: expected an object, got a file that cannot be read"];

	test("closes the budget if it may hold one", (t) => {
		const path = fileOf(t, {}, 0o600);
		for (const text of [`{ "budget": { "at": "${AT}", }`, `[{ "budget": {} }]`, "budget: none"]) {
			writeFileSync(path, text);
			assert.deepEqual(wrong(found(path)), unread);
		}
	});

	test("closes the budget if nobody here may read it", (t) => {
		const path = fileOf(t, {}, 0o000);
		const isRoot = process.getuid?.() === 0;
		if (isRoot) process.seteuid?.(65534);
		try {
			assert.deepEqual(wrong(found(path)), unread);
		} finally {
			if (isRoot) process.seteuid?.(0);
		}
	});

	test("is none if it cannot hold one", (t) => {
		const path = fileOf(t, {}, 0o600);
		writeFileSync(path, `{ "maxTurns": 5, }`);
		for (const other of [path, dirname(path)]) assert.deepEqual(found(other), { kind: "none" });
	});
});

describe("the budget of a program", () => {
	test("is an option like the file's object", () => {
		const { address, account, caps } = usable(readOption({ at: AT, account: "a", maxTurns: 3 }));
		assert.deepEqual([address, account, caps], [AT, "a", { turns: 3 }]);
	});

	test("that is wrong is named by its option", () => {
		assert.deepEqual(wrong(readOption({ maxTurns: 3 })), [
			"budget.at: expected an address, got nothing",
			"budget.account: expected a name, got nothing",
		]);
	});
});

test("blanks around a variable do not count, and a blank variable is not set", (t) => {
	const env = { PI_TURN_LIMIT_BUDGET_ACCOUNT: " ", PI_TURN_LIMIT_BUDGET_TURNS: " 5 " };
	const { account, caps } = usable(read(t, { at: AT, account: " a ", maxTurns: 3 }, env));
	assert.deepEqual([account, caps], ["a", { turns: 5 }]);
});

test("the largest cap that a ledger takes is taken", (t) => {
	assert.deepEqual(usable(read(t, { at: AT, account: "a", maxCost: 1_000_000 })).caps, { cost: 1e12 });
});

test("a system without modes has no file that others can read", (t) => {
	const { getuid } = process;
	t.after(() => Object.assign(process, { getuid }));
	Object.assign(process, { getuid: undefined });
	usable(read(t, { at: AT, account: "a", maxTurns: 3 }, {}, 0o644));
});

test("a meter without a cap has no lowest one", () => {
	const budget = { at: () => AT, account: "a", zone: "UTC", caps: { turns: 3 }, periods: NO_PERIODS };
	assert.deepEqual(lowestCaps(budget), { turns: 3 });
});
