/** A list of choices on pi's own screen, with a terminal that records what is written. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
	type Component,
	CURSOR_MARKER,
	Editor,
	isKittyProtocolActive,
	KeybindingsManager,
	setKeybindings,
	setKittyProtocolActive,
	TUI_KEYBINDINGS,
	TuiMainScreen,
} from "@earendil-works/pi-tui";
import { choose, type Dialog, type DialogUI, type Options } from "../../src/hosts/pi/ui/dialog/dialog.ts";
import type * as loading from "../../src/hosts/pi/ui/load-pi-tui.ts";

const dialog: Dialog = {
	title: "Title",
	lines: ["Continue?"],
	choices: [
		{ id: "yes", label: "Yes", typed: ["y", "yes"] },
		{ id: "tell", label: "Tell", asks: "What?" },
		{ id: "no", label: "No", typed: ["n"] },
	],
};

const ENTER = "\r";
const ESCAPE = "\x1b";
const DOWN = "\x1b[B";

interface Shown {
	readonly overlayOptions: object;
	readonly onHandle: (handle: unknown) => void;
}

type Terminal = ConstructorParameters<typeof TuiMainScreen>[0];

/** Pi's screen with its editor. Widgets are drawn as pi draws them. */
class Screen {
	rows = 40;
	readonly written: string[] = [];
	readonly reports: object[] = [];
	readonly widgets = new Map<string, Component>();
	readonly tui: TuiMainScreen;
	readonly editor: Editor;
	renders = 0;
	/** Before pi 1.5.0 the end of a dialog removes the topmost overlay, from then on its own. */
	removesTopmost = true;
	keybindings = new KeybindingsManager(TUI_KEYBINDINGS);
	options: object | undefined;
	readonly #t: TestContext;

	constructor(t: TestContext, terminal: object = {}) {
		this.#t = t;
		t.mock.timers.enable({ apis: ["setTimeout"] });
		t.after(() => t.mock.timers.reset());
		const rows = () => this.rows;
		this.tui = new TuiMainScreen({
			write: (data: string) => this.written.push(data),
			...{ columns: 80, kittyProtocolActive: false, hideCursor: () => {}, showCursor: () => {} },
			get rows() {
				return rows();
			},
			setProgramStatus: (status: object) => this.reports.push(status),
			...terminal,
		} as unknown as Terminal);
		this.tui.requestRender = () => {
			this.renders++;
		};
		this.editor = new Editor(this.tui, { borderColor: (text) => text, selectList: {} as never });
		this.tui.addChild(this.editor);
		this.tui.setFocus(this.editor);
	}

	get ui(): DialogUI {
		const { tui, editor, widgets } = this;
		return {
			// As pi's interactive mode does it.
			custom: (make: (...args: unknown[]) => Component, options: Shown) =>
				new Promise((resolve) => {
					this.options = { ...options, onHandle: undefined };
					let handle: ReturnType<typeof tui.showOverlay> | undefined;
					let isOver = false;
					const settle = (end: unknown): void => {
						isOver = true;
						if (this.removesTopmost) tui.hideOverlay();
						else handle?.hide();
						resolve(end);
					};
					void Promise.resolve(make(tui, undefined, this.keybindings, settle)).then((shown) => {
						if (!isOver) options.onHandle((handle = tui.showOverlay(shown, options.overlayOptions)));
					});
				}),
			setWidget: (key: string, make?: () => Component) => {
				if (make) widgets.set(key, make());
				else widgets.delete(key);
			},
			getEditorText: () => editor.getText(),
			pasteToEditor: (text: string) => editor.handleInput(`\x1b[200~${text}\x1b[201~`),
			theme: { fg: (_colour: string, text: string) => text, bold: (text: string) => text },
		} as unknown as DialogUI;
	}

	/** Opens the list. */
	async open(options?: Options, ui = this.ui) {
		const seen: { result?: unknown; error?: unknown } = {};
		const result = choose(ui, dialog, options);
		void result.then(
			(picked) => (seen.result = picked),
			(error: unknown) => (seen.error = error),
		);
		await setImmediate();
		return seen;
	}

	get focus(): Component | null {
		return this.tui.getFocusedComponent();
	}

	/** What stands above the editor. */
	get shown(): string[] {
		return [...this.widgets.values()].flatMap((widget) => widget.render(80)).map((line) => line.trim());
	}

	async press(...keys: string[]): Promise<void> {
		for (const key of keys) this.focus?.handleInput?.(key);
		await setImmediate();
	}

	async type(text: string): Promise<void> {
		await this.press(...Array.from(text));
	}

	async pause(ms = 800): Promise<void> {
		this.#t.mock.timers.tick(ms);
		await setImmediate();
	}
}

