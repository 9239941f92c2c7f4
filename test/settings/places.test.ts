import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { WIDER_SCOPES } from "../../src/core/scopes.ts";
import { fromEnvironment, fromFile, fromFlags, fromMemory, remember } from "../../src/settings/places.ts";
import { resolve } from "../../src/settings/resolve.ts";
import { defaults, KEYS, SETTINGS } from "../../src/settings/settings.ts";
import { folder, read, stopping, told } from "./given.ts";

test("flags and variables are the word of whoever starts pi, and are called by their names", () => {
	const [flags, [alias, environment]] = [fromFlags(() => ""), fromEnvironment({}).places];
	for (const key of KEYS) {
		assert.equal(flags.name(key), `--${SETTINGS[key].flag}`);
		assert.equal(environment.name(key), String(SETTINGS[key].env));
	}
	assert.equal(alias.name("maxTurns"), "PI_TURN_LIMIT_TURNS");
	assert.deepEqual([flags.strength, environment.strength, alias.strength], ["flag", "start", "start"]);
});

/** The values of all variables. */
function valuesIn(env: Readonly<Record<string, string>>) {
	const [own, alias] = fromEnvironment(env).places;
	return { ...own.values, ...alias.values };
}

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
	assert.deepEqual(valuesIn(env), values);
});

test("only settings that have a flag or a variable are looked for there", () => {
	const having = (from: "flag" | "env" | "envAlias") => KEYS.filter((key) => SETTINGS[key][from] !== undefined);
	assert.deepEqual(Object.keys(fromFlags(() => "1").values), having("flag"));
	const env = new Proxy<Record<string, string>>({}, { get: () => "1" });
	assert.deepEqual(Object.keys(fromEnvironment(env).places[0].values), having("env"));
	assert.deepEqual(Object.keys(fromEnvironment(env).places[1].values), having("envAlias"));
});

test("PI_MAX_TURNS is a number or unlimited; anything else is reported, and the default is used", () => {
	for (const [text, max, problems] of [
		...[["50", 50, 0] as const, ["0", 0, 0] as const, ["unlimited", "unlimited", 0] as const],
		...[["abc", 25, 1] as const, ["-3", 25, 1] as const, ["2.5", 25, 1] as const],
	]) {
		const resolution = resolve(fromEnvironment({ PI_MAX_TURNS: text }).places, [], defaults(true));
		assert.deepEqual([resolution.settings.maxTurns.value, resolution.problems.length], [max, problems], text);
	}
});

test("a flag without text and an empty variable count as unset", () => {
	for (const value of [undefined, true, false]) assert.deepEqual(fromFlags(() => value).values, {});
	assert.deepEqual(valuesIn({ PI_MAX_TURNS: "", PI_TURN_LIMIT_TURNS: " ", PI_TURN_LIMIT_GRACE: "  " }), {});
});

describe("the limit of turns has two variables:", () => {
	const both = (own: string, alias: string) => {
		const { places, problems } = fromEnvironment({ PI_MAX_TURNS: own, PI_TURN_LIMIT_TURNS: alias });
		const resolution = resolve(places, [], defaults(true));
		const { value, source } = resolution.settings.maxTurns;
		const all = [...problems, ...resolution.problems];
		return { used: `${value} (${source})`, told: told(all), stopping: stopping(all).length };
	};
	const differ = (own: string, alias: string) => [
		`PI_MAX_TURNS is ${own} and PI_TURN_LIMIT_TURNS is ${alias}. Using the lower one.`,
	];

	for (const [own, alias, used, told] of [
		["", "5", "5 (PI_TURN_LIMIT_TURNS)", []],
		["5", "", "5 (PI_MAX_TURNS)", []],
		["5", "5", "5 (PI_MAX_TURNS)", []],
		["5", "7", "5 (PI_MAX_TURNS)", differ("5", "7")],
		["7", "5", "5 (PI_TURN_LIMIT_TURNS)", differ("7", "5")],
		["unlimited", "5", "5 (PI_TURN_LIMIT_TURNS)", differ("unlimited", "5")],
		["0", "unlimited", "0 (PI_MAX_TURNS)", differ("0", "unlimited")],
	] as const) {
		test(`${own || "unset"} and ${alias || "unset"} make ${used}`, () => {
			assert.deepEqual(both(own, alias), { used, told, stopping: 0 });
		});
	}

	test("one that is not understood stops a script, whatever the other says", () => {
		for (const [own, alias, bad, used] of [
			["5", "abc", "PI_TURN_LIMIT_TURNS", "5 (PI_MAX_TURNS)"],
			["abc", "5", "PI_MAX_TURNS", "5 (PI_TURN_LIMIT_TURNS)"],
			["", "abc", "PI_TURN_LIMIT_TURNS", "25 (default)"],
		] as const) {
			const told = [`${bad}: expected a whole number from 0, or unlimited, got "abc". Using ${used}.`];
			assert.deepEqual(both(own, alias), { used, told, stopping: 1 });
		}
	});
});

