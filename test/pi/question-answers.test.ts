import assert from "node:assert/strict";
import { test } from "node:test";
import { continued, editor, over, ready, start, stopped } from "./questions.ts";

for (const [cols, rows] of [
	[80, 24],
	[40, 24],
] as const) {
	test(`in ${cols} columns and ${rows} rows the whole question stands above the editor`, async (t) => {
		const { tui } = await ready(t, { cols, rows });
		const words = tui.screen().replace(/\s+/g, " ");
		assert.match(
			words,
			/Turns: 1\/1 (─+ )?Turn limit reached You've used 1 turn\. Continue\? This run so far: 1 turn, /,
		);
		assert.match(words, /\$0\.01\. Last call: bash echo x >> marks Stop ends the run here; Wrap up now gets an answer/);
		assert.match(
			words,
			/first\. → Continue \(1 more turn\) \[y\] Continue, and tell it something… Wrap up now Stop \[n\]/,
		);
		assert.match(words, /y\/n, or ↑↓ and Enter\. Escape stops\. ─/);
		tui.type("x");
		await tui.shows(editor("x"));
	});
}

test("a terminal too low for question and editor shows the title and every choice, and takes the answer", async (t) => {
	const { tui } = await ready(t, { cols: 60, rows: 7 });
	const choices = / → Continue \(1 more turn\) \[y\]\n.*tell it something…\n +Wrap up now\n +Stop \[n\]/;
	assert.match(tui.screen(), new RegExp(`^ Turn limit reached\n(.*\n)*${choices.source}`));
	tui.press("up");
	await tui.shows("→ Stop");
	tui.press("enter");
	tui.resize(60, 24); // So low, it would not hold what comes after.
	await stopped(tui);
});

test("the question follows a change of the terminal's size, and takes the answer", async (t) => {
	const { tui } = await ready(t, { cols: 80, rows: 24 });
	tui.resize(40, 24);
	await tui.shows(/ This run so far: 1 turn, 1 tool call,\n \$0\.01\. Last call: /);
	tui.resize(40, 8);
	await tui.lacks("─");
	assert.match(tui.screen(), /^ Turn limit reached/);
	tui.resize(100, 30);
	await tui.shows(
		/─\n Turn limit reached\n You've .*\n This run .* marks\n Stop .*\n\n → Continue \(1 more turn\) \[y\]/,
	);
	tui.press("enter");
	await continued(tui);
});

for (const theme of ["dark", "light"]) {
	test(`in the ${theme} theme the choices are dim until they count`, async (t) => {
		const { tui } = await start(t, { settings: { theme } });
		tui.type("go\r");
		await tui.shows("Pause typing");
		const dim = tui.colour("Pause typing");
		const seen = { choice: tui.colour("Continue, and tell"), first: tui.colour("Continue (1") };
		await tui.shows("→ Continue");
		assert.deepEqual(seen, { choice: dim, first: dim });
		assert.equal(tui.colour("Escape stops."), dim);
		assert.equal(tui.colour("Continue, and tell"), tui.colour("You've used"));
		assert.notEqual(tui.colour("Continue, and tell"), dim);
		assert.notEqual(tui.colour("→ Continue"), tui.colour("Continue, and tell"));
	});
}

test("when they count, y, n, Enter, arrows, yes and no answer; Escape and Ctrl+C are a no", async (t) => {
	const { pi, tui } = await start(t);
	const answers: [keys: string, answer: "yes" | "no"][] = [
		["y", "yes"],
		["Y", "yes"],
		["n", "no"],
		["\r", "yes"],
		["\x1b[A\r", "no"],
		["\x1b[B\x1b[B\x1b[B\x1b[B\r", "yes"],
		["n\r", "no"],
		["no\r", "no"],
		["yes\r", "yes"],
		["\x1b", "no"],
		["\x03", "no"],
		// As terminals with newer keyboard protocols send them: y, Y, Enter, Escape.
		["\x1b[121u", "yes"],
		["\x1b[27;2;89~", "yes"],
		["\x1b[13u", "yes"],
		["\x1b[27u", "no"],
	];
	let requests = 0;
	for (const [keys, answer] of answers) {
		tui.type("go\r");
		await tui.shows("→ Continue");
		tui.type(keys);
		requests += answer === "yes" ? 2 : 1;
		await over(tui);
		assert.equal(pi.model.requests.length, requests, JSON.stringify(keys));
		assert.ok(tui.screen().includes(editor("")), "the editor is empty");
	}
});

test("what it is told is one line: wide characters, corrections, paste; Escape goes back", async (t) => {
	const { pi, tui } = await ready(t, { cols: 40, rows: 24 });
	tui.press("down");
	tui.press("enter");
	await tui.shows(/What should it know\?\n >/);
	assert.doesNotMatch(tui.screen(), /^ {3}Wrap up now/m);
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
	await continued(tui);
	assert.ok(tui.screen().includes(editor("")), "the editor is empty");
	assert.equal(pi.model.requests[1]?.last, "yn日語 🎉 and a text that is longer than the line");
});

test("Ctrl+C in the line that it is told is a no", async (t) => {
	const { pi, tui } = await ready(t);
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.press("ctrl+c");
	await stopped(tui);
	assert.equal(pi.model.requests.length, 1);
});
