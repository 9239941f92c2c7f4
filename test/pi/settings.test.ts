import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bash, calls, endless, host, mark, reloader, root, text, type HostOptions } from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { leaf, navigator, reply, run, status, turns, UNSET } from "../settings/status.ts";

const FILE = "turn-limit.json";

/** What each source sets; tighter and looser than its neighbours by turns. */
const SOURCES = {
	user: { maxTurns: 40, maxToolCalls: 400, policy: "synthesize", grace: 4, askTimeout: 40, wrapUpMessage: "Stop." },
	project: { maxTurns: 20, maxToolCalls: 200, policy: "abort", grace: 5, askTimeout: 20 },
	environment: {
		PI_MAX_TURNS: "50",
		PI_TURN_LIMIT_TOOLS: "500",
		PI_TURN_LIMIT_POLICY: "synthesize",
		PI_TURN_LIMIT_GRACE: "3",
		PI_TURN_LIMIT_ASK_TIMEOUT: "50",
	},
	flag: ["--turn-limit=30", "--turn-limit-tools=300", "--turn-limit-policy=abort", "--turn-limit-grace", "2"],
	command: ["60", "tools 600", "policy synthesize", "grace 1"],
};

type Source = keyof typeof SOURCES;

function settings(...sources: Source[]): HostOptions {
	const has = (source: Source): boolean => sources.includes(source);
	return {
		...(has("user") && { agentFiles: { [FILE]: SOURCES.user } }),
		...(has("project") && { files: { [`.pi/${FILE}`]: SOURCES.project } }),
		...(has("environment") && { env: SOURCES.environment }),
		...(has("flag") && { args: SOURCES.flag }),
	};
}

const inUserFile = {
	turns: `0 of 40 turns, synthesize | maxTurns in ${FILE}`,
	"tool calls": `0 of 400 tool calls, synthesize | maxToolCalls in ${FILE}`,
	policy: `synthesize | policy in ${FILE}`,
	grace: `4 | grace in ${FILE}`,
	"time to answer": `40s | askTimeout in ${FILE}`,
	"wrap-up text": `your own | wrapUpMessage in ${FILE}`,
};
const inProject = {
	turns: `0 of 20 turns | maxTurns in .pi/${FILE}`,
	"tool calls": `0 of 200 tool calls | maxToolCalls in .pi/${FILE}`,
	policy: `abort | policy in .pi/${FILE}`,
	grace: `5 | grace in .pi/${FILE}`,
	"time to answer": `20s | askTimeout in .pi/${FILE}`,
};
const inEnvironment = {
	turns: "0 of 50 turns, synthesize | PI_MAX_TURNS",
	"tool calls": "0 of 500 tool calls, synthesize | PI_TURN_LIMIT_TOOLS",
	policy: "synthesize | PI_TURN_LIMIT_POLICY",
	grace: "3 | PI_TURN_LIMIT_GRACE",
	"time to answer": "50s | PI_TURN_LIMIT_ASK_TIMEOUT",
};
const inFlags = {
	turns: "0 of 30 turns | --turn-limit",
	"tool calls": "0 of 300 tool calls | --turn-limit-tools",
	policy: "abort | --turn-limit-policy",
	grace: "2 | --turn-limit-grace",
};
const inCommands = {
	turns: "0 of 60 turns, synthesize | /turn-limit",
	"tool calls": "0 of 600 tool calls, synthesize | /turn-limit",
	policy: "synthesize | /turn-limit",
	grace: "1 | /turn-limit",
};

// Every combination stands in test/settings/resolve.test.ts; here each source meets its neighbours on a real pi.
for (const [sources, expected] of [
	[["user"], inUserFile],
	[["project"], inProject],
	[["project", "user"], { ...inUserFile, ...inProject }],
	[["environment", "user", "project"], { ...inUserFile, ...inEnvironment }],
	[["flag", "environment", "project"], { ...inEnvironment, ...inFlags }],
	[["command", "flag", "project"], { ...inProject, ...inCommands }],
] as const) {
	test(`/turn-limit names the strongest of: ${sources.join(", ")}`, async (t) => {
		const pi = await host(t, settings(...sources));
		const rpc = await pi.rpc();
		if ((sources as readonly Source[]).includes("command")) for (const args of SOURCES.command) await reply(rpc, args);
		assert.deepEqual(await status(rpc), { ...UNSET, ...expected });
		assert.deepEqual(
			rpc.notifications.filter(({ type }) => type !== "info"),
			[],
		);
	});
}

