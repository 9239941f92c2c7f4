/** Runs of a loop that share limits, and runs that end oddly, in the test's own process. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { loopLimit, type LoopLimit, type LoopOptions, type LoopRun } from "../../src/hosts/loop/index.ts";
import { openIn } from "../ledger/sandbox.ts";
import { replaceVariables } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";

const ROOT = "PI_TURN_LIMIT_ROOT";

/** A ledger that nobody has used. */
function sandbox(t: TestContext): string {
	const folder = mkdtempSync(join(tmpdir(), "run-"));
	defer(t, () => rmSync(folder, { recursive: true }));
	defer(t, replaceVariables({ PI_CODING_AGENT_DIR: folder }));
	return join(folder, "turn-limit-ledger", "ledger.sqlite");
}

const limited = (options: LoopOptions): LoopLimit => loopLimit({ turns: "unlimited", grace: 0, ...options });

/** Takes turns until the run says no; gives how many. */
async function work(run: LoopRun, most = Infinity): Promise<number> {
	let turns = 0;
	while (turns < most && (await run.turn()) !== undefined) {
		turns++;
		await new Promise(setImmediate);
		if ((await run.endTurn({ goesOn: true })) === "stop") break;
	}
	return turns;
}

/** The kind of its outcome, and the limit that acted. */
async function end(run: LoopRun): Promise<string> {
	const outcome = await run.settle();
	return "meter" in outcome ? `${outcome.kind} ${outcome.meter}` : outcome.kind;
}

describe("a tree", () => {
	test("admits its turns once, to a run and to those that name the run or its limit as parent", async (t) => {
		sandbox(t);
		const limit = limited({ treeTurns: 6 });
		const run = limit.start();
		assert.equal(await work(run, 1), 1);
		const [first, second] = [limited({ parent: run }).start(), limited({ parent: limit }).start()];
		assert.equal(await work(first, 2), 2);
		const [more, others] = await Promise.all([work(first), work(second)]);
		assert.equal(more + others, 3);
		assert.deepEqual(
			await Promise.all([first, second].map((member) => end(member))),
			Array(2).fill("exhausted treeTurns"),
		);
		assert.equal(first.reason?.includes("the limit of 6 turns in this tree of agents (the root)"), true, first.reason);
		assert.equal(await run.turn(), undefined);
		assert.equal(await end(run), "exhausted treeTurns");
	});

	test("has members that ask nobody, whatever limit they reach", async (t) => {
		sandbox(t);
		const run = limited({ treeTurns: 6 }).start();
		await work(run, 1);
		const ask = (): never => assert.fail("asked");
		const member = limited({ parent: run, turns: 2, ask }).start();
		assert.deepEqual([await work(member), await end(member)], [2, "exhausted turns"]);
		const other = limited({ parent: run, ask }).start();
		assert.deepEqual([await work(other), await end(other)], [3, "exhausted treeTurns"]);
	});

	test("is another one for the next run", async (t) => {
		sandbox(t);
		const limit = limited({ treeTurns: 2 });
		for (let n = 0; n < 2; n++) {
			const run = limit.start();
			assert.equal(await work(run), 2);
			await run.settle();
		}
	});

	test("is named to children with its limits, from the first turn on", async (t) => {
		sandbox(t);
		const run = limited({ treeTurns: 3, treeTokens: "10k" }).start();
		assert.match(run.environment()[ROOT] ?? "", /^\d+\.\d*\.1$/);
		await run.turn();
		const [, tree] = /^\d+\.\d*\.1 (.*)$/.exec(run.environment()[ROOT] ?? "") ?? [];
		const { limits, overruled } = JSON.parse(tree ?? "{}") as Record<string, unknown>;
		assert.deepEqual([limits, overruled], [{ "tree.maxTurns": 3, "tree.maxTokens": 10_000 }, {}]);
	});

	test("is gone on with by a run that was saved in it", async (t) => {
		sandbox(t);
		const run = limited({ treeTurns: 4 }).start();
		await work(run, 3);
		const from = run.save();
		await run.settle();
		assert.equal(await work(limited({ treeTurns: 4 }).start({ from })), 1);
	});

	test("is joined by a late child, which is held to the root's limits", async (t) => {
		sandbox(t);
		const root = limited({ treeTurns: 3 }).start();
		await work(root, 1);
		// A process that has ended.
		process.env[ROOT] = root.environment()[ROOT]?.replace(/^\d+/, "4194000");
		const child = limited({ parent: "environment", dayTurns: 9 }).start();
		const [turns, ending] = [await work(child), await end(child)];
		assert.deepEqual([turns, ending], [2, "exhausted treeTurns"]);
		assert.match(child.reason ?? "", /\(the root\)/);
		assert.equal(child.snapshot().dayTurns.limit, 9);
		const asking = limited({ turns: 3, parent: "environment", ask: () => false }).start();
		assert.equal(await work(asking), 3);
	});

	test("is not joined by a late child that was given up before its first turn", async (t) => {
		sandbox(t);
		const root = limited({ treeTurns: 3 }).start();
		await work(root, 1);
		process.env[ROOT] = root.environment()[ROOT]?.replace(/^\d+/, "4194000");
		const child = limited({ parent: "environment" }).start();
		const turn = child.turn();
		child.interrupt();
		const outcome = child.settle();
		assert.deepEqual([await turn, (await outcome).kind], [undefined, "interrupted"]);
		assert.equal(await work(root), 2);
	});
});

