/** Finds the key of an account, and which period is meant. */
import { dateIn, endOfPeriod, isDate, isZone } from "./calendar.ts";
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

/** How long a period is that begins in another zone than the last one, at the least, in milliseconds. */
const SHORTEST = 12 * 60 * 60 * 1000;

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
 * Where several run, because version 2.0 knew each zone's day only, it is the one of the own zone, or the one that ends
 * first. None runs before anything has begun.
 */
function running({ scope, zone, keepsZone }: PeriodAccount, moment: number, rows: Begun): Dated | undefined {
	const known = rows.begun(scope).flatMap((key) => datedIn(scope, key));
	const endOf = (each: Dated): number => endOfPeriod(scope, each.zone, each.date);
	const byEnd = (some: readonly Dated[]): Dated[] => some.toSorted((a, b) => endOf(a) - endOf(b));
	const onTime = known.filter((each) => dateIn(scope, each.zone, moment) === each.date);
	if (onTime.length > 0) return onTime.find((each) => each.zone === zone) ?? byEnd(onTime)[0];
	const last = byEnd(known.filter((each) => isDate(scope, each.date) && endOf(each) <= moment)).at(-1);
	if (last === undefined) return undefined;
	const next = (zone: string): Dated => ({ zone, date: dateAfter(scope, last, zone, moment) });
	const early = known.filter((each) => next(each.zone).date === each.date);
	return byEnd(early)[0] ?? next(keepsZone ? last.zone : zone);
}

/**
 * The date in a zone that follows the last period. It begins when that one has ended, whatever zone that was in, and it
 * has not been a date yet: else there would be a midnight to choose from in every hour. A date of which little is left
 * by then is passed over for the next one, which begins early.
 */
function dateAfter(period: Period, last: Dated, zone: string, moment: number): string {
	const soonest = endOfPeriod(period, last.zone, last.date) + SHORTEST;
	return dateIn(period, zone, Math.max(moment, soonest, endOfPeriod(period, zone, last.date)));
}

/** None if the key is of another kind, or of a zone that this runtime does not know. The date may be any text. */
function datedIn(period: Period, key: string): readonly Dated[] {
	const [kind, zone = "", date = ""] = key.split(" ");
	return kind === period && isZone(zone) ? [{ zone, date }] : [];
}
