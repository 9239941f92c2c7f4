/** One ledger for two hosts: a program, on the AI SDK or pi's bare Agent, and a real pi. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import type { Outcome } from "../../src/core/outcome.ts";
import { bash, calls, endless, held, type Host, host, type HostOptions, mark, node } from "../harness/index.ts";
import { replaceVariables } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";
import { generate, piAgent, type Scene } from "./hosts.ts";

const UNTIL_SHARED = { turns: "unlimited", grace: 0 } as const;
const PROGRAM = join(import.meta.dirname, "ai-program.ts");

/** A pi whose only limits are shared ones, and this process on its ledger. */
async function sandbox(t: TestContext, options: HostOptions = {}): Promise<Host> {
	const env = { PI_TURN_LIMIT_GRACE: "0", PI_MAX_TURNS: "unlimited", ...options.env };
	const pi = await host(t, { fresh: true, model: endless(), ...options, env });
	defer(t, replaceVariables({ PI_CODING_AGENT_DIR: pi.agentDir }));
	return pi;
}

/** A program that never stops by itself. */
function endlessly(options: Scene["options"]): Scene {
	return { options: { ...UNTIL_SHARED, ...options }, script: (n) => calls({ name: "noop", args: { n } }) };
}

function told(outcome: Outcome | undefined): string {
	return `${outcome?.kind} ${outcome && "meter" in outcome ? outcome.meter : ""}`;
}

for (const { name, play } of [generate, piAgent]) {
	describe(`a program on ${name}:`, () => {
		test("a tree of 6 turns over it and the pi that its tool starts admits exactly 6", async (t) => {
			const pi = await sandbox(t);
			let code: number | null = null;
			const { requests, outcomes } = await play({
				...endlessly({ treeTurns: 6 }),
				tool: async (_n, _again, limit) => {
					Object.assign(pi.env, limit.environment());
					({ code } = await pi.start("-p", "go").ended());
				},
			});
			assert.deepEqual([requests.length, pi.model.turns.length, code], [1, 5, 53]);
			assert.equal(told(outcomes[0]), "exhausted treeTurns");
		});

		test("a tree of 6 turns over it and two pis at once admits exactly 6", async (t) => {
			const pi = await sandbox(t);
			const { requests } = await play({
				...endlessly({ treeTurns: 6 }),
				tool: async (_n, _again, limit) => {
					Object.assign(pi.env, limit.environment());
					await Promise.all([1, 2].map(() => pi.start("-p", "go").ended()));
				},
			});
			assert.equal(requests.length + pi.model.turns.length, 6);
		});

		test("a day of 7 turns that it and a pi spend at once admits exactly 7", async (t) => {
			const pi = await sandbox(t, { env: { PI_TURN_LIMIT_DAY_TURNS: "7" } });
			const [{ requests, outcomes }] = await Promise.all([
				play(endlessly({ dayTurns: 7 })),
				pi.start("-p", "go").ended(),
			]);
			assert.deepEqual([requests.length + pi.model.turns.length, told(outcomes[0])], [7, "exhausted dayTurns"]);
		});

		test("a day of dollars that it and a pi spend at once is kept but for one turn of each", async (t) => {
			const pi = await sandbox(t, { env: { PI_TURN_LIMIT_DAY_COST: "0.10" } });
			const [{ requests }] = await Promise.all([
				play({ ...endlessly({ dayCost: 0.1 }), price: () => 0.01 }),
				pi.start("-p", "go").ended(),
			]);
			const all = requests.length + pi.model.turns.length;
			assert.ok(all >= 10 && all <= 12, String(all));
		});

		test("a day counts for it the turns of a pi that was killed, and the one that pi had under way", async (t) => {
			const answer = held();
			const pi = await sandbox(t, {
				model: (_request, n) => (n === 3 ? answer : mark()),
				env: { PI_TURN_LIMIT_DAY_TURNS: "6" },
			});
			const running = pi.start("-p", "go");
			await pi.model.arrival(3);
			running.child.kill("SIGKILL");
			await running.ended();
			const abort = new AbortController();
			let used: unknown;
			const { requests } = await play({
				...{ ...endlessly({ dayTurns: 6 }), abort },
				tool: (n, _again, limit) => {
					used = limit.snapshot().dayTurns.used;
					if (n === 3) setImmediate(() => abort.abort());
				},
			});
			assert.deepEqual([requests.length, used], [3, 6]);
		});
	});
}

test("a tree of 6 turns over a pi and the program that its tool starts admits exactly 6", async (t) => {
	const options = JSON.stringify({ ...UNTIL_SHARED, parent: "environment" });
	const starts = bash(`"${node}" "${PROGRAM}" '${options}' > said`);
	const pi = await sandbox(t, {
		model: (_request, n) => (n === 1 ? calls(starts) : mark()),
		env: { PI_TURN_LIMIT_TREE_TURNS: "6" },
	});
	const { code } = await pi.print("go");
	assert.deepEqual([pi.model.turns.length, code], [1, 53]);
	const { stdout } = await promisify(execFile)("cat", [join(pi.cwd, "said")]);
	assert.equal(stdout, "5 exhausted treeTurns\n");
});

test("a day counts for pi the turns of a program that was killed, and the one that it had under way", async (t) => {
	const pi = await sandbox(t, { env: { PI_TURN_LIMIT_DAY_TURNS: "6" } });
	const killed = spawn(node, [PROGRAM, JSON.stringify({ ...UNTIL_SHARED, dayTurns: 6 }), "3"], {
		env: process.env,
		stdio: ["ignore", "pipe", "inherit"],
	});
	await once(killed.stdout, "data");
	killed.kill("SIGKILL");
	await once(killed, "exit");
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	// Two were counted, and one is held: three are left, and pi waits for the fourth.
	await pi.model.arrival(3);
	for (let n = 0; n < 3; n++) await rpc.event("turn_end");
	await rpc.prompt("/turn-limit");
	assert.match(rpc.notifications.at(-1)?.message ?? "", /^day turns +6 of 6 /m);
	assert.equal(pi.model.turns.length, 3);
});
