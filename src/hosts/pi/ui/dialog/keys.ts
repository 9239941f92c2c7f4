/** Keys at an open dialog, and what they do to its list. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type * as piTui from "../pi-tui.ts";

export type PiTui = typeof piTui;

export type Tui = Parameters<Parameters<ExtensionUIContext["custom"]>[0]>[0];

export type Component = Parameters<Tui["showOverlay"]>[0];

/** The keys as the person has bound them. */
export type Keybindings = Parameters<Parameters<ExtensionUIContext["custom"]>[0]>[2];

/** The list between two keys. */
export interface List {
	/** An answer counts: the keys have been quiet for a moment. */
	readonly counts: boolean;
	/** The row that Enter takes. Text that goes elsewhere clears it, so the Enter that ends the text takes none. */
	readonly row: number | undefined;
	/** Letters that may be a typed answer. They go on to where text goes if they turn out to be the beginning of one. */
	readonly held: string;
}

/** A key, by what it means to the list; `pause` means that no key came for a moment. */
export type ListKey =
	| { readonly type: "text"; readonly text: string }
	| { readonly type: "paste" | "edit" | "back" | "up" | "down" | "enter" | "other" | "pause" };

/** The actions of the dialog after a key, in the order of these fields. */
export interface KeyEffect {
	readonly list: List;
	/** Letters that are text after all, before the key. */
	readonly spill?: string;
	/** The key is not for the list. */
	readonly pass?: true;
	/** The row that was answered. */
	readonly take?: number;
	/** The amount that was typed for it. */
	readonly amount?: string;
}

/** The answers that can be typed at a list. */
export interface TypedAnswers {
	/** The words for each row, in lower case. */
	readonly words: readonly (readonly string[])[];
	/** True for an amount, which is an answer of the first row. */
	readonly isAmount: (text: string) => boolean;
}

/** The list when it opens, or is back after another dialog: nothing counts yet. */
export const OPENED: List = { counts: false, row: 0, held: "" };

/** The beginning of an amount in any unit: `50`, `+50`, `$2.5`, `1h3`. */
const AMOUNT = /^\+?\$?(\d[\d.kmhs]*)?$/i;

/** `hasText` tells whether text is being written, to which letters belong. */
export function press(list: List, key: ListKey, { words, isAmount }: TypedAnswers, hasText: boolean): KeyEffect {
	const { counts, row, held } = list;
	switch (key.type) {
		case "text":
			return counts && !hasText && isBeginning(held + key.text) ? { list: hold(held + key.text) } : pass();
		case "paste":
			return pass();
		case "back":
			return held ? { list: hold(held.slice(0, -1)) } : edit();
		case "edit":
			return held ? { list: { ...list, held: "" } } : edit();
		case "up":
			return { list: { ...list, row: (row === undefined || row === 0 ? words.length : row) - 1, held: "" } };
		case "down":
			return { list: { ...list, row: row === undefined ? 0 : (row + 1) % words.length, held: "" } };
		case "enter":
			if (held) return isNumeric(held) && !isAmount(held) ? { list } : answered();
			return counts && row !== undefined ? { list, take: row } : { list };
		case "pause":
			// An amount needs Enter, because its beginning is an amount too.
			if (held) return isNumeric(held) ? { list } : answered();
			return { list: { ...list, counts: true, row: row ?? (hasText ? undefined : 0) } };
		case "other":
			return { list };
	}

	function isBeginning(typed: string): boolean {
		const word = once(typed);
		if (words.flat().some((answer) => answer.startsWith(word))) return true;
		return isNumeric(typed) && [typed, `${typed}1`, `${typed}1s`].some(isAmount);
	}

	function hold(typed: string): List {
		return { counts, row: rowOf(typed) ?? row, held: typed };
	}

	function rowOf(typed: string): number | undefined {
		if (isAmount(typed)) return 0;
		const found = words.findIndex((answers) => answers.includes(once(typed)));
		return found < 0 ? undefined : found;
	}

	function answered(): KeyEffect {
		const take = rowOf(held);
		const rest = { ...list, held: "" };
		if (take === undefined) return { list: { ...rest, counts: false, row: undefined }, spill: held };
		return isAmount(held) ? { list: rest, take, amount: held } : { list: rest, take };
	}

	function edit(): KeyEffect {
		return hasText ? pass() : { list };
	}

	function pass(): KeyEffect {
		const next: List = { counts: false, row: undefined, held: "" };
		return held ? { list: next, spill: held, pass: true } : { list: next, pass: true };
	}
}

/** Nothing, an amount, or the beginning of one: these wait for Enter. */
export function isNumeric(held: string): boolean {
	return AMOUNT.test(held);
}

/** In lower case; a letter typed several times, or held down, counts once. */
export function once(typed: string): string {
	const word = typed.toLowerCase();
	return word.replace(/^(.)\1+$/u, "$1");
}

const EDITING = [
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
export function readKey(piTui: PiTui, keybindings: Keybindings, data: string): ListKey | undefined {
	const is = (...bindings: Parameters<Keybindings["matches"]>[1][]): boolean =>
		bindings.some((binding) => keybindings.matches(data, binding));
	if (data.includes("\x1b[200~")) return { type: "paste" };
	const text = readKeyText(piTui, data);
	if (text) return { type: "text", text };
	if (is("tui.select.up")) return { type: "up" };
	if (is("tui.select.down")) return { type: "down" };
	if (is("tui.select.confirm", "tui.input.submit")) return { type: "enter" };
	if (is("tui.editor.deleteCharBackward")) return { type: "back" };
	if (is(...EDITING)) return { type: "edit" };
	return piTui.parseKey(data) === undefined ? undefined : { type: "other" };
}

/** The letter that the key types, if it types one. */
export function readKeyText(piTui: PiTui, data: string): string | undefined {
	if (!/[\0-\x1f\x7f]/.test(data)) return data;
	return piTui.decodeKittyPrintable(data) ?? /^shift\+(.)$/u.exec(piTui.parseKey(data) ?? "")?.[1];
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
