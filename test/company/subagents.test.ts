import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
	bash,
	type Call,
	calls,
	childCli,
	cli,
	type Host,
	host,
	type HostOptions,
	node,
	type Reply,
	type Rpc,
	Terminal,
	text,
	times,
} from "../harness/index.ts";
import {
	answersAfter,
	type Child,
	details,
	DONE,
	exampleChild,
	type Exited,
	family,
	type FamilyOptions,
	handed,
	tireless,
	turnsOfChildren,
} from "./subagents-family.ts";
import type { Ended } from "./subagents-in-process.ts";
import { askRpc } from "./subagents-rpc-client.ts";

interface Message extends Pick<Exited, "stopReason" | "errorMessage"> {
	role: string;
	content: { type: string; text?: string }[];
}

const abort = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };
const synthesize = { ...abort, PI_TURN_LIMIT_POLICY: "synthesize" };
const wrapUp = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "2" };

const ANSWER = "Three of ten files are done.";

/** Answers in the final pass of `synthesize`. */
const synthesizes = answersAfter(2, ANSWER);

/** Obeys the advice of `wrapUp`, which comes after one turn. */
const wrapsUp = answersAfter(1, ANSWER);

/** Signs of a failed provider. Subagent extensions and pi's own `isRetryableAssistantError` run a child again for these. */
const RETRIED = new RegExp(
	[
		"429|50\\d|52[04]|quota|billing|credit|auth|api key",
		"overloaded|high demand|rate.?limit|usage.?limit|too many requests|unavailable|resource.?exhausted",
		"time.?out|timed? out|terminated|ended without|retry (?:delay|your)|upstream|socket|connection|(?:server|internal|network).?error",
		"empty response|no output|model.*(?:fail|error|load)",
		"exceeds the limit of|too many tokens|token limit",
	].join("|"),
	"i",
);

/** The line says that a limit acted, and of what. That our name stands there proves nothing. */
function namesTheLimit(line: string, of = /\bturns?\b/i): void {
	const words = line.replaceAll("pi-turn-limit", "");
	assert.match(words, /limit/i);
	assert.match(words, of);
}

/** The answer, then one line that says that it may be partial and which limit is the cause. */
function saysPartial(told: string, answer = ANSWER, of?: RegExp): void {
	assert.equal(told.slice(0, answer.length), answer);
	const note = told.slice(answer.length);
	assert.match(note, /^\n+[^\n]*partial[^\n]*\n?$/i);
	namesTheLimit(note, of);
}

describe("pi's example subagent", () => {
	for (const [ending, child, env] of [
		["gave its final answer at the limit", synthesizes, synthesize],
		["wrapped up before the limit", wrapsUp, wrapUp],
	] as const) {
		test(`the parent gets the answer of a child that ${ending}, and one line that says it may be partial`, async (t) => {
			const { told, ended } = await exampleChild(t, child, { env });
			saysPartial(told);
			assert.equal(ended.exitCode, 0);
			assert.equal(ended.stopReason, "stop");
		});
	}

	test("the parent of a child that a limit stopped learns which limit that was", async (t) => {
		const { pi, told, ended } = await exampleChild(t, tireless, { env: abort });
		assert.equal(turnsOfChildren(pi), 2);
		assert.match(told, /^Agent error: /);
		namesTheLimit(told);
		namesTheLimit(ended.errorMessage ?? "");
		assert.equal(ended.exitCode, 53);
	});

	test("the parent gets the answer of a child that ended by itself as it is", async (t) => {
		const { told, ended } = await exampleChild(t, answersAfter(1, ANSWER), { env: abort });
		assert.equal(told, ANSWER);
		assert.deepEqual([ended.exitCode, ended.stderr], [0, ""]);
	});

	const json = '{ "done": 3, "of": 10 }';
	for (const [place, options] of [
		["in turn-limit.json", { env: synthesize, agentFiles: { "turn-limit.json": { partialNote: false } } }],
		["in the environment", { env: { ...synthesize, PI_TURN_LIMIT_PARTIAL_NOTE: "false" } }],
	] as const) {
		test(`with partialNote switched off ${place} the parent gets the answer and nothing else`, async (t) => {
			const { told, ended } = await exampleChild(t, answersAfter(2, json), options);
			assert.equal(told, json);
			assert.deepEqual([ended.exitCode, ended.stopReason], [0, "stop"]);
			assert.doesNotMatch(ended.stderr, /partialNote|PARTIAL_NOTE/);
		});
	}
});

