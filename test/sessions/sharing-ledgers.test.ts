/** What a session asks of a ledger that answers late, and of a fleet's. The server is a ledger in this process. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { meter } from "../../src/core/limit.ts";
import { type MeterId, perMeter } from "../../src/core/meters.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import { DebtFiles } from "../../src/ledger/debt-files.ts";
import { LedgerError } from "../../src/ledger/faults.ts";
import type { Account, FleetAccount, Ledger } from "../../src/ledger/port.ts";
import { CombinedLedger, type FleetHolds } from "../../src/ledger/combined.ts";
import { Reservations } from "../../src/loop/sharing/reservation.ts";
import { fleetAccounts } from "../../src/loop/sharing/fleet-accounts.ts";
import type { Budget } from "../../src/settings/budget.ts";
import type { Inside } from "../harness/inside.ts";
import { within } from "../harness/wait.ts";
import { NO_PERIODS } from "../settings/given.ts";
import { ofFleet, questions, status } from "./sharing.ts";

const limited = (limits: Partial<Record<MeterId, number>>) =>
	perMeter((id) => meter({ max: limits[id] ?? "unlimited", policy: "abort" }));

const DAY = limited({ dayTurns: 3 });
const TREE = limited({ treeTurns: 3 });

/** A ledger that answers only when it is told to, as a server far away may, and then answers all that it was asked. */
class Slow {
	readonly ledger: Ledger;
	readonly asked: string[] = [];
	closed = 0;
	#gate: Promise<void> = Promise.resolve();
	#open = (): void => {};

	constructor(books: Ledger) {
		const late = async <T>(what: string, answer: () => Promise<T>): Promise<T> => {
			this.asked.push(what);
			await this.#gate;
			return await answer();
		};
		this.ledger = {
			join: (...args) => late("join", () => books.join(...args)),
			reserve: (...args) => late("reserve", () => books.reserve(...args)),
			settle: (...args) => late("settle", () => books.settle(...args)),
			renew: (...args) => late("renew", () => books.renew(...args)),
			raise: (...args) => late("raise", () => books.raise(...args)),
			read: (...args) => late("read", () => books.read(...args)),
			close: () => {
				this.closed++;
			},
		};
	}

	stall(): void {
		this.#gate = new Promise((resolve) => (this.#open = resolve));
	}

	async answer(): Promise<void> {
		this.#open();
		for (let i = 0; i < 5; i++) await setImmediate();
	}
}

const today: Account = { scope: "day", zone: Intl.DateTimeFormat().resolvedOptions().timeZone, caps: {} };

test("what was spent before midnight counts on that day, though the ledger hears of it later", async (t) => {
	let now = Date.parse("2031-05-04T23:59:50");
	t.mock.method(Date, "now", () => now);
	const books = memory()();
	const slow = new Slow(books);
	slow.stall();
	const shares = new Reservations("nowhere", () => Promise.resolve(slow.ledger), undefined);
	const charging = shares.charge({ cost: 5 }, limited({ dayCost: 9 }));
	now += 20_000;
	await slow.answer();
	await charging;
	const used = async (date: string): Promise<unknown> =>
		(await books.read([{ ...today, date }]))[0]?.meters["cost"]?.used;
	assert.deepEqual([await used("2031-05-04"), await used("2031-05-05")], [5, undefined]);
});

describe("an agent that waits for what another holds", () => {
	test("asks less and less often, and has it when the other has settled", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		const books = memory()();
		const caps = { turns: 3 };
		await books.settle("spent", [today], { turns: 2 });
		await books.reserve("other", [{ ...today, caps }], { turns: 1 }, 60_000);
		const slow = new Slow(books);
		const shares = new Reservations("nowhere", () => Promise.resolve(slow.ledger), undefined);
		const pass = async (seconds: number): Promise<void> => {
			for (let i = 0; i < seconds * 10; i++) {
				await setImmediate();
				t.mock.timers.tick(100);
			}
		};
		const reserved = shares.reserve(DAY, [new AbortController().signal]);
		await pass(6);
		const tries = (): number => slow.asked.filter((what) => what === "reserve").length;
		const first = tries();
		assert.ok(first >= 4 && first <= 10, `${first} tries in 6 s`);
		await pass(60);
		const later = tries() - first;
		assert.ok(later >= 12 && later <= 42, `${later} tries in the next minute`);
		await books.settle("other", [today], {});
		await pass(6);
		assert.equal((await reserved).type, "held");
	});
});

