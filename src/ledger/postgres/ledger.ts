/** The ledger of a fleet: a PostgreSQL database that sql/fleet.sql has set up. Its functions keep the port's rules. */
import { setTimeout } from "node:timers/promises";
import { type Address, parseAddress } from "./address.ts";
import { withHeld } from "../books.ts";
import { checkAccounts, checkAmounts, checkId, checkTtl } from "../checks.ts";
import { type ServerConnection, openConnection } from "./connection.ts";
import { LedgerError } from "../faults.ts";
import type { Account, Amounts, Ledger, Reading, Reservation } from "../port.ts";
import { type ServerAnswer, toAnswer } from "./answer.ts";
import { notUnderstood, toFailure, tooLate } from "./faults.ts";

export interface PostgresOptions {
	/** `postgres://user:password@host/database` */
	readonly address: string;
	/** How long an operation may take, in milliseconds. */
	readonly deadline?: number;
	/** Closes it, also while it is being opened. */
	readonly closing?: AbortSignal;
}

/** @throws LedgerError. Later, every operation connects again if the connection was lost. */
export async function openPostgres({ address, deadline = 5_000, closing }: PostgresOptions): Promise<Ledger> {
	const ledger = new PostgresLedger(parseAddress(address), deadline);
	closing?.addEventListener("abort", () => ledger.close(), { once: true });
	if (closing?.aborted) ledger.close();
	await ledger.open();
	return ledger;
}

interface ServerRequest {
	readonly accounts?: readonly Account[];
	readonly [other: string]: unknown;
}

class PostgresLedger implements Ledger {
	readonly #address: Address;
	readonly #deadline: number;
	#connection: Promise<ServerConnection> | undefined;
	#isOpen = false;
	readonly #closing = new AbortController();

	constructor(address: Address, deadline: number) {
		this.#address = address;
		this.#deadline = deadline;
	}

	async open(): Promise<void> {
		await this.#attempt("open", () => Promise.resolve());
		this.#isOpen = true;
	}

	async join(account: Account): Promise<Reading> {
		check([account]);
		const [reading] = toReadings([account], await this.#call("join", { accounts: [account] }));
		return reading as Reading;
	}

	async reserve(id: string, accounts: readonly Account[], amounts: Amounts, ttl: number): Promise<Reservation> {
		checkId(id);
		check(accounts);
		checkAmounts("amounts", amounts);
		checkTtl(ttl);
		const answer = await this.#call("reserve", { id, accounts, amounts, ttl });
		const readings = toReadings(accounts, answer);
		if (answer.granted) {
			const withIt = readings.map((reading) => withHeld(reading, amounts));
			return { granted: true, readings: answer.isNew ? withIt : readings };
		}
		const full = readings[answer.full] as Reading;
		return { granted: false, readings, full, meters: answer.meters, spent: answer.spent };
	}

	async settle(id: string, accounts: readonly Account[], amounts: Amounts): Promise<readonly Reading[]> {
		checkId(id);
		check(accounts);
		checkAmounts("amounts", amounts);
		return toReadings(accounts, await this.#call("settle", { id, accounts, amounts }));
	}

	async renew(ids: readonly string[], ttl: number): Promise<void> {
		ids.forEach(checkId);
		checkTtl(ttl);
		if (ids.length > 0) await this.#call("renew", { ids, ttl });
	}

	async raise(id: string, account: Account, by: Amounts): Promise<Reading> {
		checkId(id);
		check([account]);
		checkAmounts("by", by);
		const answer = await this.#call("raise", { id, accounts: [account], amounts: by });
		return toReadings([account], answer)[0] as Reading;
	}

	async read(accounts: readonly Account[]): Promise<readonly Reading[]> {
		check(accounts);
		return toReadings(accounts, await this.#call("read", { accounts }));
	}

	close(): void {
		this.#closing.abort();
		this.#drop(this.#connection);
	}

	async #call(operation: string, request: ServerRequest): Promise<ServerAnswer> {
		const given = await this.#attempt(operation, (connection) => connection.call(operation, request));
		const answer = toAnswer(given, request.accounts?.length ?? 0);
		if (answer === undefined) throw notUnderstood(this.#address);
		return answer;
	}

	/**
	 * Within the deadline. After what may be over in a moment it tries again, because every operation can be repeated: a
	 * server that restarts does not stop the agents. A server that was never reached is tried once.
	 */
	async #attempt<T>(operation: string, work: (connection: ServerConnection) => Promise<T>): Promise<T> {
		const end = performance.now() + this.#deadline;
		const late = tooLate(this.#address, this.#deadline);
		let reason: Error = late;
		const closing = this.#closing.signal;
		for (let wait = 0; ; wait = 50 + Math.random() * 200) {
			if (this.#isClosed()) throw new LedgerError("closed", `The ledger ${this.#address.shown} is closed.`);
			const connecting = (this.#connection ??= openConnection(this.#address, end, late, closing));
			let connected: ServerConnection | undefined;
			try {
				const working = connecting.then((connection) => work((connected = connection)));
				return await before(end, late, closing, working);
			} catch (error) {
				if (this.#isClosed()) continue;
				const { error: fault, harmless, passing } = toFailure(error, this.#address, operation);
				if (!harmless || !connected) this.#drop(connecting);
				const isPassing = passing === "busy" || (passing === "lost" && this.#isOpen);
				if (fault !== late) reason = fault;
				if (!isPassing || performance.now() + wait >= end) throw reason;
				// Random, because agents that come back together collide again.
				await setTimeout(wait, undefined, { signal: closing }).catch(() => {});
			}
		}
	}

	#isClosed(): boolean {
		return this.#closing.signal.aborted;
	}

	/** The next operation makes a new one. */
	#drop(connecting: Promise<ServerConnection> | undefined): void {
		if (this.#connection === connecting) this.#connection = undefined;
		connecting?.then(
			(connection) => connection.close(),
			() => {},
		);
	}
}

function check(accounts: readonly Account[]): void {
	checkAccounts(accounts);
	const other = accounts.find(({ scope }) => scope !== "fleet");
	if (other) throw new RangeError(`scope: expected fleet, got ${other.scope}.`);
}

function toReadings(accounts: readonly Account[], { readings }: ServerAnswer): Reading[] {
	return accounts.map((account, i) => ({ account, meters: readings[i] ?? {} }));
}

/** Leaves no timer behind. */
async function before<T>(end: number, late: Error, closing: AbortSignal, work: Promise<T>): Promise<T> {
	const over = new AbortController();
	const stop = (): void => over.abort();
	closing.addEventListener("abort", stop);
	const timer = setTimeout(end - performance.now(), undefined, { signal: over.signal }).then(() => {
		throw late;
	});
	try {
		return await Promise.race([work, timer]);
	} finally {
		timer.catch(() => {});
		stop();
		closing.removeEventListener("abort", stop);
	}
}
