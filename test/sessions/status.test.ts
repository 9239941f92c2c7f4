/** The lines of `/turn-limit`. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fold, type PaintStatus, picture, type StatusRole, status, table } from "../../src/hosts/pi/command/status.ts";
import { resolve, type Resolved } from "../../src/settings/resolve.ts";
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
			"turns           1 of 25 turns            default",
			"tool calls      0 tool calls, unlimited  default",
			"cost            $0.00, unlimited         default",
			"tokens          0 of 500k tokens         default",
			"time            0s of 1m30s              default",
			"repeats         0, unlimited             default",
		]);
		assert.equal(rows.at(-1), "may repeat      none                     default");
	});

	for (const [what, given, key, row] of [
		[
			"the policy of a limit if it is not the first one",
			{ policy: "synthesize" },
			"maxTurns",
			"1 of 25 turns, synthesize",
		],
		["no policy of what is unlimited", { policy: "synthesize", turns: "unlimited" }, "maxTurns", "1 turn, unlimited"],
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
		const wide = [
			"turns   1 of 25 turns     default",
			"cost    $0.00, unlimited  default",
			"policy  abort             default",
		];
		const narrow = ["turns: 1 of 25 (default)", "cost: $0.00, unlimited (default)", "policy: abort (default)"];
		assert.deepEqual(shown({}, keys, 33), wide);
		assert.deepEqual(shown({}, keys, 32), narrow);
		assert.equal(shown({}, keys, 33, "PI_MAX_TURNS")[1], narrow[1]);
		assert.deepEqual(shown({}, keys, 25), [narrow[0], "cost: $0.00, unlimited", "  (default)", narrow[2]]);
	});

	test("shows what was granted as a part of the limit", () => {
		const run = new Driver({ attended: true, cost: 20_000_000, policy: "synthesize" }).prompt();
		run.send({ type: "limit_raised", meter: "cost", by: 5_000_000 });
		const cost = (room: number): string =>
			status(run.state, resolve([], [], defaults(true)).settings, room, ["maxCost"]);
		assert.equal(cost(99), "cost  $0.00 of $25.00 (20.00 + 5.00), synthesize  default");
		assert.equal(cost(50), "cost: $0.00 of $25.00 (20.00 + 5.00), synthesize\n  (default)");
	});

	test("shows between runs what the last one has spent, and where something was granted the start of the next", () => {
		const run = new Driver({ attended: true, turns: 9 }).prompt();
		run.turns(2);
		run.send({ type: "settled" });
		const turns = (): string => status(run.state, resolve([], [], defaults(true)).settings, 99, ["maxTurns"]);
		assert.equal(turns(), "turns  2 of 9 turns  default");
		run.send({ type: "limit_raised", meter: "turns", by: 1 });
		assert.equal(turns(), "turns  0 of 10 turns (9 + 1)  default");
	});
});

describe("the picture in the terminal", () => {
	/** Roles that are no plain text show as their name. */
	const marked = (role: StatusRole, words: string): string =>
		role === "text" || role === "muted" ? words : `<${role}>${words}`;
	const OWN = KEYS.filter((key) => !/^(tree|day|week|month|budget)\./.test(key));

	function drawn(
		run: Driver,
		room: number,
		some: Partial<Resolved> = {},
		paint: PaintStatus = marked,
	): readonly string[] {
		const settings = { ...resolve([], [], defaults(true)).settings, ...some };
		return picture(run.state, settings, room, OWN, paint);
	}

	/** A run after so many turns. */
	function after(turns: number, given: Given): Driver {
		const run = new Driver({ attended: true, ...given }).prompt();
		run.turns(turns);
		return run;
	}

	test("has limits with bars first, what is unlimited in one line, and the settings that were changed", () => {
		const run = after(4, { repeats: 5, cost: 20_000_000 });
		run.send({ type: "limit_raised", meter: "cost", by: 5_000_000 });
		const some: Partial<Resolved> = {
			maxCost: { value: 20_000_000, source: "/turn-limit" },
			policy: { value: "synthesize", source: "policy in turn-limit.json" },
			bell: { value: true, source: "bell in turn-limit.json" },
		};
		assert.deepEqual(drawn(run, 78, some), [
			"turns    <normal>████░░░░░░░░░░░░░░░░░░░░  4 of 25                         default",
			"cost     ░░░░░░░░░░░░░░░░░░░░░░░░  $0.00 of $25.00 (20.00 + 5.00)  /turn-limit",
			"repeats  ░░░░░░░░░░░░░░░░░░░░░░░░  0 of 5                          default",
			"Unlimited: tool calls, tokens, time; session turns 4, cost, tokens",
			"policy: synthesize (policy in turn-limit.json)",
		]);
	});

	test("is grey but for limits, their amounts and changed settings", () => {
		const pieces: string[] = [];
		const paint: PaintStatus = (role, words) => {
			pieces.push(`${role}: ${words}`);
			return words;
		};
		drawn(after(9, { turns: 10 }), 60, { grace: { value: 3, source: "/turn-limit" } }, paint);
		assert.deepEqual(pieces, [
			"text: turns",
			`warning: ${"█".repeat(22)}`,
			"muted: ░░",
			"text: 9 of 10",
			"muted: default",
			"muted: Unlimited: tool calls, cost, tokens, time, repeats;",
			"muted:   session turns 9, cost, tokens",
			"text: grace: 3 (/turn-limit)",
		]);
	});

	test("breaks what is unlimited between its items, and inside of one only where that has no room", () => {
		const source = "session.maxTokens in turn-limit.json";
		const some = { "session.maxTokens": { value: "unlimited", source } } as const;
		const lines = (room: number) => {
			const all = drawn(after(1, {}), room, some);
			return all.slice(all.findIndex((line) => line.startsWith("Unlimited")));
		};
		assert.deepEqual(lines(60), [
			"Unlimited: tool calls, cost, tokens, time, repeats;",
			"  session turns 1, cost,",
			"  tokens (session.maxTokens in turn-limit.json)",
		]);
		assert.deepEqual(lines(19), [
			"Unlimited:",
			"  tool calls, cost,",
			"  tokens, time,",
			"  repeats;",
			"  session turns 1,",
			"  cost, tokens",
			"  (session.maxTokens",
			"  in",
			"  turn-limit.json)",
		]);
		assert.deepEqual(lines(18).slice(0, 2), ["Unlimited:", "  tool calls,"]);
	});

	test("cuts a long source or puts it below, and in a narrow terminal the bar as well", () => {
		const run = after(2, { turns: 4, sessionCost: 5_000_000 });
		const long = { value: 5_000_000, source: "session.maxCost in turn-limit.json" };
		const first = (room: number, n: number) => drawn(run, room, { "session.maxCost": long }).slice(0, n);
		assert.deepEqual(first(78, 2), [
			"turns         <normal>██████░░░░░░  2 of 4          default",
			"session cost  ░░░░░░░░░░░░  $0.00 of $5.00  session.maxCost in turn-limit.json",
		]);
		assert.deepEqual(first(57, 2), [
			"turns         <normal>█████░░░░░  2 of 4          default",
			"session cost  ░░░░░░░░░░  $0.00 of $5.00  turn-limit.json",
		]);
		const row = "session cost  ░░░░░░░░░░  $0.00 of $5.00";
		assert.equal(first(54, 2)[1], `${row}  turn-limit.…`);
		assert.deepEqual(first(53, 3), [
			"turns         <normal>█████░░░░░  2 of 4          default",
			row,
			"  session.maxCost in turn-limit.json",
		]);
		const narrow = ["turns: 2 of 4", "  <normal>█████░░░░░ default", "session cost: $0.00 of $5.00"];
		assert.deepEqual(first(39, 5), [...narrow, "  ░░░░░░░░░░", "  session.maxCost in turn-limit.json"]);
		assert.deepEqual(first(40, 1), ["turns         <normal>█████░░░░░  2 of 4"]);
	});

	test("breaks the amount where it was raised", () => {
		const run = after(1, { sessionCost: 20_000_000, turns: "unlimited" });
		run.send({ type: "limit_raised", meter: "sessionCost", by: 5_000_000 });
		assert.deepEqual(drawn(run, 38).slice(0, 3), [
			"session cost: $0.00 of $25.00",
			"  (20.00 + 5.00)",
			"  ░░░░░░░░░░ default",
		]);
	});

	for (const [what, given, turns, row] of [
		["is full at the limit", { turns: 3 }, 3, `<error>${"█".repeat(24)}  3 of 3`],
		["is not full before it", { turns: 1000 }, 999, `<warning>${"█".repeat(23)}░  999 of 1000`],
		["is not empty once something is spent", { turns: 1000 }, 1, `<normal>█${"░".repeat(23)}  1 of 1000`],
		["is empty where each request is asked about", { turns: 0 }, 0, `${"░".repeat(24)}  0, asks every time`],
	] as [string, Given, number, string][]) {
		test(`a bar ${what}`, () => {
			assert.equal(drawn(after(turns, given), 99)[0], `turns  ${row}  default`);
		});
	}

	test("a round that the person made smaller says by how much", () => {
		const run = after(2, { turns: 2 });
		run.request();
		run.answer("yes", 1);
		assert.equal(drawn(run, 99)[0], `turns  ${"░".repeat(24)}  0 of 1 (2 - 1)  default`);
	});

	test("what a place has made unlimited names the place", () => {
		const source = "/turn-limit";
		const lines = drawn(after(1, { turns: "unlimited" }), 99, { maxTurns: { value: "unlimited", source } });
		assert.equal(
			lines[0],
			"Unlimited: turns 1 (/turn-limit), tool calls, cost, tokens, time, repeats; session turns 1, cost,",
		);
	});

	test("has no line about unlimited meters where all are limited", () => {
		const settings = resolve([], [], defaults(true)).settings;
		const lines = picture(after(1, {}).state, settings, 99, ["maxTurns", "bell"], marked);
		assert.deepEqual(lines, [`turns  <normal>█${"░".repeat(23)}  1 of 25  default`]);
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
