/** An agent in the process of the one that starts it, as subagent extensions make it. Pi loads this beside the extension. */
import {
	type AgentSession,
	createAgentSession,
	DefaultResourceLoader,
	type ExtensionFactory,
	getAgentDir,
	SessionManager,
} from "@earendil-works/pi-coding-agent";

/** A session in memory with the extensions that are installed, and these. Its extensions are not bound yet. */
export async function openChild(cwd: string, extensionFactories: ExtensionFactory[] = []): Promise<AgentSession> {
	const where = { cwd, agentDir: getAgentDir() };
	const resourceLoader = new DefaultResourceLoader({ ...where, extensionFactories });
	await resourceLoader.reload();
	const sessionManager = SessionManager.inMemory(cwd);
	const { session } = await createAgentSession({ ...where, resourceLoader, sessionManager });
	return session;
}
