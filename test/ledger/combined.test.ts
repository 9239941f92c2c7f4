/** The machine's ledger and a fleet's as one, on two ledgers in memory. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { suite, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { type FleetHolds, CombinedLedger } from "../../src/ledger/combined.ts";
import { LedgerError } from "../../src/ledger/faults.ts";
import type { Account, Ledger } from "../../src/ledger/port.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import { check } from "../spec/check.ts";
import { balance, day, fault, fleet, MINUTE, NOON, tree } from "./world.ts";

type Operation = Exclude<keyof Ledger, "close">;

/** A ledger of which operations can fail: before they take effect, or after it, when the answer is lost. */
class Failing {
	readonly books: Ledger;
	readonly ledger: Ledger;
	readonly calls: string[] = [];
	#failing: { operation: Operation; when: "before" | "after"; times: number } | undefined;

	constructor(books: Ledger) {
		this.books = books;
		const passing = <A extends unknown[], R>(operation: Operation, work: (...given: A) => Promise<R>) => {
			return async (...given: A): Promise<R> => {
				this.calls.push(operation);
				this.#failIf(operation, "before");
				const answer = await work(...given);
				this.#failIf(operation, "after");
				return answer;
			};
		};
		this.ledger = {
			join: passing("join", (account: Account) => books.join(account)),
			reserve: passing("reserve", (...given: Parameters<Ledger["reserve"]>) => books.reserve(...given)),
			settle: passing("settle", (...given: Parameters<Ledger["settle"]>) => books.settle(...given)),
			renew: passing("renew", (...given: Parameters<Ledger["renew"]>) => books.renew(...given)),
			raise: passing("raise", (...given: Parameters<Ledger["raise"]>) => books.raise(...given)),
			read: passing("read", (...given: Parameters<Ledger["read"]>) => books.read(...given)),
			close: () => books.close(),
		};
	}

	fail(operation: Operation, when: "before" | "after", times = 1): void {
		this.#failing = { operation, when, times };
	}

	mend(): void {
		this.#failing = undefined;
	}

	#failIf(operation: Operation, when: "before" | "after"): void {
		const failing = this.#failing;
		if (failing?.operation !== operation || failing.when !== when || failing.times-- <= 0) return;
		throw new LedgerError("unreachable", "It is gone.");
	}
}

const BOTH = [fleet(), tree()];

/** A fleet and a tree, joined. */
async function pair(most = 9, here = 2) {
	const clock = { now: NOON };
	const home = new Failing(memory(() => clock.now)());
	const there = new Failing(memory(() => clock.now)());
	const holds: FleetHolds = new Map();
	const open = (known = holds): CombinedLedger =>
		new CombinedLedger(
			() => Promise.resolve(home.ledger),
			() => Promise.resolve(there.ledger),
			known,
		);
	const both = open();
	await both.join(fleet({ turns: most }));
	await both.join(tree({ turns: here }));
	const counted = async () => [await balance(there.books, fleet()), await balance(home.books, tree())];
	const reserve = (id: string, ledger = both) => ledger.reserve(id, BOTH, { turns: 1 }, MINUTE);
	return { both, home, there, holds, clock, open, counted, reserve };
}

