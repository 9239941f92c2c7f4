/* eslint-disable @typescript-eslint/no-deprecated -- what many programs still call */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import {
	APICallError,
	consumeStream,
	createTextStreamResponse,
	hasToolCall,
	isStepCount,
	jsonSchema,
	type ModelMessage,
	Output,
	stepCountIs,
	tool,
	toTextStream,
} from "ai";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { aiLimit, type AiLimit, type AiOptions, LimitExceeded, type Outcome } from "../../src/hosts/ai/index.ts";
import { IN_FORM, type SdkStep } from "../../src/hosts/ai/guard.ts";
import { calls, type Reply, text } from "../harness/model.ts";
import { aiModel, ScriptedModel, type Script } from "./model.ts";

const input = jsonSchema<{ n?: number }>({ type: "object", properties: {} });
const work = (n: number): Reply => calls({ name: "noop", args: { n } });
const endless: Script = work;
const FAILURE: Reply = { failure: { status: 400, message: "no such model" } };
const fails = (): never => {
	throw new Error("bad hook");
};

type StreamPart =
	Awaited<ReturnType<ReturnType<typeof aiModel>["doStream"]>>["stream"] extends ReadableStream<infer Part>
		? Part
		: never;

const NO_USAGE = {
	inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
	outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/** Deprecated, and still what many tools say. */
const NEEDS_APPROVAL = { needsApproval: true };

/** A model, a tool that counts its executions, and a limit whose outcomes are kept. */
function stage(options: AiOptions, script: Script) {
	const model = new ScriptedModel(script);
	const outcomes: string[] = [];
	let ran = 0;
	const noop = tool({ inputSchema: input, execute: () => `result ${++ran}` });
	const limit = aiLimit({ ...options, onOutcome: ({ kind, turns }) => outcomes.push(`${kind} ${turns}`) });
	const settings = { model: aiModel(model), prompt: "go", tools: { noop }, maxRetries: 0 };
	return { model, limit, settings, outcomes, noop, ran: () => ran };
}

describe("a program's own hooks go on working:", () => {
	test("stopWhen ends the run by itself", async () => {
		const { limit, settings, model } = stage({ turns: 5 }, endless);
		const result = await limit.generateText({ ...settings, stopWhen: [isStepCount(9), isStepCount(2)] });
		assert.equal(model.requests.length, 2);
		assert.equal((await limit.outcomeOf(result)).kind, "completed");
	});

	for (const [what, options] of [
		["", {}],
		[" without a wrap-up", { grace: 0 }],
		[" of the session", { turns: "unlimited", sessionTurns: 3 }],
		[" with a last answer, for which it leaves no step", { policy: "synthesize" }],
	] as const) {
		test(`stopWhen that counts as many steps as a limit${what} has no answer, and the outcome says so`, async () => {
			for (const how of ["generateText", "streamText"] as const) {
				const { limit, settings, model } = stage({ turns: 3, ...options }, endless);
				const result = await limit[how]({ ...settings, stopWhen: isStepCount(3) });
				assert.equal(await result.text, "");
				const { kind, turns } = await limit.outcomeOf(result);
				assert.deepEqual([kind, turns, model.requests.length], ["exhausted", 3, 3]);
			}
		});
	}

	test("stopWhen in the middle of a last answer leaves none", async () => {
		const { limit, settings, outcomes } = stage({ turns: 3, policy: "synthesize" }, endless);
		const stopWhen = ({ steps }: { steps: readonly { toolCalls: unknown[] }[] }): boolean =>
			steps[3]?.toolCalls.length === 1;
		await limit.generateText({ ...settings, stopWhen });
		assert.deepEqual(outcomes, ["exhausted 4"]);
	});

	test("stopWhen that waits for an answer in a tool call has it, also on the last turn", async () => {
		const { limit, settings } = stage({ turns: 3 }, (n) => (n < 3 ? work(n) : calls({ name: "report", args: {} })));
		const report = tool({ inputSchema: input, execute: () => "reported" });
		const tools = { ...settings.tools, report };
		const result = await limit.generateText({ ...settings, tools, stopWhen: [isStepCount(9), hasToolCall("report")] });
		assert.equal((await limit.outcomeOf(result)).kind, "wrapped_up");
	});

	test("stopWhen at a limit asks nobody", async () => {
		const { limit, settings, model } = stage({ turns: 3, ask: fails }, endless);
		const result = await limit.generateText({ ...settings, stopWhen: isStepCount(3) });
		const { kind } = await limit.outcomeOf(result);
		assert.deepEqual([kind, model.requests.length], ["completed", 3]);
	});

	test("a stopWhen that throws rejects, and the run has an outcome", async () => {
		const { limit, settings, outcomes } = stage({ turns: 5 }, endless);
		const stopWhen = (): never => {
			throw new Error("bad condition");
		};
		await assert.rejects(limit.generateText({ ...settings, stopWhen }), /bad condition/);
		assert.equal(outcomes.length, 1);
	});

	test("prepareStep's messages are sent, with our notes after them", async () => {
		const { limit, settings, model } = stage({ turns: 2, grace: 1 }, endless);
		const prepareStep = ({ messages }: { messages: ModelMessage[] }) => ({
			messages: [...messages, { role: "user" as const, content: "theirs" }],
		});
		await limit.generateText({ ...settings, prepareStep });
		const [first = [], second = []] = model.requests;
		assert.equal(first.at(-1), "theirs");
		assert.equal(second.filter((heard) => heard === "theirs").length, 2);
		assert.match(second.at(-1) ?? "", /^Only 1 turn left/);
	});

	test("a prepareStep that throws rejects, and the run has failed", async () => {
		const { limit, settings, outcomes, model } = stage({}, endless);
		const prepareStep = (): never => {
			throw new Error("bad hook");
		};
		await assert.rejects(limit.generateText({ ...settings, prepareStep }), /bad hook/);
		assert.deepEqual([outcomes, model.requests.length], [["failed 0"], 0]);
	});

	test("callbacks are called, and one that throws harms nothing", async () => {
		const { limit, settings, outcomes } = stage({ turns: 2, grace: 0 }, endless);
		const heard: string[] = [];
		await limit.generateText({
			...settings,
			onStepEnd: () => {
				heard.push("step");
				throw new Error("no log");
			},
			onEnd: () => void heard.push("end"),
		});
		assert.deepEqual([heard, outcomes], [["step", "step", "end"], ["exhausted 2"]]);
	});

	test("toolApproval denies what it denies, and what it lets through is gated", async () => {
		const { limit, settings, ran, outcomes } = stage({ toolCalls: 1 }, endless);
		let asked = 0;
		const toolApproval = (): "denied" | "approved" => (++asked === 1 ? "denied" : "approved");
		await limit.generateText({ ...settings, toolApproval });
		assert.deepEqual([ran(), outcomes], [1, ["exhausted 3"]]);
	});

	for (const [what, approval] of [
		["a status for a tool", { noop: "denied" as const }],
		["a function for a tool", { noop: () => ({ type: "denied" as const, reason: "not today" }) }],
	] as const) {
		test(`${what} is read as before`, async () => {
			const { limit, settings, ran } = stage({ turns: 2 }, endless);
			await limit.generateText({ ...settings, toolApproval: approval });
			assert.equal(ran(), 0);
		});
	}

	test("a steering object of their own carries our message too", async () => {
		const { experimental_createSteering: create } = await import("ai");
		const { limit, settings, model, outcomes } = stage({ turns: 1, policy: "synthesize" }, (n) =>
			n === 1 ? work(1) : text(n === 2 ? "" : "report"),
		);
		await limit.generateText({ ...settings, experimental_steering: create() });
		assert.deepEqual([model.requests.length, outcomes], [3, ["synthesized 3"]]);
	});

	for (const how of ["generateText", "streamText"] as const) {
		test(`a steering message that the limit leaves no turn for takes no answer away from ${how}`, async () => {
			const { experimental_createSteering: create } = await import("ai");
			for (const [policy, requests, kind] of [
				["abort", 1, "exhausted"],
				["synthesize", 3, "synthesized"],
			] as const) {
				const steering = create();
				const { limit, settings, model } = stage({ turns: 1, policy }, (n) => {
					void steering.steer("And then?");
					return text(`answer ${n}`);
				});
				const result = await limit[how]({ ...settings, experimental_steering: steering });
				assert.equal(await result.text, `answer ${requests}`);
				assert.deepEqual([(await limit.outcomeOf(result)).kind, model.requests.length], [kind, requests]);
			}
		});
	}

	test("an agent's prepareCall, and its own stopWhen", async () => {
		const { limit, settings, model, outcomes } = stage({ turns: 5 }, endless);
		const { prompt, ...rest } = settings;
		const agent = new limit.ToolLoopAgent({
			...rest,
			stopWhen: stepCountIs(3),
			prepareCall: (call) => ({ ...call, instructions: "prepared" }),
		});
		await agent.generate({ prompt });
		assert.deepEqual([model.requests.length, outcomes], [3, ["completed 3"]]);
		assert.ok(model.requests[0]?.includes("prepared"));
	});

	test("an agent's own onStepError", async () => {
		const { limit, settings, outcomes } = stage({}, () => FAILURE);
		const { prompt, ...rest } = settings;
		const heard: string[] = [];
		const onStepError = ({ error }: { error: unknown }): void => void heard.push(String(error));
		const agent = new limit.ToolLoopAgent({ ...rest, onStepError, onError: () => {} });
		await (await agent.stream({ prompt })).consumeStream();
		await assert.rejects(agent.generate({ prompt }));
		assert.deepEqual([heard.length, outcomes], [2, ["failed 1", "failed 1"]]);
	});

	test("an agent takes more than the SDK's 20 steps where the limit allows it", async () => {
		const { limit, settings, model } = stage({ turns: 23 }, endless);
		const { prompt, ...rest } = settings;
		await new limit.ToolLoopAgent(rest).generate({ prompt });
		assert.equal(model.requests.length, 23);
	});
});

describe("an approval", () => {
	/** The messages of a run that waits for an approval, and the answer to it. */
	async function approved(options: AiOptions) {
		const { limit, settings, model, ran, outcomes } = stage(options, (n) => (n === 1 ? work(1) : text("done")));
		let executed = 0;
		const noop = tool({ inputSchema: input, ...NEEDS_APPROVAL, execute: () => `result ${++executed}` });
		const { prompt, ...rest } = { ...settings, tools: { noop } };
		const first = await limit.generateText({ ...rest, messages: [{ role: "user", content: prompt }] });
		const request = first.content.find((part) => part.type === "tool-approval-request");
		assert.ok(request);
		const messages: ModelMessage[] = [
			{ role: "user", content: prompt },
			...first.finalStep.response.messages,
			{
				role: "tool",
				content: [{ type: "tool-approval-response", approvalId: request.approvalId, approved: true }],
			},
		];
		return { limit, rest, model, ran, outcomes, messages, executed: () => executed };
	}

	test("that is waited for ends the run, and the call counts in the run that makes it", async () => {
		const { limit, rest, messages, executed, outcomes, model } = await approved({ turns: 5 });
		assert.deepEqual(outcomes, ["completed 1"]);
		const result = await limit.generateText({ ...rest, messages });
		const { turns, toolCalls } = await limit.outcomeOf(result);
		assert.deepEqual([executed(), turns, toolCalls, model.requests.length], [1, 1, 1, 2]);
	});

	test("that a toolApproval of theirs cannot judge makes the stream fail with its error", async () => {
		const { limit, rest, messages, executed } = await approved({});
		const result = limit.streamText({ ...rest, messages, toolApproval: fails, onError: () => {} });
		const outcome = await limit.outcomeOf(result);
		assert.ok(outcome.kind === "failed");
		assert.deepEqual([outcome.message, outcome.turns, executed()], ["bad hook", 0, 0]);
	});

	test("lets no call run where the limit lets no turn be made", async () => {
		const { rest, messages, model } = await approved({ turns: 5 });
		const limit = aiLimit({ turns: 0 });
		let executed = 0;
		const noop = tool({ inputSchema: input, ...NEEDS_APPROVAL, execute: () => `result ${++executed}` });
		await assert.rejects(limit.generateText({ ...rest, tools: { noop }, messages }), LimitExceeded);
		assert.deepEqual([executed, model.requests.length], [0, 1]);
	});
});

describe("a call that the provider runs", () => {
	/** Each response has a call of the program's, and then one that the provider has answered, or answers later. */
	function provided(options: AiOptions, isLate: boolean) {
		const script: Script = (_n, texts) =>
			texts.some((heard) => heard.includes("is spent")) ? text("report") : text("");
		const { limit, settings, model, outcomes, ran } = stage(options, script);
		const id = "provider.search" as const;
		const search = { type: "provider", isProviderExecuted: true, id, args: {}, inputSchema: input } as const;
		const generate = settings.model.doGenerate.bind(settings.model);
		settings.model.doGenerate = async (given) => {
			const answer = await generate(given);
			const n = model.requests.length;
			if (answer.content.length > 0) return answer;
			const theirs = { toolCallId: `p${n}`, toolName: "search" } as const;
			const asked = { type: "tool-call", ...theirs, input: `{"n":${n}}`, providerExecuted: true } as const;
			const found = { type: "tool-result", ...theirs, result: "found" } as const;
			const ours = { type: "tool-call", toolCallId: `c${n}`, toolName: "noop", input: `{"n":${n}}` } as const;
			const finishReason = { unified: "tool-calls", raw: undefined } as const;
			return { ...answer, finishReason, content: isLate ? [asked] : [ours, asked, found] };
		};
		const tools = { ...settings.tools, search: { ...search, supportsDeferredResults: isLate } };
		return {
			call: () => limit.generateText({ ...settings, tools: tools }),
			model,
			outcomes,
			ran,
		};
	}

	test("is neither counted nor refused, and takes no last answer away", async () => {
		const { call, model, outcomes, ran } = provided({ toolCalls: 1, policy: "synthesize" }, false);
		const result = await call();
		assert.deepEqual([result.text, outcomes, ran(), model.requests.length], ["report", ["synthesized 3"], 1, 3]);
		const refused = result.content.flatMap((part) =>
			part.type === "tool-approval-response" ? part.toolCall.toolName : [],
		);
		assert.deepEqual(refused, ["noop"]);
	});

	test("and answers later keeps the result of a run that the limit ends meanwhile", async () => {
		const { call, model, outcomes } = provided({ turns: 2, grace: 0 }, true);
		const { steps } = await call();
		assert.deepEqual([steps.length, model.requests.length, outcomes], [2, 2, ["exhausted 2"]]);
	});
});

describe("a stream", () => {
	test("that nobody reads has an outcome once somebody asks for it", async () => {
		const { limit, settings, model } = stage({ turns: 3, grace: 0 }, endless);
		const result = limit.streamText(settings);
		const { kind, turns } = await limit.outcomeOf(result);
		assert.deepEqual([kind, turns, model.requests.length], ["exhausted", 3, 3]);
	});

	for (const streamed of ["textStream", "stream"] as const) {
		test(`that is left in the middle of ${streamed} was interrupted, and makes no further request`, async () => {
			const script: Script = (n) => ({ ...work(n), text: `turn ${n}` });
			const { limit, settings, model, outcomes } = stage({ turns: 9 }, script);
			const result = limit.streamText(settings);
			for await (const part of result[streamed]) if (JSON.stringify(part).includes("turn 2")) break;
			assert.equal((await limit.outcomeOf(result)).kind, "interrupted");
			const requests = model.requests.length;
			// Not even if somebody wants to read on.
			await result.consumeStream();
			assert.deepEqual([model.requests.length, outcomes.length], [requests, 1]);
		});
	}

	for (const [how, streamOf] of [
		["its first part", (result) => result.stream],
		["its first part in a browser", (result) => result.toUIMessageStreamResponse().body as ReadableStream],
	] as [string, (result: Read) => ReadableStream][])
		for (const options of [{ turns: 0 }, { turns: 9 }, { sessionTurns: 2 }])
			test(`that is left at ${how} makes no request under ${JSON.stringify(options)}`, async () => {
				const { limit, settings, model, outcomes } = stage(options, endless);
				const errors = new Set<unknown>();
				for (let n = 0; n < 3; n++) {
					const result = limit.streamText({
						...settings,
						onError: ({ error }) => void errors.add((error as Error).name),
					});
					const reader = streamOf(result).getReader();
					await reader.read();
					await reader.cancel();
					assert.equal((await limit.outcomeOf(result)).kind, "interrupted");
				}
				await new Promise(setImmediate);
				assert.deepEqual([model.requests.length, outcomes], [0, Array(3).fill("interrupted 0")]);
				assert.deepEqual([...errors], ["AbortError"]);
			});

	test("that fails has failed, whoever waits for it", async () => {
		const { limit, settings, outcomes } = stage({}, () => FAILURE);
		const result = limit.streamText({ ...settings, onError: () => {} });
		await assert.rejects(async () => await result.text);
		const outcome = await limit.outcomeOf(result);
		assert.ok(outcome.kind === "failed" && outcome.by === "provider");
		assert.deepEqual(outcomes, ["failed 1"]);
	});

	type Read = Pick<
		ReturnType<AiLimit["streamText"]>,
		"consumeStream" | "text" | "textStream" | "toUIMessageStreamResponse"
	> & { readonly stream: ReadableStream };
	for (const [how, read] of [
		["consumeStream()", (result) => result.consumeStream()],
		["toUIMessageStreamResponse()", (result) => result.toUIMessageStreamResponse().text()],
		["textStream", (result) => result.textStream.pipeTo(new WritableStream())],
	] as [string, (result: Read) => Promise<unknown>][]) {
		test(`that fails has an outcome for who reads it by ${how}`, async () => {
			const { limit, settings, outcomes } = stage({}, () => FAILURE);
			await read(limit.streamText({ ...settings, onError: () => {} }));
			assert.deepEqual(outcomes, ["failed 1"]);
		});
	}

	for (const [what, script] of [
		["an answer", () => text("The rep")],
		["a call", work],
	] as [string, Script][])
		test(`that the provider breaks off in the middle of ${what} has failed`, async () => {
			const price = ({ usage }: SdkStep): number => Number(usage.inputTokens);
			const { limit, settings, ran } = stage({ policy: "synthesize", price }, script);
			const stream = settings.model.doStream.bind(settings.model);
			settings.model.doStream = async (options) => {
				const made = await stream(options);
				const unfinished = new TransformStream<StreamPart, StreamPart>({
					transform: (part, controller) => {
						if (part.type !== "finish" && part.type !== "text-end") controller.enqueue(part);
					},
				});
				return { stream: made.stream.pipeThrough(unfinished) };
			};
			const outcome = await limit.outcomeOf(limit.streamText(settings));
			assert.ok(outcome.kind === "failed" && outcome.by === "provider");
			assert.deepEqual([outcome.turns, outcome.message, ran()], [1, "The response broke off.", 0]);
		});

	test("whose provider reports neither tokens nor a reason that the SDK knows is completed", async () => {
		const { limit, settings } = stage({}, () => text("done"));
		const stream = settings.model.doStream.bind(settings.model);
		settings.model.doStream = async (options) => {
			const made = await stream(options);
			const odd = new TransformStream<StreamPart, StreamPart>({
				transform: (part, controller) => {
					const finish = { finishReason: { unified: "other", raw: "paused" }, usage: NO_USAGE } as const;
					controller.enqueue(part.type === "finish" ? { ...part, ...finish } : part);
				},
			});
			return { stream: made.stream.pipeThrough(odd) };
		};
		assert.equal((await limit.outcomeOf(limit.streamText(settings))).kind, "completed");
	});

	test("that the SDK refuses to begin has failed", async () => {
		const { settings } = stage({}, endless);
		const outcome = await new Promise<Outcome>((hear) => {
			const limit = aiLimit({ onOutcome: hear });
			assert.throws(() => limit.streamText({ ...settings, model: 5 as never }), /Unsupported model/);
		});
		assert.equal(outcome.kind, "failed");
	});

	for (const [hook, setting] of [
		["prepareStep", ({ stepNumber }: { stepNumber: number }) => stepNumber === 1 && fails()],
		["stopWhen", () => fails()],
		["toolApproval", () => fails()],
	] as const) {
		test(`whose ${hook} throws has failed with its error`, async () => {
			const { limit, settings, model } = stage({}, endless);
			const result = limit.streamText({ ...settings, [hook]: setting, onError: () => {} });
			const outcome = await limit.outcomeOf(result);
			assert.ok(outcome.kind === "failed");
			assert.deepEqual([outcome.message, model.requests.length], ["bad hook", 1]);
		});
	}

	test("whose prepareStep throws before its first step has failed with its error", async () => {
		const { limit, settings, model } = stage({}, endless);
		const result = limit.streamText({ ...settings, prepareStep: fails, onError: () => {} });
		const outcome = await limit.outcomeOf(result);
		assert.ok(outcome.kind === "failed");
		assert.deepEqual([outcome.message, outcome.turns, model.requests.length], ["bad hook", 0, 0]);
	});

	test("that cannot begin has failed", async () => {
		const { limit, settings } = stage({}, endless);
		const result = limit.streamText({ model: settings.model, onError: () => {} } as never);
		assert.equal((await limit.outcomeOf(result)).kind, "failed");
	});

	const browser = (response: Response): ReadableStreamDefaultReader => (response.body as ReadableStream).getReader();
	for (const [what, also] of [
		["consumeStream()", (result) => void result.consumeStream()],
		["text", (result) => void result.text],
		["another stream", (result) => void result.stream.pipeTo(new WritableStream())],
	] as [string, (result: Read) => void][]) {
		test(`that a browser leaves goes on for ${what}`, async () => {
			const { limit, settings, model, outcomes } = stage({}, (n) => (n < 4 ? work(n) : text("done")));
			const result = limit.streamText(settings);
			also(result);
			const reader = browser(result.toUIMessageStreamResponse());
			await reader.read();
			await reader.cancel();
			assert.equal((await limit.outcomeOf(result)).kind, "completed");
			assert.deepEqual([model.requests.length, outcomes], [4, ["completed 4"]]);
		});
	}

	test("that a browser leaves goes on for consumeSseStream", async () => {
		const { limit, settings, model } = stage({}, (n) => (n < 4 ? work(n) : text("done")));
		const result = limit.streamText(settings);
		const reader = browser(result.toUIMessageStreamResponse({ consumeSseStream: consumeStream }));
		await reader.read();
		await reader.cancel();
		assert.equal((await limit.outcomeOf(result)).kind, "completed");
		assert.equal(model.requests.length, 4);
	});

	test("that its last reader leaves was interrupted", async () => {
		const { limit, settings, outcomes } = stage({}, endless);
		const result = limit.streamText(settings);
		const readers = [result.stream.getReader(), result.stream.getReader()];
		for (const reader of readers) await reader.read();
		for (const reader of readers) await reader.cancel();
		assert.equal((await limit.outcomeOf(result)).kind, "interrupted");
		assert.equal(outcomes.length, 1);
	});

	/** The address of a server that pipes a stream to whoever asks, and how the stream ends. */
	async function serve(t: TestContext, script: Script, execute: () => string | Promise<string>) {
		let hear: (outcome: Outcome) => void = () => {};
		const ended = new Promise<Outcome>((resolve) => (hear = resolve));
		const limit = aiLimit({ onOutcome: hear });
		const settings = { model: aiModel(new ScriptedModel(script)), prompt: "go", maxRetries: 0, onError: () => {} };
		const noop = tool({ inputSchema: input, execute });
		const server = createServer((_request, response) => {
			limit.streamText({ ...settings, tools: { noop } }).pipeUIMessageStreamToResponse(response);
		});
		t.after(() => server.close().closeAllConnections());
		await once(server.listen(0, "127.0.0.1"), "listening");
		return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ended };
	}

	test("that is piped to a browser which goes away was interrupted", async (t) => {
		const { url, ended } = await serve(t, endless, () => new Promise<string>(() => {}));
		const leaving = new AbortController();
		const { body } = await fetch(url, { signal: leaving.signal });
		await body?.getReader().read();
		leaving.abort();
		assert.equal((await ended).kind, "interrupted");
	});

	test("that is piped to a browser and fails has failed", async (t) => {
		const { url, ended } = await serve(
			t,
			() => FAILURE,
			() => "ok",
		);
		await (await fetch(url)).text();
		assert.equal((await ended).kind, "failed");
	});

	test("gives a response for a browser as before", async () => {
		const { limit, settings, outcomes } = stage({}, (n) => (n < 2 ? work(n) : text("done")));
		const stream = toTextStream({ stream: limit.streamText(settings).stream });
		assert.equal(await createTextStreamResponse({ stream }).text(), "done");
		assert.deepEqual(outcomes, ["completed 2"]);
	});

	test("that the SDK's own timeout cuts off has failed, as without a stream", async () => {
		const { limit, settings, outcomes } = stage({}, endless);
		const execute = async (_input: unknown, { abortSignal }: { abortSignal?: AbortSignal }): Promise<string> => {
			if (abortSignal?.aborted === false) await once(abortSignal, "abort");
			throw new Error("cut off");
		};
		const call = { ...settings, tools: { noop: tool({ inputSchema: input, execute }) }, timeout: { stepMs: 50 } };
		await assert.rejects(limit.generateText(call), { name: "TimeoutError" });
		const { kind } = await limit.outcomeOf(limit.streamText(call));
		assert.deepEqual([kind, outcomes.map((it) => it.split(" ")[0])], ["failed", ["failed", "failed"]]);
	});

	test("calls their onEnd and onAbort", async () => {
		const heard: string[] = [];
		const callbacks = { onEnd: () => void heard.push("end"), onAbort: () => void heard.push("abort") };
		const done = stage({}, () => text("done"));
		await done.limit.streamText({ ...done.settings, ...callbacks }).text;
		const abort = new AbortController();
		const cut = stage({}, () => {
			abort.abort();
			return text("done");
		});
		const result = cut.limit.streamText({ ...cut.settings, ...callbacks, abortSignal: abort.signal });
		await result.consumeStream();
		assert.deepEqual([heard, cut.outcomes], [["end", "abort"], ["interrupted 1"]]);
	});
});

