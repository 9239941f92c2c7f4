import assert from "node:assert/strict";
import { test } from "node:test";
import { bash, calls, host, mark, type Reply, text } from "../harness/index.ts";

test("a model that makes identical calls in one batch learns why one was refused before the policy applies", async (t) => {
	const model = ({ last }: { last: string }): Reply =>
		last === "go" ? mark("x", "x", "x", "x", "x") : text("Something else, then.");
	const pi = await host(t, { model, env: { PI_TURN_LIMIT_REPEATS: "3" } });
	const { code, stdout, stderr } = await pi.print("go");
	assert.deepEqual([stdout, stderr, code], ["Something else, then.\n", "", 0]);
	assert.deepEqual(pi.marks(), ["x", "x", "x"]);
});

test("identical calls with other calls between them are not in a row, though the tool of those may repeat", async (t) => {
	const look = calls({ name: "read", args: { path: "marks" } });
	const model = (_request: unknown, n: number): Reply =>
		n > 10 ? text("done") : n % 2 === 0 ? look : calls(bash(`echo ${n} >> marks`));
	const env = { PI_TURN_LIMIT_REPEATS: "3", PI_TURN_LIMIT_REPEATS_EXCEPT: "bash" };
	const pi = await host(t, { model, env });
	const { code, stdout, stderr } = await pi.print("go");
	assert.deepEqual([stdout, stderr, code], ["done\n", "", 0]);
});
