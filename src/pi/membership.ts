/** One session's place in a tree of agents. */
import { randomUUID } from "node:crypto";
import type { Account, Amounts, Ledger, Reading } from "../ledger/port.ts";
import { capsOf, growth, type Meters } from "./accounts.ts";
import type { Spending } from "./purse.ts";

/** How many agents a tree has; those that were killed count as ended after a minute. */
export interface Agents {
	readonly alive: number;
	readonly ended: number;
}

export class Membership {
	/** The tree is the root's, and this session a member. */
	readonly #isInherited: boolean;
	#tree: string | undefined;
	/** By meter: the highest limits so far of the tree that we have created. */
	#caps: Amounts | undefined;
	/** Stands for this agent in its tree, while it runs. */
	#agent: Spending | undefined;
	/** It has run in this tree before. */
	#hasEnded = false;

	/** `tree`: the name of the root's, in a member. */
	constructor(tree: string | undefined) {
		this.#tree = tree;
		this.#isInherited = tree !== undefined;
	}

	get tree(): string | undefined {
		return this.#tree;
	}

	get agent(): Spending | undefined {
		return this.#agent;
	}

	get isJoined(): boolean {
		return this.#tree !== undefined && (this.#isInherited || this.#caps !== undefined);
	}

	begin(): void {
		if (this.#isInherited) return;
		this.#tree = undefined;
		this.#caps = undefined;
		this.#hasEnded = false;
	}

	/** The account of the tree, if it is limited. */
	accountOf(meters: Meters): readonly Account[] {
		const caps = capsOf(meters, "tree");
		const isOfTree = this.#isInherited || Object.keys(caps).length > 0;
		return isOfTree ? [{ scope: "tree", name: (this.#tree ??= randomUUID()), caps }] : [];
	}

	/** A tree that we begin has our limits; if they have grown since, so have its. `lease`: how long we count as alive. */
	async join(ledger: Ledger, accounts: readonly Account[], meters: Meters, lease: number): Promise<void> {
		const tree = accounts.find(({ scope }) => scope === "tree");
		if (tree === undefined) return;
		if (!this.#isInherited) {
			if (this.#caps === undefined) await ledger.join(tree);
			const { more, caps } = growth(this.#caps, tree.caps, meters);
			this.#caps = caps;
			if (Object.keys(more).length > 0) await ledger.raise(randomUUID(), tree, more);
		}
		if (this.#agent) return;
		this.#agent = { id: randomUUID(), accounts: [tree] };
		await ledger.reserve(this.#agent.id, [tree], { agents: 1 }, lease);
	}

	/** The run is over; an agent counts once as ended, however often it runs. */
	leave(owe: (agent: Spending, amounts: Amounts) => void): void {
		if (this.#agent === undefined) return;
		owe(this.#agent, this.#hasEnded ? {} : { agents: 1 });
		this.#hasEnded = true;
		this.#agent = undefined;
	}

	agentsIn(readings: readonly Reading[]): Agents | undefined {
		if (!this.isJoined) return undefined;
		const { used = 0, held = 0 } = readings.find(({ account }) => account.scope === "tree")?.meters["agents"] ?? {};
		return { alive: held, ended: used };
	}
}
