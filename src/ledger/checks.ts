/** Checks what the port's operations are given. Each throws a RangeError that names the field and what it expects. */
import { type Account, type Amounts, MOST } from "./port.ts";

/** How long day and tree accounts, and ids, are kept at least: late settles have to land. */
export const WEEK = 7 * 24 * 60 * 60 * 1000;

export function checkId(id: string): void {
	if (typeof id !== "string" || id === "")
		throw new RangeError(`id: expected text that is not empty, got ${JSON.stringify(id)}.`);
}

export function checkTtl(ttl: number): void {
	if (!Number.isSafeInteger(ttl) || ttl < 1 || ttl > WEEK)
		throw new RangeError(`ttl: expected whole milliseconds from 1 to ${WEEK}, got ${ttl}.`);
}

export function checkAmounts(what: string, amounts: Amounts): void {
	for (const [meter, amount] of Object.entries(amounts)) {
		if (!Number.isSafeInteger(amount) || amount < 0 || amount > MOST)
			throw new RangeError(`${what}.${meter}: expected a whole number from 0 to ${MOST}, got ${amount}.`);
	}
}

export function checkAccounts(accounts: readonly Account[]): void {
	for (const account of accounts) {
		checkAmounts("caps", account.caps);
		if (account.scope !== "day") {
			if (account.name === "") throw new RangeError(`${account.scope}: expected a name that is not empty.`);
			continue;
		}
		if (account.date !== undefined && !/^\d{4}-\d\d-\d\d$/.test(account.date))
			throw new RangeError(`date: expected YYYY-MM-DD, got ${account.date}.`);
	}
}
