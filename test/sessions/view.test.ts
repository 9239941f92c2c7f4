/** The look of a list of choices, line by line. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { stripTerminalSequences } from "@earendil-works/pi-tui";
import * as piTui from "../../src/hosts/pi/ui/pi-tui.ts";
import { type Dialog, leastRows, dialogLines, type View } from "../../src/hosts/pi/ui/dialog/view.ts";

/** Colours show as their first letters, so that they take few columns; tests that count columns use none. */
const coloured = { fg: (colour: string, text: string) => `<${colour}>${text}`, bold: (text: string) => `*${text}` };
const theme = { fg: (_colour: string, text: string) => text, bold: (text: string) => text };

const dialog: Dialog = {
	title: "Title",
	lines: ["One two three", "Four"],
	activity: [],
	choices: [
		{ id: "yes", label: "Yes", typed: ["y", "yes"] },
		{ id: "tell", label: "Tell", asks: "What?" },
		{ id: "no", label: "No", typed: ["n"] },
	],
	escape: "Escape stops.",
	escapeShort: "Esc stops.",
};

function view(change: Partial<View> = {}): View {
	return { dialog, list: { counts: true, row: 0, held: "" }, hasText: false, hasKeys: true, ...change };
}

const lines = (change: Partial<View> = {}, room = 40, width = 60) =>
	dialogLines(piTui, theme, view(change), width, room);

const asks = "What?";

