import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { COUNT, DOLLARS, isCount, SECONDS, TOKENS, type Unit } from "../../src/core/unit.ts";

describe("a count", () => {
	test("is a whole number from 0", () => {
		const bad = [-1, 1.5, NaN, Infinity, 2 ** 53, "1", null, undefined, [], {}];
		for (const value of [0, 1, 25, Number.MAX_SAFE_INTEGER]) assert.equal(COUNT.read(value), value);
		for (const value of bad) assert.equal(COUNT.read(value), undefined, inspect(value));
		assert.deepEqual([isCount(0), isCount(-1)], [true, false]);
	});

	test("is typed in decimal digits; other text stays as it is", () => {
		for (const [text, value] of [
			["0", 0],
			["007", 7],
			["9007199254740991", Number.MAX_SAFE_INTEGER],
		] as const) {
			assert.equal(COUNT.parse(text), value);
		}
		const other = ["", " ", "abc", "-1", "+1", "1.5", "1e3", "0x10", "∞", "١", "1 000", "9007199254740992", "1x", "x1"];
		for (const text of [...other, "9".repeat(400)]) assert.equal(COUNT.parse(text), text);
	});

	test("is written and shown as the number it is", () => {
		assert.deepEqual([COUNT.write(25), COUNT.show(25), COUNT.expected], [25, "25", "a whole number from 0"]);
	});
});

describe("dollars", () => {
	test("are read as numbers and as people write them, in whole millionths", () => {
		for (const [value, counted] of [
			[0, 0],
			[2.5, 2_500_000],
			["2.50", 2_500_000],
			["$2.50", 2_500_000],
			["0", 0],
			["$10", 10_000_000],
			[0.1 + 0.2, 300_000],
			[0.0000004, 0],
			[0.0000005, 1],
			[1e9, 1e15],
			["$999999999.99", 999_999_999_990_000],
		] as const) {
			assert.equal(DOLLARS.read(value), counted, String(value));
		}
	});

	test("are nothing else", () => {
		for (const value of [
			...[-1, -0.0000001, NaN, Infinity, 1e9 + 1, 1e300, null, undefined, true, [], {}],
			...[
				"",
				"$",
				"two",
				"-1",
				"1.",
				".5",
				"1,5",
				"1e3",
				" 1",
				"1 ",
				"2.50$",
				"$$1",
				"€1",
				"1000000000",
				"9".repeat(400),
			],
		]) {
			assert.equal(DOLLARS.read(value), undefined, inspect(value));
		}
	});

	test("that are typed become a number; other text stays as it is", () => {
		assert.deepEqual([DOLLARS.parse("$2.50"), DOLLARS.parse("3"), DOLLARS.parse("two")], [2.5, 3, "two"]);
	});

	test("are written as a number and shown with two digits, of less than a cent with more", () => {
		assert.deepEqual([DOLLARS.write(2_500_000), DOLLARS.write(1)], [2.5, 0.000001]);
		assert.deepEqual([0, 1, 9_949, 9_950, 10_000, 2_500_000, 12_345_678].map(DOLLARS.show), [
			"$0.00",
			"$0.000001",
			"$0.0099",
			"$0.01",
			"$0.01",
			"$2.50",
			"$12.35",
		]);
	});

	test("an error message gives an example", () => {
		assert.equal(DOLLARS.expected, "dollars such as 2.50 or $2.50");
	});
});

function reads(unit: Unit, rows: readonly (readonly [unknown, number])[], others: readonly unknown[]): void {
	for (const [value, counted] of rows) assert.equal(unit.read(value), counted, inspect(value));
	for (const value of [...others, null, undefined, true, [], {}, NaN, Infinity, -1]) {
		assert.equal(unit.read(value), undefined, inspect(value));
	}
}

function shows(unit: Unit, rows: readonly (readonly [number, string])[]): void {
	assert.deepEqual(
		rows.map(([counted]) => unit.show(counted)),
		rows.map(([, text]) => text),
	);
}

