/** One session's part in what agents share: its accounts in the ledger, and the room that it holds there. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { kindOf, type Max, METER_IDS, type MeterId, scopeOf } from "../../core/meters.ts";
import type { Balances, Effect, Event } from "../../core/protocol.ts";
import { asOf, isPeriodAccount } from "../../ledger/account-key.ts";
import type { FleetHolds } from "../../ledger/combined.ts";
import { faultOf } from "../../ledger/faults.ts";
import type { Account, Amounts, Ledger, Reading } from "../../ledger/port.ts";
import { DebtFiles } from "../../ledger/debt-files.ts";
import { serverIn } from "../../ledger/postgres/address.ts";
import type { Budget } from "../../settings/budget.ts";
import { balancesOf, endsOf, fullMeter, larger, type Meters, type PeriodEnd, withinMost } from "./meter-accounts.ts";
import { type Agents, Membership, type MembershipFacts } from "./membership.ts";
import { pause, unlessAborted } from "../wait.ts";
import { type DebtLeft, type LedgerEntry, Unsettled, type UnsettledFacts } from "./unsettled.ts";

/** How long a hold lasts if nobody renews it, and how often we renew ours, in milliseconds. */
const LEASE = 60_000;
const RENEWAL = 20_000;

/** While others hold what is left: seconds between the first two tries, doubled each time, and the longest. */
const PATIENCE = 0.2;
const LONGEST_WAIT = 3;

const INTERRUPTED: Event = { type: "interrupted" };

/** What the ledger reports in addition to the balances. */
export interface Shared {
	readonly agents: Agents | undefined;
	readonly ends: readonly PeriodEnd[];
}

/** What the breaker wants to be granted. */
export type Raise = Omit<Extract<Effect, { type: "raise" }>, "type">;

/** More of a shared limit, from the person; the ledger takes it once per id. */
interface Grant {
	readonly id: string;
	readonly meter: MeterId;
	readonly by: number;
	/** The limits when it was made: a limit that is set later includes it. */
	readonly meters: Meters;
	/** The account that was asked about, if it answers a question, and the time. */
	readonly full: Account | undefined;
	readonly at: number;
}

/** Plain data, because another instance may take it over. */
export interface ReservationFacts {
	readonly membership: MembershipFacts;
	readonly unsettled: UnsettledFacts;
	readonly turn: (LedgerEntry & { readonly isUnderWay: boolean }) | undefined;
	readonly largest: Amounts;
	readonly full: Account | undefined;
	readonly grants: readonly Omit<Grant, "meters">[];
	readonly tree: Reading | undefined;
	readonly calls: number;
}

export class Reservations {
	readonly at: string;
	readonly #unsettled: Unsettled;
	readonly #membership: Membership;
	/** The turn for which room is held or asked for; `isUnderWay` once it was admitted. */
	#turn: ReservationFacts["turn"];
	/** The most that a turn has spent so far: held for the next one. */
	#largest: Amounts = {};
	/** The account that was full in this run. If it is a period, that may be over by the time the person answers. */
	#full: Account | undefined;
	/** Grants that the ledger has not taken yet, from the first. */
	#grants: readonly Grant[] = [];
	/** The tree when this session was last charged, and how many calls were let through since its last turn. */
	#tree: Reading | undefined;
	#calls = 0;
	#renewing: NodeJS.Timeout | undefined;

	/** `at`: the directory of the ledger. `tree`: the name of the root's, in a member. `fleetHolds`: as the ledger notes them. */
	constructor(
		at: string,
		open: () => Promise<Ledger>,
		tree: string | undefined,
		budget?: Budget,
		isMember = tree !== undefined,
		fleetHolds: FleetHolds = new Map(),
	) {
		this.at = at;
		const server = (): string | undefined => budget && serverIn(budget.at());
		this.#unsettled = new Unsettled(open, new DebtFiles(`${at}.debts`, server), fleetHolds);
		this.#membership = new Membership(tree, budget, isMember);
	}

