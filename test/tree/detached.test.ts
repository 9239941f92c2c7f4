/** Agents that outlive the one that started them, as processes of their own: who is still in its tree, and who is not. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, watch } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { connect } from "../../src/ledger/sqlite/runtime.ts";
import {
	bash,
	calls,
	cli,
	held,
	type Host,
	host,
	mark,
	node,
	type Reply,
	type Request,
	root,
	Terminal,
	text,
} from "../harness/index.ts";
import { defer, Watch } from "../harness/wait.ts";

const pi = (task: string): string =>
	`"${node}" "${cli}" --offline --no-session -p ${task} < /dev/null > /dev/null 2>&1; echo $? >> ended`;

/** The same over rpc, until it has settled or the test has ended. */
const rpc = (task: string): string =>
	[
		`mkfifo ${task}.in; "${node}" "${cli}" --offline --no-session --mode rpc < ${task}.in > ${task}.out 2>&1 & exec 3> ${task}.in`,
		`echo '{"type":"prompt","message":"${task}"}' >&3`,
		`while [ -e ${task}.in ] && ! grep -q agent_settled ${task}.out; do sleep 0.1; done; exec 3>&-; wait; echo $? >> ended`,
	].join("; ");

/** A pi that nobody waits for, and that begins when the agent which runs this has ended. */
const later = (task: string): Reply =>
	calls(bash(`agent=$PPID setsid sh -c 'while kill -0 $agent; do sleep 0.1; done; ${pi(task)}' > /dev/null 2>&1 &`));

/** The same, and it begins at once. */
const detached = (task: string): Reply => calls(bash(`setsid sh -c '${pi(task)}' > /dev/null 2>&1 &`));

const turnOf = (request: Request): number => request.texts("assistant").length + 1;

function family(t: TestContext, limit: number, model: (request: Request) => Reply): Promise<Host> {
	const env = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: String(limit) };
	return host(t, { model, settings: { packages: [root] }, env, fresh: true });
}

/** What `look` finds in a folder, by default the working directory, as soon as there is something. */
function changed<T>(
	t: TestContext,
	{ cwd }: Host,
	what: string,
	look: () => T | undefined | false,
	folder = cwd,
): Promise<T> {
	const changes = new Watch(() => "");
	const watcher = watch(folder, () => changes.changed());
	defer(t, () => watcher.close());
	return changes.until(what, look);
}

/** The exit codes of the detached agents, when so many have ended. */
function ended(t: TestContext, family: Host, agents: number): Promise<string[]> {
	const file = join(family.cwd, "ended");
	const codes = (): string[] => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
	return changed(t, family, `end of ${agents} agents`, () => codes().length >= agents && codes());
}

test("an agent that begins after the root has ended is in its tree, and so is the one that it leaves behind", async (t) => {
	const family4 = await family(t, 4, (request) => {
		const [task] = request.texts("user");
		if (turnOf(request) > 1) return task === "go" ? text("done") : mark();
		return task === "go" ? later("child") : task === "child" ? later("grandchild") : mark();
	});
	await family4.print("go");
	assert.deepEqual(await ended(t, family4, 2), ["53", "53"]);
	assert.equal(family4.model.turns.length, 4);
});

for (const end of ["ended", "been killed"] as const) {
	test(`agents that a detached child starts after the root has ${end} are in the root's tree`, async (t) => {
		const first = held(calls(bash(`${rpc("a")}; ${pi("b")}; ${rpc("c")}`)));
		// A root that is killed while the model answers leaves a hold, for which the others would wait a minute.
		const works = calls(bash("touch works; tail --pid=$PPID -f /dev/null"));
		const answer = held(text("done"));
		const family6 = await family(t, 6, (request) => {
			const [task] = request.texts("user");
			if (task === "go") return turnOf(request) === 1 ? detached("child") : end === "ended" ? answer : works;
			return task === "child" && turnOf(request) === 1 ? first : mark();
		});
		const parent = family6.start("-p", "go");
		// The root's second turn, and the child's first.
		await family6.model.arrival(3);
		if (end === "ended") answer.release();
		else {
			await changed(t, family6, "call", () => existsSync(join(family6.cwd, "works")));
			parent.child.kill("SIGKILL");
		}
		await parent.ended();
		first.release();
		assert.equal((await ended(t, family6, 4)).length, 4);
		assert.equal(family6.model.turns.length, 6);
	});
}

/** An extension by which a hold is renewed at once, and not every 20 seconds. */
function hasty(): void {
	const { setInterval } = globalThis;
	globalThis.setInterval = ((then: () => void, ms: number) =>
		setInterval(then, ms === 20_000 ? 50 : ms)) as typeof setInterval;
}

