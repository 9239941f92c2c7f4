/** Keys at an open dialog, and what they do to its list. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type * as kit from "../pi-tui.ts";

export type Kit = typeof kit;

export type Tui = Parameters<Parameters<ExtensionUIContext["custom"]>[0]>[0];

export type Component = Parameters<Tui["showOverlay"]>[0];

/** The keys as the person has bound them. */
export type Keybindings = Parameters<Parameters<ExtensionUIContext["custom"]>[0]>[2];

/** The list between two keys. */
export interface List {
	/** An answer counts: the keys have been quiet for a moment. */
	readonly counts: boolean;
	/** The row that Enter takes. Text that goes into the editor clears it, so the Enter that ends the text takes none. */
	readonly row: number | undefined;
	/** Letters that may be a typed answer. The editor gets them if they turn out to be the beginning of a text. */
	readonly held: string;
}

/** A key, by what it means to the list; `pause` means that no key came for a moment. */
export type Key =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "paste" | "edit" | "up" | "down" | "enter" | "other" | "pause" };

/** The actions of the dialog after a key, in the order of these fields. */
export interface Step {
	readonly list: List;
	/** Letters that the editor gets before the key. */
	readonly spill?: string;
	/** The editor gets the key. */
	readonly pass?: true;
	/** The row that was answered. */
	readonly take?: number;
}

/** The list when it opens, or is back after another dialog: nothing counts yet. */
export const OPENED: List = { counts: false, row: 0, held: "" };

/** `answers` has what can be typed for each row, in lower case. `hasText` tells whether the editor holds text. */
export function press(list: List, key: Key, answers: readonly (readonly string[])[], hasText: boolean): Step {
	const { counts, row, held } = list;
	switch (key.type) {
		case "text": {
			const typed = held + key.text;
			const isAnswer = counts && !hasText && answers.flat().some((answer) => answer.startsWith(typed.toLowerCase()));
			return isAnswer ? { list: { counts, row: named(typed) ?? row, held: typed } } : toEditor();
		}
		case "paste":
			return toEditor();
		case "edit":
			if (held) return { list: { ...list, held: "" } };
			return hasText ? toEditor() : { list };
		case "up":
			return { list: { ...list, row: (row === undefined || row === 0 ? answers.length : row) - 1, held: "" } };
		case "down":
			return { list: { ...list, row: row === undefined ? 0 : (row + 1) % answers.length, held: "" } };
		case "enter":
			if (held) return answered();
			return counts && row !== undefined ? { list, take: row } : { list };
		case "pause":
			return held ? answered() : { list: { ...list, counts: true } };
		case "other":
			return { list };
	}

	function named(typed: string): number | undefined {
		const found = answers.findIndex((words) => words.includes(typed.toLowerCase()));
		return found < 0 ? undefined : found;
	}

	function answered(): Step {
		const take = named(held);
		const rest = { ...list, held: "" };
		return take === undefined
			? { list: { ...rest, counts: false, row: undefined }, spill: held }
			: { list: rest, take };
	}

	function toEditor(): Step {
		const next: List = { counts: false, row: undefined, held: "" };
		return held ? { list: next, spill: held, pass: true } : { list: next, pass: true };
	}
}

const EDITING = [
	"tui.editor.deleteCharBackward",
	"tui.editor.deleteCharForward",
	"tui.editor.deleteWordBackward",
	"tui.editor.deleteWordForward",
	"tui.editor.deleteToLineStart",
	"tui.editor.deleteToLineEnd",
	"tui.editor.cursorLeft",
	"tui.editor.cursorRight",
	"tui.editor.cursorWordLeft",
	"tui.editor.cursorWordRight",
	"tui.editor.cursorLineStart",
	"tui.editor.cursorLineEnd",
	"tui.editor.undo",
	"tui.input.newLine",
] as const;

/** Reads terminal input as a key of the list; undefined for a report of the terminal, which is no key. */
export function readKey(kit: Kit, keybindings: Keybindings, data: string): Key | undefined {
	const is = (...bindings: Parameters<Keybindings["matches"]>[1][]): boolean =>
		bindings.some((binding) => keybindings.matches(data, binding));
	if (data.includes("\x1b[200~")) return { type: "paste" };
	const text = readText(kit, data);
	if (text) return { type: "text", text };
	if (is("tui.select.up")) return { type: "up" };
	if (is("tui.select.down")) return { type: "down" };
	if (is("tui.select.confirm", "tui.input.submit")) return { type: "enter" };
	if (is(...EDITING)) return { type: "edit" };
	return kit.parseKey(data) === undefined ? undefined : { type: "other" };
}

/** The letter that the key types, if it types one. */
export function readText(kit: Kit, data: string): string | undefined {
	if (!/[\0-\x1f\x7f]/.test(data)) return data;
	return kit.decodeKittyPrintable(data) ?? /^shift\+(.)$/u.exec(kit.parseKey(data) ?? "")?.[1];
}

/** Something to do once no key has come for a while. */
export class Quiet {
	#timer: NodeJS.Timeout | undefined;
	#poll: NodeJS.Immediate | undefined;

	/** Starts now, and drops the action that waited before. */
	after(ms: number, act: () => void): void {
		this.cancel();
		// A busy pi runs the timer before it reads the keys that are waiting. The immediate comes after them.
		this.#timer = setTimeout(() => (this.#poll = setImmediate(act)), ms);
	}

	cancel(): void {
		clearTimeout(this.#timer);
		clearImmediate(this.#poll);
	}
}
