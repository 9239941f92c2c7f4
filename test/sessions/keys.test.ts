import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { KeybindingsManager, TUI_KEYBINDINGS } from "@earendil-works/pi-tui";
import fc from "fast-check";
import { Editor } from "../../src/hosts/pi/ui/dialog/editor.ts";
import {
	type ListKey,
	type Keybindings,
	type List,
	OPENED,
	press,
	Quiet,
	readKey,
	type Tui,
	type TypedAnswers,
} from "../../src/hosts/pi/ui/dialog/keys.ts";
import * as piTui from "../../src/hosts/pi/ui/pi-tui.ts";

const answers: TypedAnswers = {
	words: [["y", "yes"], [], ["n", "no"]],
	isAmount: (text) => /^\+?[1-9]\d*$/.test(text),
};

interface Seen {
	list: List;
	editor: string;
	taken: number | undefined;
}

/** Presses the keys until one of them answers. */
function type(keys: readonly ListKey[]): Seen {
	let seen: Seen = { list: OPENED, editor: "", taken: undefined };
	for (const key of keys) {
		const step = press(seen.list, key, answers, seen.editor !== "");
		const passed = step.pass && key.type === "text" ? key.text : "";
		seen = { list: step.list, editor: seen.editor + (step.spill ?? "") + passed, taken: step.take };
		if (seen.taken !== undefined) break;
	}
	return seen;
}

const letter = fc.constantFrom(...Array.from("yesnoYx 5")).map((text): ListKey => ({ type: "text", text }));
const other = fc
	.constantFrom<ListKey["type"]>("enter", "up", "down", "other", "pause")
	.map((type) => ({ type }) as ListKey);
const letters = (keys: readonly ListKey[]): string => keys.map((key) => (key.type === "text" ? key.text : "")).join("");

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
	const text: ListKey = { type: "text", text: "x" };
	fc.assert(fc.property(withoutArrows, (keys) => assert.equal(type([text, ...keys]).taken, undefined)));
});

test("once text is in the editor an arrow and then Enter answer after a pause", () => {
	const keys = (["paste", "down", "pause", "enter"] as const).map((type): ListKey => ({ type }));
	assert.equal(type(keys).taken, 0);
	assert.equal(type([{ type: "text", text: "y" }, ...keys]).taken, 0);
});

test("a key of no meaning changes nothing", () => {
	assert.equal(press(OPENED, { type: "other" }, answers, false).list, OPENED);
	assert.equal(press(OPENED, { type: "edit" }, answers, false).list, OPENED);
});

