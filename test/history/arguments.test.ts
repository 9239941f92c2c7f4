import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "../../src/history/index.ts";

const nothing = { project: false, json: false, apply: false };

test("without arguments everything is read and shown as text", () => {
	assert.deepEqual(parseArguments("  "), nothing);
});

test("every argument is understood, in any order and with = too", () => {
	const all = { project: true, json: true, apply: true, days: 30, sessionDir: "~/x" };
	assert.deepEqual(parseArguments("--project --days 30 --session-dir ~/x --json --apply"), all);
	assert.deepEqual(parseArguments("--apply --json --session-dir=~/x --days=30 --project"), all);
});

test("a path with blanks stands in quotes of either kind", () => {
	const expected = { ...nothing, sessionDir: "my old sessions/a" };
	for (const text of [
		`--session-dir "my old sessions/a"`,
		`--session-dir='my old sessions/a'`,
		`--session-dir my" old "sessions/a`,
	])
		assert.deepEqual(parseArguments(text), expected);
});

test("a quote without its partner is a letter like others", () => {
	assert.deepEqual(parseArguments("--session-dir /home/me/it's"), {
		...{ ...nothing, sessionDir: "/home/me/it's" },
	});
});

test("a mistake is named with what was expected and what was found", () => {
	const known = "--project, --days <number>, --session-dir <path>, --json or --apply";
	for (const [text, problem] of [
		["30", `advise: expected ${known}, got "30".`],
		["--day 3", `advise: expected ${known}, got "--day".`],
		["--project=no", `advise: expected ${known}, got "--project=no".`],
		["--apply=yes", `advise: expected ${known}, got "--apply=yes".`],
		["--json=yes", `advise: expected ${known}, got "--json=yes".`],
		["--days", "--days: expected a number above 0, got nothing."],
		["--days 0", '--days: expected a number above 0, got "0".'],
		["--days -3", '--days: expected a number above 0, got "-3".'],
		["--days 1e3", '--days: expected a number above 0, got "1e3".'],
		[`--days ${"9".repeat(400)}`, `--days: expected a number above 0, got "${"9".repeat(400)}".`],
		["--days --json", '--days: expected a number above 0, got "--json".'],
		["--session-dir", "--session-dir: expected a directory, got nothing."],
		["--session-dir --json", '--session-dir: expected a directory, got "--json".'],
	])
		assert.deepEqual(parseArguments(text ?? ""), { problem });
});
