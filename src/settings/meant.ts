/** What somebody may have meant by an unknown key or variable. */
import { kindOf, METER_IDS } from "../core/meters.ts";
import { PERIODS } from "../core/scopes.ts";
import { nearest } from "./nearest.ts";
import { ENV_PREFIX, KEY_OF, KEYS, meterOf, SETTINGS } from "./settings.ts";

/** The key of a fleet's budget in a file: an object that is read as a whole (budget.ts). */
export const BUDGET = "budget";

/** What a key or a variable was meant as. */
export interface Meant {
	/** The key or the variable that is read; none where nothing limits that. */
	readonly name?: string;
	/** It was meant to set a limit, or to hold some. */
	readonly isLimit: boolean;
}

type Named = readonly [typed: string, meant: Meant];

const LIMITS = METER_IDS.filter((id) => kindOf(id).scope !== "fleet").map((id) => {
	const key = KEY_OF[id];
	const { env, envAlias, flag, ...setting } = SETTINGS[key];
	const word = (setting.word || id).replace(" ", ".");
	// What programs and the command call it, and what follows from that.
	const others = [id, word, `max${word}`];
	const flags = flag === undefined ? [] : [flag];
	return { key, word, variable: String(envAlias ?? env), names: [key, ...others], flags };
});

const OTHERS = KEYS.filter((key) => meterOf(key) === undefined);

const SCOPE_KEYS = [...new Set(LIMITS.flatMap(({ key }) => /(.*)\./.exec(key)?.[1] ?? []))];

const KEYS_MEANT: readonly Named[] = [
	...LIMITS.flatMap(({ key, names, flags }) =>
		[...names, ...flags].map((name): Named => [name, { name: key, isLimit: true }]),
	),
	...[...SCOPE_KEYS, BUDGET].map((name): Named => [name, { name, isLimit: true }]),
	...OTHERS.map((name): Named => [name, { name, isLimit: false }]),
];

/** Every scope with every meter; some have no such limit. */
const OVER_SCOPES = [...SCOPE_KEYS, BUDGET, ...PERIODS.map((period) => `${BUDGET}.${period}`)].flatMap((scope) =>
	LIMITS.filter(({ flags }) => flags.length > 0).flatMap(({ names }) => names.map((name) => `${scope}.${name}`)),
);

/** Without the prefix. */
const VARIABLES_MEANT: readonly Named[] = [
	...LIMITS.flatMap(({ variable, names }) =>
		[variable.slice(ENV_PREFIX.length), ...names.map(inCapitals)].map((name): Named => [
			name,
			{ name: variable, isLimit: true },
		]),
	),
	// The command takes a scope alone for its turns.
	...SCOPE_KEYS.map((scope): Named => {
		const name = inCapitals(scope);
		return [name, { name: `${ENV_PREFIX}${name}_TURNS`, isLimit: true }];
	}),
	...["", ...PERIODS.map((period) => `${period}.`)].flatMap((period) =>
		["turns", "cost", "tokens"].map((meter): Named => {
			const name = inCapitals(`${BUDGET}.${period}${meter}`);
			return [name, { name: ENV_PREFIX + name, isLimit: true }];
		}),
	),
	...OTHERS.flatMap((key): Named[] => {
		const name = SETTINGS[key].env;
		return name === undefined ? [] : [[name.slice(ENV_PREFIX.length), { name, isLimit: false }]];
	}),
	...OVER_SCOPES.map((name): Named => [inCapitals(name), { isLimit: true }]),
];

/** Names with another beginning: the variable of turns, the flag's as one, and all others with a mistake in the prefix. */
const WHOLE_NAMES: readonly Named[] = [
	...["PI_MAX_TURNS", "PI_TURN_LIMIT"].map((name): Named => [name, { name: "PI_MAX_TURNS", isLimit: true }]),
	...VARIABLES_MEANT.map(([name, meant]): Named => [ENV_PREFIX + name, meant]),
];

/** Formed like that of turns. They may be another program's, so no script is stopped for them, nor for names that are close. */
const LIKE_TURNS = new Map<string, Meant>(
	LIMITS.map(({ word, variable }) => [`PI_MAX_${inCapitals(word)}`, { name: variable, isLimit: false }]),
);

/** The key that is closest. Whatever stands in the object of a scope is meant as a limit. */
export function meantKey(key: string): Meant | undefined {
	const isOfScope = SCOPE_KEYS.some((scope) => key.startsWith(`${scope}.`));
	return closest(KEYS_MEANT, key) ?? (isOfScope ? { isLimit: true } : undefined);
}

/** The variable that is closest. */
export function meantVariable(variable: string): Meant | undefined {
	if (variable.startsWith(ENV_PREFIX)) return closest(VARIABLES_MEANT, variable.slice(ENV_PREFIX.length));
	// Another program's may be as close: `CI_MAX_TURNS`.
	return /^pi/i.test(variable) ? (closest(WHOLE_NAMES, variable) ?? LIKE_TURNS.get(variable)) : undefined;
}

function closest(known: readonly Named[], name: string): Meant | undefined {
	const near = nearest(
		name,
		known.map(([typed]) => typed),
	);
	return known.find(([typed]) => typed === near)?.[1];
}

/** `session.maxCost` as `SESSION_MAX_COST`. */
function inCapitals(key: string): string {
	return key.replaceAll(".", "_").replace(/[A-Z]/g, "_$&").toUpperCase();
}
