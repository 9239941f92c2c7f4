/** `/turn-limit` in sessions of pi in this process. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { turnLimit } from "../../src/index.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, held, text } from "../harness/model.ts";
import { SessionManager } from "../harness/pi.ts";
import { noop } from "../harness/session.ts";

const attended = { person: () => false, model: endless(noop) };

/** Types the words; gives the type and the text of each notification that follows. */
async function say(pi: Inside, ...lines: string[]): Promise<string[]> {
	const before = pi.notifications.length;
	await pi.run(`/turn-limit ${lines.join("\n")}`);
	return pi.notifications.slice(before).map(({ type, message }) => `${type}: ${message}`);
}

const start = (t: TestContext, options: InsideOptions = {}): Promise<Inside> => inside(t, { ...attended, ...options });

/** Types the words at the open question of a run with a limit of two turns; gives the reply. */
async function atQuestion(t: TestContext, words: readonly string[], env: Record<string, string> = {}) {
	const said: string[] = [];
	const pi: Inside = await start(t, {
		person: async (_asked, n) => {
			if (n === 1) for (const typed of words) said.push(...(await say(pi, typed)));
			return false;
		},
		env: { PI_MAX_TURNS: "2", ...env },
	});
	await pi.run("go");
	return { pi, said };
}

describe("/turn-limit", () => {
	test("alone shows meters and settings, of what agents share only what is limited", async (t) => {
		const [status = "", ...more] = await say(await start(t, { env: { PI_TURN_LIMIT_TREE_TURNS: "9" } }));
		assert.match(status, /^info: turns {11}0 of 25 turns +default\ntool calls /);
		assert.match(status, /\ntree turns +0 of 9 +PI_TURN_LIMIT_TREE_TURNS\npolicy /);
		assert.match(status, /\nmay repeat +none +default$/);
		assert.deepEqual(more, []);
	});

	test("names in its list of commands what it does", async (t) => {
		const { session } = await start(t);
		const command = session.extensionRunner.getCommand("turn-limit");
		assert.equal(command?.description, "Show or set the limits of a run");
	});

	test("tells how the last run ended, also in a session that goes on later", async (t) => {
		const sessionManager = SessionManager.inMemory("/");
		const env = { PI_MAX_TURNS: "2" };
		const pi = await start(t, { env, sessionManager });
		await pi.run("go");
		const last = "Last run: stopped by you at the limit of 2 turns; spent: 2 turns, 2 tool calls, $0.02.";
		assert.equal((await say(pi))[0]?.split("\n").at(-1), last);
		await pi.quit();
		const later = await start(t, { env, sessionManager });
		assert.equal((await say(later))[0]?.split("\n").at(-1), last);
	});

	test("tells of a last run that no limit ended", async (t) => {
		const pi = await start(t, { model: [text("done")] });
		await pi.run("go");
		assert.match((await say(pi))[0] ?? "", /\nLast run: .*; spent: 1 turn, 0 tool calls, \$0\.01\.$/);
	});

	test("counts the agents of a tree, with this one", async (t) => {
		const { pi, said } = await atQuestion(t, [""], { PI_TURN_LIMIT_TREE_TURNS: "9" });
		assert.match(said[0] ?? "", /\nAgents of this tree, with this one: 1 running, 0 ended\.$/);
		assert.match((await say(pi))[0] ?? "", /\nAgents of this tree, with this one: 0 running, 1 ended\.\nLast run: /);
	});

	test("with the word of a setting shows that one, with the word of a scope all of it", async (t) => {
		const pi = await start(t);
		assert.deepEqual(await say(pi, "tools"), ["info: tool calls  0 tool calls, unlimited  default"]);
		assert.deepEqual(await say(pi, "session"), [
			"info: session turns   0, unlimited      default\nsession cost    $0.00, unlimited  default\nsession tokens  0, unlimited      default",
		]);
	});

	test("is short in a narrow terminal", async (t) => {
		const { columns } = process.stdout;
		t.after(() => (process.stdout.columns = columns));
		process.stdout.columns = 30;
		const [status = ""] = await say(await start(t));
		assert.match(status, /^info: turns: 0 of 25 \(default\)\n/);
	});

	test("explains its words", async (t) => {
		const [help = ""] = await say(await start(t), "help");
		assert.match(help, /^info: \/turn-limit +show meters, settings, the last run\n25 /);
	});

	test("goes back to what is set elsewhere, and shows of it what commands had set, and the next run's start", async (t) => {
		const pi = await start(t, { env: { PI_MAX_TURNS: "4" } });
		await say(pi, "7");
		await say(pi, "grace 3");
		assert.deepEqual(await say(pi, "default"), [
			"info: Back to your flags, environment and files.\nturns  0 of 4 turns  PI_MAX_TURNS\ngrace  0             default",
		]);
		assert.deepEqual(pi.widgets, ["Turns: 0/7", "Turns: 0/4"]);
		assert.deepEqual(await say(pi, "default"), ["info: /turn-limit has set nothing in this session."]);
	});
});

