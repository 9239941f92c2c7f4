/** Several agents of one tree, in sessions of pi in this process. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import installed from "../../src/hosts/pi/extension.ts";
import type { Inside, InsideOptions } from "../harness/inside.ts";
import { endless, held, type Script, text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { announced, directoryOf, fileOf, member, questions, readTree, say, sharing, status } from "./sharing.ts";

const no = { person: () => false };
const stopped = "pi-turn-limit: the tree turn limit stopped this subagent before it gave an answer.";

/** An extension that does something while the first call of a run is made. */
function atFirstCall(work: () => Promise<unknown>) {
	return (pi: ExtensionAPI): void => {
		let isDone = false;
		pi.on("tool_call", async () => {
			if (!isDone) await ((isDone = true), work());
		});
	};
}

/** A root that starts an agent at its first call and goes on when that one has ended. */
async function family(t: TestContext, limits: object, options: InsideOptions = {}) {
	let agent: Inside | undefined;
	const starts = atFirstCall(async () => {
		agent = await member(t, options);
		await agent.run("look");
	});
	const pi = await sharing(t, { limits, extensions: [installed, starts], ...no });
	await pi.run("go");
	assert.ok(agent);
	return { pi, agent, requests: pi.model.requests.length + agent.model.requests.length };
}

describe("an agent of a tree", () => {
	test("spends of what the root has, is never asked, and is told of", async (t) => {
		const { pi, agent, requests } = await family(t, { tree: { maxTurns: 4 } });
		assert.equal(requests, 4);
		assert.equal(agent.last?.errorMessage, stopped);
		assert.deepEqual(questions(pi), ["You've used 4 turns in this tree of agents. Continue?"]);
		assert.deepEqual(await status(pi, "Agents"), ["Agents of this tree, with this one: 0 running, 2 ended."]);
	});

	test("that may have a partial answer names the limit that it shares", async (t) => {
		const model = (_request: unknown, n: number) => (n < 4 ? noop : text("My report."));
		const env = { PI_TURN_LIMIT_POLICY: "synthesize" };
		const { agent } = await family(t, { tree: { maxTurns: 4 } }, { model, env });
		const note = "[pi-turn-limit: this answer may be partial; the subagent reached the tree turn limit.]";
		assert.equal(agent.session.getLastAssistantText(), `My report.\n\n${note}`);
	});

	test("counts once however often it runs, and its prompts begin no tree", async (t) => {
		const starts = atFirstCall(async () => {
			const agent = await member(t, { model: endless(text("done")) });
			await agent.run("look");
			await agent.run("look again");
		});
		const seen: string[] = [];
		const pi: Inside = await sharing(t, {
			limits: { tree: { maxTurns: 5 } },
			extensions: [installed, starts],
			person: async () => {
				seen.push(...(await status(pi, "Agents")));
				return false;
			},
		});
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(seen, ["Agents of this tree, with this one: 1 running, 1 ended."]);
	});

	for (const [what, own, turns] of [
		["lower", 3, 2],
		["not raise", 30, 5],
	] as const) {
		test(`may ${what} the tree for itself`, async (t) => {
			const env = { PI_TURN_LIMIT_TREE_TURNS: String(own) };
			const { agent } = await family(t, { tree: { maxTurns: 6 } }, { env });
			assert.equal(agent.model.requests.length, turns);
		});
	}

	test("that is in a tree joins it though it has limits of its own for the day", async (t) => {
		const { agent } = await family(t, { tree: { maxTurns: 9 } }, { env: { PI_TURN_LIMIT_DAY_TURNS: "2" } });
		assert.equal(agent.model.requests.length, 2);
	});

	test("learns of the root's limits, with what was granted, and of those that a command has overruled", async (t) => {
		const seen: unknown[] = [];
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 9 }, tree: { maxTurns: 4 } },
			person: async (_asked, n) => {
				if (n === 1) return true;
				if (n === 2) await say(pi, "tree 6");
				return false;
			},
			model: () => {
				seen.push(announced());
				return noop;
			},
		});
		await say(pi, "day 20");
		await pi.run("go");
		const { name } = announced() ?? {};
		const tree = {
			name,
			at: directoryOf(pi),
			limits: { "day.maxTurns": 20, "tree.maxTurns": 4 },
			overruled: { "day.maxTurns": 9 },
		};
		const changed = {
			...tree,
			limits: { "day.maxTurns": 20, "tree.maxTurns": 5 },
			overruled: { "day.maxTurns": 9, "tree.maxTurns": 4 },
		};
		assert.deepEqual(seen, [tree, tree, tree, tree, tree, changed]);
	});
});

