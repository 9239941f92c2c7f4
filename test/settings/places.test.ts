import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { WIDER_SCOPES } from "../../src/core/scopes.ts";
import { fromEnvironment, fromFile, fromFlags, fromMemory, remember } from "../../src/settings/places.ts";
import { resolve } from "../../src/settings/resolve.ts";
import { defaults, KEYS, SETTINGS } from "../../src/settings/settings.ts";
import { folder, read } from "./given.ts";

test("flags and variables are the word of whoever starts pi, and are called by their names", () => {
	const [flags, environment] = [fromFlags(() => ""), fromEnvironment({})];
	for (const key of KEYS) {
		assert.equal(flags.name(key), `--${SETTINGS[key].flag}`);
		assert.equal(environment.name(key), String(SETTINGS[key].env));
	}
	assert.deepEqual([flags.strength, environment.strength], ["flag", "start"]);
});

test("text becomes a number or stays the word it is", () => {
	const flags: Record<string, unknown> = {
		"turn-limit": " 7 ",
		"turn-limit-policy": "synthesize",
		"turn-limit-grace": "",
	};
	assert.deepEqual(fromFlags((name) => flags[name]).values, { maxTurns: 7, policy: "synthesize", grace: "" });
	const env = {
		...{ PI_MAX_TURNS: " unlimited ", PI_TURN_LIMIT_TOOLS: "007", PI_TURN_LIMIT_COST: "$2.50" },
		...{ PI_TURN_LIMIT_GRACE: "-1", OTHER: "1" },
	};
	const values = { maxTurns: "unlimited", maxToolCalls: 7, maxCost: 2.5, grace: "-1" };
	assert.deepEqual(fromEnvironment(env).values, values);
});

test("only settings that have a flag or a variable are looked for there", () => {
	const having = (from: "flag" | "env") => KEYS.filter((key) => SETTINGS[key][from] !== undefined);
	assert.deepEqual(Object.keys(fromFlags(() => "1").values), having("flag"));
	const env = new Proxy<Record<string, string>>({}, { get: () => "1" });
	assert.deepEqual(Object.keys(fromEnvironment(env).values), having("env"));
});

test("PI_MAX_TURNS is a number or unlimited; anything else is reported, and the default is used", () => {
	for (const [text, max, problems] of [
		...[["50", 50, 0] as const, ["0", 0, 0] as const, ["unlimited", "unlimited", 0] as const],
		...[["abc", 25, 1] as const, ["-3", 25, 1] as const, ["2.5", 25, 1] as const],
	]) {
		const resolution = resolve([fromEnvironment({ PI_MAX_TURNS: text })], [], defaults(true));
		assert.deepEqual([resolution.settings.maxTurns.value, resolution.problems.length], [max, problems], text);
	}
});

test("a flag without text and an empty variable count as unset", () => {
	for (const value of [undefined, true, false]) assert.deepEqual(fromFlags(() => value).values, {});
	assert.deepEqual(fromEnvironment({ PI_MAX_TURNS: "", PI_TURN_LIMIT_GRACE: "  " }).values, {});
});

test("a number too large to be exact is reported as it was typed", () => {
	for (const digits of ["9007199254740993", "9".repeat(400)]) {
		const { problems } = resolve([fromEnvironment({ PI_MAX_TURNS: digits })], [], defaults(false));
		assert.match(String(problems), new RegExp(`^PI_MAX_TURNS: expected .*, got "${digits.slice(0, 50)}`));
	}
});

test("a file gives its settings, and may name its schema and start with a byte order mark", () => {
	const values = { maxTurns: 50, maxToolCalls: "unlimited", wrapUpMessage: "Stop." };
	const { place, problems } = read(`\uFEFF${JSON.stringify({ $schema: "./schema.json", ...values })}`);
	assert.deepEqual({ values: place.values, problems }, { values, problems: [] });
	assert.deepEqual([place.name("maxTurns"), place.strength], ["maxTurns in the file", "file"]);
	assert.deepEqual(read('{ "wrapUpMessage": "\uFEFF" }').place.values, { wrapUpMessage: "\uFEFF" });
});

test("a missing file or folder is fine, and so is a file where the folder should be", () => {
	writeFileSync(join(folder, "file"), "");
	for (const path of ["missing.json", "missing/turn-limit.json", "file/turn-limit.json"]) {
		const { place, problems } = fromFile(join(folder, path), "the file");
		assert.deepEqual({ values: place.values, problems }, { values: {}, problems: [] });
	}
});

const OTHER = "Using the other places and the defaults.";

