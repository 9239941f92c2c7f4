/** Debts that have not reached a ledger: one file each, beside the machine's ledger, until an agent pays them. */
import {
	chmodSync,
	closeSync,
	fsyncSync,
	lstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	type Stats,
	writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { asOf } from "./account-key.ts";
import { LedgerError } from "./faults.ts";
import type { Account, Amounts } from "./port.ts";

export interface Debt {
	readonly id: string;
	readonly accounts: readonly Account[];
	readonly amounts: Amounts;
}

/** With more of them beside the ledger its gates are closed: somebody has to find out why nobody pays. */
export const MOST_DEBTS = 1_000;

const DEBT_NAME = /^debt-[\w-]+\.json$/;

export class DebtFiles {
	readonly #directory: string;
	readonly #server: () => string | undefined;

	/** `server`: stands for the fleet's server that this agent uses, if it uses one. Only its own debts are paid there. */
	constructor(directory: string, server: () => string | undefined) {
		this.#directory = directory;
		this.#server = server;
	}

	/** The machine's ledger and the fleet's have a file each, because not every agent can reach both. @throws LedgerError */
	keep({ id, accounts, amounts }: Debt, fleetId: string): void {
		const fleets = accounts.filter(({ scope }) => scope === "fleet");
		const others = accounts.filter(({ scope }) => scope !== "fleet");
		try {
			this.#prepare();
			if (others.length > 0) this.#write(`debt-${id}.json`, { id, accounts: others.map(dated), amounts });
			if (fleets.length > 0) {
				const debt = { server: this.#server(), id: fleetId, accounts: fleets.map(dated), amounts };
				this.#write(`debt-${id}-fleet.json`, debt);
			}
		} catch (error) {
			throw fault(`A debt cannot be kept in ${this.#directory}`, error);
		}
	}

	#prepare(): void {
		mkdirSync(dirname(this.#directory), { recursive: true });
		mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
		own(this.#directory, (stats) => stats.isDirectory());
		if (this.#names().length >= MOST_DEBTS) throw new Error(`there are ${MOST_DEBTS} already`);
	}

	/** It is either there as a whole or not at all, also after a power failure. */
	#write(name: string, debt: object): void {
		const file = join(this.#directory, name);
		const draft = `${file}.${process.pid}`;
		try {
			writeFileSync(draft, JSON.stringify({ version: 1, ...debt }), { mode: 0o600, flush: true });
			renameSync(draft, file);
		} catch (error) {
			// On a full disk a file can be made, but not written.
			rmSync(draft, { force: true });
			throw error;
		}
		const directory = openSync(this.#directory, "r");
		try {
			fsyncSync(directory);
		} finally {
			closeSync(directory);
		}
	}

	/**
	 * Pays those that this agent can pay; `usesHome`: it uses the machine's ledger. Another agent may do so at the same
	 * time: a ledger counts an id once. It forgets an id after a week, so a debt that was paid then, and whose file
	 * stayed, counts twice. @throws LedgerError
	 */
	async pay(usesHome: boolean, settle: (debt: Debt) => Promise<unknown>): Promise<void> {
		for (const name of this.#names()) {
			const file = join(this.#directory, name);
			const debt = this.#read(file, usesHome);
			if (debt === undefined) continue;
			try {
				await settle(debt);
			} catch (error) {
				throw unreadable(file, error);
			}
			remove(file);
		}
		const left = this.#names().length;
		if (left <= MOST_DEBTS) return;
		throw new LedgerError(
			"full",
			`${left} debts of other budgets wait in ${this.#directory}, more than ${MOST_DEBTS}.`,
		);
	}

	#names(): readonly string[] {
		try {
			return readdirSync(this.#directory).filter((name) => DEBT_NAME.test(name));
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
			throw fault(`The debts in ${this.#directory} cannot be read`, error);
		}
	}

	/** Undefined if another agent has paid it, or it is of a ledger that this agent does not use. */
	#read(file: string, usesHome: boolean): Debt | undefined {
		try {
			own(file, (stats) => stats.isFile() && stats.nlink === 1);
			const { server, id, accounts, amounts } = JSON.parse(readFileSync(file, "utf8")) as Partial<Debt> & {
				server?: string;
			};
			if (server === undefined ? !usesHome : server !== this.#server()) return undefined;
			const known = (accounts ?? []).map((account): Account => ({ ...account, caps: {} }));
			return { id: id ?? "", accounts: known, amounts: amounts ?? {} };
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
			throw unreadable(file, error);
		}
	}
}

/** A period is the one in which it was spent. Caps are their reader's. */
function dated(account: Account): object {
	return { ...asOf(account, Date.now()), caps: undefined };
}

/** The user's own, not a link, and nobody else's to read. */
function own(path: string, isKind: (stats: Stats) => boolean): void {
	const stats = lstatSync(path);
	const user = process.geteuid?.() ?? stats.uid;
	if (!isKind(stats) || stats.uid !== user) throw new Error(`${path} is a link, or not the user's own`);
	if ((stats.mode & 0o077) !== 0) chmodSync(path, stats.mode & 0o700);
}

function remove(file: string): void {
	try {
		rmSync(file, { force: true });
	} catch (error) {
		throw fault(`The debt ${file} is paid and cannot be deleted`, error);
	}
}

function unreadable(file: string, error: unknown): LedgerError {
	return fault(`The debt ${file} cannot be paid`, error);
}

function fault(what: string, error: unknown): LedgerError {
	if (error instanceof LedgerError) return error;
	const why = (error as Error).message.replace(/\.$/, "");
	return new LedgerError("unsuited", `${what}: ${why}.`, { cause: error });
}