const other: Component = { render: () => [], invalidate() {} };

describe("a list of choices", () => {
	test("rings, reports that pi waits, and stands above the editor until it is answered", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		assert.deepEqual(screen.written, ["\x07"]);
		assert.deepEqual(screen.reports, [{ app: "pi", state: "blocked", kind: "question", message: "Title" }]);
		assert.deepEqual(screen.shown.slice(1, 3), ["Title", "Continue?"]);
		assert.deepEqual(screen.focus?.render(80), []);
		const overlay = screen.focus as Component & { focused: boolean };
		const [widget] = screen.widgets.values();
		assert.deepEqual(screen.options, {
			...{ overlay: true, overlayOptions: { anchor: "top-left", width: "100%" }, onHandle: undefined },
		});
		await screen.pause(799);
		assert.equal(overlay.focused, true);
		overlay.focused = true;
		await screen.pause(1);
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "yes" });
		assert.deepEqual(screen.reports.slice(1), [{ app: "pi", state: "working" }]);
		assert.deepEqual([screen.widgets.size, screen.focus, screen.tui.hasOverlay()], [0, screen.editor, false]);
		assert.deepEqual(widget?.render(80), []);
		overlay.handleInput?.(ESCAPE);
		assert.equal(screen.reports.length, 2);
	});

	test("is quiet if it is to be, and on a pi that reports nothing", async (t) => {
		const screen = new Screen(t, { setProgramStatus: undefined });
		const seen = await screen.open({ ring: false });
		await screen.press(ESCAPE);
		assert.deepEqual([screen.written, seen.result], [[], { kind: "dismissed" }]);
	});

	test("rings if it is told so", async (t) => {
		const screen = new Screen(t);
		await screen.open({ ring: true });
		assert.deepEqual(screen.written, ["\x07"]);
		await screen.press(ESCAPE);
	});

	test("takes no answer before the keys have been quiet for a moment", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.pause(799);
		await screen.press(ENTER, DOWN);
		await screen.pause(799);
		await screen.press(ENTER);
		assert.equal(seen.result, undefined);
		assert.ok(screen.shown.includes("Pause typing to answer."));
		const { renders } = screen;
		await screen.pause();
		assert.ok(screen.renders > renders);
		assert.ok(screen.shown.includes("→ Tell"));
		assert.ok(screen.shown.includes("y/n, or ↑↓ and Enter."));
		await screen.press(DOWN);
		await screen.pause(5000);
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "no" });
	});

	for (const [typed, id] of [
		["y", "yes"],
		["n", "no"],
		["Yes", "yes"],
	] as const) {
		test(`takes ${typed} a moment after it was typed, or with Enter`, async (t) => {
			const screen = new Screen(t);
			const first = await screen.open();
			await screen.pause();
			await screen.type(typed);
			await screen.pause(499);
			assert.equal(first.result, undefined);
			await screen.pause(1);
			assert.deepEqual(first.result, { kind: "picked", id });
			const second = await screen.open();
			await screen.pause();
			await screen.type(typed + ENTER);
			assert.deepEqual(second.result, { kind: "picked", id });
			assert.equal(screen.editor.getText(), "");
		});
	}

	test("gives the editor what is no answer, letter by letter", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.press("h");
		await screen.pause();
		await screen.press("y");
		assert.equal(screen.editor.getText(), "hy");
		assert.ok(
			screen.shown.includes("↑↓ and Enter. Letters go to the editor.") ||
				screen.shown.includes("Pause typing to answer."),
		);
		await screen.press("\x1b[I", "\x7f", "\x7f");
		assert.equal(screen.editor.getText(), "");
		await screen.pause();
		await screen.press("y", "o");
		assert.equal(screen.editor.getText(), "yo");
		await screen.pause();
		assert.ok(screen.shown.includes("↑↓ and Enter. Letters go to the editor."));
		assert.equal(seen.result, undefined);
		await screen.press(ESCAPE);
		assert.equal(screen.editor.getText(), "yo");
	});

	for (const key of [ESCAPE, "\x03"]) {
		test(`is dismissed by ${JSON.stringify(key)}`, async (t) => {
			const screen = new Screen(t);
			const seen = await screen.open();
			await screen.press(key);
			assert.deepEqual(seen.result, { kind: "dismissed" });
			const { renders } = screen;
			await screen.pause(5000);
			assert.equal(screen.renders, renders);
		});
	}

	test("covers the editor in a terminal that is too low for both", async (t) => {
		const screen = new Screen(t);
		await screen.open();
		const least = 4 + 5 + 3;
		screen.rows = least;
		assert.equal(screen.shown.length, 4);
		assert.deepEqual(screen.focus?.render(80), []);
		screen.rows = least - 1;
		assert.deepEqual(screen.shown, []);
		assert.equal(screen.focus.render(80).length, 9);
		await screen.press(ESCAPE);
	});
});