	/** Hands everything over: another instance goes on with it. */
	giveAway(): ReservationFacts {
		void this.#close();
		return {
			membership: this.#membership.facts,
			unsettled: this.#unsettled.facts,
			turn: this.#turn,
			largest: this.#largest,
			full: this.#full,
			grants: this.#grants.map(({ id, meter, by, full, at }) => ({ id, meter, by, full, at })),
			tree: this.#tree,
			calls: this.#calls,
		};
	}

	/** Goes on where another instance left off. */
	takeOver(
		{ membership, unsettled, turn, largest, full, grants, tree, calls }: ReservationFacts,
		meters: Meters,
	): void {
		this.#membership.takeOver(membership);
		this.#unsettled.takeOver(unsettled);
		this.#turn = turn;
		this.#largest = largest;
		this.#full = full;
		this.#grants = grants.filter(({ meter }) => METER_IDS.includes(meter)).map((grant) => ({ ...grant, meters }));
		this.#tree = tree;
		this.#calls = calls;
		if (turn || membership.agent) this.#keepHolds();
	}

	#keepHolds(): void {
		this.#renewing ??= setInterval(() => this.#renew(), RENEWAL).unref();
	}

	/** The tree in which this session counts, if it has one. */
	get tree(): string | undefined {
		return this.#membership.tree;
	}

	/** The limit of a member that starts now; what was granted comes on top of it there too. */
	capOf(id: MeterId, meters: Meters): Max {
		const { scope, of } = kindOf(id);
		const account = this.#membership.accountsOf(meters).find((account) => account.scope === scope && scope !== "fleet");
		return account?.caps[of] ?? meters[id].limit.max;
	}

	/** A person's prompt begins a tree, without what was granted to the last one; a member's prompt does not. */
	beginTree(): void {
		this.#grants = this.#grants.filter(({ meter }) => scopeOf(meter).refilledBy === "nothing");
		this.#membership.beginTree();
	}

	/** Holds room for a turn in every account, and waits as long as only other agents' holds prevent it. */
	async reserve(meters: Meters, signals: readonly (AbortSignal | undefined)[]): Promise<Event> {
		const accounts = this.#membership.accountsOf(meters);
		if (this.#turn?.isUnderWay) this.#unsettled.owe(this.#takeTurn(), { turns: 1 });
		const turn = (this.#turn ??= { id: randomUUID(), accounts, isUnderWay: false });
		const tried = this.#hold(turn, meters, signals);
		const event = await unlessAborted(tried, signals);
		if (event) return event;
		// The ledger may answer long after the person has gone on.
		this.#turn = undefined;
		void this.#unsettled.close();
		void this.#giveBack(turn, tried);
		return INTERRUPTED;
	}

	async #giveBack(turn: LedgerEntry, tried: Promise<Event>): Promise<void> {
		try {
			if ((await tried).type !== "held") return;
			this.#unsettled.owe(turn, {});
			await this.#unsettled.tryToPay();
		} catch {
			// The next gate finds the ledger as it is.
		}
	}

	async #hold({ id }: LedgerEntry, meters: Meters, signals: readonly (AbortSignal | undefined)[]): Promise<Event> {
		const isAborted = (): boolean => signals.some((signal) => signal?.aborted);
		try {
			const ledger = await this.#unsettled.ready(this.#membership.accountsOf(meters));
			if (isAborted()) return INTERRUPTED;
			this.#keepHolds();
			await this.#makeGrants(ledger);
			const accounts = await this.#membership.join(ledger, meters, LEASE);
			if (this.#turn?.id === id) this.#turn = { ...this.#turn, accounts };
			for (let wait = PATIENCE; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
				const amounts = { ...this.#largest, turns: 1 };
				const made = await ledger.reserve(id, accounts, amounts, LEASE);
				if (made.granted) {
					this.#full = undefined;
					// With the date of the hold: it may be another day when the turn is settled.
					if (this.#turn?.id === id)
						this.#turn = { ...this.#turn, accounts: made.readings.map(({ account }) => account) };
					return { type: "held", balances: balancesOf(made.readings, amounts) };
				}
				if (made.spent) {
					this.#turn = undefined;
					this.#full = made.full.account;
					const balances = balancesOf(made.readings);
					return { type: "filled", meter: fullMeter(made.full, made.meters), balances };
				}
				await pause(wait * (0.5 + Math.random()), signals);
				if (isAborted()) return INTERRUPTED;
			}
		} catch (error) {
			if (isAborted()) return INTERRUPTED;
			return { type: "unreachable", message: this.#unsettled.lose(error, true) };
		}
	}

	/** A turn was admitted. No room is held for one of the final pass, so it is counted now: a grant adds to what is used. */
	async beginTurn(meters: Meters): Promise<void> {
		if (this.#turn) this.#turn = { ...this.#turn, isUnderWay: true };
		else this.#unsettled.owe(this.#spending(meters), { turns: 1 });
		await this.#unsettled.tryToPay();
	}

	/** The turn for which room is held does not begin. */
	async release(): Promise<void> {
		if (this.#turn && !this.#turn.isUnderWay) this.#unsettled.owe(this.#takeTurn(), {});
		await this.#unsettled.tryToPay();
	}

	/** The turn has spent this. */
	async settleTurn(amounts: Amounts, meters: Meters): Promise<Balances> {
		const isHeld = this.#turn?.isUnderWay === true;
		this.#largest = larger(this.#largest, amounts);
		const turn = isHeld ? this.#takeTurn() : this.#spending(meters);
		this.#unsettled.owe(turn, isHeld ? { ...amounts, turns: 1 } : amounts);
		this.#calls = 0;
		return this.#balances(await this.#pay(), meters);
	}

	/** Something other than the turn has spent this. */
	async charge(amounts: Amounts, meters: Meters): Promise<Balances> {
		this.#unsettled.owe(this.#spending(meters), amounts);
		return this.#balances(await this.#pay(), meters);
	}

	/** A call was let through. */
	beginCall(): void {
		this.#calls++;
	}

	/** A call reports that it has spent this. It may report what members that it started have told the ledger themselves. */
	async chargeCall(amounts: Amounts, meters: Meters): Promise<Balances> {
		const told = await this.#toldByMembers();
		const rest = Object.entries(amounts).map(([id, amount]) => [id, Math.max(0, amount - (told[id] ?? 0))]);
		return await this.charge(Object.fromEntries(rest) as Amounts, meters);
	}

	/** Spent by members that joined and left during the only call of this turn; nothing if that is in doubt. */
	async #toldByMembers(): Promise<Amounts> {
		const before = this.#tree;
		if (before === undefined || this.#membership.inheritsTree || this.#calls !== 1) return {};
		try {
			const [after] = await (await this.#unsettled.ready([before.account])).read([before.account]);
			if (after === undefined || [before, after].some((tree) => aliveIn(tree) !== 1)) return {};
			const told = Object.entries(after.meters).map(([id, { used }]) => [id, used - (before.meters[id]?.used ?? 0)]);
			return Object.fromEntries(told) as Amounts;
		} catch (error) {
			this.#unsettled.lose(error);
			return {};
		}
	}

	async #pay(): Promise<readonly Reading[]> {
		const readings = await this.#unsettled.tryToPay();
		this.#tree = readings.find(({ account }) => account.scope === "tree");
		return readings;
	}

	/** Leaves out limits that were set since then: the ledger learns of them at the next gate. */
	#balances(readings: readonly Reading[], meters: Meters): Balances {
		const now = this.#membership.accountsOf(meters);
		const isNow = ({ account }: Reading): boolean =>
			now.some(({ scope, caps }) => scope === account.scope && isDeepStrictEqual(caps, account.caps));
		return balancesOf(readings.filter(isNow));
	}

	/** The run is over. A turn whose end was never reported counts as spent. Nothing stays open, because a session can end without telling us. */
	async endRun(): Promise<DebtLeft | undefined> {
		const amounts: Amounts = this.#turn?.isUnderWay ? { turns: 1 } : {};
		if (this.#turn) this.#unsettled.owe(this.#takeTurn(), amounts);
		this.#membership.leave((agent, amounts) => this.#unsettled.owe(agent, amounts));
		this.#full = undefined;
		const left = await this.#unsettled.payOrKeep();
		await this.#close();
		return left;
	}

	/** The person grants more. If the ledger does not take it, the next gate repeats it or is closed. */
	async raise({ meter, by, isAnswer }: Raise, meters: Meters): Promise<void> {
		const account = this.#accountOf(meter, meters);
		// A tree that has not begun gets it when it begins.
		if (account === undefined || !this.#membership.isKnown(account)) return;
		const full = isAnswer && this.#full;
		const grant = { id: randomUUID(), meter, by, meters, full, at: Date.now() };
		this.#grants = [...this.#grants, grant];
		try {
			await this.#makeGrants(await this.#unsettled.ready([account]));
		} catch (error) {
			this.#unsettled.lose(error);
		} finally {
			await this.#closeBetweenRuns();
		}
	}

	async #makeGrants(ledger: Ledger): Promise<void> {
		for (let next = this.#grants[0]; next; next = this.#grants[0]) {
			const { id, meter, by, meters, full, at } = next;
			await this.#membership.absorbGrants(ledger, meters);
			const account = this.#accountOf(meter, meters);
			if (account) {
				const isAsked = full?.scope === account.scope && isPeriodAccount(full);
				const granted = isAsked ? { ...full, caps: account.caps } : asOf(account, at);
				await ledger.raise(id, granted, withinMost({ [kindOf(meter).of]: by }));
			}
			const made = next;
			this.#grants = this.#grants.filter((grant) => grant !== made);
		}
	}

	#accountOf(meter: MeterId, meters: Meters): Account | undefined {
		const { scope } = kindOf(meter);
		return this.#membership.accountsOf(meters).find((account) => account.scope === scope);
	}

	/** `isAsked`: a fleet's budget that this session has not joined is read too. @throws LedgerError. */
	async read(meters: Meters, isAsked: boolean): Promise<Shared & { readonly balances: Balances }> {
		const isRead = (account: Account): boolean =>
			(this.#membership.isKnown(account) && Object.keys(account.caps).length > 0) ||
			(isAsked && account.scope === "fleet");
		const accounts = (): readonly Account[] => this.#membership.accountsOf(meters).filter(isRead);
		if (accounts().length === 0) return { balances: {}, agents: undefined, ends: [] };
		try {
			const ledger = await this.#unsettled.ready(accounts());
			await this.#makeGrants(ledger);
			await this.#membership.absorbGrants(ledger, meters);
			const readings = (await Promise.all(accounts().map((account) => this.#readOne(ledger, account)))).flat();
			return { balances: balancesOf(readings), agents: this.#membership.agentsIn(readings), ends: endsOf(readings) };
		} catch (error) {
			this.#unsettled.lose(error);
			throw error;
		} finally {
			await this.#closeBetweenRuns();
		}
	}

	/** No reading for a fleet's budget that nobody has joined yet. */
	async #readOne(ledger: Ledger, account: Account): Promise<readonly Reading[]> {
		try {
			return await ledger.read([account]);
		} catch (error) {
			if (faultOf(error)?.knows === "others" && !this.#membership.isKnown(account)) return [];
			throw error;
		}
	}

	async #closeBetweenRuns(): Promise<void> {
		if (this.#turn === undefined && this.#membership.agent === undefined) await this.#close();
	}

	async #close(): Promise<void> {
		clearInterval(this.#renewing);
		this.#renewing = undefined;
		await this.#unsettled.close();
	}

	#spending(meters: Meters): LedgerEntry {
		return { id: randomUUID(), accounts: this.#membership.accountsOf(meters) };
	}

	#takeTurn(): LedgerEntry {
		const turn = this.#turn as LedgerEntry;
		this.#turn = undefined;
		return turn;
	}

	#renew(): void {
		const ids = [this.#turn?.id, this.#membership.agent?.id].filter((id) => id !== undefined);
		void this.#unsettled.renew(ids, LEASE);
	}
}

/** The agents of a tree that are running. */
function aliveIn({ meters }: Reading): number {
	return meters["agents"]?.held ?? 0;
}
