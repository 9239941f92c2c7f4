/** Pi's editor while a dialog is open: it gets the keys that are not for the dialog. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Component, type Kit, readText, type Tui } from "./keys.ts";

export class Editor {
	readonly #ui: Pick<ExtensionUIContext, "getEditorText" | "pasteToEditor">;
	readonly #kit: Kit;
	readonly #tui: Tui & { getFocusedComponent?: () => Component | null };
	#component: Component | undefined;

	constructor(ui: Pick<ExtensionUIContext, "getEditorText" | "pasteToEditor">, kit: Kit, tui: Tui) {
		this.#ui = ui;
		this.#kit = kit;
		this.#tui = tui;
	}

	/** The editor, if it has the keys at this moment. A dialog may be an editor too, so the first one found is the one. */
	find(): Component | undefined {
		const focus = this.#tui.getFocusedComponent?.();
		if (this.#component) return focus === this.#component ? focus : undefined;
		if (focus && "getText" in focus && "setText" in focus) this.#component = focus;
		return this.#component;
	}

	get hasText(): boolean {
		return this.#ui.getEditorText() !== "";
	}

	/** The rows that it takes. */
	rows(width: number): number {
		return this.#component?.render(width).length ?? 3;
	}

	/** Gets the key as if it had the keys. `pasteToEditor` is second best: it puts a blank before a dot or a slash. */
	type(data: string): void {
		if (this.#component?.handleInput) return this.#component.handleInput(data);
		this.#ui.pasteToEditor(readText(this.#kit, data) ?? data.replace(/\x1b\[20[01]~/g, ""));
	}
}
