/** The table of meters. A new meter is a row here and, for an amount, the line in `pi/charges.ts` that charges it. */
import { COUNT, DOLLARS, type Unit } from "./unit.ts";

/** The moment before a turn or a tool call at which meters are checked. */
export type Gate = "turn" | "call";

/** A tool call that the model asks for, or that another tool makes. */
export interface Call {
	readonly tool: string;
	readonly input: unknown;
}

/** How much of a meter may be spent: a whole number ≥ 0 in the meter's unit, or unlimited. */
export type Max = number | "unlimited";

/** One row: settings, flags, variables, command, schema, options and every text about the meter derive from it. */
export interface MeterKind {
	/** The gates that check it. */
	readonly gates: readonly Gate[];
	/** `before`: each admitted request counts 1. `after`: the host charges an amount once it knows it. */
	readonly known: "before" | "after";
	/** The calls that count; without it every request at its gate does. */
	readonly counts?: (call: Call) => boolean;
	readonly unit: Unit;
	readonly default: Max;
	/** Its limit at the start of a sentence. */
	readonly title: string;
	/** Its label in the widget. */
	readonly label: string;
	/** One and many of it; an amount whose unit shows itself has no name for one. */
	readonly one?: string;
	readonly many: string;
	/** Shown in summaries also at 0. */
	readonly listed: boolean;
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

/**
 * In the order in which they are checked and shown.
 *
 * - `turns`: model responses, each with the tool calls it asks for. Not counted: the repetition of a failed
 *   request, a compaction, a turn that the gate refused.
 * - `toolCalls`: calls that were let through, those made by other tools included. Not counted: refused calls.
 * - `cost`: US dollars as the host reports them, of responses, tools and compactions. A lower bound.
 */
export const METERS = {
	turns: {
		gates: ["turn"],
		known: "before",
		unit: COUNT,
		default: 25,
		title: "Turn limit",
		label: "Turns",
		one: "turn",
		many: "turns",
		listed: true,
		word: "",
		env: "PI_MAX_TURNS",
		about: "A turn is one model response and the tool calls it asks for. 0 asks before every turn.",
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
		listed: true,
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
		listed: false,
		word: "cost",
		about:
			'US dollars as pi reports them: 2.5 or "$2.50". It is checked between turns, so one response can go beyond it.',
		samples: ["2.50"],
		step: "1",
	},
} as const satisfies Record<string, MeterKind>;

export type MeterId = keyof typeof METERS;

/** The meters whose amounts are known after they were spent. */
export type AmountId = { [id in MeterId]: (typeof METERS)[id]["known"] extends "after" ? id : never }[MeterId];

export type PerMeter<T> = Readonly<Record<MeterId, T>>;

export const METER_IDS = Object.keys(METERS) as readonly MeterId[];

/** A row by its general type. */
export function kindOf(id: MeterId): MeterKind {
	return METERS[id];
}

export function perMeter<T>(make: (id: MeterId) => T): PerMeter<T> {
	return Object.fromEntries(METER_IDS.map((id) => [id, make(id)])) as PerMeter<T>;
}

/** True if the meter is checked for a request at `gate`, for `call` if it is one for a call, and counted if it is a count. */
export function concerns(id: MeterId, gate: Gate, call: Call | undefined): boolean {
	const { gates, counts } = kindOf(id);
	return gates.includes(gate) && (call === undefined || counts === undefined || counts(call));
}

/** `1 turn`, `25 turns`, `unlimited tool calls`, `$2.50`. */
export function amount(id: MeterId, used: Max): string {
	const { unit, one, many } = kindOf(id);
	if (used === "unlimited") return `unlimited ${many}`;
	if (one === undefined) return unit.show(used);
	return `${unit.show(used)} ${used === 1 ? one : many}`;
}