describe("the list", () => {
	test("has a border, the title, the text, the choices and what keys do", () => {
		assert.deepEqual(dialogLines(piTui, coloured, view(), 60, 40), [
			`<border>${"─".repeat(60)}`,
			" *<accent>Title",
			" One two three",
			" Four",
			"",
			"<accent> → Yes [y]",
			"   Tell",
			"   No [n]",
			"",
			"<dim> y/n, or ↑↓ and Enter. Escape stops.",
		]);
	});

	test("has what was done after what was spent, each cut to one line", () => {
		const activity = ["Since your prompt: 12 bash\tand\n\x1b[31mmore", "Last: ls"];
		const words = { ...dialog, lines: ["One", "Two three", "Four"], activity };
		assert.deepEqual(lines({ dialog: words }, 40, 24).slice(2, 7), [
			...[" One", " Two three"],
			...[` ${piTui.truncateToWidth("Since your prompt: 12 bash and more", 22, "…")}`, " Last: ls", " Four"],
		]);
	});

	test("cuts the longest calls first, so that each of the last three is seen", () => {
		const activity = [
			`Since your prompt: ${"9 tool, ".repeat(9)}· 2 errors`,
			`Last: ${"x".repeat(60)} · ls · ${"y".repeat(60)}`,
		];
		const shown = lines({ dialog: { ...dialog, activity } }, 40, 40).map(stripTerminalSequences);
		assert.deepEqual(shown.slice(4, 6), [
			" Since your prompt: 9 tool,… · 2 errors",
			" Last: xxxxxxxx… · ls · yyyyyyyyyyyyyy…",
		]);
	});

	test("marks a typed answer at once, and says how it counts at once", () => {
		const shown = dialogLines(piTui, coloured, view({ list: { counts: true, row: 2, held: "n" } }), 60, 40);
		assert.deepEqual(shown.slice(5), [
			"<dim>   Yes [y]",
			"<dim>   Tell",
			"*<accent> ✓ No [n]",
			"",
			"<dim> Enter answers at once. Escape stops.",
		]);
	});

	test("says what an amount buys that is being typed", () => {
		const sizes: Dialog = {
			...dialog,
			size: (typed) => (typed === "50" ? { grant: 50, label: "50 more" } : undefined),
		};
		const at = (held: string) => lines({ dialog: sizes, list: { counts: true, row: 0, held } });
		assert.deepEqual(at("50").slice(5, 8), [" ✓ 50 more", "   Tell", "   No"]);
		assert.equal(at("50")[9], " 50: Enter takes it. Escape stops.");
		assert.equal(at("y")[5], " ✓ Yes [y]");
		assert.equal(at("")[9], " y/n, a number, or ↑↓ and Enter. Escape stops.");
		assert.equal(at("")[5], " → Yes [y]");
	});

	test("marks nothing while what is typed is no answer", () => {
		for (const [held, yes, no, hint] of [
			["0", "Yes", "No", "0: not an amount. Escape stops."],
			["ye", "Yes [y]", "No [n]", "Pause typing to answer. Escape stops."],
		] as const) {
			const typed = view({ list: { counts: true, row: 0, held } });
			const shown = dialogLines(piTui, coloured, typed, 60, 40);
			assert.deepEqual(shown.slice(5), [`<dim>   ${yes}`, "<dim>   Tell", `<dim>   ${no}`, "", `<dim> ${hint}`]);
		}
	});

	test("counts down where it has a time", () => {
		const times: Dialog = { ...dialog, expires: "Stops by itself in" };
		assert.equal(lines({ dialog: times, left: 90 })[9], " y/n, or ↑↓ and Enter. Escape stops. Stops by itself in");
		assert.equal(lines({ dialog: times, left: 90 })[10], " 1m30s.");
		assert.equal(lines({ left: 5 })[9], " y/n, or ↑↓ and Enter. Escape stops. 5s.");
	});

	test("shows the whole time in a short hint", () => {
		const size: Dialog["size"] = () => undefined;
		const times: Dialog = { ...dialog, expires: "Stops by itself in", size };
		assert.equal(lines({ dialog: times, left: 5400 }, 6, 40).at(-1), " y/n, ↑↓ Enter. Esc stops. 1h30m.");
		assert.equal(lines({ dialog: times }, 5, 40).at(-1), " y/n, number, ↑↓ Enter. Esc stops.");
		const sized: Dialog = { ...times, size: (typed) => (typed === "$12.50" ? { grant: 1, label: "" } : undefined) };
		for (const [list, shown] of [
			[{ counts: false, row: 0, held: "" }, "One moment…"],
			[{ counts: false, row: undefined, held: "" }, "Pause typing."],
			[{ counts: true, row: 0, held: "y" }, "Enter answers."],
			[{ counts: true, row: 0, held: "ye" }, "Pause typing."],
			[{ counts: true, row: 0, held: "$12.50" }, "$12.50: Enter."],
			[{ counts: true, row: 0, held: "1h30m2" }, "1h30m2: no amount."],
		] as const)
			assert.equal(lines({ dialog: sized, list, left: 5400 }, 6, 40).at(-1), ` ${shown} Esc stops. 1h30m.`);
		assert.equal(lines({ dialog: times, asks, left: 5400 }, 4, 40).at(-1), " Enter sends it. Esc goes back. 1h30m.");
	});

	test("says where letters go while another extension's overlay gets them", () => {
		const shown = lines({ hasText: true, hasOverlay: true }, 40, 90);
		assert.equal(shown[9], " ↑↓ and Enter. Other keys go where they went before. Escape stops.");
	});

	test("does not say that Escape stops while that goes to another extension's overlay", () => {
		const list = { counts: false, row: undefined, held: "" };
		const over: Partial<View> = { hasText: true, hasOverlay: true, list, left: 30 };
		assert.equal(lines(over).at(-1), " Pause typing to answer. 30s.");
		assert.equal(lines({ ...over, left: undefined }, 5, 26).at(-1), " Pause typing.");
	});

	test("is dim until answers count, and says that they do in a moment", () => {
		const shown = dialogLines(piTui, coloured, view({ list: { counts: false, row: 0, held: "" } }), 60, 40);
		assert.deepEqual(shown.slice(5), [
			"<dim>   Yes [y]",
			"<dim>   Tell",
			"<dim>   No [n]",
			"",
			"<dim> One moment… Escape stops.",
		]);
	});

	test("says that one has to pause where somebody types", () => {
		const shown = lines({ list: { counts: false, row: undefined, held: "" } });
		assert.equal(shown.at(-1), " Pause typing to answer. Escape stops.");
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
			activity: [],
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
		assert.deepEqual(dialogLines(piTui, coloured, view({ hasKeys: false }), 60, 40), [" <dim>Title"]);
	});

	test("asks for a text in the editor in place of the choices", () => {
		assert.deepEqual(lines({ asks }).slice(4), [
			...["", " What?", "", " Write it in the editor. Enter sends it. Escape goes back."],
		]);
		assert.deepEqual(lines({ asks }, 4, 40).slice(2), [" What?", " Enter sends it. Esc goes back."]);
	});

	test("keeps the letter of a choice that is cut", () => {
		const long: Dialog = { ...dialog, choices: [{ id: "yes", label: "A long label", typed: ["y"] }] };
		assert.equal(lines({ dialog: long }, 40, 14)[6], ` ${piTui.truncateToWidth("→ A long label", 8, "…")} [y]`);
		assert.equal(lines({ dialog: long }, 40, 5)[9], ` ${piTui.truncateToWidth("→ A", 1, "…")}`);
	});

	test("breaks its text, and cuts its title and its choices, where the terminal is narrow", () => {
		const long: Dialog = { ...dialog, title: "A long title", choices: [{ id: "yes", label: "A long label" }] };
		assert.deepEqual(lines({ dialog: long }, 40, 10).slice(0, 8), [
			"─".repeat(10),
			` ${piTui.truncateToWidth("A long title", 8, "…")}`,
			" One two",
			" three",
			" Four",
			"",
			` ${piTui.truncateToWidth("→ A long label", 8, "…")}`,
			"",
		]);
	});

	test("shows text from outside without what could move or reverse it", () => {
		const title = "\x1b[31mA\x07\tB\r\nC\u202e\u2066\x9b";
		const shown = lines({ dialog: { ...dialog, title, lines: ["x\ry\nz\x1b[2J\tq\x7f\u200b"] } });
		assert.deepEqual(shown.slice(1, 6), [" �[31mA� B C���", " x", " y", " z�[2J q��", ""]);
	});
});

