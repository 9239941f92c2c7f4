/**
 * The ledger counts what several agents spend of one budget. Every engine keeps the contract of this file;
 * test/ledger/contract.ts tests it.
 *
 * Time is the ledger's clock, in milliseconds. Misuse rejects with a RangeError and changes nothing. If the store cannot
 * be used, every operation rejects with a `LedgerError` within 5 s; it may have taken effect all the same, so repeat it
 * with the same id.
 */

import type { Period } from "../core/scopes.ts";

/** Whole numbers from 0 to `LEDGER_MOST`, by meter. Cost is in millionths of a dollar. */
export type Amounts = Readonly<Record<string, number>>;

/**
 * Where something is counted, and the caps that its reader sets; a meter without a cap is counted and unlimited.
 * From the outermost to the innermost: fleet, month, week, day, tree.
 *
 * A fleet and a tree have the caps of whoever joined first. A later reader's own cap binds that reader only, and only
 * where it is lower. A period has no caps of its own: each reader's cap is its own, so that a changed setting takes
 * effect at once. Grants come on top, for every reader.
 */
export type Account =
	FleetAccount | { readonly scope: "tree"; readonly name: string; readonly caps: Amounts } | PeriodAccount;

/**
 * A calendar day, ISO week or month. Without a date it is the one in which the id was reserved, otherwise the one that
 * runs, whatever zone it began in; if none runs, one begins, of a later date than the last one.
 */
export interface PeriodAccount {
	readonly scope: Period;
	/** Where a period that begins is on the calendar. */
	readonly zone: string;
	/** A period that begins has the zone of the last one, if there was one. */
	readonly keepsZone?: boolean;
	/** `2026-11-18`, `2026-W47` or `2026-11`, in this zone. */
	readonly date?: string;
	/** Without a date: "runs" means at this moment, by default now. */
	readonly at?: number;
	readonly caps: Amounts;
}

export interface FleetAccount {
	readonly scope: "fleet";
	readonly name: string;
	/** It counts one day, week or month, and its name ends with it: a week later the ledger may forget the account. */
	readonly period?: Period;
	/** Where its period is on the calendar. */
	readonly zone?: string;
	readonly caps: Amounts;
}

/** One meter of an account. `used` includes lapsed holds, `cap` what was granted; `used` can be above `cap`. */
export interface Balance {
	readonly used: number;
	readonly held: number;
	readonly cap: number | "unlimited";
}

/** An account as its reader sees it; a period has its date. */
export interface Reading {
	readonly account: Account;
	/** Every meter that has a cap or a count. */
	readonly meters: Readonly<Record<string, Balance>>;
}

export type Reservation =
	| { readonly granted: true; readonly readings: readonly Reading[] }
	| {
			readonly granted: false;
			readonly readings: readonly Reading[];
			/** The outermost account that is full. */
			readonly full: Reading;
			/** Which of its meters are full. */
			readonly meters: readonly string[];
			/** False while only what others hold stands in the way: it may fit once they have settled. */
			readonly spent: boolean;
	  };

/** Readings come in the order of the accounts that were given. */
export interface Ledger {
	/** Creates the account, or joins it as it is. A fleet or a tree has to be joined before it is used. */
	join(account: Account): Promise<Reading>;

	/**
	 * Holds the amounts in every account, or in none. Every capped meter is checked, those that `amounts` leaves out as 0.
	 * A meter is full if what is used and held reaches its cap, or would exceed it while others hold something: an estimate
	 * larger than what is left is granted to one holder at a time. So reserve a meter that must be exact one by one.
	 *
	 * The same id is the same hold; an id that has been settled is misuse. After `ttl` the hold lapses: its amounts
	 * count as used until they are settled.
	 */
	reserve(id: string, accounts: readonly Account[], amounts: Amounts, ttl: number): Promise<Reservation>;

	/**
	 * Removes the hold and charges `accounts` with what was really spent, once per id: also after the hold has lapsed, also
	 * without a hold. Never refused, so it can overdraw. Without amounts it releases the hold.
	 */
	settle(id: string, accounts: readonly Account[], amounts: Amounts): Promise<readonly Reading[]>;

	/** Prolongs holds to at least `ttl` from now, lapsed ones too; ids without a hold are ignored. */
	renew(ids: readonly string[], ttl: number): Promise<void>;

	/** Grants `by` on top of the cap, or of what is used where that is more; once per id. */
	raise(id: string, account: Account, by: Amounts): Promise<Reading>;

	read(accounts: readonly Account[]): Promise<readonly Reading[]>;

	close(): void;
}
