/** What has the keys behind a dialog, pi's editor or another extension's overlay: it gets those that are not for the dialog. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { type Component, type PiTui, readKeyText, type Tui } from "./keys.ts";

export type EditorUI = Pick<ExtensionUIContext, "getEditorText" | "setEditorText" | "pasteToEditor">;

/** Pi's screen; what is not in its types may not be there. */
type LooseTui = Tui & {
	getFocusedComponent?: () => Component | null;
	isOverlayFocused?: () => boolean;
	overlayStack?: readonly { readonly component: Component; readonly preFocus?: Component | null }[];
};

/** A component that may have others below it. */
interface Parent {
	readonly children?: readonly Component[];
}

/** The overlays of pi's screen, the topmost last; undefined where pi does not tell. */
export function overlaysOf(tui: Tui): readonly Component[] | undefined {
	return (tui as LooseTui).overlayStack?.map(({ component }) => component);
}

/** Pi's editor; another extension's may lack some of it. */
type LooseEditor = Component & {
	isShowingAutocomplete?: () => boolean;
	getLines?: () => readonly string[];
	getCursor?: () => { readonly line: number; readonly col: number };
};

export class Editor {
	readonly #ui: EditorUI;
	readonly #piTui: PiTui;
	readonly #tui: LooseTui;
	#component: LooseEditor | undefined;
	/** Holds what stands in the editor's place. */
	#place: Parent | undefined;
	/** Other extensions' overlays: the one that had the keys, then those that had them before it. */
	readonly #overlays: readonly Component[];

	constructor(ui: EditorUI, piTui: PiTui, tui: Tui) {
		this.#ui = ui;
		this.#piTui = piTui;
		this.#tui = tui;
		this.#overlays = this.#tui.isOverlayFocused?.() ? overlaysUnder(this.#focus, this.#tui) : [];
		this.find();
	}

	get #focus(): Component | null | undefined {
		return this.#tui.getFocusedComponent?.();
	}

	/** The editor, if it has the keys at this moment. A dialog may be an editor too, so the first one found is the one. */
	find(): Component | undefined {
		const focus = this.#focus;
		if (this.#component) return focus === this.#component ? focus : undefined;
		if (!focus || this.#overlays.length > 0 || !isEditor(focus)) return undefined;
		this.#place = parentOf(focus, this.#tui);
		return (this.#component = focus);
	}

	/** Another dialog that stands in the editor's place, where it would have the keys. */
	get dialogInPlace(): Component | undefined {
		const { children = [] } = this.#place ?? {};
		return children.some((child) => child === this.#component)
			? undefined
			: children.find((child) => child.handleInput && !isEditor(child));
	}

	/** The editor is on the screen, so text can be written into it. */
	get isThere(): boolean {
		return this.#component !== undefined;
	}

	/** Another extension's overlay that would have the keys: it had them, and is still open. */
	get overlay(): Component | undefined {
		const open = overlaysOf(this.#tui);
		return this.#overlays.find((overlay) => open?.includes(overlay) !== false);
	}

	/** True if typed letters go into a text. We cannot see whether an overlay has a text field, so we assume that it does. */
	get hasText(): boolean {
		return this.overlay !== undefined || this.text !== "";
	}

	/** It offers completions. */
	get isCompleting(): boolean {
		return this.#component?.isShowingAutocomplete?.() === true;
	}

	/** A backslash is before the cursor, so Enter starts a new line: for terminals that have no other key for it. */
	get continuesLine(): boolean {
		const { line, col } = this.#component?.getCursor?.() ?? { line: 0, col: 0 };
		return this.#component?.getLines?.()[line]?.[col - 1] === "\\";
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

	/** Gets the key as if it had the focus. `pasteToEditor` is second best: it puts a blank before a dot or a slash. */
	type(data: string): void {
		const component = this.overlay ?? this.#component;
		if (component?.handleInput) return component.handleInput(data);
		this.#ui.pasteToEditor(readKeyText(this.#piTui, data) ?? data.replace(/\x1b\[20[01]~/g, ""));
	}
}

function isEditor(component: Component): boolean {
	return "getText" in component && "setText" in component;
}

function parentOf(component: Component, parent: Parent): Parent | undefined {
	const { children = [] } = parent;
	if (children.includes(component)) return parent;
	for (const child of children) {
		const found = parentOf(component, child as Parent);
		if (found) return found;
	}
	return undefined;
}

/** The overlay, and those that get the keys one after the other as it and they close. */
function overlaysUnder(overlay: Component | null | undefined, { overlayStack = [] }: LooseTui): readonly Component[] {
	const under: Component[] = overlay ? [overlay] : [];
	for (const below of under) {
		const next = overlayStack.find(({ component }) => component === below)?.preFocus;
		if (overlayStack.some(({ component }) => component === next) && next && !under.includes(next)) under.push(next);
	}
	return under;
}
