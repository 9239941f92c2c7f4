/** Reads settings from flags, environment, files and the session's own entries. */
import { isObject } from "../core/is-object.ts";
import { lstatSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { toNumber } from "../core/limit.ts";
import { clip, quote } from "../core/text.ts";
import { BUDGET, meantKey, meantVariable } from "./meant.ts";
import type { Problem } from "./problem.ts";
import type { Place } from "./resolve.ts";
import { ENV_PREFIX, type Key, KEYS, SETTINGS } from "./settings.ts";

/** A settings file is a handful of lines; anything much larger is not one. */
const MAX_BYTES = 64 * 1024;

/** The version of the session's memory. */
const VERSION = 1;

/** A fleet's budget is an object of its own, read as a whole (budget.ts). */
const READ: readonly Key[] = KEYS.filter((key) => !key.startsWith(`${BUDGET}.`));

/** Objects in a file that hold settings. */
const OBJECTS = new Set(READ.filter((key) => key.includes(".")).map((key) => key.slice(0, key.indexOf("."))));

/** The keys of a file, those inside an object left out. */
const TOP_KEYS = [...READ.filter((key) => !key.includes(".")), ...OBJECTS, BUDGET];

/** Keys that are not read here. */
const OTHERS = ["$schema", BUDGET];

/** Variables that are not read here: they belong to a tree and to a fleet's budget. */
const OTHER_VARIABLES = [`${ENV_PREFIX}ROOT`, `${ENV_PREFIX}BUDGET`];

export type Values = Place["values"];

/** A place, and the problems with it as a whole. */
export interface Found {
	readonly place: Place;
	readonly problems: readonly Problem[];
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

/** Variables by name. */
type Variables = Readonly<Record<string, string | undefined>>;

/** An empty variable counts as unset. Two places, because turns have a variable of two names. */
export function fromEnvironment(env: Variables): {
	readonly places: readonly [Place, Place];
	readonly problems: readonly Problem[];
} {
	const [own, alias] = [inVariables(env, "env"), inVariables(env, "envAlias")];
	const { read, show } = SETTINGS.maxTurns;
	const [max, other] = [own, alias].map(({ values }) => read(values.maxTurns));
	const problems = unknownVariables(env);
	// One that is no limit comes first, because the other would overrule it and a script would start.
	if (other === undefined) return { places: [alias, own], problems };
	if (max === undefined) return { places: [own, alias], problems };
	const places: readonly [Place, Place] = toNumber(other) < toNumber(max) ? [alias, own] : [own, alias];
	const what = `${own.name("maxTurns")} is ${show(max)} and ${alias.name("maxTurns")} is ${show(other)}.`;
	return { places, problems: [...(max === other ? [] : [{ what, instead: "Using the lower one." }]), ...problems] };
}

function inVariables(env: Variables, name: "env" | "envAlias"): Place {
	const values = pick((key) => {
		const variable = SETTINGS[key][name];
		const text = variable === undefined ? undefined : env[variable]?.trim();
		return text ? SETTINGS[key].parse(text) : undefined;
	});
	return { values, name: (key) => String(SETTINGS[key][name]), strength: "start" };
}

const VARIABLES = new Set(KEYS.flatMap((key) => [SETTINGS[key].env, SETTINGS[key].envAlias]));

/** Named in a sentence each; one that is close to a limit's may have been meant as that. */
function unknownVariables(env: Variables): readonly Problem[] {
	const names = Object.keys(env).filter((name) => !VARIABLES.has(name) && env[name]?.trim());
	return names.flatMap((name) => {
		const meant = meantVariable(name);
		const isOurs = name.startsWith(ENV_PREFIX) && !OTHER_VARIABLES.some((other) => name.startsWith(other));
		if (meant === undefined ? !isOurs : meant.name === name) return [];
		const hint = meant?.name === undefined ? "." : `, did you mean ${meant.name}?`;
		const what = `${clip(name, 60)}: unknown variable${hint}`;
		return [{ what, instead: "Ignoring it.", isLimit: meant?.isLimit ?? false }];
	});
}

/** A missing file is fine. An unreadable or invalid one is reported and ignored. `shownAs`: where something is wrong with it. */
export function fromFile(path: string, name: string, shownAs = name): Found {
	const place = (values: Values): Place => ({
		values,
		name: (key) => `${key} in ${name}`,
		nameInProblem: (key) => `${key} in ${shownAs}`,
		strength: "file",
	});
	try {
		const content = flat(readObject(path));
		const problems = [...misplacedIn(content, shownAs), ...unknownIn(content, shownAs)];
		return { place: place(pick((key) => content[key])), problems, hasBudget: BUDGET in content };
	} catch (error) {
		const why = clip(error instanceof Error ? error.message : String(error), 160);
		// It may hold a limit.
		const problem = { what: `${shownAs}: ${why}.`, instead: "Using the other places and the defaults.", isLimit: true };
		return { place: place({}), problems: [problem], hasBudget: false };
	}
}

/** The settings that a file holds. Throws if it cannot be read. */
export function valuesIn(path: string): Values {
	const content = flat(readObject(path));
	return pick((key) => content[key]);
}

/** Objects that hold limits, with something else in their place. */
function misplacedIn(content: Readonly<Record<string, unknown>>, shownAs: string): readonly Problem[] {
	const scopes = Object.keys(content).filter((key) => OBJECTS.has(key));
	return scopes.map((key) => ({
		what: `${key} in ${shownAs}: expected an object, got ${quote(content[key])}.`,
		instead: "Ignoring it.",
		isLimit: true,
	}));
}

/** At most two sentences: names close to that of a limit may have been meant as one. */
function unknownIn(content: Readonly<Record<string, unknown>>, shownAs: string): readonly Problem[] {
	const unknown = Object.keys(content)
		.filter((key) => !OTHERS.includes(key) && !OBJECTS.has(key) && !READ.includes(key as Key))
		.map((key) => ({ key, meant: meantKey(key) }));
	const say = (keys: typeof unknown, isLimit: boolean): readonly Problem[] => {
		const hint = (name?: string): string => (name === undefined ? "" : ` (did you mean ${name}?)`);
		const names = keys.map(({ key, meant }) => quote(key) + hint(meant?.name));
		const [noun, them] = keys.length === 1 ? ["key", "it"] : ["keys", "them"];
		const what = `${shownAs}: unknown ${noun}: ${clip(names.join(", "), 160)}.`;
		const list = keys.every(({ meant }) => meant?.name !== undefined) ? "" : ` Known keys: ${TOP_KEYS.join(", ")}.`;
		return keys.length === 0 ? [] : [{ what, instead: `Ignoring ${them}.${list}`, isLimit }];
	};
	const isLimit = ({ meant }: (typeof unknown)[number]): boolean => meant?.isLimit === true;
	return [
		...say(unknown.filter(isLimit), true),
		...say(
			unknown.filter((each) => !isLimit(each)),
			false,
		),
	];
}

/** Flattens inner objects: `session.maxCost`. */
function flat(content: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	const inner = ([key, value]: [string, unknown]): [string, unknown][] =>
		OBJECTS.has(key) && isObject(value)
			? Object.entries(value).map(([name, v]) => [`${key}.${name}`, v])
			: [[key, value]];
	return Object.fromEntries(Object.entries(content).flatMap(inner));
}

/** The object that a JSON file holds, an empty one if there is no file. Throws for anything else. */
export function readObject(path: string): Readonly<Record<string, unknown>> {
	const content = parseJson(readText(path));
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

function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch (error) {
		const { message } = error as SyntaxError;
		// Its message can quote the text around the mistake: an address and its password.
		throw new Error(text.includes(BUDGET) ? message.replace(/, (?:\.{3})?".*/s, " in JSON") : message);
	}
}

/** Names the type of a value, not its content, which may be an address. */
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
	readonly problems: readonly Problem[];
} {
	const read = entries.map(readMemory);
	const damaged = read.filter((values) => values === undefined).length;
	const values = read.findLast((values) => values !== undefined) ?? {};
	const what = `Ignoring ${damaged} damaged or foreign turn-limit ${damaged === 1 ? "entry" : "entries"} of this session.`;
	return { values, problems: damaged === 0 ? [] : [{ what }] };
}

function readMemory(data: unknown): Values | undefined {
	if (!isObject(data) || data["version"] !== VERSION || !isObject(data["values"])) return undefined;
	const { values } = data as { values: Readonly<Record<string, unknown>> };
	// Anybody can write into a session's file, so keys that no command sets are ignored.
	const known = pick((key) => (SETTINGS[key].word === undefined ? undefined : values[key]));
	return KEYS.every((key) => known[key] === undefined || SETTINGS[key].read(known[key]) !== undefined)
		? known
		: undefined;
}

/** Every setting that has a value. */
function pick(value: (key: Key) => unknown): Values {
	const all = READ.map((key) => [key, value(key)] as const);
	return Object.fromEntries(all.filter(([, value]) => value !== undefined));
}
