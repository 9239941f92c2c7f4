import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Agent, type AgentOptions, type StreamFn } from "@earendil-works/pi-agent-core";
import { type Api, type Model, Type } from "@earendil-works/pi-ai";
import { loopLimit } from "../../src/hosts/loop/index.ts";
import { limitAgent, type AgentLimitOptions } from "../../src/hosts/pi-agent/index.ts";
import { calls, type Reply, text } from "../harness/model.ts";
import { replaceVariables } from "../harness/session.ts";
import { piStream, PRICE, ScriptedModel, type Script } from "./model.ts";

const MODEL = { id: "m", api: "a", provider: "p", input: ["text"], contextWindow: 1e6 } as unknown as Model<Api>;
const work = (n: number): Reply => calls({ name: "noop", args: { n } });
const endless: Script = work;
const user = (content: string) => ({ role: "user", content, timestamp: 0 }) as const;

/** An agent of a program's own that does something before each prompt. */
class LateAgent extends Agent {
	override async prompt(...given: unknown[]): Promise<void> {
		await Promise.resolve();
		await (super.prompt as (...given: unknown[]) => Promise<void>)(...given);
	}
}

function stage(
	options: AgentLimitOptions,
	script: Script,
	more: Partial<AgentOptions> = {},
	terminate = false,
	Kind = Agent,
) {
	const model = new ScriptedModel(script);
	const outcomes: string[] = [];
	let ran = 0;
	const noop = {
		...{ name: "noop", label: "noop", description: "Does nothing." },
		parameters: Type.Object({}, { additionalProperties: true }),
		execute: () => {
			ran++;
			return Promise.resolve({ content: [{ type: "text" as const, text: "ok" }], details: undefined, terminate });
		},
	};
	const agent = new Kind({ initialState: { model: MODEL, tools: [noop] }, streamFn: piStream(model), ...more });
	const limit = limitAgent(agent, { ...options, onOutcome: ({ kind, turns }) => outcomes.push(`${kind} ${turns}`) });
	return { agent, limit, model, outcomes, ran: () => ran };
}

