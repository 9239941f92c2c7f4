/**
 * What became of prompts that came as far as the present one: a table of figures from a person's own runs, and the
 * sentences that are made of it. Pure.
 */
import { amount } from "../core/amount.ts";
import { isObject } from "../core/is-object.ts";
import { kindOf, type MeterId } from "../core/meters.ts";
import { DOLLARS } from "../core/unit.ts";
import { HISTORY_METERS, type HistoryMeter, type PastRun, type PastStep } from "./run.ts";

/** The prompts that came to one step of a meter: a limit of `at` would have asked about each of them. */
export interface OddsRow {
	/** Dollars, seconds, or a number. */
	readonly at: number;
	readonly came: number;
	/** Of these, prompts that finished by themselves. */
	readonly finished: number;
	/** The median of the further turns of those that finished. */
	readonly moreTurns: number;
	/** The median of their further cost in dollars; null if most of them have no price. */
	readonly moreCost: number | null;
}

export interface Odds {
	/** Prompts that were counted. */
	readonly prompts: number;
	/** By meter the steps of `STEPS`, from the first, as far as any prompt came. */
	readonly rows: Readonly<Record<HistoryMeter, readonly OddsRow[]>>;
}

/** Prompts that a sentence needs at least. */
export const ENOUGH_CAME = 10;

/** Two leading digits, each at most a fifth below the next. */
const DIGITS = [10, 11, 12, 13, 15, 17, 20, 22, 25, 30, 35, 40, 50, 60, 70, 80, 90];

/** The digits from `from` on, and ten times these, and so on. */
function scale(from: number, decades: number): number[] {
	const decade = (i: number): number[] => DIGITS.map((digits) => (digits * from * 10 ** i) / 10);
	return Array.from({ length: decades }, (_, i) => decade(i)).flat();
}

const COUNTS = [...Array.from({ length: 40 }, (_, i) => i), ...scale(10, 3).filter((at) => at >= 40 && at <= 2000)];

/** Where prompts are counted, as files write it; the last one ends the table. Few enough for a file of 10 KB. */
const STEPS: Readonly<Record<HistoryMeter, readonly number[]>> = {
	turns: COUNTS,
	toolCalls: COUNTS,
	cost: [...scale(10, 4), 100_000].map((mills) => mills / 1000),
	tokens: [...scale(10_000, 3), 10_000_000],
	time: [...scale(10, 4), 100_000],
};

/** Where a limit holds a run. */
interface Held {
	/** The first turn that is held, from 1. */
	readonly turn: number;
	/** Spent before that turn. */
	readonly used: number;
}

/**
 * Where a limit would first have held a run; undefined if nowhere. Calls are held inside their turn, the rest before the
 * next one, also before one that a limit refused. `limit` as the core counts. A larger limit holds no earlier, so it can
 * go on from where a smaller one held.
 */
export function firstHeld(run: PastRun, meter: HistoryMeter, limit: number, from?: Held): Held | undefined {
	let { turn, used } = from ?? { turn: 1, used: run.steps[0]?.[meter] ?? 0 };
	const end = run.steps.length + (run.refused ? 1 : 0);
	for (; turn < end; turn++) {
		const spent = run.steps[turn]?.[meter] ?? 0;
		if (meter === "toolCalls" ? used + spent > limit : used >= limit) return { turn, used };
		used += spent;
	}
	return undefined;
}

/** The first step that is spent after the question: a call is held when the response that asks for it is paid for. */
export function firstBeyond(meter: HistoryMeter, turn: number): number {
	return meter === "toolCalls" ? turn + 1 : turn;
}

