/** `/turn-limit`: executes what was typed. */
import { beginsWithRun, bound, isLimited, isOfRound } from "../../../core/limit.ts";
import { amount, within } from "../../../core/amount.ts";
import { isShared, kindOf, type MeterId } from "../../../core/meters.ts";
import { type Key, KEYS, meterOf, settingOf, type Settings } from "../../../settings/settings.ts";
import { executeAdvise } from "./advise.ts";
import { COMMAND, type Context } from "../host/api.ts";
import { recalledOutcome } from "../outcome/record.ts";
import { lastRunText } from "../outcome/sentences.ts";
import { periodText } from "./period-text.ts";
import { forget, save } from "./save.ts";
import type { Agents } from "../../../loop/sharing/membership.ts";
import type { Shared } from "../../../loop/sharing/reservation.ts";
import type { CommandParts } from "./parts.ts";
import type { State } from "../../../core/state.ts";
import { nextRun, nextRunMeter } from "../ui/widget.ts";
import { picture, type StatusRole, status } from "./status.ts";
import { help, increaseOf, mistakeIn, parseCommand } from "./grammar.ts";

/** Nothing is shared, or it cannot be read. */
const NOTHING: Shared = { agents: undefined, ends: [] };

/** Follows a limit that was taken away: nothing else stops the questions for good. */
const NEVER_ASKS = "; it never asks again in this session";

const OUR_COMMAND = new RegExp(`^${COMMAND}(?=\\s|$)`);

const COLOURS: Readonly<Record<StatusRole, Parameters<Context["ui"]["theme"]["fg"]>[0]>> = {
	normal: "accent",
	warning: "warning",
	error: "error",
	text: "text",
	muted: "dim",
};

export const DESCRIPTION = "Show or set the limits of a run";

/** Executes the text after `/turn-limit`, also several such lines that were pasted as one. Reports a mistake and changes nothing. */
export async function execute(parts: CommandParts, args: string, ctx: Context): Promise<void> {
	const [first = "", ...more] = args.trim().split(/\s*\n\s*/);
	if (!more.every((line) => OUR_COMMAND.test(line)))
		return parts.notices.say(`${COMMAND} takes one line. Nothing has changed.`, "error", ctx);
	for (const line of [first, ...more.map((line) => line.replace(OUR_COMMAND, ""))]) await executeLine(parts, line, ctx);
}

async function executeLine(parts: CommandParts, args: string, ctx: Context): Promise<void> {
	const typed = parseCommand(args);
	const mistake = mistakeIn(typed);
	if (mistake !== undefined) return parts.notices.say(mistake, "error", ctx);
	const { alone, word, key, text } = typed;
	switch (alone) {
		case "wrap-up":
			return await askForWrapUp(parts, ctx);
		case "save":
			return await save(parts, ctx);
		case "forget":
			return await forget(parts, text, ctx);
		case "default":
			return await reset(parts, ctx);
		case "advise":
			return await executeAdvise(parts, text, ctx);
		case "help":
			return parts.notices.say(help(parts.notices.room), "info", ctx);
		case undefined:
			break;
	}
	if (text !== "") return await change(parts, key, text, ctx);
	const shared = await parts.limits.readShared(ctx, true);
	if (parts.notices.isShowing) parts.notices.showIdle(parts.driver.state, ctx);
	if (word === "") {
		const stands = await parts.odds.inStatus(parts.driver.state, parts.driver.tally);
		return parts.notices.say(overview(parts, shared ?? NOTHING, stands, ctx), "info", ctx);
	}
	const ofScope = KEYS.filter((key) => key.startsWith(`${word}.`));
	show(parts, ofScope.length > 0 ? ofScope : [key], ctx);
}

function show(parts: CommandParts, keys: readonly Key[], ctx: Context): void {
	const { settings, notices } = parts;
	notices.say(status(asInWidget(parts), settings.current, notices.room, keys), "info", ctx);
}

/** Between runs the last run's counts, unless the widget shows the start of the next: two counts would contradict each other. */
function asInWidget({ driver: { state }, notices }: CommandParts): State {
	return notices.isShowing ? nextRun(state) : state;
}

/** Meters, settings, where the run stands, and the end of the last one. */
function overview(parts: CommandParts, { agents, ends }: Shared, stands: readonly string[], ctx: Context): string {
	const last = parts.reports.lastOutcome ?? recalledOutcome(ctx);
	const lines = [...meters(parts, ctx), ...ends.map((end) => periodText(parts.driver.state.meters, end))];
	return [...lines, ...(agents ? [agentsText(agents)] : []), ...stands, ...(last ? [lastRunText(last)] : [])].join(
		"\n",
	);
}