describe("hooks go on working:", () => {
	test("those that the agent had, and those that it is given later", async () => {
		const heard: string[] = [];
		const hooks = (when: string): Partial<AgentOptions> => ({
			prepareRequest: ({ context }) => {
				heard.push(`${when} request`);
				return { context: { ...context, messages: [...context.messages, user(`${when} theirs`)] } };
			},
			beforeToolCall: () => {
				heard.push(`${when} call`);
				return Promise.resolve(undefined);
			},
			finishTurn: () => void heard.push(`${when} turn`),
		});
		const { agent, model } = stage({ turns: 1 }, endless, hooks("early"));
		await agent.prompt("go");
		Object.assign(agent, hooks("late"));
		await agent.prompt("go");
		const each = (when: string): string[] => ["request", "call", "turn"].map((what) => `${when} ${what}`);
		assert.deepEqual(heard, [...each("early"), ...each("late")]);
		assert.ok(model.requests[0]?.includes("early theirs"));
		assert.ok(model.requests[1]?.includes("late theirs"));
		assert.equal(model.requests.length, 2);
	});

	test("one that calls the hook before it, and one that is put back", async () => {
		const heard: string[] = [];
		const early = {
			beforeToolCall: () => Promise.resolve(void heard.push("early call")),
			prepareRequest: () => void heard.push("early request"),
			finishTurn: () => void heard.push("early turn"),
		};
		const { agent, outcomes, model } = stage({ turns: 2, grace: 0 }, endless, early);
		const { prepareRequest, beforeToolCall, finishTurn } = agent;
		agent.prepareRequest = (...given) => (heard.push("late request"), prepareRequest?.(...given));
		agent.beforeToolCall = async (...given) => (heard.push("late call"), await beforeToolCall?.(...given));
		agent.finishTurn = (...given) => (heard.push("late turn"), finishTurn?.(...given));
		await agent.prompt("go");
		const turn = ["request", "call", "turn"].flatMap((what) => [`late ${what}`, `early ${what}`]);
		assert.deepEqual([heard, outcomes, model.requests.length], [[...turn, ...turn], ["exhausted 2"], 2]);
		Object.assign(agent, { prepareRequest, beforeToolCall, finishTurn });
		await agent.prompt("go");
		assert.deepEqual(outcomes, ["exhausted 2", "exhausted 2"]);
		assert.ok(!heard.slice(turn.length * 2).some((hook) => hook.startsWith("late")));
	});

	test("a hook that blocks a call, which is then not counted", async () => {
		const beforeToolCall = () => Promise.resolve({ block: true, reason: "no" });
		const { agent, limit, ran } = stage({ turns: 2 }, endless, { beforeToolCall });
		await agent.prompt("go");
		assert.deepEqual([ran(), limit.outcome?.toolCalls], [0, 0]);
	});

	test("a finishTurn that ends the run, or goes on after an answer", async () => {
		const ends = stage({ turns: 9 }, endless, { finishTurn: () => ({ action: "end" }) });
		await ends.agent.prompt("go");
		assert.deepEqual(ends.outcomes, ["completed 1"]);
		const goesOn = stage({ turns: 3, grace: 0 }, () => text("done"), { finishTurn: () => ({ action: "continue" }) });
		await goesOn.agent.prompt("go");
		assert.deepEqual(goesOn.outcomes, ["exhausted 3"]);
	});

	test("a prepareRequest that throws ends the run with its error", async () => {
		const prepareRequest = (): never => {
			throw new Error("bad hook");
		};
		const { agent, outcomes } = stage({}, endless, { prepareRequest });
		await agent.prompt("go");
		assert.equal(agent.state.errorMessage, "bad hook");
		assert.deepEqual(outcomes, ["failed 0"]);
	});

	for (const hook of ["finishTurn", "streamFn"] as const)
		test(`a ${hook} that throws makes the run fail`, async () => {
			const fails = (): never => {
				throw new Error("bad hook");
			};
			const { agent, limit, outcomes } = stage({}, endless, { [hook]: fails });
			await agent.prompt("go");
			assert.equal(agent.state.errorMessage, "bad hook");
			assert.deepEqual([outcomes, limit.outcome?.kind], [["failed 1"], "failed"]);
		});

	test("one that calls the hook before it where there was none", async () => {
		const { agent, outcomes, ran } = stage({ turns: 2, grace: 0 }, endless);
		const { beforeToolCall } = agent;
		agent.beforeToolCall = (...given) => beforeToolCall?.(...given) ?? Promise.resolve(undefined);
		await agent.prompt("go");
		assert.deepEqual([outcomes, ran()], [["exhausted 2"], 2]);
	});

	test("a finishTurn that ends the run at the limit, which is then complete", async () => {
		const { agent, outcomes } = stage({ turns: 1 }, endless, { finishTurn: () => ({ action: "end" }) });
		await agent.prompt("go");
		assert.deepEqual(outcomes, ["completed 1"]);
	});

	test("a finishTurn that ends the run in the middle of a last answer", async () => {
		const ends = { action: "end" } as const;
		const finishTurn = (): typeof ends | undefined => (model.requests.length === 2 ? ends : undefined);
		const { agent, model, outcomes } = stage({ turns: 1, policy: "synthesize" }, endless, { finishTurn });
		await agent.prompt("go");
		assert.deepEqual([model.requests.length, outcomes], [2, ["exhausted 2"]]);
	});

	test("a finishTurn that goes on after an answer ends cleanly at the limit", async () => {
		const finishTurn = () => ({ action: "continue" as const });
		const { agent, outcomes } = stage({ turns: 3, grace: 0 }, () => text("done"), { finishTurn });
		await agent.prompt("go");
		assert.deepEqual([outcomes, agent.state.errorMessage], [["exhausted 3"], undefined]);
	});

	test("what a tool reports that it has spent is charged", async () => {
		const { agent, limit } = stage({ turns: 2, grace: 0 }, endless);
		const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 };
		const usage = { input: 700, output: 60, cacheRead: 9_000, cacheWrite: 5, totalTokens: 9_765, cost };
		agent.afterToolCall = () => Promise.resolve({ usage });
		await agent.prompt("go");
		const { cost: dollars, tokens } = limit.snapshot();
		const { outcome } = limit;
		const replies = 2 * PRICE;
		assert.deepEqual([outcome?.cost, dollars.used], [replies + 0.5, replies + 0.5]);
		assert.ok(tokens.used >= 2 * 765 && outcome?.tokens === tokens.used, `${tokens.used} tokens`);
	});

	test("tools that end the run end it by themselves", async () => {
		const { agent, outcomes } = stage({ turns: 1 }, endless, {}, true);
		await agent.prompt("go");
		assert.deepEqual(outcomes, ["completed 1"]);
	});
});