describe("a choice that asks for a line", () => {
	async function asking(t: TestContext, options?: Options) {
		const screen = new Screen(t);
		const seen = await screen.open(options);
		await screen.pause();
		await screen.press(DOWN, ENTER);
		return { screen, seen };
	}

	test("shows the line, and gives its text without blanks around it", async (t) => {
		const { screen, seen } = await asking(t);
		assert.deepEqual(
			screen.shown.filter((line) => /What|Enter|Yes/.test(line)),
			["What?", "Enter sends it. Escape goes back."],
		);
		await screen.press(ENTER, " ", ENTER);
		assert.equal(seen.result, undefined);
		await screen.type("Use npm ");
		assert.ok(screen.shown.some((line) => line.includes("Use npm")));
		assert.ok(screen.shown.some((line) => line.includes(CURSOR_MARKER)));
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "Use npm" });
	});

	test("has the keys as the person has bound them, in the terminal's protocol", async (t) => {
		t.after(() => {
			setKeybindings(new KeybindingsManager(TUI_KEYBINDINGS));
			setKittyProtocolActive(false);
		});
		const screen = new Screen(t, { kittyProtocolActive: true });
		screen.keybindings = new KeybindingsManager(TUI_KEYBINDINGS, { "tui.editor.deleteCharBackward": "f2" });
		const seen = await screen.open();
		assert.equal(isKittyProtocolActive(), true);
		await screen.pause();
		await screen.press(DOWN, ENTER, "a", "b", "\x1bOQ", ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "a" });
	});

	test("keeps the words of a paste apart", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.press("\x1b[200~one\r\ntwo\nthree\x1b[201~", ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "one two three" });
	});

	test("goes back to the list with Escape, and is dismissed with Ctrl+C", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.press("a", ESCAPE);
		assert.ok(screen.shown.includes("→ Tell"));
		await screen.press(ENTER);
		assert.ok(screen.shown.includes("What?"));
		await screen.press("\x03");
		assert.deepEqual(seen.result, { kind: "dismissed" });
	});

	test("leaves its text to the editor when it is dismissed with Ctrl+C", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.type("Use npm");
		await screen.press("\x03");
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "dismissed" }, "Use npm"]);
	});

	test("leaves its text to the editor when the question is withdrawn", async (t) => {
		const withdrawn = new AbortController();
		const { screen, seen } = await asking(t, { signal: withdrawn.signal });
		await screen.type("Use npm");
		withdrawn.abort();
		await setImmediate();
		assert.deepEqual(seen.result, { kind: "withdrawn" });
		assert.equal(screen.editor.getText(), "Use npm");
	});
});

describe("a list that is withdrawn", () => {
	test("goes, and leaves the editor as it is", async (t) => {
		const screen = new Screen(t);
		const withdrawn = new AbortController();
		const seen = await screen.open({ signal: withdrawn.signal });
		withdrawn.abort();
		await setImmediate();
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "withdrawn" }, ""]);
		assert.deepEqual([screen.widgets.size, screen.tui.hasOverlay()], [0, false]);
	});

	test("before it opens is never shown", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({ signal: AbortSignal.abort() });
		assert.deepEqual([seen.result, screen.reports], [{ kind: "withdrawn" }, []]);
	});

	test("before pi has shown it goes all the same", async (t) => {
		const screen = new Screen(t);
		const withdrawn = new AbortController();
		const ui = screen.ui;
		const custom: DialogUI["custom"] = (make, options) => {
			const end = ui.custom(make, options);
			withdrawn.abort();
			return end;
		};
		const seen = await screen.open({ signal: withdrawn.signal }, { ...ui, custom });
		assert.deepEqual([seen.result, screen.widgets.size], [{ kind: "withdrawn" }, 0]);
	});

	test("after it was answered stays answered, and no longer listens", async (t) => {
		const screen = new Screen(t);
		const withdrawn = new AbortController();
		const removed = t.mock.method(withdrawn.signal, "removeEventListener");
		const seen = await screen.open({ signal: withdrawn.signal });
		await screen.press(ESCAPE);
		assert.equal(removed.mock.calls[0]?.arguments[0], "abort");
		withdrawn.abort();
		await setImmediate();
		assert.deepEqual(seen.result, { kind: "dismissed" });
		assert.equal(screen.reports.length, 2);
	});
});

