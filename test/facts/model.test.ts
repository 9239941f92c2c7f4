import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { held, mark, text } from "../harness/index.ts";
import { bare, small } from "./bare.ts";

/** Leaves a message for the model at the end of its first turn. */
function advises(pi: ExtensionAPI): void {
	let left = 1;
	const entry = { type: "custom_message", customType: "advice", content: "Be brief.", display: true } as const;
	pi.on("turn_end", ({ entries }) => (left-- > 0 ? { entries: [...entries, entry] } : undefined));
}

test("a custom message entry returned from turn_end is in the very next request, as a user message", async (t) => {
	const pi = await bare(t, advises, { model: [mark(), text("done")] });
	await pi.print("go");
	const next = pi.model.requests[1];
	assert.deepEqual([next?.texts("user"), next?.last], [["go", "Be brief."], "Be brief."]);
});

test("a custom message entry returned from turn_end stands before what the user has queued", async (t) => {
	const slow = held();
	const pi = await bare(t, advises, { model: [slow, text("done")] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.steer("look left");
	slow.release();
	await rpc.settled();
	assert.deepEqual(pi.model.requests[1]?.texts("user"), ["go", "Be brief.", "look left"]);
});

test("a custom message entry returned from turn_end costs no turn", async (t) => {
	const pi = await bare(t, advises, { model: [text("done")] });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 1);
});

test("turn_end hands every extension the entries of those before it", async (t) => {
	const counts = (pi: ExtensionAPI): void => {
		pi.on("turn_end", ({ entries }) => console.error(entries.length));
	};
	const pi = await bare(t, [advises, counts], { model: [mark(), text("done")] });
	assert.equal((await pi.print("go")).stderr, "1\n0\n");
});

test("turn_end shows the messages that the user has queued, and whether an extension continues the run", async (t) => {
	const continues = (pi: ExtensionAPI): void => {
		let left = 1;
		pi.on("turn_end", () => ({ continue: left-- > 0 }));
	};
	const tells = (pi: ExtensionAPI): void => {
		pi.on("turn_end", (event, ctx) => ctx.ui.notify(`${event.context.pendingMessages.length} ${event.continue}`));
	};
	const slow = held(text("first"));
	const pi = await bare(t, [continues, tells], { model: [slow, text("second")] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.steer("look left");
	slow.release();
	await rpc.settled();
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		["1 true", "0 false"],
	);
});

test("a context handler registered in turn_start acts on that same request", async (t) => {
	const slipsIn = (pi: ExtensionAPI): void => {
		const message = { role: "custom", customType: "late", content: "Be brief.", display: true, timestamp: 0 } as const;
		pi.on("turn_start", () => {
			const off = pi.on("context", ({ messages }) => {
				off();
				return { messages: [...messages, message] };
			});
		});
	};
	const pi = await bare(t, slipsIn, { model: [mark(), text("done")] });
	await pi.print("go");
	const counts = pi.model.requests.map((request) => [request.count("Be brief."), request.last === "Be brief."]);
	assert.deepEqual(counts, [
		[1, true],
		[1, true],
	]);
});

test("a compaction takes a custom message out of the model's sight, and session_compact tells what it kept", async (t) => {
	const looks = (pi: ExtensionAPI): void => {
		pi.on("session_compact", ({ compactionEntry }, { sessionManager }) => {
			const branch = sessionManager.getBranch();
			const at = branch.findIndex(({ id }) => id === compactionEntry.firstKeptEntryId);
			const custom = branch.findIndex(({ type }) => type === "custom_message");
			console.error(at >= 0, custom >= 0, custom < at);
		});
	};
	const full = { ...mark("a"), usage: { prompt: 8_100 } };
	const pi = await bare(t, [advises, looks], { ...small, model: [mark(), full, text("done")] });
	assert.equal((await pi.print("go")).stderr, "true true true\n");
	assert.deepEqual(
		pi.model.turns.map((request) => request.count("Be brief.")),
		[0, 1, 0],
	);
});

test("message_end of an answer has its cost, from the model's prices", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		pi.on("message_end", ({ message }) => {
			if (message.role === "assistant") console.error(message.usage.cost.total.toFixed(6));
		});
	};
	const modelFields = { cost: { input: 2, output: 3, cacheRead: 0, cacheWrite: 0 } };
	const pi = await bare(t, tells, {
		model: [{ ...text("done"), usage: { prompt: 1000, completion: 100 } }],
		modelFields,
	});
	assert.equal((await pi.print("go")).stderr, "0.002300\n");
});
