import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { COUNT, DOLLARS, isCount } from "../../src/core/unit.ts";

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
		assert.deepEqual([0, 1, 9_999, 10_000, 2_500_000, 12_345_678].map(DOLLARS.show), [
			"$0.00",
			"$0.000001",
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
