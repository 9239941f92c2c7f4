/** The content and the look of a dialog: lines for a width and a height. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { safe } from "../../../../core/text.ts";
import { SECONDS } from "../../../../core/unit.ts";
import type { Choice } from "../../../../loop/choices.ts";
import type { Question } from "../../../../loop/question.ts";
import { isNumeric, type List, once, type PiTui } from "./keys.ts";

/** The question as a list of choices. */
export type Dialog = Pick<
	Question,
	"title" | "lines" | "activity" | "choices" | "escape" | "escapeShort" | "expires" | "size"
>;

type Theme = Pick<ExtensionUIContext["theme"], "fg" | "bold">;

/** A dialog at one moment. */
export interface View {
	readonly dialog: Dialog;
	readonly list: List;
	/** Asks for a text in the editor, in place of the list. */
	readonly asks?: string | undefined;
	/** Text is being written, so letters go on into it. */
	readonly hasText: boolean;
	/** Another extension's overlay gets the letters. */
	readonly hasOverlay?: boolean;
	/** False while another dialog has the keys; then only the title stays. */
	readonly hasKeys: boolean;
	/** Seconds until it counts as not answered. */
	readonly left?: number | undefined;
}

/** The rows that a list needs at least: the title, every choice, and what the keys do. */
export function leastRows({ dialog }: View): number {
	return 2 + dialog.choices.length;
}

/** At most `room` lines, of at most `width` columns. Leaves out first what helps least. */
export function dialogLines(piTui: PiTui, theme: Theme, view: View, width: number, room: number): string[] {
	const { dialog, asks } = view;
	const inner = Math.max(1, width - 2);
	const line = (text: string, end = ""): string =>
		` ${piTui.truncateToWidth(text, Math.max(1, inner - end.length), "…")}${end.length < inner ? end : ""}`;
	const wrap = (text: string): string[] =>
		clean(text).flatMap((part) => piTui.wrapTextWithAnsi(part, inner).map((wrapped) => ` ${wrapped}`));
	const cut = (text: string): string => line(shorten(piTui, clean(text).join(" "), inner));
	const title = clean(dialog.title).join(" ");
	if (!view.hasKeys) return [line(theme.fg("dim", title))];

	const answers =
		asks === undefined ? dialog.choices.map((choice, row) => entry(theme, view, choice, row, line)) : [line(asks)];
	const [spent, others] = [dialog.lines.slice(0, 2), dialog.lines.slice(2)];
	const body = [...spent.map(wrap), ...dialog.activity.map((text) => [cut(text)]), ...others.map(wrap)];
	const head = line(theme.bold(theme.fg("accent", title)));
	let spare = room - 1 - answers.length;
	if (spare < 0 && asks !== undefined) return answers.slice(0, Math.max(0, room));
	if (spare < 0) return [head, ...around(answers, view.list.row ?? 0, room - 1)];
	const dim = (text: string): string => theme.fg("dim", text);
	const hint = wrap(hintOf(view, false)).map(dim);
	const shownHint = hint.length < spare ? take(hint) : take([dim(line(hintOf(view, true)))]);
	while (body.length > 1 && body.flat().length > spare) body.pop();
	const shownBody = take(body.flat().slice(0, spare));
	const border = take([theme.fg("border", "─".repeat(width))]);
	const gap = take([""]);
	return [...border, head, ...shownBody, ...gap, ...answers, ...(shownHint.length > 0 ? take([""]) : []), ...shownHint];

	function take(lines: string[]): string[] {
		if (lines.length > spare) return [];
		spare -= lines.length;
		return lines;
	}
}

const BETWEEN = " · ";

/** The fewest letters at which a part is still readable. */
const PART_LEAST = 8;

/** Cuts the longest parts of a line first, so that each of them is seen. */
function shorten(piTui: PiTui, text: string, columns: number): string {
	const parts = text.split(BETWEEN);
	const fits = (line: string): boolean => piTui.truncateToWidth(line, columns) === line;
	let shown = text;
	for (let most = columns; most >= PART_LEAST && !fits(shown); most--)
		shown = parts.map((part) => piTui.truncateToWidth(part, most, "…")).join(BETWEEN);
	return shown;
}

