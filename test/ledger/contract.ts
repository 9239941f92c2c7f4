/** What every engine of the ledger promises. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { LEDGER_MOST } from "../../src/core/meters.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { follows } from "./model.ts";
import {
	asFleet,
	balance,
	DAY,
	day,
	fault,
	fleet,
	type Where,
	type Make,
	NOON,
	MINUTE,
	tree as ofTree,
	type World,
} from "./world.ts";

export function contract(name: string, make: Make, where: Where = "machine"): void {
	const isAll = where === "machine";
	const tree: typeof ofTree = (caps, name) => (isAll ? ofTree(caps, name) : asFleet(ofTree(caps, name)));

	/** A test with two readers of one store, and their clock. */
	const it = (what: string, work: (world: World) => Promise<void>): void => {
		test(what, async (t) => {
			const clock = { now: NOON };
			const open = await make(t, () => clock.now);
			await work({ ledger: await open(), other: await open(), clock });
		});
	};

	/** For engines that keep trees and days. */
	const itOfAll: typeof it = (what, work) => (isAll ? it(what, work) : undefined);

	suite(`${name}: reserving`, () => {
		for (const cap of [0, 1, 3]) {
			it(`a cap of ${cap} grants ${cap} and refuses the next, whether they are settled or not`, async (world) => {
				const { ledger, other } = world;
				await ledger.join(tree({ turns: cap }));
				for (let i = 0; i < cap; i++) {
					assert.ok((await (i % 2 ? ledger : other).reserve(`${i}`, [tree()], { turns: 1 }, MINUTE)).granted);
					if (i % 2) await ledger.settle(`${i}`, [tree()], { turns: 1 });
				}
				for (const reader of [ledger, other])
					assert.equal((await reader.reserve("next", [tree()], { turns: 1 }, MINUTE)).granted, false);
				assert.deepEqual(await balance(ledger, tree()), [cap >> 1, cap - (cap >> 1), cap]);
			});
		}

		it("a meter without a cap is counted and unlimited", async ({ ledger }) => {
			await ledger.join(tree({ turns: 1 }));
			await ledger.settle("a", [tree()], { cost: 5 });
			const [reading] = await ledger.read([tree()]);
			assert.deepEqual(reading?.meters, {
				turns: { used: 0, held: 0, cap: 1 },
				cost: { used: 5, held: 0, cap: "unlimited" },
			});
			assert.ok((await ledger.reserve("b", [tree()], { cost: LEDGER_MOST }, MINUTE)).granted);
		});

		it("holds in every account or in none", async ({ ledger }) => {
			const [inner, outer] = [tree({ turns: 1 }), tree({}, "outer")];
			for (const account of [inner, outer]) await ledger.join(account);
			await ledger.reserve("a", [inner], { turns: 1 }, MINUTE);
			assert.equal((await ledger.reserve("b", [outer, inner], { turns: 1 }, MINUTE)).granted, false);
			assert.deepEqual(await balance(ledger, outer), undefined);
			assert.ok((await ledger.reserve("b", [outer], { turns: 1 }, MINUTE)).granted, "a refused id can come again");
		});

		it("holds every meter or none", async ({ ledger }) => {
			await ledger.join(tree({ turns: 5, cost: 10 }));
			await ledger.settle("a", [tree()], { cost: 10 });
			const refusal = await ledger.reserve("b", [tree()], { turns: 1, cost: 1 }, MINUTE);
			assert.ok(!refusal.granted);
			assert.deepEqual(refusal.meters, ["cost"]);
			assert.deepEqual(await balance(ledger, tree()), [0, 0, 5]);
		});

		it("checks a capped meter that the amounts leave out", async ({ ledger }) => {
			await ledger.join(tree({ turns: 5, cost: 10 }));
			await ledger.settle("a", [tree()], { cost: 10 });
			assert.equal((await ledger.reserve("b", [tree()], { turns: 1 }, MINUTE)).granted, false);
		});

		it("a refusal names the first account of a scope that is full", async ({ ledger }) => {
			const accounts = ["a", "b", "c"].map((name) => tree({ turns: name === "a" ? 1 : 0 }, name));
			for (const account of accounts) await ledger.join(account);
			const refusal = await ledger.reserve("a", accounts, { turns: 1 }, MINUTE);
			assert.ok(!refusal.granted);
			assert.deepEqual(refusal.full.account, accounts[1]);
		});

		itOfAll(
			"a refusal names the outermost account that is full, whatever order they are given in",
			async ({ ledger }) => {
				const caps = { turns: 0 };
				for (const account of [fleet(caps), tree(caps)]) await ledger.join(account);
				for (const [accounts, outermost] of [
					[[tree(), day(caps), fleet()], "fleet"],
					[[tree(), day(caps)], "day"],
					[[tree(), day()], "tree"],
				] as const) {
					const refusal = await ledger.reserve("a", accounts, { turns: 1 }, MINUTE);
					assert.ok(!refusal.granted);
					assert.equal(refusal.full.account.scope, outermost);
					assert.deepEqual(
						refusal.readings.map(({ account }) => account.scope),
						accounts.map(({ scope }) => scope),
					);
				}
			},
		);

		it("an estimate that is too large is granted if nobody holds anything, and to one at a time", async ({
			ledger,
		}) => {
			await ledger.join(tree({ cost: 10 }));
			await ledger.settle("a", [tree()], { cost: 9 });
			const estimate = (id: string) => ledger.reserve(id, [tree()], { cost: 5 }, MINUTE);
			assert.ok((await estimate("b")).granted);
			assert.equal((await estimate("c")).granted, false);
			await ledger.settle("b", [tree()], { cost: 0 });
			assert.ok((await estimate("c")).granted);
		});

		it("estimates share what is left, to the last unit", async ({ ledger }) => {
			await ledger.join(tree({ cost: 10 }));
			assert.ok((await ledger.reserve("a", [tree()], { cost: 6 }, MINUTE)).granted);
			assert.equal((await ledger.reserve("b", [tree()], { cost: 5 }, MINUTE)).granted, false);
			assert.ok((await ledger.reserve("b", [tree()], { cost: 4 }, MINUTE)).granted);
			assert.equal((await ledger.reserve("c", [tree()], { cost: 0 }, MINUTE)).granted, false);
		});

		it("a refusal says whether it is spent, or only held by others", async ({ ledger }) => {
			await ledger.join(tree({ cost: 10 }));
			await ledger.reserve("a", [tree()], { cost: 10 }, MINUTE);
			const held = await ledger.reserve("b", [tree()], { cost: 1 }, MINUTE);
			await ledger.settle("a", [tree()], { cost: 10 });
			const spent = await ledger.reserve("b", [tree()], { cost: 1 }, MINUTE);
			assert.deepEqual([!held.granted && held.spent, !spent.granted && spent.spent], [false, true]);
		});

		it("the same id is the same hold, for every reader and also when it is full", async ({ ledger, other }) => {
			await ledger.join(tree({ turns: 1 }));
			for (const reader of [ledger, other, ledger])
				assert.ok((await reader.reserve("a", [tree()], { turns: 1 }, MINUTE)).granted);
			assert.deepEqual(await balance(ledger, tree()), [0, 1, 1]);
		});

		it("an id that has been settled cannot be reserved again", async ({ ledger }) => {
			await ledger.join(tree());
			await ledger.settle("a", [tree()], { turns: 1 });
			await assert.rejects(ledger.reserve("a", [tree()], { turns: 1 }, MINUTE), RangeError);
			assert.deepEqual(await balance(ledger, tree()), [1, 0, "unlimited"]);
		});
	});

	suite(`${name}: settling`, () => {
		it("replaces the hold by what was spent, more or less than it", async ({ ledger }) => {
			await ledger.join(tree({ cost: 10 }));
			for (const [id, spent, sum] of [
				["a", 2, 2],
				["b", 7, 9],
			] as const) {
				await ledger.reserve(id, [tree()], { cost: 5 }, MINUTE);
				await ledger.settle(id, [tree()], { cost: spent });
				assert.deepEqual(await balance(ledger, tree(), "cost"), [sum, 0, 10]);
			}
		});

		it("is never refused and may overdraw", async ({ ledger }) => {
			await ledger.join(tree({ cost: 10 }));
			await ledger.settle("a", [tree()], { cost: 10 });
			const [reading] = await ledger.settle("b", [tree()], { cost: 3 });
			assert.deepEqual(reading?.meters["cost"], { used: 13, held: 0, cap: 10 });
		});

		it("charges an id once, for every reader", async ({ ledger, other }) => {
			await ledger.join(tree());
			await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE);
			for (const reader of [ledger, other, ledger]) await reader.settle("a", [tree()], { turns: 1 });
			assert.deepEqual(await balance(ledger, tree()), [1, 0, "unlimited"]);
		});

		it("without amounts it releases the hold", async ({ ledger }) => {
			await ledger.join(tree({ turns: 1 }));
			await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE);
			await ledger.settle("a", [tree()], {});
			assert.deepEqual(await balance(ledger, tree()), [0, 0, 1]);
		});

		it("lands in an account that nobody has joined, and whoever joins then sets the caps", async ({ ledger }) => {
			await ledger.settle("a", [tree()], { turns: 2 });
			await ledger.join(tree({ turns: 3 }));
			assert.deepEqual(await balance(ledger, tree()), [2, 0, 3]);
		});
	});

	suite(`${name}: leases`, () => {
		it("a hold lapses with its lease and is charged as its estimate until the settle replaces it", async (world) => {
			const { ledger, clock } = world;
			await ledger.join(tree({ cost: 10 }));
			await ledger.reserve("a", [tree()], { cost: 4 }, MINUTE);
			clock.now += MINUTE - 1;
			assert.deepEqual(await balance(ledger, tree(), "cost"), [0, 4, 10]);
			clock.now += 1;
			assert.deepEqual(await balance(ledger, tree(), "cost"), [4, 0, 10]);
			for (const reader of [ledger, world.other]) await reader.settle("a", [tree()], { cost: 6 });
			assert.deepEqual(await balance(ledger, tree(), "cost"), [6, 0, 10]);
		});

		it("a lapsed hold no longer keeps an estimate out, but what it charges does", async ({ ledger, clock }) => {
			await ledger.join(tree({ cost: 10 }));
			await ledger.reserve("a", [tree()], { cost: 8 }, MINUTE);
			assert.equal((await ledger.reserve("b", [tree()], { cost: 8 }, MINUTE)).granted, false);
			clock.now += MINUTE;
			assert.ok((await ledger.reserve("b", [tree()], { cost: 8 }, MINUTE)).granted);
			clock.now += MINUTE;
			assert.equal((await ledger.reserve("c", [tree()], { cost: 8 }, MINUTE)).granted, false);
		});

		it("renewing prolongs a hold, revives a lapsed one and never shortens", async ({ ledger, other, clock }) => {
			await ledger.join(tree());
			for (const id of ["a", "b"]) await ledger.reserve(id, [tree()], { turns: 1 }, MINUTE);
			clock.now += MINUTE - 1;
			await other.renew(["a", "unknown"], MINUTE);
			clock.now += 1;
			assert.deepEqual(await balance(ledger, tree()), [1, 1, "unlimited"]);
			await ledger.renew(["b"], MINUTE);
			await ledger.renew(["a", "b"], 1);
			clock.now += MINUTE - 2;
			assert.deepEqual(await balance(ledger, tree()), [0, 2, "unlimited"]);
		});

		it("renewing does not bring back what has been settled", async ({ ledger }) => {
			await ledger.join(tree());
			await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE);
			await ledger.settle("a", [tree()], { turns: 1 });
			await ledger.renew(["a"], MINUTE);
			assert.deepEqual(await balance(ledger, tree()), [1, 0, "unlimited"]);
		});

		it("repeating a reservation does not prolong it", async ({ ledger, clock }) => {
			await ledger.join(tree());
			await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE);
			clock.now += MINUTE - 1;
			await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE);
			clock.now += 1;
			assert.deepEqual(await balance(ledger, tree()), [1, 0, "unlimited"]);
		});
	});

	suite(`${name}: a clock that jumps`, () => {
		it("lets the hold of a dead agent lapse soon after it has gone back by an hour", async ({ ledger, clock }) => {
			await ledger.join(tree({ turns: 1 }));
			clock.now += 60 * MINUTE;
			await ledger.reserve("dead", [tree()], { turns: 1 }, MINUTE);
			clock.now -= 60 * MINUTE;
			const spent = async (): Promise<unknown> => {
				const made = await ledger.reserve("next", [tree()], { turns: 1 }, MINUTE);
				return !made.granted && made.spent;
			};
			assert.equal(await spent(), false);
			clock.now += 10 * MINUTE;
			assert.equal(await spent(), true);
		});

		it("keeps the hold of an agent that lives", async ({ ledger, clock }) => {
			await ledger.join(tree());
			clock.now += 60 * MINUTE;
			await ledger.reserve("alive", [tree()], { turns: 1 }, MINUTE);
			clock.now -= 60 * MINUTE;
			for (let i = 0; i < 40; i++) {
				await ledger.reserve(`${i}`, [tree()], { cost: 1 }, 1);
				await ledger.renew(["alive"], MINUTE);
				clock.now += MINUTE / 3;
			}
			assert.deepEqual(await balance(ledger, tree()), [0, 1, "unlimited"]);
		});
	});

	suite(`${name}: caps and grants`, () => {
		it("joining never raises a cap, nor adds one", async ({ ledger, other }) => {
			await ledger.join(tree({ turns: 2 }));
			await other.join(tree({ turns: 5, cost: 1 }));
			assert.deepEqual(await balance(other, tree({ turns: 5 })), [0, 0, 2]);
			assert.deepEqual(await balance(ledger, tree(), "cost"), undefined);
		});

		it("a reader's own lower cap binds that reader only", async ({ ledger, other }) => {
			await ledger.join(tree({ turns: 5 }));
			await other.join(tree({ turns: 1 }));
			await ledger.settle("a", [tree()], { turns: 1 });
			assert.equal((await other.reserve("b", [tree({ turns: 1 })], { turns: 1 }, MINUTE)).granted, false);
			assert.ok((await ledger.reserve("b", [tree()], { turns: 1 }, MINUTE)).granted);
		});

		it("a grant is for every reader, once per id", async ({ ledger, other }) => {
			await ledger.join(tree({ turns: 1 }));
			for (const reader of [ledger, other]) await reader.raise("yes", tree(), { turns: 2 });
			assert.deepEqual(await balance(ledger, tree()), [0, 0, 3]);
			assert.deepEqual(await balance(other, tree({ turns: 0 })), [0, 0, 2]);
		});

		it("a grant comes on top of what is spent if that is above the cap", async ({ ledger }) => {
			await ledger.join(tree({ turns: 3 }));
			for (const [spent, cap] of [
				[2, 4],
				[2, 5],
				[4, 9],
			] as const) {
				await ledger.settle(`s${cap}`, [tree()], { turns: spent });
				assert.equal((await ledger.raise(`r${cap}`, tree(), { turns: 1 })).meters["turns"]?.cap, cap);
			}
		});

		it("what others hold does not make a grant larger", async ({ ledger }) => {
			await ledger.join(tree({ turns: 1 }));
			await ledger.settle("a", [tree()], { turns: 1 });
			await ledger.raise("b", tree(), { turns: 2 });
			await ledger.reserve("c", [tree()], { turns: 1 }, MINUTE);
			await ledger.reserve("d", [tree()], { turns: 1 }, MINUTE);
			assert.equal((await ledger.raise("e", tree(), { turns: 1 })).meters["turns"]?.cap, 4);
			await ledger.settle("c", [tree()], { turns: 3 });
			assert.equal((await ledger.raise("f", tree(), { turns: 1 })).meters["turns"]?.cap, 5);
		});

		it("a fleet or a tree that nobody has joined can neither be reserved, raised nor read", async ({ ledger }) => {
			const known = tree({}, "known");
			await ledger.join(known);
			for (const account of [tree({ turns: 9 }), fleet({ turns: 9 })]) {
				await assert.rejects(ledger.reserve("a", [known, account], { turns: 1 }, MINUTE), fault("unjoined"));
				await assert.rejects(ledger.raise("a", account, { turns: 1 }), fault("unjoined"));
				await assert.rejects(ledger.read([account]), fault("unjoined"));
			}
			assert.equal(await balance(ledger, known), undefined);
		});

		itOfAll("accounts of the same name in other scopes, and of other names, are apart", async ({ ledger }) => {
			const accounts = [tree(), tree({}, "u"), { ...fleet(), name: "t" }] as const;
			for (const account of accounts) await ledger.join(account);
			await ledger.settle("a", [accounts[0]], { turns: 1 });
			const readings = await ledger.read(accounts);
			assert.deepEqual(
				readings.map(({ meters }) => meters["turns"]?.used),
				[1, undefined, undefined],
			);
		});
	});

	(isAll ? suite : none)(`${name}: days`, () => {
		it("each reader's cap is its own, and a changed one takes effect at once", async ({ ledger, other }) => {
			await ledger.join(day({ turns: 1 }));
			await ledger.settle("a", [day()], { turns: 1 });
			assert.equal((await ledger.reserve("b", [day({ turns: 1 })], { turns: 1 }, MINUTE)).granted, false);
			assert.ok((await other.reserve("b", [day({ turns: 2 })], { turns: 1 }, MINUTE)).granted);
			assert.deepEqual(await balance(ledger, day({ turns: 7 })), [1, 1, 7]);
		});

		it("today's grants come on top for everybody, and not tomorrow", async ({ ledger, other, clock }) => {
			await ledger.raise("yes", day({ turns: 5 }), { turns: 2 });
			assert.deepEqual(await balance(other, day({ turns: 3 })), [0, 0, 5]);
			clock.now += DAY;
			assert.deepEqual(await balance(other, day({ turns: 3 })), [0, 0, 3]);
		});

		it("a new day begins at midnight of its zone", async ({ ledger, clock }) => {
			const tokyo = day({}, "Asia/Tokyo");
			clock.now = Date.UTC(2026, 1, 3, 14, 59, 59, 999);
			await ledger.settle("a", [tokyo], { turns: 1 });
			assert.deepEqual(await balance(ledger, tokyo), [1, 0, "unlimited"]);
			clock.now += 1;
			const { account } = await ledger.join(tokyo);
			assert.deepEqual(account, { ...tokyo, date: "2026-02-04" });
			assert.equal(await balance(ledger, tokyo), undefined);
		});

		it("a day on which the clocks change has one account from midnight to midnight", async ({ ledger, clock }) => {
			const dates: unknown[] = [];
			for (clock.now = Date.UTC(2026, 2, 28, 22); clock.now < Date.UTC(2026, 2, 30, 0); clock.now += DAY / 24) {
				const { account } = await ledger.join(day({}, "Europe/Berlin"));
				dates.push(account.scope === "day" && account.date);
			}
			const hours = (date: string): number => dates.filter((each) => each === date).length;
			assert.deepEqual(["2026-03-28", "2026-03-29", "2026-03-30"].map(hours), [1, 23, 2]);
		});

		it("what was reserved before midnight is settled in the day that held it", async ({ ledger, clock }) => {
			await ledger.reserve("a", [day()], { cost: 5 }, MINUTE);
			clock.now += DAY;
			await ledger.reserve("a", [day()], { cost: 5 }, MINUTE);
			const [reading] = await ledger.settle("a", [day()], { cost: 7 });
			assert.deepEqual(reading?.account, { ...day(), date: "2026-02-03" });
			assert.equal(await balance(ledger, day(), "cost"), undefined);
			clock.now -= DAY;
			assert.deepEqual(await balance(ledger, day(), "cost"), [7, 0, "unlimited"]);
		});

		it("what was spent at a moment counts in the day that ran then, whatever its zone", async ({ ledger, clock }) => {
			const then = clock.now;
			await ledger.settle("a", [day()], { turns: 1 });
			clock.now += DAY;
			await ledger.settle("b", [day()], { turns: 1 });
			const elsewhere = { ...day({}, "Pacific/Kiritimati"), at: then };
			const [reading] = await ledger.settle("c", [elsewhere], { turns: 1 });
			assert.deepEqual(reading?.account, { ...elsewhere, zone: day().zone, date: "2026-02-03" });
			assert.deepEqual(await balance(ledger, { ...day(), date: "2026-02-03" }), [2, 0, "unlimited"]);
			assert.deepEqual(await balance(ledger, day()), [1, 0, "unlimited"]);
		});

		it("what was spent at a moment at which no day ran begins the day of that moment", async ({ ledger, clock }) => {
			const [reading] = await ledger.settle("a", [{ ...day(), at: clock.now - DAY }], { turns: 1 });
			assert.deepEqual(reading?.account, { ...day(), at: clock.now - DAY, date: "2026-02-02" });
			assert.equal(await balance(ledger, day()), undefined);
		});

		it("a yes after midnight grants the day that was asked about", async ({ ledger, clock }) => {
			const refusal = await ledger.reserve("a", [day({ turns: 0 })], { turns: 1 }, MINUTE);
			clock.now += DAY;
			assert.ok(!refusal.granted);
			await ledger.raise("yes", refusal.full.account, { turns: 1 });
			assert.deepEqual(await balance(ledger, day({ turns: 0 })), [0, 0, 0]);
			clock.now -= DAY;
			assert.deepEqual(await balance(ledger, day({ turns: 0 })), [0, 0, 1]);
		});

		it("a clock that goes wrong for a while loses nothing", async ({ ledger, other, clock }) => {
			await ledger.reserve("held", [day()], { turns: 1 }, MINUTE);
			await ledger.settle("spent", [day()], { turns: 2 });
			for (const wrong of [400 * DAY, -400 * DAY]) {
				clock.now += wrong;
				await other.join(day());
				await other.settle(`${wrong}`, [day()], { turns: 9 });
				clock.now -= wrong;
			}
			assert.deepEqual(await balance(ledger, day()), [2, 1, "unlimited"]);
		});

		it("a settle that comes more than a week late replaces its hold, once", async ({ ledger, other, clock }) => {
			const then = { ...day(), date: "2026-02-03" };
			await ledger.reserve("a", [day()], { cost: 5 }, MINUTE);
			clock.now += 8 * DAY;
			await ledger.settle("b", [day()], { cost: 1 });
			for (const reader of [ledger, other, ledger]) await reader.settle("a", [day()], { cost: 7 });
			assert.deepEqual(await balance(ledger, then, "cost"), [7, 0, "unlimited"]);
			assert.deepEqual(await balance(ledger, day(), "cost"), [1, 0, "unlimited"]);
		});

		it("a settle of six days later still lands, and once", async ({ ledger, clock }) => {
			const then = { ...day(), date: "2026-02-03" };
			await ledger.settle("a", [then], { turns: 1 });
			await ledger.reserve("b", [then], { turns: 1 }, MINUTE);
			clock.now += 6 * DAY;
			await ledger.settle("c", [day()], { turns: 1 });
			for (const id of ["a", "b", "b"]) await ledger.settle(id, [then], { turns: 1 });
			assert.deepEqual(await balance(ledger, then), [2, 0, "unlimited"]);
		});
	});

	suite(`${name}: misuse`, () => {
		const accounts = [tree()];
		const unchanged = async (ledger: Ledger): Promise<void> => {
			assert.deepEqual(await balance(ledger, tree()), [0, 1, 3]);
			assert.ok((await ledger.reserve("x", accounts, { turns: 1 }, MINUTE)).granted, "the id was not used up");
		};
		type Misuse = (ledger: Ledger) => Promise<unknown>;
		const numbers: Record<string, (n: number) => Misuse> = {
			"a hold": (n) => (ledger) => ledger.reserve("x", accounts, { turns: 0, cost: n }, MINUTE),
			"a charge": (n) => (ledger) => ledger.settle("x", accounts, { turns: 1, cost: n }),
			"a grant": (n) => (ledger) => ledger.raise("x", tree(), { turns: 1, cost: n }),
			"a cap": (n) => (ledger) => ledger.join(tree({ cost: n }, "new")),
			"a lease": (n) => (ledger) => ledger.reserve("x", accounts, { turns: 1 }, n),
			"a renewal": (n) => (ledger) => ledger.renew(["a"], n),
		};
		const wrong: Record<string, Misuse> = {
			"a lease of nothing": (ledger) => ledger.reserve("x", accounts, { turns: 1 }, 0),
			"an empty id": (ledger) => ledger.settle("", accounts, { turns: 1 }),
			"an empty name": (ledger) => ledger.join(tree({}, "")),
			"no account": (ledger) => ledger.reserve("x", [], { turns: 1 }, MINUTE),
			"no meter": (ledger) => ledger.reserve("x", accounts, {}, MINUTE),
			"the same account twice": (ledger) => ledger.settle("x", [tree(), tree()], { turns: 1 }),
		};
		const wrongOfAll: Record<string, Misuse> = {
			"a day twice": (ledger) => ledger.settle("x", [day(), { ...day(), date: "2026-02-03" }], { turns: 1 }),
			"an unknown time zone of a date": (ledger) => ledger.join({ ...day({}, "Atlantis"), date: "2026-02-03" }),
			"an unknown time zone": (ledger) => ledger.join(day({}, "Atlantis")),
			"what is not a date": (ledger) => ledger.join({ ...day(), date: "today" }),
			"a date that no calendar has": (ledger) => ledger.join({ ...day(), date: "2026-02-30" }),
		};
		const wrongOfFleets: Record<string, Misuse> = {
			"a tree": (ledger) => ledger.join(ofTree()),
			"a day": (ledger) => ledger.settle("x", [day()], { turns: 1 }),
			"a tree beside a fleet": (ledger) => ledger.reserve("x", [tree(), ofTree()], { turns: 1 }, MINUTE),
		};
		for (const [what, misuse] of Object.entries(numbers)) {
			it(`${what} that is not a whole number in its range is a RangeError and changes nothing`, async ({ ledger }) => {
				await ledger.join(tree({ turns: 3 }));
				await ledger.reserve("a", accounts, { turns: 1 }, MINUTE);
				for (const n of [-1, 0.5, NaN, Infinity, LEDGER_MOST + 1]) await assert.rejects(misuse(n)(ledger), RangeError);
				await unchanged(ledger);
			});
		}
		for (const [what, misuse] of Object.entries({ ...wrong, ...(isAll ? wrongOfAll : wrongOfFleets) })) {
			it(`${what} is a RangeError and changes nothing`, async ({ ledger }) => {
				await ledger.join(tree({ turns: 3 }));
				await ledger.reserve("a", accounts, { turns: 1 }, MINUTE);
				await assert.rejects(misuse(ledger), RangeError);
				await unchanged(ledger);
			});
		}

		it("counts the largest amounts without rounding", async ({ ledger }) => {
			await ledger.join(tree({ cost: LEDGER_MOST }));
			await ledger.settle("a", [tree()], { cost: LEDGER_MOST });
			await ledger.settle("b", [tree()], { cost: 1 });
			assert.deepEqual(await balance(ledger, tree(), "cost"), [LEDGER_MOST + 1, 0, LEDGER_MOST]);
		});

		it("after it was closed every operation is refused, and closing again does nothing", async ({ ledger, other }) => {
			await ledger.join(tree());
			other.close();
			other.close();
			await assert.rejects(other.read([tree()]), fault("closed"));
			await assert.rejects(other.settle("a", [tree()], { turns: 1 }), fault("closed"));
			assert.equal(await balance(ledger, tree()), undefined);
		});
	});

	test(`${name}: whatever is done in whatever order, it counts as the model does`, async (t) => {
		await follows(t, make, where);
	});
}

function none(): void {}
