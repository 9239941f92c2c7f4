import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { describe, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { loopLimit, type LoopLimit, type LoopOptions } from "../../src/hosts/loop/index.ts";
import { turnLimit } from "../../src/index.ts";
import { aiLimit } from "../../src/hosts/ai/index.ts";
import { endless, host, type Host } from "../harness/index.ts";
import { replaceVariables } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";

/** A real pi that never stops by itself, and this process on the same ledger. */
async function sandbox(t: TestContext, env: Record<string, string> = {}): Promise<Host> {
	const pi = await host(t, {
		fresh: true,
		model: endless(),
		env: { PI_TURN_LIMIT_GRACE: "0", PI_MAX_TURNS: "unlimited", ...env },
	});
	defer(t, replaceVariables({ PI_CODING_AGENT_DIR: pi.agentDir }));
	return pi;
}

/** A pi in a process of its own, with these variables on top; its exit code. */
async function child(pi: Host, env: Record<string, string>): Promise<number> {
	Object.assign(pi.env, env);
	return (await pi.start("-p", "go").ended()).code ?? 1;
}

/** Takes turns until the run says no; `tool` runs in the first. */
async function work(
	limit: LoopLimit,
	tool: () => Promise<unknown> = () => Promise.resolve(),
): Promise<[number, string]> {
	const run = limit.start();
	let turns = 0;
	while ((await run.turn()) !== undefined) {
		await new Promise(setImmediate);
		if (++turns === 1 && (await run.call({ tool: "delegate", input: {} })) === undefined) await tool();
		if ((await run.endTurn({ goesOn: true })) === "stop") break;
	}
	const outcome = await run.settle();
	return [turns, `${outcome.kind}${"meter" in outcome ? ` ${outcome.meter}` : ""}`];
}

const options = (more: LoopOptions): LoopOptions => ({ turns: "unlimited", grace: 0, ...more });

describe("a tree over a program and a real pi", () => {
	test("of 6 turns admits exactly 6", async (t) => {
		const pi = await sandbox(t);
		const limit = loopLimit(options({ treeTurns: 6 }));
		let code: number | undefined;
		const [turns, outcome] = await work(limit, async () => {
			code = await child(pi, limit.environment());
		});
		assert.deepEqual([turns + pi.model.turns.length, outcome, code], [6, "exhausted treeTurns", 53]);
		assert.equal(turns, 1);
	});

	test("of 6 turns admits exactly 6 to two of them at once", async (t) => {
		const pi = await sandbox(t);
		const limit = loopLimit(options({ treeTurns: 6 }));
		const [turns] = await work(limit, async () => {
			const member = work(loopLimit(options({ parent: limit })));
			const [[inside]] = await Promise.all([member, child(pi, limit.environment())]);
			assert.equal(inside + pi.model.turns.length, 5);
		});
		assert.equal(turns, 1);
	});

	test("is joined by a program that pi has started, and by none that nobody has", async (t) => {
		await sandbox(t);
		const limit = loopLimit(options({ treeTurns: 4 }));
		const member = `
			const { loopLimit } = await import(process.argv[1]);
			const run = loopLimit({ turns: 9, grace: 0, parent: "environment" }).start();
			let turns = 0;
			while (await run.turn()) { turns++; if (await run.endTurn({ goesOn: true }) === "stop") break; }
			console.log(turns, (await run.settle()).meter);`;
		const index = new URL("../../src/hosts/loop/index.ts", import.meta.url).href;
		const start = async (env: NodeJS.ProcessEnv): Promise<string> => {
			const args = ["--input-type=module", "-e", member, index];
			return (await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })).stdout;
		};
		const seen: string[] = [];
		const [turns] = await work(limit, async () => {
			seen.push(await start(limit.environment()), await start({}));
		});
		assert.deepEqual([turns, seen], [1, ["3 treeTurns\n", "9 turns\n"]]);
	});
});

