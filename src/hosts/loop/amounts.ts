/** Amounts as loops report them: never trusted, never dropped. */
import type { Charged } from "../../loop/driver.ts";

/** What a response or a tool has spent. */
export interface Spending {
	/** Fresh tokens: input, output and what is written to the cache, not what is read from it. */
	readonly tokens?: number | undefined;
	/** US dollars. */
	readonly cost?: number | undefined;
}

/** In whole units of the core; undefined if nothing was spent. */
export function chargeOf({ tokens, cost }: Spending): Charged | undefined {
	const amounts = { tokens: whole(tokens, 1), cost: whole(cost, 1_000_000) };
	const spent = Object.entries(amounts).filter(([, amount]) => amount > 0);
	return spent.length === 0 ? undefined : Object.fromEntries(spent);
}

/** Text that is a number is one; what is no number is 0, what is too large is as much as can be counted. */
function whole(value: unknown, unit: number): number {
	const amount = Math.round(Number(value ?? 0) * unit);
	return amount > 0 ? Math.min(amount, Number.MAX_SAFE_INTEGER) : 0;
}

/** The sum of what is a number, be it as text. */
export function sum(...amounts: unknown[]): number {
	return amounts.reduce<number>((total, amount) => total + (Number(amount) || 0), 0);
}
