/** The ledger as one would keep it on paper: everything that was ever written, added up anew for every question. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import fc from "fast-check";
import type { Account, Amounts, Balance, Ledger, PeriodAccount, Reading, Reservation } from "../../src/ledger/port.ts";
import { check, REPLAY } from "../spec/check.ts";
import { DAY, type Make, MINUTE, type Where } from "./world.ts";

const SCOPES = ["fleet", "month", "week", "day", "tree"];
const ZONES = ["UTC", "Asia/Tokyo"];

const HOUR = 60 * MINUTE;

/** The longest lease. */
const LONGEST = 10 * MINUTE;

const isPeriod = (account: Account): account is PeriodAccount => !("name" in account);

/** What happened to one id: a hold, then at most one settle; or a grant. */
interface Slip {
	readonly id: string;
	readonly kind: "hold" | "settle" | "grant";
	readonly accounts: readonly string[];
	readonly amounts: Amounts;
	/** By account. */
	readonly until: Map<string, number>;
}

class Paper {
	now: number;
	readonly slips: Slip[] = [];
	readonly creators = new Map<string, Amounts>();
	/** The periods that somebody has used, in the order of their beginning. */
	readonly begun: Set<string>;

	constructor(now: number, begun: Set<string>) {
		this.now = now;
		this.begun = begun;
	}

	/** Only a hold without a settle still counts as one. */
	hold(id: string): Slip | undefined {
		return this.isDone(id) ? undefined : this.slips.find((slip) => slip.id === id && slip.kind === "hold");
	}

	isDone(id: string): boolean {
		return this.slips.some((slip) => slip.id === id && slip.kind !== "hold");
	}

	key(account: Account, id = ""): string {
		if (!isPeriod(account)) return `${account.scope}/${account.name}`;
		const { scope, zone, keepsZone } = account;
		const held = this.hold(id)?.accounts.find((key) => key.startsWith(`${scope}/`));
		if (held) return held;
		const current = ZONES.map((each) => `${scope}/${each}/${this.date(scope, each)}`);
		const own = `${scope}/${zone}/${this.date(scope, zone)}`;
		if (this.begun.has(own)) return own;
		const running = current.find((key) => this.begun.has(key));
		if (running) return running;
		// Of two periods that began on one date Tokyo's ends first.
		const last = [...this.begun]
			.filter((key) => key.startsWith(`${scope}/`) && this.date(scope, dated(key).zone) > dated(key).date)
			.toSorted(byEnd)
			.at(-1);
		if (!last) return own;
		const next = (zone: string): string => `${scope}/${zone}/${this.#dateAfter(scope, dated(last), zone)}`;
		const early = ZONES.map(next).filter((key) => this.begun.has(key));
		return early.toSorted(byEnd)[0] ?? next(keepsZone ? dated(last).zone : zone);
	}

