/** Beside an extension that keeps a failed run going when pi is about to settle. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, host, outcomes, spy, text } from "../harness/index.ts";

describe("an extension says go on, in agent_before_settle, after every response that a content filter stopped", () => {
	/** At most 15 times, so that a test that fails ends. */
	function goesOn(pi: ExtensionAPI): void {
		let left = 15;
		pi.on("agent_before_settle", ({ entries }) => {
			if (left-- <= 0) return undefined;
			const message = { type: "custom_message" as const, customType: "goal", content: "go on", display: true };
			return { entries: [...entries, message], continue: true };
		});
	}

	const options = {
		model: endless({ ...text("I"), stop: "content_filter" }),
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" },
		settings: { retry: { maxRetries: 0 } },
		after: [goesOn, spy],
	};

	test("a script gets 3 turns", async (t) => {
		const pi = await host(t, options);
		const { code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns }) => [kind, turns]),
			[["exhausted", 3]],
		);
		assert.equal(code, 53);
	});

	test("a person is asked after 3 turns", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.equal(rpc.questions.length, 1);
	});
});