describe("a list beside other dialogs", () => {
	test("is only a title while another one has the keys, and then waits for a pause again", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.pause();
		await screen.press(DOWN, "n");
		const list = screen.focus;
		const above = screen.tui.showOverlay({ ...other });
		await setImmediate();
		assert.deepEqual(screen.shown, ["Title"]);
		assert.equal(screen.editor.getText(), "n");
		await screen.pause(5000);
		assert.equal(seen.result, undefined);
		above.hide();
		assert.equal(screen.focus, list);
		assert.ok(screen.shown.includes("Pause typing to answer."));
		await screen.press(ENTER);
		assert.equal(seen.result, undefined);
		await screen.pause();
		assert.ok(screen.shown.includes("→ No"));
		await screen.press(ESCAPE);
		assert.deepEqual(seen.result, { kind: "dismissed" });
	});

	test("takes the keys back that pi gives to the editor, which has them in the end", async (t) => {
		const screen = new Screen(t);
		screen.tui.setFocus(other);
		const seen = await screen.open();
		const list = screen.focus;
		screen.tui.setFocus(screen.editor);
		await setImmediate();
		assert.equal(screen.focus, list);
		await screen.press(ESCAPE);
		assert.deepEqual([seen.result, screen.focus], [{ kind: "dismissed" }, screen.editor]);
	});

	test("leaves another extension's overlay where it is when it goes", async (t) => {
		const screen = new Screen(t);
		await screen.open();
		screen.tui.showOverlay({ ...other }, { nonCapturing: true });
		await screen.press(ESCAPE);
		assert.equal(screen.tui.hasOverlay(), true);
		screen.tui.hideOverlay();
		assert.equal(screen.tui.hasOverlay(), false);
	});

	test("leaves the keys to another dialog when it is withdrawn", async (t) => {
		const screen = new Screen(t);
		const withdrawn = new AbortController();
		await screen.open({ signal: withdrawn.signal });
		const told: boolean[] = [];
		const above = {
			...other,
			get focused() {
				return told.at(-1) ?? false;
			},
			set focused(has: boolean) {
				told.push(has);
			},
		};
		screen.tui.showOverlay(above);
		withdrawn.abort();
		assert.deepEqual([told, screen.focus], [[true], above]);
	});

	test("leaves nothing behind on a pi that removes only the overlay of the dialog", async (t) => {
		const screen = new Screen(t);
		screen.removesTopmost = false;
		await screen.open();
		await screen.press(ESCAPE);
		assert.equal(screen.tui.hasOverlay(), false);
	});

	test("has a widget of its own", async (t) => {
		const screen = new Screen(t);
		await screen.open();
		await screen.open();
		assert.equal(screen.widgets.size, 2);
		for (const name of screen.widgets.keys()) assert.match(name, /^turn-limit:dialog-[1-9]\d*$/);
		await screen.press(ESCAPE, ESCAPE);
		assert.equal(screen.widgets.size, 0);
	});
});

describe("a list that fails", () => {
	for (const [what, thrown] of [
		["an error", new Error("broken")],
		["something else", "broken"],
	] as const) {
		test(`with ${what} is no answer, and pi goes on`, async (t) => {
			const screen = new Screen(t);
			const ui = screen.ui;
			const seen = await screen.open({}, ui);
			Object.assign(ui, {
				getEditorText: () => {
					// eslint-disable-next-line @typescript-eslint/only-throw-error -- other extensions do it
					throw thrown;
				},
			});
			await screen.press("y");
			assert.deepEqual(seen.error, new Error("broken"));
			assert.deepEqual([screen.widgets.size, screen.focus], [0, screen.editor]);
		});
	}

	test("while it is drawn shows nothing", async (t) => {
		const screen = new Screen(t);
		const ui = screen.ui;
		const seen = await screen.open({}, ui);
		Object.assign(ui, { theme: undefined });
		assert.deepEqual(screen.shown, []);
		await setImmediate();
		assert.ok(seen.error instanceof TypeError);
	});

	test("cannot be shown without a terminal", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({}, { ...screen.ui, custom: () => Promise.resolve(undefined as never) });
		assert.deepEqual(seen.error, new Error("pi cannot show a dialog here."));
	});
});

let copies = 0;

test("pi's terminal library is there once somebody has loaded it", async () => {
	const copy = `../../src/hosts/pi/ui/load-pi-tui.ts?${++copies}`;
	const { loadKit, loadedKit } = (await import(copy)) as typeof loading;
	assert.equal(loadedKit(), undefined);
	const [kit, same] = await Promise.all([loadKit(), loadKit()]);
	assert.equal(typeof kit.Input, "function");
	assert.deepEqual([same, loadedKit()], [kit, kit]);
});
