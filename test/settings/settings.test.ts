/** The rows: what each setting takes and is called, those of the limits derived from the table of meters. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kindOf, METER_IDS } from "../../src/core/meters.ts";
import { defaults, KEY_OF, KEYS, meterOf, settingOf, SETTINGS } from "../../src/settings/settings.ts";

test("every setting has its place, and a limit its meter", () => {
	assert.deepEqual(KEYS, [
		...["maxTurns", "maxToolCalls", "maxCost", "maxTokens", "maxTime", "maxRepeats"],
		...["session", "tree", "day", "week", "month", "budget"].flatMap((scope) =>
			["maxTurns", "maxCost", "maxTokens"].map((key) => `${scope}.${key}`),
		),
		...["policy", "grace", "askTimeout", "wrapUpMessage", "partialNote", "bell", "odds", "repeatsExcept"],
	]);
	for (const id of METER_IDS) assert.equal(meterOf(KEY_OF[id]), id);
	assert.equal(meterOf("policy"), undefined);
	for (const key of KEYS) assert.equal(settingOf(key), SETTINGS[key]);
});

test("the defaults: 25 turns, 5 or 10 repeats, nothing else limited, abort, a wrap-up where nobody can be asked", () => {
	const unlimited = Object.fromEntries(METER_IDS.map((id) => [KEY_OF[id], "unlimited"]));
	const same = {
		...{ ...unlimited, maxTurns: 25, policy: "abort" },
		...{ askTimeout: "unlimited", wrapUpMessage: "", partialNote: true, bell: true, odds: true, repeatsExcept: [] },
	};
	assert.deepEqual(defaults(true), { ...same, maxRepeats: 5, grace: 0 });
	assert.deepEqual(defaults(false), { ...same, maxRepeats: 10, grace: 2 });
	assert.deepEqual(defaults(true, true), { ...same, grace: 0 });
	assert.deepEqual(defaults(false, true), { ...same, grace: 2 });
});

test("flags, variables and words have their names from one namespace", () => {
	const names = (from: "flag" | "env" | "word") => KEYS.flatMap((key) => SETTINGS[key][from] ?? []);
	assert.deepEqual(names("flag"), [
		...["turn-limit", "turn-limit-tools", "turn-limit-cost", "turn-limit-tokens", "turn-limit-time"],
		...["turn-limit-repeats", "turn-limit-policy", "turn-limit-grace"],
	]);
	assert.deepEqual(names("env"), [
		...["PI_MAX_TURNS", "PI_TURN_LIMIT_TOOLS", "PI_TURN_LIMIT_COST", "PI_TURN_LIMIT_TOKENS", "PI_TURN_LIMIT_TIME"],
		"PI_TURN_LIMIT_REPEATS",
		...["SESSION", "TREE", "DAY", "WEEK", "MONTH"].flatMap((scope) =>
			["TURNS", "COST", "TOKENS"].map((word) => `PI_TURN_LIMIT_${scope}_${word}`),
		),
		...["PI_TURN_LIMIT_POLICY", "PI_TURN_LIMIT_GRACE", "PI_TURN_LIMIT_ASK_TIMEOUT", "PI_TURN_LIMIT_PARTIAL_NOTE"],
		...["PI_TURN_LIMIT_BELL", "PI_TURN_LIMIT_ODDS", "PI_TURN_LIMIT_REPEATS_EXCEPT"],
	]);
	assert.deepEqual(names("word"), [
		...["", "tools", "cost", "tokens", "time", "repeats"],
		...["session", "tree", "day", "week", "month"].flatMap((scope) =>
			["turns", "cost", "tokens"].map((word) => `${scope} ${word}`),
		),
		...["policy", "grace"],
	]);
});

for (const id of METER_IDS) {
	const { read, write, parse, show, expected, title, about } = SETTINGS[KEY_OF[id]];
	const { unit, samples, step, default: max } = kindOf(id);

	test(`a limit of ${id} is a number in its unit, or unlimited in any case of letters`, () => {
		for (const text of ["0", ...samples, step]) {
			const counted = read(parse(text));
			assert.ok(typeof counted === "number", text);
			assert.equal(read(write(counted)), counted);
			assert.equal(show(counted), unit.show(counted));
		}
		for (const text of ["unlimited", "Unlimited", "off", "OFF"]) assert.equal(read(parse(text)), "unlimited");
		assert.deepEqual([write("unlimited"), show("unlimited")], ["unlimited", "unlimited"]);
		for (const value of [-1, NaN, Infinity, "many", "", null, true, "Unlimited"]) {
			assert.equal(read(value), undefined, String(value));
		}
		assert.equal(expected, `${unit.expected}, or unlimited`);
		assert.equal(defaults(true)[KEY_OF[id]], max);
	});

	test(`the setting of ${id} has the words of its row`, () => {
		assert.equal(title, kindOf(id).title);
		const who = kindOf(id).scope === "fleet" ? "nobody is" : "you are";
		assert.equal(about, `${title}: ${who} asked when it is reached. ${kindOf(id).about}`);
	});
}

describe("the other settings", () => {
	/** Texts and values, and what is read of them. */
	const ROWS: [key: (typeof KEYS)[number], text: string, value: unknown, shown: string][] = [
		["policy", "abort", "abort", "abort"],
		["policy", "Synthesize", "synthesize", "synthesize"],
		["grace", "3", 3, "3"],
		["askTimeout", "60", 60, "1m"],
		["askTimeout", "unlimited", "unlimited", "unlimited"],
		["wrapUpMessage", "Stop.", "Stop.", "your own"],
		["partialNote", "true", true, "on"],
		["partialNote", "False", false, "off"],
		["bell", "false", false, "off"],
		["bell", "On", true, "on"],
		["bell", "off", false, "off"],
		["odds", "false", false, "off"],
		["repeatsExcept", "poll", ["poll"], "poll"],
		["repeatsExcept", "poll,", ["poll"], "poll"],
		["repeatsExcept", "poll, wait", ["poll", "wait"], "poll, wait"],
	];
	for (const [key, text, value, shown] of ROWS) {
		test(`${key} takes ${text}`, () => {
			const { read, write, parse, show } = SETTINGS[key] as (typeof SETTINGS)["grace"];
			assert.deepEqual(parse(text), value);
			assert.equal(read(value), value);
			assert.equal(write(value as number), value);
			assert.equal(show(value as number), shown);
		});
	}

	test("refuse anything else", () => {
		for (const [key, bad] of [
			["policy", ["raise", "Abort", "", 1, null]],
			["grace", [-1, 0.5, "2", null, "unlimited"]],
			["askTimeout", [0, -1, 1.5, 2_147_484, "60", null]],
			["wrapUpMessage", ["", "  ", 3, null]],
			["partialNote", ["yes", "true", 1, 0, null]],
			["repeatsExcept", ["poll", [""], ["poll", " "], [1], {}, null]],
		] as const) {
			for (const value of bad) assert.equal(SETTINGS[key].read(value), undefined, `${key}: ${JSON.stringify(value)}`);
		}
		assert.equal(SETTINGS.partialNote.parse("yes"), "yes");
		assert.equal(SETTINGS.grace.parse("few"), "few");
		assert.equal(SETTINGS.askTimeout.read(2_147_483), 2_147_483);
		assert.equal(SETTINGS.askTimeout.read(1), 1);
	});

	test("say what they expect, and what they are called", () => {
		assert.deepEqual(
			(["policy", "grace", "askTimeout", "wrapUpMessage", "partialNote", "bell", "odds", "repeatsExcept"] as const).map(
				(key) => {
					const { title, expected } = SETTINGS[key];
					return `${title}: ${expected}`;
				},
			),
			[
				"Policy: abort or synthesize",
				"Grace: a whole number from 0",
				"Time to answer: a whole number of seconds from 1 to 2147483, or unlimited",
				"Wrap-up text: non-empty text",
				"Partial note: true or false",
				"Bell: true or false",
				"Odds: true or false",
				"May repeat: a list of tools' names",
			],
		);
		assert.equal(SETTINGS.wrapUpMessage.show(""), "the built-in one");
		assert.equal(SETTINGS.repeatsExcept.show([]), "none");
	});
});
