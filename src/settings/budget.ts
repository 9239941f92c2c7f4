/**
 * The budget of a fleet: `"budget": { "at": "postgres://…", "account": "ticket-42", "maxCost": 20 }` in the user's file,
 * or variables. A budget that is set and wrong cannot be used, and whoever asks for it is stopped: a run without it
 * could spend without bound.
 */
import { statSync } from "node:fs";
import { quote } from "../core/text.ts";
import { BUDGET, isObject, readObject, readText, typeName } from "./places.ts";
import { SETTINGS } from "./settings.ts";

/** Holds the address; the others are named after it. */
const VARIABLE = "PI_TURN_LIMIT_BUDGET";

/** In place of the address, for the processes that inherit the variable. */
const TAKEN = "taken";

/** The meters that a fleet shares, by their keys; the text behind `PI_TURN_LIMIT_BUDGET_`. */
const CAPS = { maxTurns: "turns", maxCost: "cost", maxTokens: "tokens" } as const;

/** By meter, as the core counts. */
export type Caps = Readonly<Partial<Record<(typeof CAPS)[keyof typeof CAPS], number>>>;

export interface Budget {
	/** Where the ledger is. A function, because it holds a password. */
	readonly at: () => string;
	readonly account: string;
	readonly caps: Caps;
	/** For each calendar day of the zone. */
	readonly daily: Caps;
	readonly zone: string;
}

export type BudgetFound =
	| { readonly kind: "none" }
	| { readonly kind: "budget"; readonly budget: Budget }
	/** `why` is a sentence for each thing that is wrong; none of them shows the address. */
	| { readonly kind: "unusable"; readonly why: readonly string[] };

export type Environment = Record<string, string | undefined>;

/**
 * The address that the variable holds, taken out of the environment before a tool can inherit it. `kept` is where a
 * process keeps it, since it can be taken once only.
 */
export function takeAddress(env: Environment, kept: { address?: string | undefined }): string | undefined {
	const text = env[VARIABLE]?.trim();
	if (!text || text === TAKEN) return kept.address;
	env[VARIABLE] = TAKEN;
	return (kept.address = text);
}

/** `path`: the user's file. `address`: what `takeAddress` has given. */
export function readBudget(path: string, shownAs: string, env: Environment, address: string | undefined): BudgetFound {
	return find(fromFile(path), ` in ${shownAs}`, env, address, path);
}

/** The budget that a program has given as an option. */
export function readOption(given: unknown): BudgetFound {
	return find(given, "", {}, undefined, undefined);
}

/** `place`: behind the keys. `path`: the file that has to be the user's alone, if it is one. */
function find(
	given: unknown,
	place: string,
	env: Environment,
	address: string | undefined,
	path: string | undefined,
): BudgetFound {
	const variable = (name: string): unknown => env[VARIABLE + name]?.trim() || undefined;
	const pick = (name: string, from: unknown, object: string, key: string): Given => {
		const value = variable(name);
		const inFile = isObject(from) ? from[key] : undefined;
		const where = value === undefined ? `${object}.${key}${place}` : VARIABLE + name;
		return { value: value ?? inFile, where };
	};
	const pickCaps = (prefix: string, from: unknown, object: string): GivenCaps =>
		Object.entries(CAPS).map(([key, meter]) => [key as CapKey, pick(prefix + meter.toUpperCase(), from, object, key)]);
	const reader = new Reader();
	const account = pick("_ACCOUNT", given, "budget", "account");
	const zone = pick("_ZONE", given, "budget", "zone");
	const total = pickCaps("_", given, "budget");
	const daily = pickCaps("_DAY_", isObject(given) ? given["day"] : undefined, "budget.day");
	const all = [account, zone, ...[...total, ...daily].map(([, each]) => each)];
	const isSet = all.some(({ value }) => value !== undefined);
	const isTaken = env[VARIABLE] === TAKEN;
	if (given === undefined && address === undefined && !isTaken && !isSet) return { kind: "none" };
	if (!reader.shape(given, place)) return { kind: "unusable", why: reader.wrong };
	const at = address ?? reader.address(given, path, place, isTaken);
	const budget = {
		at: () => at,
		account: reader.account(account, path),
		zone: reader.zone(zone),
		caps: reader.caps(total),
		daily: reader.caps(daily),
	};
	reader.atLeastOne(budget, place);
	return reader.wrong.length > 0 ? { kind: "unusable", why: reader.wrong } : { kind: "budget", budget };
}

/** By meter: the lower one of the cap of all and of the cap of a day. */
export function lowestCaps({ caps, daily }: Budget): Caps {
	const lowest = Object.values(CAPS).flatMap((meter) => {
		const found = [caps[meter], daily[meter]].filter((cap) => cap !== undefined);
		return found.length === 0 ? [] : [[meter, Math.min(...found)]];
	});
	return Object.fromEntries(lowest) as Caps;
}

/** The accounts of a fleet's ledger, from the outermost: the budget as a whole, and that of the day that `now` is in. */
export function accountsOf(
	{ account, caps, daily, zone }: Budget,
	now: number,
): readonly { readonly scope: "fleet"; readonly name: string; readonly caps: Caps }[] {
	const isDaily = Object.keys(daily).length > 0;
	const total = { scope: "fleet", name: account, caps } as const;
	const today = { scope: "fleet", name: `${account} ${dateIn(zone, now)}`, caps: daily } as const;
	if (!isDaily) return [total];
	return Object.keys(caps).length > 0 ? [total, today] : [today];
}

