/** The content and the look of a dialog: lines for a width and a height. */
import type { ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type { Choice, Question } from "../../../../loop/question.ts";
import type { Kit, List } from "./keys.ts";

/** The question as a list of choices. */
export type Dialog = Pick<Question, "title" | "lines" | "choices" | "escape">;

type Theme = Pick<ExtensionUIContext["theme"], "fg" | "bold">;

/** A dialog at one moment. */
export interface View {
	readonly dialog: Dialog;
	readonly list: List;
	/** The line of input, in place of the list, and what it asks for. */
	readonly input?: { readonly asks: string; readonly render: (width: number) => string[] };
	/** The editor holds text, so letters go on into it. */
	readonly hasText: boolean;
	/** False while another dialog has the keys; then only the title stays. */
	readonly hasKeys: boolean;
}

const HINTS = {
	waiting: "Pause typing to answer.",
	typed: "or ↑↓ and Enter.",
	chosen: "↑↓ and Enter. Letters go to the editor.",
	input: "Enter sends it. Escape goes back.",
};

/** The rows that a dialog needs at least: the title, and every choice or the line of input. */
export function leastRows({ dialog, input }: View): number {
	return 1 + (input ? 2 : dialog.choices.length);
}

/** At most `room` lines, of at most `width` columns. Leaves out first what helps least. */
export function panel(kit: Kit, theme: Theme, view: View, width: number, room: number): string[] {
	const { dialog, input } = view;
	const inner = Math.max(1, width - 2);
	const line = (text: string): string => ` ${kit.truncateToWidth(text, inner, "…")}`;
	const wrap = (text: string): string[] =>
		clean(kit, text).flatMap((part) => kit.wrapTextWithAnsi(part, inner).map((wrapped) => ` ${wrapped}`));
	const title = clean(kit, dialog.title).join(" ");
	if (!view.hasKeys) return [line(theme.fg("dim", title))];

	const answers = input
		? [line(input.asks), ...input.render(inner).map((text) => ` ${text}`)]
		: dialog.choices.map((choice, row) => line(entry(theme, view, choice, row)));
	const body = dialog.lines.flatMap(wrap);
	const hint = wrap(hintOf(view)).map((text) => theme.fg("dim", text));
	const head = line(theme.bold(theme.fg("accent", title)));
	let spare = room - 1 - answers.length;
	if (spare < 0) return [head, ...around(answers, view.list.row ?? 0, room - 1)];
	const shownHint = take(hint, hint.length < spare);
	const shownBody = take(body.length <= spare ? body : [...body.slice(0, Math.max(0, spare - 1)), " …"]);
	const border = take([theme.fg("border", "─".repeat(width))]);
	const gap = take([""]);
	return [...border, head, ...shownBody, ...gap, ...answers, ...(shownHint.length > 0 ? take([""]) : []), ...shownHint];

	function take(lines: string[], wanted = true): string[] {
		if (!wanted || lines.length > spare) return [];
		spare -= lines.length;
		return lines;
	}
}

function entry(theme: Theme, { list, hasText }: View, { label, typed }: Choice, row: number): string {
	const letter = typed?.[0] !== undefined && !hasText ? ` [${typed[0]}]` : "";
	if (!list.counts) return theme.fg("dim", `  ${label}${letter}`);
	return list.row === row ? theme.fg("accent", `→ ${label}${letter}`) : `  ${label}${letter}`;
}

function hintOf({ dialog, list, input, hasText }: View): string {
	if (input) return HINTS.input;
	const letters = dialog.choices.flatMap(({ typed }) => typed?.[0] ?? []).join("/");
	const typed = letters && !hasText ? `${letters}, ${HINTS.typed}` : HINTS.chosen;
	return [list.counts ? typed : HINTS.waiting, dialog.escape ?? ""].join(" ").trim();
}

/** Text from outside must not move the cursor, change colours or reverse the reading direction. */
function clean(kit: Kit, text: string): string[] {
	const lines = kit.stripTerminalSequences(text).split(/\r\n|\r|\n/);
	return lines.map((part) => part.replace(/\t/g, " ").replace(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, ""));
}

function around(lines: string[], row: number, room: number): string[] {
	const from = Math.min(Math.max(0, row - room + 1), Math.max(0, lines.length - room));
	return lines.slice(from, from + Math.max(0, room));
}
