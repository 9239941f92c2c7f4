import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { held } from "../harness/index.ts";
import { ask, dismissed, interrupt, never, picked, ready, start } from "./dialogs.ts";

test("before they count no key is a yes, each goes to the editor, and Escape and Ctrl+C dismiss at once", async (t) => {
	const { tui } = await start(t, { options: { pace: never } });
	for (const [n, key] of [
		[1, "escape"],
		[2, "ctrl+c"],
	] as const) {
		tui.type("go\r");
		await tui.shows("Pause typing");
		// Ctrl+D, Ctrl+L and Tab would leave pi, change the model and complete; Up would bring back the last prompt.
		tui.type("\x04\x0c\t\x1b[Ay\rn\ryes\r\x1b[B\rjk");
		await tui.shows(/─\nynyesjk\n─/);
		assert.doesNotMatch(tui.screen(), new RegExp(`Reply ${n}`));
		tui.press(key);
		await tui.shows(dismissed(n));
		await tui.lacks("Working");
		tui.press("ctrl+u");
		await tui.lacks("ynyesjk");
	}
});

test("keys that wait while pi is busy are typed ahead, however long that takes", async (t) => {
	const { pi, tui } = await start(t, { busy: true, options: { pace: { quiet: 1, typed: 1 } } });
	tui.type("go\r");
	await tui.rings();
	tui.type("y\r");
	writeFileSync(join(pi.cwd, "go-on"), "");
	await tui.shows(/─\ny\n─/);
	await tui.shows("Letters go to the editor.");
	assert.doesNotMatch(tui.screen(), /Reply/);
});

test("wherever in a sentence the dialog opens, the sentence is no answer and stands whole in the editor", async (t) => {
	const letters = Array.from("no. Just stop, e.g./~ yes: kind of 日本 é 😀");
	let slow = held(ask);
	const { pi, tui } = await start(t, { options: { pace: never }, reply: () => slow });
	for (const offset of letters.keys()) {
		slow = held(ask);
		tui.type("go\r");
		await pi.model.arrival(2 * offset + 1);
		const typed = letters.slice(0, offset).join("");
		tui.type(typed);
		await tui.shows(`─\n${typed.trimEnd()}\n─`);
		slow.release();
		await tui.shows("Pause typing");
		tui.type(`${letters.slice(offset).join("")}\r`);
		tui.type("|");
		const screen = await tui.shows(`─\n${letters.join("")}|\n─`);
		assert.match(screen, /Turn limit reached/);
		assert.doesNotMatch(screen, new RegExp(`Reply ${offset + 1}`));
		assert.equal(pi.model.requests.length, 2 * offset + 1);
		tui.press("escape");
		await tui.shows(dismissed(offset + 1));
		await tui.lacks("Working");
		tui.press("ctrl+u");
		await tui.lacks("kind of");
	}
});

test("j and k go to the editor and do not move the arrow; then an Enter takes nothing until an arrow is pressed", async (t) => {
	const tui = await ready(t);
	tui.type("j");
	await tui.shows(/─\nj\n─/);
	await tui.shows("Letters go to the editor.");
	assert.doesNotMatch(tui.screen(), /→/);
	tui.press("enter");
	tui.type("k");
	await tui.shows(/─\njk\n─/);
	assert.match(tui.screen(), /Turn limit reached/);
	await tui.shows("Letters go to the editor.");
	tui.press("down");
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
	await tui.shows(/─\njk\n─/);
});

test("a word that only begins like an answer goes to the editor, also letter by letter", async (t) => {
	const tui = await ready(t, { options: { pace: { quiet: 1, typed: 1e9 } } });
	for (const letter of "yesterday") tui.type(letter);
	await tui.shows(/─\nyesterday\n─/);
	tui.press("ctrl+u");
	await tui.shows("y/n, or");
	tui.type("y");
	tui.press("backspace");
	tui.type("no way\r");
	await tui.shows(/─\nno way\n─/);
	assert.doesNotMatch(tui.screen(), /Reply/);
});

test("where the editor holds text, letters and paste go on into it at the cursor", async (t) => {
	const tui = await interrupt(t, async (terminal) => {
		terminal.type("ad");
		await terminal.shows(/─\nad\n─/);
		terminal.press("left");
	});
	await tui.shows("↑↓ and Enter. Letters go to the editor.");
	tui.type("y");
	await tui.shows(/─\nayd\n─/);
	tui.type("\x1b[200~n./\r\nno\r\x1b[201~");
	await tui.shows(/─\nayn\.\/\nno\nd\n─/);
	tui.press("backspace");
	tui.type("!");
	await tui.shows(/─\nayn\.\/\nno!d\n─/);
	assert.doesNotMatch(tui.screen(), /Reply/);
	tui.press("escape");
	await tui.shows(dismissed(1));
	await tui.lacks("Working");
	tui.type("?");
	await tui.shows(/─\nayn\.\/\nno!\?d\n─/);
});

test("where the editor holds text, an Enter after a pause takes the first choice, and the text stays", async (t) => {
	const tui = await interrupt(t, async (terminal) => {
		terminal.type("half a sent");
		await terminal.shows("half a sent");
	});
	await tui.shows("→ Continue");
	assert.doesNotMatch(tui.screen(), /\[y\]/);
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
	await tui.shows(/─\nhalf a sent\n─/);
});

test("a paste into an open dialog goes to the editor and answers nothing", async (t) => {
	const tui = await ready(t);
	tui.type("\x1b[200~y\x1b[201~");
	await tui.shows(/─\ny\n─/);
	tui.type("\x1b[200~\ry\r\x1b[201~");
	await tui.shows(/─\ny\ny\n\n─/);
	assert.match(tui.screen(), /Turn limit reached/);
	assert.doesNotMatch(tui.screen(), /Reply/);
});

test("a sentence that a person types letter by letter into the dialog is no answer, nor is its Enter", async (t) => {
	const { tui } = await start(t);
	tui.type("go\r");
	await tui.shows("Turn limit reached");
	let typed = "";
	for (const letter of "stop, no: y") {
		tui.type(letter);
		typed += letter;
		await tui.shows(`─\n${typed.trimEnd()}\n─`);
	}
	tui.press("enter");
	tui.type("|");
	await tui.shows(`─\n${typed}|\n─`);
	await tui.shows("Letters go to the editor.");
	tui.press("enter");
	tui.type("|");
	await tui.shows(`─\n${typed}||\n─`);
	assert.doesNotMatch(tui.screen(), /Reply/);
});
