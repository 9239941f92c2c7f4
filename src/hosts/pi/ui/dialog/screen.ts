/** The place of a dialog on the screen: an overlay that has the keys, and a widget above the editor that shows it. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Editor, type EditorUI, overlaysOf } from "./editor.ts";
import type { Component, Keybindings, PiTui, Tui } from "./keys.ts";
import { leastRows, dialogLines, type View } from "./view.ts";

export type DialogUI = EditorUI &
	Pick<ExtensionUIContext, "custom" | "setWidget" | "theme" | "getToolsExpanded" | "setToolsExpanded">;

export type Handle = ReturnType<Tui["showOverlay"]>;

/** The objects that pi gives to a dialog; `settle` ends it. */
export interface DialogParts<End> {
	readonly ui: DialogUI;
	readonly piTui: PiTui;
	readonly tui: Tui;
	readonly keybindings: Keybindings;
	readonly settle: (end: End) => void;
}

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

export class Screen<End> {
	readonly #parts: DialogParts<End>;
	readonly #editor: Editor;
	readonly #widget = `turn-limit:dialog-${++opened}`;
	#handle: Handle | undefined;
	/** The lines of the transcript beside the dialog. */
	#page = 1;
	#isMeasuring = false;

	/** `draw` gives the lines of the widget. */
	constructor(parts: DialogParts<End>, editor: Editor, draw: (width: number) => string[]) {
		this.#parts = parts;
		this.#editor = editor;
		parts.ui.setWidget(this.#widget, () => ({ render: draw, invalidate() {} }));
	}

	/** pi has given the overlay the keys. */
	open(handle: Handle, title: string, ring: boolean): void {
		this.#handle = handle;
		if (ring) this.#parts.tui.terminal.write("\x07");
		this.#report({ state: "blocked", kind: "question", message: title });
	}

	/** Before pi 1.5.0 an overlay that closes takes the topmost one from the screen, which may be `own`, and stays there itself. */
	restore(own: Component): void {
		const { tui } = this.#parts;
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
		const { ui, piTui, tui } = this.#parts;
		if (this.#isMeasuring) return [];
		const { rows } = tui.terminal;
		const room = rows - 1 - this.#rowsAround(width);
		const fits = !view.hasKeys || (room >= leastRows(view) && !view.hasOverlay);
		if (fits !== (place === "widget")) return [];
		const lines = dialogLines(piTui, ui.theme, view, width, fits ? room : rows);
		this.#page = Math.max(1, room - lines.length);
		// pi 0.87.1 ends where a line is wider than the terminal, as a wide letter is in two columns.
		return lines.map((line) => piTui.truncateToWidth(line, width, ""));
	}

	/** The rows of everything but the dialog and the transcript, which comes first. One row of that stays in sight. */
	#rowsAround(width: number): number {
		this.#isMeasuring = true;
		try {
			return this.#parts.tui.children.slice(1).flatMap((part) => part.render(width)).length;
		} finally {
			this.#isMeasuring = false;
		}
	}

	/** True if the key shows more of the transcript, as it does elsewhere in pi. */
	scroll(data: string): boolean {
		const { ui, tui, keybindings } = this.#parts;
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

	/** Clears the screen. The keys go to `focus`, if there is one. */
	close(end: End, focus: Component | undefined): void {
		const { ui, tui, settle } = this.#parts;
		// Before pi 1.5.0 `settle` removes the topmost overlay, which may be another extension's. So it gets an empty one.
		this.#handle?.hide();
		const spare = tui.showOverlay({ render: () => [], invalidate() {} }, { nonCapturing: true });
		settle(end);
		spare.hide();
		if (focus) tui.setFocus(focus);
		this.#report({ state: "working" });
		ui.setWidget(this.#widget, undefined);
	}

	/** Lets the terminal show that pi waits. pi itself reports this only of dialogs in the editor's place. */
	#report(status: object): void {
		const { terminal }: { terminal: object & { setProgramStatus?: (status: object) => void } } = this.#parts.tui;
		terminal.setProgramStatus?.({ app: "pi", ...status });
	}
}