suite("two ledgers as one", () => {
	test("hold a turn in both, and count it in both", async () => {
		const { both, there, holds, counted, reserve } = await pair();
		assert.ok((await reserve("a")).granted);
		assert.deepEqual(await counted(), [
			[0, 1, 9],
			[0, 1, 2],
		]);
		for (let i = 0; i < 2; i++) await both.settle("a", BOTH, { turns: 1 });
		assert.deepEqual(await counted(), [
			[1, 0, 9],
			[1, 0, 2],
		]);
		assert.equal(there.calls.filter((operation) => operation === "settle").length, 2, "one for each");
		assert.equal(holds.size, 0, "nothing is remembered of a turn that is over");
	});

	test("answer in the order of the accounts", async () => {
		const { both } = await pair();
		const accounts = [tree(), fleet(), day()];
		const scopes = (readings: readonly { readonly account: Account }[]) => readings.map(({ account }) => account.scope);
		const reserved = await both.reserve("a", accounts, { turns: 1 }, MINUTE);
		assert.ok(reserved.granted);
		for (const readings of [reserved.readings, await both.settle("a", accounts, {}), await both.read(accounts)])
			assert.deepEqual(scopes(readings), ["tree", "fleet", "day"]);
		const refused = await both.reserve("b", [tree({ turns: 0 }), fleet({ turns: 0 })], { turns: 1 }, MINUTE);
		assert.ok(!refused.granted);
		assert.deepEqual([refused.full.account.scope, scopes(refused.readings)], ["fleet", ["tree", "fleet"]]);
	});

	test("hold nothing at the fleet's if the machine's refuses, and the turn can be tried again", async () => {
		const { both, there, counted, reserve } = await pair();
		for (const id of ["a", "b"]) await reserve(id);
		for (let i = 0; i < 3; i++) assert.equal((await reserve("c")).granted, false);
		assert.equal(there.calls.filter((operation) => operation === "settle").length, 3, "one for each refusal");
		assert.deepEqual(await counted(), [
			[0, 2, 9],
			[0, 2, 2],
		]);
		await both.settle("a", BOTH, {});
		assert.ok((await reserve("c")).granted);
		await both.settle("c", BOTH, { turns: 1 });
		assert.deepEqual(await counted(), [
			[1, 1, 9],
			[1, 1, 2],
		]);
	});

	test("hold nothing at the machine's if the fleet's refuses", async () => {
		const { both, home, counted } = await pair();
		const refused = await both.reserve("a", [fleet({ turns: 0 }), tree()], { turns: 1 }, MINUTE);
		assert.ok(!refused.granted && refused.spent);
		assert.ok(!home.calls.includes("reserve"));
		assert.deepEqual(await counted(), [
			[0, 0, 9],
			[0, 0, 2],
		]);
	});

	for (const when of ["before", "after"] as const) {
		test(`release a refused turn again if the release failed ${when} it took effect, also by a ledger that is opened anew`, async () => {
			const { both, there, open, counted, reserve } = await pair();
			for (const id of ["a", "b"]) await reserve(id);
			there.fail("settle", when);
			await assert.rejects(reserve("c"), fault("unreachable"));
			assert.equal((await reserve("c", open())).granted, false);
			assert.deepEqual((await counted())[0], [0, 2, 9]);
			await both.settle("a", BOTH, {});
			assert.ok((await reserve("c")).granted);
			assert.deepEqual((await counted())[0], [0, 2, 9]);
		});

		test(`count a turn that went on although its release failed ${when} it took effect, once`, async () => {
			const { both, there, counted, reserve } = await pair();
			for (const id of ["a", "b"]) await reserve(id);
			there.fail("settle", when);
			await assert.rejects(reserve("c"), fault("unreachable"));
			there.fail("settle", "after", 2);
			for (let i = 0; i < 2; i++) await assert.rejects(both.settle("c", BOTH, { turns: 1 }), fault("unreachable"));
			await both.settle("c", BOTH, { turns: 1 });
			assert.deepEqual(await counted(), [
				[1, 2, 9],
				[1, 2, 2],
			]);
		});
	}

	test("hold nothing at the fleet's for a turn that the machine's could not hold, once it is given up", async () => {
		const { both, home, counted, reserve } = await pair();
		home.fail("reserve", "before");
		await assert.rejects(reserve("a"), fault("unreachable"));
		await both.settle("a", BOTH, {});
		assert.deepEqual((await counted())[0], [0, 0, 9]);
	});

	test("a settle that the machine's could not take counts once at the fleet's", async () => {
		const { both, home, counted, reserve } = await pair();
		await reserve("a");
		home.fail("settle", "before");
		await assert.rejects(both.settle("a", BOTH, { turns: 1 }), fault("unreachable"));
		await both.settle("a", BOTH, { turns: 1 });
		assert.deepEqual(await counted(), [
			[1, 0, 9],
			[1, 0, 2],
		]);
	});

	test("renew a hold in both, by the id that the fleet knows", async () => {
		const { both, clock, counted, reserve } = await pair();
		for (const id of ["a", "b"]) await reserve(id);
		assert.equal((await reserve("c")).granted, false);
		await both.settle("a", BOTH, {});
		await reserve("c");
		clock.now += MINUTE - 1;
		await both.renew(["b", "c"], MINUTE);
		clock.now += MINUTE - 1;
		assert.deepEqual(await counted(), [
			[0, 2, 9],
			[0, 2, 2],
		]);
	});

	test("renew at the fleet's also if the machine's fails", async () => {
		const { both, home, clock, counted, reserve } = await pair();
		await reserve("a");
		clock.now += MINUTE - 1;
		home.fail("renew", "before");
		await assert.rejects(both.renew(["a"], MINUTE), fault("unreachable"));
		clock.now += 1;
		assert.deepEqual(await counted(), [
			[0, 1, 9],
			[1, 0, 2],
		]);
	});

	test("reject nothing that nobody handles if both fail", async (t) => {
		const { both, home, there, reserve } = await pair();
		const unhandled: unknown[] = [];
		const note = (reason: unknown) => void unhandled.push(reason);
		process.on("unhandledRejection", note);
		t.after(() => process.off("unhandledRejection", note));
		await reserve("a");
		home.fail("renew", "before");
		there.fail("renew", "before");
		await assert.rejects(both.renew(["a"], MINUTE), fault("unreachable"));
		await setImmediate();
		assert.deepEqual(unhandled, []);
	});

	test("ask only the ledger that has the account", async () => {
		const { both, home, there } = await pair();
		for (const [account, asked, other] of [
			[fleet(), there, home],
			[tree(), home, there],
		] as const) {
			asked.calls.length = other.calls.length = 0;
			await both.join(account);
			await both.reserve(account.scope, [account], { turns: 1 }, MINUTE);
			await both.settle(account.scope, [account], { turns: 1 });
			await both.raise(`more ${account.scope}`, account, { turns: 1 });
			await both.read([account]);
			assert.deepEqual([asked.calls, other.calls], [["join", "reserve", "settle", "raise", "read"], []]);
		}
	});

	test("give up opening a ledger when they are closed", async () => {
		const open = (closing: AbortSignal): Promise<Ledger> =>
			new Promise((_, reject) => closing.addEventListener("abort", () => reject(new LedgerError("closed", "Gone."))));
		const both = new CombinedLedger(open, open, new Map());
		const waiting = [both.join(tree()), both.join(fleet())].map((each) => assert.rejects(each, fault("closed")));
		both.close();
		await Promise.all(waiting);
	});

	test("open each ledger when it is first needed, once, and close what is open", async () => {
		const opened: string[] = [];
		const home = memory()();
		const both = new CombinedLedger(
			() => (opened.push("home"), Promise.resolve(home)),
			() => (opened.push("fleet"), Promise.reject(new LedgerError("unreachable", "It is gone."))),
			new Map(),
		);
		await both.renew(["a"], MINUTE);
		assert.deepEqual(opened, []);
		for (let i = 0; i < 2; i++) await both.join(tree());
		await assert.rejects(both.join(fleet()), fault("unreachable"));
		assert.deepEqual(opened, ["home", "fleet"]);
		both.close();
		await setImmediate();
		await assert.rejects(home.read([tree()]), fault("closed"));
		await assert.rejects(both.read([tree()]), { kind: "closed", message: "The ledger is closed." });
		await assert.rejects(both.read([fleet()]), { kind: "closed", message: "The ledger is closed." });
		assert.deepEqual(opened, ["home", "fleet"], "nothing is opened again");
	});

	test("can be closed before either was opened", () => {
		const never = (): Promise<Ledger> => assert.fail("It was opened.");
		new CombinedLedger(never, never, new Map()).close();
	});
});

