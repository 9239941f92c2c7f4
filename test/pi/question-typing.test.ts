import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { held } from "../harness/index.ts";
import { echoesKeys, Typist } from "../harness/typist.ts";
import { continued, editor, interrupt, over, ready, start, stopped } from "./questions.ts";

const sentences = ["stop, this is the wrong file", "no. Not e.g./~ yes: 日本 é 😀"];

for (const sentence of sentences) {
	test(`wherever in "${sentence}" and Enter the question opens, nothing is answered and every letter is in the editor`, async (t) => {
		const letters = Array.from(sentence);
		let slow = held();
		const { pi, tui } = await start(t, { reply: () => slow });
		for (const offset of letters.keys()) {
			slow = held();
			tui.type("go\r");
			await pi.model.arrival(offset + 1);
			const typed = letters.slice(0, offset).join("");
			tui.type(typed);
			await tui.shows(editor(typed.trimEnd()));
			slow.release();
			await tui.shows("You've used");
			tui.type(`${letters.slice(offset).join("")}\r`);
			tui.type("|");
			const screen = await tui.shows(editor(`${sentence}|`));
			assert.match(screen, /You've used 1 turn\. Continue\?/);
			assert.equal(pi.model.requests.length, offset + 1);
			tui.press("escape");
			await over(tui);
			await tui.shows(editor(`${sentence}|`));
			assert.equal(pi.model.requests.length, offset + 1);
			tui.press("ctrl+u");
			await tui.shows(editor(""));
		}
	});
}

test("a person who types on while the question opens, key by key, answers nothing and loses nothing", async (t) => {
	const { pi, tui } = await start(t, { after: [echoesKeys] });
	const typist = new Typist(tui);
	await typist.type("go\r");
	await tui.shows("You've used");
	assert.equal(await typist.type("stop, no: y"), "stop, no: y");
	assert.equal(await typist.type("\r"), "stop, no: y");
	await tui.shows("Letters go to the editor.");
	assert.equal(await typist.type("\r"), "stop, no: y");
	assert.match(tui.screen(), /You've used 1 turn\. Continue\?/);
	assert.equal(pi.model.requests.length, 1);
	tui.press("escape");
	await stopped(tui);
	await tui.shows(editor("stop, no: y"));
});

test("keys that would leave pi, change the model, complete or bring back the last prompt do not act", async (t) => {
	const { pi, tui } = await start(t);
	tui.type("go\r");
	await tui.shows("You've used");
	tui.type("\x04\x0c\t\x1b[Axy\rn\ryes\r\x1b[Bjk");
	await tui.shows(editor("xynyesjk"));
	assert.match(tui.screen(), /You've used 1 turn\. Continue\?/);
	assert.equal(pi.model.requests.length, 1);
});

test("j and k go to the editor and do not move the arrow; then an Enter answers nothing until an arrow is pressed", async (t) => {
	const { pi, tui } = await ready(t);
	tui.type("j");
	await tui.shows(editor("j"));
	await tui.shows("Letters go to the editor.");
	assert.doesNotMatch(tui.screen(), /→/);
	tui.press("enter");
	tui.type("k");
	await tui.shows(editor("jk"));
	await tui.shows("Letters go to the editor.");
	assert.equal(pi.model.requests.length, 1);
	tui.press("down");
	await tui.shows("→ Continue");
	tui.press("enter");
	await continued(tui);
	await tui.shows(editor("jk"));
});

test("a word that only begins like an answer goes to the editor", async (t) => {
	const { pi, tui } = await ready(t);
	tui.type("yesterday");
	await tui.shows(editor("yesterday"));
	tui.press("ctrl+u");
	await tui.shows("y/n, a number, or");
	tui.type("y");
	tui.press("backspace");
	tui.type("no way\r");
	await tui.shows(editor("no way"));
	assert.match(tui.screen(), /You've used 1 turn\. Continue\?/);
	assert.equal(pi.model.requests.length, 1);
});

test("where the editor holds text, letters and paste go on into it at the cursor, and an Escape leaves all there", async (t) => {
	const { pi, tui } = await interrupt(t, async (terminal) => {
		terminal.type("ad");
		await terminal.shows(editor("ad"));
		terminal.press("left");
	});
	await tui.shows("↑↓ and Enter. Letters go to the editor.");
	assert.doesNotMatch(tui.screen(), /\[y\]/);
	tui.type("y");
	await tui.shows(editor("ayd"));
	tui.type("\x1b[200~n./\r\nno\r\x1b[201~");
	await tui.shows(editor("ayn./", "no", "d"));
	tui.press("backspace");
	tui.type("!");
	await tui.shows(editor("ayn./", "no!d"));
	assert.equal(pi.model.requests.length, 1);
	tui.press("escape");
	await stopped(tui);
	tui.type("?");
	await tui.shows(editor("ayn./", "no!?d"));
});

test("where the editor holds text, an Enter after a pause takes the first choice, and the text stays", async (t) => {
	const { tui } = await interrupt(t, async (terminal) => {
		terminal.type("half a sent");
		await terminal.shows("half a sent");
	});
	await tui.shows("→ Continue");
	tui.press("enter");
	await continued(tui);
	await tui.shows(editor("half a sent"));
});

test("a paste into the question goes to the editor and answers nothing", async (t) => {
	const { pi, tui } = await ready(t);
	tui.type("\x1b[200~y\x1b[201~");
	await tui.shows(editor("y"));
	tui.type("\x1b[200~\ry\r\x1b[201~");
	await tui.shows(editor("y", "y", ""));
	assert.match(tui.screen(), /You've used 1 turn\. Continue\?/);
	assert.equal(pi.model.requests.length, 1);
});

/** Keeps pi busy from the moment in which a dialog opens until the file `go-on` is there, and for longer than a pause. */
function stalls(pi: ExtensionAPI): void {
	const { existsSync } = process.getBuiltinModule("node:fs");
	pi.on("session_start", (_event, { ui }) => {
		const custom = ui.custom.bind(ui);
		ui.custom = (factory, options) =>
			custom(factory, {
				...options,
				onHandle: (handle) => {
					options?.onHandle?.(handle);
					const opened = Date.now();
					while (!existsSync("go-on") || Date.now() < opened + 1500);
				},
			});
	});
}

test("keys that wait while pi is busy are typed ahead, however long that takes", async (t) => {
	const { pi, tui } = await start(t, { before: [stalls] });
	tui.type("go\r");
	await tui.rings();
	tui.type("y\r");
	writeFileSync(join(pi.cwd, "go-on"), "");
	await tui.shows(editor("y"));
	await tui.shows("Letters go to the editor.");
	assert.equal(pi.model.requests.length, 1);
});
