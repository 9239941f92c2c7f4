import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { PERIODS } from "../../src/core/scopes.ts";
import { dateIn, endOfPeriod } from "../../src/ledger/calendar.ts";
import { LONGEST, WEEK } from "../../src/ledger/checks.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import type { PeriodAccount } from "../../src/ledger/port.ts";
import { check } from "../spec/check.ts";
import { contract } from "./contract.ts";
import { periods } from "./periods.ts";
import { DAY, type Make, MINUTE } from "./world.ts";

const make: Make = (_t, now) => {
	const open = memory(now, WEEK, LONGEST);
	return () => Promise.resolve(open());
};

contract("in memory", make);
periods("in memory", make);

suite("periods, whatever the zones", () => {
	const hours = Array.from({ length: 27 }, (_, i) => i - 14);
	const zones = [...hours.map((hour) => `Etc/GMT${hour < 0 ? hour : `+${hour}`}`), "Asia/Kathmandu", "Europe/Berlin"];
	const steps = (zone: fc.Arbitrary<string>) =>
		fc.array(fc.record({ zone, keepsZone: fc.boolean(), after: fc.integer({ min: 0, max: 16 * 60 }) }), {
			minLength: 2,
			maxLength: 40,
		});
	const start = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2028, 0) });

	/** The period in which each agent counts. */
	async function used(
		scope: PeriodAccount["scope"],
		from: number,
		agents: readonly { zone: string; keepsZone: boolean; after: number }[],
	) {
		const clock = { now: from };
		const ledger = memory(() => clock.now)();
		const found = [];
		for (const { zone, keepsZone, after } of agents) {
			clock.now += after * MINUTE;
			const { account } = await ledger.join({ scope, zone, keepsZone, caps: {} });
			const { zone: there, date = "" } = account as PeriodAccount;
			found.push({ at: clock.now, key: `${there} ${date}`, date, end: endOfPeriod(scope, there, date) });
		}
		return found;
	}

	for (const scope of PERIODS) {
		test(`no ${scope} begins before the last one has ended, none has the date of another, and 24 hours see 3 at most`, () =>
			check(
				fc.asyncProperty(start, steps(fc.constantFrom(...zones)), async (from, agents) => {
					const all = await used(scope, from, agents);
					for (const [i, { at, key, date, end }] of all.entries()) {
						const last = all[i - 1];
						assert.ok(at < end);
						assert.ok(last === undefined || last.key === key || (at >= last.end && date > last.date));
						const near = all.slice(i).filter((other) => other.at < at + DAY);
						assert.ok(new Set(near.map((other) => other.key)).size <= 3);
					}
				}),
				2_000,
				200,
			));

		test(`who stays in one zone has the ${scope} of the calendar`, () =>
			check(
				fc.asyncProperty(start, steps(fc.constant("Europe/Berlin")), async (from, agents) => {
					for (const { at, date } of await used(scope, from, agents))
						assert.equal(date, dateIn(scope, "Europe/Berlin", at));
				}),
				500,
				100,
			));
	}
});
