/** The port's rules, over any store whose rows can be read and changed in one transaction. */
import { checkAccounts, checkAmounts, checkId, checkTtl } from "./checks.ts";
import { type Begun, isPeriodAccount, locate, locateAll, type Located } from "./account-key.ts";
import { PERIODS } from "../core/scopes.ts";
import { LedgerError } from "./faults.ts";
import type { Account, Amounts, Balance, Ledger, Reading, Reservation } from "./port.ts";

/** What is counted of one meter. */
export interface Count {
	/** Lapsed holds included. */
	readonly used: number;
	readonly held: number;
	readonly granted: number;
}

/** The rows of a ledger inside a transaction. Accounts are named by their keys. */
export interface Rows extends Begun {
	/** The creator's caps; undefined if nobody has joined. */
	caps(key: string): Amounts | undefined;
	/** Sets the creator's caps unless there are some. */
	create(key: string, caps: Amounts): void;
	/** Makes sure that the account is there, and notes until when it is in use. */
	touch(key: string, until: number): void;
	counts(key: string, now: number): ReadonlyMap<string, Count>;
	charge(key: string, meter: string, amount: number): void;
	grant(key: string, meter: string, amount: number): void;
	/** The accounts in which this id holds something. */
	heldIn(id: string): readonly string[];
	hold(id: string, key: string, meter: string, amount: number, until: number): void;
	prolong(id: string, until: number): void;
	/** Holds in the account last no longer than that. */
	shorten(key: string, until: number): void;
	release(id: string): void;
	isDone(id: string): boolean;
	done(id: string, now: number): void;
}

export interface Store {
	/** Either all that `work` does takes effect or, if it throws, nothing. It may run more than once. */
	transact<T>(mode: "read" | "write", work: (rows: Rows, now: number) => T): Promise<T>;
	close(): void;
}

export class Books implements Ledger {
	readonly #store: Store;
	readonly #longest: number;

	/** `longest`: how long a lease may be, in milliseconds. */
	constructor(store: Store, longest: number) {
		this.#store = store;
		this.#longest = longest;
	}

	async join(account: Account): Promise<Reading> {
		checkAccounts([account]);
		return this.#store.transact("write", (rows, now) => {
			const located = locate(account, now, rows);
			touch(rows, located, now);
			if (!isPeriodAccount(account)) rows.create(located.key, account.caps);
			return read(rows, located, now);
		});
	}

	async reserve(id: string, accounts: readonly Account[], amounts: Amounts, ttl: number): Promise<Reservation> {
		checkId(id);
		checkAccounts(accounts);
		checkAmounts("amounts", amounts);
		checkTtl(ttl, this.#longest);
		if (accounts.length === 0 || Object.keys(amounts).length === 0)
			throw new RangeError("reserve: expected at least one account and one meter.");
		return this.#store.transact("write", (rows, now): Reservation => {
			const held = rows.heldIn(id);
			const located = locateAll(accounts, now, rows, held);
			const readings = located.map((each) => readJoined(rows, each, now));
			if (held.length > 0) return { granted: true, readings };
			if (rows.isDone(id)) throw new RangeError(`reserve: the id ${JSON.stringify(id)} has been settled.`);
			// After the clock has gone back a hold would outlive its dead holder by as much.
			for (const { key } of located) rows.shorten(key, now + this.#longest);
			const refusal = refusalOf(readings, amounts);
			if (refusal) return refusal;
			for (const each of located) {
				touch(rows, each, now);
				for (const [meter, amount] of Object.entries(amounts)) rows.hold(id, each.key, meter, amount, now + ttl);
			}
			return { granted: true, readings: readings.map((reading) => withHeld(reading, amounts)) };
		});
	}

	async settle(id: string, accounts: readonly Account[], amounts: Amounts): Promise<readonly Reading[]> {
		checkId(id);
		checkAccounts(accounts);
		checkAmounts("amounts", amounts);
		return this.#store.transact("write", (rows, now) => {
			const held = rows.heldIn(id);
			const located = locateAll(accounts, now, rows, held);
			if (!rows.isDone(id)) {
				for (const each of located) {
					touch(rows, each, now);
					for (const [meter, amount] of Object.entries(amounts)) rows.charge(each.key, meter, amount);
				}
				rows.release(id);
				rows.done(id, now);
			}
			return located.map((each) => read(rows, each, now));
		});
	}

	async renew(ids: readonly string[], ttl: number): Promise<void> {
		ids.forEach(checkId);
		checkTtl(ttl, this.#longest);
		if (ids.length === 0) return;
		await this.#store.transact("write", (rows, now) => {
			for (const id of ids) {
				rows.prolong(id, now + ttl);
				// An agent may be silent for hours.
				for (const key of rows.heldIn(id)) rows.touch(key, now);
			}
		});
	}

	async raise(id: string, account: Account, by: Amounts): Promise<Reading> {
		checkId(id);
		checkAccounts([account]);
		checkAmounts("by", by);
		return this.#store.transact("write", (rows, now) => {
			const located = locate(account, now, rows);
			const { meters } = readJoined(rows, located, now);
			if (!rows.isDone(id)) {
				touch(rows, located, now);
				for (const [meter, amount] of Object.entries(by))
					rows.grant(located.key, meter, amount + overdraft(meters[meter]));
				rows.done(id, now);
			}
			return read(rows, located, now);
		});
	}

	async read(accounts: readonly Account[]): Promise<readonly Reading[]> {
		checkAccounts(accounts);
		return this.#store.transact("read", (rows, now) =>
			locateAll(accounts, now, rows).map((each) => readJoined(rows, each, now)),
		);
	}

	close(): void {
		this.#store.close();
	}
}