for (const [what, content, problem] of [
	["nothing in it", "", /^the file: Unexpected end of JSON input\. /],
	["broken JSON", '{ "maxTurns": 5', /^the file: .* position 15.*\. /],
	["a number that JSON does not know", '{ "maxTurns": NaN }', /^the file: .*NaN.* is not valid JSON\. /],
	["a list", "[5]", /^the file: expected an object, got a list\. /],
	["a number", "5", /^the file: expected an object, got a number\. /],
	["null", "null", /^the file: expected an object, got null\. /],
	["text", '"s3cret"', /^the file: expected an object, got a string\. /],
	["a mistake beside a budget", `{ "budget": 's3cret' }`, /^the file: Unexpected token '{3} in JSON\. /],
	["a mistake at the start of it", `s3cret "budget"`, /^the file: Unexpected token 's' in JSON\. /],
	["too much", `{ "maxTurns": 5 }${" ".repeat(64 * 1024)}`, /: expected at most 65536 bytes, got 65553\. /],
	["control codes", "\u001b[31mred\n", /^the file: [^\p{Cc}]* is not valid JSON\. /u],
] as const) {
	test(`a file with ${what} is ignored, and one problem says why and what applies instead`, () => {
		const { place, problems } = read(content);
		assert.deepEqual(place.values, {});
		assert.equal(problems.length, 1);
		assert.match(problems[0]!, problem);
		assert.ok(problems[0]!.endsWith(`. ${OTHER}`), problems[0]);
	});
}

test("a file of exactly 64 KiB is still read", () => {
	assert.deepEqual(read(`{ "maxTurns": 5 }`.padEnd(64 * 1024)).place.values, { maxTurns: 5 });
});

for (const [what, make, why] of [
	["a directory", (path: string) => mkdirSync(path), "expected a regular file"],
	["a pipe", (path: string) => execFileSync("mkfifo", [path]), "expected a regular file"],
	["a link to itself", (path: string) => symlinkSync(path, path), "ELOOP: too many symbolic links encountered"],
	["a link to nowhere", (path: string) => symlinkSync("nowhere", path), "ENOENT: no such file or directory"],
] as const) {
	test(`${what} in place of the file is a problem and changes nothing`, () => {
		const path = join(folder, what);
		make(path);
		const { place, problems } = fromFile(path, "the file");
		assert.deepEqual(place.values, {});
		assert.equal(problems.length, 1);
		assert.ok(problems[0]!.startsWith(`the file: ${why}`), problems[0]);
	});
}

const KNOWN = [...KEYS.filter((key) => !key.startsWith("budget.")), "budget"].join(", ");

test("a cap of a fleet's budget is unknown outside of it", () => {
	const { place, problems } = read('{ "budget.maxTurns": 5 }');
	assert.deepEqual(place.values, {});
	assert.deepEqual(problems, [`the file: ignoring unknown keys: "budget.maxTurns". Known keys: ${KNOWN}.`]);
	assert.deepEqual(fromMemory([{ version: 1, values: { "budget.maxTurns": 5, grace: 1 } }]).values, { grace: 1 });
});

test("unknown keys are reported in one sentence with the known ones; the known ones still count", () => {
	const { place, problems } = read('{ "maxturns": 5, "__proto__": { "grace": 1 }, "maxTurns": 7 }');
	assert.deepEqual(place.values, { maxTurns: 7 });
	assert.deepEqual(problems, [`the file: ignoring unknown keys: "maxturns", "__proto__". Known keys: ${KNOWN}.`]);
	const many = read(JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, i]))));
	assert.equal(many.problems.length, 1);
	assert.ok(many.problems[0]!.length < KEYS.join(", ").length + 250);
});

for (const scope of WIDER_SCOPES.filter((scope) => scope !== "fleet")) {
	test(`limits of a ${scope} stand in an object of their own`, () => {
		const { place, problems } = read(
			JSON.stringify({ [scope]: { maxCost: 20, maxFiles: 3 }, policy: { maxTurns: 1 } }),
		);
		assert.deepEqual(place.values, { [`${scope}.maxCost`]: 20, policy: { maxTurns: 1 } });
		assert.equal(place.name(`${scope}.maxCost`), `${scope}.maxCost in the file`);
		assert.deepEqual(problems, [`the file: ignoring unknown keys: "${scope}.maxFiles". Known keys: ${KNOWN}.`]);
		const none = read(JSON.stringify({ [scope]: 5 }));
		assert.deepEqual(none.place.values, {});
		assert.deepEqual(none.problems, [`the file: ignoring unknown keys: "${scope}". Known keys: ${KNOWN}.`]);
	});
}

test("a damaged or foreign entry is ignored and counted; the newest valid one is used", () => {
	const good = remember({ maxTurns: 7 });
	for (const bad of [
		undefined,
		null,
		"7",
		[],
		{},
		{ version: 2, values: { maxTurns: 9 } },
		{ version: "1", values: { maxTurns: 9 } },
		{ version: 1 },
		{ version: 1, values: null },
		{ version: 1, values: [] },
		{ version: 1, values: { maxTurns: -9 } },
		{ version: 1, values: { maxTurns: 9, policy: "stop" } },
	]) {
		const { values, problems } = fromMemory([remember({ maxTurns: 5 }), good, bad]);
		assert.deepEqual(values, { maxTurns: 7 }, JSON.stringify(bad));
		assert.deepEqual(problems, ["Ignoring 1 damaged or foreign turn-limit entry of this session."]);
	}
	assert.deepEqual(fromMemory([1, good, 2]).problems, [
		"Ignoring 2 damaged or foreign turn-limit entries of this session.",
	]);
	assert.deepEqual(fromMemory([]), { values: {}, problems: [] });
});

test("a fleet's budget is an object that others read: none of it is a setting", () => {
	const { place, problems, hasBudget } = read(JSON.stringify({ maxTurns: 3, budget: { at: "secret", maxTurns: 1 } }));
	assert.deepEqual([place.values, problems, hasBudget], [{ maxTurns: 3 }, [], true]);
	for (const content of ["{}", "[]", '{ "budget"']) assert.equal(read(content).hasBudget, false);
});
