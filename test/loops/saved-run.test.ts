import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { loopLimit, type LoopOptions, type LoopRun } from "../../src/hosts/loop/index.ts";
import { readRun, sealed } from "../../src/hosts/loop/saved-run.ts";

async function work(run: LoopRun, turns: number): Promise<number> {
	for (let n = 0; n < turns; n++) {
		if ((await run.turn()) === undefined) return n;
		await run.call({ tool: "noop", input: { n } }, `call ${n}`);
		await run.charge({ cost: 0.5, tokens: 10 });
		if ((await run.endTurn({ goesOn: true })) === "stop") return n + 1;
	}
	return turns;
}

test("a run that is saved goes on in another process with its counts", async () => {
	const run = loopLimit({ turns: 5, grace: 0 }).start();
	await work(run, 3);
	const program = `
		const { loopLimit } = await import(process.argv[1]);
		const run = loopLimit({ turns: 5, grace: 0 }).start({ from: process.argv[2] });
		let turns = 0;
		while (await run.turn()) { turns++; if (await run.endTurn({ goesOn: true }) === "stop") break; }
		const { kind, turns: all, cost, toolCalls } = await run.settle();
		console.log(JSON.stringify([turns, kind, all, cost, toolCalls]));`;
	const index = new URL("../../src/hosts/loop/index.ts", import.meta.url).href;
	const { stdout } = await promisify(execFile)(process.execPath, [
		"--input-type=module",
		"-e",
		program,
		index,
		run.save(),
	]);
	assert.deepEqual(JSON.parse(stdout), [2, "exhausted", 5, 1.5, 3]);
});