describe("a variable that is unknown", () => {
	const problemsOf = (name: string, value = "5") => fromEnvironment({ [name]: value }).problems;

	for (const [name, meant] of [
		["PI_TURN_LIMIT_COSTS", "PI_TURN_LIMIT_COST"],
		["PI_TURN_LIMIT_TRUNS", "PI_TURN_LIMIT_TURNS"],
		["PI_TURN_LIMIT_DAY_COSTS", "PI_TURN_LIMIT_DAY_COST"],
		["PI_TURN_LIMIT_cost", "PI_TURN_LIMIT_COST"],
		["PI_TURN_LIMIT_MAX_COST", "PI_TURN_LIMIT_COST"],
		["PI_TURN_LIMIT_TOOL_CALLS", "PI_TURN_LIMIT_TOOLS"],
		["PI_TURN_LIMIT_SESSION_MAX_COST", "PI_TURN_LIMIT_SESSION_COST"],
		["PI_TURN_LIMIT_BUDGET_COSTS", "PI_TURN_LIMIT_BUDGET_COST"],
		["PI_TURN_LIMIT_BUDGET_DAY_TOKEN", "PI_TURN_LIMIT_BUDGET_DAY_TOKENS"],
		["PI_TURN_LIMIT", "PI_MAX_TURNS"],
		["PI_TURN_LIMITS", "PI_MAX_TURNS"],
		["PI_MAX_TURN", "PI_MAX_TURNS"],
		["PI_MAX_TRUNS", "PI_MAX_TURNS"],
		["PI_MAXTURNS", "PI_MAX_TURNS"],
		["pi_turn_limit_cost", "PI_TURN_LIMIT_COST"],
		["PI_TURN_LIMITS_COST", "PI_TURN_LIMIT_COST"],
		["PI_TURNLIMIT_DAY_COST", "PI_TURN_LIMIT_DAY_COST"],
		["PI_TURN_LIMT_MAX_COST", "PI_TURN_LIMIT_COST"],
		["PI_TURN_LIMIT_DAY", "PI_TURN_LIMIT_DAY_TURNS"],
		["PI_TURN_LIMIT_SESSIONS", "PI_TURN_LIMIT_SESSION_TURNS"],
	] as const) {
		test(`and close to a limit's stops a script: ${name}`, () => {
			const what = `${name}: unknown variable, did you mean ${meant}?`;
			assert.deepEqual(told(problemsOf(name)), [`${what} Ignoring it.`]);
			assert.deepEqual(stopping(problemsOf(name)), [what]);
		});
	}

	for (const name of [
		...["SESSION_TOOLS", "TREE_TIME", "WEEK_REPEATS", "MONTH_TOOLS", "MONTH_MAX_TIME", "DAY_TOOL_CALLS", "DAY_TOLS"],
		...["BUDGET_TOOLS", "BUDGET_MONTH_TIME"],
	]) {
		const variable = `PI_TURN_LIMIT_${name}`;
		test(`and would limit what its scope does not stops a script: ${variable}`, () => {
			assert.deepEqual(told(problemsOf(variable)), [`${variable}: unknown variable. Ignoring it.`]);
			assert.deepEqual(stopping(problemsOf(variable)), [`${variable}: unknown variable.`]);
		});
	}

	for (const [name, meant] of [
		["PI_MAX_COST", "PI_TURN_LIMIT_COST"],
		["PI_MAX_TOKENS", "PI_TURN_LIMIT_TOKENS"],
		["PI_MAX_DAY_COST", "PI_TURN_LIMIT_DAY_COST"],
	] as const) {
		test(`and is like PI_MAX_TURNS is only named, because it may be another program's: ${name}`, () => {
			const sentence = `${name}: unknown variable, did you mean ${meant}? Ignoring it.`;
			assert.deepEqual(told(problemsOf(name)), [sentence]);
			assert.deepEqual(stopping(problemsOf(name)), []);
		});
	}

	test("and close to another setting's, or to none, is only named", () => {
		const bell = "PI_TURN_LIMIT_BELLS: unknown variable, did you mean PI_TURN_LIMIT_BELL? Ignoring it.";
		const none = "PI_TURN_LIMIT_COLOUR: unknown variable. Ignoring it.";
		for (const [name, sentence] of [
			["PI_TURN_LIMIT_BELLS", bell],
			["PI_TURN_LIMIT_COLOUR", none],
			["PI_TURN_LIMIT_DAY_COLOUR", none.replace("COLOUR", "DAY_COLOUR")],
			["PI_TURN_LIMIT_PLANET_COST", none.replace("COLOUR", "PLANET_COST")],
		] as const) {
			assert.deepEqual(told(problemsOf(name)), [sentence]);
			assert.deepEqual(stopping(problemsOf(name)), []);
		}
		assert.deepEqual(told(problemsOf(`PI_TURN_LIMIT_${"X".repeat(99)}\u001b`)), [
			`PI_TURN_LIMIT_${"X".repeat(45)}…: unknown variable. Ignoring it.`,
		]);
	});

	test("is none of those that others read, none without a value, and none without our prefix", () => {
		const budget = { PI_TURN_LIMIT_BUDGET: "x", PI_TURN_LIMIT_BUDGET_ACCOUNT: "a", PI_TURN_LIMIT_BUDGET_DAY_COST: "2" };
		const env = { PI_TURN_LIMIT_ROOT: "1", ...budget, PI_TURN_LIMIT_BUDGET_COLOUR: "red" };
		const others = {
			PI_MAX_SIZE: "1",
			PI_MAX_RETRIES: "1",
			COST: "1",
			MY_TURN_LIMIT_COST: "1",
			CI_MAX_TURNS: "1",
			API_MAX_TURNS: "1",
		};
		assert.deepEqual(fromEnvironment({ ...env, ...others }).problems, []);
		for (const value of ["", "  "]) assert.deepEqual(problemsOf("PI_TURN_LIMIT_COSTS", value), []);
		assert.deepEqual(fromEnvironment({ PI_TURN_LIMIT_COSTS: undefined }).problems, []);
		const names = KEYS.flatMap((key) => SETTINGS[key].env ?? []);
		assert.deepEqual(fromEnvironment(Object.fromEntries(names.map((name) => [name, "1"]))).problems, []);
	});
});

