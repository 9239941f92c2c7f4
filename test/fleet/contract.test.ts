import { before } from "node:test";
import { contract } from "../ledger/contract.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { database, type Database } from "./database.ts";
import { file } from "./file.ts";

let shared: Database;

before(async () => {
	shared = await database(file);
	await shared.sql.unsafe(`
		CREATE TABLE pi_turn_limit.test_clock AS SELECT 0::bigint AS now;
		CREATE OR REPLACE FUNCTION pi_turn_limit.clock() RETURNS bigint LANGUAGE sql AS 'SELECT now FROM pi_turn_limit.test_clock'`);
});

contract(
	"PostgreSQL",
	async (t, now) => {
		await shared.sql`TRUNCATE pi_turn_limit.account, pi_turn_limit.done CASCADE`;
		let set: number | undefined;
		const setClock = async (): Promise<void> => {
			if (set === now()) return;
			set = now();
			await shared.sql`UPDATE pi_turn_limit.test_clock SET now = ${set}`;
		};
		return async () => clocked(await shared.open(t), setClock);
	},
	"server",
);

/** A ledger whose server has the test's time. */
function clocked(ledger: Ledger, setClock: () => Promise<void>): Ledger {
	return {
		join: (...given) => setClock().then(() => ledger.join(...given)),
		reserve: (...given) => setClock().then(() => ledger.reserve(...given)),
		settle: (...given) => setClock().then(() => ledger.settle(...given)),
		renew: (...given) => setClock().then(() => ledger.renew(...given)),
		raise: (...given) => setClock().then(() => ledger.raise(...given)),
		read: (...given) => setClock().then(() => ledger.read(...given)),
		close: () => ledger.close(),
	};
}
