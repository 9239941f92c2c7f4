/** What has the keys behind a dialog, pi's editor or another extension's overlay: it gets those that are not for the dialog. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Component, type PiTui, readKeyText, type Tui } from "./keys.ts";

export type EditorUI = Pick<ExtensionUIContext, "getEditorText" | "setEditorText" | "pasteToEditor">;

/** Pi's screen; what is not in its types may not be there. */
type LooseTui = Tui & {
	getFocusedComponent?: () => Component | null;
	isOverlayFocused?: () => boolean;
	overlayStack?: readonly { readonly component: Component }[];
};

/** The overlays of pi's screen, the topmost last; undefined where pi does not tell. */
export function overlaysOf(tui: Tui): readonly Component[] | undefined {
	return (tui as LooseTui).overlayStack?.map(({ component }) => component);
}

export class Editor {
	readonly #ui: EditorUI;
	readonly #piTui: PiTui;
	readonly #tui: LooseTui;
	#component: Component | undefined;
	/** Another extension's overlay that had the keys. */
	readonly #overlay: Component | undefined;

	constructor(ui: EditorUI, piTui: PiTui, tui: Tui) {
		this.#ui = ui;
		this.#piTui = piTui;
		this.#tui = tui;
		if (this.#tui.isOverlayFocused?.()) this.#overlay = this.#focus ?? undefined;
		this.find();
	}

	get #focus(): Component | null | undefined {
		return this.#tui.getFocusedComponent?.();
	}

	/** The editor, if it has the keys at this moment. A dialog may be an editor too, so the first one found is the one. */
	find(): Component | undefined {
		const focus = this.#focus;
		if (this.#component) return focus === this.#component ? focus : undefined;
		if (focus && this.#overlay === undefined && "getText" in focus && "setText" in focus) this.#component = focus;
		return this.#component;
	}

	/** It stands on the screen, where text can be written into it. */
	get isThere(): boolean {
		return this.#component !== undefined;
	}

	/** Another extension's overlay had the keys, and is still open. */
	get overlay(): Component | undefined {
		if (this.#overlay === undefined) return undefined;
		return overlaysOf(this.#tui)?.includes(this.#overlay) === false ? undefined : this.#overlay;
	}

	/** True if letters belong to a text. We cannot know whether an overlay holds one, so it counts as such. */
	get hasText(): boolean {
		return this.overlay !== undefined || this.text !== "";
	}

	get text(): string {
		return this.#ui.getEditorText();
	}

	/** Gives the text, and leaves none. */
	take(): string {
		const { text } = this;
		this.#ui.setEditorText("");
		return text;
	}

	/** The rows that it takes. */
	rows(width: number): number {
		return this.#component?.render(width).length ?? 3;
	}

	/** Gets the key as if it had the keys. `pasteToEditor` is second best: it puts a blank before a dot or a slash. */
	type(data: string): void {
		const component = this.overlay ?? this.#component;
		if (component?.handleInput) return component.handleInput(data);
		this.#ui.pasteToEditor(readKeyText(this.#piTui, data) ?? data.replace(/\x1b\[20[01]~/g, ""));
	}
}