describe("a run that is resumed", () => {
	const resume = (options: LoopOptions, run: LoopRun): LoopRun => loopLimit(options).start({ from: run.save() });

	test("before it began has everything before it", async () => {
		const run = resume({ turns: 2, grace: 0 }, loopLimit({ turns: 2 }).start());
		assert.equal(await work(run, 9), 2);
	});

	test("has the limits of whoever resumes it", async () => {
		const first = loopLimit({ turns: 9 }).start();
		await work(first, 3);
		const run = resume({ turns: 4, grace: 0 }, first);
		assert.equal(await work(run, 9), 1);
	});

	test("works on from where it was, and one that had not begun does not", async (t) => {
		let now = 0;
		t.mock.method(performance, "now", () => now);
		for (const turns of [0, 1]) {
			const first = loopLimit().start();
			await work(first, turns);
			const run = resume({}, first);
			now += 5_000;
			await run.turn();
			assert.equal((await run.settle()).time, 5 * turns);
		}
	});

	test("sends the notes that were still to be sent", async () => {
		const first = loopLimit({ turns: 4, grace: 2 }).start();
		await work(first, 2);
		const run = resume({ turns: 4 }, first);
		assert.match((await run.turn())?.[0] ?? "", /^Only 2 turns left/);
	});

	test("in the middle of a turn knows the calls that were answered", async () => {
		const first = loopLimit({ toolCalls: 1 }).start();
		await first.turn();
		assert.equal(await first.call({ tool: "a", input: {} }, "a"), undefined);
		const refused = await first.call({ tool: "b", input: {} }, "b");
		const run = resume({ toolCalls: 1 }, first);
		assert.equal(await run.call({ tool: "a", input: {} }, "a"), undefined);
		assert.equal(await run.call({ tool: "b", input: {} }, "b"), refused);
		const again = resume({ toolCalls: 1 }, run);
		assert.equal(await again.call({ tool: "b", input: {} }, "b"), refused);
		assert.equal((await run.settle()).toolCalls, 1);
	});

	test("in its final pass stays there", async () => {
		const first = loopLimit({ turns: 1, policy: "synthesize" }).start();
		await work(first, 1);
		const run = resume({ turns: 1, policy: "synthesize" }, first);
		assert.match((await run.turn())?.[0] ?? "", /is spent/);
		assert.match((await run.call({ tool: "a", input: {} })) ?? "", /^Not run/);
		await run.endTurn({ goesOn: false, concluded: true });
		assert.equal((await run.settle()).kind, "synthesized");
	});

	test("after a failure repeats the turn, uncounted", async () => {
		const first = loopLimit({ turns: 1, grace: 0 }).start();
		await first.turn();
		first.fail("overloaded");
		const run = resume({ turns: 1, grace: 0 }, first);
		assert.deepEqual(await run.turn(), []);
		await run.endTurn({ goesOn: false });
		assert.equal((await run.settle()).turns, 1);
	});

	for (const [what, stop, kind] of [
		["interrupted", (run: LoopRun) => run.interrupt(), "interrupted"],
		["broken off", (run: LoopRun) => run.breakOff(new Error("no price")), "failed"],
	] as const) {
		test(`after it was ${what} stays so`, async () => {
			const first = loopLimit().start();
			await first.turn();
			stop(first);
			const run = resume({}, first);
			assert.equal(await run.turn(), undefined);
			assert.equal((await run.settle()).kind, kind);
		});
	}

	test("after a limit stopped it stays stopped, and so after a no", async () => {
		for (const ask of [undefined, () => false]) {
			const options = { turns: 1, grace: 0, ...(ask && { ask }) };
			const first = loopLimit(options).start();
			await work(first, 2);
			const run = loopLimit({ ...options, turns: 9 }).start({ from: first.save() });
			assert.equal(await run.turn(), undefined);
			assert.equal((await run.settle()).kind, ask ? "declined" : "exhausted");
		}
	});

	test("is asked about again, if a question was open", async () => {
		const first = loopLimit({ turns: 1, ask: () => new Promise(() => {}) }).start();
		await first.turn();
		void first.endTurn({ goesOn: true });
		await new Promise(setImmediate);
		const asked: string[] = [];
		const ask = ({ title }: { title: string }): boolean => asked.push(title) > 1;
		const run = loopLimit({ turns: 1, ask }).start({ from: first.save() });
		assert.equal(await run.turn(), undefined);
		assert.deepEqual(asked, ["Turn limit reached"]);
	});

	test("adds what it had spent to the session, once", async () => {
		const first = loopLimit({ sessionTurns: 9 }).start();
		await work(first, 3);
		const limit = loopLimit({ sessionTurns: 5, grace: 0 });
		const run = limit.start({ from: first.save() });
		assert.equal(await work(run, 1), 1);
		const again = limit.start({ from: run.save() });
		assert.equal(await work(again, 9), 1);
	});

	test("has the round of their own size that a person has granted", async () => {
		const first = loopLimit({ turns: 1, grace: 0, ask: () => ({ answer: "yes", grant: 4 }) }).start();
		await work(first, 1);
		assert.equal(await work(resume({ turns: 1, grace: 0 }, first), 9), 4);
	});

	test("adds nothing to the session that has counted it as it went", async () => {
		const limit = loopLimit({ sessionTurns: 5, grace: 0 });
		const first = limit.start();
		await work(first, 2);
		assert.equal(await work(limit.start({ from: first.save() }), 9), 3);
	});

	test("after its end has no note that it did not send", async () => {
		const first = loopLimit({ turns: 4, grace: 2 }).start();
		await work(first, 2);
		await first.settle();
		assert.deepEqual(await resume({ turns: 9 }, first).turn(), []);
	});

	test("twice from one text is counted once in the session, however late", async (t) => {
		t.mock.timers.enable({ apis: ["Date"] });
		const first = loopLimit({ sessionTurns: 9 }).start();
		await work(first, 3);
		const from = first.save();
		const limit = loopLimit({ sessionTurns: 6, grace: 0 });
		const run = limit.start({ from });
		await work(run, 1);
		t.mock.timers.tick(3_600_000);
		await work(run, 1);
		assert.equal(await work(limit.start({ from }), 9), 1);
	});

	test("goes on counting repeated calls and knows the wrap-up that was given", async () => {
		const first = loopLimit({ turns: 6, grace: 4, repeats: 4 }).start();
		for (let n = 0; n < 3; n++) {
			await first.turn();
			await first.call({ tool: "same", input: {} });
			await first.endTurn({ goesOn: true });
		}
		await first.turn();
		const run = resume({ turns: 6, grace: 4, repeats: 4 }, first);
		assert.equal(await run.call({ tool: "same", input: {} }), undefined);
		assert.match((await run.call({ tool: "same", input: {} })) ?? "", /^Not run: this would make 5 identical/);
		await run.endTurn({ goesOn: false });
		assert.equal((await run.settle()).kind, "wrapped_up");
	});
});

