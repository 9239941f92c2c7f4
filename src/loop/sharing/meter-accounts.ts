/** Translates between the breaker's meters and the ledger's accounts. */
import { isLimited, type Meter } from "../../core/limit.ts";
import { kindOf, LEDGER_MOST, METER_IDS, type MeterId, type PerMeter, SHARED } from "../../core/meters.ts";
import type { Balances } from "../../core/protocol.ts";
import { isPeriodAccount } from "../../ledger/account-key.ts";
import { type Period, PERIODS, type Scope } from "../../core/scopes.ts";
import { endOfPeriod } from "../../ledger/calendar.ts";
import type { Account, Amounts, Reading } from "../../ledger/port.ts";

export type Meters = PerMeter<Meter>;

/** The accounts of the periods that are limited, from the longest. In a member a period keeps the zone of the last one. */
export function periodsOf(meters: Meters, isMember: boolean): readonly Account[] {
	return PERIODS.flatMap((scope): Account[] => {
		const caps = capsOf(meters, scope);
		return Object.keys(caps).length > 0 ? [{ scope, zone: zone(), keepsZone: isMember, caps }] : [];
	});
}

/** When a limited period ends. */
export interface PeriodEnd {
	readonly scope: Period;
	readonly end: number;
	/** Of a fleet's budget: the account of the period, and how it stands. */
	readonly fleet?: { readonly name: string; readonly balances: Balances };
}

export function endsOf(readings: readonly Reading[]): readonly PeriodEnd[] {
	return readings.flatMap((reading): PeriodEnd[] => {
		const { account } = reading;
		if (account.scope === "fleet") {
			const { name, period, zone } = account;
			if (period === undefined || zone === undefined) return [];
			const end = endOfPeriod(period, zone, name.slice(name.lastIndexOf(" ") + 1));
			return [{ scope: period, end, fleet: { name, balances: balancesOf([reading]) } }];
		}
		if (!isPeriodAccount(account) || account.date === undefined) return [];
		return [{ scope: account.scope, end: endOfPeriod(account.scope, account.zone, account.date) }];
	});
}

/** Where the variable TZ is empty or names no zone, the clock runs on UTC and the zone has no name, or one that Intl refuses. */
function zone(): string {
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone as string | undefined;
	return zone === undefined || zone === "Etc/Unknown" ? "UTC" : zone;
}

export function capsOf(meters: Meters, scope: Scope): Amounts {
	const limited = METER_IDS.filter((id) => kindOf(id).scope === scope && isLimited(meters[id]));
	return withinMost(Object.fromEntries(limited.map((id) => [kindOf(id).of, Number(meters[id].limit.max)])));
}

/** The amounts that the person has promised on top of the limits. */
export function extrasOf(meters: Meters, scope: Scope): Amounts {
	const raised = SHARED.filter((id) => kindOf(id).scope === scope && meters[id].extra > 0);
	return withinMost(Object.fromEntries(raised.map((id) => [kindOf(id).of, meters[id].extra])));
}

export function withinMost(amounts: Amounts): Amounts {
	return Object.fromEntries(Object.entries(amounts).map(([meter, amount]) => [meter, Math.min(amount, LEDGER_MOST)]));
}

/** By meter, the larger of two amounts. */
export function larger(one: Amounts, other: Amounts): Amounts {
	const most = (meter: string): number => Math.max(one[meter] ?? 0, other[meter] ?? 0);
	return Object.fromEntries(Object.keys({ ...one, ...other }).map((meter) => [meter, most(meter)]));
}

function idOf({ account }: Reading, meter: string): MeterId | undefined {
	return SHARED.find((id) => kindOf(id).scope === account.scope && kindOf(id).of === meter);
}

/** The meter of which all is spent. */
export function fullMeter(full: Reading, meters: readonly string[]): MeterId {
	const isSpent = (meter: string): boolean => {
		const { used = 0, cap = Infinity } = full.meters[meter] ?? {};
		return used >= Number(cap);
	};
	const [id] = meters.filter(isSpent).map((meter) => idOf(full, meter));
	if (id === undefined) throw new Error(`The ledger refused for ${meters.join(", ")}, which nothing limits.`);
	return id;
}

/** Counts holds as used, because their requests have most likely left; `own`: our hold for a turn that has not begun. */
export function balancesOf(readings: readonly Reading[], own: Amounts = {}): Balances {
	const known = readings.flatMap((reading) =>
		Object.entries(reading.meters).flatMap(([meter, { used, held, cap }]) => {
			const id = idOf(reading, meter);
			if (id === undefined || cap === "unlimited") return [];
			return [[id, { used: used + held - (own[meter] ?? 0), cap }] as const];
		}),
	);
	// Of a fleet's budget and its periods, the one with the least room counts.
	const least = known.toSorted(([, a], [, b]) => b.cap - b.used - (a.cap - a.used));
	return Object.fromEntries(least);
}
