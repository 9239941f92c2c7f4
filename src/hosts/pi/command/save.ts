/** `/turn-limit save` and `forget`: what commands have set, into the user's file and out of it. */
import { quote } from "../../../core/text.ts";
import type { Values } from "../../../settings/places.ts";
import { type Key, KEYS, settingOf } from "../../../settings/settings.ts";
import type { Context } from "../host/api.ts";
import type { SessionSettings } from "../settings/session-settings.ts";
import { keysNamed } from "./grammar.ts";
import type { CommandParts, UserFile } from "./parts.ts";

/** False, with a message, if nobody is there, or if an agent could act in the person's place. */
export function canDecide({ notices, role }: CommandParts, done: string, ctx: Context): boolean {
	if (ctx.hasUI && !role.isMember) return true;
	notices.say(`Not ${done}: only a person can do that, and only in a session that no agent started.`, "error", ctx);
	return false;
}

/** The user's file, if somebody is there who may change it; else says why not. */
function fileFor(parts: CommandParts, done: string, ctx: Context): UserFile | undefined {
	if (!canDecide(parts, done, ctx)) return undefined;
	const { notices, file } = parts;
	if (file === undefined)
		notices.say(
			`Not ${done}: the program that runs this session has limits of its own, and no settings file.`,
			"error",
			ctx,
		);
	return file;
}

/** The values come from the file from then on, so the commands are forgotten. */
export async function save(parts: CommandParts, ctx: Context): Promise<void> {
	const { notices, settings } = parts;
	const file = fileFor(parts, "saved", ctx);
	if (file === undefined) return;
	const values = settings.vouchedFor;
	const keys = KEYS.filter((key) => values[key] !== undefined);
	const left = KEYS.filter((key) => settings.commanded[key] !== undefined && !keys.includes(key));
	const others = left.length === 0 ? [] : [leftOut(settings.commanded, left)];
	if (keys.length === 0) {
		const saved = orExplain(parts, "saved", () => file.read(), ctx);
		if (saved !== undefined) notices.say(others[0] ?? nothingToSave(file, saved), "info", ctx);
		return;
	}
	if (!writeTo(parts, file, values, "saved", ctx)) return;
	settings.reset(ctx, keys);
	const problems = await readAgain(parts, ctx);
	const stronger = keys.flatMap((key) => outranked(settings, key, values[key]));
	const scripts = values.grace === 0 ? ["In scripts too the model is no longer told to wrap up."] : [];
	const saved = `Saved to ${file.path}: ${listed(values, keys)}.`;
	notices.say([saved, ...scripts, ...stronger, ...others].join("\n"), "info", ctx);
	notices.warnOnce(problems.join("\n"), ctx);
}

/** Takes out what `save` could have written: everything, or the settings of a word. */
export async function forget(parts: CommandParts, word: string, ctx: Context): Promise<void> {
	const { notices } = parts;
	const file = fileFor(parts, "forgotten", ctx);
	if (file === undefined) return;
	const values = orExplain(parts, "forgotten", () => file.read(), ctx);
	if (values === undefined) return;
	const named = word === "" ? KEYS.filter((key) => settingOf(key).word !== undefined) : keysNamed(word);
	const keys = named.filter((key) => values[key] !== undefined);
	if (keys.length === 0)
		return notices.say(`Nothing to forget: ${file.path} has no ${word === "" ? "limit" : word}.`, "info", ctx);
	const none = Object.fromEntries(keys.map((key) => [key, undefined]));
	if (!writeTo(parts, file, none, "forgotten", ctx)) return;
	const problems = await readAgain(parts, ctx);
	notices.say(`Removed from ${file.path}: ${listed(values, keys)}.`, "info", ctx);
	notices.warnOnce(problems.join("\n"), ctx);
}

/** False, with a message, if the file cannot be written. */
function writeTo(parts: CommandParts, file: UserFile, values: Values, done: string, ctx: Context): boolean {
	const write = (): true => {
		file.write(values);
		return true;
	};
	return orExplain(parts, done, write, ctx) ?? false;
}

/** Undefined, with a message, if the file cannot be used. */
function orExplain<T>({ notices }: CommandParts, done: string, use: () => T, ctx: Context): T | undefined {
	try {
		return use();
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		notices.say(`Not ${done}, and nothing has changed: ${why}.`, "error", ctx);
		return undefined;
	}
}

/** Gives the problems. */
async function readAgain(
	{ settings, driver, limits, notices }: CommandParts,
	ctx: Context,
): Promise<readonly string[]> {
	const problems = settings.load(ctx, driver.state.attended);
	await limits.apply(ctx);
	notices.showIdle(driver.state, ctx);
	return problems;
}

function nothingToSave(file: UserFile, values: Values): string {
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
function outranked(settings: SessionSettings, key: Key, saved: unknown): readonly string[] {
	const { value, source } = settings.current[key];
	const { read, show, title } = settingOf(key);
	return show(value) === show(read(saved) ?? value)
		? []
		: [`In this session ${source} takes precedence: ${title.toLowerCase()} ${show(value)}.`];
}
