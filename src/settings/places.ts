/** Reads the places where settings stand: flags, environment, files, the session's own entries. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { fromText } from "../core/limit.ts";
import { badFile, damagedEntries, NOT_A_FILE, notAnObject, tooLarge, unknownKeys } from "../core/wording.ts";
import { type Key, KEYS, type Place, SETTINGS } from "./settings.ts";

/** A settings file is a handful of lines; anything much larger is not one. */
const MAX_BYTES = 64 * 1024;

/** Of what the session remembers. */
const VERSION = 1;

type Values = Place["values"];

/** A place, and what was wrong with it as a whole. */
export interface Found {
	readonly place: Place;
	readonly problems: readonly string[];
}

/** `flag` gives what stands behind a flag; only text is a value. */
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
		const name = SETTINGS[key].env;
		const text = name === undefined ? undefined : env[name]?.trim();
		return text ? fromText(text) : undefined;
	});
	return { values, name: (key) => String(SETTINGS[key].env) };
}

/** What is not there is no problem; what cannot be read, or means nothing, is one and changes nothing. */
export function fromFile(path: string, shownAs: string): Found {
	const found = (values: Values, problems: string[]): Found => ({
		place: { values, name: (key) => `${key} in ${shownAs}` },
		problems,
	});
	try {
		const content = readObject(path);
		const unknown = Object.keys(content).filter((key) => key !== "$schema" && !Object.hasOwn(SETTINGS, key));
		return found(
			pick((key) => content[key]),
			unknown.length === 0 ? [] : [unknownKeys(shownAs, unknown, KEYS)],
		);
	} catch (error) {
		return found({}, [badFile(shownAs, error instanceof Error ? error.message : String(error))]);
	}
}

/** The object that a JSON file holds, an empty one if there is no file. Throws whatever else it finds there. */
function readObject(path: string): Readonly<Record<string, unknown>> {
	const quiet = { throwIfNoEntry: false } as const;
	// A link to nowhere is something that stands there.
	if (!statSync(dirname(path), quiet)?.isDirectory() || lstatSync(path, quiet) === undefined) return {};
	const stats = statSync(path);
	if (!stats.isFile()) throw new Error(NOT_A_FILE);
	if (stats.size > MAX_BYTES) throw new Error(tooLarge(stats.size, MAX_BYTES));
	const content: unknown = JSON.parse(readFileSync(path, "utf8").replace(/^\uFEFF/, ""));
	if (!isObject(content)) throw new Error(notAnObject(content));
	return content;
}

/** What the session's command has set, as it is stored in the session: versioned, read by one total function. */
export function remember(values: Values): { version: number; values: Values } {
	return { version: VERSION, values };
}

/** The newest valid memory on the branch, whose entries come oldest first; what we cannot understand is told. */
export function fromMemory(entries: readonly unknown[]): Found {
	const read = entries.map(readMemory);
	const damaged = read.filter((values) => values === undefined).length;
	const values = read.findLast((values) => values !== undefined) ?? {};
	return { place: { values, name: () => "/turn-limit" }, problems: damaged === 0 ? [] : [damagedEntries(damaged)] };
}

function readMemory(data: unknown): Values | undefined {
	if (!isObject(data) || data["version"] !== VERSION || !isObject(data["values"])) return undefined;
	const { values } = data as { values: Readonly<Record<string, unknown>> };
	const known = pick((key) => values[key]);
	return KEYS.every((key) => known[key] === undefined || SETTINGS[key].is(known[key])) ? known : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every setting that has a value. */
function pick(value: (key: Key) => unknown): Values {
	const all: [Key, unknown][] = KEYS.map((key) => [key, value(key)]);
	return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}
