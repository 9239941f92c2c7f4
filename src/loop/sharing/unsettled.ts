/** Pays the ledger what a session has spent, later if it cannot be used now. */
import { randomUUID } from "node:crypto";
import { asOf } from "../../ledger/account-key.ts";
import type { FleetHolds } from "../../ledger/combined.ts";
import type { Debt, DebtFiles } from "../../ledger/debt-files.ts";
import { type Fault, FAULTS, LedgerError } from "../../ledger/faults.ts";
import type { Account, Amounts, Ledger, Reading } from "../../ledger/port.ts";
import { withinMost } from "./meter-accounts.ts";

/** Something that the ledger counts once, however often it is reported. */
export type LedgerEntry = Omit<Debt, "amounts">;

/** Amounts that were spent and have not reached the ledger when the run ends. */
export interface DebtLeft {
	readonly amounts: Amounts;
	/** Why it has not reached the ledger. */
	readonly why: string;
	/** Why it is lost with this process; undefined if the next agent that uses the ledger pays it. */
	readonly lossReason: string | undefined;
}

/** Plain data, because another instance may take it over. */
export interface UnsettledFacts {
	/** Not yet known to the ledger. */
	readonly owed: readonly Debt[];
	/** A loss of counts that nobody has been told of. */
	readonly loss: { readonly kind: Fault; readonly message: string } | undefined;
}

export class Unsettled {
	readonly #open: () => Promise<Ledger>;
	readonly #files: DebtFiles;
	readonly #fleetHolds: FleetHolds;
	#ledger: Promise<Ledger> | undefined;
	/** The last try failed. Only a gate, and the end of a run that owes something, try such a ledger again. */
	#isLost = false;
	/** We waited for it in vain, so the end of the run does not wait again. */
	#isLocked = false;
	/** A loss of counts that nobody has been told of. */
	#loss: UnsettledFacts["loss"];
	/** Why the last try failed. */
	#why = "";
	/** Not yet known to the ledger. */
	#owed: readonly Debt[] = [];

	constructor(open: () => Promise<Ledger>, files: DebtFiles, fleetHolds: FleetHolds) {
		this.#open = open;
		this.#files = files;
		this.#fleetHolds = fleetHolds;
	}

	get facts(): UnsettledFacts {
		return { owed: this.#owed, loss: this.#loss };
	}

	/** Goes on where another instance left off. */
	takeOver({ owed, loss }: UnsettledFacts): void {
		this.#owed = owed;
		this.#loss = loss;
	}

	/** It counts in the periods that run now, however late it is paid. */
	owe({ id, accounts }: LedgerEntry, amounts: Amounts): void {
		const now = Date.now();
		const dated = accounts.map((account) => asOf(account, now));
		if (accounts.length > 0) this.#owed = [...this.#owed, { id, accounts: dated, amounts: withinMost(amounts) }];
	}

	/** Keeps a debt that it cannot pay for the next gate. `isLast`: there may be none. */
	async tryToPay(isLast = false): Promise<readonly Reading[]> {
		const isSpent = this.#owed.some(({ amounts }) => Object.keys(amounts).length > 0);
		const isTriedAgain = isLast && isSpent && !this.#isLocked;
		if (this.#owed.length === 0 || (this.#isLost && !isTriedAgain)) return [];
		try {
			return await this.#pay(await this.#opened());
		} catch (error) {
			this.lose(error);
			return [];
		}
	}

	/** The run is over, and this process may end: keeps in files what it cannot pay. */
	async payOrKeep(): Promise<DebtLeft | undefined> {
		await this.tryToPay(true);
		const left = this.#owed.filter(({ amounts }) => isWorthKeeping(amounts));
		if (left.length === 0) return undefined;
		const amounts = left.map((debt) => debt.amounts).reduce(addAmounts);
		try {
			for (const debt of left) {
				this.#files.keep(debt, this.#fleetIdOf(debt));
				this.#owed = this.#owed.filter((owed) => owed !== debt);
			}
			return { amounts, why: this.#why, lossReason: undefined };
		} catch (error) {
			return { amounts, why: this.#why, lossReason: (error as Error).message };
		}
	}

	/** The hold that it replaces in the fleet's ledger; a refused one may have been released there, and then it has been settled. */
	#fleetIdOf({ id }: Debt): string {
		const hold = this.#fleetHolds.get(id) ?? { id, isRefused: false };
		return hold.isRefused ? randomUUID() : hold.id;
	}

	/** The ledger, open, and with nothing owed where these accounts are. A loss that nobody was told of is told first. */
	async ready(accounts: readonly Account[]): Promise<Ledger> {
		const loss = this.#loss;
		this.#loss = undefined;
		if (loss) throw new LedgerError(loss.kind, loss.message);
		const ledger = await this.#opened();
		await this.#pay(ledger);
		const usesHome = accounts.some(({ scope }) => scope !== "fleet");
		await this.#files.pay(usesHome, ({ id, accounts, amounts }) => ledger.settle(id, accounts, amounts));
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

	/** Closes a ledger that cannot be used; the next gate opens it again. `isTold`: the gate is closed for it. Returns the reason. */
	lose(error: unknown, isTold = false): string {
		if (!(error instanceof LedgerError)) throw error;
		this.#isLost = true;
		const { kind, message } = error;
		const { retry, knows } = FAULTS[kind];
		// The deadline has passed.
		this.#isLocked = retry === "at once";
		if (!isTold && knows === "nothing") this.#loss = { kind, message };
		void this.close();
		return (this.#why = message);
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

/** False for the mere end of an agent, which no limit counts. */
function isWorthKeeping(amounts: Amounts): boolean {
	return Object.entries(amounts).some(([meter, amount]) => meter !== "agents" && amount > 0);
}

function addAmounts(all: Amounts, more: Amounts): Amounts {
	const added = Object.entries(more).map(([meter, amount]) => [meter, (all[meter] ?? 0) + amount]);
	return { ...all, ...(Object.fromEntries(added) as Amounts) };
}
