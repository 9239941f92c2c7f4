import assert from "node:assert/strict";
import { test } from "node:test";
import { dollarsIn, tokensIn } from "../../src/core/usage.ts";

const parts = { input: 1, output: "2", cacheRead: 3, cacheWrite: 4n };

for (const [what, cost, dollars] of [
	["that is missing", undefined, 0],
	["that is null", null, 0],
	["that is a number", 1.5, 1.5],
	["that is a number below 0", -1.5, 0],
	["that is -0", -0, 0],
	["that is text", "0.5", 0.5],
	["that is text without a number", "free", 0],
	["that is true", true, 0],
	["with a total", { ...parts, total: 7 }, 7],
	["with a total of 0", { ...parts, total: 0 }, 0],
	["with a total that is text", { ...parts, total: "7" }, 7],
	["with an empty total", { ...parts, total: "" }, 10],
	["with a total that is text below 0", { ...parts, total: "-7" }, 10],
	["with a total that is a large integer", { ...parts, total: 7n }, 7],
	["with a total below 0", { ...parts, total: -7 }, 10],
	["with a total that is no number", { ...parts, total: NaN }, 10],
	["without a total", parts, 10],
	["of parts that are no numbers", { input: {}, output: NaN, cacheRead: -3, cacheWrite: null }, 0],
] as const)
	test(`a cost ${what} is ${dollars} dollars`, () => {
		assert.equal(dollarsIn({ cost }), dollars);
	});

for (const [what, usage, tokens] of [
	["of its parts, without cache reads", { input: 1, output: "2", cacheWrite: 3n, cacheRead: 500 }, 6],
	["of its parts, whatever the total", { input: 1, totalTokens: 500 }, 1],
	["of the total less what was read from the cache, if it has no parts", { totalTokens: 500, cacheRead: 400 }, 100],
	["of nothing", {}, 0],
] as const)
	test(`usage has the tokens ${what}`, () => {
		assert.equal(tokensIn(usage), tokens);
	});
