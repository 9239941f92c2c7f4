/** A list of choices on pi's own screen, with a terminal that records what is written. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
	type Component,
	Editor,
	isKittyProtocolActive,
	KeybindingsManager,
	setKeybindings,
	setKittyProtocolActive,
	TUI_KEYBINDINGS,
	TuiMainScreen,
	visibleWidth,
} from "@earendil-works/pi-tui";
import { choose, type Dialog, type DialogUI, type DialogOptions } from "../../src/hosts/pi/ui/dialog/dialog.ts";
import type * as loading from "../../src/hosts/pi/ui/load-pi-tui.ts";

const dialog: Dialog = {
	title: "Title",
	lines: ["Continue?"],
	activity: [],
	choices: [
		{ id: "yes", label: "Yes", typed: ["y", "yes"] },
		{ id: "tell", label: "Tell", asks: "What?" },
		{ id: "no", label: "No", typed: ["n"] },
	],
};

/** With amounts that can be typed. */
const sizes: Dialog = {
	...dialog,
	size: (typed) => (/^[1-9]\d*$/.test(typed) ? { grant: Number(typed), label: `${typed} more` } : undefined),
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
	expanded = false;
	/** Before pi 1.5.0 the end of a dialog removes the topmost overlay, from then on its own. */
	removesTopmost = true;
	keybindings = new KeybindingsManager(TUI_KEYBINDINGS);
	options: object | undefined;
	readonly #t: TestContext;

	constructor(t: TestContext, terminal: object = {}) {
		this.#t = t;
		t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
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
		const part = (render: Component["render"]): Component => ({ render, invalidate() {} });
		const transcript = part(() => Array.from({ length: 99 }, () => "said"));
		const widgets = part((width) => ["", ...[...this.widgets.values()].flatMap((widget) => widget.render(width))]);
		for (const each of [transcript, widgets, this.editor, part(() => ["footer", "model"])]) this.tui.addChild(each);
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
			setEditorText: (text: string) => editor.setText(text),
			getToolsExpanded: () => this.expanded,
			setToolsExpanded: (expanded: boolean) => (this.expanded = expanded),
			pasteToEditor: (text: string) => editor.handleInput(`\x1b[200~${text}\x1b[201~`),
			theme: { fg: (_colour: string, text: string) => text, bold: (text: string) => text },
		} as unknown as DialogUI;
	}

	/** Opens the list. */
	async open(options?: DialogOptions, ui = this.ui, asked = dialog) {
		const seen: { result?: unknown; error?: unknown } = {};
		const result = choose(ui, asked, options);
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
		assert.ok(screen.shown.includes("One moment…"));
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

	test("covers the editor in a terminal that is too low for both and what stands around them", async (t) => {
		const screen = new Screen(t);
		await screen.open();
		const least = 5 + 4 + 3;
		screen.rows = least;
		assert.equal(screen.shown.length, 5);
		assert.deepEqual(screen.focus?.render(80), []);
		screen.rows = least - 1;
		assert.deepEqual(screen.shown, []);
		assert.equal(screen.focus.render(80).length, 9);
		await screen.press(ESCAPE);
		await screen.open();
		screen.widgets.set("other", {
			render: (width) => Array.from({ length: width / 40 }, () => "other"),
			invalidate() {},
		});
		screen.rows = least + 1;
		assert.deepEqual(screen.shown, ["other", "other"]);
		screen.rows = least + 2;
		assert.equal(screen.shown.length, 5 + 2);
		await screen.press(ESCAPE);
	});

	test("has no line that is wider than the terminal, however narrow that is and however wide a letter", async (t) => {
		const screen = new Screen(t);
		await screen.open({}, screen.ui, { ...dialog, lines: ["日本語"], activity: ["Last: 日本 · 語"] });
		for (const width of [1, 2, 3, 4, 9])
			for (const widget of screen.widgets.values())
				for (const line of widget.render(width)) assert.ok(visibleWidth(line) <= width, `${width}: ${line}`);
		await screen.press(ESCAPE);
	});
});

