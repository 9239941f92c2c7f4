/** Where settings come from, and which place wins. Pure: the places are read elsewhere. */
import { isCount, isMax, isPolicy, type Max, type Policy, toNumber } from "../core/limit.ts";
import { DEFAULT_GRACE } from "../core/late.ts";
import type { PerMeter } from "../core/state.ts";
import { ALLOWED, badValue, FLAGS } from "../core/wording.ts";

/** What a person can set; the keys are those of the files. */
export interface Settings {
	readonly maxTurns: Max;
	readonly maxToolCalls: Max;
	readonly policy: Policy;
	readonly grace: number;
	/** Seconds. */
	readonly askTimeout: Max;
	/** In place of the built-in wrap-up; empty for that. */
	readonly wrapUpMessage: string;
}

export type Key = keyof Settings;

/** What a setting may be and where it stands, beside the files. */
interface Setting<T> {
	readonly is: (value: unknown) => value is T;
	readonly allowed: string;
	readonly flag?: string;
	/** What `pi --help` says about the flag. */
	readonly help?: string;
	readonly env?: string;
	/** May a project's file have its value instead of the user's? None: such a file may not set it. */
	readonly tightens?: (project: T, user: T) => boolean;
}

/** The longest time that a timer can wait, in whole seconds. */
const MAX_SECONDS = 2_147_483;

const below = (project: Max, user: Max): boolean => toNumber(project) <= toNumber(user);

const isSeconds = (value: unknown): value is Max =>
	isMax(value) && value !== 0 && (value === "unlimited" || value <= MAX_SECONDS);

const isText = (value: unknown): value is string => typeof value === "string" && value.trim() !== "";

const LIMIT = { is: isMax, allowed: ALLOWED.limit, tightens: below };

/** One row per setting; flags and variables share a namespace with all other extensions, hence their prefix. */
export const SETTINGS: { readonly [K in Key]: Setting<Settings[K]> } = {
	maxTurns: { ...LIMIT, help: FLAGS.maxTurns, flag: "turn-limit", env: "PI_MAX_TURNS" },
	maxToolCalls: { ...LIMIT, help: FLAGS.maxToolCalls, flag: "turn-limit-tools", env: "PI_TURN_LIMIT_TOOLS" },
	policy: {
		is: isPolicy,
		allowed: ALLOWED.policy,
		flag: "turn-limit-policy",
		help: FLAGS.policy,
		env: "PI_TURN_LIMIT_POLICY",
		tightens: (project, user) => project === "abort" || project === user,
	},
	grace: {
		is: isCount,
		allowed: ALLOWED.grace,
		flag: "turn-limit-grace",
		help: FLAGS.grace,
		env: "PI_TURN_LIMIT_GRACE",
		tightens: (project, user) => project >= user,
	},
	askTimeout: { is: isSeconds, allowed: ALLOWED.seconds, tightens: below, env: "PI_TURN_LIMIT_ASK_TIMEOUT" },
	wrapUpMessage: { is: isText, allowed: ALLOWED.text },
};

/** Which setting is the limit of a meter. */
export const LIMIT_OF = { turns: "maxTurns", toolCalls: "maxToolCalls" } as const satisfies PerMeter<Key>;

export const KEYS = Object.keys(SETTINGS) as readonly Key[];

/** What holds where no place says otherwise. Whoever can be asked at the limit needs no wrap-up that cuts good work short. */
export function defaults(attended: boolean): Settings {
	return {
		maxTurns: 25,
		maxToolCalls: "unlimited",
		policy: "abort",
		grace: attended ? 0 : DEFAULT_GRACE,
		askTimeout: "unlimited",
		wrapUpMessage: "",
	};
}

/** Somewhere a person can set something. */
export interface Place {
	readonly values: { readonly [K in Key]?: unknown };
	/** What to call it when speaking of this setting. */
	readonly name: (key: Key) => string;
	/** Only flag, environment and command beat a project's file. */
	readonly yieldsToProject?: boolean;
}

/** A value with the name of the place it comes from. */
interface Sourced<T> {
	readonly value: T;
	readonly source: string;
}

export type Resolved = { readonly [K in Key]: Sourced<Settings[K]> };

export interface Resolution {
	readonly settings: Resolved;
	/** What was wrong, where, what would be right, and what is used instead: a sentence each. */
	readonly problems: readonly string[];
}

/** The strongest valid value of each setting; `places` are ordered, strongest first. */
export function resolve(places: readonly Place[], project: Place | undefined, fallback: Settings): Resolution {
	const found = KEYS.map((key) => ({ key, ...resolveOne(key, places, project, fallback) }));
	return {
		settings: Object.fromEntries(found.map(({ key, chosen }) => [key, chosen])) as unknown as Resolved,
		problems: found.flatMap(({ problems }) => problems),
	};
}

/** A bad value is a problem wherever it stands; a project's wish to loosen only where it would be heard. */
function resolveOne<K extends Key>(
	key: K,
	places: readonly Place[],
	project: Place | undefined,
	fallback: Settings,
): { readonly chosen: Sourced<Settings[K]>; readonly problems: readonly string[] } {
	const { is, allowed, tightens }: Setting<Settings[K]> = SETTINGS[key];
	const projects = project ? [project] : [];
	const isSaid = ({ values }: Place): boolean => is(values[key]);
	const said = (place: Place) => ({ value: place.values[key] as Settings[K], source: place.name(key) });

	const winner = places.find(isSaid);
	const own = winner ? said(winner) : { value: fallback[key], source: "default" };
	const yields = winner === undefined || winner.yieldsToProject === true;
	const heard = yields ? projects.find(isSaid) : undefined;
	const wish = heard && said(heard);
	const chosen = wish && tightens?.(wish.value, own.value) ? wish : own;

	const bad = [...places, ...projects]
		.filter(({ values }) => values[key] !== undefined && !is(values[key]))
		.map((place) => ({ place, allowed }));
	if (heard && chosen === own) bad.push({ place: heard, allowed: ALLOWED.project });
	const problems = bad.map(({ place, allowed }) =>
		badValue(place.name(key), place.values[key], allowed, chosen.value, chosen.source),
	);
	return { chosen, problems };
}
