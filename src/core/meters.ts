/** The table of meters. A new meter is a row here and, for an amount, the line in `hosts/pi/host/usage.ts` that charges it. */
import { type Scope, type ScopeKind, SCOPES, WIDER_SCOPES, type WiderScope, type WiderScopeName } from "./scopes.ts";
import { atMost, COUNT, DOLLARS, SECONDS, TOKENS, type Unit } from "./unit.ts";

/** The moment before a turn or a tool call at which meters are checked. */
export type Gate = "turn" | "call";

/** A tool call that the model asks for, or that another tool makes. */
export interface Call {
	readonly tool: string;
	readonly input: unknown;
	/** The host's id for it, to report its end. */
	readonly id?: string;
}

/** How much of a meter may be spent: a whole number ≥ 0 in the meter's unit, or unlimited. */
export type Max = number | "unlimited";

/** One row: settings, flags, variables, command, schema, options and every text about the meter derive from it. */
export interface MeterKind {
	/** The gates that check it. */
	readonly gates: readonly Gate[];
	/** `before`: each admitted request counts 1. `after`: the host charges an amount once it knows it. */
	readonly known: "before" | "after";
	readonly unit: Unit;
	/** The limit where a person can be asked; where nobody can, and in a program that embeds pi, if they differ. */
	readonly default: Max;
	readonly alone?: Max;
	readonly embedded?: Max;
	/** Its limit at the start of a sentence. */
	readonly title: string;
	/** Its label in the widget. */
	readonly label: string;
	/** One and many of it; an amount whose unit shows itself has no name for one. */
	readonly one?: string;
	readonly many: string;
	/** The least that summaries show; they always show the meter that they are about. */
	readonly shownFrom: number;
	/** The least that the widget shows, if not 0. */
	readonly widgetFrom?: number;
	/** The word of `/turn-limit` before the value; flag and variable end in it. Turns need none. */
	readonly word: string;
	/** The variable, where it does not follow from the word. */
	readonly env?: string;
	/** For `schema.json`: a sentence or two. */
	readonly about: string;
	/** Limits that completion offers, as people type them, and an increase. */
	readonly samples: readonly string[];
	readonly step: string;
}

/** A meter over a scope. */
export interface MeterRow extends MeterKind {
	readonly scope: Scope;
	/** The meter of the round that measures the same. */
	readonly of: RunMeterId;
}

/**
 * In the order in which they are checked and shown.
 *
 * - `turns`: model responses, each with the tool calls it asks for. Not counted: the repetition of a failed
 *   request, a compaction, a turn that the gate refused.
 * - `toolCalls`: calls that were let through, those made by other tools included. Not counted: refused calls.
 * - `cost`: US dollars as the host reports them, of responses, tools and compactions. A lower bound.
 * - `tokens`: fresh ones: input, output, written to the cache. What is read from the cache is free.
 * - `time`: milliseconds in which the agent worked. Not counted: while a dialog asks the person.
 * - `repeats`: how often a call, or a cycle of two or three calls, came in a row. Refused calls count.
 */
const ROUND = {
	turns: {
		gates: ["turn"],
		known: "before",
		unit: COUNT,
		default: 25,
		title: "Turn limit",
		label: "Turns",
		one: "turn",
		many: "turns",
		shownFrom: 0,
		word: "",
		env: "PI_MAX_TURNS",
		about: "A turn is one model response and the tool calls it asks for. At 0 every turn needs a yes.",
		samples: ["25", "50"],
		step: "10",
	},
	toolCalls: {
		gates: ["call"],
		known: "before",
		unit: COUNT,
		default: "unlimited",
		title: "Tool limit",
		label: "Tools",
		one: "tool call",
		many: "tool calls",
		shownFrom: 0,
		word: "tools",
		about: "Calls that other tools make count too; refused calls do not.",
		samples: ["200"],
		step: "10",
	},
	cost: {
		gates: ["turn"],
		known: "after",
		unit: DOLLARS,
		default: "unlimited",
		title: "Cost limit",
		label: "Cost",
		many: "US dollars",
		shownFrom: 1,
		word: "cost",
		about:
			'US dollars as pi reports them: 2.5 or "$2.50". It is checked between turns, so one response can go beyond it.',
		samples: ["2.50"],
		step: "1",
	},
	tokens: {
		gates: ["turn"],
		known: "after",
		unit: TOKENS,
		default: "unlimited",
		title: "Token limit",
		label: "Tokens",
		one: "token",
		many: "tokens",
		shownFrom: 100_000,
		word: "tokens",
		about:
			'Fresh tokens: input, output and what is written to the cache, not what is read from it. 500000, "500k" or "1.5M". It is checked between turns, so one response can go beyond it.',
		samples: ["500k"],
		step: "100k",
	},
	time: {
		gates: ["turn", "call"],
		known: "after",
		unit: SECONDS,
		default: "unlimited",
		title: "Time limit",
		label: "Time",
		many: "working time",
		shownFrom: 60_000,
		word: "time",
		about:
			'Time in which the agent works, not while a person is asked: seconds, or "90s", "30m", "1h30m". It is checked before turns and tool calls.',
		samples: ["30m"],
		step: "10m",
	},
	repeats: {
		gates: ["call"],
		known: "before",
		unit: COUNT,
		default: 5,
		alone: 10,
		embedded: "unlimited",
		title: "Repeat limit",
		label: "Repeats",
		one: "identical call in a row",
		many: "identical calls in a row",
		shownFrom: Infinity,
		widgetFrom: 3,
		word: "repeats",
		about:
			"The same tool with the same arguments, or the same cycle of two or three calls. Refused calls count too. By default 5, 10 where nobody can be asked, and unlimited in a program that embeds pi.",
		samples: ["5"],
		step: "5",
	},
} as const satisfies Record<string, MeterKind>;