describe("a person who types at a list", () => {
	const WORDS = [
		"yesterday",
		"y",
		"yes",
		"yep",
		"n",
		"no",
		"nope",
		"not this",
		"now",
		"n y",
		"yy n",
		"3 files",
		"5 or 50",
		"10k",
	];

	for (const word of WORDS) {
		for (const ms of [30, 230, 460]) {
			test(`answers nothing with the sentence that begins with ${word}, a key every ${ms} ms`, async (t) => {
				const screen = new Screen(t);
				const seen = await screen.open({}, screen.ui, sizes);
				await screen.pause();
				const sentence = `${word}, I mean it`;
				for (const letter of sentence) {
					await screen.press(letter);
					await screen.pause(ms);
				}
				await screen.press(ENTER);
				assert.equal(seen.result, undefined);
				assert.equal(screen.editor.getText(), sentence);
				await screen.pause();
				await screen.press(ENTER);
				assert.equal(seen.result, undefined);
				await screen.press(ESCAPE);
			});
		}
	}

	for (const opensAt of [0, 1, 2]) {
		test(`answers nothing with a word that is being typed when the list opens, after letter ${opensAt}`, async (t) => {
			const screen = new Screen(t);
			await screen.type("yes".slice(0, opensAt));
			const seen = await screen.open();
			for (const letter of "yes".slice(opensAt)) {
				await screen.pause(230);
				await screen.press(letter);
			}
			await screen.press(ENTER);
			await screen.pause(5000);
			await screen.press(ENTER);
			assert.deepEqual([seen.result, screen.editor.getText()], [undefined, "yes"]);
			await screen.press(ESCAPE);
		});
	}

	for (const [letter, id] of [
		["y", "yes"],
		["n", "no"],
	] as const) {
		test(`answers once with a ${letter} that is held down`, async (t) => {
			const screen = new Screen(t);
			const seen = await screen.open();
			await screen.pause();
			for (let i = 0; i < 40; i++) {
				await screen.press(letter);
				await screen.pause(30);
			}
			assert.equal(seen.result, undefined);
			assert.ok(screen.shown.some((line) => line.startsWith("✓")));
			await screen.pause(470);
			assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "picked", id }, ""]);
		});

		test(`answers nothing with a ${letter} that was held down before the list opened`, async (t) => {
			const screen = new Screen(t);
			const seen = await screen.open();
			for (let i = 0; i < 40; i++) {
				await screen.pause(30);
				await screen.press(letter);
			}
			await screen.pause(5000);
			assert.deepEqual([seen.result, screen.editor.getText()], [undefined, letter.repeat(40)]);
			await screen.press(ESCAPE);
		});
	}

	for (const paste of ["y", "yes\n", "n", "50", "50\n"]) {
		test(`answers nothing with a paste of ${JSON.stringify(paste)}`, async (t) => {
			const screen = new Screen(t);
			const seen = await screen.open({}, screen.ui, sizes);
			await screen.pause();
			await screen.press(`\x1b[200~${paste}\x1b[201~`);
			await screen.pause(5000);
			await screen.press(ENTER);
			assert.deepEqual([seen.result, screen.editor.getText()], [undefined, paste]);
			await screen.press(ESCAPE);
		});
	}

	test("sees at once which answer was typed", async (t) => {
		const screen = new Screen(t);
		await screen.open();
		await screen.pause();
		const { renders } = screen;
		await screen.press("n");
		assert.ok(screen.renders > renders);
		assert.ok(screen.shown.includes("✓ No [n]"));
		assert.ok(screen.shown.includes("Enter answers at once."));
		await screen.press(ESCAPE);
	});

	test("buys an amount with Enter, and with nothing else", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({}, screen.ui, sizes);
		await screen.pause();
		await screen.type("500");
		await screen.press("\x7f");
		assert.ok(screen.shown.includes("✓ 50 more"));
		const { renders } = screen;
		await screen.pause(5000);
		assert.deepEqual([seen.result, screen.renders], [undefined, renders]);
		await screen.press(ENTER);
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "picked", id: "yes", grant: 50 }, ""]);
	});

	test("waits for the rest of an amount that begins with a sign", async (t) => {
		const screen = new Screen(t);
		const size: Dialog["size"] = (typed) => sizes.size?.(typed.replace(/^\$/, ""));
		const seen = await screen.open({}, screen.ui, { ...dialog, size });
		await screen.pause();
		await screen.type("$");
		const { renders } = screen;
		await screen.pause(5000);
		await screen.press(ENTER);
		assert.deepEqual([seen.result, screen.renders - renders, screen.editor.getText()], [undefined, 1, ""]);
		await screen.type("5");
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "yes", grant: 5 });
	});

	test("has the arrow back once the text is gone again", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.pause();
		await screen.type("ab");
		await screen.press("\x7f", "\x7f");
		assert.ok(!screen.shown.some((line) => line.startsWith("→")));
		await screen.pause();
		assert.ok(screen.shown.includes("→ Yes [y]"));
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "yes" });
	});
});

