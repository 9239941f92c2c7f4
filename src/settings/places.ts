/** Reads settings from flags, environment, files and the session's own entries. */
import { lstatSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { clip, quote } from "../core/text.ts";
import type { Place } from "./resolve.ts";
import { type Key, KEYS, SETTINGS } from "./settings.ts";

/** The key of a fleet's budget in a file. */
export const BUDGET = "budget";

/** A settings file is a handful of lines; anything much larger is not one. */
const MAX_BYTES = 64 * 1024;

/** The version of the session's memory. */
const VERSION = 1;

/** A fleet's budget is an object of its own, read as a whole (budget.ts). */
const READ: readonly Key[] = KEYS.filter((key) => !key.startsWith(`${BUDGET}.`));

/** Objects in a file that hold settings. */
const SCOPES = new Set(READ.filter((key) => key.includes(".")).map((key) => key.split(".")[0]));

/** Keys that are not read here. */
const OTHERS = ["$schema", BUDGET];

export type Values = Place["values"];

/** A place, and the problems with it as a whole. */
export interface Found {
	readonly place: Place;
	readonly problems: readonly string[];
	/** `budget.ts` reads it. */
	readonly hasBudget: boolean;
}

/** `flag` gives the value of a flag; only text is one. */
export function fromFlags(flag: (name: string) => unknown): Place {
	const values = pick((key) => {
		const name = SETTINGS[key].flag;
		const text = name === undefined ? undefined : flag(name);
		return typeof text === "string" ? SETTINGS[key].parse(text.trim()) : undefined;
	});
	return { values, name: (key) => `--${SETTINGS[key].flag}`, strength: "flag" };
}

/** An empty variable counts as unset. */
export function fromEnvironment(env: Readonly<Record<string, string | undefined>>): Place {
	const values = pick((key) => {
		const name = SETTINGS[key].env;
		const text = name === undefined ? undefined : env[name]?.trim();
		return text ? SETTINGS[key].parse(text) : undefined;
	});
	return { values, name: (key) => String(SETTINGS[key].env), strength: "start" };
}

/** A missing file is fine. An unreadable or invalid one is reported and ignored. */
export function fromFile(path: string, shownAs: string): Found {
	const found = (values: Values, problems: string[], hasBudget: boolean): Found => ({
		place: { values, name: (key) => `${key} in ${shownAs}`, strength: "file" },
		problems,
		hasBudget,
	});
	try {
		const content = flat(readObject(path));
		const unknown = Object.keys(content).filter((key) => !OTHERS.includes(key) && !READ.includes(key as Key));
		const names = clip(unknown.map(quote).join(", "), 160);
		const problem = `${shownAs}: ignoring unknown keys: ${names}. Known keys: ${[...READ, BUDGET].join(", ")}.`;
		return found(
			pick((key) => content[key]),
			unknown.length === 0 ? [] : [problem],
			BUDGET in content,
		);
	} catch (error) {
		const why = clip(error instanceof Error ? error.message : String(error), 160);
		return found({}, [`${shownAs}: ${why}. Using the other places and the defaults.`], false);
	}
}

/** Flattens inner objects: `session.maxCost`. */
function flat(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	const inner = ([key, value]: [string, unknown]): [string, unknown][] =>
		SCOPES.has(key) && isObject(value)
			? Object.entries(value).map(([name, v]) => [`${key}.${name}`, v])
			: [[key, value]];
	return Object.fromEntries(Object.entries(content).flatMap(inner));
}

/** The object that a JSON file holds, an empty one if there is no file. Throws for anything else. */
export function readObject(path: string): Readonly<Record<string, unknown>> {
	const content = parse(readText(path));
	if (!isObject(content)) throw new Error(`expected an object, got ${typeName(content)}`);
	return content;
}

/** The text of a file that may be one of settings; that of an empty object if there is no file. */
export function readText(path: string): string {
	const quiet = { throwIfNoEntry: false } as const;
	// A link to nowhere is not a missing file.
	if (!statSync(dirname(path), quiet)?.isDirectory() || lstatSync(path, quiet) === undefined) return "{}";
	const stats = statSync(path);
	if (!stats.isFile()) throw new Error("expected a regular file");
	if (stats.size > MAX_BYTES) throw new Error(`expected at most ${MAX_BYTES} bytes, got ${stats.size}`);
	return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
}

function parse(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		const { message } = error as SyntaxError;
		// It can quote what stands around the mistake: an address and its password.
		throw new Error(text.includes(BUDGET) ? message.replace(/, (?:\.{3})?".*/s, " in JSON") : message);
	}
}

/** Says what a value is and nothing of what it holds, which may be an address. */
export function typeName(value: unknown): string {
	if (value === null) return "null";
	if (typeof value === "object") return Array.isArray(value) ? "a list" : "an object";
	return `a ${typeof value}`;
}

/** The values that `/turn-limit` has set, as the session stores them. */
export interface Memory {
	readonly version: number;
	readonly values: Values;
}

export function remember(values: Values): Memory {
	return { version: VERSION, values };
}

/** The newest valid memory on the branch, whose entries come oldest first, and a problem if some are not valid. */
export function fromMemory(entries: readonly unknown[]): {
	readonly values: Values;
	readonly problems: readonly string[];
} {
	const read = entries.map(readMemory);
	const damaged = read.filter((values) => values === undefined).length;
	const values = read.findLast((values) => values !== undefined) ?? {};
	const problem = `Ignoring ${damaged} damaged or foreign turn-limit ${damaged === 1 ? "entry" : "entries"} of this session.`;
	return { values, problems: damaged === 0 ? [] : [problem] };
}

function readMemory(data: unknown): Values | undefined {
	if (!isObject(data) || data["version"] !== VERSION || !isObject(data["values"])) return undefined;
	const { values } = data as { values: Readonly<Record<string, unknown>> };
	const known = pick((key) => values[key]);
	return KEYS.every((key) => known[key] === undefined || SETTINGS[key].read(known[key]) !== undefined)
		? known
		: undefined;
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Every setting that has a value. */
function pick(value: (key: Key) => unknown): Values {
	const all = READ.map((key) => [key, value(key)] as const);
	return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}
