/** What the ledger of a machine promises of days, weeks and months. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { PERIODS } from "../../src/core/scopes.ts";
import { dateIn, endOfPeriod } from "../../src/ledger/calendar.ts";
import type { Ledger, PeriodAccount, Reading } from "../../src/ledger/port.ts";
import { balance, DAY, day, type Make, MINUTE, month, NOON, tree, week, type World } from "./world.ts";

const HOUR = 60 * MINUTE;

/** `Europe/Berlin 2026-11-18` */
function named({ account }: Reading): string {
	const { zone, date } = account as PeriodAccount;
	return `${zone} ${date}`;
}

const spend = async (ledger: Ledger, id: string, account: PeriodAccount): Promise<boolean> => {
	const { granted } = await ledger.reserve(id, [account], { turns: 1 }, MINUTE);
	if (granted) await ledger.settle(id, [account], { turns: 1 });
	return granted;
};

export function periods(name: string, make: Make): void {
	const it = (what: string, work: (world: World) => Promise<void>): void => {
		test(what, async (t) => {
			const clock = { now: NOON };
			const open = await make(t, () => clock.now);
			await work({ ledger: await open(), other: await open(), clock });
		});
	};

	suite(`${name}: periods`, () => {
		for (const scope of PERIODS) {
			it(`a ${scope} of 3 turns grants 3 to all its readers, and 3 again when the next one begins`, async (world) => {
				const account = { ...day({ turns: 3 }), scope };
				for (const when of ["first", "next"]) {
					const granted: boolean[] = [];
					for (const reader of [world.ledger, world.other, world.ledger, world.other])
						granted.push(await spend(reader, `${when} ${granted.length}`, account));
					assert.deepEqual(granted, [true, true, true, false], when);
					world.clock.now += 31 * DAY;
				}
			});
		}

		it("the same turn counts in the day, the week and the month, and a refusal names the widest", async ({
			ledger,
		}) => {
			const all = [tree(), day({ turns: 0 }), week({ turns: 0 }), month({ turns: 0 })];
			await ledger.join(tree());
			for (const widest of ["month", "week", "day"]) {
				const refusal = await ledger.reserve("a", all, { turns: 1 }, MINUTE);
				assert.ok(!refusal.granted);
				assert.equal(refusal.full.account.scope, widest);
				all.pop();
			}
			const open = [day({ turns: 1 }), week({ turns: 1 }), month({ turns: 1 })];
			assert.ok((await ledger.reserve("a", open, { turns: 1 }, MINUTE)).granted);
			await ledger.settle("a", open, { turns: 1 });
			for (const account of open) assert.deepEqual(await balance(ledger, account), [1, 0, 1]);
		});

		it("a week goes over New Year, and a month ends on its last day", async ({ ledger, clock }) => {
			const begun: string[] = [];
			for (clock.now = Date.UTC(2026, 11, 30, 12); clock.now < Date.UTC(2027, 0, 6); clock.now += DAY)
				for (const account of [week(), month()]) begun.push(named(await ledger.join(account)));
			assert.deepEqual([...new Set(begun)], ["UTC 2026-W53", "UTC 2026-12", "UTC 2027-01", "UTC 2027-W01"]);
		});

		it("a grant is for the month in which it was given, to its end", async ({ ledger, other, clock }) => {
			clock.now = Date.UTC(2028, 1, 1);
			await ledger.raise("yes", month({ turns: 5 }), { turns: 2 });
			clock.now = Date.UTC(2028, 1, 29, 23, 59);
			assert.deepEqual(await balance(other, month({ turns: 3 })), [0, 0, 5]);
			clock.now += MINUTE;
			assert.deepEqual(await balance(other, month({ turns: 3 })), [0, 0, 3]);
		});

		it("a yes after the end grants the month that was asked about, also from another zone", async (world) => {
			const { ledger, other, clock } = world;
			clock.now = Date.UTC(2026, 10, 30, 22, 59);
			await other.join(month({}, "Europe/Berlin"));
			const refusal = await ledger.reserve("a", [month({ turns: 0 })], { turns: 1 }, MINUTE);
			clock.now += MINUTE;
			assert.ok(!refusal.granted);
			await ledger.raise("yes", refusal.full.account, { turns: 1 });
			assert.deepEqual(await balance(ledger, month({ turns: 0 })), [0, 0, 0]);
			const november = { ...month({ turns: 0 }, "Europe/Berlin"), date: "2026-11" };
			assert.deepEqual(await balance(ledger, november), [0, 0, 1]);
		});

		it("what was reserved before the end is settled where it was held, also by a machine that slept", async (world) => {
			const { ledger, clock } = world;
			clock.now = Date.UTC(2026, 10, 29, 23, 59);
			const all = [day(), week(), month()];
			await ledger.reserve("a", all, { cost: 5 }, MINUTE);
			clock.now += 9 * HOUR + DAY;
			const readings = await ledger.settle("a", all, { cost: 7 });
			assert.deepEqual(readings.map(named), ["UTC 2026-11-29", "UTC 2026-W48", "UTC 2026-11"]);
			for (const [account, used] of [
				[day(), undefined],
				[week(), undefined],
				[month(), undefined],
			] as const)
				assert.equal((await balance(ledger, account, "cost"))?.[0], used);
		});
	});

	suite(`${name}: zones`, () => {
		const ZONES = ["Asia/Tokyo", "Europe/Berlin", "America/New_York", "Pacific/Kiritimati", "Etc/GMT+12"];

		for (const scope of PERIODS) {
			it(`agents in five zones share the ${scope} that runs`, async ({ ledger, other }) => {
				const granted: boolean[] = [];
				for (const [i, zone] of ["UTC", ...ZONES].entries())
					granted.push(await spend(i % 2 ? other : ledger, `${i}`, { ...day({ turns: 4 }, zone), scope }));
				assert.deepEqual(granted, [true, true, true, true, false, false]);
			});
		}

		it("roots that always choose the zone whose day ends next have two days in 24 hours", async ({ ledger, clock }) => {
			const zones = Intl.supportedValuesOf("timeZone");
			const ends = (zone: string): number => endOfPeriod("day", zone, dateIn("day", zone, clock.now));
			const begun = new Set<string>();
			for (const end = clock.now + DAY; clock.now < end; clock.now += 15 * MINUTE) {
				const zone = zones.toSorted((a, b) => ends(a) - ends(b))[0]!;
				begun.add(named(await ledger.join(day({}, zone))));
			}
			assert.equal(begun.size, 2);
		});

		it("a month has one November, whatever zones its roots are in", async ({ ledger, clock }) => {
			const months: string[] = [];
			for (const [zone, hour] of [
				["Asia/Tokyo", 14],
				["UTC", 15],
				["America/New_York", 16],
				["Asia/Tokyo", 24],
			] as const) {
				clock.now = Date.UTC(2026, 10, 30, hour, 10);
				months.push(named(await ledger.join(month({}, zone))));
			}
			assert.deepEqual(months, ["Asia/Tokyo 2026-11", "UTC 2026-12", "UTC 2026-12", "UTC 2026-12"]);
		});

		it("a laptop that changes its zone begins no day before the last has ended", async ({ ledger, clock }) => {
			const days: string[] = [];
			clock.now = Date.UTC(2026, 10, 18, 20);
			for (const [zone, hours] of [
				["Europe/Berlin", 2],
				["America/New_York", 2],
				["America/New_York", 2],
				["Asia/Tokyo", 3],
				["Asia/Tokyo", 0],
			] as const) {
				days.push(named(await ledger.join(day({}, zone))));
				clock.now += hours * HOUR;
			}
			assert.deepEqual(days, [
				"Europe/Berlin 2026-11-18",
				"Europe/Berlin 2026-11-18",
				"America/New_York 2026-11-19",
				"America/New_York 2026-11-19",
				"America/New_York 2026-11-19",
			]);
			clock.now = Date.UTC(2026, 10, 20, 6);
			assert.equal(named(await ledger.join(day({}, "Asia/Tokyo"))), "Asia/Tokyo 2026-11-21", "it begins early");
		});

		it("a member begins a period in the zone of the last one, a root in its own", async ({ ledger, other, clock }) => {
			const member = { ...day({}, "Asia/Tokyo"), keepsZone: true };
			clock.now = Date.UTC(2026, 10, 18, 20);
			assert.equal(named((await ledger.read([member]))[0]!), "Asia/Tokyo 2026-11-19", "where there was none");
			for (const zone of ["Europe/Berlin", "UTC"]) {
				clock.now += DAY;
				const date = new Date(clock.now).toISOString().slice(0, 10);
				assert.equal(named(await ledger.join(day({}, zone))), `${zone} ${date}`);
			}
			clock.now += 2 * DAY;
			assert.equal(named(await other.join(member)), "UTC 2026-11-22");
			assert.equal(named(await other.join(day({}, "Asia/Tokyo"))), "UTC 2026-11-22");
			clock.now += 2 * DAY;
			assert.equal(named(await other.join(day({}, "Asia/Tokyo"))), "Asia/Tokyo 2026-11-25");
		});

		it("of several days that run, which version 2.0 could begin, one's own is used, or the one that ends first", async ({
			ledger,
		}) => {
			for (const zone of ["UTC", "Asia/Tokyo", "America/New_York"])
				await ledger.join({ ...day({}, zone), date: "2026-02-03" });
			const used = async (zone: string): Promise<string> => named((await ledger.read([day({}, zone)]))[0]!);
			assert.equal(await used("UTC"), "UTC 2026-02-03");
			assert.equal(await used("Asia/Tokyo"), "Asia/Tokyo 2026-02-03");
			assert.equal(await used("Europe/Berlin"), "Asia/Tokyo 2026-02-03");
		});

		it("a turn is settled in the day that holds it, whatever zone its agent is in by then", async ({
			ledger,
			clock,
		}) => {
			await ledger.reserve("a", [day({}, "Europe/Berlin")], { turns: 1 }, MINUTE);
			clock.now += DAY;
			const [reading] = await ledger.settle("a", [day({}, "Asia/Tokyo")], { turns: 1 });
			assert.equal(named(reading!), "Europe/Berlin 2026-02-03");
		});
	});
}
