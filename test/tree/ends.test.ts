/** Trees that begin, end and break in odd ways. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
	bash,
	childCli,
	cli,
	endless,
	held,
	host,
	mark,
	node,
	reloader,
	type Reply,
	text,
	times,
} from "../harness/index.ts";
import { family, tireless } from "../company/subagents-family.ts";
import { defer } from "../harness/wait.ts";

const TREE = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: "4" };

/** The variable by which a root tells its children of itself. */
function rootOf(root: string, tree: object | string): Record<string, string> {
	return { PI_TURN_LIMIT_ROOT: `${root}.1 ${typeof tree === "string" ? tree : JSON.stringify(tree)}` };
}

test("a reload in mid-run loses neither the count nor the hold", async (t) => {
	const second = held();
	const model = (_request: unknown, n: number): Reply => (n === 2 ? second : mark());
	const pi = await host(t, { model, env: TREE, after: [reloader] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await pi.model.arrival(2);
	await rpc.send({ type: "prompt", message: "/reload-now" });
	second.release();
	await rpc.settled();
	assert.deepEqual([pi.model.requests.length, rpc.questions.length], [4, 1]);
});

test("a member that is killed in mid-turn has spent that turn", async (t) => {
	const killed = held();
	const starts = [bash(`"${node}" "${cli}" --offline --no-session -p a < /dev/null & echo $! > pid; wait`)];
	const child = (n: number): Reply => (n === 2 ? killed : tireless(n));
	const env = { ...TREE, PI_TURN_LIMIT_TREE_TURNS: "9" };
	const pi = await family(t, { starts, child, env });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(3);
	process.kill(Number(readFileSync(join(pi.cwd, "pid"), "utf8")), "SIGKILL");
	await rpc.settled();
	await rpc.prompt("/turn-limit tree");
	assert.match(rpc.notifications.at(-1)?.message ?? "", /^tree turns +4 of 9/);
});

test("two agents at once have a tree each", async (t) => {
	const pi = await host(t, { model: endless(), env: TREE });
	const both = await Promise.all([pi.print("one"), pi.print("two")]);
	assert.deepEqual([both.map(({ code }) => code), pi.model.requests.length], [[53, 53], 8]);
});

test("a pi that the person starts between two runs is in the tree of the last, unless its variable is empty", async (t) => {
	const pi = await family(t, { starts: [bash("true")], then: times(9), child: () => text("Hello."), env: TREE });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	const outputs: string[] = [];
	for (const env of ["", "PI_TURN_LIMIT_ROOT="]) {
		const command = `${env} "${node}" "${childCli}" --offline --no-session -p hello < /dev/null`;
		outputs.push(((await rpc.send({ type: "bash", command })) as { output: string }).output);
	}
	const stopped = "pi-turn-limit: the tree turn limit stopped this subagent before it gave an answer.\n";
	assert.deepEqual(outputs, [stopped, "Hello.\n"]);
});

test("the tree of a root that is dead is nobody's", async (t) => {
	const tree = { name: "gone", at: "/nowhere", limits: { "tree.maxTurns": 1 } };
	const pi = await host(t, { model: [...times(2), text("done")], env: rootOf(`${2 ** 22 + 1}.1`, tree) });
	const { stdout, stderr } = await pi.print("go");
	assert.deepEqual([stdout, stderr, pi.model.requests.length], ["done\n", "", 3]);
});

test("a tree that the ledger does not know closes the gate", async (t) => {
	const pi = await host(t, { model: endless() });
	const tree = { name: "unknown", at: join(pi.agentDir, "turn-limit-ledger"), limits: { "tree.maxTurns": 9 } };
	Object.assign(pi.env, liveRoot(tree));
	const { code, stderr } = await pi.print("go");
	assert.deepEqual([code, pi.model.requests.length], [1, 0]);
	assert.match(stderr, /failed and stopped the run: The ledger does not know the tree unknown/);
});

test("a member that is reloaded after its root has ended is a member still", async (t) => {
	const root = spawn("sleep", ["600"]);
	defer(t, () => root.kill());
	const env = { PI_TURN_LIMIT_ROOT: `${root.pid}.${startOf(root.pid as number)}.1`, PI_MAX_TURNS: "2" };
	const pi = await host(t, { model: endless(), env, after: [reloader], fresh: true });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	const isOver = once(root, "exit");
	root.kill();
	await isOver;
	await rpc.prompt("/reload-now");
	await rpc.run("go on");
	assert.deepEqual([pi.model.requests.length, rpc.questions], [4, []]);
});

test("an announcement that nobody can read is no tree", async (t) => {
	const pi = await host(t, { model: [text("done")], env: liveRoot("{broken") });
	assert.equal((await pi.print("go")).stdout, "done\n");
});

function liveRoot(tree: object | string): Record<string, string> {
	return rootOf(`${process.pid}.${startOf(process.pid)}`, tree);
}

function startOf(pid: number): string | undefined {
	const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
	return stat.split(") ").at(-1)?.split(" ")[19];
}