describe("text that is no saved run", () => {
	const saved = async (): Promise<Record<string, unknown>> => {
		const run = loopLimit({ turns: 1, policy: "synthesize" }).start();
		await work(run, 1);
		return JSON.parse(run.save().slice(run.save().indexOf("{"))) as Record<string, unknown>;
	};

	test("is refused wherever a single character of it is wrong, lost or added", async () => {
		const run = loopLimit({ turns: 3, toolCalls: 1, policy: "synthesize" }).start();
		await work(run, 2);
		const text = run.save();
		assert.ok(readRun(text));
		const accepted = Array.from(text).flatMap((character, at) => {
			const [before, after] = [text.slice(0, at), text.slice(at + 1)];
			const other = character === "1" ? "2" : "1";
			return [`${before}${after}`, `${before}${other}${after}`, `${before}${character}1${after}`, before].filter(
				(damaged) => readRun(damaged) !== undefined,
			);
		});
		assert.deepEqual(accepted, []);
	});

	test("is refused, so that nothing begins anew by mistake", () => {
		for (const from of ["", "{}", "[]", "null", "3", '{"version":2}'])
			assert.throws(() => loopLimit().start({ from }), {
				name: "TypeError",
				message: "from: expected what save() has given.",
			});
	});

	test("is refused if any part of it is wrong", async () => {
		const whole = await saved();
		assert.ok(readRun(sealed(whole)));
		const phase = whole["phase"] as Record<string, Record<string, unknown>>;
		const run = phase["run"] as Record<string, unknown>;
		const wrong: Record<string, unknown>[] = [
			{ version: 0 },
			{ id: "" },
			{ id: 3 },
			{ tree: 3 },
			{ notes: "x" },
			{ notes: [1] },
			{ answers: [] },
			{ answers: { a: 1 } },
			{ used: 3 },
			{ used: { turns: -1 } },
			{ extra: { turns: 0.5 } },
			{ advice: "soon" },
			{ advice: { given: "never" } },
			{ streak: 1 },
			{ streak: { recent: [1], same: [0, 0, 0], warned: "no" } },
			{ streak: { recent: [], same: [0, 0], warned: "no" } },
			{ streak: { recent: [], same: [0, 0, -1], warned: "no" } },
			{ streak: { recent: [], same: [0, 0, 0], warned: "perhaps" } },
			{ phase: undefined },
			{ phase: { name: "dreaming" } },
			{ phase: { name: "running" } },
			{ phase: { ...phase, turns: -1 } },
			{ phase: { ...phase, trip: { meter: "x", limit: 1 } } },
			{ phase: { ...phase, trip: { meter: "turns", limit: "many" } } },
			{ phase: { ...phase, run: { ...run, turn: "soon" } } },
			{ phase: { ...phase, run: { ...run, turn: { failed: "x", since: "ever" } } } },
			{ phase: { ...phase, run: { ...run, passes: ["x"] } } },
			{ phase: { ...phase, run: { ...run, passes: "turns" } } },
			{ phase: { ...phase, run: { ...run, advised: "x" } } },
			{ phase: { ...phase, run: { ...run, spent: {} } } },
			{ phase: { ...phase, run: { ...run, spent: { ...(run["spent"] as object), continuations: -1 } } } },
			{ phase: { name: "stopped", run, verdict: { kind: "bored" } } },
			{ phase: { name: "stopped", run, verdict: { kind: "exhausted" } } },
			{ phase: { name: "stopped", run } },
		];
		for (const change of wrong)
			assert.equal(readRun(sealed({ ...whole, ...change })), undefined, JSON.stringify(change));
	});

	test("may hold meters that this version does not know", async () => {
		const whole = await saved();
		const used = { ...(whole["used"] as object), fortnightTurns: 3 };
		const read = readRun(sealed({ ...whole, used }));
		assert.deepEqual([read?.used.turns, read && "fortnightTurns" in read.used], [1, false]);
	});
});
