/**
 * A list of choices in the terminal that nobody answers by accident. An overlay has the keys, because focus comes back
 * to it after another extension's dialog; a widget above the editor shows the list, so the editor stays in sight.
 */
import { Editor } from "./editor.ts";
import {
	type Component,
	type ListKey,
	type Keybindings,
	type List,
	isNumeric,
	OPENED,
	Quiet,
	press,
	readKey,
	type TypedAnswers,
} from "./keys.ts";
import { loadPiTui } from "../load-pi-tui.ts";
import type { Choice, ChoiceId } from "../../../../loop/choices.ts";
import type { Dialog, View } from "./view.ts";
import { type DialogUI, type Handle, OVERLAY, type DialogParts, Screen } from "./screen.ts";

export type { Dialog, DialogUI };

/** The end of a dialog. */
export type Result =
	| { readonly kind: "picked"; readonly id: ChoiceId; readonly text?: string; readonly grant?: number }
	/** Escape or Ctrl+C. */
	| { readonly kind: "dismissed" }
	/** The signal aborted. */
	| { readonly kind: "withdrawn" };

export interface DialogOptions {
	readonly signal?: AbortSignal | undefined;
	/** Rings the terminal's bell once, when the dialog opens. Default: true. */
	readonly ring?: boolean;
	/** Withdraws it when nobody has pressed a key for so long and no other dialog was open. */
	readonly seconds?: number | undefined;
}

type End = Result | Error;

/** Milliseconds without a key until answers count, and until a typed answer is taken. */
const QUIET = 800;
const TYPED = 500;

/** The keys that write a text. */
const WRITES: ReadonlySet<ListKey["type"]> = new Set(["text", "paste", "edit", "back", "up", "down", "enter"]);

/** Takes the completion that pi's editor offers. */
const TAB = "\t";

/** Shows the dialog until it is answered. Rejects where the host cannot show it. */
export async function choose(ui: DialogUI, dialog: Dialog, options: DialogOptions = {}): Promise<Result> {
	const piTui = await loadPiTui();
	if (options.signal?.aborted) return { kind: "withdrawn" };
	let open: OpenDialog | undefined;
	const end = await ui.custom<End | undefined>(
		(tui, _theme, keybindings, settle) => {
			// For a copy of the library; pi's own has them already.
			piTui.setKeybindings(keybindings);
			piTui.setKittyProtocolActive(tui.terminal.kittyProtocolActive);
			return (open = new OpenDialog({ ui, piTui, tui, keybindings, settle }, dialog, options));
		},
		{ overlay: true, overlayOptions: OVERLAY, onHandle: (handle) => open?.shown(handle) },
	);
	// Without a terminal pi answers at once, with nothing.
	if (end === undefined) throw new Error("pi cannot show a dialog here.");
	if (end instanceof Error) throw end;
	return end;
}

/** The overlay, which gets the keys. If it fails, the dialog fails, and pi goes on. */
class OpenDialog implements Component {
	readonly #parts: DialogParts<End>;
	readonly #dialog: Dialog;
	readonly #options: DialogOptions;
	readonly #editor: Editor;
	readonly #screen: Screen<End>;
	readonly #quiet = new Quiet();
	readonly #typed: TypedAnswers;
	readonly #withdraw = (): void => this.#close({ kind: "withdrawn" });
	#list: List = OPENED;
	/** The choice for which a text is being written in the editor. */
	#entry: Choice | undefined;
	#left: number | undefined;
	#ticking: NodeJS.Timeout | undefined;
	/** Gets the keys in the end, in place of a dialog that has closed meanwhile. */
	#nextFocus: Component | undefined;
	#hasKeys = false;
	#isClosed = false;