function dateIn(zone: string, now: number): string {
	return new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short" }).format(now);
}

/** Undefined if the file has none. */
function fromFile(path: string): unknown {
	try {
		return readObject(path)[BUDGET];
	} catch {
		return mayHoldOne(path) ? UNREADABLE : undefined;
	}
}

/** A file that cannot be read is reported with the other settings, which go on without it; a budget does not. */
const UNREADABLE = Symbol("a file that cannot be read");

function mayHoldOne(path: string): boolean {
	try {
		return readText(path).includes(BUDGET);
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "EACCES";
	}
}

/** A value, and the place that it comes from. */
interface Given {
	readonly value: unknown;
	readonly where: string;
}

type CapKey = keyof typeof CAPS;
type GivenCaps = readonly (readonly [CapKey, Given])[];

const KNOWN = ["at", "account", "zone", "day", ...Object.keys(CAPS)];

/** Reads values, and notes what is wrong with them. */
class Reader {
	readonly wrong: string[] = [];

	#expect(where: string, expected: string, got: string): void {
		this.wrong.push(`${where}: expected ${expected}, got ${got}. The budget cannot be used.`);
	}

	/** False if it is nothing in which to read on. */
	shape(given: unknown = {}, place: string): boolean {
		if (!isObject(given)) {
			const got = typeof given === "symbol" ? String(given.description) : typeName(given);
			this.#expect(`budget${place}`, "an object", got);
			return false;
		}
		const { day } = given;
		if (day !== undefined && !isObject(day)) this.#expect(`budget.day${place}`, "an object", quote(day));
		const unknown = [
			...Object.keys(given).filter((key) => !KNOWN.includes(key)),
			...(isObject(day) ? Object.keys(day).filter((key) => !Object.hasOwn(CAPS, key)) : []),
		];
		if (unknown.length > 0)
			this.#expect(`budget${place}`, KNOWN.join(", "), unknown.map((key) => quote(key)).join(", "));
		return true;
	}

	address(given: unknown, path: string | undefined, place: string, isTaken: boolean): string {
		const where = `budget.at${place}`;
		const at = isObject(given) ? given["at"] : undefined;
		if (at === undefined && isTaken) {
			const expected = `an address, since ${VARIABLE} is not passed on to the agents that an agent starts`;
			this.#expect(where, expected, "nothing");
		} else if (at === undefined) this.#expect(where, `an address${orIn(VARIABLE, path)}`, "nothing");
		else if (typeof at !== "string") this.#expect(where, "an address", typeName(at));
		else if (at.trim() === "") this.#expect(where, "an address", "an empty text");
		else {
			const mode = path === undefined ? undefined : exposure(path);
			if (mode !== undefined) this.#expect(where, "a file of yours that only you can read (chmod 600)", mode);
		}
		return String(at);
	}

	account({ value: name, where }: Given, path: string | undefined): string {
		const isName = typeof name === "string" && /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(name.trim());
		const [expected, got] = name === undefined ? [orIn(`${VARIABLE}_ACCOUNT`, path), "nothing"] : ["", quote(name)];
		if (!isName) this.#expect(where, `a name${expected}`, got);
		return String(name).trim();
	}

	zone({ value: zone = "UTC", where }: Given): string {
		try {
			return new Intl.DateTimeFormat("en", { timeZone: zone as string }).resolvedOptions().timeZone;
		} catch {
			this.#expect(where, "a time zone such as Europe/Berlin", quote(zone));
			return String(zone);
		}
	}

	/** Nothing is asked of a ledger that limits nothing. */
	atLeastOne({ caps, daily }: Pick<Budget, "caps" | "daily">, place: string): void {
		const isNone = [caps, daily].every((each) => Object.keys(each).length === 0);
		if (isNone && this.wrong.length === 0)
			this.#expect(`budget${place}`, `a cap: ${Object.keys(CAPS).join(", ")}`, "none");
	}

	caps(given: GivenCaps): Caps {
		const caps = given.flatMap(([key, { value, where }]) => {
			if (value === undefined) return [];
			const { read, parse, expected } = SETTINGS[`budget.${key}`];
			const cap = read(typeof value === "string" ? parse(value) : value);
			if (cap === "unlimited") return [];
			if (Number(cap) <= MOST) return [[CAPS[key], cap]];
			this.#expect(where, expected, quote(value));
			return [];
		});
		return Object.fromEntries(caps) as Caps;
	}
}

/** No variable is read beside a program's option. */
function orIn(variable: string, path: string | undefined): string {
	return path === undefined ? "" : ` there or in ${variable}`;
}

/** The largest cap that a ledger takes. */
const MOST = 1e12;

/** Who else could read the file; undefined if nobody can. Windows has neither numbers for users nor modes. */
function exposure(path: string): string | undefined {
	if (process.getuid === undefined) return undefined;
	const { mode, uid } = statSync(path);
	if (uid !== process.getuid()) return "one of somebody else";
	return (mode & 0o077) === 0 ? undefined : `mode ${(mode & 0o777).toString(8)}`;
}