describe("while another agent holds what is left", () => {
	/** A root at the gate of its second turn, whose agent has the only turn that is left, or what `limits` says. */
	async function waiting(t: TestContext, limits: object, options: InsideOptions = {}) {
		const last = held(text("done"));
		let agent: Inside | undefined;
		let working: Promise<void> | undefined;
		const model: Script = async (_request, n) => {
			if (n > 1) return text("done");
			agent = await member(t, { model: [last] });
			working = agent.run("look");
			await agent.model.arrival(1);
			return noop;
		};
		const pi: Inside = await sharing(t, { limits, model, ...no, ...options });
		const run = pi.run("go");
		await pi.model.arrival(1);
		const rest = async () => {
			last.release();
			await working;
			await run;
		};
		return { pi, run, rest };
	}

	/** The widget shows each state: here the turn has ended, and the next one waits. */
	const atGate = (pi: Inside): Promise<unknown> =>
		pi.until("the end of the first turn", () => pi.events.some(({ type }) => type === "turn_end"));

	test("a turn waits, and is asked about once that is spent", async (t) => {
		const { pi, rest } = await waiting(t, { tree: { maxTurns: 2 } });
		await atGate(pi);
		assert.deepEqual(questions(pi), []);
		await rest();
		assert.deepEqual(questions(pi), ["You've used 2 turns in this tree of agents. Continue?"]);
	});

	test("the question is about the limit that is spent", async (t) => {
		const { pi, rest } = await waiting(t, { tree: { maxTurns: 2, maxCost: 0.01 } });
		await pi.until("the question", () => pi.asked.length > 0);
		assert.deepEqual(questions(pi), ["You've used $0.01 in this tree of agents. Continue?"]);
		await rest();
	});

	test("Escape ends the wait, and nothing stays held", async (t) => {
		const { pi, run, rest } = await waiting(t, { tree: { maxTurns: 2 } });
		const tree = announced();
		assert.ok(tree);
		await atGate(pi);
		await pi.session.abort();
		await run;
		assert.deepEqual(await status(pi, "Last run"), ["Last run: interrupted; spent: 1 turn, 1 tool call, $0.01."]);
		await rest();
		assert.deepEqual(await readTree(tree), {
			turns: { used: 2, held: 0, cap: "unlimited" },
			cost: { used: 20_000, held: 0, cap: "unlimited" },
			tokens: { used: 1100, held: 0, cap: "unlimited" },
			agents: { used: 2, held: 0, cap: "unlimited" },
		});
		assert.deepEqual(questions(pi), []);
	});

	test("the end of the session ends the wait", async (t) => {
		const { pi, rest } = await waiting(t, { tree: { maxTurns: 2 } });
		await atGate(pi);
		await pi.quit();
		await rest();
		assert.deepEqual([questions(pi), pi.model.requests.length], [[], 1]);
	});
});

