/** `/turn-limit advise`: which limit fits, from the person's own sessions. */
import type { AdviseOptions, Role } from "../history/index.ts";
import { bound } from "../core/limit.ts";
import { kindOf, METER_IDS } from "../core/meters.ts";
import { type Context, NAME } from "./host.ts";
import type { Session } from "./session.ts";

const COLOURS: Readonly<Record<Role, Parameters<Context["ui"]["theme"]["fg"]>[0]>> = {
	heading: "accent",
	bar: "muted",
	beyond: "warning",
	present: "accent",
	suggested: "success",
	muted: "dim",
};

const ESCAPE = "\x1b";

/** Reads, never writes; imported only here, because nobody else needs it at the start. */
export async function advise(session: Session, args: string, ctx: Context): Promise<void> {
	const { display, options } = session;
	const history = await import("../history/index.ts");
	const given = history.parseArguments(args);
	if ("problem" in given) return display.say(given.problem, "error", ctx);
	if (ctx.mode === "json") return display.say("advise: standard output is pi's own in json mode.", "error", ctx);
	const stopping = new AbortController();
	const { json, ...where } = given;
	try {
		const stop = watchEscape(ctx, stopping);
		const advice = await history
			.advise({
				...where,
				cwd: ctx.cwd,
				limits: limitsOf(session),
				signal: stopping.signal,
				onProgress: showProgress(ctx),
			})
			.finally(stop);
		if (json || !ctx.hasUI) {
			const text = json ? JSON.stringify(advice) : history.render(advice, { width: 80 });
			return ctx.hasUI ? display.say(text, "info", ctx) : options.print?.(`${text}\n`);
		}
		const isTerminal = ctx.mode === "tui";
		const width = isTerminal ? (process.stdout.columns || 80) - 2 : 80;
		const paint = isTerminal ? { paint: (role: Role, text: string) => ctx.ui.theme.fg(COLOURS[role], text) } : {};
		display.say(history.render(advice, { width, ...paint }), "info", ctx);
	} catch (error) {
		if (stopping.signal.aborted) display.say("advise: stopped.", "info", ctx);
		else display.say(`advise: ${error instanceof Error ? error.message : String(error)}`, "error", ctx);
	}
}

function limitsOf({ state }: Session): NonNullable<AdviseOptions["limits"]> {
	return Object.fromEntries(
		METER_IDS.flatMap((id) => {
			const max = bound(state.meters[id]);
			return max === "unlimited" ? [] : [[id, kindOf(id).unit.write(max)]];
		}),
	);
}

function watchEscape({ ui, mode }: Context, stopping: AbortController): () => void {
	if (mode !== "tui") return () => {};
	return ui.onTerminalInput((data) => {
		if (data !== ESCAPE) return undefined;
		stopping.abort();
		return { consume: true };
	});
}

function showProgress({ ui, hasUI }: Context): NonNullable<AdviseOptions["onProgress"]> {
	return ({ files, of }) => {
		if (hasUI) ui.setStatus(NAME, files === of ? undefined : `Reading sessions: ${files} of ${of}. Escape stops it.`);
	};
}