test("/turn-limit alone is a few aligned lines, also when nothing is set", async (t) => {
	const rpc = await (await host(t, { args: ["--turn-limit", "7"] })).rpc();
	assert.equal(
		await reply(rpc),
		`turns           0 of 7 turns             --turn-limit
tool calls      0 tool calls, unlimited  default
cost            $0.00, unlimited         default
tokens          0 tokens, unlimited      default
time            0s, unlimited            default
repeats         0, unlimited             PI_TURN_LIMIT_REPEATS
session turns   0, unlimited             default
session cost    $0.00, unlimited         default
session tokens  0, unlimited             default
policy          abort                    default
grace           0                        default
time to answer  unlimited                default
wrap-up text    the built-in one         default
partial note    on                       default
bell            on                       default
odds            on                       default
may repeat      none                     default`,
	);
});

test("/turn-limit shows where the meters stand in the middle of a run", async (t) => {
	await during(
		t,
		3,
		async (rpc) => {
			const { turns, "tool calls": tools } = await status(rpc);
			assert.deepEqual([turns, tools], ["3 of 25 turns | default", "2 of 9 tool calls | PI_TURN_LIMIT_TOOLS"]);
		},
		{ model: [mark(), mark(), text("done")], env: { PI_TURN_LIMIT_TOOLS: "9" } },
	);
});

test("pi --help shows the flags", async (t) => {
	const { stdout } = await (await host(t)).start("--help").ended();
	for (const flag of ["--turn-limit", "--turn-limit-tools", "--turn-limit-policy", "--turn-limit-grace"]) {
		assert.match(stdout, new RegExp(`^ +${flag} <value> +\\S.*\\(default .*\\)$`, "m"));
	}
});

test("a project's file cannot raise what the user's file or the default gives, and is told so once", async (t) => {
	const raise = {
		maxTurns: 99,
		maxToolCalls: "unlimited",
		policy: "synthesize",
		askTimeout: 99,
		wrapUpMessage: "Go on.",
	};
	const user = { maxTurns: 9, maxToolCalls: 90, askTimeout: 9 };
	const pi = await host(t, { agentFiles: { [FILE]: user }, files: { [`.pi/${FILE}`]: raise } });
	const rpc = await pi.rpc();
	await run(rpc);
	const lower = (key: string): string => `A project file can only lower a limit; ignoring ${key}`;
	assert.deepEqual(rpc.notifications, [
		{
			message: [
				`${lower("maxTurns: 99")}. Using 9 (maxTurns in ${FILE}).`,
				`${lower('maxToolCalls: "unlimited"')}. Using 90 (maxToolCalls in ${FILE}).`,
				`${lower('policy: "synthesize"')}. Using abort (default).`,
				`${lower("askTimeout: 99")}. Using 9s (askTimeout in ${FILE}).`,
				`A project file cannot set wrapUpMessage; ignoring "Go on.". Using the built-in one (default).`,
			].join("\n"),
			type: "warning",
		},
	]);
	assert.equal(await turns(rpc), `1 of 9 turns | maxTurns in ${FILE}`);
});

test("with --no-approve a project's file is not read", async (t) => {
	const pi = await host(t, { files: { [`.pi/${FILE}`]: { maxTurns: 3, grace: -1 } }, args: ["--no-approve"] });
	const rpc = await pi.rpc();
	assert.equal(await turns(rpc), "0 of 25 turns | default");
	assert.equal(rpc.notifications.length, 1);
});

test("loaded twice, one instance acts and the other says so", async (t) => {
	const copy = "copy-of-turn-limit";
	const pi = await host(t, { model: endless(), after: [`./${copy}`, reloader], env: { PI_MAX_TURNS: "3" } });
	for (const part of ["src", "pi-turn-limit", "package.json"])
		cpSync(join(root, part), join(pi.cwd, copy, part), { recursive: true });
	const rpc = await pi.rpc({ answer: "no" });
	await run(rpc);
	assert.equal(pi.model.requests.length, 3);
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		[
			"This session loads pi-turn-limit twice; this copy does nothing.",
			"Agent aborted by user. Turn limit reached. Send a message to go on.",
		],
	);
	await rpc.prompt("/reload-now");
	await run(rpc);
	assert.equal(pi.model.requests.length, 6);
	assert.deepEqual(rpc.errors, []);
});

