import { homedir } from "node:os";
import { join } from "node:path";

/** Pi's agent directory, whatever loop an agent runs in. */
export function agentDirectory(env: Readonly<Record<string, string | undefined>> = process.env): string {
	return env["PI_CODING_AGENT_DIR"]?.replace(/^~(?=\/|$)/, homedir()) || join(homedir(), ".pi", "agent");
}
