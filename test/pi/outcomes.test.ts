import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
	endless,
	fail,
	held,
	host,
	type HostOptions,
	mark,
	essence,
	outcomes,
	spy,
	text,
	times,
} from "../harness/index.ts";

const limit5 = { PI_MAX_TURNS: "5", PI_TURN_LIMIT_GRACE: "0" };
const synthesize = { ...limit5, PI_TURN_LIMIT_POLICY: "synthesize" };

/** A sandbox in which a spy listens. */
function spied(t: TestContext, options: HostOptions) {
	return host(t, { ...options, after: [spy] });
}

interface Case {
	readonly kind: string;
	readonly options: HostOptions;
	readonly turns: number;
	readonly toolCalls: number;
	readonly requests: number;
	readonly stdout: string;
	readonly stderr: RegExp;
	readonly code: { readonly print: number; readonly json: number };
	readonly recorded: boolean;
}

const headless: readonly Case[] = [
	{
		kind: "completed",
		options: { model: [mark(), text("finished")], env: limit5 },
		...{ turns: 2, toolCalls: 1, requests: 2, stdout: "finished\n", stderr: /^$/, code: { print: 0, json: 0 } },
		recorded: false,
	},
	{
		kind: "wrapped_up",
		options: { model: [...times(3), text("summary")], env: { PI_MAX_TURNS: "5", PI_TURN_LIMIT_GRACE: "2" } },
		...{ turns: 4, toolCalls: 3, requests: 4, stdout: "summary\n", code: { print: 54, json: 54 } },
		stderr:
			/^pi-turn-limit: finished after the wrap-up near the limit of 5 turns \(PI_MAX_TURNS\); spent: 4 turns, 3 tool calls, \$0\.04\.\n$/,
		recorded: true,
	},
	{
		kind: "synthesized",
		options: { model: [...times(5), text("the best I have")], env: synthesize },
		...{ turns: 6, toolCalls: 5, requests: 6, stdout: "the best I have\n", code: { print: 53, json: 53 } },
		stderr:
			/^pi-turn-limit: stopped at the limit of 5 turns \(PI_MAX_TURNS\), with a last answer; spent: 6 turns, 5 tool calls, \$0\.06\.\n$/,
		recorded: true,
	},
	{
		kind: "exhausted",
		options: { model: endless(), env: limit5 },
		...{ turns: 5, toolCalls: 5, requests: 5, stdout: "", code: { print: 53, json: 53 } },
		stderr:
			/^pi-turn-limit: stopped at the limit of 5 turns \(PI_MAX_TURNS\), without an answer; spent: 5 turns, 5 tool calls, \$0\.05\.\n$/,
		recorded: true,
	},
	{
		kind: "failed",
		options: { model: [mark(), fail(400, "No such model")], env: limit5 },
		...{ turns: 2, toolCalls: 1, requests: 2, stdout: "", stderr: /No such model/, code: { print: 1, json: 0 } },
		recorded: false,
	},
];

for (const { kind, options, turns, toolCalls, requests, stdout, stderr, code, recorded } of headless) {
	test(`${kind}, in print mode`, async (t) => {
		const pi = await spied(t, options);
		const run = await pi.print("go");
		assert.equal(pi.model.requests.length, requests);
		assert.deepEqual(
			outcomes(pi).map((outcome) => [outcome.kind, outcome.turns, outcome.toolCalls, outcome.continuations]),
			[[kind, turns, toolCalls, 0]],
		);
		assert.equal(run.stdout, stdout);
		assert.match(run.stderr, stderr);
		assert.equal(run.code, code.print);
	});

	test(`${kind}, in json mode`, async (t) => {
		const pi = await spied(t, options);
		const run = await pi.json("go");
		assert.deepEqual(
			outcomes(pi).map((outcome) => outcome.kind),
			[kind],
		);
		const records = run.events.filter(({ type }) => type === "entry_appended").map(({ entry }) => entry);
		assert.deepEqual(
			records.map((entry) => (entry as { data?: object }).data).filter((data) => data !== undefined && "kind" in data),
			recorded ? [{ version: 1, attended: false, ...outcomes(pi)[0] }] : [],
		);
		if (kind !== "failed") assert.match(run.stderr, stderr);
		assert.equal(run.code, code.json);
	});
}