describe("the table and the widget", () => {
	const turnsIn = (status = ""): string | undefined => /turns +(.*) of (\S*)/.exec(status)?.slice(1).join("/");

	test("say the same after a change between runs: both show the start of the next run", async (t) => {
		const pi = await start(t, { model: [noop, text("done")] });
		await pi.run("go");
		assert.equal(turnsIn((await say(pi))[0]), "2/25");
		assert.equal(pi.widgets.at(-1), undefined);
		await say(pi, "7");
		assert.equal(pi.widgets.at(-1), "Turns: 0/7");
		assert.equal(turnsIn((await say(pi))[0]), "0/7");
		assert.equal(turnsIn((await say(pi, "turns"))[0]), "0/7");
		assert.match((await say(pi, "default"))[0] ?? "", /\nturns +0 of 25 turns +default$/);
	});

	test("say the same where each request is asked about", async (t) => {
		const said: string[] = [];
		const pi: Inside = await start(t, {
			person: async (_asked, n) => {
				if (n === 3) said.push(...(await say(pi)), pi.widgets.at(-1) ?? "");
				return n < 3;
			},
			env: { PI_MAX_TURNS: "0" },
		});
		await pi.run("go");
		assert.match(said[0] ?? "", /turns +2, asks every time /);
		assert.equal(said[1], "Turns: 2, asks every time");
	});

	test("say the same of what others have spent meanwhile", async (t) => {
		const pi = await start(t, { env: { PI_TURN_LIMIT_DAY_TURNS: "9" }, model: [text("done")] });
		await say(pi, "7");
		assert.equal(pi.widgets.at(-1), "Turns: 0/7 · Day turns: 0/9");
		const other = await start(t, {
			env: { PI_TURN_LIMIT_DAY_TURNS: "9", PI_CODING_AGENT_DIR: pi.folder },
			model: [text("done")],
		});
		await other.run("go");
		assert.match((await say(pi))[0] ?? "", /\nday turns +1 of 9 /);
		assert.equal(pi.widgets.at(-1), "Turns: 0/7 · Day turns: 1/9");
	});
});

test("/turn-limit in the terminal is a picture in the theme's colours", async (t) => {
	const fg = (colour: string, words: string): string => `<${colour}>${words}`;
	const ui = { theme: { fg }, addAutocompleteProvider: () => {} } as unknown as NonNullable<InsideOptions["ui"]>;
	const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_POLICY: "synthesize" };
	const pi = await start(t, { mode: "tui", ui, env, model: [noop, text("done")] });
	await pi.run("go");
	const [said = ""] = await say(pi);
	const lines = said.split("\n");
	assert.match(lines[0] ?? "", /^info: <text>turns +<error>█+ {2}<text>2 of 2 +<dim>PI_MAX_TURNS$/);
	assert.match(said, /\n<dim>Unlimited: tool calls 1, cost /);
	assert.match(
		said,
		/\n<text>policy: synthesize \(PI_TURN_LIMIT_POLICY\)\nLast run: finished by itself; spent: 2 turns/,
	);
	assert.doesNotMatch(said, /partial note/);
});

