import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host } from "../harness/index.ts";

test("the line about a script that the policy abort stopped speaks of no final pass", async (t) => {
	const pi = await host(t, { session: true, model: endless(), env: { PI_MAX_TURNS: "2" } });
	assert.equal((await pi.print("go")).code, 53);
	assert.equal(pi.model.requests.length, 2, "no final pass");
	const tui = await pi.terminal({ args: ["-c"] });
	const screen = await tui.shows("Turn limit reached");
	assert.doesNotMatch(screen, /final pass/);
});
