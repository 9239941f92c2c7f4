/** A ledger in memory: for agents of one process, and as the measure of the engines that write. */
import { Books, type Count, type Rows, type Store } from "../books.ts";
import type { Period } from "../../core/scopes.ts";
import { WEEK } from "../checks.ts";
import { LedgerError } from "../faults.ts";
import type { Amounts, Ledger } from "../port.ts";

/** Makes a ledger, and gives a function that opens it. `remembered`: how long it knows settled ids; `longest`: how long a lease may be, in milliseconds. */
export function memory(now: () => number = Date.now, remembered = WEEK, longest = WEEK): () => Ledger {
	const rows = new MemoryRows(remembered);
	return () => new Books(new MemoryStore(rows, now), longest);
}

/** Needs no rollback, because every check throws before the first change. */
class MemoryStore implements Store {
	readonly #rows: Rows;
	readonly #now: () => number;
	#closed = false;

	constructor(rows: Rows, now: () => number) {
		this.#rows = rows;
		this.#now = now;
	}

	transact<T>(_mode: "read" | "write", work: (rows: Rows, now: number) => T): Promise<T> {
		return new Promise((resolve) => {
			if (this.#closed) throw new LedgerError("closed", "The ledger is closed.");
			resolve(work(this.#rows, this.#now()));
		});
	}

	close(): void {
		this.#closed = true;
	}
}

interface Entry {
	caps?: Amounts;
	readonly used: Map<string, number>;
	readonly granted: Map<string, number>;
}

interface Hold {
	readonly rows: { readonly key: string; readonly meter: string; readonly amount: number; until: number }[];
}

class MemoryRows implements Rows {
	readonly #accounts = new Map<string, Entry>();
	readonly #holds = new Map<string, Hold>();
	readonly #done = new Map<string, number>();
	readonly #remembered: number;

	constructor(remembered: number) {
		this.#remembered = remembered;
	}

	caps(key: string): Amounts | undefined {
		return this.#accounts.get(key)?.caps;
	}

	create(key: string, caps: Amounts): void {
		this.#entry(key).caps ??= { ...caps };
	}

	touch(key: string): void {
		this.#entry(key);
	}

	begun(period: Period): string[] {
		return [...this.#accounts.keys()].filter((key) => key.startsWith(`${period} `));
	}

	counts(key: string, now: number): Map<string, Count> {
		const { used, granted } = this.#accounts.get(key) ?? empty();
		const counts = new Map<string, Count>();
		const add = (meter: string, more: Partial<Count>): void => {
			const old = counts.get(meter) ?? { used: 0, held: 0, granted: 0 };
			counts.set(meter, {
				used: old.used + (more.used ?? 0),
				held: old.held + (more.held ?? 0),
				granted: old.granted + (more.granted ?? 0),
			});
		};
		for (const [meter, amount] of used) add(meter, { used: amount });
		for (const [meter, amount] of granted) add(meter, { granted: amount });
		for (const { rows } of this.#holds.values()) {
			for (const { meter, amount, until } of rows.filter((row) => row.key === key))
				add(meter, until > now ? { held: amount } : { used: amount });
		}
		return counts;
	}

	charge(key: string, meter: string, amount: number): void {
		increase(this.#entry(key).used, meter, amount);
	}

	grant(key: string, meter: string, amount: number): void {
		increase(this.#entry(key).granted, meter, amount);
	}

	heldIn(id: string): string[] {
		return [...new Set(this.#holds.get(id)?.rows.map(({ key }) => key))];
	}

	hold(id: string, key: string, meter: string, amount: number, until: number): void {
		const hold = this.#holds.get(id) ?? { rows: [] };
		hold.rows.push({ key, meter, amount, until });
		this.#holds.set(id, hold);
	}

	prolong(id: string, until: number): void {
		for (const row of this.#holds.get(id)?.rows ?? []) row.until = Math.max(row.until, until);
	}

	shorten(key: string, until: number): void {
		for (const hold of this.#holds.values())
			for (const row of hold.rows) if (row.key === key) row.until = Math.min(row.until, until);
	}

	release(id: string): void {
		this.#holds.delete(id);
	}

	isDone(id: string): boolean {
		return this.#done.has(id);
	}

	/** Ids stand in the order in which they were done, so the oldest are the first. */
	done(id: string, now: number): void {
		this.#done.set(id, now);
		for (const [old, at] of this.#done) {
			if (at > now - this.#remembered) return;
			this.#done.delete(old);
		}
	}

	#entry(key: string): Entry {
		const entry = this.#accounts.get(key) ?? empty();
		this.#accounts.set(key, entry);
		return entry;
	}
}

function empty(): Entry {
	return { used: new Map(), granted: new Map() };
}

function increase(amounts: Map<string, number>, meter: string, by: number): void {
	amounts.set(meter, (amounts.get(meter) ?? 0) + by);
}
