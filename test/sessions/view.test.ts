/** The look of a list of choices, line by line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as kit from "../../src/hosts/pi/ui/pi-tui.ts";
import { type Dialog, leastRows, panel, type View } from "../../src/hosts/pi/ui/dialog/view.ts";

/** Colours show as their first letters, so that they take few columns; tests that count columns use none. */
const coloured = { fg: (colour: string, text: string) => `<${colour}>${text}`, bold: (text: string) => `*${text}` };
const theme = { fg: (_colour: string, text: string) => text, bold: (text: string) => text };

const dialog: Dialog = {
	title: "Title",
	lines: ["One two three", "Four"],
	choices: [
		{ id: "yes", label: "Yes", typed: ["y", "yes"] },
		{ id: "tell", label: "Tell", asks: "What?" },
		{ id: "no", label: "No", typed: ["n"] },
	],
	escape: "Escape stops.",
};

function view(change: Partial<View> = {}): View {
	return { dialog, list: { counts: true, row: 0, held: "" }, hasText: false, hasKeys: true, ...change };
}

const lines = (change: Partial<View> = {}, room = 40, width = 60) => panel(kit, theme, view(change), width, room);

const input = { asks: "What?", render: (width: number) => [`> ${width}`] };

describe("the list", () => {
	test("has a border, the title, the text, the choices and what keys do", () => {
		assert.deepEqual(panel(kit, coloured, view(), 60, 40), [
			`<border>${"─".repeat(60)}`,
			" *<accent>Title",
			" One two three",
			" Four",
			"",
			" <accent>→ Yes [y]",
			"   Tell",
			"   No [n]",
			"",
			"<dim> y/n, or ↑↓ and Enter. Escape stops.",
		]);
	});

	test("is dim until answers count, and says that one has to pause", () => {
		const shown = panel(kit, coloured, view({ list: { counts: false, row: 0, held: "" } }), 60, 40);
		assert.deepEqual(shown.slice(5), [
			" <dim>  Yes [y]",
			" <dim>  Tell",
			" <dim>  No [n]",
			"",
			"<dim> Pause typing to answer. Escape stops.",
		]);
	});

	test("names no letters while the editor has text", () => {
		assert.deepEqual(lines({ hasText: true }).slice(5), [
			" → Yes",
			"   Tell",
			"   No",
			"",
			" ↑↓ and Enter. Letters go to the editor. Escape stops.",
		]);
	});

	test("names no letters where no choice has one, and nothing about Escape where it is not told", () => {
		const { title, lines: words } = dialog;
		const plain: Dialog = {
			title,
			lines: words,
			choices: [
				{ id: "yes", label: "A" },
				{ id: "no", label: "B", typed: [] },
			],
		};
		assert.deepEqual(lines({ dialog: plain }).slice(5), [
			" → A",
			"   B",
			"",
			" ↑↓ and Enter. Letters go to the editor.",
		]);
	});

	test("is only a dim title while another dialog has the keys", () => {
		assert.deepEqual(panel(kit, coloured, view({ hasKeys: false }), 60, 40), [" <dim>Title"]);
	});

	test("has a line of input in place of the choices, in a column from each edge", () => {
		assert.deepEqual(lines({ input }).slice(4), ["", " What?", " > 58", "", " Enter sends it. Escape goes back."]);
	});

	test("breaks its text, and cuts its title and its choices, where the terminal is narrow", () => {
		const long: Dialog = { ...dialog, title: "A long title", choices: [{ id: "yes", label: "A long label" }] };
		assert.deepEqual(lines({ dialog: long }, 40, 10).slice(0, 8), [
			"─".repeat(10),
			` ${kit.truncateToWidth("A long title", 8, "…")}`,
			" One two",
			" three",
			" Four",
			"",
			` ${kit.truncateToWidth("→ A long label", 8, "…")}`,
			"",
		]);
		assert.equal(
			lines({ input }, 40, 2).find((line) => line.includes(">")),
			" > 1",
		);
	});

	test("shows text from outside without what could move or reverse it", () => {
		const title = "\x1b[31mA\x07\tB\r\nC\u202e\u2066\x9b";
		const shown = lines({ dialog: { ...dialog, title, lines: ["x\ry\nz\x1b[2J\tq\x7f"] } });
		assert.deepEqual(shown.slice(1, 6), [" A B C", " x", " y", " z q", ""]);
	});
});

describe("the list in a low terminal", () => {
	const SHORT: readonly (readonly [rows: number, shown: readonly string[]])[] = [
		[10, ["─", "Title", "One", "Four", "", "→", "Tell", "No", "", "y/n,"]],
		[9, ["─", "Title", "One", "Four", "", "→", "Tell", "No", "y/n,"]],
		[8, ["─", "Title", "One", "Four", "→", "Tell", "No", "y/n,"]],
		[7, ["Title", "One", "Four", "→", "Tell", "No", "y/n,"]],
		[6, ["Title", "…", "→", "Tell", "No", "y/n,"]],
		[5, ["Title", "…", "→", "Tell", "No"]],
		[4, ["Title", "→", "Tell", "No"]],
		[3, ["Title", "→", "Tell"]],
		[1, ["Title"]],
		[0, ["Title"]],
	];
	for (const [rows, shown] of SHORT) {
		test(`of ${rows} rows leaves out what helps least`, () => {
			const first = (line: string) => (line.startsWith("─") ? "─" : (line.trim().split(" ")[0] ?? ""));
			assert.deepEqual(lines({}, rows).map(first), shown);
		});
	}

	test("keeps the first lines of a text that is too long", () => {
		const long = { ...dialog, lines: ["1", "2", "3", "4", "5"] };
		assert.deepEqual(
			lines({ dialog: long }, 8).map((line) => line.trim()),
			[...["Title", "1", "2", "…"], ...["→ Yes [y]", "Tell", "No [n]", "y/n, or ↑↓ and Enter. Escape stops."]],
		);
	});

	test("leaves out a hint that takes all the rows, and the blank line before it", () => {
		const rows = lines({ dialog: { ...dialog, lines: [] } }, 7, 20).map((line) => line.trim());
		assert.deepEqual(rows, ["─".repeat(20), "Title", "", "→ Yes [y]", "Tell", "No [n]"]);
	});

	test("shows the choices around the one that Enter takes", () => {
		const at = (row: number | undefined, rows: number) =>
			lines({ list: { counts: true, row, held: "" } }, rows).map((line) => line.trim());
		assert.deepEqual(at(2, 3), ["Title", "Tell", "→ No [n]"]);
		assert.deepEqual(at(1, 3), ["Title", "Yes [y]", "→ Tell"]);
		assert.deepEqual(at(2, 2), ["Title", "→ No [n]"]);
		assert.deepEqual(at(1, 2), ["Title", "→ Tell"]);
		assert.deepEqual(at(0, 2), ["Title", "→ Yes [y]"]);
		assert.deepEqual(at(undefined, 2), ["Title", "Yes [y]"]);
		assert.deepEqual(lines({ input, list: { counts: true, row: 2, held: "" } }, 2), [" Title", " > 58"]);
	});

	test("needs a row for the title and each choice, or two for the line of input", () => {
		assert.equal(leastRows(view()), 4);
		assert.equal(leastRows(view({ input })), 3);
	});
});
