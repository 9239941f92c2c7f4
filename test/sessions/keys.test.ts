import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { KeybindingsManager, TUI_KEYBINDINGS } from "@earendil-works/pi-tui";
import fc from "fast-check";
import { Editor } from "../../src/hosts/pi/ui/dialog/editor.ts";
import {
	type Key,
	type Keybindings,
	type List,
	OPENED,
	press,
	Quiet,
	readKey,
	type Tui,
} from "../../src/hosts/pi/ui/dialog/keys.ts";
import * as kit from "../../src/hosts/pi/ui/pi-tui.ts";

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

describe("a key at the list", () => {
	const open: List = { counts: true, row: 0, held: "" };
	const letter = (text: string): Key => ({ type: "text", text });
	const gone: List = { counts: false, row: undefined, held: "" };

	for (const [does, list, key, hasText, step] of [
		["marks the row that a letter names, and keeps the letter", open, letter("n"), false, { row: 2, held: "n" }],
		["knows large letters", open, letter("Y"), false, { row: 0, held: "Y" }],
		["goes on with a word", { ...open, row: 2, held: "n" }, letter("O"), false, { row: 2, held: "nO" }],
		[
			"leaves the row where the word is not ended",
			{ ...open, row: 1, held: "y" },
			letter("e"),
			false,
			{ row: 1, held: "ye" },
		],
		[
			"takes back a typed letter with an editing key",
			{ ...open, row: 2, held: "n" },
			{ type: "edit" },
			true,
			{ row: 2 },
		],
		["goes up from the first row to the last", { ...open, held: "y" }, { type: "up" }, false, { row: 2 }],
		["goes up", { ...open, row: 2 }, { type: "up" }, false, { row: 1 }],
		["goes up from no row to the last", { ...open, row: undefined }, { type: "up" }, false, { row: 2 }],
		["goes down", { ...open, held: "y" }, { type: "down" }, false, { row: 1 }],
		["goes down from the last row to the first", { ...open, row: 2 }, { type: "down" }, false, { row: 0 }],
		["goes down from no row to the first", { ...open, row: undefined }, { type: "down" }, false, { row: 0 }],
		["waits for a pause", { ...open, counts: false }, { type: "enter" }, false, { counts: false }],
		["begins to count with a pause", OPENED, { type: "pause" }, false, {}],
	] as [string, List, Key, boolean, Partial<List>][]) {
		test(does, () => {
			assert.deepEqual(press(list, key, answers, hasText), { list: { ...open, ...{ row: list.row }, ...step } });
		});
	}

	for (const [does, list, key, hasText, step] of [
		["is text before the list counts", OPENED, letter("y"), false, { list: gone, pass: true }],
		["is text where the editor has some", open, letter("y"), true, { list: gone, pass: true }],
		["is text where no answer begins so", open, letter("x"), false, { list: gone, pass: true }],
		[
			"is text where no answer goes on so",
			{ ...open, held: "y" },
			letter("o"),
			false,
			{ list: gone, spill: "y", pass: true },
		],
		["is pasted into the editor", open, { type: "paste" }, false, { list: gone, pass: true }],
		["edits the text of the editor", open, { type: "edit" }, true, { list: gone, pass: true }],
		["takes the row with Enter", { ...open, row: 1 }, { type: "enter" }, false, { list: { ...open, row: 1 }, take: 1 }],
		[
			"takes no row with Enter where none is marked",
			{ ...open, row: undefined },
			{ type: "enter" },
			false,
			{ list: { ...open, row: undefined } },
		],
		["takes the typed answer with Enter", { ...open, held: "no" }, { type: "enter" }, false, { list: open, take: 2 }],
		["takes the typed answer after a pause", { ...open, held: "Y" }, { type: "pause" }, false, { list: open, take: 0 }],
		[
			"gives the beginning of an answer to the editor",
			{ ...open, held: "ye" },
			{ type: "pause" },
			false,
			{ list: gone, spill: "ye" },
		],
	] as [string, List, Key, boolean, ReturnType<typeof press>][]) {
		test(does, () => {
			assert.deepEqual(press(list, key, answers, hasText), step);
		});
	}
});

/** As pi gives them to a dialog. */
const keybindings = new KeybindingsManager(TUI_KEYBINDINGS) as unknown as Keybindings;

