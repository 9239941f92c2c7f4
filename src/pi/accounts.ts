/** Translates between the breaker's meters and the ledger's accounts. */
import type { Meter } from "../core/limit.ts";
import type { Scope } from "../core/kind.ts";
import { kindOf, METER_IDS, type MeterId, type PerMeter, SHARED } from "../core/meters.ts";
import type { Balances } from "../core/alphabet.ts";
import { type Account, type Amounts, MOST, type Reading } from "../ledger/port.ts";

export type Meters = PerMeter<Meter>;

/** The account of the day, if it is limited. */
export function dayOf(meters: Meters): readonly Account[] {
	const caps = capsOf(meters, "day");
	return Object.keys(caps).length > 0 ? [{ scope: "day", zone: zone(), caps }] : [];
}

/** Where the variable TZ is empty or names no zone, the clock runs on UTC and the zone has no name, or one that Intl refuses. */
function zone(): string {
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone as string | undefined;
	return zone === undefined || zone === "Etc/Unknown" ? "UTC" : zone;
}

export function capsOf(meters: Meters, scope: Scope): Amounts {
	const limited = SHARED.filter((id) => kindOf(id).scope === scope && meters[id].limit.max !== "unlimited");
	return Object.fromEntries(limited.map((id) => [kindOf(id).of, Math.min(Number(meters[id].limit.max), MOST)]));
}

/** What a tree gets beyond the caps it has: what the person has promised its run, or the growth of the limits since. */
export function growth(before: Amounts | undefined, now: Amounts, meters: Meters): { more: Amounts; caps: Amounts } {
	const by = Object.entries(before ?? now).map(([of, cap]) => {
		return [of, before === undefined ? extraOf(of, meters) : Math.max(0, (now[of] ?? 0) - cap)] as const;
	});
	const grown = by.filter(([, amount]) => amount > 0);
	const caps = before && grown.map(([of, amount]) => [of, (before[of] ?? 0) + amount]);
	return {
		more: Object.fromEntries(grown),
		caps: caps ? { ...before, ...(Object.fromEntries(caps) as Amounts) } : now,
	};
}

function extraOf(of: string, meters: Meters): number {
	const id = METER_IDS.find((id) => kindOf(id).scope === "tree" && kindOf(id).of === of);
	return id === undefined ? 0 : Math.max(0, meters[id].extra);
}

export function withinMost(amounts: Amounts): Amounts {
	return Object.fromEntries(Object.entries(amounts).map(([meter, amount]) => [meter, Math.min(amount, MOST)]));
}

function idOf({ account }: Reading, meter: string): MeterId | undefined {
	const scope: Scope = account.scope === "fleet" ? "budget" : account.scope;
	return SHARED.find((id) => kindOf(id).scope === scope && kindOf(id).of === meter);
}

/** The meter of which all is spent. */
export function fullMeter(full: Reading, meters: readonly string[]): MeterId {
	const isSpent = (meter: string): boolean => {
		const { used = 0, cap = Infinity } = full.meters[meter] ?? {};
		return used >= Number(cap);
	};
	const id = idOf(full, meters.find(isSpent) ?? "");
	if (id === undefined) throw new Error(`The ledger refused for ${meters.join(", ")}, which nothing limits.`);
	return id;
}

/** What is held counts as used, because it has most likely left; `own`: but for a turn that has not begun. */
export function balancesOf(readings: readonly Reading[], meters: Meters, own: Amounts = {}): Balances {
	const known = readings.flatMap((reading) =>
		Object.entries(reading.meters).flatMap(([meter, { used, held, cap }]) => {
			const id = idOf(reading, meter);
			const isOurs = id !== undefined && (reading.account.scope === "fleet" || meters[id].limit.max !== "unlimited");
			return isOurs && cap !== "unlimited" ? [[id, { used: used + held - (own[meter] ?? 0), cap }] as const] : [];
		}),
	);
	// Of a fleet's budget and its day the one counts that has less room.
	const least = known.toSorted(([, a], [, b]) => b.cap - b.used - (a.cap - a.used));
	return Object.fromEntries(least);
}