describe("cost", () => {
	test("cannot be limited without a price", () => {
		for (const options of [{ cost: 1 }, { sessionCost: 1 }, { dayCost: "$2" }])
			assert.throws(() => aiLimit(options), { name: "TypeError", message: /^price: expected a function, because/ });
		aiLimit({ cost: "unlimited" });
		assert.throws(() => aiLimit({ price: 3 } as never), { message: "price: expected a function, got 3." });
	});

	for (const [what, price] of [
		["throws", () => { throw new Error("unknown model"); }], // prettier-ignore
		["is no number", () => Number.NaN],
		["is less than nothing", () => -1],
		["is not known", () => undefined as never],
		["is found too late to be a number", () => Promise.reject(new Error("no such table")) as never],
	] as const) {
		test(`whose price ${what} stops the run`, async () => {
			const { limit, settings, model, outcomes } = stage({ cost: 1, price }, endless);
			await assert.rejects(limit.generateText(settings), (error: unknown) => {
				assert.ok(error instanceof LimitExceeded && error.outcome.kind === "failed");
				assert.match(error.message, /failed and stopped the run/);
				return true;
			});
			assert.deepEqual([model.requests.length, outcomes], [1, ["failed 1"]]);
		});
	}
});

test("what was read from the cache is free", async () => {
	const usage = {
		inputTokens: { total: 900, noCache: 100, cacheRead: 700, cacheWrite: 100 },
		outputTokens: { total: 50, text: 50, reasoning: 0 },
	};
	const { limit, settings } = stage({}, () => text("done"));
	const model = aiModel(new ScriptedModel(() => text("done")));
	const generate = model.doGenerate.bind(model);
	model.doGenerate = async (options) => ({ ...(await generate(options)), usage });
	const result = await limit.generateText({ ...settings, model });
	assert.equal((await limit.outcomeOf(result)).tokens, 250);
});

