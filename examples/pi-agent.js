// A bare agent of pi under a limit: a model that calls a tool for ever, and answers when its budget is spent.
import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, fauxAssistantMessage, fauxToolCall, Type } from "@earendil-works/pi-ai";
import { limitAgent } from "pi-turn-limit/pi-agent";

const streamFn = (_model, { messages }) => {
	const isSpent = JSON.stringify(messages).includes("is spent");
	const message = isSpent
		? fauxAssistantMessage("Three things.", { stopReason: "stop" })
		: fauxAssistantMessage([fauxToolCall("look", {})], { stopReason: "toolUse" });
	const stream = createAssistantMessageEventStream();
	stream.push({ type: "done", reason: message.stopReason, message });
	return stream;
};
const look = {
	...{ name: "look", label: "look", description: "Looks.", parameters: Type.Object({}) },
	execute: async () => ({ content: [{ type: "text", text: "something" }], details: undefined }),
};
const agent = new Agent({
	initialState: { model: { id: "scripted", api: "none", provider: "none" }, tools: [look] },
	streamFn,
});

const limit = limitAgent(agent, { turns: 3, policy: "synthesize" });
await agent.prompt("Look around.");
console.log(`${limit.outcome.kind} after ${limit.outcome.turns} turns: ${agent.state.messages.at(-1).content[0].text}`);
