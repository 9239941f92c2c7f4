import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Advice } from "../../src/index.ts";
import { cli, held, host, mark, node, root, text } from "../harness/index.ts";
import type { Host, HostOptions, Terminal } from "../harness/index.ts";
import type { Scope } from "../harness/wait.ts";
import { personsSessions } from "../history/person.ts";
import { Story } from "../history/story.ts";
import { reply } from "../settings/status.ts";

const prompted = { model: [mark(), text("done")], session: true };

const one = (name: string): string => new Story(name).prompt(name).answer().lines().join("\n");

/** A pi with one short session and one whose file nobody has the time to read. */
async function withEndlessFile(t: Scope, options: HostOptions = {}): Promise<Host> {
	const pi = await host(t, { agentFiles: { "sessions/a.jsonl": one("a"), "sessions/b.jsonl": "" }, ...options });
	truncateSync(join(pi.agentDir, "sessions/b.jsonl"), 2 ** 40);
	return pi;
}

const READING = "Reading sessions: 1 of 2. Escape stops it.";

describe("in a script", () => {
	test("pi -p '/turn-limit advise' prints what the sessions say on stdout, and says where it looked", async (t) => {
		const pi = await host(t, { env: { PI_TURN_LIMIT_COST: "2" } });
		const { stdout, stderr, code } = await pi.print("/turn-limit advise");
		assert.equal(stdout, `Your prompts\nNone in ${join(pi.agentDir, "sessions")}.\n`);
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("the text is plain, and names the limits in force", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions(), env: { PI_MAX_TURNS: "30", PI_TURN_LIMIT_TIME: "7m" } });
		const { stdout, stderr } = await pi.print("/turn-limit advise");
		assert.match(stdout, /^240 prompts in 60 sessions, /m);
		assert.match(stdout, /^30 turns \(now\) +\d+ of 240 /m);
		assert.match(stdout, /^7m \(now\) +\d+ of 240 /m);
		assert.doesNotMatch(stdout, /\x1b/);
		assert.equal(stderr, "");
	});

	test("--json prints one object, with the prompts of the sessions that it was given", async (t) => {
		const pi = await host(t, prompted);
		await pi.print("go");
		const folder = pi.cwd.replace(/work$/, "sessions");
		const { stdout } = await pi.print(`/turn-limit advise --json --session-dir "${folder}"`);
		const { version, prompts } = JSON.parse(stdout) as Advice;
		assert.deepEqual({ version, prompts }, { version: 1, prompts: 1 });
	});

	test("with -c pi prints the session's last answer below it", async (t) => {
		const pi = await host(t, prompted);
		await pi.print("go");
		const { stdout } = await pi.print("-c", "/turn-limit advise --json");
		const [advice = "", ...others] = stdout.split("\n");
		assert.equal((JSON.parse(advice) as Advice).prompts, 1);
		assert.deepEqual(others, ["done", ""]);
	});

	test("a mistake stands on stderr, and the exit code is 1", async (t) => {
		const { stdout, stderr, code } = await (await host(t)).print("/turn-limit advise --days soon");
		assert.equal(stderr, 'pi-turn-limit: --days: expected a number above 0, got "soon".\n');
		assert.deepEqual({ stdout, code }, { stdout: "", code: 1 });
	});

	test("in json mode the stream stays pi's, and stderr says why there is no advice", async (t) => {
		const pi = await host(t);
		const { stderr, events } = await pi.json("/turn-limit advise");
		assert.equal(stderr, "pi-turn-limit: advise: not in json mode, where standard output belongs to pi.\n");
		assert.ok(events.length > 0);
	});

	test("a reader that goes away, as head does, is no error", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const command = [node, cli, "--offline", "--no-extensions", "-e", root, "-p", "/turn-limit advise"];
		const { stdout, stderr } = await promisify(execFile)(
			"bash",
			["-c", '"$@" </dev/null | true; echo "${PIPESTATUS[0]}"', "bash", ...command],
			{ cwd: pi.cwd, env: pi.env },
		);
		assert.deepEqual({ stdout, stderr }, { stdout: "0\n", stderr: "" });
	});

	test("files that hold no session are counted, a directory that is none is named", async (t) => {
		const pi = await host(t, {
			files: { "some/a.jsonl": one("a"), "some/b.jsonl": "\0\0", "some/c.jsonl": "null\n", file: "" },
		});
		mkdirSync(join(pi.cwd, "some/d.jsonl"));
		mkdirSync(join(pi.cwd, "empty"));
		const advise = async (dir: string): Promise<string> => {
			const { stdout, stderr } = await pi.print(`/turn-limit advise --session-dir ${dir}`);
			return stdout + stderr;
		};
		assert.match(await advise("some"), /^1 prompt in 1 session, [^]*^Skipped: 3 files without a session\.$/m);
		assert.equal(await advise("empty"), `Your prompts\nNone in ${join(pi.cwd, "empty")}.\n`);
		assert.equal(await advise("file"), 'pi-turn-limit: advise: --session-dir: expected a directory, got "file".\n');
	});

	test("a path in quotes keeps its blanks, however many and of whatever kind", async (t) => {
		const pi = await host(t, { files: { "my  old\tones/a.jsonl": one("a") } });
		const { stdout } = await pi.print('/turn-limit  advise  --json  --session-dir "my  old\tones"');
		assert.equal((JSON.parse(stdout) as Advice).prompts, 1);
	});
});