describe("a day", () => {
	test("is shared by limits that do not know of each other", async (t) => {
		sandbox(t);
		const runs = [limited({ dayTurns: 7 }).start(), limited({ dayTurns: 7 }).start()];
		const [a = 0, b = 0] = await Promise.all(runs.map((run) => work(run)));
		assert.equal(a + b, 7);
		assert.deepEqual(await Promise.all(runs.map((run) => end(run))), Array(2).fill("exhausted dayTurns"));
	});

	test("counts a turn once, however often its cost is reported", async (t) => {
		sandbox(t);
		const run = limited({ dayTurns: 9, dayTokens: 1000 }).start();
		await run.turn();
		await run.charge({ tokens: 10 });
		await run.charge({ tokens: 20 });
		await run.call({ tool: "noop", input: {} });
		await run.endTurn({ goesOn: false });
		await run.settle();
		const next = limited({ dayTurns: 9, dayTokens: 1000 }).start();
		await next.turn();
		const { dayTurns, dayTokens } = next.snapshot();
		assert.deepEqual([dayTurns.used, dayTokens.used], [2, 30]);
	});

	test("is left closed by what is reported after the end", async (t) => {
		const folder = dirname(sandbox(t));
		const run = limited({ dayTurns: 9 }).start();
		await run.turn();
		await run.endTurn({ goesOn: false });
		assert.notDeepEqual(openIn(folder), []);
		await run.settle();
		await run.charge({ cost: 0.5 });
		assert.deepEqual(openIn(folder), []);
	});

	test("counts what is reported after the end", async (t) => {
		sandbox(t);
		const run = limited({ dayTokens: 1000 }).start();
		await run.turn();
		await run.endTurn({ goesOn: false });
		await run.settle();
		await run.charge({ tokens: 1000 });
		const next = limited({ dayTokens: 1000 }).start();
		assert.equal(await next.turn(), undefined);
		assert.equal(await end(next), "exhausted dayTokens");
	});
});

test("a program hears of what the ledger could not be told, and the next run pays it", async (t) => {
	const file = sandbox(t);
	const problems: string[] = [];
	const limit = limited({ dayTurns: 2, onProblem: (problem) => problems.push(problem) });
	const run = limit.start();
	await run.turn();
	const other = new DatabaseSync(file);
	other.exec("BEGIN IMMEDIATE");
	// It waits for five seconds, which are over at once.
	let now = performance.now();
	const clock = t.mock.method(performance, "now", () => (now += 1000));
	await run.endTurn({ goesOn: false });
	await run.settle();
	clock.mock.restore();
	other.close();
	assert.equal(problems.length, 1);
	assert.match(problems[0] ?? "", /^Not yet counted in the shared budget: 1 turn\. It is saved/);
	assert.equal(await work(limit.start()), 1);
});

for (const scope of ["turns", "sessionTurns", "treeTurns", "dayTurns"] as const)
	test(`a limit of ${scope} holds although a loop reports no end of a turn`, async (t) => {
		sandbox(t);
		const run = limited({ [scope]: 3 }).start();
		let turns = 0;
		while (turns < 9 && (await run.turn()) !== undefined) turns++;
		assert.deepEqual([turns, await end(run)], [3, `exhausted ${scope}`]);
	});

