// A parent agent with a tool that delegates to a subagent. The subagent has a tight budget: when it is spent, the
// subagent answers from what it has, and the parent is told that the result is partial.
import {
	createAgentSession,
	DefaultResourceLoader,
	getAgentDir,
	SessionManager,
} from "@earendil-works/pi-coding-agent";
import { LimitExceeded, turnLimit } from "pi-turn-limit";

async function open(limit, options) {
	const where = { cwd: process.cwd(), agentDir: getAgentDir() };
	const resourceLoader = new DefaultResourceLoader({ ...where, noExtensions: true, extensionFactories: [limit] });
	await resourceLoader.reload();
	const { session } = await createAgentSession({ ...where, resourceLoader, ...options });
	return session;
}

const delegate = {
	name: "delegate",
	label: "delegate",
	description: "Gives a task to a subagent with a budget of 3 tool calls.",
	parameters: { type: "object", properties: { task: { type: "string" } }, required: ["task"] },
	async execute(_id, { task }) {
		const limit = turnLimit({ turns: 10, toolCalls: { max: 3, policy: "synthesize" } });
		const session = await open(limit, { sessionManager: SessionManager.inMemory() });
		try {
			const { kind } = await limit.prompt(session, task);
			const note = kind === "completed" ? "" : `Partial result (${kind}): `;
			return { content: [{ type: "text", text: note + session.getLastAssistantText() }], details: { kind } };
		} finally {
			session.dispose();
		}
	},
};

const limit = turnLimit({ turns: 5 });
const parent = await open(limit, { sessionManager: SessionManager.inMemory(), customTools: [delegate] });
try {
	await limit.prompt(parent, process.argv[2] ?? "Delegate something.");
	console.log(parent.getLastAssistantText());
} catch (error) {
	if (!(error instanceof LimitExceeded)) throw error;
	console.log(`Stopped: ${error.message}`);
} finally {
	parent.dispose();
}
