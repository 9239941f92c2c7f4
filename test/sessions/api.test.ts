/** Pi's messages and entries as we read them. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SessionCompactEvent, SessionEntry, TurnEndEvent } from "@earendil-works/pi-coding-agent";
import {
	type Assistant,
	type Context,
	finalTextIn,
	expectsTurn,
	isInSight,
	withNote,
} from "../../src/hosts/pi/host/api.ts";
import { isGuided } from "../../src/hosts/pi/outcome/transcript.ts";

const say = (text: string) => ({ type: "text", text }) as const;
const thought = { type: "thinking", thinking: "Hm." } as const;
const call = { type: "toolCall", id: "1", name: "noop", arguments: {} } as const;
const reply = (stopReason: string, ...content: object[]) => ({ role: "assistant", stopReason, content }) as Assistant;

for (const [what, message, expected] of [
	["all its texts, without its thoughts", reply("stop", thought, say("One."), say("Two.")), "One.\nTwo."],
	["none if it calls a tool", reply("stop", say("One."), call), undefined],
	["none if it says nothing", reply("stop", thought, say(" \n")), undefined],
	["none if it was cut off", reply("length", say("One.")), undefined],
] as const) {
	test(`the answer in a reply is ${what}`, () => assert.equal(finalTextIn(message), expected));
}

test("a note stands at the end of the first text, and changes nothing else", () => {
	const { content } = withNote(reply("stop", thought, say(" One. \n"), call, say("Two.")), "A note.");
	assert.deepEqual(content, [thought, say(" One.\n\nA note."), call, say("Two.")]);
});

for (const [what, expected, event] of [
	["a result is left", true, { toolResults: [{ toolCallId: "1" }, { toolCallId: "2" }] }],
	["every tool has asked to end it", false, { toolResults: [{ toolCallId: "1" }] }],
	["a message waits", true, { context: { pendingMessages: [{}] } }],
	["an extension wants it", true, { continue: true }],
	["nothing asks for it", false, {}],
] as [string, boolean, object][]) {
	test(`pi ${expected ? "goes" : "does not go"} on where ${what}`, () => {
		const nothing = { toolResults: [], context: { pendingMessages: [] }, continue: false };
		assert.equal(expectsTurn({ ...nothing, ...event } as unknown as TurnEndEvent, ["1"]), expected);
	});
}

describe("after a compaction the model", () => {
	const result = (...content: object[]) => ({ type: "message", message: { role: "toolResult", content } });
	const entries = {
		ours: { type: "custom_message", customType: "turn-limit" },
		theirs: { type: "custom_message", customType: "peer" },
		refused: result({ type: "image" }, say("Not run: …")),
		ran: result(say("It was Not run")),
		said: { type: "message", message: { role: "user", content: [say("Not run")] } },
		label: { type: "label" },
	};
	for (const [story, kept, expected] of [
		["said ours", "ours", true],
		["ours said", "ours", true],
		["ours said", "said", false],
		["said refused", "said", true],
		["said ran theirs label", "said", false],
		["ours", "gone", false],
	] as const) {
		test(`${expected ? "sees" : "sees nothing of"} ours in: ${story}, kept from: ${kept}`, () => {
			const branch = story.split(" ").map((id) => ({ id, ...entries[id as keyof typeof entries] }));
			const event = { compactionEntry: { firstKeptEntryId: kept } } as SessionCompactEvent;
			assert.equal(isInSight(event, { sessionManager: { getBranch: () => branch } } as unknown as Context), expected);
		});
	}
});

for (const [entries, expected] of [
	[[{ type: "message" }, { customType: "turn-limit-guidance" }], true],
	[[{ type: "message" }, { customType: "turn-limit" }], false],
] as const) {
	test(`a session has words of the person at a question: ${expected}`, () => {
		assert.equal(isGuided(entries as unknown as SessionEntry[]), expected);
	});
}
