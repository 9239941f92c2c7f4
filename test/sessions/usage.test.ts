/** A session that goes on later reads from its entries how much it has spent. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Usage } from "@earendil-works/pi-ai";
import { chargeOfUsage, spentIn } from "../../src/hosts/pi/host/usage.ts";
import { NOT_REQUESTED } from "../../src/hosts/pi/host/api.ts";
import { SessionManager } from "../harness/pi.ts";

const prices = { input: 0.002, output: 0.003, cacheRead: 0.001, cacheWrite: 0.004 };
const usage: Usage = {
	...{ input: 500, output: 50, cacheRead: 9_000, cacheWrite: 7, totalTokens: 9_557 },
	cost: { ...prices, total: 0.01 },
};

/** By word: adds an entry to a session. Every other word is the stop reason of a reply. */
const ENTRIES: Record<string, (session: SessionManager) => unknown> = {
	user: (session) => session.appendMessage({ role: "user", content: "go", timestamp: 0 }),
	result: (session) => result(session, {}),
	paid: (session) => result(session, { usage }),
	peer: (session) => session.appendCustomMessageEntry("peer", "go on", true),
	note: (session) => session.appendCustomEntry("peer", { usage }),
	compaction: (session) => session.appendCompaction("A summary.", null, 9, undefined, false, usage),
	compacted: (session) => session.appendCompaction("A summary.", null, 9),
	branch: (session) => session.branchWithSummary(session.getLeafId(), "A summary.", undefined, false, usage),
	warm: (session) => session.appendUsage("cache_warm", "loopback", "scripted", usage),
	lost: (session) => session.appendCustomEntry("turn-limit-lost-turn"),
	message: (session) => session.appendCustomMessageEntry("turn-limit-lost-turn", "I am another.", true),
	refused: (session) => reply(session, "aborted", { rawStopReason: NOT_REQUESTED }),
};

function result(session: SessionManager, fields: object): void {
	session.appendMessage({ role: "toolResult", toolCallId: "1", toolName: "noop", content: [], ...fields } as never);
}

function reply(session: SessionManager, stopReason: string, fields: object): void {
	session.appendMessage({ role: "assistant", content: [], usage, stopReason, timestamp: 0, ...fields } as never);
}

describe("a session has spent", () => {
	for (const [what, words, turns, uses] of [
		["nothing at its start", "", 0, 0],
		["a turn for each reply", "user toolUse result stop", 2, 2],
		["a turn for replies that nothing separates", "user stop stop", 2, 2],
		["a turn for a reply that was aborted", "user aborted user stop", 2, 2],
		["one turn for a reply that failed and its repetition", "user error error stop", 1, 3],
		["one turn for them also where another entry is between them", "user error note stop", 1, 2],
		["a turn for a reply after a message of the person", "user error user stop", 2, 2],
		["a turn for a reply after a message of an extension", "user error peer stop", 2, 2],
		["one turn for a reply that was cut off and taken back", "user length compacted stop", 1, 2],
		["no turn for a reply that was not requested", "user toolUse result refused", 1, 2],
		["a turn for one whose reply was lost with the process", "user stop user lost user stop", 3, 2],
		["no turn for a message of the same name", "user stop message", 1, 1],
		["what tools, compactions and branch summaries report", "user stop paid compaction branch", 1, 4],
		["nothing for what warms the cache, because pi does not report that in a run", "user stop warm note", 1, 1],
	] as const) {
		test(what, () => {
			const session = SessionManager.inMemory();
			for (const word of words.split(" ").filter(Boolean)) (ENTRIES[word] ?? (() => reply(session, word, {})))(session);
			const spent = { sessionTurns: turns, sessionCost: 10_000 * uses, sessionTokens: 557 * uses };
			assert.deepEqual(spentIn(session.getEntries()), spent);
		});
	}
});

test("a session has spent what its other entries say where one lacks its message, whatever that stands for", () => {
	const session = SessionManager.inMemory();
	ENTRIES["user"]?.(session);
	reply(session, "stop", {});
	const odd = ["message", "custom_message", "compaction", "branch_summary", "custom", "usage"].flatMap((type) => [
		{ type, id: type, parentId: null, timestamp: "" },
		{ type, id: type, parentId: null, timestamp: "", message: null, usage: null },
	]);
	const entries = [...session.getEntries(), ...odd] as ReturnType<SessionManager["getEntries"]>;
	assert.deepEqual(spentIn(entries), { sessionTurns: 1, sessionCost: 10_000, sessionTokens: 557 });
});

for (const [what, given, amounts] of [
	["that reports nothing", undefined, undefined],
	["that reports null", null, undefined],
	["whose parts are zero", { input: 0, cost: { input: 0, total: 0 } }, undefined],
	["that lacks parts", { output: 3 }, { tokens: 3 }],
	["that costs less than half a millionth", { cost: { total: 0.000_000_4 } }, undefined],
	["that costs nearly a millionth", { input: 1, cost: { total: 0.000_000_6 } }, { cost: 1, tokens: 1 }],
	["that is text", { input: "10", output: "5", cost: { ...prices, total: "0.5" } }, { cost: 500_000, tokens: 15 }],
	["one part of which is no number", { input: NaN, output: 7, cacheWrite: {} }, { tokens: 7 }],
	["that is no number at all", { input: NaN, output: "many", cost: { total: "free" } }, undefined],
	["one part of which is below 0", { input: -500, output: 7, cost: { input: -2, total: -1 } }, { tokens: 7 }],
	["that no safe number holds", { input: 1e17, cost: { ...prices, total: 1e11 } }, { cost: 1e12, tokens: 1e12 }],
	["without end", { input: Infinity, output: Infinity }, { tokens: 1e12 }],
	["whose cost is no object", { output: 3, cost: null }, { tokens: 3 }],
	["whose cost is the dollars alone", { cost: 1.5 }, { cost: 1_500_000 }],
	["whose cost has no total", { cost: { input: 1, output: "2", cacheRead: 3, cacheWrite: 4 } }, { cost: 10_000_000 }],
	["whose cost has a total that is no number", { cost: { ...prices, total: NaN } }, { cost: 10_000 }],
	["whose cost has parts and a total of 0", { cost: { ...prices, total: 0 } }, undefined],
	["whose cost has parts and an empty total", { cost: { ...prices, total: "" } }, { cost: 10_000 }],
	["whose cost has parts and a total below 0", { cost: { ...prices, total: -1 } }, { cost: 10_000 }],
	["whose total differs from its parts", { cost: { ...prices, total: 0.001 } }, { cost: 1000 }],
	["of large integers", { input: 10n, output: 2n ** 64n, cost: { total: 2n } }, { cost: 2_000_000, tokens: 1e12 }],
	["that reports all tokens only", { totalTokens: 9_557, cacheRead: 9_000 }, { tokens: 557 }],
	[
		"that has read the cache only",
		{ ...usage, input: 0, output: 0, cacheWrite: 0, totalTokens: 9_000 },
		{ cost: 10_000 },
	],
] as const) {
	test(`a usage ${what} is charged as ${JSON.stringify(amounts)}`, () => {
		assert.deepEqual(chargeOfUsage(given as Usage | null | undefined), amounts);
	});
}