test("bad values and unknown keys in a file are told in one message, and pi starts with what else is set", async (t) => {
	const bad = '"maxToolCalls": 1.5, "policy": ["abort"], "grace": 1e999, "askTimeout": "NaN", "wrapUpMessage": 7';
	const pi = await host(t, {
		agentFiles: { [FILE]: `{ "maxTurns": -1, ${bad}, "maxturns": 5 }` },
		env: { PI_MAX_TURNS: "6" },
	});
	const rpc = await pi.rpc();
	await run(rpc);
	assert.equal(pi.model.requests.length, 1);
	const seconds = "a whole number of seconds from 1 to 2147483, or unlimited";
	const path = join(pi.agentDir, FILE);
	assert.deepEqual(rpc.notifications, [
		{
			message: [
				`${path}: unknown key: "maxturns" (did you mean maxTurns?). Ignoring it.`,
				`maxTurns in ${path}: expected a whole number from 0, or unlimited, got -1. Using 6 (PI_MAX_TURNS).`,
				`maxToolCalls in ${path}: expected a whole number from 0, or unlimited, got 1.5. Using unlimited (default).`,
				`policy in ${path}: expected abort or synthesize, got ["abort"]. Using abort (default).`,
				`grace in ${path}: expected a whole number from 0, got Infinity. Using 0 (default).`,
				`askTimeout in ${path}: expected ${seconds}, got "NaN". Using unlimited (default).`,
				`wrapUpMessage in ${path}: expected non-empty text, got 7. Using the built-in one (default).`,
			].join("\n"),
			type: "warning",
		},
	]);
});

test("bad flags and variables are told in one message, and the next weaker source serves", async (t) => {
	const env = { PI_MAX_TURNS: "12", PI_TURN_LIMIT_TOOLS: "-3", PI_TURN_LIMIT_GRACE: "" };
	const pi = await host(t, { env, args: ["--turn-limit=", "--turn-limit-policy=never", "--turn-limit-grace=1.5"] });
	const rpc = await pi.rpc();
	await run(rpc);
	assert.equal(
		rpc.notifications[0]?.message,
		`--turn-limit: expected a whole number from 0, or unlimited, got "". Using 12 (PI_MAX_TURNS).
PI_TURN_LIMIT_TOOLS: expected a whole number from 0, or unlimited, got "-3". Using unlimited (default).
--turn-limit-policy: expected abort or synthesize, got "never". Using abort (default).
--turn-limit-grace: expected a whole number from 0, got "1.5". Using 0 (default).`,
	);
	assert.equal(pi.model.requests.length, 1);
});

/** Whatever shows that something was done to a file. */
function look(path: string): unknown {
	const { ino, mode, size, mtimeMs, ctimeMs } = lstatSync(path);
	return { ino, mode, size, mtimeMs, ctimeMs };
}

for (const [what, make, why] of [
	["broken JSON", (path: string) => writeFileSync(path, '{ "maxTurns": 5'), "position 15"],
	["control codes", (path: string) => writeFileSync(path, "\u001b[31mred\n"), "is not valid JSON"],
	["10 MB", (path: string) => writeFileSync(path, '{ "maxTurns": 5 }'.padEnd(10 ** 7)), "got 10000000"],
	["a directory", (path: string) => mkdirSync(path), "expected a regular file"],
	["a pipe", (path: string) => execFileSync("mkfifo", [path]), "expected a regular file"],
	["a link to itself", (path: string) => symlinkSync(path, path), "ELOOP"],
] as const) {
	test(`${what} in place of a file: no script starts, one message says what holds with a person, and it stays as it is`, async (t) => {
		const pi = await host(t);
		const path = join(pi.agentDir, FILE);
		make(path);
		const before = look(path);
		const { stderr, code } = await pi.print("go");
		assert.match(stderr, /^pi-turn-limit: \S+\/turn-limit\.json: [^\p{Cc}]*\. Not started\.\n$/u);
		assert.deepEqual([code, pi.model.requests.length], [1, 0]);
		const rpc = await pi.rpc();
		await run(rpc);
		const [message, ...others] = rpc.notifications.map(({ message }) => message);
		assert.match(message!, /^\S+\/turn-limit\.json: [^\p{Cc}]*\. Using the other places and the defaults\.$/u);
		assert.ok(message?.includes(why), message);
		assert.deepEqual([others, pi.model.requests.length], [[], 1]);
		assert.deepEqual(look(path), before);
	});
}

