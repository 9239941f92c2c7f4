import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host, mark, text } from "../harness/index.ts";

test("a time limit of 0 that is asked about before a call says that a yes buys a call", async (t) => {
	const model = (_request: unknown, n: number) => (n > 1 ? text("done") : mark());
	const pi = await host(t, { model, env: { PI_TURN_LIMIT_TIME: "0" } });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(
		rpc.questions.map(({ message }) => /Yes: (.*?)\./.exec(message ?? "")?.[1]),
		["1 more turn", "1 more tool call", "1 more turn"],
	);
});

test("a session's cost limit of 0 says that a yes buys a turn", async (t) => {
	const pi = await host(t, { env: { PI_TURN_LIMIT_SESSION_COST: "0" } });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.match(rpc.questions[0]?.message ?? "", /Yes: 1 more turn\./);
});

test("a repeat limit of 0 does not tell the model that a call has come 0 times in a row", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_TURN_LIMIT_REPEATS: "0" } });
	await pi.print("go");
	assert.doesNotMatch(pi.model.requests[1]?.last ?? "", / 0 times in a row/);
});
