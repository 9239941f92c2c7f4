/**
 * A list of choices in the terminal that nobody answers by accident. An overlay has the keys, because focus comes back
 * to it after another extension's dialog; a widget above the editor shows the list, so the editor stays in sight.
 */
import { Editor } from "./editor.ts";
import {
	type Component,
	type Key,
	type Keybindings,
	type Kit,
	type List,
	OPENED,
	Quiet,
	press,
	readKey,
} from "./keys.ts";
import { loadKit } from "../load-pi-tui.ts";
import type { Choice, ChoiceId } from "../../../../loop/question.ts";
import type { Dialog, View } from "./view.ts";
import { type DialogUI, type Handle, type Screen, Stage } from "./screen.ts";

export type { Dialog, DialogUI };

/** The end of a dialog. */
export type Result =
	| { readonly kind: "picked"; readonly id: ChoiceId; readonly text?: string }
	/** Escape or Ctrl+C. */
	| { readonly kind: "dismissed" }
	/** The signal aborted. */
	| { readonly kind: "withdrawn" };

export interface Options {
	readonly signal?: AbortSignal | undefined;
	/** Rings the terminal's bell once, when the dialog opens. Default: true. */
	readonly ring?: boolean;
}

/** The line of input of a choice that asks for text. */
interface Entry {
	readonly choice: Choice;
	readonly input: InstanceType<Kit["Input"]>;
}

type End = Result | Error;

/** Milliseconds without a key until answers count, and until a typed answer is taken. */
const QUIET = 800;
const TYPED = 500;

/** Shows the dialog until it is answered. Rejects where the host cannot show it. */
export async function choose(ui: DialogUI, dialog: Dialog, options: Options = {}): Promise<Result> {
	const kit = await loadKit();
	if (options.signal?.aborted) return { kind: "withdrawn" };
	let open: OpenDialog | undefined;
	const end = await ui.custom<End | undefined>(
		(tui, _theme, keybindings, settle) => {
			// For a copy of the kit; pi's own has them already.
			kit.setKeybindings(keybindings);
			kit.setKittyProtocolActive(tui.terminal.kittyProtocolActive);
			return (open = new OpenDialog({ ui, kit, tui, keybindings, settle }, dialog, options));
		},
		{ overlay: true, overlayOptions: { anchor: "top-left", width: "100%" }, onHandle: (handle) => open?.shown(handle) },
	);
	// Without a terminal pi answers at once, with nothing.
	if (end === undefined) throw new Error("pi cannot show a dialog here.");
	if (end instanceof Error) throw end;
	return end;
}

/** The overlay, which gets the keys. If it fails, the dialog fails, and pi goes on. */
class OpenDialog implements Component {
	readonly #screen: Screen<End>;
	readonly #dialog: Dialog;
	readonly #options: Options;
	readonly #editor: Editor;
	readonly #stage: Stage<End>;
	readonly #quiet = new Quiet();
	readonly #answers: readonly (readonly string[])[];
	readonly #withdraw = (): void => this.#leave({ kind: "withdrawn" });
	#list: List = OPENED;
	#entry: Entry | undefined;
	/** Gets the keys in the end, in place of a dialog that has closed meanwhile. */
	#heir: Component | undefined;
	#hasKeys = false;
	#isClosed = false;

