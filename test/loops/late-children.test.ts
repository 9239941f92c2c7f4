/** Programs that outlive the agent that started them, as processes of their own: who is still in its tree, and who is not. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { connect } from "../../src/ledger/sqlite/runtime.ts";
import { Terminal } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";

const INDEX = new URL("../../src/hosts/loop/index.ts", import.meta.url).href;

/** Takes two turns in a tree of four, says how its children are to be started, and ends. */
const ROOT = `
	const { loopLimit } = await import(process.argv[1]);
	const run = loopLimit({ turns: 9, treeTurns: 4, grace: 0 }).start();
	for (let n = 0; n < 2; n++) { await run.turn(); await run.endTurn({ goesOn: n === 0 }); }
	console.log(JSON.stringify(run.environment()));
	await run.settle();`;

/** Takes turns until it is stopped, or has taken as many as it is told before it saves; exits with their number. */
const CHILD = `
	const { loopLimit } = await import(process.argv[1]);
	const { from, most = 99, asks, ...options } = JSON.parse(process.argv[2]);
	const ask = asks ? { ask: () => false } : {};
	const run = loopLimit({ turns: 9, grace: 0, parent: "environment", ...options, ...ask }).start({ from });
	let turns = 0;
	while (turns < most && await run.turn()) { turns++; if (await run.endTurn({ goesOn: true }) === "stop") break; }
	const saved = run.save();
	const { kind, meter, message } = await run.settle();
	console.log(turns === most ? saved : [turns, kind, meter ?? message].join(" "));
	process.exitCode = turns;`;

interface Family {
	readonly ledger: string;
	readonly env: Record<string, string>;
	/** What a child without a terminal says: its turns, and how it ended. */
	readonly child: (options?: object) => Promise<string>;
}

/** A tree whose root has ended, with two turns left. */
async function afterwards(t: TestContext): Promise<Family> {
	const folder = mkdtempSync(join(tmpdir(), "late-"));
	defer(t, () => rmSync(folder, { recursive: true }));
	const env: Record<string, string> = { PATH: process.env["PATH"] ?? "", PI_CODING_AGENT_DIR: folder };
	const start = async (program: string, ...args: string[]): Promise<string> => {
		const ended = promisify(execFile)(process.execPath, [...argsOf(program), ...args], { env });
		return (await ended.catch((error: unknown) => error as { stdout: string })).stdout.trim();
	};
	Object.assign(env, JSON.parse(await start(ROOT)));
	const child: Family["child"] = (options = {}) => start(CHILD, JSON.stringify(options));
	return { ledger: join(folder, "turn-limit-ledger"), env, child };
}

function argsOf(program: string): string[] {
	return ["--no-warnings", "--input-type=module", "-e", program, INDEX];
}

/** The ledger was last used more than an hour ago. */
function age(ledger: string): void {
	const { run, close } = connect(join(ledger, "ledger.sqlite"));
	run("UPDATE accounts SET touched = touched - ?", 61 * 60 * 1000);
	close();
}

test("a program that begins after the agent that started it has ended takes what is left of the tree", async (t) => {
	const { child } = await afterwards(t);
	assert.equal(await child(), "2 exhausted treeTurns");
	assert.equal(await child(), "0 exhausted treeTurns");
});

test("a limit of its own that is lower stays", async (t) => {
	const { child } = await afterwards(t);
	assert.equal(await child({ treeTurns: 2 }), "0 exhausted treeTurns");
	assert.equal(await child({ treeTurns: 99 }), "2 exhausted treeTurns");
});

test("a program that can ask somebody is a root", async (t) => {
	const { child } = await afterwards(t);
	assert.equal(await child({ asks: true }), "9 declined turns");
});

test("a program that was started by a process without a tree is a root", async (t) => {
	const { child, env } = await afterwards(t);
	env["PI_TURN_LIMIT_ROOT"] = "4194000.1.1";
	assert.equal(await child(), "9 exhausted turns");
});

test("a program at a terminal is a root", async (t) => {
	const { env } = await afterwards(t);
	const args = [...argsOf(CHILD), "{}"];
	const terminal = new Terminal(t, { cwd: tmpdir(), env, file: process.execPath, args }, {});
	assert.equal(await terminal.exit(), 9);
});

test("a run that was saved in the tree goes on there, however late", async (t) => {
	const { child, ledger } = await afterwards(t);
	const from = await child({ most: 1 });
	age(ledger);
	assert.equal(await child({ from }), "1 exhausted treeTurns");
});

test("a program is a root if the tree was last used more than an hour ago", async (t) => {
	const { child, ledger } = await afterwards(t);
	age(ledger);
	assert.equal(await child(), "9 exhausted turns");
});

test("a program is a root if there is no ledger any more", async (t) => {
	const { child, ledger } = await afterwards(t);
	rmSync(ledger, { recursive: true });
	assert.equal(await child(), "9 exhausted turns");
});

test("a program sends nothing if the tree's ledger cannot be read", async (t) => {
	const { child, ledger } = await afterwards(t);
	renameSync(ledger, `${ledger}.moved`);
	symlinkSync(`${ledger}.moved`, ledger);
	assert.match(await child(), /^0 failed .*The ledger is refused: .* is a link/);
});
