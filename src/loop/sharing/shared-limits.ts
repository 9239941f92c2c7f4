/** The limits that several agents share. The ledger is opened only if one is set. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { kindOf, type Max, type MeterId, SHARED } from "../../core/meters.ts";
import type { Balances, Event } from "../../core/protocol.ts";
import type { FleetHolds } from "../../ledger/combined.ts";
import type { Amounts, Ledger } from "../../ledger/port.ts";
import type { Budget } from "../../settings/budget.ts";
import type { Values } from "../../settings/places.ts";
import { KEY_OF } from "../../settings/settings.ts";
import type { Meters } from "./meter-accounts.ts";
import type { Raise, ReservationFacts, Reservations, Shared } from "./reservation.ts";
import type { Tree } from "../tree/tree-variable.ts";
import type { DebtLeft } from "./unsettled.ts";

/** The place of one agent among those that share. */
export interface Sharing {
	/** The directory of the machine's ledger. */
	readonly at: string;
	/** The name of the root's tree, in a member. */
	readonly tree?: string | undefined;
	/** An agent has started this one. */
	readonly isMember?: boolean;
	/** The fleet's. */
	readonly budget?: Budget | undefined;
}

/** Plain data, because another instance may take it over. */
export interface SharedFacts extends ReservationFacts {
	readonly fleetHolds: FleetHolds;
}

export class SharedLimits {
	readonly #sharing: () => Sharing;
	readonly #fleetHolds: FleetHolds = new Map();
	#reservation: Reservations | undefined;

	/** `sharing` is read when a shared limit is first used. */
	constructor(sharing: () => Sharing) {
		this.#sharing = sharing;
	}

	/** Imported only here, because an agent alone needs none of it. */
	async #opened(): Promise<Reservations> {
		const { Reservations } = await import("./reservation.ts");
		const { at, tree, budget, isMember } = this.#sharing();
		const openHome = async (): Promise<Ledger> => {
			const { openSqlite } = await import("../../ledger/sqlite/ledger.ts");
			mkdirSync(dirname(at), { recursive: true });
			return await openSqlite({ directory: at, within: dirname(at) });
		};
		const open = budget === undefined ? openHome : await withFleet(openHome, budget, this.#fleetHolds);
		return (this.#reservation ??= new Reservations(at, open, tree, budget, isMember, this.#fleetHolds));
	}

	/** Holds room for the next turn; returns the result. */
	async reserve(meters: Meters, signals: readonly (AbortSignal | undefined)[]): Promise<Event> {
		return await (await this.#opened()).reserve(meters, signals);
	}

	async release(): Promise<void> {
		await this.#reservation?.release();
	}

	async raise(more: Raise, meters: Meters): Promise<void> {
		await (await this.#opened()).raise(more, meters);
	}

	/** A person's prompt begins a tree; a member's prompt does not. */
	beginTree(): void {
		this.#reservation?.beginTree();
	}

	/** A turn was admitted that repeats no other. */
	beginTurn(meters: Meters): Promise<void> | undefined {
		return this.#reservation?.beginTurn(meters);
	}

	/** Tells the ledger of amounts; `isTurn`: of the turn that room is held for. Gives a promise only where something is shared. */
	charge(amounts: Amounts | undefined, isTurn: boolean, meters: Meters): Promise<Balances> | undefined {
		if (isTurn) return this.#reservation?.settleTurn(amounts ?? {}, meters);
		return amounts && this.#reservation?.charge(amounts, meters);
	}

	/** A tool call was admitted. */
	beginCall(): void {
		this.#reservation?.beginCall();
	}

	/** Tells the ledger what a call reports, less what members that it started have told themselves. */
	chargeCall(amounts: Amounts, meters: Meters): Promise<Balances> | undefined {
		return this.#reservation?.chargeCall(amounts, meters);
	}

	/** @throws LedgerError */
	async read(meters: Meters, isAsked: boolean): Promise<Shared & { readonly balances: Balances }> {
		return await (await this.#opened()).read(meters, isAsked);
	}

	/** Returns what could not be reported to the ledger. */
	async endRun(): Promise<DebtLeft | undefined> {
		return await this.#reservation?.endRun();
	}

	/** The tree as its members are told of it; undefined until it has begun. `overruled`: limits of files that a command replaced. */
	treeOf(meters: Meters, overruled: (id: MeterId) => Max): Tree | undefined {
		const reservation = this.#reservation;
		if (reservation?.tree === undefined) return undefined;
		const written = (maxOf: (id: MeterId) => Max): Values => {
			const limited = SHARED.map((id) => [id, maxOf(id)] as const).filter(([, max]) => max !== "unlimited");
			return Object.fromEntries(limited.map(([id, max]) => [KEY_OF[id], kindOf(id).unit.write(Number(max))]));
		};
		const limits = written((id) => reservation.capOf(id, meters));
		return { name: reservation.tree, at: reservation.at, limits, overruled: written(overruled) };
	}

	/** Hands over what this instance holds, because another one goes on with it; undefined if nothing is shared. */
	giveAway(): SharedFacts | undefined {
		const reservation = this.#reservation;
		this.#reservation = undefined;
		return reservation && { ...reservation.giveAway(), fleetHolds: this.#fleetHolds };
	}

	/** Goes on where another instance left off. */
	async takeOver(facts: SharedFacts | undefined, meters: Meters): Promise<void> {
		if (facts === undefined) return;
		for (const [id, hold] of facts.fleetHolds) this.#fleetHolds.set(id, hold);
		(await this.#opened()).takeOver(facts, meters);
	}
}

/** Opens the machine's ledger and the fleet's as one. */
async function withFleet(
	openHome: () => Promise<Ledger>,
	budget: Budget,
	holds: FleetHolds,
): Promise<() => Promise<Ledger>> {
	const { CombinedLedger } = await import("../../ledger/combined.ts");
	const openFleet = async (closing: AbortSignal): Promise<Ledger> => {
		const { openPostgres } = await import("../../ledger/postgres/ledger.ts");
		return await openPostgres({ address: budget.at(), closing });
	};
	return () => Promise.resolve(new CombinedLedger(openHome, openFleet, holds));
}