describe("keys that scroll", () => {
	test("show more of the transcript, and change nothing at the list", async (t) => {
		const scrolled: (number | string)[] = [];
		const screen = new Screen(t);
		Object.assign(screen.tui, {
			scrollBy: (lines: number) => scrolled.push(lines),
			scrollToTop: () => scrolled.push("top"),
			scrollToBottom: () => scrolled.push("bottom"),
			scrollToPrompt: (direction: number) => scrolled.push(`prompt ${direction}`),
		});
		screen.keybindings = new KeybindingsManager({
			...TUI_KEYBINDINGS,
			"app.tools.expand": { defaultKeys: "ctrl+o", description: "" },
			"tui.altScreen.top": { defaultKeys: "ctrl+home", description: "" },
			"tui.altScreen.bottom": { defaultKeys: "ctrl+end", description: "" },
			...Object.fromEntries(
				["halfPageUp", "halfPageDown", "lineUp", "lineDown"].map((name, i) => [
					`tui.altScreen.${name}`,
					{ defaultKeys: `f${i + 1}`, description: "" },
				]),
			),
		} as never);
		const seen = await screen.open();
		await screen.pause();
		const { length } = screen.shown;
		await screen.press("y");
		await screen.press("\x1b[5~", "\x1b[6~", "\x1b[1;5H", "\x1b[1;5F", "\x1b[<64;3;4M", "\x1b[<65;3;4M");
		const page = screen.rows - 4 - 3 - length;
		assert.deepEqual(scrolled.splice(0), [-page, page, "top", "bottom", -3, 3]);
		await screen.press("\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[1;5A", "\x1b[1;6A", "\x1b[1;5B", "\x1b[1;6B");
		const half = Math.ceil(page / 2);
		assert.deepEqual(scrolled, [-half, half, -1, 1, "prompt -1", "prompt -1", "prompt 1", "prompt 1"]);
		assert.equal(screen.expanded, false);
		await screen.press("\x0f");
		assert.equal(screen.expanded, true);
		await screen.press("\x0f");
		assert.equal(screen.expanded, false);
		assert.ok(screen.shown.includes("✓ Yes [y]"));
		await screen.pause(500);
		assert.deepEqual(seen.result, { kind: "picked", id: "yes" });
		assert.equal(screen.editor.getText(), "");
	});

	test("are keys: a typed answer waits until they are quiet as well", async (t) => {
		const screen = new Screen(t);
		Object.assign(screen.tui, { scrollBy: () => {} });
		screen.keybindings = new KeybindingsManager({
			...TUI_KEYBINDINGS,
			"app.tools.expand": { defaultKeys: "ctrl+o", description: "" },
		} as never);
		const seen = await screen.open();
		for (const key of ["\x0f", "\x1b[5~", "\x1b[<64;3;4M"]) {
			await screen.pause(799);
			await screen.press(key);
		}
		await screen.pause(799);
		assert.ok(screen.shown.includes("One moment…"));
		await screen.pause(1);
		await screen.press("y");
		for (const key of ["\x0f", "\x1b[5~", "\x1b[<64;3;4M"]) {
			await screen.pause(499);
			await screen.press(key);
		}
		await screen.pause(499);
		assert.equal(seen.result, undefined);
		await screen.pause(1);
		assert.deepEqual(seen.result, { kind: "picked", id: "yes" });
	});

	test("are no keys of ours where the terminal itself scrolls", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.pause();
		await screen.press("\x1b[5~", "\x1b[<64;3;4M");
		assert.equal(seen.result, undefined);
		assert.ok(screen.shown.includes("→ Yes [y]"));
		await screen.press(ESCAPE);
	});
});