	/** Hour by hour: the first date that the last one has not been, half a day after its end. */
	#dateAfter(scope: string, last: { readonly zone: string; readonly date: string }, zone: string): string {
		const ended = (moment: number): boolean => this.date(scope, last.zone, moment) > last.date;
		let moment = this.now;
		while (!ended(moment - DAY / 2)) moment += HOUR;
		while (this.date(scope, zone, moment) <= last.date) moment += HOUR;
		return this.date(scope, zone, moment);
	}

	/** Neither zone ever changes its clocks. */
	date(scope: string, zone: string, moment = this.now): string {
		const day = new Date(moment + (zone === "Asia/Tokyo" ? 9 : 0) * 60 * MINUTE).toISOString();
		if (scope !== "week") return day.slice(0, scope === "day" ? 10 : 7);
		const date = new Date(day.slice(0, 10));
		date.setUTCDate(date.getUTCDate() + 4 - (date.getUTCDay() || 7));
		const days = (Number(date) - Date.UTC(date.getUTCFullYear(), 0, 1)) / DAY;
		return `${date.getUTCFullYear()}-W${String(Math.floor(days / 7) + 1).padStart(2, "0")}`;
	}

	begin(keys: readonly string[]): void {
		for (const key of keys) if (!/^(fleet|tree)/.test(key)) this.begun.add(key);
	}

	/** After the clock has gone back no hold outlives the longest lease. */
	shorten(keys: readonly string[]): void {
		for (const { until } of this.slips)
			for (const key of keys) until.set(key, Math.min(until.get(key) ?? 0, this.now + LONGEST));
	}

	isKnown(account: Account): boolean {
		return isPeriod(account) || this.creators.has(this.key(account));
	}

	sum(kind: Slip["kind"], key: string, meter: string, counts: (slip: Slip) => boolean = () => true): number {
		const slips = this.slips.filter((slip) => slip.kind === kind && slip.accounts.includes(key) && counts(slip));
		return slips.reduce((sum, { amounts }) => sum + (amounts[meter] ?? 0), 0);
	}

	balance(account: Account, key: string, meter: string): Balance {
		const open = (slip: Slip): boolean => !this.isDone(slip.id);
		const lapsed = this.sum("hold", key, meter, (slip) => open(slip) && slip.until.get(key)! <= this.now);
		const caps = [account.caps[meter], this.creators.get(key)?.[meter]].filter((cap) => cap !== undefined);
		return {
			used: this.sum("settle", key, meter) + lapsed,
			held: this.sum("hold", key, meter, (slip) => open(slip) && slip.until.get(key)! > this.now),
			cap: caps.length === 0 ? "unlimited" : Math.min(...caps) + this.sum("grant", key, meter),
		};
	}

	read(account: Account, key = this.key(account)): Reading {
		const open = this.slips.filter(({ id, kind }) => kind !== "hold" || !this.isDone(id));
		const written = open
			.filter(({ accounts }) => accounts.includes(key))
			.flatMap(({ amounts }) => Object.keys(amounts));
		const meters = [...Object.keys(account.caps), ...Object.keys(this.creators.get(key) ?? {}), ...written];
		return {
			account: isPeriod(account) ? { ...account, ...dated(key) } : account,
			meters: Object.fromEntries(meters.map((meter) => [meter, this.balance(account, key, meter)])),
		};
	}
}

function dated(key: string): { readonly zone: string; readonly date: string } {
	const parts = key.split("/").slice(1);
	return { zone: parts.slice(0, -1).join("/"), date: parts.at(-1) ?? "" };
}

/** Where the date is the same, Tokyo's period ends before that of UTC. */
function byEnd(a: string, b: string): number {
	const [one, other] = [dated(a), dated(b)];
	return one.date === other.date ? (one.zone < other.zone ? -1 : 1) : one.date < other.date ? -1 : 1;
}

/** Both sides of one sequence. Names and ids are its own, because sequences share a store. */
interface Real {
	readonly prefix: string;
	ledgers: Ledger[];
	readonly clock: { now: number };
	readonly open: () => Promise<Ledger>;
}

type Do = (paper: Paper, real: Real, ledger: Ledger, named: <T extends Account>(account: T) => T) => Promise<void>;

class Step implements fc.AsyncCommand<Paper, Real> {
	readonly text: string;
	readonly reader: number;
	readonly work: Do;

	constructor(text: string, reader: number, work: Do) {
		this.text = text;
		this.reader = reader;
		this.work = work;
	}

	check(): boolean {
		return true;
	}

	async run(paper: Paper, real: Real): Promise<void> {
		const named = <T extends Account>(account: T): T =>
			isPeriod(account) ? account : { ...account, name: real.prefix + account.name };
		await this.work(paper, real, real.ledgers[this.reader] as Ledger, named);
	}

	toString(): string {
		return this.text;
	}
}

