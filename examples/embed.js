// A program that embeds pi and wants an answer within 10 turns, or an error.
import { createAgentSession, DefaultResourceLoader, getAgentDir } from "@earendil-works/pi-coding-agent";
import { LimitExceeded, turnLimit } from "pi-turn-limit";

const limit = turnLimit({
	turns: 10,
	grace: 2,
	onOutcome: ({ kind, turns }) => console.log(`${kind} after ${turns} turns`),
});
const resourceLoader = new DefaultResourceLoader({
	...{ cwd: process.cwd(), agentDir: getAgentDir(), noExtensions: true },
	extensionFactories: [limit],
});
await resourceLoader.reload();
const { session } = await createAgentSession({ resourceLoader });
try {
	await limit.prompt(session, process.argv[2] ?? "Say hello.");
	console.log(session.getLastAssistantText());
} catch (error) {
	if (!(error instanceof LimitExceeded)) throw error;
	console.log(`Stopped: ${error.message}`);
} finally {
	session.dispose();
}
