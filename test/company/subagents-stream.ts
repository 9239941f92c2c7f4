/** An agent that runs others in its own process and reads what they say from the stream, as tintinweb/pi-subagents does. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openChild } from "./open-child.ts";

/** `listen`: the text of the child's last message as it was streamed is its result. */
export default function (pi: ExtensionAPI): void {
	pi.registerTool({
		name: "listen",
		label: "listen",
		description: "Gives a task to another agent.",
		parameters: { type: "object", properties: { task: { type: "string" } } },
		async execute(_id, params, _signal, _onUpdate, { cwd }) {
			const session = await openChild(cwd);
			await session.bindExtensions({});
			let heard = "";
			session.subscribe((event) => {
				if (event.type === "message_start" && event.message.role === "assistant") heard = "";
				if (event.type !== "message_update") return;
				const { assistantMessageEvent: part } = event;
				if (part.type === "text_delta") heard += part.delta;
			});
			await session.prompt((params as { task: string }).task);
			const told = heard || (session.getLastAssistantText() ?? "");
			session.dispose();
			return { content: [{ type: "text", text: told }], details: undefined };
		},
	});
}
