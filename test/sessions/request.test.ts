/** Requests to the gate that come beside others. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { turnLimit } from "../../src/index.ts";
import { perMeter } from "../../src/core/meters.ts";
import { create } from "../../src/core/state.ts";
import { Driver } from "../../src/loop/driver.ts";
import type { Host } from "../../src/loop/port.ts";
import { SharedLimits } from "../../src/loop/sharing/shared-limits.ts";
import { inside } from "../harness/inside.ts";
import { endless, text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

test("a call that a tool makes while the question is open waits for the answer, which is for both", async (t) => {
	const limit = turnLimit({ toolCalls: 2, grace: 0 });
	const model = [noop, noop, noop, text("done")];
	const made: unknown[] = [];
	const person = async (): Promise<boolean> => {
		const event = { type: "tool_call", toolCallId: "x", toolName: "noop", input: {} } as const;
		void pi.session.extensionRunner.emitToolCall(event).then((result) => made.push(result));
		await setImmediate();
		assert.deepEqual(made, []);
		return true;
	};
	const pi = await inside(t, { model, isPi: false, extensions: [limit], person });
	await pi.run("go");
	assert.deepEqual([made, pi.asked.length, limit.snapshot().toolCalls.used], [[undefined], 1, 2]);
});

test("a step without an effect is done when it returns, so that the handler of an event need not wait", () => {
	const limits = perMeter(() => ({ max: "unlimited", policy: "abort" }) as const);
	const state = create({ attended: false, isMember: false, limits, grace: 0, exempt: [] });
	const driver = new Driver({} as Host<undefined>, state, new SharedLimits(() => assert.fail("nothing is shared")));
	assert.equal(driver.step({ type: "prompted" }, undefined), undefined);
	assert.equal(driver.state.phase.name === "idle" && driver.state.phase.prompted, true);
});

test("an abort before a call that meets its limit asks nobody", async (t) => {
	const aborts = (pi: ExtensionAPI): void => {
		let n = 0;
		pi.on("tool_call", (_event, ctx) => {
			if (++n === 2) ctx.abort();
		});
	};
	const outcomes: string[] = [];
	const limit = turnLimit({ toolCalls: 1, grace: 0, onOutcome: ({ kind }) => outcomes.push(kind) });
	const pi = await inside(t, { model: endless(noop), isPi: false, extensions: [aborts, limit], person: () => true });
	await pi.run("go");
	assert.deepEqual([pi.asked, outcomes], [[], ["interrupted"]]);
});

test("a turn that was refused is none for the session that goes on later, and the others are", async (t) => {
	const first = await inside(t, { model: endless(noop), isPi: false, extensions: [turnLimit({ turns: 2 })] });
	await first.run("go");
	const { sessionManager } = first.session;
	await first.quit();
	const limit = turnLimit({ turns: 2 });
	await inside(t, { isPi: false, extensions: [limit], sessionManager });
	assert.equal(limit.snapshot().sessionTurns.used, 2);
});
