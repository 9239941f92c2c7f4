/** The machine's ledger and a fleet's, as one. */
import { randomUUID } from "node:crypto";
import { LedgerError } from "./faults.ts";
import type { Account, Amounts, Ledger, Reading, Reservation } from "./port.ts";

/** `closing` aborts when nobody waits for the ledger any more. */
type Open = (closing: AbortSignal) => Promise<Ledger>;

/** A hold as the fleet's ledger knows it. */
interface FleetHold {
	readonly id: string;
	/** The machine's ledger refused its half, so this one has to be released; that may have failed so far. */
	readonly isRefused: boolean;
}

/** By the id of a hold, for those whose id in the fleet's ledger is another. */
export type FleetHolds = Map<string, FleetHold>;

export class CombinedLedger implements Ledger {
	readonly #open: { readonly home: Open; readonly fleet: Open };
	#opened: { home?: Promise<Ledger>; fleet?: Promise<Ledger> } = {};
	readonly #holds: FleetHolds;
	readonly #closing = new AbortController();

	/** Each is opened when it is first needed. `holds` outlives this one where the ledgers are reopened. */
	constructor(home: Open, fleet: Open, holds: FleetHolds) {
		this.#open = { home, fleet };
		this.#holds = holds;
	}

	async join(account: Account): Promise<Reading> {
		return await (await this.#of(account)).join(account);
	}

	async reserve(id: string, accounts: readonly Account[], amounts: Amounts, ttl: number): Promise<Reservation> {
		const { fleets, others } = split(accounts);
		if (fleets.length === 0) return await (await this.#home()).reserve(id, others, amounts, ttl);
		const fleet = await this.#fleet();
		const fleetId = await this.#fleetId(id, fleet, fleets);
		if (others.length === 0) return await fleet.reserve(fleetId, fleets, amounts, ttl);
		const home = await this.#home();
		const there = await fleet.reserve(fleetId, fleets, amounts, ttl);
		if (!there.granted) return { ...there, readings: inOrder(accounts, there.readings, await home.read(others)) };
		this.#holds.set(id, { id: fleetId, isRefused: true });
		const here = await home.reserve(id, others, amounts, ttl);
		if (here.granted) this.#holds.set(id, { id: fleetId, isRefused: false });
		else await this.#fleetId(id, fleet, fleets);
		return { ...here, readings: inOrder(accounts, there.readings, here.readings) };
	}

	async settle(id: string, accounts: readonly Account[], amounts: Amounts): Promise<readonly Reading[]> {
		const { fleets, others } = split(accounts);
		let there: readonly Reading[] = [];
		if (fleets.length > 0) {
			const fleet = await this.#fleet();
			there = await fleet.settle(await this.#fleetId(id, fleet, fleets), fleets, amounts);
		}
		const here = others.length > 0 ? await (await this.#home()).settle(id, others, amounts) : [];
		this.#holds.delete(id);
		return inOrder(accounts, there, here);
	}

	/** Both are tried, whichever fails. */
	async renew(ids: readonly string[], ttl: number): Promise<void> {
		const { home, fleet } = this.#opened;
		const fleetIds = ids.map((id) => this.#holds.get(id)?.id ?? id);
		await Promise.all([
			home?.then((ledger) => ledger.renew(ids, ttl)),
			fleet?.then((ledger) => ledger.renew(fleetIds, ttl)),
		]);
	}

	async raise(id: string, account: Account, by: Amounts): Promise<Reading> {
		return await (await this.#of(account)).raise(id, account, by);
	}

	async read(accounts: readonly Account[]): Promise<readonly Reading[]> {
		const { fleets, others } = split(accounts);
		const there = fleets.length > 0 ? await (await this.#fleet()).read(fleets) : [];
		const here = others.length > 0 ? await (await this.#home()).read(others) : [];
		return inOrder(accounts, there, here);
	}

	close(): void {
		const { home, fleet } = this.#opened;
		const closed = Promise.reject(new LedgerError("closed", "The ledger is closed."));
		closed.catch(() => {});
		this.#opened = { home: closed, fleet: closed };
		this.#closing.abort();
		for (const opened of [home, fleet]) {
			opened?.then(
				(ledger) => ledger.close(),
				() => {},
			);
		}
	}

	/** Before anything else is done for an id whose hold the machine's ledger refused, releases the fleet's half and takes a new id. */
	async #fleetId(id: string, fleet: Ledger, fleets: readonly Account[]): Promise<string> {
		const known = this.#holds.get(id) ?? { id, isRefused: false };
		if (!known.isRefused) return known.id;
		await fleet.settle(known.id, fleets, {});
		const next = randomUUID();
		this.#holds.set(id, { id: next, isRefused: false });
		return next;
	}

	#of({ scope }: Account): Promise<Ledger> {
		return scope === "fleet" ? this.#fleet() : this.#home();
	}

	#home(): Promise<Ledger> {
		return (this.#opened.home ??= this.#open.home(this.#closing.signal));
	}

	#fleet(): Promise<Ledger> {
		return (this.#opened.fleet ??= this.#open.fleet(this.#closing.signal));
	}
}

/** A fleet is outermost. */
function split(accounts: readonly Account[]): {
	readonly fleets: readonly Account[];
	readonly others: readonly Account[];
} {
	return { fleets: accounts.filter(isFleet), others: accounts.filter((account) => !isFleet(account)) };
}

function inOrder(accounts: readonly Account[], fleets: readonly Reading[], others: readonly Reading[]): Reading[] {
	const [there, here] = [fleets.values(), others.values()];
	return accounts.flatMap((account) => (isFleet(account) ? there : here).next().value ?? []);
}

function isFleet({ scope }: Account): boolean {
	return scope === "fleet";
}