test("a retry of the SDK's own is one turn", async () => {
	const { limit, settings, model, outcomes } = stage({ turns: 2 }, () => text("done"));
	const generate = settings.model.doGenerate.bind(settings.model);
	let failed = false;
	settings.model.doGenerate = async (options) => {
		const made = await generate(options);
		if (failed) return made;
		failed = true;
		const responseHeaders = { "retry-after-ms": "1" };
		throw new APICallError({ message: "busy", url: "", requestBodyValues: {}, isRetryable: true, responseHeaders });
	};
	await limit.generateText({ ...settings, maxRetries: 1 });
	assert.deepEqual([model.requests.length, outcomes], [2, ["completed 1"]]);
});

test("a final pass asks for the form that the answer has to have, in every way to call", async () => {
	const output = Output.object({ schema: jsonSchema<{ found: number }>({ type: "object" }) });
	for (const how of ["generateText", "streamText", "generate", "stream"] as const) {
		const { limit, settings, model } = stage({ turns: 1, policy: "synthesize" }, (n, texts) =>
			texts.some((heard) => heard.endsWith(IN_FORM)) ? text('{"found":3}') : work(n),
		);
		const { prompt, ...rest } = { ...settings, output };
		const agent = new limit.ToolLoopAgent(rest);
		const isOwn = how === "generate" || how === "stream";
		const result = await (isOwn ? agent[how]({ prompt }) : limit[how]({ ...rest, prompt }));
		const { found } = await result.output;
		const { kind } = await limit.outcomeOf(result);
		assert.deepEqual([found, model.requests.length, kind], [3, 2, "synthesized"], how);
	}
});

