/** One session's place among agents that share: its accounts in a fleet, in periods, in a tree. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Account, Amounts, Ledger, Reading } from "../../ledger/port.ts";
import type { Budget } from "../../settings/budget.ts";
import { fleetAccounts } from "./fleet-accounts.ts";
import { capsOf, extrasOf, type Meters, periodsOf } from "./meter-accounts.ts";
import type { LedgerEntry } from "./unsettled.ts";

/** How many agents a tree has; those that were killed count as ended after a minute. */
export interface Agents {
	readonly alive: number;
	readonly ended: number;
}

/** Plain data, because another instance may take it over. */
export interface MembershipFacts {
	/** The accounts of the fleet that this session has joined. */
	readonly joined: readonly string[];
	/** The name of the tree. */
	readonly tree: string | undefined;
	/** By meter: the limits of the tree that we have begun, and what was granted before each of them was set. */
	readonly limits: Amounts | undefined;
	readonly before: Amounts;
	/** This agent's hold in its tree, while it runs. */
	readonly agent: LedgerEntry | undefined;
	/** It has run in this tree before. */
	readonly hasEnded: boolean;
}

const NO_TREE = { tree: undefined, limits: undefined, before: {}, hasEnded: false } as const;

export class Membership {
	readonly #budget: Budget | undefined;
	readonly #isMember: boolean;
	/** The tree is the root's, and this session a member. */
	readonly #isInherited: boolean;
	#facts: MembershipFacts;

	/** `tree`: the name of the root's, in a member. */
	constructor(tree: string | undefined, budget: Budget | undefined, isMember: boolean) {
		this.#budget = budget;
		this.#isMember = isMember;
		this.#facts = { ...NO_TREE, joined: [], agent: undefined, tree };
		this.#isInherited = tree !== undefined;
	}

	get facts(): MembershipFacts {
		return this.#facts;
	}

	/** Goes on where another instance left off. */
	takeOver(facts: MembershipFacts): void {
		this.#facts = facts;
	}

	get tree(): string | undefined {
		return this.#facts.tree;
	}

	/** This session is a member, and the tree is its root's. */
	get inheritsTree(): boolean {
		return this.#isInherited;
	}

	get agent(): LedgerEntry | undefined {
		return this.#facts.agent;
	}

	get #isInTree(): boolean {
		return this.#isInherited || this.#facts.limits !== undefined;
	}

	beginTree(): void {
		if (!this.#isInherited) this.#note(NO_TREE);
	}

	/** From the outermost to the innermost. */
	accountsOf(meters: Meters): readonly Account[] {
		const fleet = this.#budget === undefined ? [] : fleetAccounts(this.#budget, Date.now());
		const periods = periodsOf(meters, this.#isMember);
		return [...fleet, ...periods, ...this.#treeOf(meters, periods.length > 0)];
	}

	/** The ledger knows the account. */
	isKnown(account: Account): boolean {
		if (account.scope === "fleet") return this.#facts.joined.includes(account.name);
		return account.scope !== "tree" || this.#isInTree;
	}

	/**
	 * The account of the tree, if it is limited or something wider is counted in the same ledger: only there
	 * can its members report what they spend. A fleet's budget alone needs no ledger on this machine.
	 */
	#treeOf(meters: Meters, isOpen: boolean): readonly Account[] {
		const limits = Object.entries(capsOf(meters, "tree"));
		if (!this.#isInherited && limits.length === 0 && !isOpen) return [];
		const { before, tree: name = randomUUID() } = this.#facts;
		this.#note({ tree: name });
		const caps = limits.map(([of, limit]) => [of, Math.max(0, limit - (before[of] ?? 0))]);
		return [{ scope: "tree", name, caps: Object.fromEntries(caps) as Amounts }];
	}

	/** Joins what was not joined yet, and gives the accounts. `lease`: how long we count as alive. */
	async join(ledger: Ledger, meters: Meters, lease: number): Promise<readonly Account[]> {
		await this.#joinTree(ledger, meters, lease);
		const accounts = this.accountsOf(meters);
		for (const account of accounts) {
			// A budget that an operator has deleted is not made again: its agents stop.
			if (account.scope !== "fleet" || this.isKnown(account)) continue;
			await ledger.join(account);
			this.#note({ joined: [...this.#facts.joined, account.name] });
		}
		return accounts;
	}

	/** A tree that we begin gets what was granted in advance. */
	async #joinTree(ledger: Ledger, meters: Meters, lease: number): Promise<void> {
		const tree = this.accountsOf(meters).find(({ scope }) => scope === "tree");
		if (tree === undefined) return;
		if (!this.#isInTree) {
			// Without caps: each agent brings its own, so that the root can change them in mid-run.
			await ledger.join({ ...tree, caps: {} });
			const promised = extrasOf(meters, "tree");
			// One id per tree, because this is done again if it fails.
			if (Object.keys(promised).length > 0) await ledger.raise(`promised to ${this.tree}`, tree, promised);
			this.#note({ limits: capsOf(meters, "tree") });
		}
		await this.absorbGrants(ledger, meters);
		if (this.agent) return;
		const agent = { id: randomUUID(), accounts: [tree] };
		this.#note({ agent });
		await ledger.reserve(agent.id, [tree], { agents: 1 }, lease);
	}

	/** Counts earlier grants as part of a limit that is set now, because the ledger adds every grant to the cap. */
	async absorbGrants(ledger: Ledger, meters: Meters): Promise<void> {
		const { tree: name, limits: old, before } = this.#facts;
		const limits = capsOf(meters, "tree");
		if (name === undefined || old === undefined || isDeepStrictEqual(limits, old)) return;
		const nothing = Object.fromEntries(Object.keys(limits).map((of) => [of, 0]));
		const [granted] = await ledger.read([{ scope: "tree", name, caps: nothing }]);
		const earlier = Object.entries(limits).map(([of, limit]) => {
			return [of, limit === old[of] ? (before[of] ?? 0) : Number(granted?.meters[of]?.cap)];
		});
		this.#note({ limits, before: Object.fromEntries(earlier) as Amounts });
	}

	/** The run is over; an agent counts once as ended, however often it runs. */
	leave(owe: (agent: LedgerEntry, amounts: Amounts) => void): void {
		const { agent, hasEnded } = this.#facts;
		if (agent === undefined) return;
		owe(agent, hasEnded ? {} : { agents: 1 });
		this.#note({ hasEnded: true, agent: undefined });
	}

	agentsIn(readings: readonly Reading[]): Agents | undefined {
		const agents = readings.find(({ account }) => account.scope === "tree")?.meters["agents"];
		return agents && { alive: agents.held, ended: agents.used };
	}

	#note(facts: Partial<MembershipFacts>): void {
		this.#facts = { ...this.#facts, ...facts };
	}
}
