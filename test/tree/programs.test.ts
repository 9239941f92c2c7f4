/** Programs that embed pi and load the extension as it is installed: a subagent extension can run its agents in one. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import {
	bash,
	calls,
	cli,
	type Host,
	host,
	mark,
	node,
	type Reply,
	type Request,
	root,
	text,
} from "../harness/index.ts";
import { defer, Watch } from "../harness/wait.ts";

/** Runs an agent to its end, with the extensions that are installed, and writes down how it ended. */
const PROGRAM = `
import { appendFileSync } from "node:fs";
const { createAgentSession, SessionManager } = await import(${JSON.stringify(pathToFileURL(join(dirname(cli), "index.js")).href)});
const { session } = await createAgentSession({ sessionManager: SessionManager.inMemory() });
await session.bindExtensions({});
await session.prompt("child");
const { stopReason, errorMessage } = session.messages.findLast(({ role }) => role === "assistant");
session.dispose();
process.on("exit", (code) => appendFileSync("ended", [code, stopReason, errorMessage].join(" ") + "\\n"));
`;

const turnOf = (request: Request): number => request.texts("assistant").length + 1;

/** A tree of 4 turns whose root calls this first, and then works or ends. */
async function family(t: TestContext, starts: string, then: Reply): Promise<Host> {
	const model = (request: Request): Reply => {
		if (request.texts("user")[0] === "child") return mark();
		return turnOf(request) === 1 ? calls(bash(starts)) : then;
	};
	const env = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: "4" };
	const pi = await host(t, { model, settings: { packages: [root] }, env, fresh: true });
	writeFileSync(join(pi.cwd, "program.mjs"), PROGRAM);
	return pi;
}

const ended = ({ cwd }: Host): string => {
	const file = join(cwd, "ended");
	return existsSync(file) ? readFileSync(file, "utf8") : "";
};

const LINE = "0 error pi-turn-limit: the tree turn limit stopped this subagent before it gave an answer.\n";

test("the agent of a program that an agent started is in its tree, and nothing of the program's is touched", async (t) => {
	const pi = await family(t, `"${node}" program.mjs < /dev/null > output 2>&1`, mark());
	const { code } = await pi.print("go");
	assert.deepEqual([pi.model.turns.length, code, ended(pi)], [4, 53, LINE]);
	assert.equal(readFileSync(join(pi.cwd, "output"), "utf8"), "");
});

test("the agent of a program that begins when the agent which started it has ended is in its tree", async (t) => {
	const later = `agent=$PPID setsid sh -c 'while kill -0 $agent; do sleep 0.1; done; "${node}" program.mjs' < /dev/null > /dev/null 2>&1 &`;
	const pi = await family(t, later, text("done"));
	assert.equal((await pi.print("go")).code, 0);
	const changes = new Watch(() => "");
	const watcher = watch(pi.cwd, () => changes.changed());
	defer(t, () => watcher.close());
	await changes.until("the end of the program", () => ended(pi) !== "");
	assert.deepEqual([pi.model.turns.length, ended(pi)], [4, LINE]);
});