describe("the sessions that it reads are those of the pi that it runs in", () => {
	/** Advice by a pi that stores its sessions, after it was prompted once. */
	async function adviceBy(t: Scope, options: HostOptions, ...args: string[]): Promise<[Host, Advice]> {
		const pi = await host(t, { model: [text("done")], ...options });
		const run = (prompt: string): Promise<{ stdout: string }> =>
			pi.typed("--offline", "--no-extensions", "-e", root, ...args, "-p", prompt);
		await run("go");
		return [pi, JSON.parse((await run("/turn-limit advise --json")).stdout) as Advice];
	}

	test("by default all projects' sessions", async (t) => {
		const [pi, { prompts, sample }] = await adviceBy(t, { agentFiles: { "sessions/--other--/a.jsonl": one("a") } });
		assert.deepEqual([prompts, sample.directory], [2, join(pi.agentDir, "sessions")]);
	});

	test("those in pi's own --session-dir", async (t) => {
		const [pi, { prompts, sample }] = await adviceBy(t, {}, "--session-dir", "here");
		assert.deepEqual([prompts, sample.directory], [1, join(pi.cwd, "here")]);
	});

	test("those in the project's sessionDir", async (t) => {
		const files = { ".pi/settings.json": { sessionDir: "mine" } };
		const [pi, { prompts, sample }] = await adviceBy(t, { files }, "--approve");
		assert.deepEqual([prompts, sample.directory], [1, join(pi.cwd, "mine")]);
	});
});

