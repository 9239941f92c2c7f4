/** What the runs of one limit spend together. Runs can overlap, so each turn is reserved, as in a tree of agents. */
import { randomUUID } from "node:crypto";
import { bound, isLimited, toNumber } from "../../core/limit.ts";
import { kindOf, METER_IDS, type MeterId } from "../../core/meters.ts";
import type { Balances } from "../../core/protocol.ts";
import { memory } from "../../ledger/memory/ledger.ts";
import type { Account, Amounts, Ledger, Reading } from "../../ledger/port.ts";
import { capsOf, larger, type Meters, withinMost } from "../../loop/sharing/meter-accounts.ts";
import { pause } from "../../loop/wait.ts";

const IDS: readonly MeterId[] = METER_IDS.filter((id) => kindOf(id).scope === "session");

/** How long the ledger knows an id that was settled, in milliseconds: nothing is told twice on purpose. */
const REMEMBERED = 60_000;

/** How long a hold lasts, in milliseconds. One of a longer turn counts as used, as the turn will. */
const LEASE = 600_000;

/** The account that the runs of one limit share. */
export class SessionBudget {
	readonly ledger: Ledger = memory(Date.now, REMEMBERED)();
	/** Runs that may be resumed here and are counted already. */
	readonly #runs = new Set<string>();
	#wake = (): void => {};
	#change = this.#next();

	constructor() {
		// A ledger in memory is never out of reach, and has joined when this returns.
		void this.ledger.join(accountOf({}));
	}

	/** Resolves when something was settled. */
	get change(): Promise<void> {
		return this.#change;
	}

	async settle(id: string, amounts: Amounts): Promise<void> {
		await this.ledger.settle(id, [accountOf({})], withinMost(amounts));
		this.#wake();
		this.#change = this.#next();
	}

	/** Counts what a run had spent in another process; a run that is known here was counted as it went. */
	async resume(run: string, spent: Amounts): Promise<void> {
		if (this.#runs.has(run)) return;
		this.saved(run);
		await this.settle(run, spent);
	}

	saved(run: string): void {
		this.#runs.add(run);
	}

	#next(): Promise<void> {
		return new Promise((resolve) => (this.#wake = resolve));
	}
}

/** One run's part in it. */
export class SessionShare {
	readonly #budget: SessionBudget;
	/** The turn for which room is held. */
	#turn: { readonly id: string; readonly isUnderWay: boolean } | undefined;
	/** The most that a turn has spent so far: held for the next one. */
	#largest: Amounts = {};
	/** The account as this run was last told of it. */
	#told: Balances = {};

	constructor(budget: SessionBudget) {
		this.#budget = budget;
	}

	/**
	 * Holds room for a turn; waits while only the holds of other runs stand in the way. Undefined if nothing is
	 * limited, or after an abort.
	 */
	async hold(meters: Meters, signal: AbortSignal): Promise<Balances | undefined> {
		await this.#closeTurn();
		if (!IDS.some((id) => isLimited(meters[id]))) return undefined;
		const { ledger } = this.#budget;
		const account = accountOf(capsOf(meters, "session"));
		const { id } = (this.#turn ??= { id: randomUUID(), isUnderWay: false });
		const grants = this.#grants(meters);
		// A ledger in memory has raised it when this returns, so no other run takes what this one was granted.
		if (Object.keys(grants).length > 0) void ledger.raise(randomUUID(), account, grants);
		for (;;) {
			const { change } = this.#budget;
			const made = await ledger.reserve(id, [account], { ...this.#largest, turns: 1 }, LEASE);
			if (made.granted || made.spent) return this.#tell(made.readings);
			// A run that is never settled changes nothing when its hold lapses.
			await pause(LEASE / 1000, [signal], change);
			if (signal.aborted) return undefined;
		}
	}

	/** The amounts that a person has granted in this run since the ledger was last read. */
	#grants(meters: Meters): Amounts {
		const more = IDS.map((id) => {
			const { used = 0, cap = Infinity } = this.#told[id] ?? {};
			return [kindOf(id).of, toNumber(bound(meters[id])) - Math.max(used, cap)] as const;
		});
		return withinMost(Object.fromEntries(more.filter(([, by]) => by > 0)));
	}

	/** A turn was admitted; no room is held for one of the final pass. */
	async beginTurn(): Promise<void> {
		await this.#closeTurn();
		if (this.#turn) this.#turn = { ...this.#turn, isUnderWay: true };
		else await this.#budget.settle(randomUUID(), { turns: 1 });
	}

	/** The turn for which room is held does not begin. */
	async release(): Promise<void> {
		if (this.#turn && !this.#turn.isUnderWay) await this.#budget.settle(this.#take(this.#turn.id), {});
	}

	/** Gives the balances. `isTurn`: the turn under way has spent it. */
	async charge(amounts: Amounts, isTurn: boolean, meters: Meters): Promise<Balances> {
		const turn = isTurn && this.#turn?.isUnderWay ? this.#turn : undefined;
		if (isTurn) this.#largest = larger(this.#largest, withinMost(amounts));
		await this.#budget.settle(turn ? this.#take(turn.id) : randomUUID(), turn ? { ...amounts, turns: 1 } : amounts);
		return this.#tell(await this.#budget.ledger.read([accountOf(capsOf(meters, "session"))]));
	}

	/** The run is over. */
	async end(): Promise<void> {
		await this.#closeTurn();
		await this.release();
	}

	/** A turn whose end was never reported counts as spent. */
	async #closeTurn(): Promise<void> {
		if (this.#turn?.isUnderWay) await this.#budget.settle(this.#take(this.#turn.id), { turns: 1 });
	}

	#take(id: string): string {
		this.#turn = undefined;
		return id;
	}

	/** Without what others hold: it may not be spent, and only the gate can wait for it. */
	#tell(readings: readonly Reading[]): Balances {
		const balances = IDS.map((id) => {
			const { used = 0, cap = Infinity } = readings[0]?.meters[kindOf(id).of] ?? {};
			return [id, { used, cap: Number(cap) }] as const;
		});
		return (this.#told = Object.fromEntries(balances));
	}
}

function accountOf(caps: Amounts): Account {
	return { scope: "tree", name: "session", caps };
}
