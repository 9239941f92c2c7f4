/** A ledger that version 2.0 has made, used by both versions at once. These are 2.0's own statements. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test, type TestContext } from "node:test";
import { defer } from "../harness/wait.ts";
import { type Sandbox, sandbox } from "./sandbox.ts";
import { balance, DAY, day, MINUTE, month, NOON, tree, week } from "./world.ts";

const WEEK = 7 * DAY;

class Version2 {
	readonly #database: DatabaseSync;

	/** Opens the ledger, makes it if need be, and forgets what is old. */
	constructor(t: TestContext, { directory, file }: Sandbox, now: number) {
		mkdirSync(directory, { recursive: true, mode: 0o700 });
		this.#database = new DatabaseSync(file);
		defer(t, () => this.#database.close());
		this.#database.exec(
			"PRAGMA busy_timeout = 10; PRAGMA mmap_size = 0; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL",
		);
		const { user_version: version } = this.#database.prepare("PRAGMA user_version").get() as { user_version: number };
		assert.ok(version <= 1, "it would refuse a newer ledger");
		if (version < 1) {
			this.#database.exec(`
				CREATE TABLE accounts (key TEXT PRIMARY KEY, caps TEXT, touched INTEGER NOT NULL) WITHOUT ROWID;
				CREATE TABLE meters (
					key TEXT NOT NULL, meter TEXT NOT NULL,
					used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0), granted INTEGER NOT NULL DEFAULT 0 CHECK (granted >= 0),
					PRIMARY KEY (key, meter)) WITHOUT ROWID;
				CREATE TABLE holds (
					id TEXT NOT NULL, key TEXT NOT NULL, meter TEXT NOT NULL,
					amount INTEGER NOT NULL CHECK (amount >= 0), until INTEGER NOT NULL,
					PRIMARY KEY (id, key, meter)) WITHOUT ROWID;
				CREATE INDEX holds_by_key ON holds (key);
				CREATE TABLE done (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
				PRAGMA user_version = 1`);
		}
		this.#run(
			`DELETE FROM accounts WHERE touched < ? AND key NOT LIKE 'fleet %'
			AND key NOT IN (SELECT key FROM accounts ORDER BY touched DESC LIMIT 100)`,
			now - WEEK,
		);
		this.#run("DELETE FROM meters WHERE key NOT IN (SELECT key FROM accounts)");
		this.#run("DELETE FROM holds WHERE key NOT IN (SELECT key FROM accounts)");
		this.#run("DELETE FROM done WHERE at < ?", now - WEEK);
	}

	#run(sql: string, ...values: (string | number)[]): Record<string, unknown>[] {
		return this.#database.prepare(sql).all(...values);
	}

	#touch(key: string, now: number): void {
		this.#run(
			`INSERT INTO accounts (key, touched) VALUES (?, ?)
			ON CONFLICT (key) DO UPDATE SET touched = excluded.touched WHERE touched < excluded.touched - 3600000`,
			...[key, now],
		);
	}

	settle(id: string, key: string, turns: number, now: number): void {
		this.#touch(key, now);
		this.#run(
			`INSERT INTO meters (key, meter, used) VALUES (?, ?, ?)
			ON CONFLICT (key, meter) DO UPDATE SET used = used + excluded.used`,
			...[key, "turns", turns],
		);
		this.#run("DELETE FROM holds WHERE id = ?", id);
		this.#run("INSERT INTO done (id, at) VALUES (?, ?)", id, now);
	}

	hold(id: string, key: string, now: number): void {
		this.#touch(key, now);
		const values = [id, key, "turns", 1, now + MINUTE];
		this.#run("INSERT INTO holds (id, key, meter, amount, until) VALUES (?, ?, ?, ?, ?)", ...values);
	}

	/** `[used, held]` */
	counts(key: string, now: number): unknown[] {
		const [row = {}] = this.#run(
			`SELECT meter, SUM(used) AS used, SUM(held) AS held, SUM(granted) AS granted FROM (
				SELECT meter, used, 0 AS held, granted FROM meters WHERE key = ? UNION ALL
				SELECT meter, IIF(until > ?, 0, amount), IIF(until > ?, amount, 0), 0 FROM holds WHERE key = ?
			) GROUP BY meter`,
			...[key, now, now, key],
		);
		return [row["used"], row["held"]];
	}
}

const TODAY = "day UTC 2026-02-03";

test("a ledger that 2.0 has made counts on, and both versions see what the other spends and holds", async (t) => {
	const box = sandbox(t);
	const old = new Version2(t, box, NOON);
	old.settle("a", TODAY, 2, NOON);
	old.hold("b", TODAY, NOON);
	const ledger = await box.open({ now: () => NOON });
	assert.deepEqual(await balance(ledger, day({ turns: 5 })), [2, 1, 5]);
	await ledger.reserve("c", [day({ turns: 5 }), month({ turns: 9 })], { turns: 1 }, MINUTE);
	assert.deepEqual(old.counts(TODAY, NOON), [2, 2]);
	await ledger.settle("c", [day(), month()], { turns: 1 });
	old.settle("b", TODAY, 1, NOON);
	assert.deepEqual(old.counts(TODAY, NOON), [4, 0]);
	assert.deepEqual(await balance(ledger, day({ turns: 5 })), [4, 0, 5]);
	assert.deepEqual(await balance(ledger, month({ turns: 9 })), [1, 0, 9]);
});

test("what 2.0 forgets on opening is no period of ours that has not ended a week ago", async (t) => {
	const box = sandbox(t);
	const first = Date.UTC(2026, 10, 1);
	const ledger = await box.open({ now: () => first });
	await ledger.settle("a", [day(), week(), month()], { turns: 1 });
	for (const [now, left] of [
		[Date.UTC(2026, 10, 8), ["2026-11-01", "2026-W44", "2026-11"]],
		[Date.UTC(2026, 11, 1) + WEEK, ["2026-11"]],
		[Date.UTC(2026, 11, 1) + WEEK + 1, []],
	] as const) {
		const old = new Version2(t, box, now);
		for (let i = 0; i < 120; i++) old.settle(`${now} ${i}`, `tree ${now} ${i}`, 1, now);
		new Version2(t, box, now);
		const dates = ["day UTC 2026-11-01", "week UTC 2026-W44", "month UTC 2026-11"].filter(
			(key) => old.counts(key, now)[0] === 1,
		);
		assert.deepEqual(
			dates.map((key) => key.split(" ")[2]),
			left,
		);
	}
});

test("a day of 2.0 in another zone is the one that runs", async (t) => {
	const box = sandbox(t);
	new Version2(t, box, NOON).settle("a", TODAY, 3, NOON);
	const ledger = await box.open({ now: () => NOON });
	await ledger.join(tree());
	assert.deepEqual(await balance(ledger, day({ turns: 3 }, "Asia/Tokyo")), [3, 0, 3]);
});