test("follow-ups are turns, and stay in their queue at the limit", async () => {
	const { agent, outcomes, model } = stage({ turns: 2, grace: 0 }, () => text("done"));
	for (const words of ["one", "two", "three"]) agent.followUp(user(words));
	await agent.prompt("go");
	assert.deepEqual([outcomes, model.requests.length, agent.hasQueuedMessages()], [["exhausted 2"], 2, true]);
});

describe("under synthesize a follow-up stays in its queue", () => {
	const reports: Script = (n, texts) => (texts.some((heard) => heard.includes("is spent")) ? text("report") : work(n));

	for (const [when, script, before, after, requests, outcome] of [
		["that waits while the last answer is given", reports, 1, 0, 3, "synthesized 3"],
		["that comes after the last answer", reports, 0, 1, 3, "synthesized 3"],
		["that the limit leaves no turn for", () => text("done"), 2, 0, 2, "exhausted 2"],
	] as const)
		test(when, async () => {
			const { agent, model, outcomes } = stage({ turns: 2, policy: "synthesize", grace: 0 }, script);
			const queue = (times: number): void => {
				for (let n = 0; n < times; n++) agent.followUp(user("next"));
			};
			queue(before);
			agent.subscribe(({ type }) => {
				if (type === "turn_end" && model.requests.length === requests) queue(after);
			});
			await agent.prompt("go");
			assert.deepEqual([model.requests.length, outcomes, agent.hasQueuedMessages()], [requests, [outcome], true]);
			assert.equal(agent.state.errorMessage, undefined);
		});
});

test("a second prompt at once is rejected by the agent, and is no run", async () => {
	const { agent, outcomes } = stage({ turns: 2 }, endless);
	const first = agent.prompt("go");
	await assert.rejects(agent.prompt("again"), /already processing/);
	await first;
	assert.deepEqual(outcomes, ["exhausted 2"]);
});

test("continue() is a run; one that the agent refuses is none", async () => {
	const { agent, outcomes, limit } = stage({ turns: 1 }, endless);
	await assert.rejects(agent.continue(), /No messages/);
	assert.equal(limit.outcome, undefined);
	await agent.prompt("go");
	await agent.continue();
	assert.deepEqual(outcomes, ["exhausted 1", "exhausted 1"]);
});

for (const [what, events, expected] of [
	["once", ["turn_end"], "failed 2"],
	["at every event", [], "failed 0"],
	["at the end", ["agent_end"], "exhausted 2"],
] as const)
	test(`a listener that throws ${what} does not take the outcome away`, async () => {
		const { agent, outcomes } = stage({ turns: 2 }, endless);
		agent.subscribe(({ type }) => {
			if (events.length === 0 || events.some((event) => event === type)) throw new Error("bad listener");
		});
		await assert.rejects(agent.prompt("go"), /bad listener/);
		assert.deepEqual(outcomes, [expected]);
	});

test("a prompt before the agent is idle is rejected, and takes no meters away", async () => {
	const { agent, limit, outcomes } = stage({ turns: 2 }, endless);
	agent.subscribe(async ({ type }) => {
		if (type === "agent_end") await assert.rejects(agent.prompt("again"), /already processing/);
	});
	await agent.prompt("go");
	assert.deepEqual([limit.snapshot().turns.used, outcomes], [2, ["exhausted 2"]]);
});

test("a second prompt at once harms nothing where an agent of theirs begins late", async () => {
	const { agent, outcomes } = stage({ turns: 2 }, endless, {}, false, LateAgent);
	const first = agent.prompt("go");
	await assert.rejects(agent.prompt("again"), /already processing/);
	await first;
	assert.deepEqual([outcomes, agent.state.errorMessage], [["exhausted 2"], undefined]);
});

test("a hook that is called outside a run lets nothing through", async () => {
	const { agent } = stage({}, endless);
	const call = agent.beforeToolCall?.({ toolCall: { name: "noop", id: "1" }, args: {} } as never);
	await assert.rejects(call ?? Promise.resolve(), /^Error: pi-turn-limit: the agent runs, but not by prompt/);
});