const amount = fc.integer({ min: 0, max: 4 });
const amounts = fc.dictionary(fc.constantFrom("turns", "cost"), amount, { maxKeys: 2 });
const caps = fc.dictionary(fc.constantFrom("turns", "cost"), fc.integer({ min: 0, max: 9 }), { maxKeys: 2 });
const named = fc.record({
	scope: fc.constantFrom("fleet" as const, "tree" as const),
	name: fc.constantFrom("a", "b"),
	caps,
});
const periods = fc.record({
	scope: fc.constantFrom("day" as const, "week" as const, "month" as const),
	zone: fc.constantFrom(...ZONES),
	keepsZone: fc.boolean(),
	caps,
});
const fleets = fc.record({ scope: fc.constant("fleet" as const), name: fc.constantFrom("a", "b", "c", "d"), caps });
const ACCOUNTS: Readonly<Record<Where, fc.Arbitrary<Account>>> = {
	machine: fc.oneof(named, periods),
	server: fleets,
};
const id = fc.integer({ min: 0, max: 9 }).map(String);
const ttl = fc.constantFrom(1, MINUTE, LONGEST);

function stepsOf(account: fc.Arbitrary<Account>) {
	const accounts = fc.uniqueArray(account, {
		minLength: 1,
		maxLength: 4,
		selector: (each) => (isPeriod(each) ? each.scope : each.scope + each.name),
	});
	return {
		join: fc.record({ account }).map(({ account }): Do => async (paper, _real, ledger, named) => {
			const joined = named(account);
			const key = paper.key(joined);
			if (!isPeriod(joined) && !paper.creators.has(key)) paper.creators.set(key, joined.caps);
			paper.begin([key]);
			assert.deepEqual(await ledger.join(joined), paper.read(joined));
		}),

		reserve: fc.record({ id, accounts, amounts, ttl }).map((given): Do => async (paper, real, ledger, named) => {
			const id = real.prefix + given.id;
			const accounts = given.accounts.map(named);
			const result = ledger.reserve(id, accounts, given.amounts, given.ttl);
			if (Object.keys(given.amounts).length === 0) return await assert.rejects(result, RangeError);
			if (!accounts.every((account) => paper.isKnown(account)))
				return await assert.rejects(result, { kind: "unjoined" });
			if (paper.isDone(id)) return await assert.rejects(result, RangeError);
			const keys = accounts.map((account) => paper.key(account, id));
			const read = (): Reading[] => accounts.map((account, i) => paper.read(account, keys[i]));
			if (paper.hold(id)) return assert.deepEqual(await result, { granted: true, readings: read() });
			paper.shorten(keys);
			const full = SCOPES.flatMap((scope) => read().filter(({ account }) => account.scope === scope)).flatMap(
				(reading) => {
					const meters = Object.keys(reading.meters).filter(
						(meter) => !fits(reading.meters[meter]!, given.amounts[meter]),
					);
					return meters.length > 0 ? [{ full: reading, meters }] : [];
				},
			)[0];
			if (full) return refused(await result, full, read());
			paper.begin(keys);
			const until = new Map(keys.map((key) => [key, paper.now + given.ttl]));
			paper.slips.push({ id, kind: "hold", accounts: keys, amounts: given.amounts, until });
			assert.deepEqual(await result, { granted: true, readings: read() });
		}),

		settle: fc.record({ id, accounts, amounts }).map((given): Do => async (paper, real, ledger, named) => {
			const id = real.prefix + given.id;
			const accounts = given.accounts.map(named);
			const keys = accounts.map((account) => paper.key(account, id));
			if (!paper.isDone(id)) {
				paper.begin(keys);
				paper.slips.push({ id, kind: "settle", accounts: keys, amounts: given.amounts, until: new Map() });
			}
			const readings = accounts.map((account, i) => paper.read(account, keys[i]));
			assert.deepEqual(await ledger.settle(id, accounts, given.amounts), readings);
		}),

		renew: fc.record({ ids: fc.array(id), ttl }).map((given): Do => async (paper, real, ledger) => {
			const ids = given.ids.map((id) => real.prefix + id);
			for (const slip of ids.flatMap((id) => paper.hold(id) ?? []))
				for (const [key, until] of slip.until) slip.until.set(key, Math.max(until, paper.now + given.ttl));
			await ledger.renew(ids, given.ttl);
		}),

		raise: fc.record({ id, account, by: amounts }).map((given): Do => async (paper, real, ledger, named) => {
			const id = `${real.prefix}grant${given.id}`;
			const account = named(given.account);
			const result = ledger.raise(id, account, given.by);
			if (!paper.isKnown(account)) return await assert.rejects(result, { kind: "unjoined" });
			const { meters } = paper.read(account);
			const more = Object.entries(given.by).map(([meter, by]) => {
				const { used, cap } = meters[meter] ?? { used: 0, cap: "unlimited" };
				return [meter, cap === "unlimited" || used <= cap ? by : used - cap + by] as const;
			});
			const slip = { id, accounts: [paper.key(account)], amounts: Object.fromEntries(more), until: new Map() };
			if (!paper.isDone(id)) {
				paper.begin(slip.accounts);
				paper.slips.push({ kind: "grant", ...slip });
			}
			assert.deepEqual(await result, paper.read(account));
		}),

		read: fc.record({ accounts }).map((given): Do => async (paper, _real, ledger, named) => {
			const accounts = given.accounts.map(named);
			const result = ledger.read(accounts);
			if (!accounts.every((account) => paper.isKnown(account)))
				return await assert.rejects(result, { kind: "unjoined" });
			assert.deepEqual(
				await result,
				accounts.map((account) => paper.read(account)),
			);
		}),

		wait: fc
			.record({ ms: fc.constantFrom(1, MINUTE - 1, MINUTE, DAY / 2, -MINUTE, -DAY / 2) })
			.map(({ ms }): Do => (paper, real) => {
				paper.now = real.clock.now += ms;
				return Promise.resolve();
			}),

		reopen: fc.record({}).map((): Do => async (_paper, real) => {
			for (const ledger of real.ledgers) ledger.close();
			real.ledgers = [await real.open(), await real.open()];
		}),
	};
}

