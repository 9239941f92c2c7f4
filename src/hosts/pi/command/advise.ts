/** `/turn-limit advise`: suggests limits from the person's own sessions. */
import type * as historyModule from "../../../history/index.ts";
import { bound } from "../../../core/limit.ts";
import { kindOf, METER_IDS } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import { type Context, DISPOSED, NAME, orDisposed } from "../host/api.ts";
import { loadKit } from "../ui/load-pi-tui.ts";
import type { Display } from "../ui/notices.ts";
import type { CommandParts } from "./parts.ts";

const COLOURS: Readonly<Record<historyModule.Role, Parameters<Context["ui"]["theme"]["fg"]>[0]>> = {
	heading: "accent",
	bar: "muted",
	beyond: "warning",
	present: "accent",
	suggested: "success",
	muted: "dim",
};

/** Milliseconds between two looks whether the session is still there: a new one or a reload ends it. */
const LOOK_MS = 250;

type History = typeof historyModule;

type Options = historyModule.AdviseOptions;

/**
 * Loaded by the first advice, because a start does not need it. Imported once, because pi's loader gives undefined to a
 * second import that comes while the first is under way.
 */
let loading: Promise<History> | undefined;

/** Answers with figures and suggestions; a mistake is named. Escape stops it. */
export async function advise(parts: CommandParts, args: string, ctx: Context): Promise<void> {
	const { display, driver } = parts;
	const history = await (loading ??= import("../../../history/index.ts"));
	const given = history.parseArguments(args);
	if ("problem" in given) return display.say(given.problem, "error", ctx);
	if (ctx.mode === "json")
		return display.say("advise: not in json mode, where standard output belongs to pi.", "error", ctx);
	const stopping = new AbortController();
	const stopWatching = await watchFor(driver, ctx, () => stopping.abort());
	try {
		const { json, ...where } = given;
		const advice = await history.advise({
			...where,
			presentDir: ctx.sessionManager.getSessionDir(),
			cwd: ctx.cwd,
			limits: limitsOf(driver.state),
			signal: stopping.signal,
			onProgress: progressIn(ctx),
		});
		// Nobody is asked in a script.
		const isAll = ctx.hasUI && !given.project && given.days === undefined && given.sessionDir === undefined;
		if (isAll) await parts.odds.keep(advice.odds, advice.sample.directory, ctx.cwd);
		const text = json ? JSON.stringify(advice) : draw(history, advice, display, ctx);
		if (ctx.hasUI) display.say(text, "info", ctx);
		else parts.print?.(`${text}\n`);
	} catch (error) {
		if (orDisposed(ctx) === DISPOSED) return;
		if (stopping.signal.aborted) display.say("advise: stopped.", "info", ctx);
		else display.say(`advise: ${error instanceof Error ? error.message : String(error)}`, "error", ctx);
	} finally {
		stopWatching();
		if (orDisposed(ctx) !== DISPOSED && ctx.hasUI) ctx.ui.setStatus(NAME, undefined);
	}
}

/** Colours and the width of the window in the terminal; plain text of 80 columns elsewhere. */
function draw(history: History, advice: historyModule.Advice, display: Display, { mode, ui }: Context): string {
	if (mode !== "tui") return history.render(advice, { width: 80 });
	return history.render(advice, { width: display.room, paint: (role, text) => ui.theme.fg(COLOURS[role], text) });
}

function limitsOf(state: State): NonNullable<Options["limits"]> {
	return Object.fromEntries(
		METER_IDS.flatMap((id) => {
			const max = bound(state.meters[id]);
			return max === "unlimited" ? [] : [[id, kindOf(id).unit.write(max)]];
		}),
	);
}

/**
 * Calls `stop` when Escape is pressed and when the session is left; gives a function that ends the watching. At an open
 * question Escape is the answer.
 */
async function watchFor(driver: CommandParts["driver"], ctx: Context, stop: () => void): Promise<() => void> {
	const kit = ctx.mode === "tui" ? await loadKit() : undefined;
	const leaving = setInterval(() => orDisposed(ctx) === DISPOSED && stop(), LOOK_MS);
	const unsubscribe =
		kit &&
		ctx.ui.onTerminalInput((data) => {
			if (kit.parseKey(data) !== "escape" || driver.state.phase.name === "asking") return undefined;
			stop();
			return { consume: true };
		});
	return () => {
		clearInterval(leaving);
		unsubscribe?.();
	};
}

/** Shows every whole percent, because a client over rpc gets each as a message. */
function progressIn(ctx: Context): NonNullable<Options["onProgress"]> {
	let shown: number | undefined;
	const how = ctx.mode === "tui" ? " Escape stops it." : "";
	return ({ files, of }) => {
		const percent = Math.floor((100 * files) / of);
		if (percent === shown || !ctx.hasUI) return;
		shown = percent;
		ctx.ui.setStatus(NAME, `Reading sessions: ${files} of ${of}.${how}`);
	};
}