/** The shared meters only where they are limited. A picture in the terminal; elsewhere the table, which a program can read. */
function meters(parts: CommandParts, { mode, ui }: Context): readonly string[] {
	const { settings, notices } = parts;
	const state = asInWidget(parts);
	const isShown = (id: MeterId | undefined): boolean =>
		id === undefined || !isShared(id) || isLimited(state.meters[id]);
	const keys = KEYS.filter((key) => isShown(meterOf(key)));
	if (mode !== "tui") return [status(state, settings.current, notices.room, keys)];
	return picture(state, settings.current, notices.room, keys, (role, text) => ui.theme.fg(COLOURS[role], text));
}

function agentsText({ alive, ended }: Agents): string {
	return `Agents of this tree, with this one: ${alive} running, ${ended} ended.`;
}

async function askForWrapUp(parts: CommandParts, ctx: Context): Promise<void> {
	await parts.driver.step({ type: "wrap_up_requested" }, ctx);
	parts.notices.say(wrapUpText(parts), "info", ctx);
}

async function reset(parts: CommandParts, ctx: Context): Promise<void> {
	const { notices, settings } = parts;
	const keys = KEYS.filter((key) => settings.commanded[key] !== undefined);
	if (keys.length === 0) return notices.say(`${COMMAND} has set nothing in this session.`, "info", ctx);
	settings.reset(ctx);
	await parts.limits.apply(ctx);
	notices.showIdle(parts.driver.state, ctx);
	const rows = status(asInWidget(parts), settings.current, notices.room, keys);
	notices.say(`Back to your flags, environment and files.\n${rows}`, "info", ctx);
}

async function change(parts: CommandParts, key: Key, text: string, ctx: Context): Promise<void> {
	const { parse, show, title, ...setting } = settingOf(key);
	const id = meterOf(key);
	const by = id && increaseOf(id, text);
	if (id && by) return await raiseMeter(parts, id, by, ctx);
	// It was read before.
	const value = setting.read(parse(text)) as Settings[Key];
	parts.settings.set(key, value, ctx);
	await parts.limits.apply(ctx);
	const more = value === "unlimited" ? NEVER_ASKS : id ? grantsText(parts, id) : "";
	parts.notices.say(`${title} set to ${show(value)}${more}.`, "info", ctx);
	parts.notices.showIdle(parts.driver.state, ctx);
}

/** A grant to a day stays on top of a limit that is set later. */
function grantsText({ driver: { state } }: CommandParts, id: MeterId): string {
	const { limit, extra } = nextRunMeter(state, id);
	if (limit.max === "unlimited" || extra <= 0) return "";
	return `; with what was granted it is ${kindOf(id).unit.show(limit.max + extra)} ${within(id)}`;
}

async function raiseMeter(parts: CommandParts, id: MeterId, by: number, ctx: Context): Promise<void> {
	if (isShared(id) && parts.role.isMember)
		return parts.notices.say("Only the root of a tree of agents can raise what they share.", "error", ctx);
	if (bound(parts.driver.state.meters[id]) === "unlimited") {
		return parts.notices.say(`${kindOf(id).title} is unlimited; there is nothing to raise.`, "error", ctx);
	}
	// Since we last looked a period may have ended, or another session may have granted more.
	if (isShared(id)) await parts.limits.readShared(ctx);
	await parts.driver.step({ type: "limit_raised", meter: id, by }, ctx);
	const max = bound(nextRunMeter(parts.driver.state, id));
	const isIdle = parts.driver.state.phase.name === "idle";
	const ofNext = isOfRound(id) ? "in the next run's first round" : "in the next run's tree of agents";
	const ofThis = isOfRound(id) ? "in this round" : within(id);
	const where = isIdle && beginsWithRun(id) ? ofNext : ofThis;
	parts.notices.say(`${amount(id, by)} more: ${kindOf(id).unit.show(Number(max))} ${where}.`, "info", ctx);
	parts.notices.showIdle(parts.driver.state, ctx);
}

function wrapUpText({
	driver: {
		state: { phase },
	},
}: CommandParts): string {
	if (phase.name === "idle") return "Nothing is running.";
	if (phase.name === "finishing" || phase.name === "stopped") return "The run is ending already.";
	return "The model will be told to wrap up with its next request.";
}
