/** The hosts that have a loop, each played through one interface. */
import { Agent } from "@earendil-works/pi-agent-core";
import { type Api, type Model, Type } from "@earendil-works/pi-ai";
import { jsonSchema, tool } from "ai";
import type { Outcome } from "../../src/core/outcome.ts";
import { aiLimit } from "../../src/hosts/ai/index.ts";
import { limitAgent } from "../../src/hosts/pi-agent/index.ts";
import { loopLimit, type LoopOptions } from "../../src/hosts/loop/index.ts";
import type { LoopHost } from "./scenes.ts";
import { aiModel, piStream, PRICE, ScriptedModel, type Script } from "./model.ts";

/** A scene: a model, a tool and a limit. */
export interface Scene {
	readonly options: Omit<LoopOptions, "price">;
	readonly script: Script;
	/** The nth execution of the tool; `again` makes another run under a limit with the same options. */
	readonly tool?: (n: number, again: () => Promise<unknown>) => unknown;
	/** The runs at once; one if not given. */
	readonly runs?: number;
	/** In place of the dollars that the loop reports. */
	readonly price?: () => number;
	/** The person's abort. */
	readonly abort?: AbortController;
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
	readonly run: () => Promise<string>;
	readonly signal: AbortSignal | undefined;
	readonly abort: AbortController | undefined;
}

function host(
	name: string,
	go: (played: Played) => Promise<string | undefined>,
	cannot: LoopHost["cannot"] = {},
): LoopHost {
	return {
		name,
		cannot,
		play: async ({ options, script, tool = () => "ok", runs = 1, price, abort }) => {
			const model = new ScriptedModel(script);
			const outcomes: Outcome[] = [];
			let ran = 0;
			const run = async (): Promise<string> => String(await tool(++ran, () => go(played)));
			const onOutcome = (outcome: Outcome): void => {
				outcomes.push(outcome);
				options.onOutcome?.(outcome);
			};
			const played = { model, options: { ...options, onOutcome }, price, run, signal: abort?.signal, abort };
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
const ownLoop = host("a loop of one's own", async ({ model, options, price, run: tool, signal }) => {
	const run = loopLimit(price ? { ...options, price } : options).start({ signal });
	const texts = ["go"];
	let answer: string | undefined;
	try {
		for (;;) {
			const notes = await run.turn();
			if (notes === undefined) break;
			texts.push(...notes);
			const {
				text,
				calls = [],
				failure,
				stop,
				usage: { prompt = 500, completion = 50 } = {},
			} = await model.reply([...texts]);
			if (signal?.aborted) throw signal.reason;
			if (failure) {
				run.fail(new Error(failure.message));
				if (failure.status >= 429) continue;
				throw new Error(failure.message);
			}
			await run.charge({ tokens: prompt + completion, cost: price ? undefined : PRICE });
			if (text !== undefined) texts.push((answer = text));
			const results = await Promise.all(
				calls.map(async ({ name, args }, i) => {
					const refused = await run.call({ tool: name, input: args }, model.id(i));
					return refused ?? (await tool().catch(String));
				}),
			);
			texts.push(...results);
			const concluded = Boolean(text?.trim()) && stop !== "length";
			if ((await run.endTurn({ goesOn: calls.length > 0, concluded })) === "stop") break;
		}
	} finally {
		await run.settle();
	}
	return answer;
});

const MODEL = { id: "m", api: "a", provider: "p", input: ["text"], contextWindow: 1e6 } as unknown as Model<Api>;

const piAgent = host(
	"pi's bare Agent",
	async ({ model, options, price, run, signal }) => {
		const noop = {
			...{
				name: "noop",
				label: "noop",
				description: "Does nothing.",
				parameters: Type.Object({}, { additionalProperties: true }),
			},
			execute: async () => ({ content: [{ type: "text" as const, text: await run() }], details: undefined }),
		};
		const agent = new Agent({
			initialState: { model: MODEL, tools: [noop] },
			streamFn: piStream(model, price ? 0 : PRICE),
		});
		limitAgent(agent, price ? { ...options, price } : options);
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

function aiSettings({ model, run, signal }: Played) {
	const noop = tool({
		description: "Does nothing.",
		inputSchema: jsonSchema<object>({ type: "object", properties: {} }),
		execute: run,
	});
	const abort = signal === undefined ? {} : { abortSignal: signal };
	return { call: { prompt: "go", ...abort }, settings: { model: aiModel(model), tools: { noop }, maxRetries: 1 } };
}

function limitOf({ options, price = () => PRICE }: Played) {
	return aiLimit({ price, ...options });
}

/** Reads a stream to its end. */
async function drain(stream: ReadableStream): Promise<void> {
	const reader = stream.getReader();
	while (!(await reader.read()).done);
}

const generate = host("generateText", async (played) => {
	const { call, settings } = aiSettings(played);
	return (await limitOf(played).generateText({ ...settings, ...call })).text;
});

const stream = host("streamText", async (played) => {
	const { call, settings } = aiSettings(played);
	const result = limitOf(played).streamText({ ...settings, ...call, onError: () => {} });
	await drain(result.stream);
	return await result.text;
});

const agent = host("ToolLoopAgent", async (played) => {
	const { call, settings } = aiSettings(played);
	const limit = limitOf(played);
	return (await new limit.ToolLoopAgent(settings).generate(call)).text;
});

const agentStream = host("ToolLoopAgent, streamed", async (played) => {
	const { call, settings } = aiSettings(played);
	const limit = limitOf(played);
	const result = await new limit.ToolLoopAgent({ ...settings, onError: () => {} }).stream(call);
	await drain(result.stream);
	return await result.text;
});

export const hosts: readonly LoopHost[] = [ownLoop, piAgent, generate, stream, agent, agentStream];