describe("a key at the list", () => {
	const open: List = { counts: true, row: 0, held: "" };
	const letter = (text: string): ListKey => ({ type: "text", text });
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
			"takes the same letter again as the same answer",
			{ ...open, held: "y" },
			letter("y"),
			false,
			{ row: 0, held: "yy" },
		],
		[
			"takes a held key as one answer",
			{ ...open, row: 2, held: "nnnn" },
			letter("N"),
			false,
			{ row: 2, held: "nnnnN" },
		],
		["marks the first row for an amount", { ...open, row: 2 }, letter("5"), false, { row: 0, held: "5" }],
		["goes on with an amount", { ...open, held: "5" }, letter("0"), false, { row: 0, held: "50" }],
		["waits for more of an amount", { ...open, row: 2 }, letter("+"), false, { row: 2, held: "+" }],
		["keeps an amount over a pause, until Enter", { ...open, held: "5" }, { type: "pause" }, false, { held: "5" }],
		["keeps what no amount is yet, also after Enter", { ...open, held: "+" }, { type: "enter" }, false, { held: "+" }],
		["keeps what no amount is yet over a pause", { ...open, held: "0" }, { type: "pause" }, false, { held: "0" }],
		["takes back the last digit", { ...open, held: "50" }, { type: "back" }, false, { held: "5" }],
		["takes back the last letter", { ...open, row: 2, held: "no" }, { type: "back" }, false, { row: 2, held: "n" }],
		["takes back the only letter", { ...open, row: 2, held: "n" }, { type: "back" }, true, { row: 2 }],
		["takes back nothing where there is nothing", open, { type: "back" }, false, {}],
		["marks the first row again once the text is gone", gone, { type: "pause" }, false, { row: 0 }],
		["marks no row while there is text", gone, { type: "pause" }, true, { row: undefined }],
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
	] as [string, List, ListKey, boolean, Partial<List>][]) {
		test(does, () => {
			assert.deepEqual(press(list, key, answers, hasText), { list: { ...open, row: list.row, ...step } });
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
		[
			"takes an amount with Enter",
			{ ...open, held: "50" },
			{ type: "enter" },
			false,
			{ list: open, take: 0, amount: "50" },
		],
		[
			"takes a key that was held down after a pause",
			{ ...open, held: "yyy" },
			{ type: "pause" },
			false,
			{ list: open, take: 0 },
		],
		["is text after an amount", { ...open, held: "3" }, letter(" "), false, { list: gone, spill: "3", pass: true }],
		[
			"is text after the same letter twice",
			{ ...open, held: "yy" },
			letter("e"),
			false,
			{ list: gone, spill: "yy", pass: true },
		],
		["is text where no amount begins so", open, letter("$"), false, { list: gone, pass: true }],
		[
			"is text where no amount goes on so",
			{ ...open, held: "5" },
			letter("k"),
			false,
			{ list: gone, spill: "5", pass: true },
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
	] as [string, List, ListKey, boolean, ReturnType<typeof press>][]) {
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
		["a key to delete the last letter", "\x7f", { type: "back" }],
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
			assert.deepEqual(readKey(piTui, keybindings, data), key);
		});
	}

	const EDITING = {
		"delete a letter": ["\x1b[3~"],
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
				assert.deepEqual(readKey(piTui, keybindings, data), { type: "edit" }, JSON.stringify(data));
		});
	}

	test("confirms with the key that the person has bound to either of the two", () => {
		for (const binding of ["tui.select.confirm", "tui.input.submit"]) {
			const own = new KeybindingsManager(TUI_KEYBINDINGS, {
				"tui.select.confirm": [],
				"tui.input.submit": [],
				[binding]: "f2",
			}) as unknown as Keybindings;
			assert.deepEqual(readKey(piTui, own, "\x1bOQ"), { type: "enter" });
			assert.deepEqual(readKey(piTui, own, "\r"), { type: "other" });
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
			handleInput: (data: string) => typed.push(data),
		};
		const tui: Record<string, unknown> = { getFocusedComponent: () => (focus === undefined ? component : focus) };
		const ui = {
			...{ getEditorText: () => "", setEditorText: (text: string) => typed.push(`set ${text}`) },
			pasteToEditor: (text: string) => typed.push(`paste ${text}`),
		};
		return { typed, component, tui, ui, editor: new Editor(ui, piTui, tui as unknown as Tui) };
	}

	test("gets keys as if it had them", () => {
		const { editor, component, typed } = screen(undefined);
		assert.equal(editor.find(), component);
		editor.type("\x1b[D");
		assert.deepEqual(typed, ["\x1b[D"]);
	});

	test("is found again only while it has the keys, whatever editor comes later", () => {
		const { editor, component, tui } = screen(undefined);
		editor.find();
		tui["getFocusedComponent"] = () => ({ ...component });
		assert.equal(editor.find(), undefined);
		tui["getFocusedComponent"] = () => component;
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
		});
	}

	test("is unknown on a pi that does not tell who has the keys", () => {
		const { ui } = screen(null);
		assert.equal(new Editor(ui, piTui, {} as Tui).find(), undefined);
	});

	test("gets what it can paste where it takes no keys itself", () => {
		const { editor, typed, component } = screen(undefined);
		Reflect.deleteProperty(component, "handleInput");
		editor.find();
		editor.type("y");
		assert.deepEqual(typed, ["paste y"]);
	});

	test("tells which dialog stands in its place", () => {
		const { ui, component, tui } = screen(undefined);
		const place: { children: object[] } = { children: [component] };
		tui["children"] = [{ render: () => [] }, { children: [{}, place] }];
		const editor = new Editor(ui, piTui, tui as unknown as Tui);
		assert.equal(editor.dialogInPlace, undefined);
		const dialog = { handleInput: component.handleInput };
		place.children = [{ render: () => [] }, { ...component }];
		assert.equal(editor.dialogInPlace, undefined);
		place.children = [...place.children, dialog];
		assert.equal(editor.dialogInPlace, dialog);
		place.children = [dialog, component];
		assert.equal(editor.dialogInPlace, undefined);
		tui["children"] = [{}];
		assert.equal(new Editor(ui, piTui, tui as unknown as Tui).dialogInPlace, undefined);
	});

	test("offers completions, and goes on with a line after a backslash, where it can tell", () => {
		const { editor, component } = screen(undefined);
		assert.deepEqual([editor.isCompleting, editor.continuesLine], [false, false]);
		let col = 0;
		Object.assign(component, {
			isShowingAutocomplete: () => true,
			getLines: () => ["\\", "a\\b"],
			getCursor: () => ({ line: 1, col }),
		});
		assert.deepEqual([editor.isCompleting, editor.continuesLine], [true, false]);
		col = 2;
		assert.equal(editor.continuesLine, true);
		col = 3;
		assert.equal(editor.continuesLine, false);
	});

	test("gives its text, and leaves none", () => {
		const { editor, ui, typed } = screen(undefined);
		ui.getEditorText = () => "half";
		assert.deepEqual([editor.isThere, editor.text, editor.take(), typed], [true, "half", "half", ["set "]]);
	});

	test("is another extension's overlay where that has the keys, until it is closed", () => {
		const typed: string[] = [];
		const overlay = { render: () => [], invalidate() {}, handleInput: (data: string) => typed.push(data) };
		const { tui, ui } = screen(overlay);
		const stack = [{ component: overlay }];
		Object.assign(tui, { isOverlayFocused: () => true, overlayStack: stack });
		const editor = new Editor(ui, piTui, tui as unknown as Tui);
		assert.deepEqual([editor.overlay, editor.isThere, editor.hasText], [overlay, false, true]);
		editor.type("\x1b");
		assert.deepEqual(typed, ["\x1b"]);
		stack.pop();
		assert.deepEqual([editor.overlay, editor.hasText, typed.length], [undefined, false, 1]);
		delete tui["overlayStack"];
		assert.equal(editor.overlay, overlay);
	});

	test("is no overlay where a dialog has the keys in the editor's place, or pi does not tell", () => {
		const { tui, ui } = screen({ render: () => [] });
		assert.equal(new Editor(ui, piTui, tui as unknown as Tui).overlay, undefined);
		tui["isOverlayFocused"] = () => false;
		assert.equal(new Editor(ui, piTui, tui as unknown as Tui).overlay, undefined);
	});

	test("is an overlay also where that holds a text of its own", () => {
		const { tui, ui, component } = screen(undefined);
		tui["isOverlayFocused"] = () => true;
		const editor = new Editor(ui, piTui, tui as unknown as Tui);
		assert.deepEqual([editor.overlay, editor.find()], [component, undefined]);
	});

	test("has text or none", () => {
		const { editor, ui } = screen(undefined);
		assert.equal(editor.hasText, false);
		ui.getEditorText = () => "a";
		assert.equal(editor.hasText, true);
	});
});