describe("/turn-limit save", () => {
	const FILE = "turn-limit.json";
	const read = ({ folder }: Inside): string => readFileSync(join(folder, FILE), "utf8");

	test("writes what was set into the user's file and forgets it, and the next run's start is shown", async (t) => {
		const pi = await start(t, { agentFiles: { [FILE]: { mine: [1], maxToolCalls: 8 } } });
		for (const words of ["7", "grace 3"]) await say(pi, words);
		assert.deepEqual(await say(pi, "save"), [`info: Saved to ${join(pi.folder, FILE)}: maxTurns: 7, grace: 3.`]);
		assert.deepEqual(JSON.parse(read(pi)), { mine: [1], maxToolCalls: 8, maxTurns: 7, grace: 3 });
		assert.match((await say(pi))[0] ?? "", /turns +0 of 7 turns +maxTurns in turn-limit\.json\n/);
		const there = "maxTurns: 7, maxToolCalls: 8, grace: 3";
		assert.deepEqual(await say(pi, "save"), [`info: Nothing new to save: ${join(pi.folder, FILE)} has ${there}.`]);
	});

	test("of a grace of 0 says what it does to scripts", async (t) => {
		const pi = await start(t);
		await say(pi, "grace 0");
		assert.deepEqual(await say(pi, "save"), [
			`info: Saved to ${join(pi.folder, FILE)}: grace: 0.\nIn scripts too the model is no longer told to wrap up.`,
		]);
	});

	for (const [damage, content, why] of [
		["is no JSON", "{ maxTurns: 3", "Expected property name"],
		["holds no object", "[]", "expected an object"],
	] as const) {
		test(`leaves a file alone that ${damage}, and what was set still applies`, async (t) => {
			const pi = await start(t, { agentFiles: { [FILE]: content } });
			await say(pi, "50");
			const [said = ""] = await say(pi, "save");
			assert.ok(said.startsWith(`error: Not saved, and nothing has changed: ${join(pi.folder, FILE)}: ${why}`), said);
			assert.equal(read(pi), content);
			assert.match((await say(pi))[0] ?? "", /turns +0 of 50 turns +\/turn-limit\n/);
		});
	}

	test("says where a stronger place sets something else here, and what is wrong with the file now", async (t) => {
		const pi = await start(t, { env: { PI_MAX_TURNS: "7", PI_TURN_LIMIT_COST: "2.50" } });
		for (const words of ["50", "cost 2.5"]) await say(pi, words);
		writeFileSync(join(pi.folder, FILE), '{ "turns": 1, "grace": -1 }');
		const [said = "", ...more] = await say(pi, "save");
		assert.match(
			said,
			/: maxTurns: 50, maxCost: 2\.5\.\nIn this session PI_MAX_TURNS takes precedence: turn limit 7\.$/,
		);
		assert.match(
			more.join(),
			/^warning: \/\S+\/turn-limit\.json: unknown key: "turns".*\ngrace in \/\S+\/turn-limit\.json: /,
		);
		assert.equal(pi.widgets.at(-1), "Turns: 0/7 · Cost: $0.00/$2.50");
	});

	describe("of what an earlier process has set", () => {
		const earlier = (values: object): SessionManager => {
			const sessionManager = SessionManager.inMemory();
			sessionManager.appendCustomEntry("turn-limit", { version: 1, values });
			return sessionManager;
		};
		const left = (values: string) =>
			`Not saved, because it was set before pi started: ${values}. Set it again to save it.`;

		test("writes what the person was told, says what it left out, and leaves that in force", async (t) => {
			const values = { maxTurns: 50, maxToolCalls: 5, grace: 4, repeatsExcept: ["noop"], wrapUpMessage: "Go on." };
			const pi = await start(t, { sessionManager: earlier(values) });
			assert.deepEqual(await say(pi, "save"), [
				`info: Saved to ${join(pi.folder, FILE)}: maxTurns: 50.\n${left("maxToolCalls: 5, grace: 4")}`,
			]);
			assert.deepEqual(JSON.parse(read(pi)), { maxTurns: 50 });
			assert.match((await say(pi, "tools"))[0] ?? "", /0 of 5 tool calls +\/turn-limit$/);
			assert.deepEqual(await say(pi, "save"), [`info: ${left("maxToolCalls: 5, grace: 4")}`]);
			await say(pi, "tools 6");
			assert.match((await say(pi, "save"))[0] ?? "", /: maxToolCalls: 6\.\nNot saved, .*: grace: 4\. /);
		});

		test("writes nothing that a flag hides", async (t) => {
			const pi = await start(t, { sessionManager: earlier({ maxTurns: 50 }), flags: { "turn-limit": "3" } });
			assert.deepEqual(await say(pi, "save"), [`info: ${left("maxTurns: 50")}`]);
			assert.throws(() => read(pi), { code: "ENOENT" });
		});

		test("counts nothing that no command can set: a forged list of tools that may repeat does not act", async (t) => {
			const env = { PI_TURN_LIMIT_REPEATS: "3" };
			const pi = await start(t, { env, sessionManager: earlier({ repeatsExcept: ["noop"] }) });
			assert.deepEqual(pi.notifications, []);
			await pi.run("go");
			assert.deepEqual([pi.asked.length, pi.model.requests.length], [1, 4]);
			assert.deepEqual(await say(pi, "save"), ["info: Nothing to save: /turn-limit has set nothing in this session."]);
		});
	});

	test("off means unlimited", async (t) => {
		const pi = await start(t);
		assert.deepEqual(await say(pi, "Off"), ["info: Turn limit set to unlimited; it never asks again in this session."]);
	});

	test("names the file of a person's home by a tilde", async (t) => {
		const { HOME } = process.env;
		t.after(() => (process.env["HOME"] = HOME));
		const pi = await start(t);
		for (const [home, shown] of [
			[pi.folder, "~"],
			[pi.folder.slice(0, -1), pi.folder],
		] as const) {
			process.env["HOME"] = home;
			await say(pi, "7");
			assert.deepEqual(await say(pi, "save"), [`info: Saved to ${shown}/turn-limit.json: maxTurns: 7.`]);
		}
	});

	test("is refused where nobody is, in a subagent, and where a program has set the limits", async (t) => {
		const followed = new Followed(t);
		const script = await inside(t);
		await say(script, "7", "/turn-limit save");
		const nobody = "Not saved: only a person can do that, and only in a session that no agent started.";
		assert.match(followed.stderr, new RegExp(`\npi-turn-limit: ${nobody}\n$`));
		const member = await start(t);
		assert.deepEqual((await say(member, "7", "/turn-limit save")).slice(1), [`error: ${nobody}`]);
		const program = await start(t, { isPi: false, extensions: [turnLimit({ turns: 3 })] });
		assert.deepEqual((await say(program, "7", "/turn-limit save")).slice(1), [
			"error: Not saved: the program that runs this session has limits of its own, and no settings file.",
		]);
		for (const pi of [script, member, program]) assert.throws(() => read(pi), { code: "ENOENT" });
	});
});

