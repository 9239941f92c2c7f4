import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Key, type List, OPENED, press } from "../../src/pi/keys.ts";

const answers = [["y", "yes"], [], ["n", "no"]];

interface Seen {
	list: List;
	editor: string;
	taken: number | undefined;
}

/** Presses the keys until one of them answers. */
function type(keys: readonly Key[]): Seen {
	let seen: Seen = { list: OPENED, editor: "", taken: undefined };
	for (const key of keys) {
		const step = press(seen.list, key, answers, seen.editor !== "");
		const passed = step.pass && key.type === "text" ? key.text : "";
		seen = { list: step.list, editor: seen.editor + (step.spill ?? "") + passed, taken: step.take };
		if (seen.taken !== undefined) break;
	}
	return seen;
}

const letter = fc.constantFrom(...Array.from("yesnoYx ")).map((text): Key => ({ type: "text", text }));
const other = fc.constantFrom<Key["type"]>("enter", "up", "down", "other", "pause").map((type) => ({ type }) as Key);
const letters = (keys: readonly Key[]): string => keys.map((key) => (key.type === "text" ? key.text : "")).join("");

const withoutArrows = fc
	.array(fc.oneof(letter, other))
	.map((keys) => keys.filter(({ type }) => type !== "up" && type !== "down"));

test("until something is answered no letter is lost or moved, except a typed answer that an arrow takes back", () => {
	fc.assert(
		fc.property(withoutArrows, (keys) => {
			const { list, editor, taken } = type(keys);
			if (taken === undefined) assert.equal(editor + list.held, letters(keys));
		}),
	);
});

test("without a pause nothing is answered", () => {
	const keys = fc.array(fc.oneof(letter, other)).map((list) => list.filter(({ type }) => type !== "pause"));
	fc.assert(fc.property(keys, (list) => assert.equal(type(list).taken, undefined)));
});

test("once text is in the editor nothing is answered without an arrow", () => {
	const text: Key = { type: "text", text: "x" };
	fc.assert(fc.property(withoutArrows, (keys) => assert.equal(type([text, ...keys]).taken, undefined)));
});

test("once text is in the editor an arrow and then Enter answer after a pause", () => {
	const keys = (["paste", "down", "pause", "enter"] as const).map((type): Key => ({ type }));
	assert.equal(type(keys).taken, 0);
	assert.equal(type([{ type: "text", text: "y" }, ...keys]).taken, 0);
});

test("a key of no meaning changes nothing", () => {
	assert.equal(press(OPENED, { type: "other" }, answers, false).list, OPENED);
	assert.equal(press(OPENED, { type: "edit" }, answers, false).list, OPENED);
});
