import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { advise, type Advice, type AdviseOptions } from "../../src/history/index.ts";
import { reply } from "../settings/status.ts";
import { bash, calls, endless, fail, held, host, mark, overflow, Running, text } from "../harness/index.ts";
import type { Host, HostOptions, Rpc } from "../harness/index.ts";

/** The sandbox's prices: every answer costs one cent. */
const CENT = 0.01;

const directoryOf = (pi: Host): string => join(dirname(pi.agentDir), "sessions");

/** Advice about the sandbox's sessions; their bytes stay as they are. */
async function adviceOn(pi: Host, options: AdviseOptions = {}): Promise<Advice> {
	const bytes = (): string[] =>
		readdirSync(directoryOf(pi)).map((name) => readFileSync(join(directoryOf(pi), name), "utf8"));
	const before = bytes();
	const advice = await advise({ sessionDir: directoryOf(pi), env: {}, ...options });
	assert.deepEqual(bytes(), before);
	assert.equal(advice.sample.brokenLines + advice.sample.unreadable, 0);
	return advice;
}

/** Prompts by turns, as `{ 3: 1 }` for one prompt of 3 turns. */
async function promptsByTurns(pi: Host, upTo = 6): Promise<Record<number, number>> {
	const asked = await Promise.all(
		Array.from(
			{ length: upTo + 1 },
			async (_, turns) =>
				(await adviceOn(pi, { limits: { turns } })).whatIf.find(({ is }) => is === "present")?.asked ?? 0,
		),
	);
	const found = asked.slice(0, -1).map((n, turns) => [turns + 1, n - (asked[turns + 1] ?? 0)] as const);
	return Object.fromEntries(found.filter(([, n]) => n > 0));
}

async function costSaidByPi(rpc: Rpc): Promise<number> {
	const { cost } = (await rpc.send({ type: "get_session_stats" })) as { cost: number };
	return Math.round(cost * 1e6) / 1e6;
}

test("two prompts in a script, with a retry between: turns, calls and cost are those that the model's server saw", async (t) => {
	const pi = await host(t, { session: true, model: [mark(), fail(529), mark("a", "b"), text("done"), text("again")] });
	await pi.print("go", "and again");
	const { prompts, meters, spent, people } = await adviceOn(pi, {});
	assert.deepEqual([prompts, meters.toolCalls?.max, spent.cost, people.unknown?.prompts], [2, 3, 4 * CENT, 2]);
	assert.deepEqual(await promptsByTurns(pi), { 3: 1, 1: 1 });
});

