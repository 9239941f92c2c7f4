/** Finds the key of an account, and the date of a day. */
import type { Account } from "./port.ts";

export interface Located {
	/** A day has its date. */
	readonly account: Account;
	readonly key: string;
}

/** `held`: the keys of the accounts in which the id holds something. */
export function locateAll(accounts: readonly Account[], now: number, held: readonly string[] = []): Located[] {
	const located = accounts.map((account) => locate(account, now, held));
	if (new Set(located.map(({ key }) => key)).size < located.length)
		throw new RangeError("accounts: expected each account once.");
	return located;
}

export function locate(account: Account, now: number, held: readonly string[] = []): Located {
	if (account.scope !== "day") return { account, key: `${account.scope} ${account.name}` };
	const today = dateIn(account.zone, now);
	const day = `day ${account.zone} `;
	const date = account.date ?? held.find((key) => key.startsWith(day))?.slice(day.length) ?? today;
	return { account: { ...account, date }, key: day + date };
}

const dates = new Map<string, { minute: number; date: string }>();

/** `2026-02-03`. Throws a RangeError for what is not a time zone. */
function dateIn(zone: string, now: number): string {
	const minute = Math.floor(now / 60_000); // no zone changes its date within one
	const known = dates.get(zone);
	if (known?.minute === minute) return known.date;
	const options = { timeZone: zone, year: "numeric", month: "2-digit", day: "2-digit" } as const;
	const parts = new Intl.DateTimeFormat("en", options).formatToParts(now);
	const date = ["year", "month", "day"].map((type) => parts.find((part) => part.type === type)?.value).join("-");
	dates.set(zone, { minute, date });
	return date;
}