/** Something that an agent does, and what fails meanwhile. */
const step = fc.record({
	agent: fc.integer({ min: 0, max: 2 }),
	does: fc.constantFrom("goes on", "goes on", "goes on", "gives up", "renews", "opens anew", "sleeps"),
	failing: fc.option(
		fc.record({
			where: fc.constantFrom("home", "there"),
			operation: fc.constantFrom<Operation[]>("reserve", "settle", "read", "renew"),
			when: fc.constantFrom("before", "after"),
		}),
	),
});

/** An agent that takes one turn after the other, and settles later what it could not settle. */
class Agent {
	readonly #open: () => Ledger;
	#ledger: Ledger;
	#turn: { readonly id: string; isHeld: boolean } | undefined;
	#owed: { readonly id: string; readonly amounts: { turns?: number } }[] = [];
	/** Turns that were admitted. */
	taken = 0;

	constructor(open: () => Ledger) {
		this.#open = open;
		this.#ledger = open();
	}

	async act(does: string): Promise<void> {
		try {
			if (does === "opens anew") this.#ledger = this.#open();
			else if (does === "renews" && this.#turn) await this.#ledger.renew([this.#turn.id], MINUTE);
			else if (does === "gives up" || (does === "goes on" && this.#turn?.isHeld)) await this.end();
			else if (does === "goes on") await this.#reserve();
		} catch (error) {
			if (!fault("unreachable")(error)) throw error;
			this.#ledger = this.#open();
		}
	}

	/** The turn is over, if there is one. */
	async end(): Promise<void> {
		if (this.#turn) this.#owed.push({ id: this.#turn.id, amounts: this.#turn.isHeld ? { turns: 1 } : {} });
		this.#turn = undefined;
		for (let next = this.#owed[0]; next; next = this.#owed[0]) {
			await this.#ledger.settle(next.id, BOTH, next.amounts);
			this.#owed.shift();
		}
	}

	async #reserve(): Promise<void> {
		if (this.#owed.length > 0) await this.end();
		const turn = (this.#turn ??= { id: randomUUID(), isHeld: false });
		const { granted } = await this.#ledger.reserve(turn.id, BOTH, { turns: 1 }, MINUTE);
		if (!granted) return;
		turn.isHeld = true;
		this.taken++;
	}
}

test("whatever fails, and whenever, both count each turn once, hold nothing in the end, and grant no more than there is", async () => {
	const room = fc.integer({ min: 1, max: 3 });
	const property = fc.asyncProperty(room, room, fc.array(step, { maxLength: 40 }), async (most, here, steps) => {
		const { home, there, clock, counted, open } = await pair(most, here);
		const agents = Array.from({ length: 3 }, () => {
			const holds: FleetHolds = new Map();
			return new Agent(() => open(holds));
		});
		for (const { agent, does, failing } of steps) {
			if (does === "sleeps") clock.now += MINUTE;
			if (failing) ({ home, there })[failing.where].fail(failing.operation, failing.when);
			await agents[agent]?.act(does);
			for (const ledger of [home, there]) ledger.mend();
		}
		for (const agent of agents) await agent.end();
		const taken = agents.reduce((all, agent) => all + agent.taken, 0);
		assert.ok(taken <= Math.min(most, here));
		assert.deepEqual(await counted(), [
			[taken, 0, most],
			[taken, 0, here],
		]);
	});
	await check(property, 2_000, 250, 400);
});
