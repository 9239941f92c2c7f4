/** `/turn-limit save`: writes what commands have set in this session into the user's file. */
import { quote } from "../../../core/text.ts";
import type { Values } from "../../../settings/places.ts";
import { type Key, KEYS, settingOf } from "../../../settings/settings.ts";
import type { Context } from "../host/api.ts";
import type { CommandParts } from "./parts.ts";
import type { Preferences } from "../settings/session-settings.ts";

const NOTHING = "Nothing to save: /turn-limit has set nothing in this session.";
const NO_PERSON = "Not saved: only a person can save, and only in a session that no agent started.";
const NO_FILE = "Not saved: the program that runs this session has limits of its own, and no settings file.";

/** The values then come from the file, so the commands are forgotten. */
export async function save(parts: CommandParts, ctx: Context): Promise<void> {
	const { display, driver, limits, settings } = parts;
	if (!ctx.hasUI || parts.isMember()) return display.say(NO_PERSON, "error", ctx);
	if (parts.save === undefined) return display.say(NO_FILE, "error", ctx);
	const values = settings.vouchedFor;
	const keys = KEYS.filter((key) => values[key] !== undefined);
	const left = KEYS.filter((key) => settings.commanded[key] !== undefined && !keys.includes(key));
	if (keys.length === 0)
		return display.say(left.length === 0 ? NOTHING : leftOut(settings.commanded, left), "info", ctx);
	let path: string;
	try {
		path = parts.save(values);
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		return display.say(`Not saved, and nothing has changed: ${why}.`, "error", ctx);
	}
	const others = left.length === 0 ? [] : [leftOut(settings.commanded, left)];
	settings.reset(ctx, keys);
	const problems = settings.load(ctx, driver.state.attended);
	await limits.apply(ctx);
	const stronger = keys.flatMap((key) => outranked(settings, key, values[key]));
	display.say([`Saved to ${path}: ${listed(values, keys)}.`, ...stronger, ...others].join("\n"), "info", ctx);
	display.warnOnce(problems.join("\n"), ctx);
	display.showIdle(driver.state, ctx);
}

function listed(values: Values, keys: readonly Key[]): string {
	return keys.map((key) => `${key}: ${quote(values[key])}`).join(", ");
}

/** Anybody who can write the session's file could have set them. */
function leftOut(values: Values, keys: readonly Key[]): string {
	return `Not saved, because it was set before pi started: ${listed(values, keys)}. Set it again to save it.`;
}

/** A stronger place that sets something else in this session. */
function outranked(settings: Preferences, key: Key, saved: unknown): readonly string[] {
	const { value, source } = settings.current[key];
	const { read, show, title } = settingOf(key);
	return show(value) === show(read(saved) ?? value)
		? []
		: [`Here ${source} is stronger: ${title.toLowerCase()} ${show(value)}.`];
}