test("a number too large to be exact is reported as it was typed", () => {
	for (const digits of ["9007199254740993", "9".repeat(400)]) {
		const { problems } = resolve(fromEnvironment({ PI_MAX_TURNS: digits }).places, [], defaults(false));
		assert.match(String(told(problems)), new RegExp(`^PI_MAX_TURNS: expected .*, got "${digits.slice(0, 50)}`));
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
		assert.match(told(problems)[0]!, problem);
		assert.ok(told(problems)[0]!.endsWith(`. ${OTHER}`), told(problems)[0]);
		assert.equal(stopping(problems).length, 1, "it may hold a limit");
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
		assert.ok(told(problems)[0]!.startsWith(`the file: ${why}`), told(problems)[0]);
		assert.equal(stopping(problems).length, 1);
	});
}

const KNOWN = [
	...KEYS.filter((key) => !key.includes(".")),
	...["session", "tree", "day", "week", "month", "budget"],
].join(", ");

test("a file is named in short as a source, and by its path where something is wrong with it", () => {
	const path = join(folder, "named.json");
	writeFileSync(path, '{ "maxTurns": "x", "bel": 1, "day": 5 }');
	const { place, problems } = fromFile(path, "named.json", "~/named.json");
	assert.equal(place.name("maxTurns"), "maxTurns in named.json");
	assert.deepEqual(told([...problems, ...resolve([place], [], defaults(true)).problems]), [
		"day in ~/named.json: expected an object, got 5. Ignoring it.",
		'~/named.json: unknown key: "bel" (did you mean bell?). Ignoring it.',
		'maxTurns in ~/named.json: expected a whole number from 0, or unlimited, got "x". Using 25 (default).',
	]);
});

test("a cap of a fleet's budget is unknown outside of it", () => {
	const { place, problems } = read('{ "budget.maxTurns": 5 }');
	assert.deepEqual(place.values, {});
	assert.deepEqual(told(problems), [`the file: unknown key: "budget.maxTurns". Ignoring it. Known keys: ${KNOWN}.`]);
	assert.deepEqual(fromMemory([{ version: 1, values: { "budget.maxTurns": 5, grace: 1 } }]).values, { grace: 1 });
});