/** A period is in use until its end. */
function touch(rows: Rows, { key, end = 0 }: Located, now: number): void {
	rows.touch(key, Math.max(end, now));
}

/** Finds the outermost account that is full. */
function refusalOf(readings: readonly Reading[], amounts: Amounts): Reservation | undefined {
	for (const scope of ["fleet", ...PERIODS, "tree"]) {
		for (const full of readings.filter(({ account }) => account.scope === scope)) {
			const meters = Object.entries(full.meters).filter(([meter, balance]) => isFull(balance, amounts[meter] ?? 0));
			if (meters.length === 0) continue;
			const spent = meters.some(([, { used, cap }]) => cap !== "unlimited" && used >= cap);
			return { granted: false, readings, full, meters: meters.map(([meter]) => meter), spent };
		}
	}
	return undefined;
}

function isFull({ used, held, cap }: Balance, amount: number): boolean {
	if (cap === "unlimited") return false;
	return used + held >= cap || (held > 0 && used + held + amount > cap);
}

function overdraft(balance: Balance | undefined): number {
	return balance === undefined || balance.cap === "unlimited" ? 0 : Math.max(0, balance.used - balance.cap);
}

/** The reading once the amounts are held. */
export function withHeld({ account, meters }: Reading, amounts: Amounts): Reading {
	const more = Object.entries(amounts).map(([meter, amount]): [string, Balance] => {
		const { used, held, cap } = meters[meter] ?? { used: 0, held: 0, cap: "unlimited" };
		return [meter, { used, held: held + amount, cap }];
	});
	return { account, meters: { ...meters, ...Object.fromEntries(more) } };
}

function readJoined(rows: Rows, located: Located, now: number): Reading {
	const { account, key } = located;
	if (isPeriodAccount(account)) return read(rows, located, now, {});
	const creators = rows.caps(key);
	if (creators === undefined)
		throw new LedgerError("unjoined", `The ledger does not know the ${account.scope} ${account.name}.`);
	return read(rows, located, now, creators);
}

function read(rows: Rows, { account, key }: Located, now: number, creators = rows.caps(key)): Reading {
	const counts = rows.counts(key, now);
	const balance = (meter: string): Balance => {
		const { used, held, granted } = counts.get(meter) ?? { used: 0, held: 0, granted: 0 };
		const cap = Math.min(account.caps[meter] ?? Infinity, creators?.[meter] ?? Infinity);
		return { used, held, cap: cap === Infinity ? "unlimited" : cap + granted };
	};
	const meters = new Set([...Object.keys(account.caps), ...Object.keys(creators ?? {}), ...counts.keys()]);
	return { account, meters: Object.fromEntries([...meters].map((meter) => [meter, balance(meter)])) };
}
