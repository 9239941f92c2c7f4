/** What the tests of the ledger share: accounts, a clock, a look at a balance. */
import type { TestContext } from "node:test";
import { type Fault, LedgerError } from "../../src/ledger/faults.ts";
import type { Account, Amounts, Ledger } from "../../src/ledger/port.ts";

export const MINUTE = 60_000;
export const DAY = 24 * 60 * MINUTE;

/** 2026-02-03, noon in UTC. */
export const NOON = Date.UTC(2026, 1, 3, 12);

/** Opens the same store, an empty one at first, once more. Its clock is `now`. */
export type Open = () => Promise<Ledger>;
export type Make = (t: TestContext, now: () => number) => Open | Promise<Open>;

/** In place of a tree, on a server. */
export function asFleet({ caps, ...account }: Account): Account {
	const name = "name" in account ? account.name : account.zone;
	return { scope: "fleet", name: name && `${account.scope} ${name}`, caps };
}

export const tree = (caps: Amounts = {}, name = "t"): Account => ({ scope: "tree", name, caps });
export const fleet = (caps: Amounts = {}) => ({ scope: "fleet", name: "f", caps }) as const satisfies Account;
export const day = (caps: Amounts = {}, zone = "UTC") => ({ scope: "day", zone, caps }) as const satisfies Account;

export const week = (caps: Amounts = {}, zone = "UTC") => ({ ...day(caps, zone), scope: "week" }) as const;
export const month = (caps: Amounts = {}, zone = "UTC") => ({ ...day(caps, zone), scope: "month" }) as const;

/** `machine`: a ledger that has periods. */
export type Where = "machine" | "server";

/** How an error has to look. */
export const fault = (kind: Fault) => (error: unknown) => error instanceof LedgerError && error.kind === kind;

export interface World {
	readonly ledger: Ledger;
	/** The same store, opened once more. */
	readonly other: Ledger;
	readonly clock: { now: number };
}

/** `[used, held, cap]`, undefined for a meter without any. */
export async function balance(
	ledger: Ledger,
	account: Account,
	meter = "turns",
): Promise<readonly [number, number, number | "unlimited"] | undefined> {
	const found = (await ledger.read([account]))[0]?.meters[meter];
	return found && [found.used, found.held, found.cap];
}
