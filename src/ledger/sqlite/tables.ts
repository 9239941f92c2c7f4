/** The ledger's tables. */
import type { Count, Rows } from "../books.ts";
import type { Period } from "../../core/scopes.ts";
import { WEEK } from "../checks.ts";
import type { Connection } from "./runtime.ts";
import { LedgerError } from "../faults.ts";
import type { Amounts } from "../port.ts";

const VERSION = 1;

/** Accounts of each kind that are kept however old they seem, in case it is the clock that is wrong. */
const KEPT = 100;

/** How exact the last use of an account is, in milliseconds. */
const MINUTE = 60 * 1000;

const SCHEMA = [
	`CREATE TABLE accounts (key TEXT PRIMARY KEY, caps TEXT, touched INTEGER NOT NULL) WITHOUT ROWID`,
	`CREATE TABLE meters (
		key TEXT NOT NULL, meter TEXT NOT NULL,
		used INTEGER NOT NULL DEFAULT 0 CHECK (used >= 0), granted INTEGER NOT NULL DEFAULT 0 CHECK (granted >= 0),
		PRIMARY KEY (key, meter)) WITHOUT ROWID`,
	`CREATE TABLE holds (
		id TEXT NOT NULL, key TEXT NOT NULL, meter TEXT NOT NULL,
		amount INTEGER NOT NULL CHECK (amount >= 0), until INTEGER NOT NULL,
		PRIMARY KEY (id, key, meter)) WITHOUT ROWID`,
	`CREATE INDEX holds_by_key ON holds (key)`,
	`CREATE TABLE done (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID`,
	`PRAGMA user_version = ${VERSION}`,
];

const COLUMNS = [
	...["accounts.key", "accounts.caps", "accounts.touched", "done.id", "done.at"],
	...["meters.key", "meters.meter", "meters.used", "meters.granted"],
	...["holds.id", "holds.key", "holds.meter", "holds.amount", "holds.until"],
];

export class Tables implements Rows {
	readonly #run: Connection["run"];

	constructor({ run }: Connection) {
		this.#run = run;
	}

	/** Makes the tables if there are none, and forgets what is old. */
	prepare(now: number): void {
		const version = Number(this.#run("PRAGMA user_version")[0]?.["user_version"]);
		if (version > VERSION) throw new LedgerError("unsuited", "The ledger was made by a newer pi-turn-limit.");
		const isNew = version < VERSION && this.#run("SELECT name FROM sqlite_schema").length === 0;
		if (isNew) for (const statement of SCHEMA) this.#run(statement);
		else if (version < VERSION || !this.#hasEveryColumn())
			throw new LedgerError("damaged", "The ledger has lost its tables or its version.");
		this.#forget(now - WEEK);
	}

	#hasEveryColumn(): boolean {
		const rows = this.#run(`SELECT tables.name || '.' || columns.name AS path
			FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns`);
		return COLUMNS.every((column) => rows.some(({ path }) => path === column));
	}

	/** Keeps fleets, because only their operator may end one. */
	#forget(before: number): void {
		this.#run(
			`DELETE FROM accounts WHERE touched < ? AND key IN (SELECT key FROM (
				SELECT key, ROW_NUMBER() OVER (PARTITION BY substr(key, 1, instr(key, ' ')) ORDER BY touched DESC) AS nth
				FROM accounts WHERE key NOT LIKE 'fleet %'
			) WHERE nth > ${KEPT})`,
			before,
		);
		this.#run("DELETE FROM meters WHERE key NOT IN (SELECT key FROM accounts)");
		this.#run("DELETE FROM holds WHERE key NOT IN (SELECT key FROM accounts)");
		this.#run("DELETE FROM done WHERE at < ?", before);
	}

	caps(key: string): Amounts | undefined {
		const caps = this.#run("SELECT caps FROM accounts WHERE key = ?", key)[0]?.["caps"];
		return typeof caps === "string" ? (JSON.parse(caps) as Amounts) : undefined;
	}

	create(key: string, caps: Amounts): void {
		this.#run("UPDATE accounts SET caps = ? WHERE key = ? AND caps IS NULL", JSON.stringify(caps), key);
	}

	touch(key: string, until: number): void {
		this.#run(
			`INSERT INTO accounts (key, touched) VALUES (?, ?)
			ON CONFLICT (key) DO UPDATE SET touched = excluded.touched WHERE touched < excluded.touched - ${MINUTE}`,
			key,
			until,
		);
	}

	begun(period: Period): string[] {
		const keys = this.#run("SELECT key FROM accounts WHERE key >= ? AND key < ?", `${period} `, `${period}!`);
		return keys.map(({ key }) => String(key));
	}

	/** When it was last used; undefined for an account that is not there. */
	lastUse(key: string): number | undefined {
		const touched = this.#run("SELECT touched FROM accounts WHERE key = ?", key)[0]?.["touched"];
		return touched === undefined ? undefined : Number(touched);
	}

	counts(key: string, now: number): Map<string, Count> {
		const rows = this.#run(
			`SELECT meter, SUM(used) AS used, SUM(held) AS held, SUM(granted) AS granted FROM (
				SELECT meter, used, 0 AS held, granted FROM meters WHERE key = ? UNION ALL
				SELECT meter, IIF(until > ?, 0, amount), IIF(until > ?, amount, 0), 0 FROM holds WHERE key = ?
			) GROUP BY meter`,
			key,
			now,
			now,
			key,
		);
		return new Map(rows.map((row) => [String(row["meter"]), row as unknown as Count]));
	}

	charge(key: string, meter: string, amount: number): void {
		this.#run(
			`INSERT INTO meters (key, meter, used) VALUES (?, ?, ?)
			ON CONFLICT (key, meter) DO UPDATE SET used = used + excluded.used`,
			key,
			meter,
			amount,
		);
	}

	grant(key: string, meter: string, amount: number): void {
		this.#run(
			`INSERT INTO meters (key, meter, granted) VALUES (?, ?, ?)
			ON CONFLICT (key, meter) DO UPDATE SET granted = granted + excluded.granted`,
			key,
			meter,
			amount,
		);
	}

	heldIn(id: string): string[] {
		return this.#run("SELECT DISTINCT key FROM holds WHERE id = ?", id).map(({ key }) => String(key));
	}

	hold(id: string, key: string, meter: string, amount: number, until: number): void {
		this.#run(
			"INSERT INTO holds (id, key, meter, amount, until) VALUES (?, ?, ?, ?, ?)",
			id,
			key,
			meter,
			amount,
			until,
		);
	}

	prolong(id: string, until: number): void {
		this.#run("UPDATE holds SET until = MAX(until, ?) WHERE id = ?", until, id);
	}

	shorten(key: string, until: number): void {
		this.#run("UPDATE holds SET until = ? WHERE key = ? AND until > ?", until, key, until);
	}

	release(id: string): void {
		this.#run("DELETE FROM holds WHERE id = ?", id);
	}

	isDone(id: string): boolean {
		return this.#run("SELECT 1 FROM done WHERE id = ?", id).length > 0;
	}

	done(id: string, now: number): void {
		this.#run("INSERT INTO done (id, at) VALUES (?, ?)", id, now);
	}
}