test("the first step that a limit refuses rejects with the outcome", async () => {
	const { limit, settings } = stage({ turns: 0 }, endless);
	await assert.rejects(limit.generateText(settings), (error: unknown) => {
		assert.ok(error instanceof LimitExceeded);
		assert.equal(error.outcome.kind, "exhausted");
		assert.match(error.message, /^pi-turn-limit: stopped at the limit of 0 turns \(option\)/);
		return true;
	});
});

test("an abort rejects as the SDK's own does", async () => {
	const abort = new AbortController();
	const { limit, settings, outcomes } = stage({}, (n) => {
		if (n === 2) abort.abort(new Error("enough"));
		return work(n);
	});
	await assert.rejects(limit.generateText({ ...settings, abortSignal: abort.signal }), /enough/);
	assert.deepEqual(outcomes, ["interrupted 2"]);
});

test("runs at once, and runs inside tools, have counts of their own and share their tree's", async () => {
	const inner = stage({ turns: 2, grace: 0 }, endless);
	const outer = stage({ turns: 3, grace: 0 }, endless);
	const noop = tool({
		inputSchema: input,
		execute: async () => (await inner.limit.outcomeOf(await inner.limit.generateText(inner.settings))).kind,
	});
	await Promise.all([1, 2].map(() => outer.limit.generateText({ ...outer.settings, tools: { noop } })));
	assert.deepEqual(outer.outcomes, ["exhausted 3", "exhausted 3"]);
	assert.equal(inner.outcomes.filter((outcome) => outcome === "exhausted 2").length, 6);
});

