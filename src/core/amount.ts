/** Amounts of meters, and what they are counted over, in words. */
import { kindOf, type Max, type MeterId, scopeOf } from "./meters.ts";

/** `in this run`, `today`: what the meter counts over. */
export function within(id: MeterId): string {
	return scopeOf(id).in;
}

/** `for this run`, `for today`: what the limit of the meter applies to. */
export function forScope(id: MeterId): string {
	return scopeOf(id).for;
}

/** `1 turn`, `25 turns`, `unlimited tool calls`, `$2.50`. */
export function amount(id: MeterId, used: Max): string {
	const { unit, one, many } = kindOf(id);
	if (used === "unlimited") return `unlimited ${many}`;
	if (one === undefined) return unit.show(used);
	return `${unit.show(used)} ${used === 1 ? one : many}`;
}

/** The amount, with its scope unless that is the run. */
export function amountIn(id: MeterId, used: Max): string {
	return amount(id, used) + (kindOf(id).scope === "round" ? "" : ` ${within(id)}`);
}
