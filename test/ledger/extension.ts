/** Opens the ledger as pi loads us, and says on standard error what it reads there. */
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openSqlite } from "../../src/ledger/sqlite/ledger.ts";

export default function (pi: ExtensionAPI): void {
	pi.on("session_start", async () => {
		const within = process.env["PI_CODING_AGENT_DIR"] as string;
		const ledger = await openSqlite({ directory: join(within, "ledger"), within });
		const tree = { scope: "tree", name: "t", caps: { turns: 3 } } as const;
		await ledger.join(tree);
		const { granted } = await ledger.reserve("a", [tree], { turns: 1 }, 60_000);
		const [reading] = await ledger.settle("a", [tree], { turns: 2 });
		console.error(JSON.stringify({ granted, turns: reading?.meters["turns"] }));
		ledger.close();
	});
}