describe("while a turn is being decided,", () => {
	/** Makes a run with such a limit, and acts on it so many ticks after its turn was requested. */
	async function during(
		t: TestContext,
		scope: string,
		isFirst: boolean,
		ticks: number,
		act: (run: LoopRun) => unknown,
	) {
		sandbox(t);
		const run = limited({ [scope]: 2 }).start();
		if (!isFirst) await work(run, 1);
		const turn = run.turn();
		// A ledger in a file takes more than microtasks.
		for (let n = 0; n < ticks; n++) await (scope === "dayTurns" ? new Promise(setImmediate) : undefined);
		const isLate = !inspect(turn).includes("pending");
		await act(run);
		return { run, notes: await turn, isLate };
	}

	for (const scope of ["turns", "sessionTurns", "dayTurns"] as const)
		for (const isFirst of [true, false]) {
			const which = `${isFirst ? "the first" : "a later"} turn under ${scope}`;
			for (const stop of ["interrupt", "settle", "breakOff"] as const)
				test(`${stop}() stops ${which} at every moment`, async (t) => {
					for (let ticks = 0; ; ticks++) {
						const { run, notes, isLate } = await during(t, scope, isFirst, ticks, (run) => run[stop]("enough"));
						if (isLate) break;
						assert.equal(notes, undefined, `after ${ticks}`);
						assert.equal(await end(run), stop === "breakOff" ? "failed" : "interrupted");
						assert.equal(await run.turn(), undefined);
					}
				});

			test(`fail() makes ${which} no repetition at any moment`, async (t) => {
				for (let ticks = 0; ; ticks++) {
					const { run, notes, isLate } = await during(t, scope, isFirst, ticks, (run) => run.fail("late"));
					if (isLate) break;
					assert.notEqual(notes, undefined);
					await run.endTurn({ goesOn: true });
					assert.deepEqual(
						[await work(run), await end(run)],
						[isFirst ? 1 : 0, `exhausted ${scope}`],
						`after ${ticks}`,
					);
				}
			});
		}
});

describe("runs of one session", () => {
	test("give back the room of a turn that another limit refuses", async () => {
		const limit = loopLimit({ turns: 1, sessionTurns: 2, grace: 0 });
		const [a, b] = [limit.start(), limit.start()];
		await a.turn();
		await a.endTurn({ goesOn: false });
		assert.equal(await a.turn(), undefined);
		assert.deepEqual(await b.turn(), []);
	});

	test("do not wait for each other in a final pass, nor to repeat a turn that failed", async () => {
		const limit = loopLimit({ turns: 1, sessionTurns: 3, grace: 0, policy: "synthesize" });
		const [a, b, c] = [limit.start(), limit.start(), limit.start()];
		await a.turn();
		await a.endTurn({ goesOn: true });
		await b.turn();
		await c.turn();
		c.fail("overloaded");
		assert.deepEqual(await c.turn(), []);
		assert.equal((await a.turn())?.length, 1);
	});

	test("count a turn once that fails and is repeated", async () => {
		const run = loopLimit({ sessionTurns: 9 }).start();
		await run.turn();
		run.fail("overloaded");
		await run.turn();
		await run.charge({ tokens: 10 });
		await run.endTurn({ goesOn: false });
		assert.equal(run.snapshot().sessionTurns.used, 1);
	});

	test("count every turn of a final pass, although no end is reported", async () => {
		const limit = loopLimit({ turns: 2, sessionTurns: 9, grace: 0, policy: "synthesize" });
		const run = limit.start();
		for (let n = 0; n < 4; n++) assert.notEqual(await run.turn(), undefined);
		await run.settle();
		assert.equal(limit.start().snapshot().sessionTurns.used, 0);
		const next = limit.start();
		await next.turn();
		assert.equal(next.snapshot().sessionTurns.used, 5);
	});

	test("wait no longer for the room of others once they are settled, interrupted or broken off", async () => {
		for (const stop of ["settle", "interrupt", "breakOff"] as const) {
			const limit = limited({ sessionTurns: 2 });
			const [working, other, waiting] = [limit.start(), limit.start(), limit.start()];
			await working.turn();
			await other.turn();
			const turn = waiting.turn();
			await new Promise(setImmediate);
			void waiting[stop]("enough");
			assert.equal(await turn, undefined);
			assert.equal(await end(waiting), stop === "breakOff" ? "failed" : "interrupted");
		}
	});

	test("see what the others have spent", async () => {
		const limit = loopLimit({ sessionTokens: 1000 });
		const [a, b] = [limit.start(), limit.start()];
		await Promise.all([a.turn(), b.turn()]);
		await a.charge({ tokens: 100 });
		await b.charge({ tokens: 50 });
		assert.equal(b.snapshot().sessionTokens.used, 150);
	});
});

