/** Reads the places where settings stand: flags, environment, files, the session's own entries. */
import { readFileSync, statSync } from "node:fs";
import { fromText } from "../core/limit.ts";
import { badFile, damagedEntries, NOT_A_FILE, notAnObject, tooLarge, unknownKey } from "../core/wording.ts";
import { type Key, KEYS, type Place, SETTINGS } from "./settings.ts";

/** A settings file is a handful of lines; anything much larger is not one. */
const MAX_BYTES = 64 * 1024;

type Values = { readonly [K in Key]?: unknown };

/** A place, and what was wrong with it as a whole. */
export interface Found {
	readonly place: Place;
	readonly problems: readonly string[];
}

export function fromFlags(flag: (name: string) => unknown): Place {
	const values = pick((key) => {
		const name = SETTINGS[key].flag;
		const value = name === undefined ? undefined : flag(name);
		return typeof value === "string" ? fromText(value.trim()) : undefined;
	});
	return { values, name: (key) => `--${SETTINGS[key].flag}` };
}

/** An empty variable counts as unset. */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Place {
	const values = pick((key) => {
		const text = env[SETTINGS[key].env ?? ""]?.trim() ?? "";
		return text === "" ? undefined : fromText(text);
	});
	return { values, name: (key) => SETTINGS[key].env ?? "environment" };
}

/** What is not there is no problem; what cannot be read is one, and changes nothing. */
export function fromFile(path: string, shownAs: string): Found {
	const name = (key: Key) => `${key} in ${shownAs}`;
	try {
		const stats = statSync(path, { throwIfNoEntry: false });
		if (stats === undefined) return { place: { values: {}, name }, problems: [] };
		if (!stats.isFile()) throw new Error(NOT_A_FILE);
		if (stats.size > MAX_BYTES) throw new Error(tooLarge(stats.size, MAX_BYTES));
		const content: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
		if (typeof content !== "object" || content === null || Array.isArray(content)) {
			throw new Error(notAnObject(content));
		}
		const known = pick((key) => (Object.hasOwn(content, key) ? (content as Values)[key] : undefined));
		const unknown = Object.keys(content).filter((key) => key !== "$schema" && !Object.hasOwn(SETTINGS, key));
		const problems = unknown.map((key) => unknownKey(shownAs, key, KEYS));
		return { place: { values: known, name }, problems };
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		return { place: { values: {}, name }, problems: [badFile(shownAs, why)] };
	}
}

/** What the session's command has set, as it is stored in the session: versioned, read by one total function. */
export const MEMORY = "turn-limit";
const VERSION = 1;

export function remember(values: Values): { version: number; values: Values } {
	return { version: VERSION, values };
}

/** The newest valid memory on the branch; what we cannot understand is left alone and told. */
export function fromMemory(entries: readonly unknown[]): Found {
	const place = (values: Values): Place => ({ values, name: () => "/turn-limit" });
	const read = entries.map(readMemory);
	const damaged = read.filter((values) => values === undefined).length;
	const newest = read.findLast((values) => values !== undefined) ?? {};
	return { place: place(newest), problems: damaged === 0 ? [] : [damagedEntries(damaged)] };
}

function readMemory(data: unknown): Values | undefined {
	if (typeof data !== "object" || data === null) return undefined;
	const { version, values } = data as { version?: unknown; values?: unknown };
	if (version !== VERSION || typeof values !== "object" || values === null) return undefined;
	const known = pick((key) => (values as Values)[key]);
	return KEYS.every((key) => known[key] === undefined || SETTINGS[key].is(known[key])) ? known : undefined;
}

function pick(value: (key: Key) => unknown): Values {
	return Object.fromEntries(KEYS.flatMap((key) => (value(key) === undefined ? [] : [[key, value(key)]])));
}
