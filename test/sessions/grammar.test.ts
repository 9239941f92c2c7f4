/** The words behind `/turn-limit`: their meaning, their completion, and the help. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { complete, help, increaseOf, mistakeIn, offer, parseCommand } from "../../src/hosts/pi/command/grammar.ts";

describe("what is typed", () => {
	for (const [typed, meant] of [
		["", { word: "", key: "maxTurns", text: "" }],
		[" 25 ", { word: "", key: "maxTurns", text: "25" }],
		["TURNS 9", { word: "turns", key: "maxTurns", text: "9" }],
		["tools", { word: "tools", key: "maxToolCalls", text: "" }],
		["Tools  1  2", { word: "tools", key: "maxToolCalls", text: "1 2" }],
		["session", { word: "session", key: "session.maxTurns", text: "" }],
		["tree 7", { word: "tree", key: "tree.maxTurns", text: "7" }],
		["day +3", { word: "day", key: "day.maxTurns", text: "+3" }],
		["day\tcost 2", { word: "day cost", key: "day.maxCost", text: "2" }],
		["budget 5", { word: "", key: "maxTurns", text: "budget 5" }],
		["Save", { alone: "save", word: "save", key: "maxTurns", text: "" }],
		["save it", { alone: "save", word: "save", key: "maxTurns", text: "it" }],
		["Forget Day cost", { alone: "forget", word: "forget", key: "maxTurns", text: "Day cost" }],
		[
			'advise  --session-dir "a  b" ',
			{ alone: "advise", word: "advise", key: "maxTurns", text: '  --session-dir "a  b"' },
		],
	] as const) {
		test(`as ${JSON.stringify(typed)} is read`, () => assert.deepEqual(parseCommand(typed), meant));
	}

	test("is a command if it is a word alone, a setting, a value or an increase", () => {
		const commands = [
			"",
			"5",
			"+1",
			"unlimited",
			"tools",
			"tools 2",
			"cost 2",
			"cost +1",
			"grace 3",
			"wrap-up",
			"forget",
			"forget tools",
			"forget day",
			"advise x",
		];
		for (const typed of commands) assert.equal(mistakeIn(parseCommand(typed)), undefined, typed);
		for (const typed of ["x", "+0", "+x", "5 6", "tools x", "grace +1", "save it", "forget x", "forget budget"])
			assert.notEqual(mistakeIn(parseCommand(typed)), undefined, typed);
	});

	test("is an increase only with a plus", () => {
		const increases = ["+2.50", "2.50", "+x"].map((text) => increaseOf("cost", text));
		assert.deepEqual(increases, [2_500_000, undefined, undefined]);
	});
});

describe("completion", () => {
	const listed = (items: ReturnType<typeof offer>): string[] | undefined =>
		items?.map(({ value, label, description }) => `${value === label ? value : label}: ${description}`);

	for (const [typed, ...expected] of [
		["u", "unlimited: count turns, never ask"],
		["+", "+10: raise the turn limit by that much, this round only"],
		["to", "tools: tool calls", "tokens: tokens"],
		["  tools U", "tools unlimited: count tool calls, never ask"],
		["day turns +", "day turns +10: raise the day turn limit by that much"],
		["pol", "policy: what happens if nobody continues"],
		["gr", "grace: turns left when the model is told to wrap up"],
		["wr", "wrap-up: tell the model to wrap up now"],
	] as const) {
		test(`of ${JSON.stringify(typed)}`, () => assert.deepEqual(listed(complete(typed)), expected));
	}

	test("leaves alone what is a command already, and what begins none", () => {
		for (const typed of ["", "5", "2", "+1", "tools 2", "cost 2", "wrap-up", "unlimited", "nonsense", "budget"])
			assert.equal(complete(typed), null, typed);
	});

	for (const [typed, ...expected] of [
		[
			"tools ",
			"tools 200: tool calls until you are asked",
			"tools unlimited: count tool calls, never ask",
			"tools +10: raise the tool limit by that much, this round only",
		],
		[
			"policy ",
			"policy abort: if nobody continues: abort the run",
			"policy synthesize: if nobody continues: one last answer, tools refused",
		],
		["grace ", "grace 2: tell the model to wrap up when 2 turns remain", "grace 0: never tell the model to wrap up"],
		[
			"advise ",
			"advise --project: only prompts in this folder",
			"advise --days 30: only the last 30 days",
			"advise --apply: set what it suggests, after a question",
			"advise --json: figures for a program",
			"advise --session-dir: the sessions in another folder",
		],
		["advise --j", "advise --json: figures for a program"],
		[
			"advise --project ",
			"--days 30: only the last 30 days",
			"--apply: set what it suggests, after a question",
			"--json: figures for a program",
			"--session-dir: the sessions in another folder",
		],
		["advise  --DAYS 7 --json --project --s", "--session-dir: the sessions in another folder"],
		[
			`advise --session-dir "A  b's" --days 7 --`,
			"--project: only prompts in this folder",
			"--apply: set what it suggests, after a question",
			"--json: figures for a program",
		],
		["advise --days ", "advise --days 30: only the last 30 days"],
		[
			"forget t",
			"forget turns: take it out of your file",
			"forget tools: take it out of your file",
			"forget tokens: take it out of your file",
			"forget time: take it out of your file",
			"forget tree: take it out of your file",
		],
		["forget po", "forget policy: take it out of your file"],
		["day ", "day turns: turns today", "day cost: US dollars today", "day tokens: tokens today"],
	] as const) {
		test(`by Tab of ${JSON.stringify(typed)}`, () => assert.deepEqual(listed(offer(typed)), expected));
	}

	test("by Tab leaves what stands before an option as it is typed", () => {
		const typed = ' Advise --session-dir "A  b"   --P';
		assert.equal(offer(typed)?.[0]?.value, 'Advise --session-dir "A  b"   --project');
	});

	test("by Tab offers no option where a value is due, or where all are given", () => {
		const all = "advise --project --days 30 --apply --json --session-dir a";
		for (const typed of [
			"advise --json --days ",
			"advise --json --session-dir ",
			'advise --session-dir "a ',
			`${all} `,
		])
			assert.equal(offer(typed), null, typed);
		assert.equal(offer("advise --json x"), null);
		assert.equal(offer("tools --json "), null);
		assert.equal(offer("advise --days 7 --json"), null);
	});

	test("by Tab of nothing lists every word, and none of its values", () => {
		const words = offer("")?.map(({ value }) => value) ?? [];
		for (const word of ["25", "tools", "month cost", "policy", "grace", "forget", "advise"])
			assert.ok(words.includes(word), word);
		for (const value of ["tools 200", "policy abort", "advise --json"]) assert.ok(!words.includes(value), value);
		assert.equal(offer("nonsense"), null);
	});
});

describe("the help", () => {
	const wide = `
/turn-limit        show meters, settings, the last run
25                 turns until you are asked
tools 200          tool calls
cost 2.50          US dollars
tokens 500k        tokens
time 30m           working time
repeats 5          identical calls in a row
session cost 2.50  turns, cost or tokens of session, tree, day, week, month
unlimited, off     in place of a number: never ask
+10                that many more, this round only
policy abort       if nobody continues: abort the run
policy synthesize  if nobody continues: one last answer, tools refused
grace 2            tell the model to wrap up when 2 turns remain; 0: never
wrap-up            tell the model to wrap up now
save               keep what was set here, for every session
forget             remove what was saved from your file
default            back to what flags, environment and files say
advise             which limit fits, from your own sessions
help               this list`.slice(1);

	test("has every word with an example, below each other where the widest fits", () => {
		assert.equal(help(75), wide);
	});

	test("folds them where it does not", () => {
		const lines = wide.split("\n").map((line) => line.replace(/ {2,}/, ": "));
		assert.equal(help(74), lines.join("\n").replace("2.50: turns", "2.50:\n  turns"));
		assert.deepEqual(help(30).split("\n").slice(0, 4), [
			...["/turn-limit:", "  show meters, settings, the", "  last run", "25: turns until you are asked"],
		]);
	});
});