test("a limit that is lifted while the ledger is busy stays lifted", async (t) => {
	let other: DatabaseSync | undefined;
	let turns = 0;
	let told: Promise<string[]> | undefined;
	const busy = (api: ExtensionAPI): void => {
		api.on("tool_call", () => {
			other = new DatabaseSync(fileOf(pi));
			other.exec("BEGIN IMMEDIATE");
		});
		api.on("turn_start", () => {
			if (++turns === 2)
				told = setImmediate()
					.then(() => say(pi, "tree unlimited"))
					.finally(() => other?.close());
		});
	};
	const model = [noop, text("done")];
	const pi: Inside = await sharing(t, {
		limits: { tree: { maxTurns: 9 } },
		model,
		extensions: [busy, installed],
		...no,
	});
	await pi.run("go");
	assert.deepEqual(await told, ["Tree turn limit set to unlimited; it never asks again in this session."]);
	assert.equal(
		pi.widgets.findLast((line) => line),
		"Turns: 2/25",
	);
	assert.deepEqual(await say(pi, "tree turns"), ["tree turns  unlimited  /turn-limit"]);
});

describe("a turn that takes longer than a minute", () => {
	/** Lets whole minutes pass, in which the timers of twenty seconds fire, as long as they run. */
	function minutes(t: TestContext) {
		const { now } = Date;
		const { setInterval: real, clearInterval: realClear } = globalThis;
		let offset = 0;
		const running = new Map<unknown, () => void>();
		t.mock.method(Date, "now", () => now() + offset);
		t.mock.method(globalThis, "setInterval", (then: () => void, ms?: number, ...args: unknown[]) => {
			const timer = Reflect.apply(real, undefined, [then, ms, ...args]) as NodeJS.Timeout;
			if (ms === 20_000) running.set(timer, then);
			return timer;
		});
		t.mock.method(globalThis, "clearInterval", (timer: NodeJS.Timeout | undefined) => {
			running.delete(timer);
			realClear(timer);
		});
		const pass = async (n: number): Promise<void> => {
			for (let third = 0; third < 3 * n; third++) {
				offset += 20_000;
				for (const then of running.values()) then();
				await setImmediate();
			}
		};
		return { pass, running };
	}

	test("stays held, and its agent alive, also after a look at the status", async (t) => {
		const { pass, running } = minutes(t);
		const slow = held(text("done"));
		const pi = await sharing(t, {
			limits: { day: { maxTurns: 9 }, tree: { maxTurns: 9 } },
			model: [noop, slow],
			...no,
		});
		const run = pi.run("go");
		await pi.model.arrival(2);
		await say(pi);
		await pass(5);
		const tree = announced();
		assert.ok(tree);
		const { agents, turns } = await readTree(tree);
		assert.deepEqual(
			{ agents, turns },
			{
				agents: { used: 0, held: 1, cap: "unlimited" },
				turns: { used: 1, held: 1, cap: "unlimited" },
			},
		);
		slow.release();
		await run;
		assert.equal(running.size, 0);
		assert.deepEqual(await status(pi, "Agents"), ["Agents of this tree, with this one: 0 running, 1 ended."]);
	});

	test("stays held where only the day is limited", async (t) => {
		const { pass, running } = minutes(t);
		const slow = held(text("done"));
		const pi = await sharing(t, { limits: { day: { maxTurns: 1 } }, model: [slow], ...no });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await say(pi);
		await pass(5);
		assert.equal(running.size, 1);
		slow.release();
		await run;
		assert.equal(running.size, 0);
		assert.deepEqual(await status(pi, "day turns"), ["day turns  1 of 1  day.maxTurns in turn-limit.json"]);
	});

	test("is not the only one: an agent stays alive while its person is asked", async (t) => {
		const { pass } = minutes(t);
		const seen: string[] = [];
		const pi: Inside = await sharing(t, {
			limits: { maxTurns: 1, tree: { maxTurns: 9 } },
			person: async () => {
				await say(pi);
				await pass(5);
				seen.push(...(await status(pi, "Agents")));
				return false;
			},
		});
		await pi.run("go");
		assert.deepEqual(seen, ["Agents of this tree, with this one: 1 running, 0 ended."]);
	});
});