describe("over rpc", () => {
	test("it is a notification, and a wrong word is named", async (t) => {
		const rpc = await (await host(t)).rpc();
		assert.match(await reply(rpc, "advise"), /^Your prompts\nNone in /);
		assert.match(await reply(rpc, "advise --weeks 2"), /^advise: expected --project, .*, got "--weeks"\.$/);
		assert.equal(await reply(rpc, "advise --days 0"), '--days: expected a number above 0, got "0".');
	});

	test("two that are asked for at once are both answered", async (t) => {
		const rpc = await (await host(t, { files: { "some/a.jsonl": one("a") } })).rpc();
		await Promise.all([rpc.prompt("/turn-limit advise"), rpc.prompt("/turn-limit advise --session-dir some")]);
		assert.deepEqual(rpc.errors, []);
		const said = rpc.notifications.map(({ message }) => message.split("\n")[1]).sort();
		assert.match(said.join("\n"), /^1 prompt in 1 session, .*\nNone in .*$/);
	});

	test("the lines that it suggests set what it suggests, and the last one keeps it", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const rpc = await pi.rpc();
		const commands = [...(await reply(rpc, "advise")).matchAll(/^ {2}\/turn-limit (.*)$/gm)].map(
			([, args = ""]) => args,
		);
		assert.deepEqual(commands, ["20", "cost 0.60", "time 4m", "advise --apply", "save"]);
		for (const args of commands) await reply(rpc, args);
		const saved: unknown = JSON.parse(readFileSync(join(pi.agentDir, "turn-limit.json"), "utf8"));
		assert.deepEqual(saved, { maxTurns: 20, maxCost: 0.6, maxTime: 240 });
		assert.match(await reply(rpc, "advise"), /^20 turns \(now\)[^]*^\$0\.60 \(now\)[^]*^4m \(now\)/m);
	});
});

const LAST_LINE = "  /turn-limit save";

/** Waits for the advice; gives its lines, without the column that pi leaves free. */
async function adviceIn(tui: Terminal): Promise<string[]> {
	tui.type("/turn-limit advise\r");
	const screen = await tui.shows(LAST_LINE);
	const end = screen.indexOf(LAST_LINE) + LAST_LINE.length;
	const lines = screen.slice(screen.indexOf(" Your prompts"), end).split("\n");
	return lines.map((line) => line.slice(1));
}

/** The colour of the bar behind a label. */
function barColour({ buffer }: Terminal, label: string): string {
	const lines = Array.from({ length: buffer.length }, (_, row) => buffer.getLine(row));
	const line = lines.find((one) => one?.translateToString().includes(`${label} █`));
	return String(line?.getCell(line.translateToString().indexOf("█"))?.getFgColor());
}

