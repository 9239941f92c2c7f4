import assert from "node:assert/strict";
import { test } from "node:test";
import { host } from "../harness/index.ts";
import { database } from "./database.ts";

test("a real pi spends of a fleet's budget, ends by itself, and passes the address on to nobody", async (t) => {
	const base = await database(t);
	const extension = new URL("extension.ts", import.meta.url).pathname;
	const env = {
		PI_TURN_LIMIT_BUDGET: base.address("agent"),
		PI_TURN_LIMIT_BUDGET_ACCOUNT: "ticket-42",
		PI_TURN_LIMIT_BUDGET_TURNS: "3",
	};
	const { stderr, stdout } = await (await host(t, { extension: false, before: [extension], env })).print("hello");
	const { inherited, ...read } = JSON.parse(stderr) as { inherited: string };
	assert.deepEqual(read, { granted: true, turns: { used: 2, held: 0, cap: 3 } });
	assert.match(inherited, /^PI_TURN_LIMIT_BUDGET=taken$/m);
	assert.ok(!inherited.includes(base.password));
	assert.equal(stdout, "done\n");
});