test("names of tools from a file show nothing that a terminal obeys", async (t) => {
	const repeatsExcept = ["\u001b]52;c;aGk=\u0007", "a\nb", "x".repeat(99)];
	const pi = await start(t, { agentFiles: { "turn-limit.json": { repeatsExcept } } });
	const [shown = ""] = await say(pi);
	assert.match(shown, /\nmay repeat +\]52;c;aGk=, a b, x{59}… +repeatsExcept in turn-limit\.json$/);
});

describe("/turn-limit in several lines", () => {
	for (const [how, ...lines] of [
		["one below the other", "7", "/turn-limit tools 9"],
		["with blanks around them", "  7  ", "", "  /turn-limit\ttools 9  ", ""],
	]) {
		test(`executes them ${how}`, async (t) => {
			const pi = await start(t);
			assert.deepEqual(await say(pi, ...lines), ["info: Turn limit set to 7.", "info: Tool limit set to 9."]);
			assert.equal(pi.widgets.at(-1), "Turns: 0/7 · Tools: 0/9");
		});
	}

	test("executes a line without a word too", async (t) => {
		const said = await say(await start(t), "7", "/turn-limit");
		assert.equal(said[0], "info: Turn limit set to 7.");
		assert.match(said[1] ?? "", /^info: turns +0 of 7 turns +\/turn-limit\n/);
	});

	for (const line of ["hello", "/turn-limits 3", "do /turn-limit 3"]) {
		test(`changes nothing where one of them is ${JSON.stringify(line)}`, async (t) => {
			const pi = await start(t);
			assert.deepEqual(await say(pi, "7", "/turn-limit tools 9", line), [
				"error: /turn-limit takes one line. Nothing has changed.",
			]);
			assert.deepEqual(pi.widgets, []);
		});
	}
});