test("unknown keys are reported in one sentence with the known ones; the known ones still count", () => {
	const { place, problems } = read('{ "colour": 5, "bel": false, "__proto__": { "grace": 1 }, "maxTurns": 7 }');
	assert.deepEqual(place.values, { maxTurns: 7 });
	assert.deepEqual(told(problems), [
		`the file: unknown keys: "colour", "bel" (did you mean bell?), "__proto__". Ignoring them. Known keys: ${KNOWN}.`,
	]);
	assert.deepEqual(stopping(problems), []);
	assert.deepEqual(stopping(read('{ "year": { "maxCost": 5 }, "days.maxFiles": 5 }').problems), []);
	assert.deepEqual(told(read('{ "gracee": 1 }').problems), [
		'the file: unknown key: "gracee" (did you mean grace?). Ignoring it.',
	]);
	const many = read(JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, i]))));
	assert.equal(many.problems.length, 1);
	assert.ok(told(many.problems)[0]!.length < KEYS.join(", ").length + 250);
});

for (const [key, meant] of [
	["maxCots", "maxCost"],
	["maxturns", "maxTurns"],
	["max_turns", "maxTurns"],
	["sesion", "session"],
	["dai", "day"],
	["budgt", "budget"],
	["turns", "maxTurns"],
	["cost", "maxCost"],
	["Tools", "maxToolCalls"],
	["maxTools", "maxToolCalls"],
	["toolCalls", "maxToolCalls"],
	["sessionCost", "session.maxCost"],
	["session.csots", "session.maxCost"],
	["turnLimit", "maxTurns"],
	["turn-limit-cost", "maxCost"],
	["turnLimitTools", "maxToolCalls"],
] as const) {
	test(`the unknown key ${key} may have been meant as ${meant}, which a script does not start without`, () => {
		const { problems } = read(JSON.stringify({ [key]: 5, colour: "red", maxTurns: 7 }));
		assert.deepEqual(stopping(problems), [`the file: unknown key: "${key}" (did you mean ${meant}?).`]);
		assert.deepEqual(told(problems), [
			`the file: unknown key: "${key}" (did you mean ${meant}?). Ignoring it.`,
			`the file: unknown key: "colour". Ignoring it. Known keys: ${KNOWN}.`,
		]);
	});
}

for (const scope of WIDER_SCOPES.filter((scope) => scope !== "fleet")) {
	test(`limits of a ${scope} stand in an object of their own`, () => {
		const { place, problems } = read(
			JSON.stringify({ [scope]: { maxCost: 20, maxFiles: 3 }, policy: { maxTurns: 1 } }),
		);
		assert.deepEqual(place.values, { [`${scope}.maxCost`]: 20, policy: { maxTurns: 1 } });
		assert.equal(place.name(`${scope}.maxCost`), `${scope}.maxCost in the file`);
		assert.deepEqual(told(problems), [
			`the file: unknown key: "${scope}.maxFiles". Ignoring it. Known keys: ${KNOWN}.`,
		]);
		assert.deepEqual(stopping(problems), [`the file: unknown key: "${scope}.maxFiles".`]);
		const none = read(JSON.stringify({ [scope]: 5 }));
		assert.deepEqual(none.place.values, {});
		assert.deepEqual(told(none.problems), [`${scope} in the file: expected an object, got 5. Ignoring it.`]);
		assert.equal(stopping(none.problems).length, 1);
		for (const key of ["maxcosts", "cost"]) {
			const wrong = read(JSON.stringify({ [scope]: { [key]: 5 } }));
			const said = `the file: unknown key: "${scope}.${key}" (did you mean ${scope}.maxCost?).`;
			assert.deepEqual(stopping(wrong.problems), [said]);
		}
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
		assert.deepEqual(told(problems), ["Ignoring 1 damaged or foreign turn-limit entry of this session."]);
		assert.deepEqual(stopping(problems), []);
	}
	assert.deepEqual(told(fromMemory([1, good, 2]).problems), [
		"Ignoring 2 damaged or foreign turn-limit entries of this session.",
	]);
	assert.deepEqual(fromMemory([]), { values: {}, problems: [] });
});

test("an entry of a session carries only what a command can set", () => {
	const forged = { maxTurns: 7, repeatsExcept: ["bash"], wrapUpMessage: "Go on.", askTimeout: 1, bell: "no" };
	assert.deepEqual(fromMemory([{ version: 1, values: forged }]), { values: { maxTurns: 7 }, problems: [] });
});

test("a fleet's budget is an object that others read: none of it is a setting", () => {
	const { place, problems, hasBudget } = read(JSON.stringify({ maxTurns: 3, budget: { at: "secret", maxTurns: 1 } }));
	assert.deepEqual([place.values, problems, hasBudget], [{ maxTurns: 3 }, [], true]);
	for (const content of ["{}", "[]", '{ "budget"']) assert.equal(read(content).hasBudget, false);
});
