/** Figures about limits, from a person's runs. Pure. */
import { kindOf } from "../core/meters.ts";
import { OUTCOMES } from "../core/outcome.ts";
import { countedFrom, firstBeyond, firstHeld, isPriced, type Odds, oddsOf, sumSteps } from "./odds.ts";
import {
	isPromptCounted,
	HISTORY_METERS,
	type HistoryMeter,
	type OutcomeRecord,
	type PastRun,
	type PastStep,
} from "./run.ts";

/** By meter; cost in US dollars, time in seconds. */
export type Limits = Readonly<Partial<Record<HistoryMeter, number>>>;

/** By nearest rank: the smallest value that this share of the prompts did not exceed. */
export interface Percentiles {
	readonly prompts: number;
	readonly p50: number;
	readonly p90: number;
	readonly p95: number;
	/** Null below 100 prompts. */
	readonly p99: number | null;
	readonly max: number;
}

/** The effect that a limit would have had. */
export interface WhatIf {
	readonly meter: HistoryMeter;
	readonly limit: number;
	readonly is: "present" | "suggested" | "other";
	/** Prompts that it applies to: for cost the priced ones. */
	readonly prompts: number;
	/** Prompts in which it would have asked at least once. */
	readonly asked: number;
	/** Of these, prompts that finished by themselves. */
	readonly finished: number;
	/** The spending of these after the first question; for tool calls, in the turns after it. */
	readonly beyond: { readonly turns: number; readonly cost: number; readonly time: number };
}

/** Counted from the breaker's own entries, also of prompts that got no answer. */
export interface Asked {
	/** Runs in which a limit acted, by the kind of their outcome. */
	readonly outcomes: Readonly<Record<string, number>>;
	readonly yes: number;
	readonly no: number;
	/** A last answer was asked for, or nobody answered and the policy is to get one. */
	readonly finalPass: number;
	readonly unanswered: number;
}

export interface Figures {
	readonly prompts: number;
	/** Prompts with a cost above 0. Subscriptions and local models report none. */
	readonly priced: number;
	/** The times of the first and the last prompt in milliseconds since 1970, as far as they are known. */
	readonly span: readonly [number, number] | null;
	/** For cost only the priced prompts; null without any. */
	readonly meters: Readonly<Record<HistoryMeter, Percentiles | null>>;
	/** Prompts by turns, `to` included; null: without end. */
	readonly histogram: readonly { readonly from: number; readonly to: number | null; readonly prompts: number }[];
	/** What became of prompts that came to a step of a meter. */
	readonly odds: Odds;
	readonly whatIf: readonly WhatIf[];
	/** Turns of prompts with a person, without one, and of which the session does not say. */
	readonly people: Readonly<Record<"attended" | "headless" | "unknown", Percentiles | null>>;
	readonly asked: Asked;
	/** Null below 40 prompts; for cost, below 40 priced ones. */
	readonly suggestion: { readonly turns: number; readonly cost: number | null; readonly time: number | null } | null;
	/** Spent on all prompts, and besides them by runs that an extension started. */
	readonly spent: { readonly cost: number; readonly tokens: number; readonly besides: number };
}

/** Prompts that a suggestion, and a p99, need at least. */
export const ENOUGH = { suggestion: 40, p99: 100 } as const;

/** The last moment that a date can hold. */
const LATEST = 8.64e15;

const BOUNDS = [1, 2, 5, 10, 15, 25, 40, 60, 100];

const OTHERS: Readonly<Partial<Record<HistoryMeter, readonly number[]>>> = {
	turns: [10, 15, 25, 40, 60],
	cost: [1, 5],
	time: [600, 1800],
};

/** `limits` are those in force, absent where unlimited. Runs without a turn count only in `asked`. */
export function analyse(all: readonly PastRun[], limits: Limits = {}): Figures {
	const runs = all.filter(isPromptCounted);
	const values = (meter: HistoryMeter, of = runs): number[] => of.map(({ steps }) => total(steps, meter));
	const priced = runs.filter(isPriced);
	const turns = values("turns");
	const times = runs
		.map(({ at }) => at)
		.filter((at) => at > 0 && at < LATEST)
		.sort((a, b) => a - b);
	const [first, last] = [times[0], times.at(-1)];
	const suggestion = suggest(turns, values("cost", priced), values("time"));
	const where = (attended: boolean | undefined): Percentiles | null => {
		const some = runs.filter((run) => run.attended === attended);
		return percentiles(values("turns", some));
	};
	const besides = all.filter((run) => !run.prompted).map((run) => total(run.steps, "cost"));
	return {
		prompts: runs.length,
		priced: priced.length,
		span: first === undefined || last === undefined ? null : [first, last],
		meters: {
			turns: percentiles(turns),
			toolCalls: percentiles(values("toolCalls")),
			cost: percentiles(values("cost", priced)),
			tokens: percentiles(values("tokens")),
			time: percentiles(values("time")),
		},
		histogram: histogram(turns),
		odds: oddsOf(runs),
		whatIf: whatIfs(runs, priced, limits, suggestion),
		people: { attended: where(true), headless: where(false), unknown: where(undefined) },
		asked: asked(all.filter(({ prompted }) => prompted).flatMap(({ outcomes }) => outcomes)),
		suggestion,
		spent: { cost: rounded(sumOf(values("cost"))), tokens: sumOf(values("tokens")), besides: rounded(sumOf(besides)) },
	};
}

