/** The hosts that have a loop, each played through one interface. */
import { Agent } from "@earendil-works/pi-agent-core";
import { type Api, type Model, Type } from "@earendil-works/pi-ai";
import { jsonSchema, tool } from "ai";
import type { Outcome } from "../../src/core/outcome.ts";
import { aiLimit } from "../../src/hosts/ai/index.ts";
import { limitAgent } from "../../src/hosts/pi-agent/index.ts";
import { loopLimit, type LoopLimit, type LoopOptions } from "../../src/hosts/loop/index.ts";
import type { LoopHost } from "./scenes.ts";
import { aiModel, piStream, PRICE, ScriptedModel, type Script, tokensIn } from "./model.ts";

type Limit = Pick<LoopLimit, "snapshot" | "environment">;

/** A scene: a model, a tool and a limit. */
export interface Scene {
	readonly options: Omit<LoopOptions, "price">;
	readonly script: Script;
	/** The nth execution of the tool, under this limit; `again` makes another run under one with the same options. */
	readonly tool?: (n: number, again: () => Promise<unknown>, limit: Limit) => unknown;
	/** The user's own hooks. */
	readonly hooks?: Hooks;
	/** The runs at once; one if not given. */
	readonly runs?: number;
	/** In place of the dollars that the loop reports. */
	readonly price?: () => number;
	/** The person's abort. */
	readonly abort?: AbortController;
}

interface Hooks {
	readonly beforeRequest?: () => void;
	readonly afterTurn?: () => void;
}

export interface Seen {
	/** The texts of each request that reached the model. */
	readonly requests: readonly (readonly string[])[];
	/** How often the tool ran. */
	readonly ran: number;
	readonly outcomes: readonly Outcome[];
	/** The last text of the model that the caller was given. */
	readonly answer: string | undefined;
	readonly error: unknown;
}

interface Played {
	readonly model: ScriptedModel;
	readonly options: Scene["options"];
	readonly price: (() => number) | undefined;
	readonly hooks: Hooks;
	readonly run: (limit: Limit) => Promise<string>;
	readonly signal: AbortSignal | undefined;
}

/** Plays in this process. */
interface InProcess extends LoopHost {
	readonly play: (scene: Scene) => Promise<Seen>;
}

function host(
	name: string,
	go: (played: Played) => Promise<string | undefined>,
	cannot: LoopHost["cannot"] = {},
): InProcess {
	return {
		name,
		cannot,
		play: async ({ options, script, tool = () => "ok", hooks = {}, runs = 1, price, abort }) => {
			const model = new ScriptedModel(script);
			const outcomes: Outcome[] = [];
			let ran = 0;
			const run = async (limit: Limit): Promise<string> => String(await tool(++ran, () => go(played), limit));
			const onOutcome = (outcome: Outcome): void => {
				outcomes.push(outcome);
				options.onOutcome?.(outcome);
			};
			const played = { model, options: { ...options, onOutcome }, price, hooks, run, signal: abort?.signal };
			const all = Array.from({ length: runs }, () => go(played));
			const [answer, error] = await Promise.all(all).then(
				([text]) => [text, undefined] as const,
				(error: unknown) => [undefined, error] as const,
			);
			return { requests: model.requests, ran, outcomes, answer, error };
		},
	};
}

/** As in `docs/loops.md`. */
const ownLoop = host("a loop of one's own", async ({ model, options, price, hooks, run: tool, signal }) => {
	const limit = loopLimit(price ? { ...options, price } : options);
	const run = limit.start({ signal });
	const texts = ["go"];
	let answer: string | undefined;
	try {
		for (;;) {
			hooks.beforeRequest?.();
			const notes = await run.turn();
			if (notes === undefined) break;
			texts.push(...notes);
			const { text, calls = [], failure, stop, usage } = await model.reply([...texts]);
			if (signal?.aborted) throw signal.reason;
			if (failure) {
				const error = new Error(failure.message);
				if (failure.status < 429) throw error;
				run.fail(error);
				continue;
			}
			const tokens = tokensIn(usage);
			await run.charge(tokens ? { tokens: tokens.input + tokens.output, cost: price ? undefined : PRICE } : {});
			if (text !== undefined) texts.push((answer = text));
			const results = await Promise.all(
				calls.map(async ({ name, args }, i) => {
					const refused = await run.call({ tool: name, input: args }, model.id(i));
					return refused ?? (await tool(limit).catch(String));
				}),
			);
			texts.push(...results);
			hooks.afterTurn?.();
			const concluded = Boolean(text?.trim()) && stop !== "length";
			if ((await run.endTurn({ goesOn: calls.length > 0, concluded })) === "stop") break;
		}
	} catch (error) {
		if (!signal?.aborted) run.fail(error);
		throw error;
	} finally {
		await run.settle();
	}
	return answer;
});