describe("a grant that the ledger did not take", () => {
	const disk = new LedgerError("full", "The disk is full.");
	/** A session whose raises fail as often as told; `isHeard`: only their answers are lost. */
	function granting(books: Ledger, isHeard = false) {
		const raises = { failing: 0 };
		const raise: Ledger["raise"] = async (...args) => {
			if (raises.failing-- <= 0) return await books.raise(...args);
			if (isHeard) await books.raise(...args);
			throw disk;
		};
		const ledger: Ledger = {
			join: (...args) => books.join(...args),
			reserve: (...args) => books.reserve(...args),
			settle: (...args) => books.settle(...args),
			renew: (...args) => books.renew(...args),
			raise,
			read: (...args) => books.read(...args),
			close: () => {},
		};
		return { raises, shares: new Reservations("nowhere", () => Promise.resolve(ledger), undefined) };
	}
	const capIn = async (books: Ledger, account: Account): Promise<unknown> =>
		(await books.read([{ ...account, caps: { turns: 3 } }]))[0]?.meters["turns"]?.cap;
	const spendAll = (books: Ledger) => books.settle("spent", [today], { turns: 3 });

	test("is made at the next gate, which lets the turn pass in place of asking again", async () => {
		const books = memory()();
		await spendAll(books);
		const { raises, shares } = granting(books);
		assert.equal((await shares.reserve(DAY, [])).type, "filled");
		raises.failing = 1;
		await shares.raise({ meter: "dayTurns", by: 2 }, DAY);
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		await shares.release();
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		assert.equal(await capIn(books, today), 5);
	});

	test("closes that gate with the reason if the ledger does not take it there either, and is made later", async () => {
		const books = memory()();
		await spendAll(books);
		const { raises, shares } = granting(books);
		raises.failing = 2;
		await shares.raise({ meter: "dayTurns", by: 2 }, DAY);
		assert.deepEqual(await shares.reserve(DAY, []), { type: "unreachable", message: disk.message });
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		assert.equal(await capIn(books, today), 5);
	});

	test("is not made twice where only the answer was lost", async () => {
		const books = memory()();
		const { raises, shares } = granting(books, true);
		raises.failing = 2;
		await shares.raise({ meter: "dayTurns", by: 2 }, DAY);
		await shares.raise({ meter: "dayTurns", by: 1 }, DAY);
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		assert.equal(await capIn(books, today), 6);
	});

	test("is made, too, when the person looks at the budget", async () => {
		const { raises, shares } = granting(memory()());
		raises.failing = 1;
		await shares.raise({ meter: "dayTurns", by: 2 }, DAY);
		assert.deepEqual((await shares.read(DAY, true)).balances.dayTurns, { used: 0, cap: 5 });
	});

	test("is of the day on which the person made it", async (t) => {
		const midnight = new Date(2026, 2, 4).getTime();
		t.mock.timers.enable({ apis: ["Date"], now: midnight - 1000 });
		const books = memory()();
		const { raises, shares } = granting(books);
		raises.failing = 1;
		await shares.raise({ meter: "dayTurns", by: 2 }, DAY);
		t.mock.timers.setTime(midnight + 1000);
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		const capOf = (date: string): Promise<unknown> => capIn(books, { ...today, date });
		assert.deepEqual([await capOf("2026-03-03"), await capOf("2026-03-04")], [5, 3]);
	});

	test("is part of a limit that is set after it, as one that was taken at once", async () => {
		const books = memory()();
		const { raises, shares } = granting(books);
		await shares.reserve(TREE, []);
		raises.failing = 1;
		await shares.raise({ meter: "treeTurns", by: 2 }, TREE);
		await shares.release();
		const wider = limited({ treeTurns: 9 });
		const held = await shares.reserve(wider, []);
		assert.deepEqual(held.type === "held" && held.balances.treeTurns, { used: 0, cap: 9 });
	});

	test("is gone with its tree", async () => {
		const books = memory()();
		const { raises, shares } = granting(books);
		await shares.reserve(TREE, []);
		raises.failing = 1;
		await shares.raise({ meter: "treeTurns", by: 2 }, TREE);
		await shares.endRun();
		shares.beginTree();
		const held = await shares.reserve(TREE, []);
		assert.deepEqual(held.type === "held" && held.balances.treeTurns, { used: 0, cap: 3 });
	});

	test("and was promised to a tree is made when that begins", async () => {
		const books = memory()();
		const { raises, shares } = granting(books);
		const promised = { ...TREE, treeTurns: { ...TREE.treeTurns, extra: 2 } };
		raises.failing = 1;
		assert.equal((await shares.reserve(promised, [])).type, "unreachable");
		const held = await shares.reserve(promised, []);
		assert.deepEqual(held.type === "held" && held.balances.treeTurns, { used: 0, cap: 5 });
	});

	test("is made once where it is given to a tree that has not begun", async () => {
		const books = memory()();
		const { shares } = granting(books);
		const promised = { ...TREE, treeTurns: { ...TREE.treeTurns, extra: 2 } };
		await shares.raise({ meter: "treeTurns", by: 2 }, promised);
		const held = await shares.reserve(promised, []);
		assert.deepEqual(held.type === "held" && held.balances.treeTurns, { used: 0, cap: 5 });
	});
});