/** The value at the nearest rank; NaN of nothing. */
export function percentile(sorted: readonly number[], percent: number): number {
	return sorted[Math.max(0, Math.ceil((percent * sorted.length) / 100) - 1)] ?? NaN;
}

function percentiles(values: readonly number[]): Percentiles | null {
	if (values.length === 0) return null;
	const sorted = values.toSorted((a, b) => a - b);
	const at = (percent: number): number => percentile(sorted, percent);
	const p99 = sorted.length < ENOUGH.p99 ? null : at(99);
	return { prompts: sorted.length, p50: at(50), p90: at(90), p95: at(95), p99, max: at(100) };
}

function histogram(turns: readonly number[]): Figures["histogram"] {
	return [...BOUNDS, null].map((to, i) => {
		const from = (BOUNDS[i - 1] ?? 0) + 1;
		return { from, to, prompts: turns.filter((n) => n >= from && n <= (to ?? Infinity)).length };
	});
}

function suggest(turns: readonly number[], costs: readonly number[], times: readonly number[]): Figures["suggestion"] {
	const up = (values: readonly number[], step: (p95: number) => number): number | null => {
		const p95 = values.length < ENOUGH.suggestion ? 0 : (percentiles(values)?.p95 ?? 0);
		return p95 > 0 ? rounded(Math.ceil(p95 / step(p95)) * step(p95)) : null;
	};
	const most = up(turns, () => 5);
	const cost = up(costs, (p95) => (p95 <= 1 ? 0.1 : p95 <= 10 ? 0.5 : 5));
	const time = up(times, (p95) => (p95 <= 60 ? 5 : p95 <= 600 ? 60 : 300));
	return most === null ? null : { turns: most, cost, time };
}

function whatIfs(
	runs: readonly PastRun[],
	priced: readonly PastRun[],
	limits: Limits,
	suggestion: Figures["suggestion"],
): WhatIf[] {
	return HISTORY_METERS.flatMap((meter) => {
		const of = meter === "cost" ? priced : runs;
		if (of.length === 0) return [];
		const present = limits[meter];
		const suggested = meter === "toolCalls" || meter === "tokens" ? undefined : suggestion?.[meter];
		const all = [present, suggested, ...(OTHERS[meter] ?? [])].filter((limit) => typeof limit === "number");
		return [...new Set(all)]
			.sort((a, b) => a - b)
			.map((limit) => {
				const is = limit === present ? "present" : limit === suggested ? "suggested" : "other";
				return { meter, limit, is, ...wouldAsk(of, meter, limit) };
			});
	});
}

function wouldAsk(
	runs: readonly PastRun[],
	meter: HistoryMeter,
	limit: number,
): Omit<WhatIf, "meter" | "limit" | "is"> {
	const stops = runs.flatMap((run) => {
		const held = firstHeld(run, meter, countedFrom(meter, limit));
		return held ? [{ run, beyond: run.steps.slice(firstBeyond(meter, held.turn)) }] : [];
	});
	const beyond = (meter: HistoryMeter): number => sumOf(stops.map(({ beyond }) => total(beyond, meter)));
	return {
		prompts: runs.length,
		asked: stops.length,
		finished: stops.filter(({ run }) => run.finished).length,
		beyond: { turns: beyond("turns"), cost: rounded(beyond("cost")), time: rounded(beyond("time")) },
	};
}

function asked(outcomes: readonly OutcomeRecord[]): Asked {
	const kinds = new Map<string, number>();
	for (const { kind } of outcomes) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
	const declined = outcomes.filter(({ kind }) => OUTCOMES[kind].endedBy === "question");
	const no = declined.filter(({ answered }) => answered).length;
	const yes = sumOf(outcomes.map(({ continuations }) => continuations));
	const finalPass = outcomes.filter((outcome) => outcome.finalPass).length;
	return { outcomes: Object.fromEntries(kinds), yes, no, finalPass, unanswered: declined.length - no };
}

/** As files write it: dollars, seconds. */
function total(steps: readonly PastStep[], meter: HistoryMeter): number {
	return kindOf(meter).unit.write(sumSteps(steps, meter));
}

/** Rounds to millionths, because sums of fractions are not exact. */
function rounded(amount: number): number {
	return Math.round(amount * 1e6) / 1e6;
}

function sumOf(values: readonly number[]): number {
	return values.reduce((all, value) => all + value, 0);
}
