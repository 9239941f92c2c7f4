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
	assert.deepEqual(told.match(/exit code {2}\d+/g), ["exit code  53", "exit code  54", "exit code  53"]);
	assert.match(told, /to model {3}Only 2 turns left in this run/);
	assert.match(told, /answer {5}yes\n[^]*answer {5}no\n {2}told {7}Agent aborted by user/);
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

test("npm start in a terminal counts, asks, goes on after a yes, and ends with the wrap-up", async (t) => {
	const { env, left } = surroundings(t);
	const tui = new Terminal(t, { file: "npm", args: ["start"], cwd: root, env }, {});
	await tui.shows("Turns: 2/3");
	await tui.shows("choose with the arrows and Enter");
	await tui.shows("You've used 3 turns. Continue?");
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.shows("this time I obey");
	tui.press("ctrl+d");
	assert.equal(await tui.exit(), 0);
	assert.deepEqual(left(), []);
});
