import assert from "node:assert/strict";
import { test } from "node:test";
import { host } from "../harness/index.ts";

test("a real pi opens the ledger and prints nothing of its own about it", async (t) => {
	const extension = new URL("extension.ts", import.meta.url).pathname;
	const { stderr, stdout } = await (await host(t, { extension: false, before: [extension] })).print("hello");
	assert.deepEqual(JSON.parse(stderr), { granted: true, turns: { used: 2, held: 0, cap: 3 } });
	assert.equal(stdout, "done\n");
});
