import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Period, PERIODS } from "../../src/core/scopes.ts";
import { dateIn, endOfPeriod, isDate, isZone } from "../../src/ledger/calendar.ts";

const at = (iso: string): number => Date.parse(iso);

function end(period: Period, zone: string, date: string): string {
	return new Date(endOfPeriod(period, zone, date)).toISOString();
}

describe("the calendar", () => {
	it("names the day, the ISO week and the month in a zone", () => {
		const now = at("2026-11-18T23:30:00Z");
		assert.deepEqual(
			PERIODS.map((period) => dateIn(period, "UTC", now)),
			["2026-11", "2026-W47", "2026-11-18"],
		);
		assert.equal(dateIn("day", "Europe/Berlin", now), "2026-11-19");
		assert.equal(dateIn("day", "America/New_York", now), "2026-11-18");
	});

	it("begins a week on Monday, at midnight of the zone", () => {
		assert.equal(dateIn("week", "Europe/Berlin", at("2026-11-22T22:59:00Z")), "2026-W47");
		assert.equal(dateIn("week", "Europe/Berlin", at("2026-11-22T23:00:00Z")), "2026-W48");
		assert.equal(end("week", "Europe/Berlin", "2026-W47"), "2026-11-22T23:00:00.000Z");
	});

	for (const [day, week] of [
		["2020-12-31", "2020-W53"],
		["2021-01-03", "2020-W53"],
		["2021-01-04", "2021-W01"],
		["2024-12-30", "2025-W01"],
		["2026-12-31", "2026-W53"],
		["2027-01-01", "2026-W53"],
		["2027-01-03", "2026-W53"],
		["2027-01-04", "2027-W01"],
		["2016-01-03", "2015-W53"],
		["2023-01-01", "2022-W52"],
	] as const)
		it(`has ${day} in ${week}`, () => assert.equal(dateIn("week", "UTC", at(`${day}T12:00:00Z`)), week));

	it("ends a week that goes over New Year in the new year", () => {
		assert.equal(end("week", "UTC", "2026-W53"), "2027-01-04T00:00:00.000Z");
		assert.equal(end("week", "UTC", "2025-W01"), "2025-01-06T00:00:00.000Z");
	});

	it("ends months of 28, 29, 30 and 31 days", () => {
		assert.equal(end("month", "UTC", "2027-02"), "2027-03-01T00:00:00.000Z");
		assert.equal(dateIn("month", "UTC", at("2028-02-29T23:59:59.999Z")), "2028-02");
		assert.equal(end("day", "UTC", "2028-02-28"), "2028-02-29T00:00:00.000Z");
		assert.equal(end("month", "UTC", "2028-02"), "2028-03-01T00:00:00.000Z");
		assert.equal(end("month", "Asia/Tokyo", "2026-11"), "2026-11-30T15:00:00.000Z");
		assert.equal(end("month", "UTC", "2026-12"), "2027-01-01T00:00:00.000Z");
	});

	it("ends a day of 23 or 25 hours when the clock of the zone says so", () => {
		const hours = (date: string, before: string): number =>
			(endOfPeriod("day", "Europe/Berlin", date) - endOfPeriod("day", "Europe/Berlin", before)) / 3_600_000;
		assert.equal(hours("2026-03-29", "2026-03-28"), 23);
		assert.equal(hours("2026-10-25", "2026-10-24"), 25);
		assert.equal(end("month", "Europe/Berlin", "2026-03"), "2026-03-31T22:00:00.000Z");
		assert.equal(end("month", "Europe/Berlin", "2026-10"), "2026-10-31T23:00:00.000Z");
	});

	it("ends a day at one o'clock where midnight is skipped, and at the second midnight where it comes twice", () => {
		assert.equal(end("day", "America/Sao_Paulo", "2018-11-03"), "2018-11-04T03:00:00.000Z");
		assert.equal(end("day", "America/Sao_Paulo", "2018-02-17"), "2018-02-18T03:00:00.000Z");
		assert.equal(end("day", "Pacific/Apia", "2011-12-29"), "2011-12-30T10:00:00.000Z");
	});

	it("has every period end at the first moment that is in another one, at the edges of the world", () => {
		for (const zone of ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kathmandu", "Africa/Cairo", "Asia/Beirut"]) {
			for (const period of PERIODS) {
				for (let now = at("2026-01-01T00:00:00Z"); now < at("2029-01-01T00:00:00Z"); now += 29 * 3_600_000) {
					const date = dateIn(period, zone, now);
					const over = endOfPeriod(period, zone, date);
					assert.ok(over > now, `${zone} ${date}`);
					assert.equal(dateIn(period, zone, over - 1), date);
					assert.notEqual(dateIn(period, zone, over), date);
				}
			}
		}
	});

	it("knows its own dates from other text", () => {
		assert.deepEqual(
			["2026-11-18", "2026-02-30", "2026-13-01", "2026-11", "", "18.11.2026"].map((text) => isDate("day", text)),
			[true, false, false, false, false, false],
		);
		assert.deepEqual(
			["2026-W01", "2026-W53", "2025-W53", "2026-W00", "2026-01"].map((text) => isDate("week", text)),
			[true, true, false, false, false],
		);
		assert.deepEqual(
			["2026-01", "2026-12", "2026-13", "2026-00", "2026-11-18"].map((text) => isDate("month", text)),
			[true, true, false, false, false],
		);
		for (const [period, date] of [
			["day", "2026-11-18"] as const,
			["week", "2026-W01"] as const,
			["month", "2026-01"] as const,
		])
			for (const text of [`x${date}`, `${date}x`]) assert.equal(isDate(period, text), false, text);
	});

	it("knows a zone from other text", () => {
		assert.deepEqual(["UTC", "Europe/Berlin", "Mars/Olympus", ""].map(isZone), [true, true, false, false]);
	});

	it("refuses what is not a zone", () => {
		assert.throws(() => dateIn("day", "Mars/Olympus", 0), RangeError);
		assert.throws(() => endOfPeriod("day", "Mars/Olympus", "2026-11-18"), RangeError);
	});
});
