import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Host, Terminal } from "../harness/index.ts";
import type { Scope } from "../harness/wait.ts";
import { continued, editor, interrupt, over, ready, start, stopped } from "./questions.ts";

/** Keys that pi does not know. They make another extension act while the question is open. */
const cues = {
	openRival: "\x1b[17~",
	closeRival: "\x1b[18~",
	openClock: "\x1b[19~",
	abort: "\x1b[20~",
	newSession: "\x1b[21~",
	openBrief: "\x1b[23~",
	openShell: "\x1b[24~",
};

function rivals(pi: ExtensionAPI): void {
	const closing = new AbortController();
	let newSession = (): unknown => undefined;

	/** Another extension's overlay that takes what is typed, until Escape or Ctrl+Q. */
	function shell(done: (end: unknown) => void) {
		let typed = "";
		return {
			render: () => [`shell> ${typed.replaceAll("\r", " [enter]")}.`],
			invalidate() {},
			handleInput(data: string) {
				if (data === "\x1b" || data === "\x11") done(undefined);
				else typed += data;
			},
		};
	}

	pi.registerCommand("arm", {
		handler: (_args, ctx) => {
			newSession = () => ctx.newSession();
			return Promise.resolve();
		},
	});
	pi.on("session_start", (_event, ctx) => {
		const { ui } = ctx;
		const { signal } = closing;
		const clock = { render: () => ["Noon"], invalidate() {} };
		const overlayOptions = { anchor: "top-right", width: 4, nonCapturing: true } as const;
		const happens: Record<string, () => unknown> = {
			"\x1b[17~": async () => ui.notify(`Rival: ${await ui.select("Rival?", ["left", "right"], { signal })}`),
			"\x1b[18~": () => closing.abort(),
			"\x1b[19~": () => ui.custom(() => clock, { overlay: true, overlayOptions }),
			"\x1b[20~": () => ctx.abort(),
			"\x1b[21~": () => newSession(),
			"\x1b[23~": async () => ui.notify(`Brief: ${await ui.select("Brief?", ["left"], { timeout: 4000 })}`),
			"\x1b[24~": () => ui.custom((_tui, _theme, _keys, done) => shell(done), { overlay: true }),
		};
		ui.onTerminalInput((data) => {
			happens[data]?.();
			return data in happens ? { consume: true } : undefined;
		});
	});
}

const beside = { after: [rivals] };

async function openRival(tui: Terminal): Promise<void> {
	tui.type(cues.openRival);
	await tui.shows("→ left");
}

/** A question over another extension's dialog. */
function overRival(t: Scope): Promise<{ pi: Host; tui: Terminal }> {
	return interrupt(t, openRival, beside);
}

test("another extension's dialog does not swallow it: when that closes, the question is back and waits for a pause", async (t) => {
	const { pi, tui } = await ready(t, beside);
	await openRival(tui);
	assert.match(tui.screen(), /Turn limit reached/);
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	tui.type("\x1b[B\r\r");
	await tui.shows("Rival: right");
	await tui.shows("→ Continue");
	assert.equal(pi.model.requests.length, 1);
	tui.press("up");
	tui.press("enter");
	await stopped(tui);
	tui.type("x");
	await tui.shows(editor("x"));
});

test("a second dialog that opens over another one has the keys too, and the question comes back after both", async (t) => {
	const { pi, tui } = await ready(t, beside);
	await openRival(tui);
	tui.type(cues.openBrief);
	await tui.shows("Brief?");
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	tui.type("\x1b[B\r");
	await tui.shows("Brief: left");
	// Before pi 1.5.0 the first one is gone.
	await tui.shows(/→ left|→ Continue/);
	if (tui.screen().includes("Rival?")) tui.press("enter");
	await tui.shows("→ Continue");
	assert.equal(pi.model.requests.length, 1);
	tui.type("y");
	await continued(tui);
	tui.type("x");
	await tui.shows(editor("x"));
});

test("over another extension's dialog it takes the answer, and then that one does", async (t) => {
	const { tui } = await overRival(t);
	await tui.shows("→ Continue");
	tui.type("x");
	await tui.shows("Letters go to the editor.");
	tui.type("\x1b[B\r");
	await tui.shows("Done.");
	tui.press("enter");
	await tui.shows("Rival: left");
	await tui.shows(editor("x"));
});

