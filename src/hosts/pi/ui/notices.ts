/** Shows notifications and the line above the editor. */
import type { State } from "../../../core/state.ts";
import { safe } from "../../../core/text.ts";
import type { Supplied } from "../../../settings/supplied.ts";
import { type Context, NAME } from "../host/api.ts";
import { draw, idleWidget, type Part, plain, widget } from "./widget.ts";

export class Notices {
	readonly #log: (message: string, isError: boolean) => void;
	readonly #columns: () => number | undefined;
	readonly #said = new Set<string>();
	#shown: readonly Part[] | undefined;
	#showsEntries = false;

	/** `log` takes messages where there is no UI; `columns` is the width of the terminal. */
	constructor(log: (message: string, isError: boolean) => void, columns: () => number | undefined = () => undefined) {
		this.#log = log;
		this.#columns = columns;
	}

	/** From now on the transcript shows our entries. */
	entriesShown(): void {
		this.#showsEntries = true;
	}

	get showsEntries(): boolean {
		return this.#showsEntries;
	}

	/** The letters that fit into a line of a message. */
	get room(): number {
		return (this.#columns() ?? Infinity) - 2;
	}

	/** Only information keeps its colours, because a warning or an error may quote text from elsewhere. */
	say(message: string, type: "info" | "warning" | "error", ctx: Context): void {
		if (ctx.hasUI) ctx.ui.notify(type === "info" ? message : safe(message), type);
		else this.#log(message, type === "error");
	}

	/** Ignores an empty message. */
	warnOnce(message: string, ctx: Context): void {
		if (message !== "" && !this.#said.has(message)) this.say(message, "warning", ctx);
		this.#said.add(message);
	}

	/** The supplied value, after a warning if it was a bad one. */
	use<T>({ value, problem = "" }: Supplied<T>, ctx: Context): T {
		this.warnOnce(problem, ctx);
		return value;
	}

	/** Puts the person's texts that were not sent back into the editor. */
	giveBack(texts: readonly string[], ctx: Context): void {
		if (texts.length === 0 || !ctx.hasUI) return;
		ctx.ui.setEditorText([...texts, ctx.ui.getEditorText()].filter((text) => text !== "").join("\n\n"));
	}

	/** The counters of the run in progress; between runs none. */
	showRun(state: State, ctx: Context): void {
		if (ctx.hasUI) this.#show(state.phase.name === "idle" ? undefined : widget(state), ctx);
	}

	/** Between runs, after a change: the start values of the next prompt. */
	showIdle(state: State, ctx: Context): void {
		if (state.phase.name === "idle") this.#show(idleWidget(state), ctx);
	}

	get isShowing(): boolean {
		return this.#shown !== undefined;
	}

	#show(parts: readonly Part[] | undefined, { hasUI, mode, ui }: Context): void {
		if (!hasUI || (parts && plain(parts)) === (this.#shown && plain(this.#shown))) return;
		this.#shown = parts;
		if (parts === undefined) ui.setWidget(NAME, undefined);
		else if (mode !== "tui") ui.setWidget(NAME, [plain(parts)]);
		else ui.setWidget(NAME, (_tui, theme) => ({ render: (width) => draw(parts, theme, width), invalidate() {} }));
	}
}
