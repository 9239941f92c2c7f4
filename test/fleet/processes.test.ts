import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { balance, fleet } from "../ledger/world.ts";
import { database } from "./database.ts";

test("eight processes that reserve 20 times each get exactly what the cap of 100 allows", async (t) => {
	const base = await database(t);
	const args = [join(import.meta.dirname, "agent.ts"), base.address("agent"), "20"];
	const all = await Promise.all(Array.from({ length: 8 }, () => promisify(execFile)(process.execPath, args)));
	const granted = all.map(({ stdout }) => Number(stdout));
	assert.equal(
		granted.reduce((sum, n) => sum + n, 0),
		100,
		granted.join(),
	);
	assert.deepEqual(await balance(await base.open(t), fleet()), [100, 0, 100]);
});
