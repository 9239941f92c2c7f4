/** A server whose disk is full. */
import assert from "node:assert/strict";
import { chmodSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { host, mark, text } from "../../harness/index.ts";
import { defer } from "../../harness/wait.ts";
import { balance, fleet, MINUTE } from "../../ledger/world.ts";
import { database, type Database } from "../database.ts";
import { said } from "../said.ts";
import { Server } from "../server.ts";

/** Fills the server's disk, as far as the table of settled ids can tell; gives a function that makes room again. */
async function fill(own: Server, { sql }: Database): Promise<() => Promise<void>> {
	const [row] = await sql<{ folder: string; path: string }[]>`
		SELECT current_setting('data_directory') AS folder, pg_relation_filepath('pi_turn_limit.done') AS path`;
	const file = join(row?.folder ?? "", row?.path ?? "");
	await own.stop();
	renameSync(file, `${file}.kept`);
	symlinkSync("/dev/full", file);
	await own.start();
	return async () => {
		await own.stop();
		renameSync(`${file}.kept`, file);
		await own.start();
	};
}

test("a disk that is full closes the gate and says so; a turn that it could not count counts once when there is room", async (t) => {
	const own = await Server.make();
	defer(t, () => own.remove());
	const base = await database(t, { at: own.address() });
	const ledger = await base.open(t, { address: base.address("agent") });
	await ledger.join(fleet({ turns: 5 }));
	await ledger.reserve("a", [fleet()], { turns: 1 }, MINUTE);
	const budget = { at: base.address("agent"), account: "f", maxTurns: 5 };
	const pi = await host(t, { model: [mark(), text("done")], agentFiles: { "turn-limit.json": { budget } } });
	chmodSync(join(pi.agentDir, "turn-limit.json"), 0o600);

	const makeRoom = await fill(own, base);
	const settle = () => ledger.settle("a", [fleet()], { turns: 1 });
	for (let i = 0; i < 2; i++) await assert.rejects(settle(), said(base, "full", /has no room left on its disk\.$/));
	const { code, stderr } = await pi.print("go");
	assert.deepEqual([pi.model.requests.length, code], [0, 1]);
	assert.match(stderr, /^pi-turn-limit: failed and stopped the run: The budget at .* has no room left on its disk\.$/m);

	await makeRoom();
	for (let i = 0; i < 2; i++) await settle();
	assert.deepEqual(await balance(ledger, fleet()), [1, 0, 5]);
	assert.equal((await pi.print("go")).code, 0);
	assert.deepEqual(await balance(ledger, fleet()), [3, 0, 5]);
});