/** An extension to load beside ours: `/rest` answers when the process reads no file. */
function reportsRest(pi: ExtensionAPI): void {
	pi.registerCommand("rest", {
		handler: async (_args, { ui }) => {
			while (process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq")))
				await new Promise((resolve) => setTimeout(resolve, 20));
			ui.notify("No file is being read.");
		},
	});
}

describe("in the terminal", () => {
	test("80 columns show, in colours, what a script prints", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions(), env: { COLORTERM: "truecolor" } });
		const tui = await pi.terminal({ cols: 80, rows: 90 });
		const lines = await adviceIn(tui);
		assert.equal(`${lines.join("\n")}\n`, (await pi.print("/turn-limit advise")).stdout);
		const [heading, within, beyond] = [tui.colour("Your prompts"), barColour(tui, " 3–5"), barColour(tui, "26–40")];
		const [now, suggested, plain] = [
			tui.colour("25 turns (now)"),
			tui.colour("20 turns (sugg"),
			tui.colour("240 prompts"),
		];
		assert.equal(plain, "default");
		assert.equal(heading, now);
		assert.equal(new Set([plain, heading, within, beyond, suggested]).size, 5);
	});

	test("40 columns show the same figures, and no line is broken by pi", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const tui = await pi.terminal({ cols: 40, rows: 120 });
		const lines = await adviceIn(tui);
		assert.ok(lines.every((line) => line.length <= 38));
		assert.ok(lines.some((line) => /^ +p50 +p90 +p95 +p99$/.test(line)));
		assert.equal(lines.filter((line) => /^ +[\d–+]+ █+ \d+$/.test(line)).length, 8);
		assert.ok(lines.some((line) => /^ +10 █+ \d+% of \d+, \+\d+$/.test(line)));
		assert.deepEqual(
			lines.filter((line) => /^\d+ turns/.test(line)).map((line) => line.split(/ {2,}|(?<=turns\S?) /)[0]),
			["10 turns", "15 turns", "20 turns+", "25 turns*", "40 turns", "60 turns"],
		);
	});

	test("shows how far it is while it reads, and Escape stops it", async (t) => {
		const tui = await (await withEndlessFile(t)).terminal({ cols: 80 });
		tui.type("/turn-limit advise\r");
		await tui.shows(READING);
		tui.press("escape");
		await tui.shows("advise: stopped.");
		await tui.lacks("Reading sessions");
		tui.type("/turn-limit policy\r");
		await tui.shows(/policy +abort/);
		tui.press("ctrl+d");
		assert.equal(await tui.exit(), 0);
	});

	test("shows that it reads before the first file is done", async (t) => {
		const pi = await host(t, { agentFiles: { "sessions/a.jsonl": "" } });
		truncateSync(join(pi.agentDir, "sessions/a.jsonl"), 2 ** 40);
		const tui = await pi.terminal({ cols: 80 });
		tui.type("/turn-limit advise\r");
		await tui.shows("Reading sessions: 0 of 1. Escape stops it.");
		tui.press("escape");
		await tui.shows("advise: stopped.");
	});

	test("Escape answers a question that opens meanwhile, and then stops the reading", async (t) => {
		const slow = held();
		const pi = await withEndlessFile(t, { model: [slow], args: ["--turn-limit", "1"] });
		const tui = await pi.terminal({ cols: 80 });
		tui.type("go\r");
		await pi.model.arrival(1);
		tui.type("/turn-limit advise\r");
		await tui.shows(READING);
		slow.release();
		await tui.shows("Turn limit reached");
		tui.press("escape");
		await tui.shows("Send a message to go on.");
		await tui.shows(READING);
		tui.press("escape");
		await tui.shows("advise: stopped.");
	});

	test("Escape stops the reading and not the run that is under way", async (t) => {
		const slow = held(text("All done."));
		const pi = await withEndlessFile(t, { model: [mark(), slow] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await pi.model.arrival(2);
		tui.type("/turn-limit advise\r");
		await tui.shows(READING);
		tui.press("escape");
		await tui.shows("advise: stopped.");
		slow.release();
		await tui.shows("All done.");
		await tui.lacks("Working");
	});

	test("a prompt that is typed while it reads is sent when it has ended", async (t) => {
		const pi = await withEndlessFile(t);
		const tui = await pi.terminal();
		tui.type("/turn-limit advise\r");
		await tui.shows(READING);
		tui.type("go\r");
		tui.press("escape");
		await pi.model.arrival(1);
		await tui.shows("done");
	});

	test("/new ends the reading without a word", async (t) => {
		const tui = await (await withEndlessFile(t, { after: [reportsRest] })).terminal();
		tui.type("/turn-limit advise\r");
		await tui.shows(READING);
		tui.type("/new\r");
		await tui.shows("New session started");
		await tui.lacks("Reading sessions");
		tui.type("/rest\r");
		assert.doesNotMatch(await tui.shows("No file is being read."), /advise|rror/);
	});
});

test("no session changes: every file keeps its bytes and its time, and none is added", async (t) => {
	const pi = await host(t, {
		agentFiles: { ...personsSessions(), "sessions/--old--/v1.jsonl": old(), "sessions/x": "" },
	});
	const sessions = join(pi.agentDir, "sessions");
	const state = (): object =>
		readdirSync(sessions, { recursive: true, encoding: "utf8" })
			.sort()
			.map((name) => {
				const stats = statSync(join(sessions, name));
				const bytes = stats.isFile() ? readFileSync(join(sessions, name)) : "";
				return [name, stats.mtimeMs, createHash("sha256").update(bytes).digest("hex")];
			});
	const before = state();
	assert.match((await pi.print("/turn-limit advise")).stdout, /^241 prompts/m);
	await reply(await pi.rpc(), "advise --project --days 3");
	assert.deepEqual(state(), before);
});

/** A session as version 1 wrote it, which pi would rewrite if it opened it. */
function old(): string {
	return new Story("old").prompt("in an old session").turns(2).linesOfVersion1().join("\n");
}