describe("a run", () => {
	test("that is broken off before its first turn has failed, and sends nothing", async () => {
		const run = loopLimit().start();
		run.breakOff("no price list");
		assert.equal(await run.turn(), undefined);
		const outcome = await run.settle();
		assert.ok(outcome.kind === "failed" && outcome.by === "breaker" && outcome.message === "no price list");
	});

	test("counts what was spent before its first turn", async () => {
		const run = loopLimit({ cost: 1, sessionCost: 9, grace: 0 }).start();
		await run.charge({ cost: 2, tokens: 30 });
		assert.equal(await run.turn(), undefined);
		const { cost, tokens } = await run.settle();
		assert.deepEqual([cost, tokens, run.snapshot().sessionCost.used], [2, 30, 2]);
		assert.equal(await end(run), "exhausted cost");
	});

	test("that has spent something and never had a turn ends like any other", async () => {
		for (const [stop, kind] of [
			[() => {}, "completed"],
			[(run: LoopRun) => run.interrupt(), "interrupted"],
			[(run: LoopRun) => run.fail("no key"), "failed"],
			[(_: LoopRun, abort: AbortController) => abort.abort(), "interrupted"],
		] as const) {
			const abort = new AbortController();
			const run = loopLimit().start({ signal: abort.signal });
			await run.charge({ tokens: 30 });
			stop(run, abort);
			assert.deepEqual([await end(run), (await run.settle()).tokens], [kind, 30]);
		}
	});

	test("that is resumed between two turns and aborted is interrupted", async () => {
		const first = loopLimit().start();
		await work(first, 1);
		const abort = new AbortController();
		const run = loopLimit().start({ from: first.save(), signal: abort.signal });
		abort.abort();
		assert.equal(await end(run), "interrupted");
	});

	test("that has its answer is completed, although the person aborts then", async () => {
		const abort = new AbortController();
		const run = loopLimit().start({ signal: abort.signal });
		await run.turn();
		await run.endTurn({ goesOn: false });
		abort.abort();
		assert.equal(await end(run), "completed");
	});

	test("whose request failed has failed, although the person aborts then", async () => {
		const abort = new AbortController();
		const run = loopLimit().start({ signal: abort.signal });
		await work(run, 1);
		await run.turn();
		run.fail("overloaded");
		abort.abort();
		assert.equal((await run.settle()).kind, "failed");
	});

	test("whose person aborts between two turns is interrupted", async () => {
		const abort = new AbortController();
		const run = loopLimit().start({ signal: abort.signal });
		await run.turn();
		assert.equal(await run.endTurn({ goesOn: true }), "go_on");
		abort.abort();
		assert.equal(await end(run), "interrupted");
	});

	test("judges a call anew if the next turn uses its id again", async () => {
		const run = loopLimit({ toolCalls: 1 }).start();
		await run.turn();
		assert.equal(await run.call({ tool: "noop", input: 1 }, "call-0"), undefined);
		await run.endTurn({ goesOn: true });
		await run.turn();
		assert.equal(typeof (await run.call({ tool: "noop", input: 2 }, "call-0")), "string");
	});

	test("keeps its answers to calls, however often it is saved", async () => {
		const limit = loopLimit({ toolCalls: 1 });
		let run = limit.start();
		await run.turn();
		await run.call({ tool: "noop", input: 1 }, "call-0");
		for (let n = 0; n < 2; n++) {
			run = limit.start({ from: run.save() });
			assert.equal(await run.call({ tool: "noop", input: 1 }, "call-0"), undefined);
		}
		assert.equal(typeof (await run.call({ tool: "noop", input: 1 }, "call-1")), "string");
	});

	test("uses the grace that a function gives now", async () => {
		let grace = 0;
		const problems: string[] = [];
		const run = loopLimit({ turns: 4, grace: () => grace, onProblem: (problem) => problems.push(problem) }).start();
		await work(run, 2);
		assert.deepEqual(await run.turn(), []);
		grace = 1;
		await run.endTurn({ goesOn: true });
		assert.match((await run.turn())?.[0] ?? "", /^Only 1 turn left/);
		assert.equal(run.snapshot().turns.softLimit, 3);
		await run.endTurn({ goesOn: false });
		assert.equal(await end(run), "wrapped_up turns");
		assert.deepEqual(problems, []);
	});

	test("uses the grace that a function gives at the end of a turn", async () => {
		let grace = 1;
		const run = loopLimit({ turns: 4, grace: () => grace }).start();
		await work(run, 1);
		grace = 2;
		await run.turn();
		grace = 1;
		await run.endTurn({ goesOn: true });
		assert.deepEqual(await run.turn(), []);
	});

	test("uses the grace that a function gives before its first turn", async () => {
		let grace = 0;
		const run = loopLimit({ turns: 9, grace: () => grace }).start();
		grace = 4;
		await run.turn();
		assert.equal(run.snapshot().turns.softLimit, 5);
	});

	test("shows the call that a question is about, and tells of a question that broke", async () => {
		const asked: string[] = [];
		const problems: string[] = [];
		const run = loopLimit({
			toolCalls: 0,
			ask: ({ message, lines }) => {
				asked.push([message, ...lines].join("\n"));
				throw new Error("no terminal");
			},
			onProblem: (problem) => problems.push(problem),
		}).start();
		await run.turn();
		await run.call({ tool: "noop", input: { path: "README.md" } });
		assert.match(asked[0] ?? "", /noop \{"path":"README\.md"\}/);
		assert.deepEqual(problems, ["ask(): Error: no terminal"]);
	});
});