describe("a list with a time", () => {
	test("counts down, and is withdrawn", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({ seconds: 3 }, screen.ui, { ...dialog, expires: "Stops in" });
		assert.ok(screen.shown.some((line) => line.endsWith("Stops in 3s.")));
		await screen.pause(1000);
		assert.ok(screen.shown.some((line) => line.endsWith("Stops in 2s.")));
		await screen.pause(1000);
		assert.equal(seen.result, undefined);
		await screen.pause(1000);
		assert.deepEqual(seen.result, { kind: "withdrawn" });
		const { renders } = screen;
		await screen.pause(5000);
		assert.equal(screen.renders, renders);
	});

	test("begins anew with every key", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({ seconds: 2 });
		for (let i = 0; i < 5; i++) {
			await screen.pause(1000);
			await screen.press("x");
		}
		assert.equal(seen.result, undefined);
		await screen.pause(2000);
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "withdrawn" }, "xxxxx"]);
	});

	test("stands still while another dialog has the keys, and begins anew then", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open({ seconds: 2 });
		await screen.pause(1000);
		const above = screen.tui.showOverlay({ ...other });
		await screen.pause(10_000);
		assert.equal(seen.result, undefined);
		above.hide();
		await screen.pause(1000);
		assert.equal(seen.result, undefined);
		await screen.pause(1000);
		assert.deepEqual(seen.result, { kind: "withdrawn" });
	});

	test("has none unless it is told", async (t) => {
		const screen = new Screen(t);
		const seen = await screen.open();
		await screen.pause(10_000_000);
		assert.equal(seen.result, undefined);
		await screen.press(ESCAPE);
	});
});

describe("a list over another extension's overlay", () => {
	async function over(t: TestContext) {
		const screen = new Screen(t);
		const typed: string[] = [];
		const shell: Component = { ...other, handleInput: (data) => typed.push(data) };
		const handle = screen.tui.showOverlay(shell);
		const seen = await screen.open();
		return { screen, typed, seen, shell, handle };
	}

	test("leaves it every key until they have been quiet for a moment, Escape and Ctrl+C too", async (t) => {
		const { screen, typed, seen } = await over(t);
		const keys = ["l", "s", ENTER, ESCAPE, DOWN, "\x03", "y", "\x1b[5~"];
		for (const key of keys) {
			await screen.press(key);
			await screen.pause(230);
		}
		assert.deepEqual([typed, seen.result, screen.editor.getText()], [keys, undefined, ""]);
		await screen.press(ESCAPE);
		await screen.pause();
		await screen.press(ESCAPE);
		assert.deepEqual(seen.result, { kind: "dismissed" });
	});

	test("is drawn over it, and has no choice for which the editor is needed", async (t) => {
		const { screen } = await over(t);
		const drawn = () => screen.focus?.render(80).map((line) => line.trim()) ?? [];
		assert.ok(drawn().includes("Pause typing to answer."));
		assert.deepEqual(screen.shown, []);
		await screen.pause();
		assert.ok(drawn().includes("↑↓ and Enter. Other keys go where they went before."));
		assert.ok(!drawn().some((line) => line.includes("Tell")));
		await screen.press(ESCAPE);
	});

	test("leaves it letters and Enter also after the moment, until an arrow marks a choice", async (t) => {
		const { screen, typed, seen, shell } = await over(t);
		await screen.pause();
		await screen.press("y");
		await screen.pause();
		await screen.press(ENTER);
		await screen.pause();
		assert.deepEqual([typed, seen.result], [["y", ENTER], undefined]);
		await screen.press(DOWN, DOWN, ENTER);
		assert.deepEqual([seen.result, screen.focus], [{ kind: "picked", id: "no" }, shell]);
	});

	test("leaves it also after the moment each key that is no answer", async (t) => {
		const { screen, typed, seen } = await over(t);
		const keys = ["\x11", "\t", "\x1bOP", "\x1b[5~", "\x04", "\x0f", "\x1b[I"];
		for (const key of keys) {
			await screen.pause();
			await screen.press(key);
		}
		assert.deepEqual([typed, seen.result, screen.expanded], [keys, undefined, false]);
		await screen.press(ESCAPE);
		assert.deepEqual([typed.at(-1), seen.result], [ESCAPE, undefined]);
		await screen.pause();
		await screen.press("\x03");
		assert.deepEqual(seen.result, { kind: "dismissed" });
	});

	test("gives letters to the editor once it is closed", async (t) => {
		const { screen, typed, handle } = await over(t);
		await screen.pause();
		handle.hide();
		await screen.press("x");
		assert.deepEqual([typed, screen.editor.getText()], [[], "x"]);
		await screen.press(ESCAPE);
	});
});

