/** `/turn-limit save` and `forget`: what commands have set, into the user's file and out of it. */
import { quote } from "../../../core/text.ts";
import type { Values } from "../../../settings/places.ts";
import { type Key, KEYS, settingOf } from "../../../settings/settings.ts";
import type { Context } from "../host/api.ts";
import type { Preferences } from "../settings/session-settings.ts";
import { keysNamed } from "./grammar.ts";
import type { CommandParts, UserFile } from "./parts.ts";

/** False, and said, where nobody is, or an agent could do it in the person's place. */
export function canDecide({ display, isMember }: CommandParts, done: string, ctx: Context): boolean {
	if (ctx.hasUI && !isMember()) return true;
	display.say(`Not ${done}: only a person can do that, and only in a session that no agent started.`, "error", ctx);
	return false;
}

/** The user's file, if somebody is there who may change it; else says why not. */
function fileFor(parts: CommandParts, done: string, ctx: Context): UserFile | undefined {
	if (!canDecide(parts, done, ctx)) return undefined;
	const { display, file } = parts;
	if (file === undefined)
		display.say(
			`Not ${done}: the program that runs this session has limits of its own, and no settings file.`,
			"error",
			ctx,
		);
	return file;
}

/** The values then come from the file, so the commands are forgotten. */
export async function save(parts: CommandParts, ctx: Context): Promise<void> {
	const { display, settings } = parts;
	const file = fileFor(parts, "saved", ctx);
	if (file === undefined) return;
	const values = settings.vouchedFor;
	const keys = KEYS.filter((key) => values[key] !== undefined);
	const left = KEYS.filter((key) => settings.commanded[key] !== undefined && !keys.includes(key));
	const others = left.length === 0 ? [] : [leftOut(settings.commanded, left)];
	if (keys.length === 0) return display.say(others[0] ?? nothingToSave(file), "info", ctx);
	if (!write(parts, file, values, "saved", ctx)) return;
	settings.reset(ctx, keys);
	const problems = await readAgain(parts, ctx);
	const stronger = keys.flatMap((key) => outranked(settings, key, values[key]));
	const scripts = values.grace === 0 ? ["In scripts too the model is no longer told to wrap up."] : [];
	const saved = `Saved to ${file.path}: ${listed(values, keys)}.`;
	display.say([saved, ...scripts, ...stronger, ...others].join("\n"), "info", ctx);
	display.warnOnce(problems.join("\n"), ctx);
}

/** Takes out what `save` could have written: everything, or the settings of a word. */
export async function forget(parts: CommandParts, word: string, ctx: Context): Promise<void> {
	const { display } = parts;
	const file = fileFor(parts, "forgotten", ctx);
	if (file === undefined) return;
	const values = file.read();
	const named = word === "" ? KEYS.filter((key) => settingOf(key).word !== undefined) : keysNamed(word);
	const keys = named.filter((key) => values[key] !== undefined);
	if (keys.length === 0)
		return display.say(`Nothing to forget: ${file.path} has no ${word === "" ? "limit" : word}.`, "info", ctx);
	const none = Object.fromEntries(keys.map((key) => [key, undefined]));
	if (!write(parts, file, none, "forgotten", ctx)) return;
	const problems = await readAgain(parts, ctx);
	display.say(`Taken out of ${file.path}: ${listed(values, keys)}.`, "info", ctx);
	display.warnOnce(problems.join("\n"), ctx);
}

/** False, and said, if it cannot be written. */
function write({ display }: CommandParts, file: UserFile, values: Values, done: string, ctx: Context): boolean {
	try {
		file.write(values);
		return true;
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		display.say(`Not ${done}, and nothing has changed: ${why}.`, "error", ctx);
		return false;
	}
}

/** Gives the problems. */
async function readAgain(
	{ settings, driver, limits, display }: CommandParts,
	ctx: Context,
): Promise<readonly string[]> {
	const problems = settings.load(ctx, driver.state.attended);
	await limits.apply(ctx);
	display.showIdle(driver.state, ctx);
	return problems;
}

function nothingToSave(file: UserFile): string {
	const values = file.read();
	const keys = KEYS.filter((key) => settingOf(key).word !== undefined && values[key] !== undefined);
	if (keys.length === 0) return "Nothing to save: /turn-limit has set nothing in this session.";
	return `Nothing new to save: ${file.path} has ${listed(values, keys)}.`;
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
