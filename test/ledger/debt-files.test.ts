/** Debts beside the machine's ledger: kept as a whole, private, and paid once. */
import assert from "node:assert/strict";
import {
	chmodSync,
	chownSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { type Debt, DebtFiles, MOST_DEBTS } from "../../src/ledger/debt-files.ts";
import { serverIn } from "../../src/ledger/postgres/address.ts";
import { LedgerError } from "../../src/ledger/faults.ts";
import type { Account } from "../../src/ledger/port.ts";
import { openIn } from "./sandbox.ts";

const tree: Account = { scope: "tree", name: "t", caps: { turns: 3 } };
const day: Account = { scope: "day", zone: "UTC", date: "2026-02-03", caps: { cost: 9 } };
const fleet: Account = { scope: "fleet", name: "team", caps: { turns: 9 } };
const amounts = { turns: 1, cost: 5_000_000 };

function folder(t: TestContext): string {
	const path = mkdtempSync(join(tmpdir(), "debts-"));
	t.after(() => rmSync(path, { recursive: true }));
	return join(path, "agent", "ledger.debts");
}

async function paid(files: DebtFiles): Promise<Debt[]> {
	const debts: Debt[] = [];
	await files.pay(true, (debt) => Promise.resolve(debts.push(debt)));
	return debts;
}

const uncapped = (account: Account): Account => ({ ...account, caps: {} });
const files = (path: string, server?: string): DebtFiles => new DebtFiles(path, () => server);

test("a debt is kept in a private file, with its dated account and no cap, and is paid once", async (t) => {
	const path = folder(t);
	files(path).keep({ id: "a", accounts: [day, tree], amounts }, "a");
	assert.deepEqual(readdirSync(path), ["debt-a.json"]);
	assert.deepEqual([statSync(path).mode & 0o777, statSync(join(path, "debt-a.json")).mode & 0o777], [0o700, 0o600]);
	assert.deepEqual(await paid(files(path)), [{ id: "a", accounts: [uncapped(day), uncapped(tree)], amounts }]);
	assert.deepEqual([readdirSync(path), await paid(files(path))], [[], []]);
});

test("a day that has no date yet is the one that ran when the debt was kept, or at the moment that it names", async (t) => {
	const path = folder(t);
	t.mock.timers.enable({ apis: ["Date"], now: 5000 });
	const undated: Account = { scope: "day", zone: "UTC", caps: {} };
	files(path).keep({ id: "a", accounts: [undated], amounts }, "a");
	files(path).keep({ id: "b", accounts: [{ ...undated, at: 7 }], amounts }, "b");
	const debts = await paid(files(path));
	assert.deepEqual(
		debts.map(({ accounts }) => accounts),
		[[{ ...undated, at: 5000 }], [{ ...undated, at: 7 }]],
	);
});

test("the same debt, kept twice, is one", async (t) => {
	const path = folder(t);
	for (let i = 0; i < 2; i++) files(path).keep({ id: "a", accounts: [tree], amounts }, "a");
	assert.equal((await paid(files(path))).length, 1);
});

test("a debt that cannot be kept leaves no draft", (t) => {
	const path = folder(t);
	mkdirSync(join(path, "debt-a.json"), { recursive: true, mode: 0o700 });
	assert.throws(() => files(path).keep({ id: "a", accounts: [tree], amounts }, "a"), LedgerError);
	assert.deepEqual(readdirSync(path), ["debt-a.json"]);
});

test("nothing is owed where nothing was ever kept, and other files are nobody's debt", async (t) => {
	const path = folder(t);
	assert.deepEqual(await paid(files(path)), []);
	mkdirSync(path, { recursive: true, mode: 0o700 });
	for (const name of ["debt-a.json.77", ".debt-a.json", "notes.txt"]) writeFileSync(join(path, name), "x");
	assert.deepEqual(await paid(files(path)), []);
});

test("a directory that others could read is made private", (t) => {
	const path = folder(t);
	mkdirSync(path, { recursive: true });
	chmodSync(path, 0o755);
	files(path).keep({ id: "a", accounts: [tree], amounts }, "a");
	assert.equal(statSync(path).mode & 0o777, 0o700);
});

describe("a fleet's part of a debt", () => {
	const there = serverIn("postgres://agent:secret@db.example/budgets");

	test("is a file of its own, by the id that the fleet knows, and shows neither address nor login", (t) => {
		const path = folder(t);
		files(path, there).keep({ id: "a", accounts: [fleet, tree], amounts }, "a-there");
		const texts = readdirSync(path).map((name) => readFileSync(join(path, name), "utf8"));
		assert.deepEqual(readdirSync(path), ["debt-a-fleet.json", "debt-a.json"]);
		assert.doesNotMatch(texts.join(), /db\.example|budgets|agent|secret/);
		assert.equal((JSON.parse(texts[0] ?? "") as Debt).id, "a-there");
		assert.equal((JSON.parse(texts[1] ?? "") as Debt).id, "a");
	});

	test("is the only file where nothing is owed to the machine's ledger", (t) => {
		const path = folder(t);
		files(path, there).keep({ id: "a", accounts: [fleet], amounts }, "a");
		assert.deepEqual(readdirSync(path), ["debt-a-fleet.json"]);
	});

	test("is paid by whoever uses that server, and by nobody else", async (t) => {
		const path = folder(t);
		files(path, there).keep({ id: "a", accounts: [fleet, tree], amounts }, "a");
		const scopes = (debts: readonly Debt[]): unknown[] => debts.map(({ accounts }) => accounts[0]?.scope);
		const elsewhere = serverIn("postgres://agent:secret@other.example/budgets");
		assert.deepEqual(scopes(await paid(files(path, elsewhere))), ["tree"]);
		assert.deepEqual(scopes(await paid(files(path))), []);
		const otherLogin = serverIn("postgres://ada:hidden@db.example/budgets?sslmode=require");
		assert.deepEqual(scopes(await paid(files(path, otherLogin))), ["fleet"]);
	});

	test("is paid by an agent that does not use the machine's ledger, and the rest is left to others", async (t) => {
		const path = folder(t);
		files(path, there).keep({ id: "a", accounts: [fleet, tree], amounts }, "a");
		const settled: unknown[] = [];
		await files(path, there).pay(false, ({ accounts }) => Promise.resolve(settled.push(accounts[0]?.scope)));
		assert.deepEqual([settled, readdirSync(path)], [["fleet"], ["debt-a.json"]]);
	});

	test("of another server, database or port is another's", () => {
		const all = ["db/one", "db/two", "db:5433/one", "dc/one", "db,dc/one"];
		assert.equal(new Set(all.map((at) => serverIn(`postgres://a@${at}`))).size, all.length);
	});
});

describe("a debt stays, and the gate is closed,", () => {
	const kept = (t: TestContext): string => {
		const path = folder(t);
		files(path).keep({ id: "a", accounts: [tree], amounts }, "a");
		return path;
	};

	test("if the ledger fails", async (t) => {
		const path = kept(t);
		const failure = new LedgerError("locked", "It is locked.");
		await assert.rejects(
			files(path).pay(true, () => Promise.reject(failure)),
			failure,
		);
		assert.deepEqual(readdirSync(path), ["debt-a.json"]);
	});

	test("if the ledger finds it wrong", async (t) => {
		const path = kept(t);
		const misuse = files(path).pay(true, () => Promise.reject(new RangeError("amounts.turns: expected 1.")));
		await assert.rejects(misuse, {
			name: "LedgerError",
			message: /^The debt .*debt-a\.json cannot be paid: amounts\.turns: expected 1\.$/,
		});
	});

	for (const [what, harm] of [
		["is no JSON", (file: string) => writeFileSync(file, "{")],
		["holds no object", (file: string) => writeFileSync(file, "null")],
		["has accounts that are no list", (file: string) => writeFileSync(file, '{"id":"a","accounts":{}}')],
		["is a directory", (file: string) => (rmSync(file), mkdirSync(file))],
		["has two names", (file: string) => linkSync(file, `${file}.77`)],
		["is a link", (file: string) => (renameSync(file, `${file}.moved`), symlinkSync(`${file}.moved`, file))],
	] as const) {
		test(`if its file ${what}`, async (t) => {
			const path = kept(t);
			harm(join(path, "debt-a.json"));
			const settled: Debt[] = [];
			const paying = files(path).pay(true, (debt) => Promise.resolve(settled.push(debt)));
			await assert.rejects(paying, { name: "LedgerError", kind: "unsuited", message: /^The debt .*cannot be paid: / });
			assert.deepEqual(settled, []);
		});
	}

	test("if its file says nothing of what is owed: the ledger is asked, and refuses it", async (t) => {
		const path = kept(t);
		writeFileSync(join(path, "debt-a.json"), "{}");
		const asked: Debt[] = [];
		const refuse = (debt: Debt): Promise<never> => (asked.push(debt), Promise.reject(new RangeError("id: expected")));
		await assert.rejects(files(path).pay(true, refuse), ({ cause }: Error) => cause instanceof RangeError);
		assert.deepEqual(asked, [{ id: "", accounts: [], amounts: {} }]);
		assert.deepEqual(readdirSync(path), ["debt-a.json"]);
	});

	test("if it is paid and its file cannot be deleted", async (t) => {
		const path = kept(t);
		chmodSync(path, 0o500);
		const user = process.geteuid?.();
		if (user === 0) {
			chmodSync(join(path, "../.."), 0o755);
			for (const each of [path, join(path, "debt-a.json")]) chownSync(each, 65534, 65534);
			process.seteuid?.(65534);
		}
		try {
			await assert.rejects(paid(files(path)), {
				name: "LedgerError",
				message: /^The debt .*debt-a\.json is paid and cannot be deleted: EACCES/,
			});
		} finally {
			if (user === 0) process.seteuid?.(0);
			chmodSync(path, 0o700);
		}
	});

	test("if their directory cannot be read", async (t) => {
		const path = kept(t);
		rmSync(path, { recursive: true });
		writeFileSync(path, "");
		await assert.rejects(paid(files(path)), {
			name: "LedgerError",
			message: /^The debts in .* cannot be read: ENOTDIR/,
		});
	});
});

test("no file stays open when debts are kept and paid", async (t) => {
	const path = folder(t);
	for (const id of ["a", "b", "c"]) files(path).keep({ id, accounts: [tree], amounts }, id);
	await paid(files(path));
	assert.deepEqual(openIn(path), []);
});

test("debts are not kept in a directory of somebody else", (t) => {
	if (process.geteuid?.() === 0) {
		process.seteuid?.(65534);
		t.after(() => process.seteuid?.(0));
	}
	const keep = (): void => files("/usr").keep({ id: "a", accounts: [tree], amounts }, "a");
	assert.throws(keep, { message: "A debt cannot be kept in /usr: /usr is a link, or not the user's own." });
});

test("a debt that another agent pays at the same time is no fault", async (t) => {
	const path = folder(t);
	for (const id of ["a", "b"]) files(path).keep({ id, accounts: [tree], amounts }, id);
	const seen: string[] = [];
	await files(path).pay(true, async ({ id }) => {
		seen.push(id);
		await paid(files(path));
	});
	assert.deepEqual([seen, readdirSync(path)], [["a"], []]);
});

test("a thousand debts of others leave the gate open, one more closes it, and none is added", async (t) => {
	const path = folder(t);
	mkdirSync(path, { recursive: true, mode: 0o700 });
	const debt = JSON.stringify({ version: 1, server: "elsewhere", id: "x", accounts: [fleet], amounts });
	const add = (n: number): void => writeFileSync(join(path, `debt-${n}.json`), debt);
	for (let n = 1; n < MOST_DEBTS; n++) add(n);
	files(path).keep({ id: "last", accounts: [tree], amounts }, "last");
	assert.throws(() => files(path).keep({ id: "more", accounts: [tree], amounts }, "more"), {
		name: "LedgerError",
		message: /^A debt cannot be kept in .*: there are 1000 already\.$/,
	});
	assert.equal((await paid(files(path))).length, 1);
	add(MOST_DEBTS);
	assert.deepEqual(await paid(files(path)), []);
	add(MOST_DEBTS + 1);
	await assert.rejects(paid(files(path)), {
		name: "LedgerError",
		kind: "full",
		message: `1001 debts of other budgets wait in ${path}, more than 1000.`,
	});
});

test("a debt that cannot be written is named", (t) => {
	const path = folder(t);
	mkdirSync(join(path, ".."), { recursive: true });
	writeFileSync(path, "");
	assert.throws(() => files(path).keep({ id: "a", accounts: [tree], amounts }, "a"), {
		name: "LedgerError",
		message: /^A debt cannot be kept in .*: EEXIST/,
	});
	rmSync(path);
	assert.throws(() => files(path).keep({ id: "no/name", accounts: [tree], amounts }, "a"), {
		message: /^A debt cannot be kept in .*: ENOENT: no such file or directory, open /,
	});
	rmSync(path, { recursive: true });
	mkdirSync(join(path, "../elsewhere"));
	symlinkSync("elsewhere", path);
	assert.throws(() => files(path).keep({ id: "a", accounts: [tree], amounts }, "a"), { message: /is a link, or not/ });
});
