/** The ledger of one machine: a SQLite file that any number of processes share. */
import { renameSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout } from "node:timers/promises";
import { locate } from "../account-key.ts";
import { Books, type Store } from "../books.ts";
import { LONGEST } from "../checks.ts";
import { type Connection, connect, sqlite } from "./runtime.ts";
import { toLedgerError } from "./faults.ts";
import { checkLength, isMade, secure, type Secured } from "./file.ts";
import { FAULTS, LedgerError } from "../faults.ts";
import type { Account, Ledger } from "../port.ts";
import { Tables } from "./tables.ts";

export interface SqliteOptions {
	/** Of the ledger alone; a damaged one is moved aside as a whole. */
	readonly directory: string;
	/** The agent directory, in which the other has to be. */
	readonly within: string;
	readonly now?: () => number;
	/** How long an operation may wait for other processes, in milliseconds. */
	readonly deadline?: number;
	/** How large the file may become, in pages of 4 KiB. */
	readonly maxPages?: number;
	/** The type of a path's file system, as statfs gives it. */
	readonly typeOf?: (path: string) => number;
}

/** @throws LedgerError. A damaged ledger is moved aside first, so that the next try opens a new one. */
export async function openSqlite(options: SqliteOptions): Promise<Ledger> {
	return new Books(await openStore(options), LONGEST);
}

/** How long an account has not been used, in milliseconds; undefined if there is no such account. Makes no ledger. @throws LedgerError */
export async function idleTime(options: SqliteOptions, account: Account): Promise<number | undefined> {
	if (!isMade(options.directory)) return undefined;
	const store = await openStore(options);
	try {
		return await store.transact("read", (tables, now) => {
			const last = tables.lastUse(locate(account, now).key);
			return last === undefined ? undefined : now - last;
		});
	} finally {
		store.close();
	}
}

async function openStore(options: SqliteOptions): Promise<SqliteStore> {
	const { directory, within, now = Date.now, deadline = 5_000, maxPages } = options;
	const typeOf = options.typeOf ?? ((path) => statfsSync(path).type);
	const retry = <T>(attempt: () => T): Promise<T> => untilFree(deadline, directory, attempt);
	// Before a file is made, because an empty one is damaged for those who have it.
	sqlite();
	const place = await retry(() => secure(directory, within, typeOf));
	let store: SqliteStore | undefined;
	try {
		return await retry(() => {
			checkLength(place);
			store ??= new SqliteStore(place, open(place.file, maxPages), now, retry);
			store.prepare();
			return store;
		});
	} catch (error) {
		store?.close();
		throw error instanceof LedgerError && FAULTS[error.kind].movesAside ? moveAside(place, error) : error;
	}
}

type Retry = <T>(attempt: () => T) => Promise<T>;

class SqliteStore implements Store {
	readonly #place: Secured;
	readonly #connection: Connection;
	readonly #tables: Tables;
	readonly #now: () => number;
	readonly #retry: Retry;
	#closed = false;

	constructor(place: Secured, connection: Connection, now: () => number, retry: Retry) {
		this.#place = place;
		this.#connection = connection;
		this.#tables = new Tables(connection);
		this.#now = now;
		this.#retry = retry;
	}

	prepare(): void {
		this.#transact("write", (_, now) => this.#tables.prepare(now));
	}

	transact<T>(mode: "read" | "write", work: (tables: Tables, now: number) => T): Promise<T> {
		return this.#retry(() => this.#transact(mode, work));
	}

	#transact<T>(mode: "read" | "write", work: (tables: Tables, now: number) => T): T {
		const { file, inode } = this.#place;
		if (this.#closed) throw new LedgerError("closed", `The ledger ${file} is closed.`);
		// A process that opens it now does not see what we count in the old file.
		if (statSync(file, { throwIfNoEntry: false })?.ino !== inode)
			throw new LedgerError("replaced", `The ledger ${file} was moved or deleted while it was open.`);
		this.#connection.run(mode === "write" ? "BEGIN IMMEDIATE" : "BEGIN");
		try {
			const result = work(this.#tables, this.#now());
			this.#connection.run("COMMIT");
			return result;
		} catch (error) {
			this.#rollback();
			throw error;
		}
	}

	/** Ignores that there is nothing to roll back, because after some errors SQLite does it by itself. */
	#rollback(): void {
		try {
			this.#connection.run("ROLLBACK");
		} catch {
			return;
		}
	}

	close(): void {
		if (this.#closed) return;
		this.#closed = true;
		this.#connection.close();
	}
}

function open(file: string, maxPages: number | undefined): Connection {
	const connection = connect(file);
	const pragma = (name: string): unknown => Object.values(connection.run(`PRAGMA ${name}`)[0] ?? {})[0];
	try {
		// SQLite blocks the whole process while it waits, so `untilFree` does most of the waiting.
		pragma("busy_timeout = 10");
		// SQLite before 3.51.3 can, rarely, damage a file in WAL mode.
		pragma("mmap_size = 0");
		if (pragma("quick_check(1)") !== "ok") throw new LedgerError("damaged", `The ledger ${file} is damaged.`);
		if (pragma("journal_mode = WAL") !== "wal")
			throw new LedgerError("unsuited", `The ledger ${file} is on a file system without shared memory.`);
		pragma("synchronous = NORMAL");
		if (maxPages !== undefined) pragma(`max_page_count = ${maxPages}`);
		return connection;
	} catch (error) {
		connection.close();
		throw error;
	}
}

/** Tries until it works, fails for another reason than a lock, or the deadline has passed. */
async function untilFree<T>(deadline: number, path: string, attempt: () => T): Promise<T> {
	const end = performance.now() + deadline;
	for (;;) {
		try {
			return attempt();
		} catch (error) {
			const known = toLedgerError(error, path);
			if (known instanceof RangeError || FAULTS[known.kind].retry !== "at once" || performance.now() >= end)
				throw known;
		}
		// Random, because processes that come back together collide again.
		await setTimeout(1 + Math.random() * 9);
	}
}

/** Moves the whole directory, because SQLite would apply a journal that is left behind to the next file. */
function moveAside({ file, inode }: Secured, { message }: LedgerError): LedgerError {
	const directory = dirname(file);
	const aside = `${directory}.damaged-${new Date().toISOString().replaceAll(/\D/g, "")}-${process.pid}`;
	const tell = (what: string): LedgerError => new LedgerError("damaged", `${message} ${what}`);
	try {
		if (statSync(file, { throwIfNoEntry: false })?.ino !== inode) return tell("Another process has moved it.");
		renameSync(directory, aside);
		return tell(`It was moved to ${aside}; the next time it is needed, a new one begins.`);
	} catch (error) {
		return tell(`It cannot be moved: ${(error as Error).message}.`);
	}
}
