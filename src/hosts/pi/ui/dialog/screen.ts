/** The place of a dialog on the screen: an overlay that has the keys, and a widget above the editor that shows it. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type { Editor } from "./editor.ts";
import type { Component, Keybindings, Kit, Tui } from "./keys.ts";
import { leastRows, panel, type View } from "./view.ts";

export type DialogUI = Pick<ExtensionUIContext, "custom" | "setWidget" | "getEditorText" | "pasteToEditor" | "theme">;

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

let opened = 0;

export class Stage<End> {
	readonly #screen: Screen<End>;
	readonly #editor: Editor;
	readonly #widget = `turn-limit:dialog-${++opened}`;
	#handle: Handle | undefined;

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

	/** Gives the keys to the overlay again. */
	focus(): void {
		this.#handle?.focus();
	}

	/** In a terminal that is too low for the dialog and the editor, the overlay shows it and covers the editor. */
	lines(place: "widget" | "overlay", view: View, width: number): string[] {
		const { ui, kit, tui } = this.#screen;
		const { rows } = tui.terminal;
		const room = rows - SURROUNDINGS - this.#editor.rows(width);
		const fits = !view.hasKeys || room >= leastRows(view);
		if (fits !== (place === "widget")) return [];
		return panel(kit, ui.theme, view, width, fits ? room : rows);
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