	constructor(screen: Screen<End>, dialog: Dialog, options: Options) {
		this.#screen = screen;
		this.#dialog = dialog;
		this.#options = options;
		this.#answers = dialog.choices.map(({ typed = [] }) => typed);
		this.#editor = new Editor(screen.ui, screen.kit, screen.tui);
		this.#editor.find();
		this.#stage = new Stage(screen, this.#editor, (width) => this.#draw("widget", width));
		options.signal?.addEventListener("abort", this.#withdraw, { once: true });
	}

	/** pi has given it the keys. */
	shown(handle: Handle): void {
		this.#stage.open(handle, this.#dialog.title, this.#options.ring !== false);
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
		this.#guard(() => (has ? this.#wait() : this.#yield()));
	}

	handleInput(data: string): void {
		this.#guard(() => {
			if (this.#is(data, "tui.input.copy")) this.#leave({ kind: "dismissed" });
			else if (this.#entry) this.#type(data, this.#entry);
			else if (this.#is(data, "tui.select.cancel")) this.#close({ kind: "dismissed" });
			else this.#press(readKey(this.#screen.kit, this.#screen.keybindings, data), data);
		});
	}

	#press(key: Key | undefined, data = ""): void {
		if (!key) return;
		const { list, spill = "", pass, take } = press(this.#list, key, this.#answers, this.#editor.hasText);
		this.#list = list;
		for (const letter of spill) this.#editor.type(letter);
		if (pass) this.#editor.type(data);
		this.#wait();
		const choice = take === undefined ? undefined : this.#dialog.choices[take];
		if (choice) this.#take(choice);
		this.#screen.tui.requestRender();
	}

	#take(choice: Choice): void {
		if (choice.asks === undefined) return this.#close({ kind: "picked", id: choice.id });
		const input = new this.#screen.kit.Input();
		input.focused = true;
		this.#entry = { choice, input };
	}

	/** A key for the line of input. */
	#type(data: string, { choice, input }: Entry): void {
		const text = input.getValue().trim();
		if (this.#is(data, "tui.select.cancel")) this.#entry = undefined;
		// pi's line drops the line breaks of a paste, and with them the blanks between words.
		else if (!this.#is(data, "tui.input.submit")) input.handleInput(data.replace(/[\r\n]+/g, " "));
		else if (text) this.#close({ kind: "picked", id: choice.id, text });
	}

	#is(data: string, binding: Parameters<Keybindings["matches"]>[1]): boolean {
		return this.#screen.keybindings.matches(data, binding);
	}

	#wait(): void {
		const { counts, held } = this.#list;
		if (counts && !held) this.#quiet.cancel();
		else this.#quiet.after(held ? TYPED : QUIET, () => this.#guard(() => this.#press({ type: "pause" })));
	}

	/** Another dialog, or the editor, has the keys. */
	#yield(): void {
		this.#quiet.cancel();
		for (const letter of this.#list.held) this.#editor.type(letter);
		this.#list = { ...OPENED, row: this.#list.row };
		queueMicrotask(() => this.#guard(() => this.#reclaim()));
	}

	/** pi gives the keys to the editor when a dialog closes that was open before this one. */
	#reclaim(): void {
		const editor = this.#editor.find();
		if (this.#hasKeys || this.#isClosed || !editor) return;
		this.#heir = editor;
		this.#stage.focus();
	}

	#draw(place: "widget" | "overlay", width: number): string[] {
		if (this.#isClosed) return [];
		return this.#guard(() => this.#stage.lines(place, this.#view(), width)) ?? [];
	}

	#view(): View {
		const view = { dialog: this.#dialog, list: this.#list, hasText: this.#editor.hasText, hasKeys: this.#hasKeys };
		if (!this.#entry) return view;
		const { choice, input } = this.#entry;
		return { ...view, input: { asks: choice.asks ?? "", render: (width) => input.render(width) } };
	}

	#guard<T>(act: () => T): T | undefined {
		try {
			return act();
		} catch (error) {
			this.#close(error instanceof Error ? error : new Error(String(error)));
			return undefined;
		}
	}

	/** Closes, and gives what was typed in the line to the editor. */
	#leave(end: End): void {
		this.#guard(() => {
			for (const letter of this.#entry?.input.getValue() ?? "") this.#editor.type(letter);
		});
		this.#close(end);
	}

	#close(end: End): void {
		if (this.#isClosed) return;
		this.#isClosed = true;
		this.#quiet.cancel();
		this.#options.signal?.removeEventListener("abort", this.#withdraw);
		this.#stage.close(end, this.#hasKeys ? this.#heir : undefined);
	}
}