/** The meters of a run. */
export type RunMeterId = keyof typeof ROUND;

export const RUN_METER_IDS = Object.keys(ROUND) as readonly RunMeterId[];

/** The meters that count over wider scopes as well. */
const WIDER = ["turns", "cost", "tokens"] as const;

export type MeterId = RunMeterId | `${WiderScopeName}${Capitalize<(typeof WIDER)[number]>}`;

/** The most that a ledger takes as one amount, and that a limit or a grant can be: a million dollars. Thousands of them add up exactly. A larger budget of a fleet is refused. */
export const LEDGER_MOST = 1e12;

function over(scope: WiderScope, of: RunMeterId): MeterRow {
	const row: MeterKind = ROUND[of];
	const word = row.word || "turns";
	const { name, about, countedIn } = SCOPES[scope];
	const whose = capital(name);
	return {
		...row,
		scope,
		of,
		unit: countedIn === "fleet" ? row.unit : atMost(row.unit, LEDGER_MOST),
		default: "unlimited",
		title: `${whose} ${row.title.toLowerCase()}`,
		label: `${whose} ${row.many === "US dollars" ? "cost" : row.many}`,
		word: `${name} ${word}`,
		env: `PI_TURN_LIMIT_${name.toUpperCase()}_${word.toUpperCase()}`,
		about: `${about} ${row.about}`,
	};
}

export const METERS = Object.fromEntries([
	...RUN_METER_IDS.map((id) => [
		id,
		{ ...ROUND[id], unit: atMost(ROUND[id].unit, LEDGER_MOST), scope: "round", of: id },
	]),
	...WIDER_SCOPES.flatMap((scope) => WIDER.map((id) => [`${SCOPES[scope].name}${capital(id)}`, over(scope, id)])),
]) as Readonly<Record<MeterId, MeterRow>>;

/** The meters whose amounts are known after they were spent. */
export type AmountId = { [id in RunMeterId]: (typeof ROUND)[id]["known"] extends "after" ? id : never }[RunMeterId];

export type PerMeter<T> = Readonly<Record<MeterId, T>>;

export const METER_IDS = Object.keys(METERS) as readonly MeterId[];

/** The order in which limits are checked: a session's before those of its rounds. */
const WIDEST_FIRST = METER_IDS.toSorted((a, b) => widthOf(b) - widthOf(a));

/** -1 for a round, which is not a wider scope. */
function widthOf(id: MeterId): number {
	return (WIDER_SCOPES as readonly Scope[]).indexOf(kindOf(id).scope);
}

/** True if other agents spend of it too. The ledger counts it; the breaker has the last count that it reported. */
export function isShared(id: MeterId): boolean {
	return scopeOf(id).countedIn !== "breaker";
}

/** The row of a meter's scope, by its general type. */
export function scopeOf(id: MeterId): ScopeKind {
	return SCOPES[kindOf(id).scope];
}

/** Widest first. */
export const OWN = WIDEST_FIRST.filter((id) => !isShared(id));
export const SHARED = WIDEST_FIRST.filter(isShared);

export type PerRunMeter<T> = Readonly<Record<RunMeterId, T>>;

export function perRunMeter<T>(make: (id: RunMeterId) => T): PerRunMeter<T> {
	return record(RUN_METER_IDS, make);
}

/** By meter of the round: itself, and those that measure the same over wider scopes. */
const OVER_ALL_SCOPES = perRunMeter((id) => METER_IDS.filter((other) => kindOf(other).of === id));

export function overAllScopes(id: RunMeterId): readonly MeterId[] {
	return OVER_ALL_SCOPES[id];
}

/** A row by its general type. */
export function kindOf(id: MeterId): MeterRow {
	return METERS[id];
}

export function perMeter<T>(make: (id: MeterId) => T): PerMeter<T> {
	return record(METER_IDS, make);
}

/** A loop, because every event makes such records, and `Object.fromEntries` takes five times as long. */
function record<K extends string, T>(keys: readonly K[], make: (key: K) => T): Readonly<Record<K, T>> {
	const made: Partial<Record<K, T>> = {};
	for (const key of keys) made[key] = make(key);
	return made as Record<K, T>;
}

/** True if the meter is checked for a request at `gate`, and counted if it is a count. */
export function concerns(id: MeterId, gate: Gate): boolean {
	return kindOf(id).gates.includes(gate);
}

function capital(text: string): string {
	return text.charAt(0).toUpperCase() + text.slice(1);
}
