/** Amounts as loops report them: never trusted, never dropped. */
import { kindOf, METER_IDS } from "../../core/meters.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Charged } from "../../loop/driver.ts";

/** What a response or a tool has spent. */
export interface Spending {
	/** Fresh tokens: input, output and what is written to the cache, not what is read from it. */
	readonly tokens?: number | undefined;
	/** US dollars. */
	readonly cost?: number | undefined;
}

/** Gives the US dollars of what was spent. */
export type PriceFunction = (spent: never) => number | Promise<number>;

/** @throws TypeError, or what the function throws */
export async function priced(price: PriceFunction, spent: unknown): Promise<number> {
	const cost: unknown = await price(spent as never);
	if (cost !== null && Number(cost) >= 0) return Number(cost);
	throw new TypeError(`price(): expected US dollars from 0, got ${String(cost)}.`);
}

/** Some limit of the amount is set, in any scope. */
export function isAmountLimited(meters: Snapshot, amount: keyof Spending): boolean {
	return METER_IDS.some((id) => kindOf(id).of === amount && meters[id].limit !== "unlimited");
}

/** True for a number, also as text. */
export function isKnown(amount: unknown): boolean {
	return !Number.isNaN(Number(amount ?? NaN));
}

/** In whole units of the core; undefined if nothing was spent. */
export function chargeOf({ tokens, cost }: Spending): Charged | undefined {
	const amounts = { tokens: whole(tokens, 1), cost: whole(cost, 1_000_000) };
	const spent = Object.entries(amounts).filter(([, amount]) => amount > 0);
	return spent.length === 0 ? undefined : Object.fromEntries(spent);
}

/** Numeric text counts as a number; anything else that is no number is 0, and too large a number is the largest safe one. */
function whole(value: unknown, unit: number): number {
	const amount = Math.round(Number(value ?? 0) * unit);
	return amount > 0 ? Math.min(amount, Number.MAX_SAFE_INTEGER) : 0;
}

/** The sum of the numbers, numeric text included. */
export function sum(...amounts: unknown[]): number {
	return amounts.reduce<number>((total, amount) => total + (Number(amount) || 0), 0);
}