test("steering and a follow-up belong to the prompt that was running, and show a person", async (t) => {
	const [first, third] = [held(mark()), held(text("almost"))];
	const pi = await host(t, { session: true, model: [first, mark(), third, text("after it"), text("new")] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.steer("this way");
	first.release();
	await pi.model.arrival(3);
	await rpc.followUp("and then that");
	third.release();
	await rpc.settled();
	await rpc.run("something else");
	assert.deepEqual(await promptsByTurns(pi), { 4: 1, 1: 1 });
	assert.equal((await adviceOn(pi)).people.attended?.prompts, 2);
});

test("compaction, overflow, a failure for good and an interruption cost what pi says, and are no turns", async (t) => {
	const slow = held(text("Let me think"));
	const big = { ...mark(), usage: { prompt: 9_000 } };
	const script = [
		mark(),
		big,
		mark(),
		overflow(),
		text("done"),
		fail(400),
		text("ok"),
		calls(bash("sleep 30")),
		slow,
		text("next"),
	];
	const pi = await host(t, {
		...{ session: true, model: script, modelFields: { contextWindow: 10_000 } },
		settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
	});
	const rpc = await pi.rpc();
	await rpc.run("go");
	await rpc.run("this fails");
	await rpc.run("this works");
	await rpc.prompt("interrupted in a tool");
	await rpc.event("tool_execution_start");
	await rpc.abort();
	await rpc.prompt("interrupted in an answer");
	await rpc.event("message_update");
	await rpc.abort();
	await rpc.run("and go on");
	const { spent } = await adviceOn(pi);
	assert.equal(spent.cost, await costSaidByPi(rpc));
	assert.ok(pi.model.summaries.length >= 2);
	assert.deepEqual(await promptsByTurns(pi), { 4: 1, 1: 4 });
});

test("a prompt after a pi that was killed is a prompt of its own", async (t) => {
	const pi = await host(t, {
		session: true,
		model: (_request, n) => (n === 1 ? mark() : n === 2 ? held() : text("back")),
	});
	const run = pi.start("-p", "go");
	await pi.model.arrival(2);
	run.child.kill("SIGKILL");
	await run.ended();
	await pi.print("-c", "where were we?");
	assert.deepEqual(await promptsByTurns(pi), { 1: 2 });
});

test("branches all count, clones and forks count once, and branch summaries are charged", async (t) => {
	const goBack = (pi: ExtensionAPI): void => {
		pi.registerCommand("back", {
			handler: async (_args, ctx) => {
				const prompts = ctx.sessionManager
					.getBranch()
					.filter((entry) => entry.type === "message" && entry.message.role === "user");
				await ctx.navigateTree(prompts[1]?.id ?? "", { summarize: true });
			},
		});
	};
	const pi = await host(t, { session: true, after: [goBack], model: endless(text("done")) });
	const rpc = await pi.rpc();
	await rpc.run("one");
	await rpc.run("two");
	await rpc.prompt("/back");
	await rpc.run("another two");
	const cost = await costSaidByPi(rpc);
	assert.equal(pi.model.summaries.length, 1);
	await rpc.send({ type: "clone" });
	await rpc.run("in the clone");
	const { messages } = (await rpc.send({ type: "get_fork_messages" })) as { messages: { entryId: string }[] };
	await rpc.send({ type: "fork", entryId: messages[1]?.entryId });
	await rpc.run("in the fork");
	const { prompts, spent, sample } = await adviceOn(pi);
	assert.deepEqual([prompts, sample.sessions], [5, 3]);
	assert.equal(spent.cost, Math.round((cost + 2 * CENT) * 1e6) / 1e6);
	assert.ok(sample.copies >= 3);
});

/** As many as a limit counts for the session that is resumed. */
for (const [what, turns, options, act] of [
	[
		"an answer that the context cut off, and that pi repeats",
		2,
		{
			model: [mark(), { ...text("half"), stop: "length", usage: { prompt: 199_990, completion: 10 } }, text("done")],
			settings: { compaction: { keepRecentTokens: 1 } },
		},
		(pi) => pi.print("go"),
	],
	[
		"a request that is aborted before any text",
		2,
		{ model: [mark(), held()] },
		async (pi) => {
			const rpc = await pi.rpc();
			await rpc.prompt("go");
			await pi.model.arrival(2);
			await rpc.abort();
			await rpc.close();
		},
	],
	[
		"a request that is lost with its process",
		2,
		{ model: [mark(), held()] },
		async (pi) => {
			const script = pi.start("-p", "go");
			await pi.model.arrival(2);
			script.child.kill("SIGTERM");
			await script.ended();
		},
	],
	[
		"an answer that a script shows again after a stop",
		1,
		{
			...{ model: endless(text("done")), env: { PI_MAX_TURNS: "1" } },
			after: [(pi) => pi.on("agent_end", () => pi.sendUserMessage("once more", { deliverAs: "followUp" }))],
		},
		(pi) => pi.print("go"),
	],
] as const satisfies readonly (readonly [string, number, HostOptions, (pi: Host) => Promise<unknown>])[])
	test(`${what} counts as for a session's limit`, async (t) => {
		const pi = await host(t, { session: true, ...options });
		await act(pi);
		assert.match(
			await reply(await pi.rpc({ args: ["-c"] }), "session turns"),
			new RegExp(`^session turns +${turns}, unlimited`),
		);
		assert.deepEqual(await promptsByTurns(pi), { [turns]: 1 });
		assert.equal((await adviceOn(pi)).sample.running, 0);
	});

test("what the breaker did stands in the sessions: a stop in a script, a yes and a no of a client", async (t) => {
	const pi = await host(t, { session: true, model: endless(), args: ["--turn-limit", "3"] });
	const { code } = await pi.print("go");
	assert.equal(code, 53);
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.run("go");
	await rpc.close();
	const { asked, whatIf, people } = await adviceOn(pi, { limits: { turns: 3 } });
	assert.deepEqual([people.headless?.max, people.attended?.max, people.unknown], [3, 6, null]);
	assert.deepEqual(asked, { outcomes: { exhausted: 1, declined: 1 }, yes: 1, no: 1, finalPass: 0, unanswered: 0 });
	const { asked: stopped, finished, beyond } = whatIf.find(({ is }) => is === "present") ?? {};
	assert.deepEqual(
		[stopped, finished, beyond?.turns],
		[2, 0, 3],
		"the limit that stopped a run would have asked about it",
	);
});

test("runs that a limit of 0 ended before their first turn are no prompts, but stand in what the breaker did", async (t) => {
	const pi = await host(t, { session: true, args: ["--turn-limit", "0"] });
	assert.equal((await pi.print("go")).code, 53);
	const rpc = await pi.rpc({ answer: () => false });
	await rpc.run("go");
	await rpc.close();
	const { prompts, asked } = await adviceOn(pi);
	assert.equal(prompts, 0);
	assert.deepEqual(asked, { outcomes: { exhausted: 1, declined: 1 }, yes: 0, no: 1, finalPass: 0, unanswered: 0 });
});

test("in the terminal: a message typed into a running agent is steering, one after it a prompt", async (t) => {
	const slow = held(mark());
	const pi = await host(t, { session: true, model: [mark(), slow, text("All done."), text("Second done.")] });
	const terminal = await pi.terminal();
	terminal.type("go\r");
	await pi.model.arrival(2);
	terminal.type("steering\r");
	await terminal.shows("steering");
	slow.release();
	await terminal.shows("All done.");
	terminal.type("second\r");
	await terminal.shows("Second done.");
	terminal.press("ctrl+d");
	await terminal.exit();
	assert.deepEqual(await promptsByTurns(pi), { 3: 1, 1: 1 });
	assert.equal((await adviceOn(pi, { project: true, cwd: pi.cwd })).people.attended?.prompts, 2);
	assert.equal((await adviceOn(pi, { project: true, cwd: pi.agentDir })).prompts, 0);
});

test("sessions are found where pi puts them: by default, by setting, by variable", async (t) => {
	const found = async (settings: HostOptions["settings"], env: Record<string, string>): Promise<Advice> => {
		const pi = await host(t, { model: endless(text("done")), env, settings: { ...settings } });
		const bare = ["--offline", "--no-extensions", "-p", "go"];
		assert.equal((await new Running(t, pi.cwd, pi.env, bare, "ignore").ended()).code, 0);
		return advise({ env: pi.env, cwd: pi.cwd, project: true });
	};
	const [byDefault, bySetting, byVariable] = [
		await found({}, {}),
		await found({ sessionDir: "by-setting" }, {}),
		await found({ sessionDir: "by-setting" }, { PI_CODING_AGENT_SESSION_DIR: "by-variable" }),
	];
	assert.deepEqual([byDefault.prompts, bySetting.prompts, byVariable.prompts], [1, 1, 1]);
	assert.match(byDefault.sample.directory, /agent.sessions$/);
	assert.match(bySetting.sample.directory, /work.by-setting$/);
	assert.match(byVariable.sample.directory, /work.by-variable$/);
});