describe("Escape", () => {
	test("ends the wait for a ledger that does not answer", async () => {
		const shares = new Reservations("nowhere", () => new Promise(() => {}), undefined);
		const escape = new AbortController();
		const reserved = shares.reserve(DAY, [undefined, escape.signal]);
		escape.abort();
		assert.deepEqual(await within("the end of the wait", reserved, String), { type: "interrupted" });
	});

	test("before a ledger that breaks in an unknown way rejects nothing unhandled", async () => {
		let opened = 0;
		const slow = new Slow(memory()());
		slow.stall();
		const open = async () => {
			if (++opened > 1) throw new TypeError("broken");
			await Promise.resolve();
			return slow.ledger;
		};
		const shares = new Reservations("nowhere", open, undefined);
		const escape = new AbortController();
		const reserved = shares.reserve(DAY, [undefined, escape.signal]);
		await setImmediate();
		escape.abort();
		await reserved;
		await slow.answer();
		assert.equal(opened, 2);
	});

	test("gives back what the ledger has held since", async () => {
		const books = memory()();
		const slow = new Slow(books);
		const shares = new Reservations("nowhere", () => Promise.resolve(slow.ledger), undefined);
		const escape = new AbortController();
		slow.stall();
		const reserved = shares.reserve(DAY, [escape.signal]);
		await setImmediate();
		escape.abort();
		await reserved;
		await slow.answer();
		assert.deepEqual(slow.asked, ["join", "reserve", "reserve", "settle"], "the agent is in a tree of its own");
		const [reading] = await books.read([today]);
		assert.deepEqual(reading?.meters, {});
	});

	test("while the ledger is opened leaves nothing there, and no room to give back", async () => {
		const slow = new Slow(memory()());
		let open = (): void => {};
		const opened = new Promise<Ledger>((resolve) => (open = () => resolve(slow.ledger)));
		const shares = new Reservations("nowhere", () => opened, undefined);
		const escape = new AbortController();
		const reserved = shares.reserve(TREE, [escape.signal]);
		escape.abort();
		await reserved;
		open();
		await slow.answer();
		assert.deepEqual(slow.asked, []);
		assert.equal(slow.closed, 1);
	});

	test("while others hold what is left asks no more", async () => {
		const books = memory()();
		await books.reserve("another", [today], { turns: 3 }, 60_000);
		const slow = new Slow(books);
		const shares = new Reservations("nowhere", () => Promise.resolve(slow.ledger), undefined);
		const escape = new AbortController();
		const reserved = shares.reserve(DAY, [escape.signal]);
		await setImmediate();
		escape.abort();
		assert.deepEqual(await reserved, { type: "interrupted" });
		await slow.answer();
		assert.deepEqual(slow.asked, ["join", "reserve", "reserve"]);
	});

	test("while the ledger is joined leaves the next run as it should be", async () => {
		const slow = new Slow(memory()());
		const shares = new Reservations("nowhere", () => Promise.resolve(slow.ledger), undefined);
		const escape = new AbortController();
		slow.stall();
		const reserved = shares.reserve(TREE, [escape.signal]);
		await setImmediate();
		escape.abort();
		await reserved;
		await slow.answer();
		assert.deepEqual(await shares.reserve(TREE, []), { type: "held", balances: { treeTurns: { used: 0, cap: 3 } } });
	});

	test("before a ledger that fails does not close the one of the next run", async () => {
		let fail = (): void => {};
		const failing = new Promise((_resolve, reject) => {
			fail = () => reject(new LedgerError("unreachable", "It is gone."));
		});
		const broken = { join: () => failing, close: () => {} };
		const slow = new Slow(memory()());
		const ledgers = [broken as unknown as Ledger, slow.ledger];
		const shares = new Reservations("nowhere", () => Promise.resolve(ledgers.shift() as Ledger), undefined);
		const escape = new AbortController();
		const reserved = shares.reserve(DAY, [escape.signal]);
		await setImmediate();
		escape.abort();
		await reserved;
		assert.equal((await shares.reserve(DAY, [])).type, "held");
		fail();
		await setImmediate();
		assert.equal(slow.closed, 0);
		await shares.beginTurn(DAY);
		assert.deepEqual(await shares.settleTurn({}, DAY), { dayTurns: { used: 1, cap: 3 } });
	});
});