for (const [what, options] of [
	["a session", { sessionTurns: 3 }],
	["a session that a person was asked about", { sessionTurns: 3, ask: () => false }],
] as const)
	test(`what a run has is its result where another has spent the rest of ${what}`, async () => {
		const { limit, settings, model, outcomes } = stage({ ...options, grace: 0 }, endless);
		const results = await Promise.all([1, 2].map(() => limit.generateText(settings)));
		assert.equal(model.requests.length, 3);
		assert.equal(results.flatMap(({ steps }) => steps).length, 3);
		assert.equal(outcomes.length, 2);
	});

test("a call without settings is refused in words of ours", async () => {
	const { limit, settings } = stage({}, endless);
	const agent = new limit.ToolLoopAgent({ model: settings.model });
	const wrong = (name: string): object => ({
		name: "TypeError",
		message: `${name}(): expected an object of settings, got undefined.`,
	});
	await assert.rejects((limit.generateText as () => Promise<unknown>)(), wrong("generateText"));
	assert.throws(limit.streamText as () => unknown, wrong("streamText"));
	await assert.rejects((agent.generate as () => Promise<unknown>).call(agent), wrong("generate"));
	await assert.rejects((agent.stream as () => Promise<unknown>).call(agent), wrong("stream"));
});

test("a result of another limit has no outcome here", async () => {
	const { limit } = stage({}, endless);
	await assert.rejects(limit.outcomeOf({}), {
		name: "TypeError",
		message: "outcomeOf(): expected a result of this limit.",
	});
});

