/** Reads the options of a program: the settings by other names, checked at once and by one reader. */
import { isObject } from "../core/is-object.ts";
import { isPolicy, type Policy } from "../core/policies.ts";
import { kindOf, type Max, METER_IDS, type MeterId, type PerMeter } from "../core/meters.ts";
import type { Outcome } from "../core/outcome.ts";
import { quote } from "../core/text.ts";
import { readOption } from "./budget.ts";
import type { Place } from "./resolve.ts";
import { type Key, KEY_OF, meterOf, SETTINGS } from "./settings.ts";

/** A limit as programs write it: a number, `"$2.50"` for money, `"unlimited"`; with a policy of its own if it has one. */
export type LimitOption = number | string | { readonly max: number | string; readonly policy?: Policy };

/** The options of every host; each has the default of its setting. A limit's option is named like its meter. */
export type CommonOptions = { readonly [id in Exclude<MeterId, `budget${string}`>]?: LimitOption } & {
	/** For limits without one of their own. */
	readonly policy?: Policy;
	/** How many turns remain when the model is told to wrap up. A function is read at every check. */
	readonly grace?: number | (() => number);
	/** In place of the built-in text. A function is read when the text is sent. */
	readonly wrapUpMessage?: string | (() => string);
	/** Seconds until a question counts as not answered. */
	readonly askTimeout?: Max;
	/** Tools whose identical calls in a row are not counted. */
	readonly repeatsExcept?: readonly string[];
	/** The budget of a fleet of agents. */
	readonly budget?: BudgetOption;
	/** Called once per run, when it is over. */
	readonly onOutcome?: (outcome: Outcome) => void;
};

/** Caps as limits are written. */
type CapOptions = { readonly [key in "maxTurns" | "maxCost" | "maxTokens"]?: number | string };

export interface BudgetOption extends CapOptions {
	/** `postgres://user:password@host/database` */
	readonly at: string;
	/** The name of the budget. */
	readonly account: string;
	/** For each calendar day. */
	readonly day?: CapOptions;
	/** For each week, from Monday. */
	readonly week?: CapOptions;
	/** For each calendar month. */
	readonly month?: CapOptions;
	/** Where they begin at midnight; UTC by default. */
	readonly zone?: string;
}

/** The policies of limits that have their own. */
export type Policies = Partial<PerMeter<Policy>>;

/** An option that is no setting: throws a TypeError for a value that it does not take. */
export type OtherOption = (option: string, value: unknown) => void;

/** An option that takes what `isOne` says. */
export function expecting(expected: string, isOne: (value: unknown) => boolean): OtherOption {
	return (option, value) => {
		if (!isOne(value)) throw new TypeError(badOption(option, value, expected));
	};
}

/** The options that one function knows, beside limits. */
export interface OptionTable {
	/** The function, for messages. */
	readonly name: string;
	readonly settings: readonly Key[];
	readonly others: Readonly<Record<string, OtherOption>>;
}

export const A_FUNCTION = expecting("a function", (value) => typeof value === "function");

const LIMITS: Readonly<Record<string, Key>> = Object.fromEntries(
	METER_IDS.filter((id) => kindOf(id).scope !== "fleet").map((id) => [id, KEY_OF[id]]),
);

/** The settings that every host has. */
export const COMMON_SETTINGS: readonly Key[] = ["policy", "grace", "wrapUpMessage", "askTimeout", "repeatsExcept"];

/** The options that every host has and that are no settings. */
export const COMMON_OTHERS: OptionTable["others"] = {
	onOutcome: A_FUNCTION,
	budget: (_option, value) => checkBudget(value),
};

/** @throws RangeError or TypeError that names the option, its value and what was expected. */
export function readOptions(
	{ name, settings, others }: OptionTable,
	options: unknown,
): { readonly values: Place["values"]; readonly policies: Policies } {
	if (!isObject(options) || !isPlain(options))
		throw new TypeError(`${name}(): expected an object of options, got ${shown(options)}.`);
	const values: { [K in Key]?: unknown } = {};
	const policies: { [id in MeterId]?: Policy } = {};
	for (const [option, value] of Object.entries(options)) {
		if (value === undefined) continue;
		const other = Object.hasOwn(others, option) ? others[option] : undefined;
		if (other) {
			other(option, value);
			continue;
		}
		const key = Object.hasOwn(LIMITS, option) ? LIMITS[option] : settings.find((each) => each === option);
		if (key === undefined) {
			const known = [...Object.keys(LIMITS), ...settings, ...Object.keys(others)].join(", ");
			throw new TypeError(`${name}(): unknown option ${quote(option)}. Known options: ${known}.`);
		}
		if (typeof value === "function" && (key === "grace" || key === "wrapUpMessage")) continue;
		const id = meterOf(key);
		if (id === undefined || typeof value !== "object" || value === null) values[key] = checked(option, key, value);
		else {
			const { max, policy } = limitIn(option, value);
			values[key] = checked(`${option}.max`, key, max);
			const own = policy === undefined ? undefined : checked(`${option}.policy`, "policy", policy);
			if (isPolicy(own)) policies[id] = own;
		}
	}
	return { values, policies };
}

/** @throws TypeError if it has other keys */
function limitIn(option: string, value: object): { readonly max?: unknown; readonly policy?: unknown } {
	const unknown = Object.keys(value).find((key) => key !== "max" && key !== "policy");
	if (unknown === undefined) return value;
	throw new TypeError(badOption(option, value, "{ max, policy }"));
}

/** @throws TypeError */
function checkBudget(value: unknown): void {
	const found = readOption(value);
	if (found.kind === "unusable") throw new TypeError(found.why.join("\n"));
}

/** The value as it was given, if the setting takes it. */
function checked(option: string, key: Key, value: unknown): unknown {
	const { read, expected } = SETTINGS[key];
	if (read(value) !== undefined) return value;
	const Problem = typeof value === "number" || typeof value === "string" ? RangeError : TypeError;
	throw new Problem(badOption(option, value, expected));
}

function badOption(option: string, value: unknown, expected: string): string {
	return `${option}: expected ${expected}, got ${shown(value)}.`;
}

/** Of another object, such as a promise or a map, `Object.entries` gives no options. */
function isPlain(value: object): boolean {
	const prototype: unknown = Object.getPrototypeOf(value);
	return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** JSON has no functions, and says nothing of most objects. */
function shown(value: unknown): string {
	if (typeof value === "function") return "a function";
	return isObject(value) && !isPlain(value) ? `an instance of ${value.constructor.name}` : quote(value);
}
