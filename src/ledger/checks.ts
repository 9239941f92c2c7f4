/** Checks what the port's operations are given. Each throws a RangeError that names the field and what it expects. */
import { isPeriodAccount } from "./account-key.ts";
import { LEDGER_MOST } from "../core/meters.ts";
import { dateForm, isDate } from "./calendar.ts";
import type { Account, Amounts } from "./port.ts";

/** The longest lease of agents that can be killed. */
export const LONGEST = 10 * 60 * 1000;

/** How long trees and ids are kept at least after their last use, and periods after their end: late settles have to land. */
export const WEEK = 7 * 24 * 60 * 60 * 1000;

export function checkId(id: string): void {
	if (typeof id !== "string" || id === "")
		throw new RangeError(`id: expected text that is not empty, got ${JSON.stringify(id)}.`);
}

export function checkTtl(ttl: number, longest = LONGEST): void {
	if (!Number.isSafeInteger(ttl) || ttl < 1 || ttl > longest)
		throw new RangeError(`ttl: expected whole milliseconds from 1 to ${longest}, got ${ttl}.`);
}

export function checkAmounts(what: string, amounts: Amounts): void {
	for (const [meter, amount] of Object.entries(amounts)) {
		if (!Number.isSafeInteger(amount) || amount < 0 || amount > LEDGER_MOST)
			throw new RangeError(`${what}.${meter}: expected a whole number from 0 to ${LEDGER_MOST}, got ${amount}.`);
	}
}

export function checkAccounts(accounts: readonly Account[]): void {
	for (const account of accounts) {
		checkAmounts("caps", account.caps);
		if (!isPeriodAccount(account)) {
			if (account.name === "") throw new RangeError(`${account.scope}: expected a name that is not empty.`);
			continue;
		}
		const { scope, date } = account;
		if (date !== undefined && !isDate(scope, date))
			throw new RangeError(`date: expected ${dateForm(scope)}, got ${date}.`);
	}
}
