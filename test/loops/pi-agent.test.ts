import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Agent, type AgentOptions } from "@earendil-works/pi-agent-core";
import { type Api, type Model, Type } from "@earendil-works/pi-ai";
import { limitAgent, type LoopOptions } from "../../src/hosts/pi-agent/index.ts";
import { calls, type Reply, text } from "../harness/model.ts";
import { piStream, ScriptedModel, type Script } from "./model.ts";

const MODEL = { id: "m", api: "a", provider: "p", input: ["text"], contextWindow: 1e6 } as unknown as Model<Api>;
const work = (n: number): Reply => calls({ name: "noop", args: { n } });
const endless: Script = work;
const user = (content: string) => ({ role: "user", content, timestamp: 0 }) as const;

function stage(options: LoopOptions, script: Script, more: Partial<AgentOptions> = {}, terminate = false) {
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
	const agent = new Agent({ initialState: { model: MODEL, tools: [noop] }, streamFn: piStream(model), ...more });
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

test("a listener that throws does not take the outcome away", async () => {
	const { agent, outcomes } = stage({ turns: 2 }, endless);
	agent.subscribe((event) => {
		if (event.type === "turn_end") throw new Error("bad listener");
	});
	await assert.rejects(agent.prompt("go"));
	assert.equal(outcomes.length, 1);
});

test("a limit that refuses the first turn is named by the agent's error", async () => {
	const { agent, model } = stage({ turns: 0 }, endless);
	await agent.prompt("go");
	assert.match(agent.state.errorMessage ?? "", /^pi-turn-limit: stopped at the limit of 0 turns \(option\)/);
	assert.equal(model.requests.length, 0);
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
	assert.throws(() => limitAgent(agent, { turn: 1 } as never), { message: /^limitAgent\(\): unknown option "turn"/ });
});
