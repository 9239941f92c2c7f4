/** An agent that starts `pi --mode rpc` and answers none of its dialogs, as some subagent extensions do. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

interface Message {
	role?: string;
	stopReason?: string;
	errorMessage?: string;
	content?: { text?: string }[];
}

/** `ask_rpc`: its child inherits the environment. A dialog would last for ever, so the tool gives up there and says so. */
export function askRpc(pi: ExtensionAPI): void {
	pi.registerTool({
		name: "ask_rpc",
		label: "ask_rpc",
		description: "Gives a task to another agent.",
		parameters: { type: "object", properties: { task: { type: "string" } } },
		async execute(_id, params) {
			const { spawn } = process.getBuiltinModule("node:child_process");
			const { createInterface } = process.getBuiltinModule("node:readline");
			const [node, cli] = process.argv as [string, string];
			const child = spawn(node, [cli, "--mode", "rpc", "--no-session"], { stdio: ["pipe", "pipe", "inherit"] });
			const exit = new Promise((resolve) => child.on("exit", resolve));
			child.stdin.write(`${JSON.stringify({ type: "prompt", message: (params as { task: string }).task })}\n`);
			let last: Message = {};
			let told = "The agent went away.";
			for await (const line of createInterface({ input: child.stdout })) {
				const event = JSON.parse(line) as { type: string; method?: string; title?: string; message?: Message };
				if (event.type === "message_end" && event.message?.role === "assistant") last = event.message;
				if (event.type === "extension_ui_request" && ["confirm", "select"].includes(event.method ?? "")) {
					told = `Agent hangs: nobody answers "${event.title}"`;
					break;
				}
				if (event.type === "agent_settled") {
					const answer = last.content?.flatMap((part) => part.text ?? []).at(-1);
					told = last.stopReason === "error" ? `Agent failed: ${last.errorMessage}` : `Agent completed: ${answer}`;
					break;
				}
			}
			child.stdin.end();
			await exit;
			return { content: [{ type: "text", text: told }], details: undefined };
		},
	});
}