function fits({ used, held, cap }: Balance, amount = 0): boolean {
	if (cap === "unlimited") return true;
	return held === 0 ? used < cap : used + held < cap && used + held + amount <= cap;
}

function refused(
	result: Reservation,
	{ full, meters }: { full: Reading; meters: string[] },
	readings: Reading[],
): void {
	assert.ok(!result.granted);
	assert.deepEqual(result.readings, readings);
	assert.deepEqual(result.full, full);
	assert.deepEqual(result.meters.toSorted(), meters.toSorted());
	const spent = meters.some((meter) => full.meters[meter]!.used >= (full.meters[meter]!.cap as number));
	assert.equal(result.spent, spent);
}

/** How often a step is taken, and how many sequences there are. */
const WEIGHTS: Record<keyof ReturnType<typeof stepsOf>, number> = {
	...{ join: 3, reserve: 6, settle: 4, renew: 1, raise: 1, read: 1, wait: 2, reopen: 1 },
};

export async function follows(t: TestContext, make: Make, where: Where): Promise<void> {
	const clock = { now: 0 };
	const open = await make(t, () => clock.now);
	const reader = fc.integer({ min: 0, max: 1 });
	const steps = stepsOf(ACCOUNTS[where]);
	const commands = (Object.keys(steps) as (keyof typeof steps)[]).flatMap((name) => {
		const step = fc.tuple(reader, steps[name]).map(([reader, work]) => new Step(`${name} by ${reader}`, reader, work));
		return Array.from({ length: WEIGHTS[name] }, () => step);
	});
	let sequences = 0;
	const begun = new Set<string>();
	const property = fc.asyncProperty(
		fc.commands(commands, {
			maxCommands: 40,
			size: "max",
			...(REPLAY.commands === undefined ? {} : { replayPath: REPLAY.commands }),
		}),
		async (commands) => {
			// Every sequence has its own periods, and begins on the last day of a month.
			clock.now = Date.UTC(2026, 1 + ++sequences * 10, 0, 12);
			const real = { prefix: `${sequences}.`, ledgers: [await open(), await open()], clock, open };
			await fc.asyncModelRun(() => ({ model: new Paper(clock.now, begun), real }), commands);
			for (const ledger of real.ledgers) ledger.close();
		},
	);
	await check(property, 200);
}
