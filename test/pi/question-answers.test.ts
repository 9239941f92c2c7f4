import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, endless, host, type Reply, type Terminal } from "../harness/index.ts";
import { Story } from "../history/story.ts";
import { tableIn } from "../history/table.ts";
import { continued, editor, interrupt, over, ready, start, stopped } from "./questions.ts";

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
		assert.match(
			words,
			/\$0\.01\. Since your prompt: 1 bash Last: bash echo x >> marks Stop ends the run here; Wrap up now/,
		);
		assert.match(
			words,
			/ gets an answer first\. → Continue \(1 more turn\) \[y\] Continue, and tell it something… Wrap up now Stop \[n\]/,
		);
		assert.match(words, /y\/n, a number, or ↑↓ and Enter\. Escape stops\. ─/);
		tui.type("x");
		await tui.shows(editor("x"));
	});
}

/** Limits that take two lines above the editor in 60 columns, three in 40. */
const FOUR = { PI_TURN_LIMIT_TOOLS: "9", PI_TURN_LIMIT_COST: "5", PI_TURN_LIMIT_SESSION_TURNS: "40" };

for (const [cols, rows] of [
	[60, 20],
	[40, 15],
] as const) {
	test(`in ${cols} columns and ${rows} rows the hint and every choice are in sight, whatever the policy`, async (t) => {
		for (const env of [FOUR, {}])
			for (const policy of ["abort", "synthesize"]) {
				const { tui } = await ready(t, { cols, rows, env: { ...env, PI_TURN_LIMIT_POLICY: policy } });
				const words = tui.screen().replace(/\s+/g, " ");
				assert.match(words, /Turn limit reached You've used 1 turn\. Continue\? /);
				assert.match(words, /→ Continue \(1 more turn\) \[y\] Continue, and tell it something… /);
				assert.match(words, policy === "abort" ? / Wrap up now Stop \[n\] / : / Stop with an answer \[n\] Stop now /);
				assert.match(words, / y\/n, (a )?number, (or )?↑↓ (and )?Enter\. /);
				assert.match(
					words,
					policy === "abort" ? / Esc(ape)? stops\.( |$)/ : / (Escape stops with an answer|Esc: an answer)\.( |$)/,
				);
			}
	});
}

test("whatever other extensions show around the editor, the title, every choice and the hint are in sight", async (t) => {
	const shows = (pi: ExtensionAPI): void => {
		pi.on("agent_start", (_event, { ui }) => {
			ui.setWidget("todo", ["1", "2", "3", "4", "5", "6", "7", "8"]);
			ui.setWidget("help", ["9", "10"], { placement: "belowEditor" });
		});
	};
	const { tui } = await ready(t, { cols: 80, rows: 24, settings: { tuiMode: "fullscreen" }, after: [shows] });
	for (const [cols, rows] of [
		[80, 24],
		[60, 20],
		[40, 15],
	] as const) {
		tui.resize(cols, rows);
		await tui.shows(
			/ Turn limit reached\n(.*\n)*.*→ Continue .*\n.*tell it .*\n.* Wrap up now\n.* Stop \[n\]\n(\n)?.* Esc(ape)? /,
		);
	}
	tui.press("enter");
	await continued(tui);
});

test("at 60 columns and 20 rows a line that does not fit is left out whole", async (t) => {
	const story = new Story("old");
	for (let i = 0; i < 12; i++) story.prompt().turns(4);
	const agentFiles = { "sessions/--project--/old.jsonl": story.lines().join("\n") };
	const { pi, tui } = await start(t, { cols: 60, rows: 20, agentFiles });
	tui.type("/turn-limit advise\r");
	await tableIn(pi.agentDir);
	tui.type("go\r");
	const screen = await tui.shows("→ Continue");
	assert.match(
		screen,
		/\n Of your 12 prompts that came this far, 12 finished by\n themselves, half of them within 3 more turns \(\$0\.03\)\.\n/,
	);
	assert.doesNotMatch(screen, /^ …$|Wrap up now gets/m);
});

test("a number shows what was typed, and which other limit asks before it is spent", async (t) => {
	const { tui } = await ready(t, { cols: 80, rows: 24, env: { PI_TURN_LIMIT_SESSION_TURNS: "4" } });
	tui.type("2");
	await tui.shows(/✓ Continue \(2 more turns\)$/m);
	await tui.shows(" 2: Enter takes it. Escape stops.");
	tui.type("0");
	await tui.shows(/✓ Continue \(3 more turns, then the session turn limit\)$/m);
	await tui.shows(" 20: Enter takes it. Escape stops.");
	tui.press("enter");
	await continued(tui);
});

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
	await tui.shows(/ This run so far: 1 turn, 1 tool call,\n \$0\.01\.\n Since your prompt: 1 bash\n/);
	tui.resize(40, 8);
	await tui.lacks("─");
	assert.match(tui.screen(), /^ Turn limit reached/);
	tui.resize(100, 30);
	await tui.shows(
		/─\n Turn limit reached\n You've .*\n This run .*\n Since .*\n Last: .* marks\n Stop .*\n\n → Continue \(1 more turn\) \[y\]/,
	);
	tui.press("enter");
	await continued(tui);
});