test("what a model writes into a settings file holds only after a reload, which says so", async (t) => {
	const write = bash(`echo '{ "maxTurns": 99 }' > "$PI_CODING_AGENT_DIR/${FILE}"`);
	const pi = await host(t, {
		model: (_request, n) => (n === 1 ? calls(write) : mark()),
		agentFiles: { [FILE]: { maxTurns: 3 } },
		after: [reloader, navigator],
	});
	const rpc = await pi.rpc({ answer: "no" });
	const start = await leaf(rpc);
	await run(rpc);
	assert.equal(pi.model.requests.length, 3);
	await rpc.prompt(`/go-to ${start}`);
	assert.equal(await turns(rpc), `3 of 3 turns | maxTurns in ${FILE}`);
	rpc.notifications.length = 0;
	await rpc.prompt("/reload-now");
	assert.deepEqual(rpc.notifications, [
		{ message: `maxTurns in ${FILE} has changed since it was last read: it was 3 and is now 99.`, type: "warning" },
	]);
	assert.equal(await turns(rpc), `3 of 99 turns | maxTurns in ${FILE}`);
});

test("a limit that appears in a file or goes from it is announced, and one that stays is not", async (t) => {
	const pi = await host(t, { agentFiles: { [FILE]: { maxToolCalls: [5] } }, after: [reloader] });
	const rpc = await pi.rpc();
	const reload = async (content: object): Promise<string[]> => {
		writeFileSync(join(pi.agentDir, FILE), JSON.stringify(content));
		rpc.notifications.length = 0;
		await rpc.prompt("/reload-now");
		const said = rpc.notifications.flatMap(({ message }) => message.split("\n"));
		return said.filter((line) => line.includes("has changed"));
	};
	const changed = (key: string, how: string): string[] => [
		`${key} in ${FILE} has changed since it was last read: ${how}.`,
	];
	assert.deepEqual(await reload({ maxToolCalls: [5] }), []);
	assert.deepEqual(await reload({}), changed("maxToolCalls", "it was [5] and is now not set"));
	assert.deepEqual(await reload({ maxTurns: 9 }), changed("maxTurns", "it was not set and is now 9"));
	assert.deepEqual(await reload({ maxTurns: 9 }), []);
	assert.deepEqual(await reload({}), changed("maxTurns", "it was 9 and is now not set"));
});

test("the file of another project is not taken for a change", async (t) => {
	const project = (maxTurns: number) => ({ session: true, files: { [`.pi/${FILE}`]: { maxTurns } } });
	const [first, second] = [await (await host(t, project(5))).rpc(), await (await host(t, project(8))).rpc()];
	await run(first);
	const { sessionFile } = (await first.send({ type: "get_state" })) as { sessionFile: string };
	assert.equal(await turns(second), `0 of 8 turns | maxTurns in .pi/${FILE}`);
	await second.send({ type: "switch_session", sessionPath: sessionFile });
	assert.equal(await turns(second), `0 of 5 turns | maxTurns in .pi/${FILE}`);
	assert.deepEqual(
		second.notifications.filter(({ type }) => type !== "info"),
		[],
	);
});

test("what is wrong in a file is said once, whatever the command sets and wherever the session goes", async (t) => {
	const pi = await host(t, { agentFiles: { [FILE]: { maxTurns: -1, maxturns: 5 } }, after: [navigator] });
	const rpc = await pi.rpc();
	const start = await leaf(rpc);
	await run(rpc);
	await reply(rpc, "7");
	const end = await leaf(rpc);
	for (const place of [start, end, start]) await rpc.prompt(`/go-to ${place}`);
	assert.equal(rpc.notifications.filter(({ type }) => type === "warning").length, 1);
});

