/** The next prompt after a final pass: the transcript still says that every tool call is refused. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { host, mark, text } from "../harness/index.ts";

const AGAIN = /^A new run has begun, and tool calls run again\./;

const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_POLICY: "synthesize" };

/** The first prompt meets the limit; the next ones end by themselves. */
const model = [mark(), mark(), text("An answer."), mark(), text("done"), text("done")];

describe("after a final pass", () => {
	for (const isCompacted of [false, true]) {
		test(`the model reads with the next prompt that it may work again${isCompacted ? ", also after a compaction" : ""}`, async (t) => {
			const compaction = { reserveTokens: 100, keepRecentTokens: 1 };
			const pi = await host(t, { model, env, settings: { compaction }, summary: text("Every tool call is refused.") });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			if (isCompacted) await rpc.send({ type: "compact" });
			const before = pi.model.turns.length;
			await rpc.run("go on");
			const [first, second] = pi.model.turns.slice(before);
			assert.match(first?.texts("user").at(-1) ?? "", AGAIN);
			assert.equal(first?.texts("user").at(-2), "go on");
			assert.equal(second?.texts("user").filter((words) => AGAIN.test(words)).length, 1);
			await rpc.run("once more");
			assert.equal(
				pi.model.turns
					.at(-1)
					?.texts("user")
					.filter((words) => AGAIN.test(words)).length,
				1,
			);
		});
	}
});
