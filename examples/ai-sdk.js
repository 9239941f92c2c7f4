// The AI SDK under a limit: a model that calls a tool for ever, and answers when its budget is spent.
import { jsonSchema, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { aiLimit } from "pi-turn-limit/ai";

const usage = { inputTokens: { total: 500 }, outputTokens: { total: 50 } };
const model = new MockLanguageModelV4({
	doGenerate: async ({ prompt }) =>
		JSON.stringify(prompt).includes("is spent")
			? { content: [{ type: "text", text: "Three things." }], finishReason: { unified: "stop" }, usage, warnings: [] }
			: {
					content: [{ type: "tool-call", toolCallId: `${prompt.length}`, toolName: "look", input: "{}" }],
					finishReason: { unified: "tool-calls" },
					...{ usage, warnings: [] },
				},
});
const look = tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => "something" });

const limit = aiLimit({ turns: 3, policy: "synthesize" });
const result = await limit.generateText({ model, tools: { look }, prompt: "Look around." });
const { kind, turns } = await limit.outcomeOf(result);
console.log(`${kind} after ${turns} turns: ${result.text}`);
