/** Finds the key of an account, and which period is meant. */
import { dateIn, endOfPeriod, isZone } from "./calendar.ts";
import { isPeriod, type Period } from "../core/scopes.ts";
import type { Account, PeriodAccount } from "./port.ts";

export interface Located {
	/** A period has its date, and the zone of that date. */
	readonly account: Account;
	readonly key: string;
	/** Of a period. */
	readonly end?: number;
}

/** What has begun. */
export interface Begun {
	/** The keys of all accounts of a kind of period. */
	begun(period: Period): readonly string[];
}

const NOTHING: Begun = { begun: () => [] };

/** `held`: the keys of the accounts in which the id holds something. */
export function locateAll(
	accounts: readonly Account[],
	now: number,
	rows: Begun,
	held: readonly string[] = [],
): Located[] {
	const located = accounts.map((account) => locate(account, now, rows, held));
	if (new Set(located.map(({ key }) => key)).size < located.length)
		throw new RangeError("accounts: expected each account once.");
	return located;
}

export function locate(account: Account, now: number, rows = NOTHING, held: readonly string[] = []): Located {
	if (!isPeriodAccount(account)) return { account, key: `${account.scope} ${account.name}` };
	const { scope, at = now } = account;
	const own = { zone: account.zone, date: dateIn(scope, account.zone, at) };
	const found = account.date === undefined ? (heldPeriod(scope, held) ?? running(account, at, rows)) : account;
	const { zone, date = own.date } = found ?? own;
	const end = endOfPeriod(scope, zone, date);
	return { account: { ...account, zone, date }, key: `${scope} ${zone} ${date}`, end };
}

/** Notes the moment for a period without a date: only the ledger knows which one was running then. */
export function asOf(account: Account, moment: number): Account {
	return isPeriodAccount(account) && account.date === undefined ? { at: moment, ...account } : account;
}

export function isPeriodAccount(account: Account): account is PeriodAccount {
	return isPeriod(account.scope);
}

interface Dated {
	readonly zone: string;
	readonly date: string;
}

function heldPeriod(period: Period, held: readonly string[]): Dated | undefined {
	return held.flatMap((key) => datedIn(period, key))[0];
}

/**
 * No period begins before the last one has ended, whatever zone it began in: else there would be a midnight to choose
 * from in every hour. Where several run, because version 2.0 knew each zone's day only, it is the one of the own zone, or
 * the one that ends first.
 */
function running({ scope, zone, keepsZone }: PeriodAccount, moment: number, rows: Begun): Dated | undefined {
	const known = rows.begun(scope).flatMap((key) => datedIn(scope, key));
	const ending = (a: Dated, b: Dated): number =>
		endOfPeriod(scope, a.zone, a.date) - endOfPeriod(scope, b.zone, b.date);
	const running = known.filter((each) => dateIn(scope, each.zone, moment) === each.date);
	if (running.length > 0) return running.find((each) => each.zone === zone) ?? running.toSorted(ending)[0];
	const last = keepsZone ? known.toSorted(ending).at(-1) : undefined;
	return last && { zone: last.zone, date: dateIn(scope, last.zone, moment) };
}

/** None if the key is of another kind, or of a zone that this runtime does not know. */
function datedIn(period: Period, key: string): readonly Dated[] {
	const [kind, zone = "", date = ""] = key.split(" ");
	return kind === period && isZone(zone) ? [{ zone, date }] : [];
}