describe("a list whose overlay pi takes away for one that closes below it", () => {
	test("comes back, and the other one is gone", async (t) => {
		const screen = new Screen(t);
		const below: Component = { ...other, handleInput: () => screen.tui.hideOverlay() };
		screen.tui.showOverlay(below);
		const seen = await screen.open();
		const list = screen.focus;
		await screen.press(ESCAPE);
		assert.equal(screen.focus, list);
		await screen.press("x");
		await screen.pause();
		await screen.press(ESCAPE);
		assert.deepEqual(seen.result, { kind: "dismissed" });
		assert.deepEqual([screen.tui.hasOverlay(), screen.editor.getText()], [false, "x"]);
	});

	test("leaves one that did not have the keys where it is", async (t) => {
		const screen = new Screen(t);
		screen.tui.showOverlay({ ...other }, { nonCapturing: true });
		await screen.open();
		const list = screen.focus;
		screen.tui.hideOverlay();
		await setImmediate();
		assert.equal(screen.focus, list);
		await screen.press(ESCAPE);
		assert.equal(screen.tui.hasOverlay(), true);
	});
});

describe("a choice that asks for a text", () => {
	async function asking(t: TestContext, options?: DialogOptions, draft = "") {
		const screen = new Screen(t);
		screen.editor.setText(draft);
		const seen = await screen.open(options);
		await screen.pause();
		await screen.press(DOWN, ENTER);
		return { screen, seen };
	}

	test("asks for it in the editor, and gives it without blanks around it", async (t) => {
		const { screen, seen } = await asking(t);
		assert.deepEqual(
			screen.shown.filter((line) => /What|Enter|Yes/.test(line)),
			["What?", "Write it in the editor. Enter sends it. Escape goes back."],
		);
		await screen.press(ENTER, " ", ENTER);
		assert.equal(seen.result, undefined);
		await screen.type("Use npm ");
		assert.equal(screen.editor.getText(), " Use npm ");
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "Use npm" });
		assert.equal(screen.editor.getText(), "");
	});

	test("offers the text that stands in the editor", async (t) => {
		const { screen, seen } = await asking(t, {}, "Use npm");
		await screen.type(" 11");
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "Use npm 11" });
	});

	test("keeps several lines apart, corrections and all", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.press("\x1b[200~one\r\ntwo\x1b[201~", "\x1b[13;2u", "x", "\x7f", "yx", "\x1b[D", "\x04", "\t", ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "one\ntwo\ny" });
	});

	test("begins a line with every key with which pi's editor does", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.type("one\\");
		await screen.press(ENTER);
		await screen.type("two");
		await screen.press("\n");
		await screen.type("th\\ree");
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "one\ntwo\nth\\ree" });
	});

	test("takes a completion that the editor offers, or closes the offer, before it sends or goes back", async (t) => {
		const { screen, seen } = await asking(t);
		let isOffering = true;
		screen.editor.isShowingAutocomplete = () => isOffering;
		const passed = t.mock.method(screen.editor, "handleInput", () => {});
		const keys = () => passed.mock.calls.map(({ arguments: [data] }) => data);
		await screen.press("\t", ENTER, ESCAPE, "\x1b[B");
		assert.deepEqual(keys(), ["\t", "\t", ESCAPE, "\x1b[B"]);
		assert.equal(seen.result, undefined);
		assert.ok(screen.shown.includes("What?"));
		isOffering = false;
		await screen.press("\t", ESCAPE);
		assert.equal(keys().length, 4);
		assert.ok(!screen.shown.includes("What?"));
	});

	test("sends a draft only with an Enter that comes after a pause, or after another key", async (t) => {
		for (const [keys, pause] of [
			[[ENTER, ENTER], 800],
			[["\x1b[D"], 0],
		] as const) {
			const { screen, seen } = await asking(t, {}, "half a sent");
			const asks = () => screen.shown.filter((line) => line.includes("Escape goes back."));
			assert.deepEqual(asks(), ["One moment… Escape goes back."]);
			await screen.press(...keys);
			await screen.pause(pause);
			assert.deepEqual(asks(), ["Write it in the editor. Enter sends it. Escape goes back."]);
			assert.equal(seen.result, undefined);
			await screen.press(ENTER);
			assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "half a sent" });
			t.mock.timers.reset();
		}
	});

	test("sends nothing with the Enter that has closed another dialog", async (t) => {
		const { screen, seen } = await asking(t, {}, "half");
		await screen.press("x");
		const handle = screen.tui.showOverlay({ ...other });
		await setImmediate();
		handle.hide();
		await screen.press(ENTER);
		assert.equal(seen.result, undefined);
		await screen.pause();
		await screen.press(ENTER);
		assert.deepEqual(seen.result, { kind: "picked", id: "tell", text: "halfx" });
	});

	test("counts down while it is written", async (t) => {
		const { screen, seen } = await asking(t, { seconds: 30 });
		await screen.type("a");
		await screen.pause(5000);
		assert.ok(
			screen.shown.some((line) => line.endsWith("Escape goes back. 25s.")),
			screen.shown.join("\n"),
		);
		await screen.type("b");
		assert.ok(
			screen.shown.some((line) => line.endsWith("Escape goes back. 30s.")),
			screen.shown.join("\n"),
		);
		await screen.pause(30_000);
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "withdrawn" }, "ab"]);
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

	test("passes no key to an empty editor that would leave pi", async (t) => {
		const { screen } = await asking(t);
		const passed = t.mock.method(screen.editor, "handleInput");
		await screen.press("\x04", "\x0c", "\t");
		assert.equal(passed.mock.callCount(), 0);
		await screen.press("\x03");
	});

	test("leaves the editor in sight however many lines the text has, and gives way itself", async (t) => {
		const { screen } = await asking(t);
		const shown = (room: number): string[] => {
			// Beside the editor: a line of the transcript, one above the widgets, and the footer's two.
			screen.rows = 1 + 1 + screen.editor.render(80).length + 2 + room;
			assert.deepEqual(screen.focus?.render(80), []);
			return screen.shown;
		};
		for (const line of ["one", "\n", "two", "\n", "three", "\n", "four"]) await screen.type(line);
		assert.deepEqual(shown(3), ["Title", "What?", "Enter sends it. Esc goes back."]);
		assert.deepEqual(shown(2), ["Title", "What?"]);
		assert.deepEqual(shown(1), ["What?"]);
		for (const room of [0, -1]) assert.deepEqual(shown(room), []);
		await screen.press("\x03");
	});

	test("goes back to the list with Escape and keeps the draft, and is dismissed with Ctrl+C", async (t) => {
		const { screen, seen } = await asking(t);
		await screen.press("a", ESCAPE);
		assert.ok(screen.shown.includes("→ Tell"));
		assert.equal(screen.editor.getText(), "a");
		await screen.press(ENTER);
		assert.ok(screen.shown.includes("What?"));
		await screen.press("\x03");
		assert.deepEqual([seen.result, screen.editor.getText()], [{ kind: "dismissed" }, "a"]);
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
		assert.ok(screen.shown.includes("One moment…"));
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
	const { loadPiTui, loadedPiTui } = (await import(copy)) as typeof loading;
	assert.equal(loadedPiTui(), undefined);
	const [piTui, same] = await Promise.all([loadPiTui(), loadPiTui()]);
	assert.equal(typeof piTui.parseKey, "function");
	assert.deepEqual([same, loadedPiTui()], [piTui, piTui]);
});