describe("a setting", () => {
	test("is set, and the next run's start is shown", async (t) => {
		const pi = await start(t);
		assert.deepEqual(await say(pi, "7"), ["info: Turn limit set to 7."]);
		assert.deepEqual(await say(pi, "unlimited"), [
			"info: Turn limit set to unlimited; it never asks again in this session.",
		]);
		assert.deepEqual(await say(pi, "policy synthesize"), ["info: Policy set to synthesize."]);
		assert.deepEqual(pi.widgets, ["Turns: 0/7", "Turns: 0/∞"]);
	});

	test("has what was granted to a day on top of it", async (t) => {
		const pi = await start(t);
		assert.deepEqual(await say(pi, "day 5"), ["info: Day turn limit set to 5."]);
		assert.deepEqual(await say(pi, "day +3"), ["info: 3 turns more: 8 today."]);
		assert.deepEqual(await say(pi, "day 6"), ["info: Day turn limit set to 6; with what was granted it is 9 today."]);
		const [raised] = await say(pi, "day +9007199254740991");
		assert.equal(raised, "info: 1000000000000 turns more: 1000000000009 today.");
		assert.match((await say(pi, "day turns"))[0] ?? "", / 0 of 1000000000009 /);
		assert.deepEqual(await say(pi, "day unlimited"), [
			"info: Day turn limit set to unlimited; it never asks again in this session.",
		]);
	});

	test("adds up, however much is granted, and a reload keeps what was counted", async (t) => {
		const pi = await start(t, { model: [noop, text("done")], flags: { "turn-limit-tools": "5" } });
		const huge = Number.MAX_SAFE_INTEGER;
		for (const word of ["", "session"])
			await say(pi, `${word} ${huge}`, `/turn-limit ${word} +${huge}`, `/turn-limit ${word} +${huge}`);
		await pi.run("go");
		const counted = (): Promise<string[]> => say(pi, "tools", "/turn-limit turns", "/turn-limit session turns");
		const before = await counted();
		assert.match(before.join(), / 1 of 5 .* 2 of 3000000000000 .* 2 of 3000000000000 /);
		await pi.session.reload();
		assert.deepEqual(await counted(), before);
	});

	for (const [words, mistake] of [
		["x", 'Unknown word "x". /turn-limit help lists all.'],
		["advice", 'Unknown word "advice". Did you mean advise? /turn-limit help lists all.'],
		["tols 5", 'Unknown word "tols". Did you mean tools? /turn-limit help lists all.'],
		["5 6", 'turns: expected a whole number from 0, or unlimited, got "5 6". Nothing has changed.'],
		["-1", 'turns: expected a whole number from 0, or unlimited, got "-1". Nothing has changed.'],
		["turns x", 'turns: expected a whole number from 0, or unlimited, got "x". Nothing has changed.'],
		["tools x", 'tools: expected a whole number from 0, or unlimited, got "x". Nothing has changed.'],
		["grace x", 'grace: expected a whole number from 0, got "x". Nothing has changed.'],
		["save it", 'save: expected nothing after it, got "it". Nothing has changed.'],
		["forget tols", 'Unknown word "tols". Did you mean tools? /turn-limit help lists all.'],
		["+x", 'turns: expected an increase such as +10, got "+x". Nothing has changed.'],
		["cost +0", 'cost: expected an increase such as +1, got "+0". Nothing has changed.'],
		["day +x", 'day: expected an increase such as +10, got "+x". Nothing has changed.'],
		["grace +x", 'grace: expected a whole number from 0, got "+x". Nothing has changed.'],
		["day cots 5", 'day: expected turns, cost or tokens, got "cots". Did you mean cost? Nothing has changed.'],
		["Tree time 5", 'tree: expected turns, cost or tokens, got "time". Nothing has changed.'],
		["day -1", 'day: expected a whole number from 0, or unlimited, got "-1". Nothing has changed.'],
		["day cost x", 'day cost: expected dollars such as 2.50 or $2.50, or unlimited, got "x". Nothing has changed.'],
		["forget day cots", 'day: expected turns, cost or tokens, got "cots". Did you mean cost? Nothing has changed.'],
		[
			"5 turns",
			'turns: expected a whole number from 0, or unlimited, got "5 turns". Did you mean turns 5? Nothing has changed.',
		],
		["$5", 'turns: expected a whole number from 0, or unlimited, got "$5". Did you mean cost $5? Nothing has changed.'],
		[
			"30m",
			'turns: expected a whole number from 0, or unlimited, got "30m". Did you mean time 30m? Nothing has changed.',
		],
		[
			"500k",
			'turns: expected a whole number from 0, or unlimited, got "500k". Did you mean tokens 500k? Nothing has changed.',
		],
		[
			"session $20",
			'session: expected a whole number from 0, or unlimited, got "$20". Did you mean session cost $20? Nothing has changed.',
		],
		["cost=5", 'Unknown word "cost=5". Did you mean cost 5? /turn-limit help lists all.'],
		["wrap up", 'Unknown word "wrap". Did you mean wrap-up? /turn-limit help lists all.'],
		["off cost", 'off: expected nothing after it, got "cost". Did you mean cost off? Nothing has changed.'],
		["unlimited x", 'unlimited: expected nothing after it, got "x". Nothing has changed.'],
		["--help", 'Unknown word "--help". Did you mean help? /turn-limit help lists all.'],
		["status", 'Unknown word "status". /turn-limit alone shows the limits. /turn-limit help lists all.'],
		["reset", 'Unknown word "reset". Did you mean default? /turn-limit help lists all.'],
		["never", 'Unknown word "never". Did you mean unlimited? /turn-limit help lists all.'],
		["bell", "bell is set in turn-limit.json or by PI_TURN_LIMIT_BELL, not here."],
		["ODDS off", "odds is set in turn-limit.json or by PI_TURN_LIMIT_ODDS, not here."],
		["wrapUpMessage Stop.", "wrapUpMessage is set in turn-limit.json, not here."],
		["budget 5", "budget is set in turn-limit.json or by PI_TURN_LIMIT_BUDGET, not here."],
		["forget save", 'Unknown word "save". /turn-limit help lists all.'],
		["forget bell", "bell is set in turn-limit.json or by PI_TURN_LIMIT_BELL, not here."],
	] as const) {
		test(`that is ${JSON.stringify(words)} is a mistake, which is explained`, async (t) => {
			const pi = await start(t);
			assert.deepEqual(await say(pi, words), [`error: ${mistake}`]);
			assert.deepEqual(pi.widgets, []);
		});
	}
});