const MODEL = { id: "m", api: "a", provider: "p", input: ["text"], contextWindow: 1e6 } as unknown as Model<Api>;

export const piAgent = host(
	"pi's bare Agent",
	async ({ model, options, price, hooks, run, signal }) => {
		const noop = {
			...{
				name: "noop",
				label: "noop",
				description: "Does nothing.",
				parameters: Type.Object({}, { additionalProperties: true }),
			},
			execute: async () => ({ content: [{ type: "text" as const, text: await run(limit) }], details: undefined }),
		};
		const agent = new Agent({
			initialState: { model: MODEL, tools: [noop] },
			streamFn: piStream(model, price ? 0 : PRICE),
			prepareRequest: () => hooks.beforeRequest?.(),
			finishTurn: () => hooks.afterTurn?.(),
		});
		const limit = limitAgent(agent, price ? { ...options, price } : options);
		signal?.addEventListener("abort", () => agent.abort());
		const prompted = agent.prompt("go");
		if (signal?.aborted) agent.abort();
		await prompted;
		if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
		const texts = agent.state.messages.flatMap((message) =>
			message.role === "assistant" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
		);
		return texts.at(-1);
	},
	{ "a request that the loop repeats is one turn": "it repeats none" },
);

function aiParts({ model, options, price = () => PRICE, hooks, run, signal }: Played) {
	const limit = aiLimit({ price, ...options });
	const noop = tool({
		description: "Does nothing.",
		inputSchema: jsonSchema<object>({ type: "object", properties: {} }),
		execute: () => run(limit),
	});
	const { beforeRequest, afterTurn } = hooks;
	const theirs = {
		...(beforeRequest && { prepareStep: () => (beforeRequest(), {}) }),
		...(afterTurn && { stopWhen: () => (afterTurn(), false) }),
	};
	const abort = signal === undefined ? {} : { abortSignal: signal };
	const settings = { model: aiModel(model), tools: { noop }, maxRetries: 1, ...theirs };
	return { limit, call: { prompt: "go", ...abort }, settings };
}

function sdk(name: string, go: (parts: ReturnType<typeof aiParts>) => Promise<string>): InProcess {
	return host(name, (played) => go(aiParts(played)), {
		"a cost that nobody knows is said once, and turns stay exact":
			"such a limit is refused; test/loops/ai.test.ts plays it",
	});
}

/** Reads a stream to its end. */
async function drain(stream: ReadableStream): Promise<void> {
	const reader = stream.getReader();
	while (!(await reader.read()).done);
}

export const generate = sdk("generateText", async ({ limit, call, settings }) => {
	return (await limit.generateText({ ...settings, ...call })).text;
});

const stream = sdk("streamText", async ({ limit, call, settings }) => {
	const result = limit.streamText({ ...settings, ...call, onError: () => {} });
	await drain(result.stream);
	return await result.text;
});

const agent = sdk("ToolLoopAgent", async ({ limit, call, settings }) => {
	return (await new limit.ToolLoopAgent(settings).generate(call)).text;
});

const agentStream = sdk("ToolLoopAgent, streamed", async ({ limit, call, settings }) => {
	const result = await new limit.ToolLoopAgent({ ...settings, onError: () => {} }).stream(call);
	await drain(result.stream);
	return await result.text;
});

export const hosts: readonly LoopHost[] = [ownLoop, piAgent, generate, stream, agent, agentStream];