test("an agent that begins after the root was killed in a command of more than an hour is in its tree", async (t) => {
	const works = calls(bash('printf %s "$PI_TURN_LIMIT_ROOT" > variable; touch works; tail --pid=$PPID -f /dev/null'));
	const env = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: "3" };
	const pi = await host(t, { model: (_request, n) => (n === 1 ? works : mark()), before: [hasty], env, fresh: true });
	const parent = pi.start("-p", "go");
	await changed(t, pi, "command", () => existsSync(join(pi.cwd, "works")));
	const ledger = join(pi.agentDir, "turn-limit-ledger");
	const { run, close } = connect(join(ledger, "ledger.sqlite"));
	defer(t, close);
	run("UPDATE accounts SET touched = touched - ?", 61 * 60 * 1000);
	const isUsed = (): boolean => run("SELECT 1 FROM accounts WHERE touched > ?", Date.now() - 60 * 60 * 1000).length > 0;
	await changed(t, pi, "renewal", isUsed, ledger);
	parent.child.kill("SIGKILL");
	await parent.ended();
	Object.assign(pi.env, { PI_TURN_LIMIT_ROOT: readFileSync(join(pi.cwd, "variable"), "utf8") });
	assert.equal((await pi.print("go on")).code, 53);
	assert.equal(pi.model.requests.length, 3);
});

describe("a pi with the variable of a root that has ended, and whose tree is spent", () => {
	/** The variable as the root's tools saw it, in a sandbox whose next pi has it. */
	async function afterwards(t: TestContext): Promise<{ pi: Host; ledger: string }> {
		const env = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: "2" };
		const says = calls(bash('printf %s "$PI_TURN_LIMIT_ROOT" > variable'));
		const pi = await host(t, { model: (_request, n) => (n === 1 ? says : mark()), env, fresh: true });
		assert.equal((await pi.print("go")).code, 53);
		Object.assign(pi.env, { PI_TURN_LIMIT_ROOT: readFileSync(join(pi.cwd, "variable"), "utf8") });
		pi.model.requests.length = 0;
		return { pi, ledger: join(pi.agentDir, "turn-limit-ledger") };
	}

	for (const mode of ["print", "json"] as const) {
		test(`is a member in a script (${mode}) without a terminal`, async (t) => {
			const { pi } = await afterwards(t);
			assert.equal((await pi[mode]("go")).code, 53);
			assert.equal(pi.model.requests.length, 0);
		});
	}

	test("is a root in a script at a terminal", async (t) => {
		const { pi } = await afterwards(t);
		const { cwd, env } = pi;
		const terminal = new Terminal(t, { cwd, env, file: node, args: [cli, ...pi.args, "-p", "go"] }, {});
		assert.equal(await terminal.exit(), 53);
		assert.equal(pi.model.requests.length, 2);
	});

	test("is a root in the terminal", async (t) => {
		const { pi } = await afterwards(t);
		const terminal = await pi.terminal();
		terminal.type("go\r");
		await terminal.shows("You've used 2 turns in this tree of agents. Continue?");
		assert.equal(pi.model.requests.length, 2);
	});

	test("is a root over rpc", async (t) => {
		const { pi } = await afterwards(t);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.deepEqual([pi.model.requests.length, rpc.questions.length], [2, 1]);
	});

	test("is a root if the tree was last used more than an hour ago", async (t) => {
		const { pi, ledger } = await afterwards(t);
		const { run, close } = connect(join(ledger, "ledger.sqlite"));
		run("UPDATE accounts SET touched = touched - ?", 61 * 60 * 1000);
		close();
		assert.equal((await pi.print("go")).code, 53);
		assert.equal(pi.model.requests.length, 2);
	});

	test("is a root if there is no ledger any more", async (t) => {
		const { pi, ledger } = await afterwards(t);
		rmSync(ledger, { recursive: true });
		assert.equal((await pi.print("go")).code, 53);
		assert.equal(pi.model.requests.length, 2);
	});

	test("is a member and sends nothing if the ledger cannot be read", async (t) => {
		const { pi, ledger } = await afterwards(t);
		Object.assign(pi.env, { PI_TURN_LIMIT_TREE_TURNS: "unlimited" });
		renameSync(ledger, `${ledger}.moved`);
		symlinkSync(`${ledger}.moved`, ledger);
		const { code, stderr } = await pi.print("go");
		assert.deepEqual([pi.model.requests.length, code], [0, 1]);
		assert.match(stderr, /The ledger is refused: .* is a link/);
	});
});