describe("/turn-limit forget", () => {
	const FILE = "turn-limit.json";
	const saved = { mine: [1], bell: false, maxTurns: 7, session: { maxCost: 20 }, day: { maxCost: 9, maxTurns: 3 } };
	const read = ({ folder }: Inside): unknown => JSON.parse(readFileSync(join(folder, FILE), "utf8"));
	const shows = async (pi: Inside, what: RegExp): Promise<void> => assert.match((await say(pi))[0] ?? "", what);

	test("takes the values of a word out of the user's file, and the limits follow", async (t) => {
		const pi = await start(t, { agentFiles: { [FILE]: saved } });
		await shows(pi, /turns +0 of 7 turns +maxTurns in turn-limit\.json\n/);
		assert.deepEqual(await say(pi, "forget turns"), [`info: Removed from ${join(pi.folder, FILE)}: maxTurns: 7.`]);
		await shows(pi, /turns +0 of 25 turns +default\n/);
		assert.deepEqual(await say(pi, "forget session cost"), [
			`info: Removed from ${join(pi.folder, FILE)}: session.maxCost: 20.`,
		]);
		assert.deepEqual(read(pi), { mine: [1], bell: false, day: saved.day });
		assert.deepEqual(await say(pi, "forget day"), [
			`info: Removed from ${join(pi.folder, FILE)}: day.maxTurns: 3, day.maxCost: 9.`,
		]);
		assert.deepEqual(read(pi), { mine: [1], bell: false });
		assert.deepEqual(await say(pi, "forget day"), [`info: Nothing to forget: ${join(pi.folder, FILE)} has no day.`]);
	});

	test("alone takes out everything that a command can set, and nothing else", async (t) => {
		const pi = await start(t, { agentFiles: { [FILE]: saved } });
		const all = "maxTurns: 7, session.maxCost: 20, day.maxTurns: 3, day.maxCost: 9";
		assert.deepEqual(await say(pi, "forget"), [`info: Removed from ${join(pi.folder, FILE)}: ${all}.`]);
		assert.deepEqual(read(pi), { mine: [1], bell: false });
		assert.deepEqual(await say(pi, "forget"), [`info: Nothing to forget: ${join(pi.folder, FILE)} has no limit.`]);
	});

	for (const [damage, content, why] of [
		["is no JSON", '{ "maxTurns": 3, }', "Expected double-quoted"],
		["holds no object", "[]", "expected an object"],
	] as const) {
		test(`leaves a file alone that ${damage}, and does not say that it has no limit`, async (t) => {
			const pi = await start(t, { agentFiles: { [FILE]: content } });
			for (const [words, done] of [
				["forget", "forgotten"],
				["forget turns", "forgotten"],
				["save", "saved"],
			] as const) {
				const [said = ""] = await say(pi, words);
				assert.ok(
					said.startsWith(`error: Not ${done}, and nothing has changed: ${join(pi.folder, FILE)}: ${why}`),
					said,
				);
			}
			assert.equal(readFileSync(join(pi.folder, FILE), "utf8"), content);
		});
	}

	test("says what keeps the file from being read", async (t) => {
		const pi = await start(t, { agentFiles: { [FILE]: { maxTurns: 7 } } });
		rmSync(join(pi.folder, FILE));
		mkdirSync(join(pi.folder, FILE));
		const why = `${join(pi.folder, FILE)}: expected a regular file.`;
		assert.deepEqual(await say(pi, "forget"), [`error: Not forgotten, and nothing has changed: ${why}`]);
	});

	test("is refused where nobody is, in a subagent, and where a program has set the limits", async (t) => {
		const followed = new Followed(t);
		const script = await inside(t, { agentFiles: { [FILE]: { maxTurns: 7 } } });
		await say(script, "forget");
		const nobody = "Not forgotten: only a person can do that, and only in a session that no agent started.";
		assert.match(followed.stderr, new RegExp(`^pi-turn-limit: ${nobody}\n$`));
		assert.deepEqual(read(script), { maxTurns: 7 });
		const member = await start(t, { agentFiles: { [FILE]: { maxTurns: 7 } } });
		assert.deepEqual(await say(member, "forget"), [`error: ${nobody}`]);
		const program = await start(t, { isPi: false, extensions: [turnLimit({ turns: 3 })] });
		assert.deepEqual(await say(program, "forget"), [
			"error: Not forgotten: the program that runs this session has limits of its own, and no settings file.",
		]);
	});
});

