import assert from "node:assert/strict";
import { test } from "node:test";
import { dialog, dismissed, never, picked, ready, start } from "./dialogs.ts";

for (const [cols, rows] of [
	[80, 24],
	[40, 24],
] as const) {
	test(`in ${cols} columns and ${rows} rows the whole dialog stands above the editor`, async (t) => {
		const tui = await ready(t, { cols, rows });
		const screen = tui.screen();
		const words = screen.replace(/\s+/g, " ");
		assert.match(words, /─ Turn limit reached You've used 25 turns\. Continue\? Last call: bash echo 日 ?本 ?語 🎉/);
		assert.match(words, /long enough to wrap → Continue \[y\] Continue, and tell it something… Wrap up now Stop \[n\]/);
		assert.match(words, /y\/n, or ↑↓ and Enter\. Escape stops\. ─/);
		tui.type("x");
		await tui.shows(/─\nx\n─/);
	});
}

test("a terminal too low for dialog and editor shows the title and every choice, and takes the answer", async (t) => {
	const tui = await ready(t, { cols: 60, rows: 7 });
	assert.match(
		tui.screen(),
		/^ Turn limit reached\n(.*\n)* → Continue \[y\]\n.*tell it something…\n +Wrap up now\n +Stop \[n\]/,
	);
	tui.press("up");
	await tui.shows("→ Stop");
	tui.press("enter");
	tui.resize(60, 24); // So low, it would not hold the reply and what comes after.
	await tui.shows(picked(1, "no"));
});

test("the dialog follows a change of the terminal's size, and takes the answer", async (t) => {
	const tui = await ready(t, { cols: 80, rows: 24 });
	tui.resize(40, 24);
	await tui.shows(/ Last call: bash echo 日.*\n.* wrap\n\n → Continue \[y\]/);
	tui.resize(40, 8);
	await tui.lacks("─");
	assert.match(tui.screen(), /^ Turn limit reached/);
	tui.resize(100, 30);
	await tui.shows(/─\n Turn limit reached\n You've .*\n Last call: .* wrap\n\n → Continue \[y\]/);
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
});

test("text that others have written into a line neither colours nor turns nor leaves it", async (t) => {
	const lines = ["a\x1b[31mb\x1b]0;title\x07c\x1b[2Jd\u202ee\x07f\tg\rh"];
	const tui = await ready(t, { dialog: { ...dialog, lines } });
	assert.match(tui.screen(), /Turn limit reached\n abcdef g\n h\n/);
	assert.equal(tui.bells, 1);
});

for (const theme of ["dark", "light"]) {
	test(`in the ${theme} theme the choices are dim until they count`, async (t) => {
		const { tui: waiting } = await start(t, { options: { pace: never }, settings: { theme } });
		waiting.type("go\r");
		await waiting.shows("Pause typing");
		assert.equal(waiting.colour("Wrap up now"), waiting.colour("Pause typing"));
		assert.equal(waiting.colour("Continue [y]"), waiting.colour("Pause typing"));
		const counting = await ready(t, { settings: { theme } });
		assert.equal(counting.colour("Wrap up now"), counting.colour("You've used"));
		assert.notEqual(counting.colour("Wrap up now"), counting.colour("Escape stops."));
		assert.notEqual(counting.colour("→ Continue"), counting.colour("Wrap up now"));
	});
}

test("when they count, y, n, Enter, arrows, yes and no answer; Escape and Ctrl+C dismiss", async (t) => {
	const { tui } = await start(t);
	let n = 0;
	const dialogs: [keys: string, shows: (n: number) => string][] = [
		["y", (n) => picked(n, "yes")],
		["Y", (n) => picked(n, "yes")],
		["n", (n) => picked(n, "no")],
		["\r", (n) => picked(n, "yes")],
		["\x1b[A\r", (n) => picked(n, "no")],
		["\x1b[B\x1b[B\r", (n) => picked(n, "wrap")],
		["\x1b[B\x1b[B\x1b[B\x1b[B\r", (n) => picked(n, "yes")],
		["n\r", (n) => picked(n, "no")],
		["no\r", (n) => picked(n, "no")],
		["yes\r", (n) => picked(n, "yes")],
		["\x1b", dismissed],
		["\x03", dismissed],
		// As terminals with newer keyboard protocols send them: y, Y, Enter, Escape.
		["\x1b[121u", (n) => picked(n, "yes")],
		["\x1b[27;2;89~", (n) => picked(n, "yes")],
		["\x1b[13u", (n) => picked(n, "yes")],
		["\x1b[27u", dismissed],
	];
	for (const [keys, shows] of dialogs) {
		tui.type("go\r");
		await tui.shows("→ Continue");
		tui.type(keys);
		await tui.shows(shows(++n));
		await tui.lacks("Working");
		assert.match(tui.screen(), /─\n\n─/, "the editor is empty");
	}
});

test("a choice that asks takes a line of text: wide characters, corrections, paste, Escape goes back", async (t) => {
	const { pi, tui } = await start(t, { cols: 40, rows: 24 });
	tui.type("go\r");
	await tui.shows("→ Continue");
	tui.press("down");
	tui.press("enter");
	await tui.shows(/What should it know\?\n >/);
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	tui.press("enter");
	tui.type("gone");
	await tui.shows("> gone");
	tui.press("escape");
	await tui.shows("→ Continue, and tell");
	tui.press("enter");
	await tui.shows(/What should it know\?\n >\s*\n/);
	tui.type("yn日本x");
	await tui.shows("> yn日本x");
	tui.press("backspace");
	tui.press("backspace");
	tui.type("\x1b[200~語 🎉\nand a text that is longer than the line\x1b[201~");
	await tui.shows("longer than the line");
	tui.press("enter");
	await tui.shows("Reply 1");
	await tui.lacks("Working");
	assert.match(tui.screen(), /─\n\n─/, "the editor is empty");
	const words = "yn日語 🎉 and a text that is longer than the line";
	assert.equal(pi.model.requests[1]?.last, JSON.stringify({ kind: "picked", id: "tell", text: words }));
});

test("Ctrl+C in the line of text dismisses the dialog", async (t) => {
	const tui = await ready(t);
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.press("ctrl+c");
	await tui.shows(dismissed(1));
});
