import assert from "node:assert/strict";
import { test } from "node:test";
import { bash, calls, endless, held, host } from "../harness/index.ts";

const LINE = /^pi-turn-limit: stopped at the limit of [^\n]*\n$/;

for (const [what, limit, model] of [
	["before its first turn", "0", endless()],
	["while the model answers", "0.3s", endless(held())],
	["under synthesize, with tools to the end", "0.3s", endless(calls(bash("sleep 0.3")))],
] as const) {
	test(`a run that is out of time ${what} leaves one line on standard error`, async (t) => {
		const env = {
			PI_TURN_LIMIT_TIME: limit,
			PI_TURN_LIMIT_POLICY: what.startsWith("under") ? "synthesize" : "abort",
		};
		const pi = await host(t, { model, env });
		const { code, stderr } = await pi.print("go");
		assert.equal(code, 53);
		assert.match(stderr, LINE);
	});
}