describe("tokens", () => {
	test("are read as whole numbers and as people write them", () => {
		const rows = [
			[0, 0],
			[500_000, 500_000],
			["0", 0],
			["500000", 500_000],
			["9007199254740991", Number.MAX_SAFE_INTEGER],
			["500k", 500_000],
			["500K", 500_000],
			["1.5m", 1_500_000],
			["1.5M", 1_500_000],
			["0.25k", 250],
			["1.0006k", 1001],
			["999999999M", 999_999_999_000_000],
		] as const;
		const forms = ["", "k", "1.5", "1.k", ".5k", "-1k", "1 k", " 1k", "1kk", "1g", "x1k", "1e3", "k1", "$5"];
		const large = ["9007199254740992", "99999999999999999", "1234567890k", 2 ** 53];
		reads(TOKENS, rows, [...forms, ...large, 1.5]);
	});

	test("that are typed become a number; other text stays as it is", () => {
		assert.deepEqual(["500k", "7", "1.5", "many"].map(TOKENS.parse), [500_000, 7, "1.5", "many"]);
		assert.equal(TOKENS.parse("9007199254740992"), "9007199254740992");
	});

	test("are written as the number they are and shown with three digits", () => {
		assert.equal(TOKENS.write(1234), 1234);
		shows(TOKENS, [
			[0, "0"],
			[999, "999"],
			[1000, "1k"],
			[1234, "1.23k"],
			[9990, "9.99k"],
			[9999, "10k"],
			[10_000, "10k"],
			[12_345, "12.3k"],
			[99_900, "99.9k"],
			[100_000, "100k"],
			[123_456, "123k"],
			[999_499, "999k"],
			[999_500, "1M"],
			[1_500_000, "1.5M"],
			[2_000_000_000, "2000M"],
		]);
	});

	test("an error message gives examples", () => {
		assert.equal(TOKENS.expected, "tokens such as 500000, 500k or 1.5M");
	});
});

describe("time", () => {
	test("is read as seconds and as people write it, in whole milliseconds", () => {
		const rows = [
			[0, 0],
			[90, 90_000],
			[0.0004, 0],
			[0.0005, 1],
			[3_155_760_000, 3_155_760_000_000],
			["90", 90_000],
			["1.5", 1500],
			["90s", 90_000],
			["30m", 1_800_000],
			["1h30m", 5_400_000],
			["1H30M5S", 5_405_000],
			["1h5s", 3_605_000],
			["2m30s", 150_000],
			["1.5h", 5_400_000],
			["0.5m", 30_000],
			["0.25s", 250],
			["90m", 5_400_000],
			["0s", 0],
		] as const;
		const forms = ["", "s", "h", "m5", "1m1h", "1s1m", "1h 30m", " 1h", "1h ", "1hh", "1d", "-1s", "1.", ".5s", "1:30"];
		const large = ["1234567890", "999999999h", 3_155_760_001];
		reads(SECONDS, rows, [...forms, "1h30", "1e3s", ...large]);
	});

	test("that is typed becomes seconds; other text stays as it is", () => {
		assert.deepEqual(["1h30m", "90", "soon"].map(SECONDS.parse), [5400, 90, "soon"]);
	});

	test("is written in seconds and shown in hours, minutes and seconds", () => {
		assert.equal(SECONDS.write(1500), 1.5);
		shows(SECONDS, [
			[0, "0s"],
			[4, "0.004s"],
			[49, "0.05s"],
			[50, "0.1s"],
			[704, "0.7s"],
			[3000, "3s"],
			[9500, "9.5s"],
			[9949, "9.9s"],
			[9950, "10s"],
			[9995, "10s"],
			[10_000, "10s"],
			[10_499, "10s"],
			[59_999, "1m"],
			[60_000, "1m"],
			[90_000, "1m30s"],
			[119_499, "1m59s"],
			[119_600, "2m"],
			[3_599_600, "1h"],
			[3_600_000, "1h"],
			[3_601_000, "1h1s"],
			[5_400_000, "1h30m"],
			[90_061_000, "25h1m1s"],
		]);
	});

	test("an error message gives examples", () => {
		assert.equal(SECONDS.expected, "a time such as 90s, 30m or 1h30m");
	});
});
