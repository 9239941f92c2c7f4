import assert from "node:assert/strict";
import { test } from "node:test";
import { calls } from "../harness/index.ts";
import { cues } from "./asker.ts";
import { dialog, interrupt, picked, ready, sandbox, start, withdrawn } from "./dialogs.ts";

test("another extension's dialog does not swallow it: when that closes, this one is back and waits for a pause", async (t) => {
	const tui = await ready(t);
	tui.type(cues.openRival);
	await tui.shows("→ left");
	assert.match(tui.screen(), /Turn limit reached/);
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	tui.type("\x1b[B\r\r");
	await tui.shows("Rival: right");
	await tui.shows("→ Continue");
	assert.doesNotMatch(tui.screen(), /Reply/);
	tui.press("up");
	tui.press("enter");
	await tui.shows(picked(1, "no"));
	tui.type("x");
	await tui.shows(/─\nx\n─/);
});

test("over another extension's dialog it takes the answer, and then that one does", async (t) => {
	const tui = await interrupt(t, async (terminal) => {
		terminal.type(cues.openRival);
		await terminal.shows("→ left");
	});
	await tui.shows("→ Continue");
	tui.type("x");
	await tui.shows("Letters go to the editor.");
	tui.type("\x1b[B\r");
	await tui.shows(picked(1, "yes"));
	tui.press("enter");
	await tui.shows("Rival: left");
	await tui.shows(/─\nx\n─/);
});

test("it keeps the keys when a dialog closes that was open before it, and then the editor has them", async (t) => {
	const tui = await interrupt(t, async (terminal) => {
		terminal.type(cues.openRival);
		await terminal.shows("→ left");
	});
	await tui.shows("→ Continue");
	tui.type(cues.closeRival);
	await tui.shows("Rival: undefined");
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
	tui.type("x");
	await tui.shows(/─\nx\n─/);
});

test("what another extension shows over the screen stays when the dialog closes", async (t) => {
	const tui = await ready(t);
	tui.type(cues.openClock);
	await tui.shows("Noon");
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
	await tui.lacks("Working");
	assert.match(tui.screen(), /Noon/);
});

test("when its signal aborts it goes from the screen, and the editor keeps its text and has the keys", async (t) => {
	const tui = await ready(t);
	tui.type("half");
	await tui.shows("Letters go to the editor.");
	tui.type(cues.withdraw);
	await tui.shows(withdrawn(1));
	await tui.lacks("Turn limit reached");
	tui.type("x");
	await tui.shows(/─\nhalfx\n─/);
	await tui.lacks("Working");
	tui.type("\r");
	await tui.shows(withdrawn(2));
});

test("when its signal aborts under another extension's dialog, that one keeps the keys", async (t) => {
	const tui = await ready(t);
	tui.type(cues.openRival);
	await tui.shows("→ left");
	tui.type(cues.withdraw);
	await tui.shows(withdrawn(1));
	tui.press("enter");
	await tui.shows("Rival: left");
	tui.type("x");
	await tui.shows(/─\nx\n─/);
});

test("it rings the bell once when it opens, unless told not to", async (t) => {
	const tui = await ready(t);
	tui.press("enter");
	await tui.shows("Done.");
	assert.equal(tui.bells, 1);
	const silent = await ready(t, { options: { ring: false } });
	assert.equal(silent.bells, 0);
});

test("where pi reports its state to the terminal, it reports that it waits, and then that it works", async (t) => {
	const tui = await ready(t, { env: { PI_PROGRAM_STATUS: "1" } });
	const states = (): (string | undefined)[] => tui.reports.map((report) => /state=(\w+)/.exec(report)?.[1]);
	const doesReport = tui.reports.length > 0;
	assert.equal(states().at(-1), doesReport ? "blocked" : undefined, tui.reports.join());
	tui.press("enter");
	await tui.shows("Done.");
	await tui.lacks("Working");
	const last = states().slice(states().lastIndexOf("blocked"));
	assert.deepEqual(last, doesReport ? ["blocked", "working", "done"] : []);
});

test("a dialog that cannot be drawn fails, and pi goes on", async (t) => {
	const { tui } = await start(t, { dialog: { ...dialog, lines: [null as unknown as string] } });
	tui.type("go\r");
	await tui.shows(/Reply 1: "TypeError/);
	await tui.shows("Done.");
	tui.type("x");
	await tui.shows(/─\nx\n─/);
});

test("over rpc it fails, so that the caller can ask in another way", async (t) => {
	const pi = await sandbox(t, {});
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.settled();
	assert.match(pi.model.requests[1]?.last ?? "", /pi cannot show a dialog here/);
});

test("two dialogs at once are answered one after the other", async (t) => {
	const call = { name: "ask", args: {} };
	const tui = await ready(t, { reply: () => calls(call, call) });
	tui.press("enter");
	await tui.shows(picked(1, "yes"));
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.shows(picked(2, "yes"));
	await tui.lacks("Turn limit reached");
});