test("it keeps the keys when a dialog closes that was open before it, and then the editor has them", async (t) => {
	const { tui } = await overRival(t);
	await tui.shows("→ Continue");
	tui.type(cues.closeRival);
	await tui.shows("Rival: undefined");
	await tui.shows("→ Continue");
	tui.press("enter");
	await continued(tui);
	tui.type("x");
	await tui.shows(editor("x"));
});

test("over another extension's overlay it leaves that every key until they have been quiet for a moment", async (t) => {
	const openShell = async (terminal: Terminal): Promise<void> => {
		terminal.type(cues.openShell);
		await terminal.shows("shell> .");
		terminal.type("typing in");
		await terminal.shows("shell> typing in.");
	};
	const { pi, tui } = await interrupt(t, openShell, beside);
	tui.type(" to the shell\ry");
	await tui.shows("shell> typing in to the shell [enter]y.");
	await tui.shows("Other keys go where they went before.");
	tui.type("es\r");
	await tui.shows("[enter]yes");
	assert.equal(pi.model.requests.length, 1);
	await tui.shows("Other keys go where they went before.");
	tui.press("down");
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.lacks("You've used");
	await tui.shows("Done.");
	tui.type("!");
	await tui.shows(/yes.*!\./);
	tui.press("escape");
	await tui.lacks("shell>");
	tui.type("x");
	await tui.shows(editor("x"));
});

test("over another extension's overlay it does not say that Escape stops before it does, and leaves that its own keys", async (t) => {
	const openShell = async (terminal: Terminal): Promise<void> => {
		terminal.type(cues.openShell);
		await terminal.shows("shell> .");
	};
	const { pi, tui } = await interrupt(t, openShell, beside);
	await tui.shows("Pause typing to answer.");
	assert.doesNotMatch(tui.screen(), /Escape stops/);
	await tui.shows("Other keys go where they went before. Escape stops.");
	tui.press("ctrl+q");
	await tui.lacks("shell>");
	await tui.shows("→ Continue");
	tui.type("y");
	await continued(tui);
	assert.equal(pi.model.requests.length, 2);
});

for (const place of ["before", "after"] as const) {
	test(`another extension's overlay that opens over it keeps every key until it closes (loaded ${place} us)`, async (t) => {
		const { pi, tui } = await ready(t, { [place]: [rivals] });
		tui.type(cues.openShell);
		await tui.shows("shell> .");
		tui.type("y");
		await tui.shows("shell> y.");
		tui.type("\r");
		await tui.shows("shell> y [enter].");
		tui.press("escape");
		await tui.lacks("shell>");
		await tui.shows("→ Continue");
		assert.equal(pi.model.requests.length, 1);
		tui.press("escape");
		await stopped(tui);
	});
}

test("an Escape that closes another extension's overlay is no answer, and the question is then the only one", async (t) => {
	const openShell = async (terminal: Terminal): Promise<void> => {
		terminal.type(cues.openShell);
		await terminal.shows("shell> .");
	};
	const { pi, tui } = await interrupt(t, openShell, beside);
	tui.press("escape");
	await tui.lacks("shell>");
	await tui.shows("→ Continue");
	assert.equal(pi.model.requests.length, 1);
	tui.type("x");
	await tui.shows(editor("x"));
	tui.press("escape");
	await stopped(tui);
	tui.type("y");
	await tui.shows(editor("xy"));
});

test("an Escape that closes the lower of two overlays is no answer either", async (t) => {
	const openTwo = async (terminal: Terminal): Promise<void> => {
		terminal.type(cues.openShell);
		await terminal.shows("shell> .");
		terminal.type("lower");
		await terminal.shows("shell> lower.");
		terminal.type(cues.openShell);
		await terminal.shows("shell> .");
	};
	const { pi, tui } = await interrupt(t, openTwo, beside);
	tui.press("escape");
	await tui.shows("shell> lower.");
	tui.press("escape");
	await tui.lacks("shell>");
	await tui.shows("→ Continue");
	assert.equal(pi.model.requests.length, 1);
	tui.press("escape");
	await stopped(tui);
});

