/** A bound, its policy, and what one round has spent of it. */
import { isShared, kindOf, type Max, type MeterId, type PerMeter, perMeter, scopeOf } from "./meters.ts";
import { DEFAULT_POLICY, type Policy } from "./policies.ts";
import { quote } from "./text.ts";

/** A bound and its policy. */
export interface Limit {
	readonly max: Max;
	readonly policy: Policy;
}

/** Limits in the units that people use: dollars, seconds, `"$2.50"`, `"30m"`. A limit that is left out is unlimited. @throws RangeError */
export function limits(some: Partial<PerMeter<number | string>>, policy: Policy = DEFAULT_POLICY): PerMeter<Limit> {
	return perMeter((id) => {
		const { read, expected } = kindOf(id).unit;
		const given = some[id] ?? "unlimited";
		const max = given === "unlimited" ? given : read(given);
		if (max === undefined) throw new RangeError(`${id}: expected ${expected}, or unlimited, got ${quote(given)}.`);
		return { max, policy };
	});
}

/** A limit, and the amount that its round or its wider scope has spent. */
export interface Meter {
	readonly limit: Limit;
	readonly used: number;
	/** Granted on top of the limit, in this round or scope; less than 0 where the ledger's limit is lower than ours, or the person chose a smaller round. */
	readonly extra: number;
}

/** A meter as others read it. */
export interface MeterReading {
	readonly used: number;
	/** The bound of this round, `extra` included. */
	readonly limit: Max;
	readonly remaining: Max;
	readonly policy: Policy;
}

/** The limit as a number to compare with. */
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

export function isLimited({ limit }: Meter): boolean {
	return limit.max !== "unlimited";
}

/** False for a shared meter without a limit: only the ledger knows its count, and we ask it only about limits. */
export function isCounted(id: MeterId, meter: Meter): boolean {
	return !isShared(id) || isLimited(meter);
}

/** The meters once `by` more of these is spent. A copy and a loop, because every event makes one. */
export function spend(meters: PerMeter<Meter>, ids: readonly MeterId[], by: number): PerMeter<Meter> {
	const after = { ...meters };
	for (const id of ids) if (isCounted(id, meters[id])) after[id] = { ...meters[id], used: meters[id].used + by };
	return after;
}

/** N means N: the request after the N-th meets the gate. */
export function isReached(meter: Meter): boolean {
	return meter.used >= toNumber(bound(meter));
}

export function readMeter(meter: Meter): MeterReading {
	const limit = bound(meter);
	const remaining = limit === "unlimited" ? limit : Math.max(0, limit - meter.used);
	return { used: meter.used, limit, remaining, policy: meter.limit.policy };
}

/** True if the count of a round restarts: only if the limit changes from unlimited to a number. */
export function startsAfresh(id: MeterId, { limit }: Meter, max: Max): boolean {
	return isOfRound(id) && limit.max === "unlimited" && max !== "unlimited";
}

export function setMax(id: MeterId, meter: Meter, max: Max): Meter {
	return { limit: { ...meter.limit, max }, used: startsAfresh(id, meter, max) ? 0 : meter.used, extra: 0 };
}

export function setPolicy(meter: Meter, policy: Policy): Meter {
	return { ...meter, limit: { ...meter.limit, policy } };
}

/** Grants `by` more in this round, counted from what is already spent if that is above the bound. */
export function raise(meter: Meter, by: number): Meter {
	return { ...meter, extra: meter.extra + Math.max(0, meter.used - toNumber(bound(meter))) + by };
}

/** A new round, after a prompt or a yes, with `extra` on top of its limit. What a session or a day has spent stays spent. */
export function refill(id: MeterId, meter: Meter, extra: number): Meter {
	return beginsWithRun(id) ? { ...meter, used: 0, extra } : meter;
}

/** The amount that a yes grants: as much again, or a tenth of a limit that no prompt refills. */
export function grant(id: MeterId, { limit }: Meter): Max {
	return isOfRound(id) ? limit.max : Math.max(1, Math.ceil(toNumber(limit.max) / 10));
}

/** After a yes that buys `by`. */
export function grantMore(id: MeterId, meter: Meter, by: number): Meter {
	return isOfRound(id) ? refill(id, meter, by - toNumber(meter.limit.max)) : raise(meter, by);
}

/** The meter as the ledger reported it last; `cap` is the limit with all that was granted. */
export function balance({ limit }: Meter, { used, cap }: { readonly used: number; readonly cap: number }): Meter {
	return { limit, used, extra: cap - toNumber(limit.max) };
}

/** True if a new count begins with every run that a person starts. For a member's tree the ledger corrects that before the first turn. */
export function beginsWithRun(id: MeterId): boolean {
	return scopeOf(id).refilledBy !== "nothing";
}

/** True if the count ends with the round. */
export function isOfRound(id: MeterId): boolean {
	return scopeOf(id).refilledBy === "round";
}

/**
 * The amount from which on the wrap-up is due: for turns the bound minus `grace`, but at least one turn; for an
 * amount nine tenths of the bound. None without a bound, for a bound that leaves no room, for a grace of 0, and
 * for calls, which a wrap-up cannot save.
 */
export function softLimit(id: MeterId, meter: Meter, grace: number): number | undefined {
	const max = bound(meter);
	if (max === "unlimited" || max < 2 || grace < 1) return undefined;
	const { known, gates } = kindOf(id);
	if (known === "after") return Math.ceil(max * 0.9);
	return gates.includes("turn") ? Math.max(1, max - grace) : undefined;
}
