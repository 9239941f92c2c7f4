/** How much of a meter one round may spend: a whole number ≥ 0, or unlimited. */
export type Max = number | "unlimited";

/** What happens when a limit is reached and nobody continues. */
export type Policy = "abort" | "synthesize";

export const POLICIES: readonly Policy[] = ["abort", "synthesize"];

/** A bound and what happens when it runs out; they travel together. */
export interface Limit {
	readonly max: Max;
	readonly policy: Policy;
}

/** What is spent of one limit in the current round. */
export interface Meter {
	readonly limit: Limit;
	readonly used: number;
	/** Granted on top of the limit, for this round only. */
	readonly extra: number;
}

/** Everything about a meter that a reader may want to know. */
export interface Reading {
	readonly used: number;
	/** The bound of this round, what was granted on top of the limit included. */
	readonly limit: Max;
	readonly remaining: Max;
	readonly policy: Policy;
}

/** Whole and not negative: the only numbers that a limit, a grace or a count can be. */
export function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isMax(value: unknown): value is Max {
	return value === "unlimited" || isCount(value);
}

export function isPolicy(value: unknown): value is Policy {
	return (POLICIES as readonly unknown[]).includes(value);
}

/** Text as people type it: decimal digits that make a count are a number, anything else stays as it is. */
export function fromText(text: string): unknown {
	const count = /^\d+$/.test(text) ? Number(text) : undefined;
	return isCount(count) ? count : text;
}

/** To compare and to count with. */
export function toNumber(max: Max): number {
	return max === "unlimited" ? Infinity : max;
}

export function meter(limit: Limit): Meter {
	return { limit, used: 0, extra: 0 };
}

/** The bound of this round. */
export function bound({ limit, extra }: Meter): Max {
	return limit.max === "unlimited" ? "unlimited" : limit.max + extra;
}

/** N means N: the request after the N-th meets the gate. */
export function isReached(meter: Meter): boolean {
	return meter.used >= toNumber(bound(meter));
}

export function read(meter: Meter): Reading {
	const limit = bound(meter);
	const remaining = limit === "unlimited" ? limit : Math.max(0, limit - meter.used);
	return { used: meter.used, limit, remaining, policy: meter.limit.policy };
}

/** From unlimited to a number the count restarts; from one number to another it stays. */
export function setMax(meter: Meter, max: Max): Meter {
	const reEnabled = meter.limit.max === "unlimited" && max !== "unlimited";
	return { limit: { ...meter.limit, max }, used: reEnabled ? 0 : meter.used, extra: 0 };
}

export function setPolicy(meter: Meter, policy: Policy): Meter {
	return { ...meter, limit: { ...meter.limit, policy } };
}

/** Grants `by` more in this round, counted from what is already spent if that is above the bound. */
export function raise(meter: Meter, by: number): Meter {
	return { ...meter, extra: meter.extra + Math.max(0, meter.used - toNumber(bound(meter))) + by };
}

/**
 * The number of turns after which the wrap-up is due: the bound minus `grace`, but never before the first
 * turn has ended. None without a bound, for a bound that leaves no turn to wrap up in, and for a grace of 0.
 */
export function softLimit(turns: Meter, grace: number): number | undefined {
	const max = toNumber(bound(turns));
	return max === Infinity || max < 2 || grace < 1 ? undefined : Math.max(1, max - grace);
}
