/** A row of the table of meters, and the words that it uses. */
import type { Unit } from "./unit.ts";

/** The moment before a turn or a tool call at which meters are checked. */
export type Gate = "turn" | "call";

/** A tool call that the model asks for, or that another tool makes. */
export interface Call {
	readonly tool: string;
	readonly input: unknown;
}

/**
 * A limit counts over a round, which a prompt refills; over everything that the session has spent; over a run of the
 * root and of the agents that it starts; over what the user's agents spend on one day; or over what a fleet of agents
 * spends of one budget. From the narrowest.
 */
export type Scope = "round" | "session" | "tree" | "day" | "budget";

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
