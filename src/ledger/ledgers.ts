/** The machine's ledger and a fleet's, as one. */
import { randomUUID } from "node:crypto";
import { type Account, type Amounts, type Ledger, LedgerError, type Reading, type Reservation } from "./port.ts";

type Open = () => Promise<Ledger>;

export class Ledgers implements Ledger {
	readonly #open: { readonly home: Open; readonly fleet: Open };
	#opened: { home?: Promise<Ledger>; fleet?: Promise<Ledger> } = {};
	/** By the id of a hold: its id in the fleet's ledger. What the machine's refuses is let go there, and tried again by another. */
	readonly #ids: Map<string, string>;

	/** Each is opened when it is first needed. `ids` outlives this one where the ledgers are opened anew. */
	constructor(home: Open, fleet: Open, ids: Map<string, string>) {
		this.#open = { home, fleet };
		this.#ids = ids;
	}

	async join(account: Account): Promise<Reading> {
		return await (await this.#of(account)).join(account);
	}

	async reserve(id: string, accounts: readonly Account[], amounts: Amounts, ttl: number): Promise<Reservation> {
		const { fleets, others } = split(accounts);
		if (fleets.length === 0) return await (await this.#home()).reserve(id, others, amounts, ttl);
		if (others.length === 0) return await (await this.#fleet()).reserve(id, fleets, amounts, ttl);
		const idThere = this.#ids.get(id) ?? randomUUID();
		this.#ids.set(id, idThere);
		const fleet = await this.#fleet();
		const home = await this.#home();
		const there = await fleet.reserve(idThere, fleets, amounts, ttl);
		if (!there.granted) return { ...there, readings: [...there.readings, ...(await home.read(others))] };
		const here = await home.reserve(id, others, amounts, ttl);
		if (!here.granted) {
			await fleet.settle(idThere, fleets, {});
			this.#ids.delete(id);
		}
		return { ...here, readings: [...there.readings, ...here.readings] };
	}

	async settle(id: string, accounts: readonly Account[], amounts: Amounts): Promise<readonly Reading[]> {
		const { fleets, others } = split(accounts);
		const there = fleets.length > 0 ? await (await this.#fleet()).settle(this.#idThere(id), fleets, amounts) : [];
		const here = others.length > 0 ? await (await this.#home()).settle(id, others, amounts) : [];
		this.#ids.delete(id);
		return [...there, ...here];
	}

	async renew(ids: readonly string[], ttl: number): Promise<void> {
		const { home, fleet } = this.#opened;
		await (await home)?.renew(ids, ttl);
		await (
			await fleet
		)?.renew(
			ids.map((id) => this.#idThere(id)),
			ttl,
		);
	}

	async raise(id: string, account: Account, by: Amounts): Promise<Reading> {
		return await (await this.#of(account)).raise(id, account, by);
	}

	async read(accounts: readonly Account[]): Promise<readonly Reading[]> {
		const { fleets, others } = split(accounts);
		const there = fleets.length > 0 ? await (await this.#fleet()).read(fleets) : [];
		const here = others.length > 0 ? await (await this.#home()).read(others) : [];
		return [...there, ...here];
	}

	close(): void {
		const { home, fleet } = this.#opened;
		const closed = Promise.reject(new LedgerError("closed", "The ledger is closed."));
		closed.catch(() => {});
		this.#opened = { home: closed, fleet: closed };
		for (const opened of [home, fleet]) {
			opened?.then(
				(ledger) => ledger.close(),
				() => {},
			);
		}
	}

	#idThere(id: string): string {
		return this.#ids.get(id) ?? id;
	}

	#of({ scope }: Account): Promise<Ledger> {
		return scope === "fleet" ? this.#fleet() : this.#home();
	}

	#home(): Promise<Ledger> {
		return (this.#opened.home ??= this.#open.home());
	}

	#fleet(): Promise<Ledger> {
		return (this.#opened.fleet ??= this.#open.fleet());
	}
}

/** In the order in which they stand: a fleet is outermost. */
function split(accounts: readonly Account[]): {
	readonly fleets: readonly Account[];
	readonly others: readonly Account[];
} {
	return {
		fleets: accounts.filter(({ scope }) => scope === "fleet"),
		others: accounts.filter(({ scope }) => scope !== "fleet"),
	};
}
