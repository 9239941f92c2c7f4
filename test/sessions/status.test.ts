/** The lines of `/turn-limit`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fold, status, table } from "../../src/hosts/pi/command/status.ts";
import { resolve } from "../../src/settings/resolve.ts";
import { defaults, type Key, KEYS } from "../../src/settings/settings.ts";
import { Driver, type Given } from "../core/driver.ts";

/** The status after one turn; no settings but the turns come from anywhere. */
function shown(given: Given, keys: readonly Key[], room = Infinity, source = "default"): string[] {
	const run = new Driver({ attended: true, ...given }).prompt();
	run.turns(1);
	const settings = resolve([], [], defaults(true)).settings;
	return status(run.state, { ...settings, maxTurns: { value: 25, source } }, room, keys).split("\n");
}

describe("the status", () => {
	test("has a row for every setting, its cells aligned", () => {
		const rows = shown({ tokens: 500_000, time: 90_000 }, KEYS);
		assert.equal(rows.length, KEYS.length);
		assert.deepEqual(rows.slice(0, 6), [
			"turns           1 of 25 turns      default",
			"tool calls      0 of ∞ tool calls  default",
			"cost            $0.00 of ∞         default",
			"tokens          0 of 500k tokens   default",
			"time            0s of 1m30s        default",
			"repeats         0 of ∞             default",
		]);
		assert.equal(rows.at(-1), "may repeat      none               default");
	});

	for (const [what, given, key, row] of [
		[
			"the policy of a limit if it is not the first one",
			{ policy: "synthesize" },
			"maxTurns",
			"1 of 25 turns, synthesize",
		],
		["no policy of what is unlimited", { policy: "synthesize", turns: "unlimited" }, "maxTurns", "1 of ∞ turns"],
		["no noun where each request is asked about", { turns: 0 }, "maxTurns", "0, asks every time"],
		["no count of what only others know", {}, "tree.maxTurns", "unlimited"],
		["no noun of what has a name of its own", { sessionTurns: 9 }, "session.maxTurns", "1 of 9"],
	] as [string, Given, Key, string][]) {
		test(`shows ${what}`, () => {
			assert.equal(shown(given, [key])[0]?.split(/ {2,}/)[1], row);
		});
	}

	test("is aligned where it just fits, and short in a narrower terminal", () => {
		const keys = ["maxTurns", "maxCost", "policy"] as const;
		const wide = ["turns   1 of 25 turns  default", "cost    $0.00 of ∞     default", "policy  abort          default"];
		const narrow = ["turns: 1 of 25 (default)", "cost: $0.00 of ∞ (default)", "policy: abort (default)"];
		assert.deepEqual(shown({}, keys, 30), wide);
		assert.deepEqual(shown({}, keys, 29), narrow);
		assert.equal(shown({}, keys, 30, "PI_MAX_TURNS")[1], narrow[1]);
		assert.deepEqual(shown({}, keys, 25), [narrow[0], "cost: $0.00 of ∞", "  (default)", narrow[2]]);
	});

	test("shows between runs what the last one has spent, and where something was granted the start of the next", () => {
		const run = new Driver({ attended: true, turns: 9 }).prompt();
		run.turns(2);
		run.send({ type: "settled" });
		const turns = (): string => status(run.state, resolve([], [], defaults(true)).settings, 99, ["maxTurns"]);
		assert.equal(turns(), "turns  2 of 9 turns  default");
		run.send({ type: "limit_raised", meter: "turns", by: 1 });
		assert.equal(turns(), "turns  0 of 10 turns  default");
	});
});

test("a table's cells are aligned, and its lines end with a letter", () => {
	assert.deepEqual(table([["a", "bb", ""], ["ccc", "d", "e"]]), ["a    bb", "ccc  d   e"]); // prettier-ignore
});

describe("a text and another one behind it", () => {
	test("fill each line", () => {
		assert.deepEqual(fold("first", "(aaaa bbbbb cc dd)", 9), ["first", "  (aaaa", "  bbbbb", "  cc dd)"]);
	});

	for (const [room, lines] of [
		[19, ["first (one two six)"]],
		[18, ["first", "  (one two six)"]],
		[15, ["first", "  (one two six)"]],
		[14, ["first", "  (one two", "  six)"]],
		[5, ["first", "  (one", "  two", "  six)"]],
	] as const) {
		test(`take ${lines.length} lines in ${room} columns`, () => {
			assert.deepEqual(fold("first", "(one two six)", room), lines);
		});
	}
});