/** `runs` are prompts that count; those that still run are not among them. */
export function oddsOf(runs: readonly PastRun[]): Odds {
	const costs = runs.map(costsAfter);
	const rowsOf = (meter: HistoryMeter): OddsRow[] => {
		const limits = STEPS[meter].slice(0, -1).map((at) => countedFrom(meter, at));
		const all: Came[] = [];
		for (const [i, run] of runs.entries()) follow(run, costs[i] ?? [], meter, limits, all);
		return all.map((came, i) => rowOf(STEPS[meter][i] ?? 0, came));
	};
	const rows = Object.fromEntries(HISTORY_METERS.map((meter) => [meter, rowsOf(meter)])) as Record<
		HistoryMeter,
		OddsRow[]
	>;
	return { prompts: runs.length, rows };
}

/** The prompts that came to one step. */
interface Came {
	came: number;
	/** Of each that finished: its further turns. */
	readonly moreTurns: number[];
	/** Of each that finished and has a price: its further cost. */
	readonly moreCosts: number[];
}

/** Adds a prompt to each step that it came to, which is held by the limit of that step. */
function follow(
	run: PastRun,
	costs: readonly number[],
	meter: HistoryMeter,
	limits: readonly number[],
	all: Came[],
): void {
	const isPriced = (costs[0] ?? 0) > 0;
	if (meter === "cost" && !isPriced) return;
	let held: Held | undefined;
	for (const [i, limit] of limits.entries()) {
		held = firstHeld(run, meter, limit, held);
		if (!held) return;
		const came = (all[i] ??= { came: 0, moreTurns: [], moreCosts: [] });
		came.came++;
		if (!run.finished) continue;
		const first = firstBeyond(meter, held.turn);
		came.moreTurns.push(run.steps.length - first);
		if (isPriced) came.moreCosts.push(costs[first] ?? 0);
	}
}

/** By step what it and those after it cost. */
function costsAfter({ steps }: PastRun): number[] {
	const costs: number[] = [];
	let all = 0;
	for (const { cost } of steps.toReversed()) costs.push((all += cost));
	return costs.reverse();
}

function rowOf(at: number, { came, moreTurns, moreCosts }: Came): OddsRow {
	const finished = moreTurns.length;
	const isPriced = moreCosts.length > 0 && 2 * moreCosts.length >= finished;
	const moreCost = isPriced ? dollars(middle(moreCosts)) : null;
	return { at, came, finished, moreTurns: middle(moreTurns), moreCost };
}

/** Three digits, so that the file stays small. */
function dollars(counted: number): number {
	return Number(DOLLARS.write(counted).toPrecision(3));
}

export function isPriced({ steps }: PastRun): boolean {
	return sumSteps(steps, "cost") > 0;
}

/** At the nearest rank; 0 of nothing. Hoare's FIND, which moves the values: to sort them takes ten times as long. */
function middle(values: number[]): number {
	const at = Math.max(0, Math.ceil(values.length / 2) - 1);
	const value = (i: number): number => values[i] ?? 0;
	let [low, high] = [0, values.length - 1];
	while (low < high) {
		const pivot = value(at);
		let [i, j] = [low, high];
		while (i <= j) {
			while (value(i) < pivot) i++;
			while (value(j) > pivot) j--;
			if (i <= j) [values[i++], values[j--]] = [value(j), value(i)];
		}
		if (j < at) low = i;
		if (i > at) high = j;
	}
	return value(at);
}

export function sumSteps(steps: readonly PastStep[], meter: HistoryMeter): number {
	return steps.reduce((all, step) => all + step[meter], 0);
}

/** An amount that files write, as the core counts it. */
export function countedFrom(meter: HistoryMeter, written: number): number {
	return Math.round(written / kindOf(meter).unit.write(1));
}

// Sentences

/** The row of prompts that came as far as a run that has spent `used`, as the core counts it. */
function standing({ rows }: Odds, meter: HistoryMeter, used: number): OddsRow | undefined {
	const steps = STEPS[meter];
	const written = kindOf(meter).unit.write(used);
	const last = steps.at(-1) ?? 0;
	return written < last ? rows[meter][steps.findLastIndex((at) => at <= written)] : undefined;
}