describe("a fleet's budget", () => {
	const budget = (caps: object, periods: Partial<Budget["periods"]> = {}): Budget => ({
		at: () => "",
		account: "team",
		caps,
		periods: { ...NO_PERIODS, ...periods },
		zone: "UTC",
	});
	const team = (caps: object): Account => ({ scope: "fleet", name: "team", caps: { ...caps } });
	const UNLIMITED = limited({});

	/** A session of the fleet, on a ledger that others use too. */
	function fleet(caps: object, periods?: Partial<Budget["periods"]>) {
		const books = memory()();
		const slow = new Slow(books);
		let opened = 0;
		const there = (): Promise<Ledger> => {
			opened++;
			return Promise.resolve(slow.ledger);
		};
		const shares = new Reservations("nowhere", there, undefined, budget(caps, periods));
		return { books, slow, shares, opened: () => opened };
	}

	test("is joined once, with the caps of the settings, and holds", async () => {
		const { shares, slow } = fleet({ turns: 2 });
		for (const used of [0, 1]) {
			assert.deepEqual(await shares.reserve(UNLIMITED, []), {
				type: "held",
				balances: { budgetTurns: { used, cap: 2 } },
			});
			await shares.beginTurn(UNLIMITED);
			await shares.settleTurn({ cost: 5 }, UNLIMITED);
		}
		assert.deepEqual(await shares.reserve(UNLIMITED, []), {
			type: "filled",
			meter: "budgetTurns",
			balances: { budgetTurns: { used: 2, cap: 2 } },
		});
		assert.equal(slow.asked.filter((what) => what === "join").length, 1);
	});

	test("leaves what is owed to this machine's ledger until something is limited there", async (t) => {
		const folder = mkdtempSync(join(tmpdir(), "debts-"));
		t.after(() => rmSync(folder, { recursive: true }));
		const at = join(folder, "ledger");
		const debt = { id: "a", accounts: [today], amounts: { turns: 1 } };
		new DebtFiles(`${at}.debts`, () => undefined).keep(debt, "a");
		const books = memory()();
		const shares = new Reservations(at, () => Promise.resolve(books), undefined, budget({ turns: 2 }));
		await shares.reserve(UNLIMITED, []);
		await shares.read(UNLIMITED, true);
		assert.deepEqual(readdirSync(`${at}.debts`), ["debt-a.json"]);
		await shares.read(DAY, true);
		assert.deepEqual(readdirSync(`${at}.debts`), []);
		assert.equal((await books.read([today]))[0]?.meters["turns"]?.used, 1);
		await shares.endRun();
	});

	/** Agents with a limited day whose fleet's ledger goes away before they have paid, on two ledgers in memory. */
	function twoLedgers(t: TestContext) {
		const folder = mkdtempSync(join(tmpdir(), "debts-"));
		t.after(() => rmSync(folder, { recursive: true }));
		const gone = (): never => {
			throw new LedgerError("unreachable", "It is gone.");
		};
		const [home, fleets] = [memory()(), memory()()];
		const faults = { home: (): void => {}, settle: (): void => {}, settled: (): void => {} };
		const homeLedger: Ledger = {
			...{ join: home.join.bind(home), settle: home.settle.bind(home), renew: home.renew.bind(home) },
			...{ raise: home.raise.bind(home), read: home.read.bind(home), close: () => {} },
			async reserve(...args) {
				if ("turns" in args[2]) faults.home();
				return await home.reserve(...args);
			},
		};
		const fleetLedger: Ledger = {
			...{ join: fleets.join.bind(fleets), reserve: fleets.reserve.bind(fleets), renew: fleets.renew.bind(fleets) },
			...{ raise: fleets.raise.bind(fleets), read: fleets.read.bind(fleets), close: () => {} },
			async settle(...args) {
				faults.settle();
				const readings = await fleets.settle(...args);
				faults.settled();
				return readings;
			},
		};
		const agent = (): Reservations => {
			const holds: FleetHolds = new Map();
			const open = () => {
				const [home, fleet] = [() => Promise.resolve(homeLedger), () => Promise.resolve(fleetLedger)];
				return Promise.resolve(new CombinedLedger(home, fleet, holds));
			};
			const of = { ...budget({ turns: 9 }), at: () => "postgres://ada@there/team" };
			return new Reservations(join(folder, "ledger"), open, undefined, of, false, holds);
		};
		const counted = async () => (await fleets.read([team({})]))[0]?.meters;
		return { agent, counted, faults, gone, home };
	}

	test("counts what was spent after the machine's ledger had failed and the fleet's went away", async (t) => {
		const { agent, counted, faults, gone } = twoLedgers(t);
		const first = agent();
		faults.home = gone;
		assert.equal((await first.reserve(DAY, [])).type, "unreachable");
		// The person goes on without it.
		await first.beginTurn(DAY);
		// The hold is released, and the answer is lost.
		faults.settled = gone;
		await first.settleTurn({ cost: 9 }, DAY);
		await first.endRun();
		Object.assign(faults, { home: () => {}, settled: () => {} });
		await agent().read(DAY, true);
		assert.deepEqual(await counted(), {
			turns: { used: 1, held: 0, cap: 9 },
			cost: { used: 9, held: 0, cap: "unlimited" },
		});
	});

	test("counts a turn once that had waited for the machine's ledger and is paid by another agent", async (t) => {
		const { agent, counted, faults, gone, home } = twoLedgers(t);
		const first = agent();
		await home.reserve("another", [today], { turns: 3 }, 60_000);
		let tries = 0;
		faults.home = () => {
			if (++tries === 2) void home.settle("another", [today], {});
		};
		assert.equal((await first.reserve(DAY, [])).type, "held");
		await first.beginTurn(DAY);
		faults.settle = gone;
		await first.settleTurn({}, DAY);
		await first.endRun();
		faults.settle = () => {};
		await agent().read(DAY, true);
		assert.deepEqual((await counted())?.["turns"], { used: 1, held: 0, cap: 9 });
	});

	test("is not made again after an operator has deleted it", async () => {
		const ledgers = [memory()(), memory()()];
		const [, emptied] = ledgers;
		const open = () => Promise.resolve((ledgers.shift() ?? emptied) as Ledger);
		const shares = new Reservations("nowhere", open, undefined, budget({ turns: 9 }));
		await shares.reserve(UNLIMITED, []);
		await shares.endRun();
		assert.deepEqual(await shares.reserve(UNLIMITED, []), {
			type: "unreachable",
			message: "The ledger does not know the fleet team.",
		});
	});

	for (const [which, used, balances] of [
		["the budget as a whole", 8, { budgetTurns: { used: 8, cap: 9 } }],
		["its day", 4, { budgetTurns: { used: 3, cap: 5 } }],
	] as const) {
		test(`shows the one with less room: ${which}`, async () => {
			const { books, shares } = fleet({ turns: 9 }, { day: { turns: 5 } });
			await books.join(team({ turns: 9 }));
			await books.settle("before", [team({})], { turns: used });
			const today = { scope: "fleet", name: nameOfToday(), caps: { turns: 5 } } as const;
			await books.join(today);
			await books.settle("today", [today], { turns: 3 });
			const { balances: found } = await shares.read(UNLIMITED, true);
			assert.deepEqual(found, balances);
		});
	}

	const nameOfToday = (): string => `team ${new Date().toISOString().slice(0, 10)}`;

	test("has an account for all, and for the month, the week and the day in its zone that have caps", () => {
		const [turns, cost] = [{ turns: 5 }, { cost: 2 }];
		const all: FleetAccount = { scope: "fleet", name: "team", caps: turns };
		// In Tokyo the new year has begun.
		const now = Date.UTC(2026, 11, 31, 15);
		const zone = "Asia/Tokyo";
		const accounts = (...given: Parameters<typeof budget>) => fleetAccounts({ ...budget(...given), zone }, now);
		assert.deepEqual(accounts({}), [{ ...all, caps: {} }]);
		assert.deepEqual(accounts(turns), [all]);
		assert.deepEqual(accounts({}, { week: cost }), [
			{ scope: "fleet", name: "team 2026-W53", period: "week", zone, caps: cost },
		]);
		assert.deepEqual(accounts(turns, { day: cost, week: turns, month: cost }), [
			all,
			{ scope: "fleet", name: "team 2027-01", period: "month", zone, caps: cost },
			{ scope: "fleet", name: "team 2026-W53", period: "week", zone, caps: turns },
			{ scope: "fleet", name: "team 2027-01-01", period: "day", zone, caps: cost },
		]);
	});

	test("charges a turn to the day on which room was held for it", async (t) => {
		let now = Date.parse("2031-05-04T23:59:59Z");
		t.mock.method(Date, "now", () => now);
		const books = memory()();
		const open = async (): Promise<Ledger> => {
			await Promise.resolve();
			now += 2000;
			return books;
		};
		const shares = new Reservations("nowhere", open, undefined, budget({}, { day: { turns: 5 } }));
		await shares.reserve(UNLIMITED, []);
		await shares.beginTurn(UNLIMITED);
		await shares.settleTurn({}, UNLIMITED);
		const [reading] = await books.read([{ scope: "fleet", name: "team 2031-05-05", caps: {} }]);
		assert.deepEqual(reading?.meters, { turns: { used: 1, held: 0, cap: 5 } });
	});

	test("has caps of an operator that the settings do not name", async () => {
		const { books, shares } = fleet({ turns: 9 });
		await books.join(team({ turns: 9, cost: 5 }));
		assert.deepEqual(await shares.reserve(UNLIMITED, []), {
			type: "held",
			balances: { budgetTurns: { used: 0, cap: 9 }, budgetCost: { used: 0, cap: 5 } },
		});
	});

	test("whose cap on something unknown to us is spent stops the session, and says so", async () => {
		const { books, shares } = fleet({ turns: 9 });
		await books.join(team({ turns: 9, favours: 0, smiles: 0 }));
		await assert.rejects(shares.reserve(UNLIMITED, []), {
			message: "The ledger refused for favours, smiles, which nothing limits.",
		});
		const { balances } = await shares.read(UNLIMITED, true);
		assert.deepEqual(balances, { budgetTurns: { used: 0, cap: 9 } });
	});

	test("is read before the first run only if a person asks", async () => {
		const { books, shares, opened } = fleet({ turns: 9 });
		await books.join(team({ turns: 7 }));
		assert.deepEqual(await shares.read(UNLIMITED, false), { balances: {}, agents: undefined, ends: [] });
		assert.equal(opened(), 0);
		const { balances } = await shares.read(UNLIMITED, true);
		assert.deepEqual(balances, { budgetTurns: { used: 0, cap: 7 } });
		await shares.reserve(UNLIMITED, []);
		assert.deepEqual((await shares.read(UNLIMITED, false)).balances, { budgetTurns: { used: 1, cap: 7 } });
	});

	test("that nobody has joined has nothing to show, and is no mistake", async () => {
		const { shares } = fleet({ turns: 9 });
		assert.deepEqual(await shares.read(UNLIMITED, true), { balances: {}, agents: undefined, ends: [] });
	});

	test("that cannot be read says why", async () => {
		const ledger = { read: () => Promise.reject(new LedgerError("denied", "It lets nobody in.")), close: () => {} };
		const open = () => Promise.resolve(ledger as unknown as Ledger);
		const shares = new Reservations("nowhere", open, undefined, budget({ turns: 9 }));
		await assert.rejects(shares.read(UNLIMITED, true), { message: "It lets nobody in." });
	});

	/** A session of pi whose fleet's ledger is in this process, with the caps of an operator. */
	async function guarded(t: TestContext, caps: object): Promise<Inside> {
		const books = memory()();
		await books.join(team(caps));
		for (const name of ["join", "reserve", "settle", "renew", "raise", "read"] as const)
			t.mock.method(CombinedLedger.prototype, name, books[name].bind(books) as () => Promise<never>);
		return await ofFleet(t, { limits: {}, person: () => false });
	}

	test("of which an operator has set a cap that the settings do not name stops a session, and asks nobody", async (t) => {
		const pi = await guarded(t, { turns: 9, cost: 30_000 });
		await pi.run("go");
		assert.deepEqual([questions(pi), pi.model.requests.length], [[], 3]);
		assert.match(pi.notifications.at(-1)?.message ?? "", /^Budget cost limit reached; /);
	});

	test("of which an operator has set such a cap shows it to a person who asks", async (t) => {
		const pi = await guarded(t, { turns: 9, cost: 30_000 });
		assert.deepEqual(await status(pi, "budget"), [
			"budget turns  0 of 9  budget team",
			"budget cost  $0.00 of $0.03  budget team",
		]);
	});
});