test("each call is gated, although an agent may describe them in one object", async () => {
	const { agent, ran } = stage({ toolCalls: 2 }, (n) => (n === 1 ? work(n) : text("done")));
	const given = { toolCall: { name: "noop", id: "a" }, args: {} };
	const reasons: (string | undefined)[] = [];
	agent.subscribe(async ({ type }) => {
		if (type !== "tool_execution_end") return;
		for (const id of ["a", "b"]) {
			given.toolCall.id = id;
			reasons.push((await agent.beforeToolCall?.(given as never))?.reason);
		}
	});
	await agent.prompt("go");
	assert.equal(reasons[0], undefined);
	assert.match(reasons[1] ?? "", /^Not run/);
	assert.equal(ran(), 1);
});

test("of two limits on one agent the tighter one acts", async () => {
	for (const turns of [2, 5]) {
		const { agent, model } = stage({ turns, grace: 0 }, endless);
		limitAgent(agent, { turns: 7 - turns, grace: 0 });
		await agent.prompt("go");
		assert.equal(model.requests.length, 2);
	}
});

test("time that runs out aborts the agent", async () => {
	const waits: StreamFn = async (_model, _context, options) => {
		const { signal } = options ?? {};
		if (signal?.aborted === false) await once(signal, "abort");
		throw new Error("cut off");
	};
	const { agent, limit } = stage({ time: 0.05 }, endless, { streamFn: waits });
	await agent.prompt("go");
	assert.ok(limit.outcome?.kind === "exhausted" && limit.outcome.cut);
});

for (const [what, reply, requests] of [
	["with its thoughts", { thinking: "Well.", text: "report" }, 2],
	["of nothing but blanks", { text: " \n" }, 3],
] as const)
	test(`a last answer ${what} is ${requests === 2 ? "one" : "asked for again"}`, async () => {
		const script: Script = (n) => (n === 1 ? work(n) : n === 2 ? reply : text("report"));
		const { agent, model, outcomes } = stage({ turns: 1, policy: "synthesize" }, script);
		await agent.prompt("go");
		assert.deepEqual([model.requests.length, outcomes], [requests, [`synthesized ${requests}`]]);
	});

test("a reply without usage costs nothing, and a failure without a reason is one", async () => {
	const model = new ScriptedModel(() => text("done"));
	const stream = piStream(model);
	const streamFn: StreamFn = async (...args) => {
		const made = await stream(...args);
		const reply = await made.result();
		Reflect.deleteProperty(reply, "usage");
		if (model.requests.length === 2) reply.stopReason = "error";
		return made;
	};
	const { agent, limit, outcomes } = stage({}, endless, { streamFn });
	await agent.prompt("go");
	await agent.prompt("go");
	assert.deepEqual(outcomes, ["completed 1", "failed 1"]);
	assert.ok(limit.outcome?.kind === "failed" && limit.outcome.message === "error");
});

test("a prompt as soon as the agent is idle is a run, and the outcome of the one before is known", async () => {
	const { agent, limit, model, outcomes } = stage({ turns: 2 }, endless);
	const first = agent.prompt("go");
	await agent.waitForIdle();
	assert.equal(limit.outcome?.kind, "exhausted");
	await agent.prompt("again");
	await first;
	assert.deepEqual([outcomes, model.requests.length], [["exhausted 2", "exhausted 2"], 4]);
});

test("the outcome is known to who hears that the agent has ended", async () => {
	const { agent, limit } = stage({ turns: 2 }, endless);
	let heard: string | undefined;
	agent.subscribe(({ type }) => {
		if (type === "agent_end") heard = limit.outcome?.kind;
	});
	await agent.prompt("go");
	assert.equal(heard, "exhausted");
});

test("a limit that refuses the first turn is named by the agent's error", async () => {
	const { agent, model } = stage({ turns: 0 }, endless);
	await agent.prompt("go");
	assert.match(agent.state.errorMessage ?? "", /^pi-turn-limit: stopped at the limit of 0 turns \(option\)/);
	assert.equal(model.requests.length, 0);
});

test("an agent that is given the limit as its parent shares its tree", async (t) => {
	const agentDir = mkdtempSync(join(tmpdir(), "pi-test-"));
	t.after(() => rmSync(agentDir, { recursive: true }));
	t.after(replaceVariables({ PI_CODING_AGENT_DIR: agentDir }));
	let turns = 0;
	const beforeToolCall = async (): Promise<undefined> => {
		const member = loopLimit({ parent: limit, turns: "unlimited", grace: 0 }).start();
		for (; (await member.turn()) !== undefined; turns++) await member.endTurn({ goesOn: true });
		await member.settle();
	};
	const { agent, limit, model } = stage({ treeTurns: 3, grace: 0 }, endless, { beforeToolCall });
	await agent.prompt("go");
	assert.deepEqual([model.requests.length, turns], [1, 2]);
});

