/** Spends of a fleet's budget as pi loads us, and says on standard error what it reads there and what a tool inherits. */
import { execFileSync } from "node:child_process";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openPostgres } from "../../src/ledger/postgres.ts";
import { accountsOf, readBudget, takeAddress } from "../../src/settings/budget.ts";

export default function (pi: ExtensionAPI): void {
	const address = takeAddress(process.env, {});
	pi.on("session_start", async () => {
		const found = readBudget("/nowhere/turn-limit.json", "turn-limit.json", process.env, address);
		if (found.kind !== "budget") throw new Error(JSON.stringify(found));
		const accounts = accountsOf(found.budget, Date.now());
		const ledger = await openPostgres({ address: found.budget.at() });
		for (const account of accounts) await ledger.join(account);
		const { granted } = await ledger.reserve("a", accounts, { turns: 1 }, 60_000);
		const [reading] = await ledger.settle("a", accounts, { turns: 2 });
		const inherited = execFileSync("env", { encoding: "utf8" });
		console.error(JSON.stringify({ granted, turns: reading?.meters["turns"], inherited }));
	});
}
