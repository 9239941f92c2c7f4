/** The place of a dialog on the screen: an overlay that has the keys, and a widget above the editor that shows it. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Editor, type EditorUI, overlaysOf } from "./editor.ts";
import type { Component, Keybindings, Kit, Tui } from "./keys.ts";
import { leastRows, panel, type View } from "./view.ts";

export type DialogUI = EditorUI &
	Pick<ExtensionUIContext, "custom" | "setWidget" | "theme" | "getToolsExpanded" | "setToolsExpanded">;

export type Handle = ReturnType<Tui["showOverlay"]>;

/** The objects that pi gives to a dialog; `settle` ends it. */
export interface Screen<End> {
	readonly ui: DialogUI;
	readonly kit: Kit;
	readonly tui: Tui;
	readonly keybindings: Keybindings;
	readonly settle: (end: End) => void;
}

/** Rows around the dialog and the editor: pi's footer, a blank line, another widget. */
const SURROUNDINGS = 5;

/** Pi's screen, where pi scrolls itself. */
interface Scrolling {
	readonly scrollBy?: (lines: number) => void;
	readonly scrollToTop?: () => void;
	readonly scrollToBottom?: () => void;
}

/** A turn of the mouse's wheel: 64 is up, 65 down. */
const WHEEL = /^\x1b\[<(64|65);/;
const WHEEL_LINES = 3;

/** Where the overlay stands. */
export const OVERLAY = { anchor: "top-left", width: "100%" } as const;

let opened = 0;

export class Stage<End> {
	readonly #screen: Screen<End>;
	readonly #editor: Editor;
	readonly #widget = `turn-limit:dialog-${++opened}`;
	#handle: Handle | undefined;
	/** The lines of the transcript beside the dialog. */
	#page = 1;

	/** `draw` gives the lines of the widget. */
	constructor(screen: Screen<End>, editor: Editor, draw: (width: number) => string[]) {
		this.#screen = screen;
		this.#editor = editor;
		screen.ui.setWidget(this.#widget, () => ({ render: draw, invalidate() {} }));
	}

	/** pi has given the overlay the keys. */
	open(handle: Handle, title: string, ring: boolean): void {
		this.#handle = handle;
		if (ring) this.#screen.tui.terminal.write("\x07");
		this.#report({ state: "blocked", kind: "question", message: title });
	}

	/** Before pi 1.5.0 an overlay that closes takes the topmost one from the screen, which may be `own`, and stays there itself. */
	restore(own: Component): void {
		const { tui } = this.#screen;
		const overlays = overlaysOf(tui);
		if (this.#handle === undefined || overlays === undefined || overlays.includes(own)) return;
		if (overlays.at(-1) === this.#editor.overlay) tui.hideOverlay();
		this.#handle = tui.showOverlay(own, OVERLAY);
	}

	/** Gives the keys to the overlay again. */
	focus(): void {
		this.#handle?.focus();
	}

	/**
	 * In a terminal that is too low for the dialog and the editor, the overlay shows it and covers the editor. So it does
	 * where another extension's overlay may cover the widget.
	 */
	lines(place: "widget" | "overlay", view: View, width: number): string[] {
		const { ui, kit, tui } = this.#screen;
		const { rows } = tui.terminal;
		const room = rows - SURROUNDINGS - this.#editor.rows(width);
		const fits = !view.hasKeys || (room >= leastRows(view) && !view.hasOverlay);
		if (fits !== (place === "widget")) return [];
		const lines = panel(kit, ui.theme, view, width, fits ? room : rows);
		this.#page = Math.max(1, room - lines.length);
		return lines;
	}

	/** True if the key shows more of the transcript, as it does elsewhere in pi. */
	scroll(data: string): boolean {
		const { ui, tui, keybindings } = this.#screen;
		const { scrollBy, scrollToTop, scrollToBottom }: Scrolling = tui as Scrolling;
		const is = (name: string): boolean => keybindings.matches(data, name as Parameters<Keybindings["matches"]>[1]);
		if (is("app.tools.expand")) ui.setToolsExpanded(!ui.getToolsExpanded());
		// In pi's other mode the terminal itself scrolls.
		else if (!scrollBy) return false;
		else if (is("tui.altScreen.pageUp")) scrollBy.call(tui, -this.#page);
		else if (is("tui.altScreen.pageDown")) scrollBy.call(tui, this.#page);
		else if (is("tui.altScreen.top")) scrollToTop?.call(tui);
		else if (is("tui.altScreen.bottom")) scrollToBottom?.call(tui);
		else if (WHEEL.test(data)) scrollBy.call(tui, WHEEL.exec(data)?.[1] === "64" ? -WHEEL_LINES : WHEEL_LINES);
		else return false;
		return true;
	}

	/** Clears the screen. The keys go to `heir`, if there is one. */
	close(end: End, heir: Component | undefined): void {
		const { ui, tui, settle } = this.#screen;
		// Before pi 1.5.0 `settle` removes the topmost overlay, which may be another extension's. So it gets an empty one.
		this.#handle?.hide();
		const spare = tui.showOverlay({ render: () => [], invalidate() {} }, { nonCapturing: true });
		settle(end);
		spare.hide();
		if (heir) tui.setFocus(heir);
		this.#report({ state: "working" });
		ui.setWidget(this.#widget, undefined);
	}

	/** Lets the terminal show that pi waits. pi itself reports this only of dialogs in the editor's place. */
	#report(status: object): void {
		const { terminal }: { terminal: object & { setProgramStatus?: (status: object) => void } } = this.#screen.tui;
		terminal.setProgramStatus?.({ app: "pi", ...status });
	}
}
