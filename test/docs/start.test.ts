import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { newest } from "../../scripts/hosts.js";
import { root, Terminal } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";

/** The environment of a person who has just cloned, with a folder of its own for what is left behind. */
function surroundings(t: TestContext): { env: Record<string, string>; left: () => string[] } {
	const folder = mkdtempSync(join(tmpdir(), "pi-start-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	const env = { PATH: process.env["PATH"] ?? "", HOME: folder, TMPDIR: folder, TERM: "xterm-256color" };
	return { env, left: () => readdirSync(folder).filter((name) => name.startsWith("pi-test-")) };
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

function start(t: TestContext, env: Record<string, string>, cwd = root) {
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
	const { env, left } = surroundings(t);
	const npm = start(t, env, clone(t));
	let told = "";
	npm.stdout.on("data", (part: string) => (told += part));
	assert.deepEqual(await once(npm, "close"), [0, null]);
	assert.deepEqual(
		told.match(/exit code {2}\d+/g),
		[53, 54, 53, 53, 53, 53].map((code) => `exit code  ${code}`),
	);
	assert.match(told, /to model {3}Only 2 turns left in this run/);
	assert.match(told, /exhausted at the limit of \$0\.50 [^]*? {2}requests {3}2 reached the model;/);
	assert.match(told, /exhausted at the limit of 3 identical calls in a row [^]*?; 3 tool calls ran/);
	assert.match(
		told,
		/of 5 turns in this tree of agents [^]*? {2}requests {3}5 reached the model, 4 of them from the subagent/,
	);
	assert.match(told, /answer {5}yes\n[^]*answer {5}no\n {2}notice {5}Agent aborted by user/);
	assert.deepEqual(left(), []);
});

test("npm start and Ctrl+C leave nothing behind", async (t) => {
	const { env, left } = surroundings(t);
	const npm = start(t, env);
	npm.stdout.on("data", (part: string) => {
		if (part.includes("1. A limit")) process.kill(-(npm.pid as number), "SIGINT");
	});
	await once(npm, "close");
	assert.deepEqual([isAlive(npm.pid), left()], [false, []]);
});

test("its story ends quietly where nobody reads on, and leaves nothing behind", async (t) => {
	const { env, left } = surroundings(t);
	const story = spawn("sh", ["-c", `"${process.execPath}" scripts/demo.ts | head -1`], { cwd: root, env });
	let said = "";
	story.stderr.setEncoding("utf8").on("data", (part: string) => (said += part));
	await once(story, "close");
	assert.deepEqual([said, left()], ["", []]);
});

/** `npm start` in a terminal of the usual size. */
function terminal(t: TestContext): { tui: Terminal; leave: () => Promise<void> } {
	const { env, left } = surroundings(t);
	const tui = new Terminal(t, { file: "npm", args: ["start"], cwd: root, env }, { cols: 80, rows: 24 });
	const leave = async (): Promise<void> => {
		tui.press("ctrl+d");
		assert.equal(await tui.exit(), 0);
		assert.deepEqual(left(), []);
	};
	return { tui, leave };
}

/** Waits for a question; gives the screen when it can be answered. */
async function asked(tui: Terminal, words: string): Promise<string> {
	await tui.shows(words);
	await tui.shows("→ Continue");
	return tui.shows(/scripted$/);
}

test("npm start in a terminal counts, asks and says what to press, and after a no what to try next and how to leave", async (t) => {
	const { tui, leave } = terminal(t);
	await tui.shows("Turns: 2/3");
	const question = await asked(tui, "You've used 3 turns. Continue?");
	assert.match(question, /\[y\][^]*\[n\][^]*y\/n, or ↑↓ and Enter\. Escape stops\.[^]*y goes on and n stops/);
	tui.type("n");
	const next = await tui.shows("Try next: type cost, repeats, subagents or turns");
	assert.match(next, /Agent aborted by user[^]*Ctrl\+D leaves\./);
	await leave();
});

test("npm start in a terminal lets the model go on with what it is told, and asks no second time", async (t) => {
	const { tui, leave } = terminal(t);
	await asked(tui, "You've used 3 turns. Continue?");
	tui.press("down");
	await tui.shows("→ Continue, and tell it something…");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type("Only the tests.");
	await tui.shows("> Only the tests.");
	tui.press("enter");
	await tui.shows("within the limit, so nobody is asked");
	await tui.shows("Try next");
	await leave();
});

test("npm start in a terminal shows a cost, repeats, and a subagent that shares the budget, each on request", async (t) => {
	const { tui, leave } = terminal(t);
	const chapters = [
		["turns", "You've used 3 turns. Continue?", "within the limit, so nobody is asked"],
		["cost", "You've used $0.60. Continue?", "counted from 0 again"],
		["repeats", "You've used 3 identical calls in a row. Continue?", "counted anew"],
		["subagents", "You've used 6 turns in this tree of agents. Continue?", "I had one more turn"],
	] as const;
	for (const [i, [name, question, closing]] of chapters.entries()) {
		if (i > 0) tui.type(`${name}\r`);
		assert.match(await asked(tui, question), /y\/n, or ↑↓ and Enter\. Escape stops\./);
		tui.type("y");
		await tui.shows(closing);
		await tui.shows("Try next");
	}
	await tui.shows("the tree's turn limit stopped this subagent");
	await leave();
});
