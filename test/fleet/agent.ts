/** An agent of a fleet: `node agent.ts <address> <times>` reserves so often, and says how often it was granted. */
import { randomUUID } from "node:crypto";
import { openPostgres } from "../../src/ledger/postgres/ledger.ts";
import { fleet, MINUTE } from "../ledger/world.ts";

const [, , address = "", times = ""] = process.argv;
const ledger = await openPostgres({ address });
const account = fleet({ turns: 100 });
await ledger.join(account);
let granted = 0;
for (let i = 0; i < Number(times); i++) {
	const id = randomUUID();
	if (!(await ledger.reserve(id, [account], { turns: 1 }, MINUTE)).granted) continue;
	granted++;
	await ledger.settle(id, [account], { turns: 1 });
}
console.log(granted);
