/** An agent that runs others in its own process, written as the subagent extensions do it. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openChild } from "./open-child.ts";

/** How a child ended, beside what the parent's model is told. */
export interface Ended {
	errorMessage: string | undefined;
	/** The kinds of the outcomes that the child's event bus carried. */
	outcomes: string[];
	/** The kinds of the outcomes in the child's session. */
	entries: string[];
}

/**
 * `delegate`: a child has failed if its last message says `error`; otherwise the last text that it wrote is its
 * result. `bind: false` leaves the child as `createAgentSession` gives it. `reports`: it reports what the child has spent.
 */
export default function (pi: ExtensionAPI): void {
	pi.registerTool({
		name: "delegate",
		label: "delegate",
		description: "Gives a task to another agent.",
		parameters: {
			type: "object",
			properties: { task: { type: "string" }, bind: { type: "boolean" }, reports: { type: "boolean" } },
		},
		async execute(_id, params, _signal, _onUpdate, { cwd }) {
			const { task, bind = true, reports = false } = params as { task: string; bind?: boolean; reports?: boolean };
			const outcomes: string[] = [];
			const listener = (child: ExtensionAPI): void => {
				child.events.on("turn-limit:outcome", (outcome) => outcomes.push((outcome as { kind: string }).kind));
			};
			const session = await openChild(cwd, [listener]);
			if (bind) await session.bindExtensions({});
			await session.prompt(task);

			const messages = session.messages.filter((message) => message.role === "assistant");
			const last = messages.at(-1);
			const texts = messages.flatMap(({ content }) =>
				content.flatMap((part) => (part.type === "text" ? part.text : [])),
			);
			const told =
				last?.stopReason === "error" ? `Agent failed: ${last.errorMessage}` : `Agent completed: ${texts.at(-1)}`;
			const entries = session.sessionManager
				.getEntries()
				.flatMap((entry) => (entry.type === "custom" && entry.customType === "turn-limit-outcome" ? [entry.data] : []))
				.map((outcome) => (outcome as { kind: string }).kind);
			session.dispose();
			const details: Ended = { errorMessage: last?.errorMessage, outcomes, entries };
			const total = messages.reduce((sum, { usage }) => sum + usage.cost.total, 0);
			const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total } };
			return { content: [{ type: "text", text: told }], details, ...(reports ? { usage: usage as never } : {}) };
		},
	});
}