for (const theme of ["dark", "light"]) {
	test(`in the ${theme} theme the choices are dim until they count`, async (t) => {
		const { tui } = await start(t, { settings: { theme } });
		tui.type("go\r");
		await tui.shows("One moment");
		const dim = tui.colour("One moment");
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
		["yyyyyyyy", "yes"],
		["nn", "no"],
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

test("what it is told is written in the editor, in several lines; Escape goes back and keeps the draft", async (t) => {
	const { pi, tui } = await ready(t, { cols: 40, rows: 24 });
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	assert.doesNotMatch(tui.screen(), /^ {3}Wrap up now/m);
	tui.press("enter");
	tui.type("yn日本x");
	await tui.shows(editor("yn日本x"));
	tui.press("escape");
	await tui.shows("→ Continue, and tell");
	await tui.shows(editor("yn日本x"));
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.press("backspace");
	tui.press("backspace");
	tui.type("\x1b[200~語 🎉\nand another line\x1b[201~");
	await tui.shows("and another line");
	tui.press("enter");
	await continued(tui);
	assert.ok(tui.screen().includes(editor("")), "the editor is empty");
	assert.equal(pi.model.requests[1]?.last, "yn日語 🎉\nand another line");
});

test("text that stands in the editor is offered as what it is told", async (t) => {
	const half = async (terminal: Terminal): Promise<void> => {
		terminal.type("Use npm");
		await terminal.shows("Use npm");
	};
	const { pi, tui } = await interrupt(t, half);
	await tui.shows("→ Continue");
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type(" 11");
	await tui.shows(editor("Use npm 11"));
	tui.press("enter");
	await continued(tui);
	assert.equal(pi.model.requests[1]?.last, "Use npm 11");
});

test("what it is told has the lines that the person begins as elsewhere in pi, with a backslash and Enter or with Ctrl+J", async (t) => {
	const { pi, tui } = await ready(t);
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type("one\\\r");
	await tui.shows(editor("one", ""));
	tui.type("two\n");
	await tui.shows(editor("one", "two", ""));
	tui.type("three\r");
	await continued(tui);
	assert.equal(pi.model.requests[1]?.last, "one\ntwo\nthree");
});

test("in a low terminal the lines of what it is told stay in sight, and the question gives way", async (t) => {
	const limits = { PI_TURN_LIMIT_COST: "5", PI_TURN_LIMIT_TOKENS: "500k", PI_TURN_LIMIT_SESSION_COST: "20" };
	const shows = (pi: ExtensionAPI): void =>
		void pi.on("agent_start", (_event, { ui }) => ui.setWidget("todo", ["1", "2"]));
	const { pi, tui } = await ready(t, { cols: 40, rows: 15, env: limits, after: [shows] });
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	const lines = ["use the", "other file", "please and", "then run it"];
	for (const [i, line] of lines.entries()) {
		tui.type(i === 0 ? line : `\n${line}`);
		await tui.shows(editor(...lines.slice(0, i + 1)));
	}
	tui.press("enter");
	await continued(tui);
	assert.equal(pi.model.requests[1]?.last, lines.join("\n"));
});

test("in the line that it is told, Escape closes the editor's completions first, and Enter takes the one that is marked", async (t) => {
	const { pi, tui } = await ready(t, { cols: 80, rows: 30 });
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type("/turn-l");
	await tui.shows("→ turn-limit");
	tui.press("escape");
	await tui.lacks("→ turn-limit");
	assert.match(tui.screen(), /What should it know\?/);
	tui.type("i");
	await tui.shows("→ turn-limit");
	tui.press("enter");
	await tui.shows(editor("/turn-limit"));
	assert.match(tui.screen(), /What should it know\?/);
	assert.equal(pi.model.requests.length, 1);
	await tui.lacks("→ turn-limit");
	tui.press("escape");
	await tui.shows("→ Continue, and tell");
	tui.press("escape");
	await stopped(tui);
});

test("an Enter that is held down picks the line that it is told, and does not send the text that stands in the editor", async (t) => {
	const half = async (terminal: Terminal): Promise<void> => {
		terminal.type("half a sent");
		await terminal.shows("half a sent");
	};
	const { pi, tui } = await interrupt(t, half);
	await tui.shows("→ Continue");
	tui.type("\x1b[B\r\r\r");
	await tui.shows("One moment… Escape goes back.");
	await tui.shows("Enter sends it. Escape goes back.");
	tui.type("ence\r");
	await continued(tui);
	assert.equal(pi.model.requests[1]?.last, "half a sentence");
});

test("a number and Enter open one round of that size, and the next yes buys the limit again", async (t) => {
	const pi = await host(t, { env: { PI_MAX_TURNS: "1" }, model: endless() });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue (1 more turn)");
	tui.type("30");
	await tui.shows(/✓ Continue \(30 more turns\)$/m);
	tui.press("backspace");
	await tui.shows(/✓ Continue \(3 more turns\)$/m);
	assert.equal(pi.model.requests.length, 1);
	tui.press("enter");
	await tui.shows("You've used 3 turns.");
	await tui.shows("→ Continue (1 more turn)");
	assert.equal(pi.model.requests.length, 4);
	assert.match(tui.screen(), / Since your yes: 3 bash\n/);
	tui.press("enter");
	await tui.shows("You've used 1 turn.");
	assert.equal(pi.model.requests.length, 5);
});

test("under synthesize there is a stop with an answer and a plain stop, and Escape is the first", async (t) => {
	for (const [keys, requests] of [
		["\x1b[A\r", 1],
		["\x1b", 2],
	] as const) {
		const { pi, tui } = await ready(t, { env: { PI_TURN_LIMIT_POLICY: "synthesize" } });
		await tui.shows("Escape stops with an answer.");
		tui.type(keys);
		await over(tui);
		await tui.shows(requests === 1 ? "You stopped the run at the turn limit." : "the model gave its final answer");
		assert.equal(pi.model.requests.length, requests);
	}
});

test("a time for the answer counts down, and a key begins it anew", async (t) => {
	const { tui } = await ready(t, { env: { PI_TURN_LIMIT_ASK_TIMEOUT: "4" } });
	await tui.shows(/Escape stops\. Stops by itself in [34]s\./);
	await tui.shows("Stops by itself in 2s.");
	tui.press("down");
	await tui.shows("Stops by itself in 4s.");
	await tui.shows("Turn limit reached; nobody answered.");
});

test("the time counts down while the person writes what it is told, at 40 columns too", async (t) => {
	const { tui } = await ready(t, { cols: 40, rows: 15, env: { PI_TURN_LIMIT_ASK_TIMEOUT: "90" } });
	tui.type("y");
	await tui.shows(/Enter answers\. Esc stops\. 1m\d+s\./);
	tui.type("o");
	await tui.shows(/Pause typing\. Esc stops\. 1m\d+s\./);
	tui.press("ctrl+u");
	await tui.shows("→ Continue");
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	await tui.shows(/ Esc(ape)? goes back\.[^]* 1m\d+s\./);
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

test("Ctrl+O shows what the tools said, PageUp and Ctrl+Up scroll where pi does, and the question waits", async (t) => {
	const reply = (): Reply => ({ text: `first ${"line\n\n".repeat(60)}last`, calls: [bash("seq 1 60")] });
	const { tui } = await ready(t, { rows: 40, cols: 80, reply });
	tui.press("ctrl+o");
	await tui.shows("Tool output: expanded");
	if (tui.buffer.type === "alternate") {
		tui.type("\x1b[1;5H");
		await tui.shows(/^ first line$/m);
		tui.type("\x1b[6~");
		await tui.lacks(/^ first line$/m);
		tui.type("\x1b[5~");
		await tui.shows(/^ first line$/m);
		tui.type("\x1b[1;5F");
		await tui.lacks(/^ first line$/m);
		tui.type("\x1b[1;5A");
		await tui.shows(/^ first line$/m);
		tui.type("\x1b[1;5F");
		await tui.lacks(/^ first line$/m);
	}
	await tui.shows("→ Continue");
	tui.press("enter");
	await continued(tui);
});
