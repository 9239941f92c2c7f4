/** Where the machine's ledger is: in pi's agent directory, whatever loop an agent runs in. */
import { homedir } from "node:os";
import { join } from "node:path";

export function agentDirectory(): string {
	return process.env["PI_CODING_AGENT_DIR"]?.replace(/^~(?=\/|$)/, homedir()) || join(homedir(), ".pi", "agent");
}

export function ledgerDirectory(): string {
	return join(agentDirectory(), "turn-limit-ledger");
}
