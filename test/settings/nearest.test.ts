import assert from "node:assert/strict";
import { test } from "node:test";
import { nearest } from "../../src/settings/nearest.ts";

const KNOWN = ["maxTurns", "maxTokens", "maxCost", "day", "tree", "bell"];

for (const [name, meant] of [
	["maxCost", "maxCost"],
	["MAXCOST", "maxCost"],
	["maxCots", "maxCost"],
	["maxCst", "maxCost"],
	["mxCst", "maxCost"],
	["maxCo", "maxCost"],
	["mmaxCosst", "maxCost"],
	["naxKost", "maxCost"],
	["naxKosd", undefined],
	["maxC", undefined],
	["maxCost123", undefined],
	["maxTurns12", "maxTurns"],
	["maxToken", "maxTokens"],
	["dya", "day"],
	["yda", undefined],
	["days", "day"],
	["key", undefined],
	["trxx", undefined],
	["trex", "tree"],
	["", undefined],
	["turns", undefined],
] as const) {
	test(`${name || "nothing"} is meant as ${meant ?? "no known name"}`, () => assert.equal(nearest(name, KNOWN), meant));
}

test("the closest name is chosen, and of two the first", () => {
	assert.equal(nearest("abcd", ["abxx1", "abcx", "abce"]), "abcx");
	assert.equal(nearest("abcde", ["abxxe", "abcd"]), "abcd");
});

for (const [name, meant] of [
	["acbd", "abcd"],
	["acxd", undefined],
	["axbd", undefined],
	["acbx", undefined],
] as const) {
	test(`in ${name} two swapped letters are one mistake, and no other two are`, () => {
		assert.equal(nearest(name, ["abcd"]), meant);
	});
}
