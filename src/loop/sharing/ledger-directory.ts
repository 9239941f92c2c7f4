import { join } from "node:path";
import { agentDirectory } from "../../settings/agent-directory.ts";

/** The directory of the machine's ledger. */
export function ledgerDirectory(): string {
	return join(agentDirectory(), "turn-limit-ledger");
}