describe("the list in a low terminal", () => {
	const SHORT: readonly (readonly [rows: number, shown: readonly string[]])[] = [
		[10, ["─", "Title", "One", "Four", "", "→", "Tell", "No", "", "y/n,"]],
		[9, ["─", "Title", "One", "Four", "", "→", "Tell", "No", "y/n,"]],
		[8, ["─", "Title", "One", "Four", "→", "Tell", "No", "y/n,"]],
		[7, ["Title", "One", "Four", "→", "Tell", "No", "y/n,"]],
		[6, ["Title", "One", "→", "Tell", "No", "y/n,"]],
		[5, ["Title", "→", "Tell", "No", "y/n,"]],
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

	test("keeps the first sentences of a text that is too long, none of them cut but the only one", () => {
		const long = { ...dialog, lines: ["1", "2", "3\n3", "4", "5"] };
		assert.deepEqual(
			lines({ dialog: long }, 8).map((line) => line.trim()),
			[
				...["─".repeat(60), "Title", "1", "2"],
				...["→ Yes [y]", "Tell", "No [n]", "y/n, or ↑↓ and Enter. Escape stops."],
			],
		);
		const one = lines({ dialog: { ...dialog, lines: ["1\n2\n3"] } }, 7).map((line) => line.trim());
		assert.deepEqual(one.slice(0, 4), ["Title", "1", "2", "→ Yes [y]"]);
	});

	test("has a short hint, in one line, where the long one takes all the rows", () => {
		const rows = lines({ dialog: { ...dialog, size: () => undefined, lines: [] } }, 6, 38).map((line) => line.trim());
		assert.deepEqual(rows.slice(-3), ["Tell", "No [n]", "y/n, number, ↑↓ Enter. Esc stops."]);
		const without = lines({ dialog: { ...dialog, lines: [] } }, 6, 20).map((line) => line.trim());
		assert.equal(without.at(-1), piTui.truncateToWidth("y/n, ↑↓ Enter. Esc stops.", 18, "…"));
		for (const change of [{ hasText: true }, { hasText: true, hasOverlay: true }])
			assert.equal(lines(change, 6, 30).at(-1), " ↑↓ Enter. Esc stops.");
		const times = { ...dialog, expires: "Stops by itself in", lines: [] };
		assert.equal(lines({ dialog: times, left: 30 }, 6, 32).at(-1), " y/n, ↑↓ Enter. Esc stops. 30s.");
		const { title, choices } = dialog;
		assert.equal(lines({ dialog: { title, choices, activity: [], lines: [] } }, 6, 18).at(-1), " y/n, ↑↓ Enter.");
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
		assert.deepEqual(lines({ asks, list: { counts: true, row: 2, held: "" } }, 2), [" Title", " What?"]);
	});

	test("gives way to the text that is being written", () => {
		for (const [rows, shown] of [
			[1, [" What?"]],
			[0, []],
			[-3, []],
		] as const)
			assert.deepEqual(lines({ asks }, rows), shown);
	});

	test("needs a row for the title, the hint and each choice", () => {
		assert.equal(leastRows(view()), 5);
	});
});