describe("a limit that is raised", () => {
	test("between runs is that of the next one", async (t) => {
		const pi = await start(t, { env: { PI_TURN_LIMIT_TREE_TURNS: "9", PI_TURN_LIMIT_SESSION_TURNS: "90" } });
		assert.deepEqual(await say(pi, "+10"), ["info: 10 turns more: 35 in the next run's first round."]);
		assert.deepEqual(await say(pi, "tree +5"), ["info: 5 turns more: 14 in the next run's tree of agents."]);
		assert.deepEqual(await say(pi, "session +3"), ["info: 3 turns more: 93 in this session."]);
		assert.equal(pi.widgets.at(-1), "Turns: 0/35 · Session turns: 0/93 · Tree turns: 0/14");
	});

	test("in a run is that of this one", async (t) => {
		const env = { PI_TURN_LIMIT_TREE_TURNS: "9", PI_TURN_LIMIT_SESSION_TURNS: "90" };
		const { said } = await atQuestion(t, ["tree +5", "session +3", "+1"], env);
		assert.deepEqual(said, [
			"info: 5 turns more: 14 in this tree of agents.",
			"info: 3 turns more: 93 in this session.",
			"info: 1 turn more: 3 in this round.",
		]);
	});

	test("has to be a limit", async (t) => {
		const pi = await start(t);
		assert.deepEqual(await say(pi, "tools +5"), ["error: Tool limit is unlimited; there is nothing to raise."]);
		assert.deepEqual(pi.widgets, []);
	});

	test("is only the root's to raise where agents share it", async (t) => {
		const env = { PI_TURN_LIMIT_TREE_TURNS: "9" };
		const root = await start(t, { env });
		const member = await start(t, { env });
		assert.deepEqual(await say(root, "tree +1"), ["info: 1 turn more: 10 in the next run's tree of agents."]);
		assert.deepEqual(await say(member, "tree +1"), [
			"error: Only the root of a tree of agents can raise what they share.",
		]);
		assert.deepEqual(await say(member, "+1"), ["info: 1 turn more: 26 in the next run's first round."]);
	});
});