/** `line` cuts the first text so that the second still fits. */
function entry(
	theme: Theme,
	view: View,
	{ label, typed }: Choice,
	row: number,
	line: (text: string, end: string) => string,
): string {
	const { list, hasText, dialog } = view;
	// Behind a number a letter does not answer.
	const isTaken = !hasText && (list.held === "" || !isNumeric(list.held));
	const letter = typed?.[0] !== undefined && isTaken ? ` [${typed[0]}]` : "";
	if (!list.counts || (list.held && !isTypedAnswer(view))) return theme.fg("dim", line(`  ${label}`, letter));
	if (list.row !== row)
		return (list.held ? (text: string) => theme.fg("dim", text) : String)(line(`  ${label}`, letter));
	const sized = list.held ? dialog.size?.(list.held)?.label : undefined;
	// A typed answer shows at once, before it counts.
	const marked = theme.fg("accent", line(`${list.held ? "✓" : "→"} ${sized ?? label}`, letter));
	return list.held ? theme.bold(marked) : marked;
}

/** The typed text is a complete answer, not only the beginning of one. */
function isTypedAnswer({ dialog, list: { held } }: View): boolean {
	return dialog.size?.(held) !== undefined || dialog.choices.some(({ typed }) => typed?.includes(once(held)));
}

function hintOf(view: View, isShort: boolean): string {
	const { dialog, left } = view;
	const time = left === undefined ? "" : `${SECONDS.show(left * 1000)}.`;
	const expires = left === undefined || isShort ? "" : (dialog.expires ?? "");
	return [keysOf(view, isShort), escapeOf(view, isShort), expires, time].filter((part) => part !== "").join(" ");
}

function escapeOf({ dialog, list, asks, hasOverlay }: View, isShort: boolean): string {
	if (asks !== undefined) return isShort ? "Esc goes back." : "Escape goes back.";
	// Until then it goes to the overlay.
	if (hasOverlay && !list.counts) return "";
	return (isShort ? dialog.escapeShort : dialog.escape) ?? "";
}

function keysOf(view: View, isShort: boolean): string {
	const { dialog, list, asks, hasText, hasOverlay, left } = view;
	const { held } = list;
	if (asks !== undefined && (list.counts || !hasText))
		return `${isShort ? "" : "Write it in the editor. "}Enter sends it.`;
	const pause = isShort ? "Pause typing." : "Pause typing to answer.";
	if (!list.counts) return list.row === undefined ? pause : "One moment…";
	// An amount waits for Enter.
	if (held && dialog.size?.(held)) return `${held}: Enter${isShort ? "." : " takes it."}`;
	if (held && isTypedAnswer(view)) return isShort ? "Enter answers." : "Enter answers at once.";
	if (held) return isNumeric(held) ? `${held}: ${isShort ? "no" : "not an"} amount.` : pause;
	if (hasOverlay) return isShort ? "↑↓ Enter." : "↑↓ and Enter. Other keys go where they went before.";
	const letters = dialog.choices.flatMap(({ typed }) => typed?.[0] ?? []).join("/");
	if (hasText || letters === "") return isShort ? "↑↓ Enter." : "↑↓ and Enter. Letters go to the editor.";
	// Where the line is short, the time that is left has to stay whole.
	const amount = dialog.size === undefined || (isShort && left !== undefined) ? "" : ", number";
	return isShort ? `${letters}${amount}, ↑↓ Enter.` : `${letters}${amount && ", a number"}, or ↑↓ and Enter.`;
}

function clean(text: string): string[] {
	return text.split(/\r\n|\r|\n/).map((part) => safe(part.replaceAll("\t", " ")));
}

function around(lines: string[], row: number, room: number): string[] {
	const from = Math.min(Math.max(0, row - room + 1), Math.max(0, lines.length - room));
	return lines.slice(from, from + Math.max(0, room));
}