test("a member of a program's pi, or of its run, is not asked", async (t) => {
	await sandbox(t);
	let asked = 0;
	const ask = (): boolean => ++asked > 0;
	const root = loopLimit(options({ treeTurns: 3 }));
	const [turns] = await work(root, async () => {
		const [inside, outcome] = await work(loopLimit(options({ parent: root, ask })));
		assert.deepEqual([inside, outcome], [2, "exhausted treeTurns"]);
	});
	assert.deepEqual([turns, asked], [1, 0]);
	// Any limit of ours can be a parent.
	for (const parent of [turnLimit(), aiLimit(), root.start()]) loopLimit({ parent });
});

test("each run of a root has a tree of its own", async (t) => {
	await sandbox(t);
	const limit = loopLimit(options({ treeTurns: 2 }));
	assert.deepEqual([await work(limit), await work(limit)], Array(2).fill([2, "exhausted treeTurns"]));
});

test("a tree that a person raises goes on", async (t) => {
	await sandbox(t);
	let asked = 0;
	const limit = loopLimit(options({ treeTurns: 10, ask: () => ++asked === 1 }));
	assert.deepEqual(await work(limit), [11, "declined treeTurns"]);
});

test("a run that is saved goes on in its tree", async (t) => {
	await sandbox(t);
	const limit = loopLimit(options({ treeTurns: 4 }));
	const run = limit.start();
	for (let n = 0; n < 3; n++) {
		await run.turn();
		await run.endTurn({ goesOn: true });
	}
	const saved = run.save();
	await run.settle();
	const resumed = loopLimit(options({ treeTurns: 4 })).start({ from: saved });
	assert.ok(await resumed.turn());
	assert.equal(await resumed.endTurn({ goesOn: true }), "go_on");
	assert.equal(await resumed.turn(), undefined);
	assert.equal((await resumed.settle()).turns, 4);
});

describe("a day or a month", () => {
	test("of 7 turns is shared by a program and a real pi, exactly", async (t) => {
		const pi = await sandbox(t, { PI_TURN_LIMIT_MONTH_TURNS: "7" });
		const limit = loopLimit(options({ monthTurns: 7 }));
		const [[turns, outcome]] = await Promise.all([work(limit), child(pi, {})]);
		assert.deepEqual([turns + pi.model.turns.length, outcome], [7, "exhausted monthTurns"]);
	});

	test("counts what a program spent that was killed", async (t) => {
		await sandbox(t);
		const program = `
			const { loopLimit } = await import(process.argv[1]);
			const run = loopLimit({ turns: 99, dayTurns: 5, grace: 0 }).start();
			for (let n = 0; n < 2; n++) { await run.turn(); await run.endTurn({ goesOn: true }); }
			await run.turn();
			console.log("ready");
			setInterval(() => {}, 1000);`;
		const index = new URL("../../src/hosts/loop/index.ts", import.meta.url).href;
		const killed = spawn(process.execPath, ["--input-type=module", "-e", program, index], { env: process.env });
		await once(killed.stdout, "data");
		killed.kill("SIGKILL");
		await once(killed, "exit");
		const run = loopLimit(options({ dayTurns: 5 })).start();
		let turns = 0;
		while (turns < 2 && (await run.turn())) {
			turns++;
			await run.endTurn({ goesOn: true });
		}
		// Two turns were counted, and one is held until it lapses: two are left.
		assert.deepEqual([turns, run.snapshot().dayTurns.used], [2, 5]);
		run.interrupt();
		await run.settle();
	});
});

test("a ledger that cannot be used stops the run", async (t) => {
	await sandbox(t);
	process.env["PI_CODING_AGENT_DIR"] = "/dev/null/nowhere";
	const run = loopLimit(options({ dayTurns: 5 })).start();
	assert.equal(await run.turn(), undefined);
	const outcome = await run.settle();
	assert.ok(outcome.kind === "failed" && outcome.by === "breaker", JSON.stringify(outcome));
	assert.match(run.reason ?? "", /^pi-turn-limit: failed and stopped the run/);
});

test("the library never writes the environment", async (t) => {
	await sandbox(t);
	const before = { ...process.env };
	const limit = loopLimit(options({ treeTurns: 2 }));
	limit.environment();
	await work(limit);
	assert.deepEqual({ ...process.env }, before);
});
