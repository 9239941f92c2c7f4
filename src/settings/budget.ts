/**
 * The budget of a fleet: `"budget": { "at": "postgres://…", "account": "ticket-42", "maxCost": 20 }` in the user's file,
 * or variables. A budget that is set and wrong cannot be used, and whoever asks for it is stopped: a run without it
 * could spend without bound.
 */
import { isObject } from "../core/is-object.ts";
import { type Period, PERIODS } from "../core/scopes.ts";
import { type CapKey, CAPS, type Caps, type Given, type GivenCaps, Reader, VARIABLE } from "./budget-reader.ts";
import { BUDGET } from "./meant.ts";
import { readObject, readText } from "./places.ts";

/** In place of the address, for the processes that inherit the variable. */
const TAKEN = "taken";

export interface Budget {
	/** Where the ledger is. A function, because it holds a password. */
	readonly at: () => string;
	readonly account: string;
	readonly caps: Caps;
	/** For each calendar month, ISO week and day of the zone. */
	readonly periods: Readonly<Record<Period, Caps>>;
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
	return find(budgetInFile(path), ` in ${shownAs}`, env, address, path);
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
	const periods = PERIODS.map((period) => {
		const from = isObject(given) ? given[period] : undefined;
		return [period, pickCaps(`_${period.toUpperCase()}_`, from, `budget.${period}`)] as const;
	});
	const all = [account, zone, ...[total, ...periods.map(([, caps]) => caps)].flat().map(([, each]) => each)];
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
		periods: Object.fromEntries(periods.map(([period, caps]) => [period, reader.caps(caps)])) as Budget["periods"],
	};
	reader.atLeastOne([budget.caps, ...Object.values(budget.periods)], place);
	return reader.wrong.length > 0 ? { kind: "unusable", why: reader.wrong } : { kind: "budget", budget };
}

/** By meter: the lowest of the caps of all, of a month, of a week and of a day. */
export function lowestCaps({ caps, periods }: Budget): Caps {
	const lowest = Object.values(CAPS).flatMap((meter) => {
		const found = [caps, ...Object.values(periods)].map((each) => each[meter]).filter((cap) => cap !== undefined);
		return found.length === 0 ? [] : [[meter, Math.min(...found)]];
	});
	return Object.fromEntries(lowest) as Caps;
}

/** Undefined if the file has none. */
function budgetInFile(path: string): unknown {
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