test("a command that means nothing gets a short answer and changes nothing", async (t) => {
	const rpc = await (await host(t)).rpc();
	const before = await status(rpc);
	for (const bad of [
		"nonsense",
		"constructor",
		"-1",
		"1.5",
		"+0",
		"++1",
		"5 6",
		"wrap-up now",
		"tools many",
		"9".repeat(20),
	]) {
		assert.match(await reply(rpc, bad), /^[\w-]+: expected .* Nothing has changed\.$|^Unknown word .* lists all\.$/);
	}
	assert.equal(
		await reply(rpc, "policy never"),
		'policy: expected abort or synthesize, got "never". Nothing has changed.',
	);
	assert.equal(await reply(rpc, "grace +1"), 'grace: expected a whole number from 0, got "+1". Nothing has changed.');
	assert.deepEqual(await status(rpc), before);
	const { entries } = (await rpc.send({ type: "get_entries" })) as { entries: { type: string }[] };
	assert.deepEqual(
		entries.filter(({ type }) => type === "custom"),
		[],
	);
});

const three = { PI_MAX_TURNS: "3" };

test("+10 in the middle of a run raises this round only", async (t) => {
	const { pi, rpc } = await during(
		t,
		2,
		async (rpc) => assert.equal(await reply(rpc, "+10"), "10 turns more: 13 in this round."),
		{ model: endless(), env: three, answer: "no" },
	);
	await run(rpc);
	assert.deepEqual(
		rpc.questions.map(({ message }) => message?.split("\n")[0]),
		["You've used 13 turns. Continue?", "You've used 3 turns. Continue?"],
	);
	assert.equal(pi.model.requests.length, 16);
});

test("+10 between runs raises the next run's first round", async (t) => {
	const pi = await host(t, { model: endless(), env: three });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	assert.equal(await reply(rpc, "+10"), "10 turns more: 13 in the next run's first round.");
	assert.deepEqual(rpc.widgets(), [["Turns: 0/13"]]);
	assert.equal(await turns(rpc), "0 of 13 turns (3 + 10) | PI_MAX_TURNS");
	await run(rpc);
	assert.equal(pi.model.requests.length, 16);
	await run(rpc);
	assert.equal(pi.model.requests.length, 19);
});

test("+10 at an open question answers yes and keeps the counter", async (t) => {
	const pi = await host(t, { model: endless(), env: three });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const first = await rpc.question();
	assert.equal(await reply(rpc, "+10"), "10 turns more: 13 in this round.");
	const second = await rpc.question();
	assert.equal(second.message?.split("\n")[0], "You've used 13 turns. Continue?");
	assert.ok(rpc.widgets().map(String).includes("Turns: 4/13"));
	first.no();
	second.no();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 13);
	assert.equal(rpc.questions.length, 2);
});

test("+10 is refused when unlimited, and changes nothing", async (t) => {
	const rpc = await (await host(t, { env: { PI_MAX_TURNS: "unlimited" } })).rpc();
	assert.equal(await reply(rpc, "+10"), "Turn limit is unlimited; there is nothing to raise.");
	assert.equal(rpc.notifications.at(-1)?.type, "error");
	assert.equal(await reply(rpc, "tools +10"), "Tool limit is unlimited; there is nothing to raise.");
	assert.equal(await turns(rpc), "0 turns, unlimited | PI_MAX_TURNS");
	assert.deepEqual(rpc.widgets(), []);
});

test("the terminal completes what can stand behind /turn-limit, and shows the status", async (t) => {
	const tui = await (await host(t)).terminal();
	tui.type("/turn-limit u");
	await tui.shows(/unlimited +count turns, never ask/);
	tui.type("\x7ftools u");
	await tui.shows(/tools unlimited +count tool calls, never ask/);
	await tui.lacks("turns until you are asked");
	tui.press("tab");
	await tui.shows("/turn-limit tools unlimited");
	tui.press("enter");
	await tui.shows("Tool limit set to unlimited; it never asks again in this session.");
	tui.type("/turn-limit\r");
	await tui.shows(
		/turns {2}░{24} {2}0 of 25 {2}default\s+Unlimited: tool calls \(\/turn-limit\), cost, tokens, time, /,
	);
});
