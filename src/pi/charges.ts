/** Charges the meters whose amounts pi reports after they were spent: one line per meter. */
import type { AmountId } from "../core/meters.ts";
import type { Assistant, Context } from "./host.ts";

type Usage = Assistant["usage"];
type Model = NonNullable<Context["model"]>;

interface Charge {
	/** The amount that a response, a tool result or a compaction has spent. */
	readonly amount: (usage: Usage) => number;
	/** Why the amount stays 0 with this model, if it does. */
	readonly unknownFor?: (model: Model) => string | undefined;
}

export const CHARGES: { readonly [id in AmountId]: Charge } = {
	cost: {
		amount: ({ cost }) => cost.total * 1_000_000,
		unknownFor: ({ cost }) => (cost.input + cost.output > 0 ? undefined : "has no prices"),
	},
};

export const AMOUNT_IDS = Object.keys(CHARGES) as readonly AmountId[];

/** Whole amounts of what `usage` reports; undefined if it reports none. */
export function chargeOf(usage: Usage | undefined): Partial<Record<AmountId, number>> | undefined {
	if (usage === undefined) return undefined;
	const amounts = AMOUNT_IDS.map((id) => [id, Math.round(CHARGES[id].amount(usage))] as const);
	const known = amounts.filter(([, amount]) => Number.isSafeInteger(amount) && amount > 0);
	return known.length === 0 ? undefined : Object.fromEntries(known);
}