describe("with a person", () => {
	test("completed says nothing", async (t) => {
		const pi = await spied(t, { model: [mark(), text("finished")], env: limit5 });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await rpc.settled();
		assert.deepEqual(outcomes(pi).map(essence), [
			{ kind: "completed", turns: 2, toolCalls: 1, cost: 0.02, continuations: 0, advised: false },
		]);
		assert.deepEqual(rpc.notifications, []);
		assert.equal((await rpc.close()).code, 0);
	});

	test("declined counts the continuations before it and leaves the exit code alone", async (t) => {
		const pi = await spied(t, { model: endless(), env: limit5 });
		const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
		await rpc.prompt("go");
		await rpc.settled();
		assert.deepEqual(outcomes(pi).map(essence), [
			{
				...{ kind: "declined", answered: true, meter: "turns", limit: 5 },
				...{ turns: 10, toolCalls: 10, cost: 0.1, continuations: 1, advised: false },
			},
		]);
		const { code, stderr } = await rpc.close();
		assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
	});

	test("exhausted, when the final pass gives no answer", async (t) => {
		const pi = await spied(t, { model: endless(), env: synthesize });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt("go");
		await rpc.settled();
		assert.equal(pi.model.requests.length, 7);
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns, toolCalls }) => [kind, turns, toolCalls]),
			[["exhausted", 7, 5]],
		);
		assert.deepEqual(rpc.notifications, [
			{ message: "Turn limit reached; the run ended without an answer. Send a message to go on.", type: "error" },
		]);
	});

	test("interrupted, by an abort in the middle of a turn", async (t) => {
		const slow = held();
		const pi = await spied(t, { model: [mark(), slow, text("more")], env: limit5 });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await pi.model.arrival(2);
		await rpc.abort();
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns }) => [kind, turns]),
			[["interrupted", 2]],
		);
		assert.deepEqual(rpc.notifications, []);
		await rpc.prompt("again");
		await rpc.settled();
		assert.equal(outcomes(pi)[1]?.kind, "completed");
	});

	test("failed, when the provider fails for good", async (t) => {
		const pi = await spied(t, { model: [mark(), fail(400, "No such model")], env: limit5 });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await rpc.settled();
		const [outcome] = outcomes(pi);
		assert.equal(outcome?.kind === "failed" && outcome.by, "provider");
	});
});

test("the line about a script that the policy abort stopped speaks of no final pass", async (t) => {
	const pi = await host(t, { session: true, model: endless(), env: { PI_MAX_TURNS: "2" } });
	assert.equal((await pi.print("go")).code, 53);
	assert.equal(pi.model.requests.length, 2, "no final pass");
	const tui = await pi.terminal({ args: ["-c"] });
	const screen = await tui.shows("Turn limit reached");
	assert.doesNotMatch(screen, /final pass/);
});

describe("one outcome per run", () => {
	test("two prompts in one process, the first stopped, the second not: two outcomes, two fates, exit code 53", async (t) => {
		const pi = await spied(t, { model: [...times(5), text("finished")], env: limit5 });
		const { stdout, stderr, code } = await pi.print("first", "second");
		assert.deepEqual(
			outcomes(pi).map(({ kind }) => kind),
			["exhausted", "completed"],
		);
		assert.equal(stdout, "finished\n");
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 5 turns.*\n$/);
		assert.equal(code, 53);
	});

	test("two prompts that are both stopped: two lines", async (t) => {
		const pi = await spied(t, { model: endless(), env: limit5 });
		const { stderr, code } = await pi.print("first", "second");
		assert.equal(pi.model.requests.length, 10);
		assert.match(stderr, /^(pi-turn-limit: stopped at the limit of 5 turns.*\n){2}$/);
		assert.equal(code, 53);
	});

	test("retries and compaction within a run add none", async (t) => {
		const big = { ...mark(), usage: { prompt: 9_500 } };
		const pi = await spied(t, {
			model: [mark(), fail(529), mark(), big, mark(), text("finished")],
			modelFields: { contextWindow: 10_000 },
			settings: { compaction: { reserveTokens: 1_000, keepRecentTokens: 10 } },
			env: { ...limit5, PI_MAX_TURNS: "9" },
		});
		const { code } = await pi.print("go");
		assert.equal(pi.model.summaries.length, 1);
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns }) => [kind, turns]),
			[["completed", 5]],
		);
		assert.equal(code, 0);
	});

	test("a client that goes away while it is asked has not continued", async (t) => {
		const pi = await spied(t, { model: endless(), env: limit5 });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await rpc.question();
		const { code } = await rpc.close();
		assert.equal(pi.model.requests.length, 5);
		assert.deepEqual(
			outcomes(pi).map((outcome) => [outcome.kind, outcome.kind === "declined" && outcome.answered]),
			[["declined", false]],
		);
		assert.equal(code, 0);
	});

	test("SIGTERM in the middle of a run is an interruption and still exits with 143", async (t) => {
		const pi = await spied(t, { model: () => held(), env: limit5 });
		const run = pi.start("-p", "go");
		await pi.model.arrival(1);
		run.child.kill("SIGTERM");
		assert.equal((await run.ended()).code, 143);
		assert.deepEqual(
			outcomes(pi).map(({ kind }) => kind),
			["interrupted"],
		);
	});

	test("SIGTERM after a run was stopped by a limit still exits with 143", async (t) => {
		const pi = await spied(t, { model: (_request, n) => (n > 5 ? held() : mark()), env: limit5 });
		const run = pi.start("-p", "first", "second");
		await pi.model.arrival(6);
		run.child.kill("SIGTERM");
		assert.equal((await run.ended()).code, 143);
	});
});
