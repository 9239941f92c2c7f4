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
	readonly scrollToPrompt?: (direction: 1 | -1) => void;
}

/** What pi's own keys do there, by the end of their names. `page`: the lines of the transcript in sight. */
const SCROLLS: Readonly<Record<string, (tui: Scrolling, page: number) => void>> = {
	pageUp: (tui, page) => tui.scrollBy?.(-page),
	pageDown: (tui, page) => tui.scrollBy?.(page),
	halfPageUp: (tui, page) => tui.scrollBy?.(-Math.ceil(page / 2)),
	halfPageDown: (tui, page) => tui.scrollBy?.(Math.ceil(page / 2)),
	lineUp: (tui) => tui.scrollBy?.(-1),
	lineDown: (tui) => tui.scrollBy?.(1),
	previousPrompt: (tui) => tui.scrollToPrompt?.(-1),
	nextPrompt: (tui) => tui.scrollToPrompt?.(1),
	top: (tui) => tui.scrollToTop?.(),
	bottom: (tui) => tui.scrollToBottom?.(),
};

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
	 * In a terminal that is too low for the list and the editor, the overlay shows it and covers the editor. So it does
	 * where another extension's overlay may cover the widget. It never covers a text that is being written.
	 */
	lines(place: "widget" | "overlay", view: View, width: number): string[] {
		const { ui, piTui, tui } = this.#parts;
		if (this.#isMeasuring) return [];
		const { rows } = tui.terminal;
		const room = rows - 1 - this.#rowsAround(width);
		const isWriting = view.asks !== undefined;
		const fits = !view.hasKeys || isWriting || (room >= leastRows(view) && !view.hasOverlay);
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
		const screen = tui as Scrolling;
		const is = (name: string): boolean => keybindings.matches(data, name as Parameters<Keybindings["matches"]>[1]);
		const isExpand = is("app.tools.expand");
		if (isExpand) ui.setToolsExpanded(!ui.getToolsExpanded());
		// In pi's other mode the terminal itself scrolls.
		if (isExpand || !screen.scrollBy) return isExpand;
		const [, scroll] = Object.entries(SCROLLS).find(([name]) => is(`tui.altScreen.${name}`)) ?? [];
		const wheel = WHEEL.exec(data);
		scroll?.(screen, this.#page);
		if (wheel) screen.scrollBy(wheel[1] === "64" ? -WHEEL_LINES : WHEEL_LINES);
		return scroll !== undefined || wheel !== null;
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
