import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { newest } from "../../scripts/hosts.js";
import { root, Terminal } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";

/** Of a person who has just cloned: the first start fills its caches, and the next ones use them. */
const home = mkdtempSync(join(tmpdir(), "pi-start-"));
after(() => rmSync(home, { recursive: true, force: true }));
const env = { PATH: process.env["PATH"] ?? "", HOME: home, TMPDIR: home, TERM: "xterm-256color" };

/** Files that are left behind. */
function left(): string[] {
	return readdirSync(home).filter((name) => name.startsWith("pi-test-"));
}

/** A clone that holds no package and no host but the newest pi. */
function clone(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "pi-clone-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	const local = [".git", ".hosts", "node_modules"].map((name) => join(root, name));
	cpSync(root, folder, { recursive: true, filter: (path) => !local.includes(path) });
	mkdirSync(join(folder, ".hosts"));
	symlinkSync(join(root, ".hosts", newest), join(folder, ".hosts", newest));
	return folder;
}

function start(t: TestContext, cwd = root) {
	const npm = spawn("npm", ["start"], { cwd, env, stdio: ["ignore", "pipe", "inherit"], detached: true });
	defer(t, () => isAlive(npm.pid) && process.kill(-(npm.pid as number), "SIGKILL"));
	npm.stdout.setEncoding("utf8");
	return npm;
}

/** Does any process of its group still run? */
function isAlive(pid: number | undefined): boolean {
	try {
		return process.kill(-(pid as number), 0);
	} catch {
		return false;
	}
}

test("npm start without a terminal tells the story, each step with its exit code, and needs nothing but the newest pi", async (t) => {
	const npm = start(t, clone(t));
	let told = "";
	npm.stdout.on("data", (part: string) => (told += part));
	assert.deepEqual(await once(npm, "close"), [0, null]);
	assert.deepEqual(
		told.match(/exit code {2}\d+/g),
		[53, 54, 53, 53, 53, 53].map((code) => `exit code  ${code}`),
	);
	assert.match(told, /to model {3}Only 2 turns left in this run/);
	assert.match(told, /stopped at the limit of \$0\.50 [^]*? {2}requests {3}2 reached the model;/);
	assert.match(told, /stopped at the limit of 3 identical calls in a row [^]*?; 3 tool calls ran/);
	assert.match(
		told,
		/of 5 turns in this tree of agents [^]*? {2}requests {3}5 reached the model, 4 of them from the subagent/,
	);
	assert.match(told, /answer {5}yes\n[^]*answer {5}no\n {2}notice {5}Agent aborted by user/);
	assert.deepEqual(left(), []);
});

test("npm start and Ctrl+C leave nothing behind", async (t) => {
	const npm = start(t);
	npm.stdout.on("data", (part: string) => {
		if (part.includes("1. A limit")) process.kill(-(npm.pid as number), "SIGINT");
	});
	await once(npm, "close");
	assert.deepEqual([isAlive(npm.pid), left()], [false, []]);
});

test("its story ends quietly where nobody reads on, and leaves nothing behind", async () => {
	const story = spawn("sh", ["-c", `"${process.execPath}" scripts/demo.ts | head -1`], { cwd: root, env });
	let said = "";
	story.stderr.setEncoding("utf8").on("data", (part: string) => (said += part));
	await once(story, "close");
	assert.deepEqual([said, left()], ["", []]);
});

describe("npm start in a terminal of the usual size", () => {
	let tui: Terminal;
	let end = (): unknown => undefined;
	let isNew = true;

	before(() => {
		const command = { file: "npm", args: ["start"], cwd: root, env };
		tui = new Terminal({ after: (undo) => (end = undo) }, command, { cols: 80, rows: 24 });
	});
	after(() => end());

	/** Until the person can type. The demonstration begins with a chapter of its own. */
	async function settled(): Promise<void> {
		if (isNew) {
			await asked("turns", "You've used 3 turns. Continue?");
			tui.type("n");
		}
		await tui.shows("Try next");
	}

	/** Waits for the question of a chapter, which the person types unless it is the first; gives the screen then. */
	async function asked(chapter: string, words: string): Promise<string> {
		if (!isNew || chapter !== "turns") {
			await settled();
			tui.type(`${chapter}\r`);
		}
		isNew = false;
		await tui.lacks("Try next");
		await tui.shows(words);
		await tui.shows("→ Continue");
		return tui.shows(/scripted$/);
	}

	test("it counts, asks and says what to press, and after a no what to try next and how to leave", async () => {
		const question = asked("turns", "You've used 3 turns. Continue?");
		await tui.shows("Turns: 2/3");
		assert.match(
			await question,
			/\[y\][^]*\[n\][^]*y\/n, a number, or ↑↓ and Enter\. Escape stops\.[^]*y goes on and n stops/,
		);
		tui.type("n");
		const next = await tui.shows("Try next: type cost, repeats, subagents or turns");
		assert.match(next, /You stopped the run at the turn limit\.[^]*Ctrl\+D leaves\./);
	});

	test("it lets the model go on with what it is told, and asks no second time", async () => {
		await asked("turns", "You've used 3 turns. Continue?");
		tui.press("down");
		await tui.shows("→ Continue, and tell it something…");
		tui.press("enter");
		await tui.shows("What should it know?");
		tui.type("Only the tests.");
		await tui.shows("Only the tests.");
		tui.press("enter");
		await tui.shows("within the limit, so nobody is asked");
		await tui.shows("Try next");
	});

	for (const [name, question, closing] of [
		["turns", "You've used 3 turns. Continue?", "within the limit, so nobody is asked"],
		["cost", "You've used $0.60. Continue?", "counted from 0 again"],
		["repeats", "The same call 3 times in a row. Continue?", "counted anew"],
		["subagents", "You've used 6 turns in this tree of agents. Continue?", "I had one more turn"],
	] as const) {
		test(`it shows ${name} on request`, async () => {
			assert.match(await asked(name, question), /y\/n, (a number, )?or ↑↓ and Enter\. Escape stops\./);
			tui.type("y");
			await tui.shows(closing);
			await tui.shows("Try next");
			if (name === "subagents") await tui.shows("the tree turn limit stopped this subagent");
		});
	}

	test("Ctrl+D leaves, and nothing is left behind", async () => {
		await settled();
		tui.press("ctrl+d");
		assert.equal(await tui.exit(), 0);
		assert.deepEqual(left(), []);
	});
});