test("a shared limit that others have spent meanwhile ends the run cleanly", async (t) => {
	const agentDir = mkdtempSync(join(tmpdir(), "pi-test-"));
	t.after(() => rmSync(agentDir, { recursive: true }));
	t.after(replaceVariables({ PI_CODING_AGENT_DIR: agentDir }));
	const options = { turns: "unlimited", dayTurns: 3, grace: 0 } as const;
	const beforeToolCall = async (): Promise<undefined> => {
		const other = loopLimit(options).start();
		for (let n = 0; n < 2; n++) {
			await other.turn();
			await other.endTurn({ goesOn: n === 0 });
		}
		await other.settle();
	};
	const { agent, limit, model } = stage(options, endless, { beforeToolCall });
	await agent.prompt("go");
	assert.deepEqual([agent.state.errorMessage, model.requests.length], [undefined, 1]);
	assert.ok(limit.outcome?.kind === "exhausted" && limit.outcome.meter === "dayTurns");
});

test("an abort after a turn lets no further request leave", async () => {
	const { agent, limit, model } = stage({ turns: 5 }, endless);
	agent.subscribe((event) => {
		if (event.type === "turn_end") agent.abort();
	});
	await agent.prompt("go");
	assert.deepEqual([limit.outcome?.kind, model.requests.length], ["interrupted", 1]);
});

describe("cost", () => {
	/** A model without prices, as one that somebody runs at home. */
	const unpriced = (model: ScriptedModel): StreamFn => {
		const stream = piStream(model);
		return async (...args) => {
			const made = await stream(...args);
			const { usage } = await made.result();
			usage.cost.total = 0;
			return made;
		};
	};

	test("is what pi's model reports, and a price is not asked for it", async () => {
		const { agent, limit } = stage({ turns: 2, price: () => 9 }, endless);
		await agent.prompt("go");
		assert.equal(limit.outcome?.cost, 0.5);
	});

	test("of a model without prices is what the price says of each reply", async () => {
		const asked: unknown[] = [];
		const price = (reply: { role: string; model: string }): number => {
			asked.push(reply.role);
			return 0.4;
		};
		const model = new ScriptedModel(endless);
		const { agent, limit } = stage({ cost: 1, grace: 0, price }, endless, { streamFn: unpriced(model) });
		await agent.prompt("go");
		assert.deepEqual([limit.outcome?.kind, limit.outcome?.cost, model.requests.length], ["exhausted", 1.2, 3]);
		assert.deepEqual(asked, Array(3).fill("assistant"));
	});

	test("that nobody knows is said once", async () => {
		const problems: string[] = [];
		const model = new ScriptedModel(endless);
		const onProblem = (problem: string): unknown => problems.push(problem);
		const { agent } = stage({ turns: 3, cost: 1, onProblem }, endless, { streamFn: unpriced(model) });
		await agent.prompt("go");
		assert.equal(problems.length, 1);
		assert.match(problems[0] ?? "", /^Cost is limited, but a response came without one/);
	});
});

test("notes are not left in the transcript", async () => {
	const { agent, model } = stage({ turns: 2, grace: 1 }, endless);
	await agent.prompt("go");
	assert.match(model.requests[1]?.at(-1) ?? "", /^Only 1 turn left/);
	assert.ok(!JSON.stringify(agent.state.messages).includes("Only 1 turn left"));
});

test("meters and variables can be read, and wrong options are refused", async () => {
	const { agent, limit } = stage({ turns: 3 }, endless);
	await agent.prompt("go");
	assert.equal(limit.snapshot().turns.used, 3);
	assert.match(limit.environment()["PI_TURN_LIMIT_ROOT"] ?? "", /^\d+\./);
	assert.throws(() => limitAgent(null as never), {
		name: "TypeError",
		message: "limitAgent(): expected an Agent of pi-agent-core, got null.",
	});
	assert.throws(() => limitAgent(agent, { turn: 1 } as never), { message: /^limitAgent\(\): unknown option "turn"/ });
});