describe("/turn-limit wrap-up", () => {
	test("says that nothing is running", async (t) => {
		assert.deepEqual(await say(await start(t), "wrap-up"), ["info: Nothing is running."]);
	});

	test("says that the model will be told", async (t) => {
		const { said } = await atQuestion(t, ["wrap-up"]);
		assert.deepEqual(said, ["info: The model will be told to wrap up with its next request."]);
	});

	test("says that the run gives its last answer already", async (t) => {
		const slow = held(text("The answer."));
		const env = { PI_MAX_TURNS: "1", PI_TURN_LIMIT_POLICY: "synthesize" };
		const pi = await start(t, { env, model: (_request, n) => (n === 1 ? noop : slow) });
		const run = pi.run("go");
		await pi.model.arrival(2);
		assert.deepEqual(await say(pi, "wrap-up"), ["info: The run is ending already."]);
		slow.release();
		await run;
	});

	test("says that the run is being stopped already", async (t) => {
		const said: string[] = [];
		const asks = (api: ExtensionAPI): void => {
			api.on("agent_end", async () => void said.push(...(await say(pi, "wrap-up"))));
		};
		const pi: Inside = await start(t, { env: { PI_MAX_TURNS: "1" }, extensions: [installed, asks] });
		await pi.run("go");
		assert.equal(said[0], "info: The run is ending already.");
	});
});
