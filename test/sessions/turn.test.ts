import assert from "node:assert/strict";
import { test } from "node:test";
import type { Assistant } from "../../src/hosts/pi/host/api.ts";
import { Turn } from "../../src/hosts/pi/events/turn.ts";

/** A message of the model with calls that have these ids. */
function message(stopReason: string, ...ids: string[]): Assistant {
	const calls = ids.map((id) => ({ type: "toolCall", id, name: "noop", arguments: {} }));
	return { role: "assistant", stopReason, content: [{ type: "text", text: "Well.", id: "text" }, ...calls] } as never;
}

test("a turn is over when the model has answered and every call has ended", () => {
	const turn = new Turn();
	assert.equal(turn.isOver, false);
	turn.replied(message("toolUse", "a", "b"));
	assert.equal(turn.isOver, false);
	turn.callEnded("a", { terminate: true });
	assert.equal(turn.isOver, false);
	turn.callEnded("b", { terminate: false });
	assert.equal(turn.isOver, true);
	assert.deepEqual(turn.terminated, ["a"]);
});

test("a turn whose calls never ran is over with the model's message, and one without calls too", () => {
	for (const reply of [message("error", "a"), message("length", "a"), message("toolUse"), message("stop")]) {
		const turn = new Turn();
		turn.replied(reply);
		assert.equal(turn.isOver, true);
	}
});

test("a call can end without a result", () => {
	const turn = new Turn();
	turn.callEnded("a", undefined);
	assert.equal(turn.isOver, false);
	assert.equal(turn.terminated.length, 0);
});
