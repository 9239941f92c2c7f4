/** Pays the ledger what a session has spent, later if it cannot be used now. */
import { type Account, type Amounts, type Fault, type Ledger, LedgerError, type Reading } from "../../ledger/port.ts";
import { withinMost } from "./meter-accounts.ts";

/** Something that the ledger hears of once, however often it is told. */
export interface Spending {
	readonly id: string;
	readonly accounts: readonly Account[];
}

/** After these the ledger begins anew, and knows nothing of what was spent. */
const LOSSES: readonly Fault[] = ["damaged", "replaced"];

export class Purse {
	readonly #open: () => Promise<Ledger>;
	#ledger: Promise<Ledger> | undefined;
	/** The last try failed. Only a gate, and the end of a run that owes something, wait for such a ledger again. */
	#isLost = false;
	/** Nobody was told that counts are lost. */
	#loss: LedgerError | undefined;
	/** Not yet known to the ledger. */
	#owed: (Spending & { readonly amounts: Amounts })[] = [];

	constructor(open: () => Promise<Ledger>) {
		this.#open = open;
	}

	owe(spending: Spending, amounts: Amounts): void {
		if (spending.accounts.length > 0) this.#owed.push({ ...spending, amounts: withinMost(amounts) });
	}

	/** Keeps a debt that it cannot pay for the next gate. `isLast`: there may be none. */
	async tryToPay(isLast = false): Promise<readonly Reading[]> {
		const isSpent = this.#owed.some(({ amounts }) => Object.keys(amounts).length > 0);
		if (this.#owed.length === 0 || (this.#isLost && !(isLast && isSpent))) return [];
		try {
			return await this.#pay(await this.#opened());
		} catch (error) {
			this.lose(error);
			return [];
		}
	}

	/** The ledger, open, and with nothing owed. A loss that nobody was told of is told first. */
	async ready(): Promise<Ledger> {
		const loss = this.#loss;
		this.#loss = undefined;
		if (loss) throw loss;
		const ledger = await this.#opened();
		await this.#pay(ledger);
		this.#isLost = false;
		return ledger;
	}

	async #pay(ledger: Ledger): Promise<readonly Reading[]> {
		let readings: readonly Reading[] = [];
		for (let next = this.#owed[0]; next; next = this.#owed[0]) {
			readings = await ledger.settle(next.id, next.accounts, next.amounts);
			const paid = next;
			this.#owed = this.#owed.filter((owed) => owed !== paid);
		}
		return readings;
	}

	#opened(): Promise<Ledger> {
		return (this.#ledger ??= this.#open());
	}

	/** Only while it is open. */
	async renew(ids: readonly string[], ttl: number): Promise<void> {
		try {
			await (await this.#ledger)?.renew(ids, ttl);
		} catch {
			// The next gate finds the ledger as it is.
		}
	}

	/** Closes a ledger that cannot be used; the next gate opens it anew. `isTold`: the gate is closed for it. Gives the reason. */
	lose(error: unknown, isTold = false): string {
		if (!(error instanceof LedgerError)) throw error;
		this.#isLost = true;
		if (!isTold && LOSSES.includes(error.kind)) this.#loss = error;
		void this.close();
		return error.message;
	}

	async close(): Promise<void> {
		const ledger = this.#ledger;
		this.#ledger = undefined;
		await ledger?.then(
			(open) => open.close(),
			() => {},
		);
	}
}
