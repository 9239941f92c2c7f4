/** One script for the models of every loop. Requests are counted at the model, executions in the tool. */
import {
	type Api,
	createAssistantMessageEventStream,
	fauxAssistantMessage,
	fauxText,
	fauxThinking,
	fauxToolCall,
	type JsonObject,
	type Model,
	type TranscriptContext,
} from "@earendil-works/pi-ai";
import type { StreamFn } from "@earendil-works/pi-agent-core";
import { APICallError, simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import type { Reply } from "../harness/model.ts";

/** As over HTTP, but the provider may report no usage at all: null. */
export type LoopReply = Omit<Reply, "usage"> & { readonly usage?: Reply["usage"] | null };

/** The reply to the nth request, whose texts are given. A failure is the provider's. */
export type Script = (n: number, texts: readonly string[]) => LoopReply | Promise<LoopReply>;

/** Each reply costs a quarter of a dollar, whatever its tokens. */
export const PRICE = 0.25;

export class ScriptedModel {
	/** The texts of each request. */
	readonly requests: (readonly string[])[] = [];
	readonly #script: Script;

	constructor(script: Script) {
		this.#script = script;
	}

	async reply(texts: readonly string[]): Promise<LoopReply> {
		const n = this.requests.push(texts);
		await new Promise(setImmediate); // or a run without end would let no timer fire
		return await this.#script(n, texts);
	}

	/** Ids of calls differ from request to request. */
	id(i: number): string {
		return `call_${this.requests.length}_${i}`;
	}
}

/** The tokens that the provider reports; undefined if it reports no usage. */
export function tokensIn(usage: LoopReply["usage"] = {}): { input: number; output: number } | undefined {
	return usage === null ? undefined : { input: usage.prompt ?? 500, output: usage.completion ?? 50 };
}

/** As a model of the AI SDK. */
export function aiModel(model: ScriptedModel): MockLanguageModelV4 {
	const content = async ({ prompt }: { prompt: unknown }) => {
		const { text = "", thinking, calls = [], failure, stop, usage } = await model.reply(textsIn(prompt));
		if (failure) throw failureOf(failure);
		const { input, output } = tokensIn(usage) ?? {};
		return {
			reasoning: thinking,
			text,
			calls: calls.map(({ name, args }, i) => ({
				...({ type: "tool-call", toolCallId: model.id(i), toolName: name, input: JSON.stringify(args) } as const),
			})),
			finishReason: {
				unified: stop === "length" ? "length" : calls.length > 0 ? "tool-calls" : "stop",
				raw: undefined,
			},
			usage: {
				inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
				outputTokens: { total: output, text: output, reasoning: 0 },
			},
		} as const;
	};
	return new MockLanguageModelV4({
		doGenerate: async (options) => {
			const { text, reasoning, calls, finishReason, usage } = await content(options);
			return {
				content: [
					...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning } as const]),
					...(text === "" ? [] : [{ type: "text", text } as const]),
					...calls,
				],
				...{ finishReason, usage, warnings: [] },
			};
		},
		doStream: async (options) => {
			const { text, calls, finishReason, usage } = await content(options);
			return {
				stream: simulateReadableStream({
					initialDelayInMs: null,
					chunkDelayInMs: null,
					chunks: [
						{ type: "stream-start", warnings: [] },
						...(text === ""
							? []
							: ([
									{ type: "text-start", id: "1" },
									{ type: "text-delta", id: "1", delta: text },
									{ type: "text-end", id: "1" },
								] as const)),
						...calls,
						{ type: "finish", finishReason, usage },
					],
				}),
			};
		},
	});
}

/** One that the SDK repeats at once if its status says so. */
function failureOf({ status, message }: NonNullable<Reply["failure"]>): Error {
	const request = { url: "", requestBodyValues: {}, responseHeaders: { "retry-after-ms": "1" } };
	return status < 429 ? new Error(message) : new APICallError({ message, ...request, isRetryable: true });
}

/** As what a bare agent of pi streams from. */
export function piStream(model: ScriptedModel, price = PRICE): StreamFn {
	return async (_model: Model<Api>, context: TranscriptContext, options) => {
		const stream = createAssistantMessageEventStream();
		const { text, thinking, calls = [], failure, stop, usage } = await model.reply(textsIn(context.messages));
		const isAborted = options?.signal?.aborted === true;
		const content = [
			...(thinking === undefined ? [] : [fauxThinking(thinking)]),
			...(text === undefined ? [] : [fauxText(text)]),
			...calls.map(({ name, args }, i) => fauxToolCall(name, args as JsonObject, { id: model.id(i) })),
		];
		const stopReason = stop === "length" ? "length" : calls.length > 0 ? "toolUse" : "stop";
		const message = fauxAssistantMessage(content, { stopReason });
		const tokens = tokensIn(usage);
		if (tokens) Object.assign(message.usage, { ...tokens, cost: { ...message.usage.cost, total: price } });
		else Reflect.deleteProperty(message, "usage");
		if (isAborted) stream.push({ type: "error", reason: "aborted", error: { ...message, stopReason: "aborted" } });
		else if (failure) {
			const error = fauxAssistantMessage("", { stopReason: "error", errorMessage: failure.message });
			stream.push({ type: "error", reason: "error", error });
		} else stream.push({ type: "done", reason: stopReason, message });
		return stream;
	};
}

/** Every text in a transcript, whatever its form. */
function textsIn(value: unknown): string[] {
	if (Array.isArray(value)) return value.flatMap(textsIn);
	if (typeof value !== "object" || value === null) return [];
	return Object.entries(value).flatMap(([key, part]) => {
		if (typeof part !== "string") return textsIn(part);
		return ["text", "content", "value", "reason"].includes(key) ? [part] : [];
	});
}
