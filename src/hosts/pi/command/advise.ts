/** `/turn-limit advise`: suggests limits from the person's own sessions. */
import type * as historyModule from "../../../history/index.ts";
import { bound } from "../../../core/limit.ts";
import { kindOf, type Max, METER_IDS, type RunMeterId } from "../../../core/meters.ts";
import type { State } from "../../../core/state.ts";
import { clip } from "../../../core/text.ts";
import { COMMAND, type Context, DISPOSED, NAME, orDisposed } from "../host/api.ts";
import { loadPiTui } from "../ui/load-pi-tui.ts";
import type { Notices } from "../ui/notices.ts";
import { KEY_OF, type LimitKey, settingOf } from "../../../settings/settings.ts";
import type { CommandParts } from "./parts.ts";
import { canDecide } from "./save.ts";

const COLOURS: Readonly<Record<historyModule.ChartRole, Parameters<Context["ui"]["theme"]["fg"]>[0]>> = {
	heading: "accent",
	bar: "muted",
	beyond: "warning",
	present: "accent",
	suggested: "success",
	muted: "dim",
};

/** Milliseconds between two checks that the session is still there: a new one or a reload ends it. */
const LOOK_MS = 250;

type History = typeof historyModule;

type Options = historyModule.AdviseOptions;

type Suggestion = historyModule.Advice["suggestion"];

/** A limit to set, and what it is now. */
interface Change {
	readonly key: LimitKey;
	readonly title: string;
	readonly max: number;
	readonly now: Max;
}

/**
 * Loaded by the first advice, because a start does not need it. Imported once, because pi's loader gives undefined to a
 * second import that comes while the first is under way.
 */
let loading: Promise<History> | undefined;

/** Answers with figures and suggestions, and sets these if that is wanted; a mistake is named. Escape stops it. */
export async function executeAdvise(parts: CommandParts, args: string, ctx: Context): Promise<void> {
	const { notices } = parts;
	const history = await (loading ??= import("../../../history/index.ts"));
	const given = history.parseArguments(args);
	if ("problem" in given) return notices.say(given.problem, "error", ctx);
	if (given.apply && !canDecide(parts, "applied", ctx)) return;
	if (ctx.mode === "json")
		return notices.say("advise: not in json mode, where standard output belongs to pi.", "error", ctx);
	const changes = await read(parts, history, given, ctx);
	if (changes?.length) await apply(parts, changes, ctx);
}

/** Reads the sessions, shows the figures, and gives what is to be set, if that is wanted. */
async function read(
	parts: CommandParts,
	history: History,
	given: historyModule.Arguments,
	ctx: Context,
): Promise<readonly Change[] | undefined> {
	const { notices, driver } = parts;
	const stopping = new AbortController();
	const stopWatching = await watchFor(driver, ctx, () => stopping.abort());
	try {
		const { json, project, days, sessionDir } = given;
		const advice = await history.advise({
			...given,
			presentDir: ctx.sessionManager.getSessionDir(),
			cwd: ctx.cwd,
			limits: presentLimits(driver.state),
			signal: stopping.signal,
			onProgress: progressIn(ctx),
		});
		// Nobody is asked in a script.
		const isAll = ctx.hasUI && !project && days === undefined && sessionDir === undefined;
		if (isAll) await parts.odds.keep(advice.odds, advice.sample.directory, ctx.cwd);
		const changes = given.apply ? changesFor(advice.suggestion, driver.state) : undefined;
		// In the same message, because pi shows only the last of two.
		const nothing = changes?.length === 0 ? `\n\n${nothingToApply(advice.suggestion)}` : "";
		const text = json ? JSON.stringify(advice) : adviceText(history, advice, notices, ctx) + nothing;
		if (ctx.hasUI) notices.say(text, "info", ctx);
		else parts.print?.(`${text}\n`);
		return changes;
	} catch (error) {
		if (orDisposed(ctx) === DISPOSED) return undefined;
		if (stopping.signal.aborted) notices.say("advise: stopped.", "info", ctx);
		else notices.say(`advise: ${clip(error instanceof Error ? error.message : String(error), 300)}`, "error", ctx);
		return undefined;
	} finally {
		stopWatching();
		if (orDisposed(ctx) !== DISPOSED && ctx.hasUI) ctx.ui.setStatus(NAME, undefined);
	}
}

/** The limits that are not yet as suggested. */
function changesFor(suggestion: Suggestion, { meters }: State): readonly Change[] {
	return (Object.entries(suggestion ?? {}) as [RunMeterId, number | null][]).flatMap(([id, suggested]) => {
		const { unit, title } = kindOf(id);
		const max = unit.read(suggested);
		const now = meters[id].limit.max;
		return max === undefined || max === now ? [] : [{ key: KEY_OF[id], title, max, now }];
	});
}

function nothingToApply(suggestion: Suggestion): string {
	return `Nothing to apply: ${suggestion === null ? "there is no suggestion" : "these limits are in force"}.`;
}

/** Sets the limits for this session if the person agrees. */
async function apply(
	{ driver, settings, limits, notices }: CommandParts,
	changes: readonly Change[],
	ctx: Context,
): Promise<void> {
	const shown = (max: Max, { key }: Change): string => settingOf(key).show(max);
	const lines = changes.map((change) => `${change.title}: ${shown(change.now, change)} → ${shown(change.max, change)}`);
	const leaving = new AbortController();
	const stopWatching = watchLeaving(ctx, () => leaving.abort());
	const isAgreed: unknown = await ctx.ui
		.confirm("Set these limits for this session?", lines.join("\n"), { signal: leaving.signal })
		.finally(stopWatching);
	if (orDisposed(ctx) === DISPOSED) return;
	// A client over rpc can answer anything.
	if (isAgreed !== true) return notices.say("Nothing has changed.", "info", ctx);
	for (const { key, max } of changes) settings.set(key, max, ctx);
	await limits.apply(ctx);
	const set = changes.map((change) => `${change.title} set to ${shown(change.max, change)}.`);
	notices.say([...set, `${COMMAND} save keeps that for every session.`].join("\n"), "info", ctx);
	notices.showIdle(driver.state, ctx);
}

/** Colours and the width of the window in the terminal; plain text of 80 columns elsewhere. */
function adviceText(history: History, advice: historyModule.Advice, notices: Notices, { mode, ui }: Context): string {
	if (mode !== "tui") return history.render(advice, { width: 80 });
	return history.render(advice, { width: notices.room, paint: (role, text) => ui.theme.fg(COLOURS[role], text) });
}

function presentLimits(state: State): NonNullable<Options["limits"]> {
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
	const piTui = ctx.mode === "tui" ? await loadPiTui() : undefined;
	const stopWatching = watchLeaving(ctx, stop);
	const unsubscribe =
		piTui &&
		ctx.ui.onTerminalInput((data) => {
			if (piTui.parseKey(data) !== "escape" || driver.state.phase.name === "asking") return undefined;
			stop();
			return { consume: true };
		});
	return () => {
		stopWatching();
		unsubscribe?.();
	};
}

/** Calls `stop` when the session is left. */
function watchLeaving(ctx: Context, stop: () => void): () => void {
	const leaving = setInterval(() => orDisposed(ctx) === DISPOSED && stop(), LOOK_MS);
	return () => clearInterval(leaving);
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