/** What became of prompts that came this far, in one line if there were enough; `used` is what this prompt has spent in all. */
export function oddsLine(odds: Odds, id: MeterId, used: number): readonly string[] {
	const meter = HISTORY_METERS.find((known) => known === id);
	const row = meter && standing(odds, meter, used);
	if (!row || row.came < ENOUGH_CAME) return [];
	const { came, finished } = row;
	const end =
		finished === 0
			? "none finished by itself"
			: finished === 1
				? `1 finished by itself, within ${furtherText(row)}`
				: `${finished} finished by themselves, half of them within ${furtherText(row)}`;
	return [`Of your ${came} prompts that came this far, ${end}.`];
}

/** `8 more turns ($0.60)` */
function furtherText({ moreTurns, moreCost }: OddsRow): string {
	const cost = moreCost === null ? "" : ` (${DOLLARS.show(countedFrom("cost", moreCost))})`;
	return `${moreTurns} more ${moreTurns === 1 ? "turn" : "turns"}${cost}`;
}

/** Where a run of so many turns stands among all prompts, in one line if there were enough. */
export function doneLine(odds: Odds, turns: number): readonly string[] {
	const { prompts } = odds;
	if (prompts < ENOUGH_CAME || turns >= (STEPS.turns.at(-1) ?? 0)) return [];
	const beyond = standing(odds, "turns", turns)?.came ?? 0;
	const done = Math.floor((100 * (prompts - beyond)) / prompts);
	return [`${amount("turns", turns)}; ${done} of 100 of your prompts are done by now.`];
}

// Stored

/** Its meaning; a table of another version is not read. */
const VERSION = 1;

/** The most that a figure of a table can be, so that a line stays short; larger ones are stored as this. */
const MOST = 999_999;

/** The most bytes that a table takes. */
export const MAX_TABLE_BYTES = 10_000;

/** The table as text; undefined if it would be too large. */
export function writeOdds({ prompts, rows }: Odds): string | undefined {
	const cells = HISTORY_METERS.map((meter) => [
		meter,
		rows[meter].map(({ came, finished, moreTurns, moreCost }) => [came, finished, moreTurns, moreCost]),
	]);
	const atMost = (_key: string, value: unknown): unknown => (typeof value === "number" ? Math.min(value, MOST) : value);
	const text = JSON.stringify({ version: VERSION, prompts, ...Object.fromEntries(cells) }, atMost);
	return text.length <= MAX_TABLE_BYTES ? text : undefined;
}

/** The table that a text holds; undefined if the text is no table, or has impossible figures. Trusts nothing. */
export function readOdds(text: string): Odds | undefined {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	const fields = isObject(value) ? value : {};
	const { version, prompts } = fields;
	if (version !== VERSION || !isFigure(prompts)) return undefined;
	const rows = HISTORY_METERS.map((meter) => [meter, readRows(fields[meter], meter, prompts)] as const);
	if (rows.some(([, found]) => found === undefined)) return undefined;
	return { prompts, rows: Object.fromEntries(rows) as unknown as Odds["rows"] };
}

function readRows(value: unknown, meter: HistoryMeter, prompts: number): readonly OddsRow[] | undefined {
	if (!Array.isArray(value) || value.length >= STEPS[meter].length) return undefined;
	const rows: OddsRow[] = [];
	let most = prompts;
	for (const [i, cells] of value.entries()) {
		if (!Array.isArray(cells) || cells.length !== 4) return undefined;
		const [came, finished, moreTurns, moreCost] = cells as readonly unknown[];
		if (!isFigure(came) || came > most || !isFigure(finished) || finished > came || !isFigure(moreTurns))
			return undefined;
		if (moreCost !== null && !isAmount(moreCost)) return undefined;
		most = came;
		rows.push({ at: STEPS[meter][i] ?? 0, came, finished, moreTurns, moreCost });
	}
	return rows;
}

function isAmount(value: unknown): value is number {
	return typeof value === "number" && value >= 0 && value <= MOST;
}

function isFigure(value: unknown): value is number {
	return isAmount(value) && Number.isInteger(value);
}
