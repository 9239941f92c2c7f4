/** Chooses the strongest place of each setting. Pure: `places.ts` reads them. */
import { quote } from "../core/text.ts";
import type { Problem } from "./problem.ts";
import { type Key, KEYS, meterOf, type Setting, SETTINGS, type Settings } from "./settings.ts";

/** Set by a command, by a flag, at the start otherwise (environment, option), or in a file. */
type Strength = "command" | "flag" | "start" | "file";

/** Somewhere a person can set something. */
export interface Place {
	/** The values as the place writes them. */
	readonly values: { readonly [K in Key]?: unknown };
	/** Its name in messages about this setting. */
	readonly name: (key: Key) => string;
	/** Its name where this setting is wrong, if that is a longer one. */
	readonly nameInProblem?: (key: Key) => string;
	readonly strength: Strength;
}

/** A place that can only lower what others give. */
export interface LoweringPlace extends Place {
	/** The subject in "… can only lower a limit". */
	readonly who: string;
	/** It lowers values of these strengths, and defaults; the others beat it. */
	readonly lowers: readonly Strength[];
}

/** A value with the name of the place it comes from. */
export interface Sourced<T> {
	readonly value: T;
	readonly source: string;
}

export type Resolved = { readonly [K in Key]: Sourced<Settings[K]> };

export interface Resolution {
	readonly settings: Resolved;
	/** One for each bad value, and for each that only a stronger place may set. */
	readonly problems: readonly Problem[];
}

/** The strongest valid value of each setting; `places` are ordered, strongest first. */
export function resolve(places: readonly Place[], lowering: readonly LoweringPlace[], fallback: Settings): Resolution {
	const found = KEYS.map((key) => ({ key, ...resolveOne(key, places, lowering, fallback) }));
	return {
		settings: Object.fromEntries(found.map(({ key, chosen }) => [key, chosen])) as unknown as Resolved,
		problems: found.flatMap(({ problems }) => problems),
	};
}

interface Candidate<T> extends Sourced<T> {
	readonly strength: Strength;
}

function resolveOne<K extends Key>(
	key: K,
	places: readonly Place[],
	lowering: readonly LoweringPlace[],
	fallback: Settings,
): { readonly chosen: Sourced<Settings[K]>; readonly problems: readonly Problem[] } {
	const { read, expected, tightens, show }: Setting<Settings[K]> = SETTINGS[key];
	const find = (place: Place): Candidate<Settings[K]> | undefined => {
		const value = read(place.values[key]);
		return value === undefined ? undefined : { value, source: place.name(key), strength: place.strength };
	};
	const strongest = places.find((place) => find(place) !== undefined);
	const given = strongest && find(strongest);
	let chosen: Sourced<Settings[K]> & Partial<Candidate<Settings[K]>> = given ?? {
		value: fallback[key],
		source: "default",
	};

	const refused: LoweringPlace[] = [];
	for (const place of lowering) {
		const wish = find(place);
		const isHeard = chosen.strength === undefined || place.lowers.includes(chosen.strength);
		if (wish === undefined || !isHeard) continue;
		if (tightens?.(wish.value, chosen.value)) chosen = wish;
		else if (wish.value !== chosen.value) refused.push(place);
	}

	const instead = `Using ${show(chosen.value)} (${chosen.source}).`;
	const isBad = ({ values }: Place): boolean => values[key] !== undefined && read(values[key]) === undefined;
	const problem = (place: Place, isInForce: boolean): Problem => ({
		what: `${(place.nameInProblem ?? place.name)(key)}: expected ${expected}, got ${quote(place.values[key])}.`,
		instead,
		isLimit: meterOf(key) !== undefined && isInForce,
	});
	const stronger = places.slice(0, strongest && places.indexOf(strongest));
	const isHeard = ({ lowers }: LoweringPlace): boolean => given === undefined || lowers.includes(given.strength);
	return {
		chosen: { value: chosen.value, source: chosen.source },
		problems: [
			...places.filter(isBad).map((place) => problem(place, stronger.includes(place))),
			...lowering.filter(isBad).map((place) => problem(place, isHeard(place))),
			...refused.map(({ who, values }) => {
				const [may, ignored] = tightens ? ["can only lower a limit", `${key}: `] : [`cannot set ${key}`, ""];
				return { what: `${who} ${may}; ignoring ${ignored}${quote(values[key])}.`, instead };
			}),
		],
	};
}