test("the last run's meters can be read", async () => {
	const { limit, settings } = stage({ turns: 2 }, endless);
	await limit.generateText(settings);
	assert.equal(limit.snapshot().turns.used, 2);
	assert.match(limit.environment()["PI_TURN_LIMIT_ROOT"] ?? "", /^\d+\./);
});

function seen(value: unknown): unknown {
	return value;
}

/** Compiles only if types come through as they do from the SDK itself. */
export async function types(outcome: Outcome): Promise<unknown> {
	const { generateText, streamText, ToolLoopAgent } = aiLimit();
	const model = aiModel(new ScriptedModel(() => text("")));
	const add = tool({ inputSchema: jsonSchema<{ a: number }>({ type: "object" }), execute: ({ a }) => ({ sum: a }) });
	const output = Output.object({ schema: jsonSchema<{ found: number }>({ type: "object" }) });
	const result = await generateText({ model, prompt: "", tools: { add }, output });
	const found: number = result.output.found;
	for (const each of result.toolResults) if (!each.dynamic) seen(each.output.sum satisfies number);
	// @ts-expect-error: the output has no such key
	seen(result.output.lost);
	// @ts-expect-error: no such tool
	void generateText({ model, prompt: "", tools: { add }, activeTools: ["subtract"] });
	for (const each of await streamText({ model, prompt: "", tools: { add } }).toolCalls)
		if (!each.dynamic) seen(each.input.a satisfies number);
	const agent = new ToolLoopAgent({ model, tools: { add }, output });
	const made = await agent.generate({ prompt: "" });
	// @ts-expect-error: it is a number
	seen(made.output.found satisfies string);
	return [found, made.output.found satisfies number, outcome];
}