const inProcess = join(import.meta.dirname, "subagents-in-process.ts");

/** A call that runs a child in the parent's process. */
function delegate(args: { bind?: boolean } = {}): Call {
	return { name: "delegate", args: { task: "Look.", ...args } };
}

/** An agent whose children run in its own process. */
function oneProcess(t: TestContext, options: Partial<FamilyOptions> & Pick<FamilyOptions, "child">): Promise<Host> {
	return family(t, { tool: inProcess, starts: [delegate()], ...options });
}

describe("a subagent in the same process", () => {
	const endings = [
		["stopped at its limit", tireless, abort],
		["made to answer at its limit", synthesizes, synthesize],
		["told to wrap up", wrapsUp, wrapUp],
	] as const;

	for (const [ending, child, env] of endings) {
		test(`print mode exits with 0 and an empty stderr after a subagent was ${ending}`, async (t) => {
			const pi = await oneProcess(t, { child, env });
			const { stdout, stderr, code } = await pi.print("go");
			assert.equal(turnsOfChildren(pi), child === synthesizes ? 3 : 2);
			assert.deepEqual({ stdout, stderr, code }, { stdout: `${DONE}\n`, stderr: "", code: 0 });
		});
	}

	test("rpc exits with 0 and an empty stderr after a subagent was stopped", async (t) => {
		const pi = await oneProcess(t, { child: tireless, env: abort });
		const rpc = await pi.rpc();
		await rpc.run("go");
		assert.deepEqual([rpc.questions, rpc.notifications, rpc.errors], [[], [], []]);
		const { stderr, code } = await rpc.close();
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("the terminal exits with 0 and an empty stderr after a subagent was made to answer", async (t) => {
		const pi = await oneProcess(t, { child: synthesizes, env: synthesize });
		const terminal = await silentTerminal(t, pi, "-e", inProcess, "--turn-limit", "50");
		terminal.type("go\r");
		await terminal.shows(DONE);
		terminal.type("/quit\r");
		const code = await terminal.exit();
		const stderr = readFileSync(join(pi.cwd, "stderr"), "utf8");
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("a subagent whose extensions were never bound sets no exit code either", async (t) => {
		const pi = await oneProcess(t, { starts: [delegate({ bind: false })], child: synthesizes, env: synthesize });
		const { stderr, code } = await pi.print("go");
		assert.equal(turnsOfChildren(pi), 3);
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("two at once and a third after them set no exit code, and each reports to its own bus and session", async (t) => {
		const pi = await oneProcess(t, {
			...{ starts: [delegate(), delegate()], then: [calls(delegate())], child: tireless, env: abort },
		});
		const { events, stderr, code } = await pi.json("go");
		assert.deepEqual(
			(details(events) as Ended[]).map(({ outcomes, entries }) => [outcomes, entries]),
			times(3).map(() => [["exhausted"], ["exhausted"]]),
		);
		assert.deepEqual(
			events.filter(({ entry }) => (entry as { customType?: string } | undefined)?.customType === "turn-limit-outcome"),
			[],
		);
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("a parent that is itself stopped after its subagent has ended still says so and exits with 53", async (t) => {
		const pi = await oneProcess(t, {
			...{ args: ["--turn-limit", "2", "--turn-limit-grace", "0"], then: times(5), child: () => text(ANSWER) },
		});
		const { stdout, stderr, code } = await pi.print("go");
		assert.deepEqual([pi.model.turns.length, turnsOfChildren(pi)], [3, 1]);
		assert.match(stderr, /^pi-turn-limit: [^\n]*\n$/);
		namesTheLimit(stderr);
		assert.deepEqual({ stdout, code }, { stdout: "", code: 53 });
	});

	for (const bind of [true, false]) {
		test(`${bind ? "stopped" : "never bound and stopped"} at its limit it is no success whose result is its last narration`, async (t) => {
			const pi = await oneProcess(t, { starts: [delegate({ bind })], child: tireless, env: abort });
			await pi.print("go");
			const [told = ""] = handed(pi);
			assert.match(told, /^Agent failed: /);
			namesTheLimit(told);
		});
	}

	for (const [ending, child, env] of endings.slice(1)) {
		test(`${ending} it succeeds, and its answer says that it may be partial`, async (t) => {
			const pi = await oneProcess(t, { child, env });
			await pi.print("go");
			saysPartial(handed(pi)[0] ?? "", `Agent completed: ${ANSWER}`);
		});
	}
});

/** Pi in a terminal with our extension as it is installed, its standard error in the file `stderr`. */
async function silentTerminal(t: TestContext, { cwd, env }: Host, ...more: string[]): Promise<Terminal> {
	const args = ["-c", 'exec "$0" "$@" 2>stderr', node, cli, "--offline", "--no-session", ...more];
	const terminal = new Terminal(t, { file: "/bin/sh", args, cwd, env }, {});
	await terminal.ready();
	return terminal;
}

describe("a subagent over rpc whose client answers no dialog", () => {
	const starts = [{ name: "ask_rpc", args: { task: "Look." } }];

	test("it is stopped at its limit without a question, and the parent learns why", async (t) => {
		const pi = await family(t, { tool: askRpc, starts, child: tireless, env: abort });
		await pi.print("go");
		const [told = ""] = handed(pi);
		assert.match(told, /^Agent failed: /);
		namesTheLimit(told);
		assert.equal(turnsOfChildren(pi), 2);
	});

	test("under synthesize it answers without a question, and says that this may be partial", async (t) => {
		const pi = await family(t, { tool: askRpc, starts, child: synthesizes, env: synthesize });
		await pi.print("go");
		saysPartial(handed(pi)[0] ?? "", `Agent completed: ${ANSWER}`);
	});

	test("it is told to wrap up in time, as where nobody can be asked", async (t) => {
		const pi = await family(t, { tool: askRpc, starts, child: wrapsUp, env: { PI_MAX_TURNS: "3" } });
		await pi.print("go");
		saysPartial(handed(pi)[0] ?? "", `Agent completed: ${ANSWER}`);
	});
});

describe("nothing we say of a subagent looks like a failure that is worth a retry:", () => {
	const files = { x: "x\n" };
	const modelFields = { cost: { input: 0, output: 10_000, cacheRead: 0, cacheWrite: 0 } };
	const dollars = (n: number): Reply => ({ usage: { completion: n * 100 } });

	/** A child that runs as pi's example runs it. The example itself hands on all calls so far with every call of its child. */
	async function jsonChild(
		t: TestContext,
		child: Child,
		options: HostOptions,
	): Promise<{ told: string; ended: Exited }> {
		const command = `"${node}" "${childCli}" --offline --no-session --mode json -p "Look." >events 2>stderr; echo $?`;
		const pi = await family(t, { ...options, starts: [bash(command)], child });
		await pi.print("go");
		const [events = "", stderr = ""] = ["events", "stderr"].map((file) => readFileSync(join(pi.cwd, file), "utf8"));
		const messages = events
			.trim()
			.split("\n")
			.map((line) => (JSON.parse(line) as { message?: Message }).message);
		const last = messages.findLast((message) => message?.role === "assistant");
		if (last === undefined) throw new Error(`The child said nothing.\n${stderr}`);
		const answer = last.content.findLast(({ type }) => type === "text")?.text;
		const ended = { exitCode: Number(handed(pi)[0]), stderr, ...last };
		return { told: last.errorMessage ?? answer ?? "", ended };
	}

	const toolCalls = /\btool (?:limit|calls?)\b/i;

	/** So many calls, all of them different. */
	const reads = (count: number): Reply =>
		calls(...Array.from({ length: count }, (_, i) => ({ name: "read", args: { path: "x", limit: 1 + i } })));

	/** Answers after one turn. */
	const once = (reply: Reply): Child => {
		return (n) => (n === 1 ? reply : text(ANSWER));
	};

	const stops: readonly [what: string, child: Child, env: Record<string, string>, of?: RegExp][] = [
		["a limit of 429 tool calls", () => reads(430), { PI_TURN_LIMIT_TOOLS: "429" }, toolCalls],
		["$429.00 spent", () => ({ ...reads(1), ...dollars(429) }), { PI_MAX_TURNS: "1" }],
	];
	for (const [what, child, limits, of] of stops) {
		test(`stopped, ${what}`, async (t) => {
			const env = { PI_TURN_LIMIT_GRACE: "0", ...limits };
			const { told, ended } = await jsonChild(t, child, { env, files, modelFields });
			for (const line of [told, ended.stderr, ended.errorMessage ?? ""]) assert.doesNotMatch(line, RETRIED);
			namesTheLimit(told, of);
			assert.equal(ended.exitCode, 53);
		});
	}

	const partials: typeof stops = [
		["503 tool calls and $503.00 spent", once({ ...reads(503), ...dollars(503) }), { PI_MAX_TURNS: "1" }],
		["a limit of 429 turns", wrapsUp, { PI_MAX_TURNS: "429", PI_TURN_LIMIT_GRACE: "428" }],
	];
	for (const [what, child, limits, of] of partials) {
		test(`with an answer that may be partial, ${what}`, async (t) => {
			const env = { PI_TURN_LIMIT_POLICY: "synthesize", PI_TURN_LIMIT_GRACE: "0", ...limits };
			const { told, ended } = await jsonChild(t, child, { env, files, modelFields });
			for (const line of [told, ended.stderr, ended.errorMessage ?? ""]) assert.doesNotMatch(line, RETRIED);
			saysPartial(told, ANSWER, of);
			assert.equal(ended.exitCode, 0);
		});
	}
});

describe("an agent's own pi -p in bash", () => {
	const starts = [bash(`"${node}" "${childCli}" --offline --no-session -p "Look." 2>stderr; echo "exit code $?"`)];

	for (const [ending, child, env] of [
		["gave its final answer at the limit", synthesizes, synthesize],
		["wrapped up before the limit", wrapsUp, wrapUp],
	] as const) {
		test(`exits with 0, and the answer says that it may be partial, if it ${ending}`, async (t) => {
			const pi = await family(t, { starts, child, env });
			assert.equal((await pi.print("go")).code, 0);
			const [told = ""] = handed(pi);
			assert.match(told, /\nexit code 0\s*$/);
			saysPartial(told.replace(/exit code 0\s*$/, ""));
		});
	}

	test("exits with 53 and names the limit on stderr if it was stopped without an answer", async (t) => {
		const pi = await family(t, { starts, child: tireless, env: abort });
		assert.equal((await pi.print("go")).code, 0);
		assert.equal(handed(pi)[0]?.trim(), "exit code 53");
		namesTheLimit(readFileSync(join(pi.cwd, "stderr"), "utf8"));
	});
});

describe("a pi that is started with the variables of another pi's bash", () => {
	/** A pi that lives, and the variables that its bash sees beyond those that it was started with itself. */
	async function root(t: TestContext): Promise<{ rpc: Rpc; pid: string; variables: Record<string, string> }> {
		const model = [calls(bash("echo $PPID > pid; env > variables")), text("done")];
		const pi = await host(t, { model, fresh: true });
		const rpc = await pi.rpc();
		await rpc.run("go");
		const read = (file: string): string => readFileSync(join(pi.cwd, file), "utf8").trim();
		const lines = read("variables").matchAll(/^(?<name>PI_\w+)=(?<value>.*)$/gm);
		const seen = Array.from(lines, ({ groups }) => groups as { name: string; value: string });
		const variables = Object.fromEntries(
			seen.filter(({ name }) => !(name in pi.env)).map(({ name, value }) => [name, value]),
		);
		return { rpc, pid: read("pid"), variables };
	}

	const other = (t: TestContext, variables: object, options: HostOptions = {}): Promise<Host> =>
		host(t, {
			model: [...times(2), text(ANSWER)],
			args: ["--turn-limit", "2", "--turn-limit-grace", "0", "--turn-limit-policy", "synthesize"],
			env: { ...variables },
			...options,
		});

	/** Exit code and stderr are its own, and its answer is the model's alone. */
	async function isRoot(pi: Host): Promise<void> {
		const { stdout, stderr, code } = await pi.print("go");
		assert.deepEqual({ stdout, code }, { stdout: `${ANSWER}\n`, code: 53 });
		assert.match(stderr, /^pi-turn-limit: [^\n]*\n$/);
	}

	test("is a member in print mode while that pi lives, and is asked as before in a terminal of its own", async (t) => {
		const { variables } = await root(t);
		const { stdout, code } = await (await other(t, variables)).print("go");
		assert.equal(code, 0);
		saysPartial(stdout);
		const terminal = await (await other(t, variables)).terminal();
		terminal.type("go\r");
		await terminal.shows("You've used 2 turns. Continue?");
	});

	test("is nobody's member once that pi has ended, also if the number of its process now belongs to another one", async (t) => {
		const { rpc, pid, variables } = await root(t);
		await rpc.close();
		await isRoot(await other(t, variables));
		const renumbered = Object.entries(variables).map(([name, value]) => [
			name,
			value.replaceAll(pid, `${process.pid}`),
		]);
		await isRoot(await other(t, Object.fromEntries(renumbered) as object));
	});
});