	constructor(parts: DialogParts<End>, dialog: Dialog, options: DialogOptions) {
		this.#parts = parts;
		this.#options = options;
		this.#editor = new Editor(parts.ui, parts.piTui, parts.tui);
		const choices = dialog.choices.filter(({ asks }) => asks === undefined || this.#editor.isThere);
		this.#dialog = { ...dialog, choices };
		const words = choices.map(({ typed = [] }) => typed);
		this.#typed = { words, isAmount: (text) => dialog.size?.(text) !== undefined };
		this.#list = this.#opened;
		this.#screen = new Screen(parts, this.#editor, (width) => this.#draw("widget", width));
		options.signal?.addEventListener("abort", this.#withdraw, { once: true });
	}

	/** pi has given it the keys. */
	shown(handle: Handle): void {
		this.#screen.open(handle, this.#dialog.title, this.#options.ring !== false);
		if (this.#options.seconds !== undefined) this.#ticking = setInterval(() => this.#guard(() => this.#tick()), 1000);
	}

	/** Nothing counts yet. Nothing is marked for somebody who was writing elsewhere. */
	get #opened(): List {
		return this.#editor.overlay ? { ...OPENED, row: undefined } : OPENED;
	}

	invalidate(): void {}

	render(width: number): string[] {
		return this.#draw("overlay", width);
	}

	/** pi sets this when another dialog takes the keys, and when they are back. */
	get focused(): boolean {
		return this.#hasKeys;
	}

	set focused(has: boolean) {
		if (has === this.#hasKeys || this.#isClosed) return;
		this.#hasKeys = has;
		this.#left = this.#options.seconds;
		this.#guard(() => (has ? this.#resume() : this.#yield()));
	}

	handleInput(data: string): void {
		this.#guard(() => {
			this.#left = this.#options.seconds;
			if (!this.#editor.overlay && this.#screen.scroll(data)) return this.#wait();
			const key = readKey(this.#parts.piTui, this.#parts.keybindings, data);
			const isNo = this.#is(data, "tui.input.copy") || this.#is(data, "tui.select.cancel");
			if (this.#editor.overlay && !this.#isAnswer(key, isNo)) this.#passOn(data);
			else if (this.#entry) this.#write(key, data, this.#entry);
			else if (isNo) this.#close({ kind: "dismissed" });
			else this.#press(key, data);
		});
	}

	/** Somebody who works in another overlay goes on there until the keys have been quiet for a moment; Escape may be meant for it. */
	#isAnswer(key: ListKey | undefined, isNo: boolean): boolean {
		const { counts, row } = this.#list;
		return (
			counts && (isNo || key?.type === "up" || key?.type === "down" || (key?.type === "enter" && row !== undefined))
		);
	}

	#passOn(data: string): void {
		this.#editor.type(data);
		this.#list = this.#opened;
		this.#wait();
	}

	#press(key: ListKey | undefined, data = ""): void {
		if (!key) return;
		const { list, spill = "", pass, take, amount = "" } = press(this.#list, key, this.#typed, this.#editor.hasText);
		this.#list = list;
		for (const letter of spill) this.#editor.type(letter);
		if (pass) this.#editor.type(data);
		const choice = take === undefined ? undefined : this.#dialog.choices[take];
		if (choice?.asks !== undefined) this.#ask(choice);
		else if (choice) return this.#close({ kind: "picked", id: choice.id, ...this.#bought(amount) });
		this.#wait();
		this.#parts.tui.requestRender();
	}

	#bought(amount: string): { readonly grant?: number } {
		const sized = this.#dialog.size?.(amount);
		return sized ? { grant: sized.grant } : {};
	}

	/** The Enter that has picked the choice may be held down: it must not send a draft. */
	#ask(choice: Choice): void {
		this.#entry = choice;
		this.#list = { ...this.#list, counts: false };
	}

	/** A key for the text, which is written in the editor and stays there if it is not sent. */
	#write(key: ListKey | undefined, data: string, { id }: Choice): void {
		if (this.#is(data, "tui.input.copy")) return this.#close({ kind: "dismissed" });
		const isEscape = this.#is(data, "tui.select.cancel");
		const isEnter = key?.type === "enter" && !this.#is(data, "tui.input.newLine") && !this.#editor.continuesLine;
		if (isEnter && !this.#list.counts) return this.#wait();
		if (key) this.#list = { ...this.#list, counts: true };
		if (this.#editor.isCompleting && (isEnter || isEscape || data === TAB)) this.#editor.type(isEnter ? TAB : data);
		else if (isEscape) this.#entry = undefined;
		else if (!isEnter) this.#passToText(key, data);
		else if (this.#editor.text.trim() !== "") this.#close({ kind: "picked", id, text: this.#editor.take().trim() });
	}

	#passToText(key: ListKey | undefined, data: string): void {
		// Where there is nothing to delete, Ctrl+D leaves pi.
		if (key && WRITES.has(key.type) && (key.type !== "edit" || this.#editor.hasText)) this.#editor.type(data);
	}

	/** A second has passed. It does not count while another dialog is open. */
	#tick(): void {
		if (!this.#hasKeys) return;
		this.#left = (this.#left ?? 0) - 1;
		if (this.#left <= 0) this.#withdraw();
		else this.#parts.tui.requestRender();
	}

	#is(data: string, binding: Parameters<Keybindings["matches"]>[1]): boolean {
		return this.#parts.keybindings.matches(data, binding);
	}

	/** Until the next pause. */
	#wait(): void {
		const { counts, held } = this.#list;
		if (counts && isNumeric(held)) this.#quiet.cancel();
		else this.#quiet.after(held ? TYPED : QUIET, () => this.#guard(() => this.#press({ type: "pause" })));
	}

	/** It has the keys again, which pi also gives it when a second dialog takes the place of the one that covered it. */
	#resume(): void {
		this.#wait();
		queueMicrotask(() =>
			this.#guard(() => {
				const dialog = this.#hasKeys && !this.#isClosed ? this.#editor.dialogInPlace : undefined;
				if (dialog) this.#parts.tui.setFocus(dialog);
			}),
		);
	}

	/** Another dialog, or the editor, has the keys. */
	#yield(): void {
		this.#quiet.cancel();
		for (const letter of this.#list.held) this.#editor.type(letter);
		this.#list = { ...this.#opened, row: this.#list.row };
		queueMicrotask(() => this.#guard(() => this.#reclaim()));
	}

	/** pi gives the keys to the editor when a dialog closes that was open before this one. */
	#reclaim(): void {
		if (!this.#isClosed) this.#screen.restore(this);
		const editor = this.#editor.find();
		if (this.#hasKeys || this.#isClosed || !editor) return;
		this.#nextFocus = editor;
		this.#screen.focus();
	}

	#draw(place: "widget" | "overlay", width: number): string[] {
		if (this.#isClosed) return [];
		return this.#guard(() => this.#screen.lines(place, this.#view(), width)) ?? [];
	}

	#view(): View {
		return {
			dialog: this.#dialog,
			list: this.#list,
			asks: this.#entry?.asks,
			hasText: this.#editor.hasText,
			hasOverlay: this.#editor.overlay !== undefined,
			hasKeys: this.#hasKeys,
			left: this.#left,
		};
	}

	#guard<T>(act: () => T): T | undefined {
		try {
			return act();
		} catch (error) {
			this.#close(error instanceof Error ? error : new Error(String(error)));
			return undefined;
		}
	}

	#close(end: End): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#quiet.cancel();
		clearInterval(this.#ticking);
		this.#options.signal?.removeEventListener("abort", this.#withdraw);
		this.#screen.close(end, this.#hasKeys ? this.#nextFocus : undefined);
	}
}