test("what another extension shows over the screen stays when the question closes", async (t) => {
	const { tui } = await ready(t, beside);
	tui.type(cues.openClock);
	await tui.shows("Noon");
	tui.press("enter");
	await continued(tui);
	assert.match(tui.screen(), /Noon/);
});

test("when the run is aborted the question goes from the screen, and the editor keeps its text and has the keys", async (t) => {
	const half = async (terminal: Terminal): Promise<void> => {
		terminal.type("half");
		await terminal.shows("half");
	};
	const { pi, tui } = await interrupt(t, half, beside);
	await tui.shows("Letters go to the editor.");
	tui.type(cues.abort);
	await over(tui);
	tui.type("x");
	await tui.shows(editor("halfx"));
	assert.equal(pi.model.requests.length, 1);
	tui.press("enter");
	await tui.shows("Done.");
});

test("when the session ends the question goes from the screen, and the next session takes prompts", async (t) => {
	const arm = async (terminal: Terminal): Promise<void> => {
		terminal.type("/arm\r");
		await terminal.lacks("/arm");
	};
	const { pi, tui } = await interrupt(t, arm, beside);
	await tui.shows("→ Continue");
	tui.type(cues.newSession);
	await over(tui);
	await tui.lacks("marks");
	assert.equal(pi.model.requests.length, 1);
	tui.type("again\r");
	await tui.shows("Done.");
});

test("when the run is aborted under another extension's dialog, that one keeps the keys", async (t) => {
	const { tui } = await ready(t, beside);
	await openRival(tui);
	tui.type(cues.abort);
	await tui.lacks("Turn limit reached");
	tui.press("enter");
	await tui.shows("Rival: left");
	tui.type("x");
	await tui.shows(editor("x"));
});

test("its time stands still while another extension's dialog covers it, and begins anew then", async (t) => {
	const { tui } = await ready(t, { ...beside, env: { PI_TURN_LIMIT_ASK_TIMEOUT: "3" } });
	tui.type(cues.openBrief);
	await tui.shows("Brief: undefined");
	await tui.shows("Stops by itself in 3s.");
	await tui.shows("Turn limit reached; nobody answered.");
});

test("where pi reports its state to the terminal, it reports that it waits, and then that it works", async (t) => {
	const { tui } = await ready(t, { env: { PI_PROGRAM_STATUS: "1" } });
	const states = (): (string | undefined)[] => tui.reports.map((report) => /state=(\w+)/.exec(report)?.[1]);
	const doesReport = tui.reports.length > 0;
	assert.equal(states().at(-1), doesReport ? "blocked" : undefined, tui.reports.join());
	tui.press("enter");
	await continued(tui);
	const last = states().slice(states().lastIndexOf("blocked"));
	assert.deepEqual(last, doesReport ? ["blocked", "working", "done"] : []);
});

const broken: Record<string, (pi: ExtensionAPI) => void> = {
	rejects: (pi) =>
		pi.on("session_start", (_event, { ui }) => {
			ui.custom = () => Promise.reject(new Error("No overlays today"));
		}),
	"answers nothing": (pi) =>
		pi.on("session_start", (_event, { ui }) => {
			ui.custom = () => Promise.resolve(undefined as never);
		}),
	"cannot be drawn": (pi) =>
		pi.on("session_start", (_event, { ui }) => {
			Object.defineProperty(ui, "theme", { get: () => undefined });
		}),
};

for (const [how, breaking] of Object.entries(broken)) {
	test(`where the list ${how}, pi's own yes and no take its place`, async (t) => {
		const { pi, tui } = await start(t, { before: [breaking] });
		tui.type("go\r");
		const screen = await tui.shows("→ Yes");
		assert.match(
			screen,
			/Turn limit reached\n You've used 1 turn\. Continue\?\n This run so far: .*\n Since .*\n Last: .*\n Yes: 1 more turn\. No: /,
		);
		tui.press("enter");
		await continued(tui);
		assert.equal(pi.model.requests.length, 2);
	});
}