describe("terminal input", () => {
	for (const [what, data, key] of [
		["a letter", "y", { type: "text", text: "y" }],
		["a letter of another script", "ж", { type: "text", text: "ж" }],
		["a letter in kitty's protocol", "\x1b[121u", { type: "text", text: "y" }],
		["a large letter in kitty's protocol", "\x1b[121:89;2u", { type: "text", text: "Y" }],
		["a large letter in xterm's protocol", "\x1b[27;2;89~", { type: "text", text: "y" }],
		["a paste", "\x1b[200~y\x1b[201~", { type: "paste" }],
		["an arrow up", "\x1b[A", { type: "up" }],
		["an arrow down", "\x1b[B", { type: "down" }],
		["Enter", "\r", { type: "enter" }],
		["Enter in kitty's protocol", "\x1b[13u", { type: "enter" }],
		["a key of no meaning", "\x1bOP", { type: "other" }],
		["a letter with a modifier", "\x1b[27;5;121~", { type: "other" }],
		["a large letter with a modifier", "\x1b[27;6;89~", { type: "other" }],
		["a report of the terminal", "\x1b[I", undefined],
	] as const) {
		test(`is ${what}`, () => {
			assert.deepEqual(readKey(kit, keybindings, data), key);
		});
	}

	const EDITING = {
		"delete a letter": ["\x7f", "\x1b[3~"],
		"delete a word": ["\x17", "\x1bd"],
		"delete to the start": ["\x15"],
		"delete to the end": ["\x0b"],
		"move by a letter": ["\x1b[D", "\x1b[C"],
		"move by a word": ["\x1bb", "\x1bf"],
		"move to start and end": ["\x1b[H", "\x1b[F"],
		undo: ["\x1f"],
		"begin a line": ["\x1b[13;2u"],
	};
	for (const [what, keys] of Object.entries(EDITING)) {
		test(`edits where it is a key to ${what}`, () => {
			for (const data of keys)
				assert.deepEqual(readKey(kit, keybindings, data), { type: "edit" }, JSON.stringify(data));
		});
	}

	test("confirms with the key that the person has bound to either of the two", () => {
		for (const binding of ["tui.select.confirm", "tui.input.submit"]) {
			const own = new KeybindingsManager(TUI_KEYBINDINGS, {
				"tui.select.confirm": [],
				"tui.input.submit": [],
				[binding]: "f2",
			}) as unknown as Keybindings;
			assert.deepEqual(readKey(kit, own, "\x1bOQ"), { type: "enter" });
			assert.deepEqual(readKey(kit, own, "\r"), { type: "other" });
		}
	});
});

describe("a pause of the keys", () => {
	test("comes after its time, and after the keys that are waiting then", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		t.after(() => t.mock.timers.reset());
		const seen: string[] = [];
		new Quiet().after(800, () => seen.push("quiet"));
		t.mock.timers.tick(799);
		await setImmediate();
		assert.equal(seen.length, 0);
		t.mock.timers.tick(1);
		seen.push("a key");
		await setImmediate();
		assert.deepEqual(seen, ["a key", "quiet"]);
	});

	test("is dropped for another one, and when it is cancelled, also at the last moment", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		t.after(() => t.mock.timers.reset());
		const seen: string[] = [];
		const quiet = new Quiet();
		quiet.after(800, () => seen.push("first"));
		quiet.after(900, () => seen.push("second"));
		t.mock.timers.tick(900);
		await setImmediate();
		assert.deepEqual(seen, ["second"]);
		quiet.after(800, () => seen.push("third"));
		t.mock.timers.tick(800);
		quiet.cancel();
		await setImmediate();
		assert.deepEqual(seen, ["second"]);
	});
});

describe("the editor behind a dialog", () => {
	/** An editor that records its keys, and the screen that has it. */
	function screen(focus: object | null | undefined) {
		const typed: string[] = [];
		const component = {
			...{ getText: () => "", setText: () => {}, invalidate: () => {} },
			render: (width: number) => Array.from({ length: width > 40 ? 4 : 5 }, () => ""),
			handleInput: (data: string) => typed.push(data),
		};
		const tui = { getFocusedComponent: () => (focus === undefined ? component : focus) };
		const ui = { getEditorText: () => "", pasteToEditor: (text: string) => typed.push(`paste ${text}`) };
		return { typed, component, tui, ui, editor: new Editor(ui, kit, tui as unknown as Tui) };
	}

	test("gets keys as if it had them, and says how many rows it takes", () => {
		const { editor, component, typed } = screen(undefined);
		assert.equal(editor.find(), component);
		editor.type("\x1b[D");
		assert.deepEqual(typed, ["\x1b[D"]);
		assert.deepEqual([editor.rows(80), editor.rows(40)], [4, 5]);
	});

	test("is found again only while it has the keys, whatever editor comes later", () => {
		const { editor, component, tui } = screen(undefined);
		editor.find();
		tui.getFocusedComponent = () => ({ ...component });
		assert.equal(editor.find(), undefined);
		tui.getFocusedComponent = () => component;
		assert.equal(editor.find(), component);
	});

	for (const [what, focus] of [
		["nothing", null],
		["a list", { render: () => [] }],
		["something with a text that cannot be set", { getText: () => "" }],
		["something whose text can only be set", { setText: () => {} }],
	] as const) {
		test(`gets what it can paste where ${what} has the keys`, () => {
			const { editor, typed } = screen(focus);
			assert.equal(editor.find(), undefined);
			for (const data of ["y", "\x1b[121u", "\x1b[200~a b\x1b[201~"]) editor.type(data);
			assert.deepEqual(typed, ["paste y", "paste y", "paste a b"]);
			assert.equal(editor.rows(80), 3);
		});
	}

	test("is unknown on a pi that does not tell who has the keys", () => {
		const { ui } = screen(null);
		assert.equal(new Editor(ui, kit, {} as Tui).find(), undefined);
	});

	test("gets what it can paste where it takes no keys itself", () => {
		const { editor, typed, component } = screen(undefined);
		Reflect.deleteProperty(component, "handleInput");
		editor.find();
		editor.type("y");
		assert.deepEqual(typed, ["paste y"]);
	});

	test("has text or none", () => {
		const { editor, ui } = screen(undefined);
		assert.equal(editor.hasText, false);
		ui.getEditorText = () => "a";
		assert.equal(editor.hasText, true);
	});
});
