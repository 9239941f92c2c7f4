/** Limits that a session has changed since its first gate: the ledger never takes back what it has granted. */
import type { Max, MeterId } from "../core/meters.ts";
import type { Amounts, Balance, Reading } from "../ledger/port.ts";
import { idOf, type Meters } from "./accounts.ts";

interface Ceiling {
	/** The tree's name, or the day's date. */
	readonly of: string | undefined;
	readonly max: Max;
	/** So much of the ledger's cap lies above the limit that was set. */
	readonly above: number;
}

export class Ceilings {
	readonly #known = new Map<MeterId, Ceiling>();

	/** At a gate, where the ledger knows the limits. What was granted before a limit was set does not come on top of it. */
	note(readings: readonly Reading[], meters: Meters): void {
		for (const reading of readings) {
			for (const [meter, { cap }] of Object.entries(reading.meters)) {
				const id = idOf(reading, meter);
				if (id === undefined || cap === "unlimited") continue;
				const { max } = meters[id].limit;
				const known = this.#knownOf(id, reading);
				if (known?.max === max || max === "unlimited") continue;
				this.#known.set(id, { of: nameOf(reading), max, above: known ? Math.max(0, cap - max) : 0 });
			}
		}
	}

	/** The readings as this session has to see them. */
	lower(readings: readonly Reading[], meters: Meters): readonly Reading[] {
		return readings.map((reading) => {
			const lowered = Object.entries(reading.meters).map(([meter, balance]) => {
				const id = idOf(reading, meter);
				return [meter, id === undefined ? balance : this.#lowered(reading, balance, id, meters)];
			});
			return { ...reading, meters: Object.fromEntries(lowered) as Reading["meters"] };
		});
	}

	/** What was spent beyond the limit of this session, and not beyond the ledger's cap: a raise has to cover it. */
	hidden(readings: readonly Reading[], meters: Meters, meter: string): number {
		this.note(readings, meters);
		const beyond = (list: readonly Reading[]): number => list.reduce((sum, one) => sum + overdraft(one, meter), 0);
		return beyond(this.lower(readings, meters)) - beyond(readings);
	}

	/** Not that of an earlier day or tree. */
	#knownOf(id: MeterId, reading: Reading): Ceiling | undefined {
		const known = this.#known.get(id);
		return known?.of === nameOf(reading) ? known : undefined;
	}

	#lowered(reading: Reading, balance: Balance, id: MeterId, meters: Meters): Balance {
		const known = this.#knownOf(id, reading);
		const { max } = meters[id].limit;
		if (known === undefined || balance.cap === "unlimited" || max === "unlimited") return balance;
		// The ledger hears of a change at the next gate.
		return { ...balance, cap: known.max === max ? balance.cap - known.above : max };
	}
}

function nameOf({ account }: Reading): string | undefined {
	return account.scope === "day" ? account.date : account.name;
}

/** The first of them with a meter that has no room beside what others use and hold; `own` is held already. */
export function fullOf(readings: readonly Reading[], own: Amounts): { full: Reading; meters: string[] } | undefined {
	const isFull = ([meter, { used, held, cap }]: [string, Balance]): boolean => {
		if (cap === "unlimited") return false;
		const others = held - (own[meter] ?? 0);
		return used + others >= cap || (others > 0 && used + held > cap);
	};
	return readings
		.map((full) => ({ full, meters: Object.entries(full.meters).filter(isFull) }))
		.map(({ full, meters }) => ({ full, meters: meters.map(([meter]) => meter) }))
		.find(({ meters }) => meters.length > 0);
}

function overdraft({ meters }: Reading, meter: string): number {
	const { used = 0, cap = "unlimited" } = meters[meter] ?? {};
	return cap === "unlimited" ? 0 : Math.max(0, used - cap);
}
