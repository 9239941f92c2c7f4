/** Runs as the reading of sessions gives them, and advice made from them. */
import { analyse, type Limits } from "../../src/history/analysis.ts";
import type { Advice } from "../../src/history/index.ts";
import type { PastRun } from "../../src/history/run.ts";
import { START } from "./story.ts";

/** What every turn of a run spends; by default a call, a cent, 100 tokens and 7 seconds. */
export interface Turn {
	toolCalls?: number;
	cost?: number;
	tokens?: number;
	time?: number;
}

/** A run of so many turns. */
export function run(turns: number, turn: Turn = {}, fields: Partial<PastRun> = {}): PastRun {
	const { toolCalls = 1, cost: dollars = 0.01, tokens = 100, time = 7000 } = turn;
	const cost = Math.round(dollars * 1e6);
	const steps = Array.from({ length: turns }, () => ({ turns: 1, toolCalls, cost, tokens, time }));
	const before = { turns: 0, toolCalls: 0, cost: 0, tokens: 0, time: 0 };
	return {
		...{ key: "", at: START, prompted: true, outcomes: [], entries: 1, finished: true, attended: undefined },
		...{ until: START, open: false, refused: false, reported: 0 },
		...{ steps: [before, ...steps], ...fields },
	};
}

const COMPLETED = { kind: "completed", answered: true, finalPass: false } as const;

/** As many runs of one turn as wanted. */
export function runs(n: number, turns: (i: number) => number = () => 1, turn: Turn = {}): PastRun[] {
	return Array.from({ length: n }, (_, i) => run(turns(i), turn));
}

/** Advice as `advise` gives it, from runs. */
export function adviceFrom(
	all: readonly PastRun[],
	limits: Limits = {},
	sample: Partial<Advice["sample"]> = {},
): Advice {
	const where = { directory: "/sessions", project: null, days: null };
	const read = { files: all.length, sessions: all.length, copies: 0, running: 0, brokenLines: 0, unreadable: 0 };
	const subagents = { sessions: 0, turns: 0, cost: 0, reported: 0 };
	return { version: 1, sample: { ...where, ...read, ...sample }, subagents, ...analyse(all, limits) };
}

/** 240 prompts of somebody who mostly asks small things, half of them without a price. */
export function example(): Advice {
	const all = Array.from({ length: 240 }, (_, i): PastRun => {
		const turns = Math.round(1.9 / (1 - (((i * 7) % 240) + 0.5) / 240) ** 0.72);
		const turn = { cost: i % 2 === 0 ? 0.04 : 0, tokens: 1900, time: 13_000 };
		const outcomes = turns > 25 ? [{ ...COMPLETED, continuations: 1 }] : [];
		const fields = {
			at: START + i * 10_800_000,
			outcomes,
			finished: turns < 20 || i % 4 !== 0,
			attended: [true, false, undefined][i % 3],
		};
		return run(turns, turn, fields);
	});
	return adviceFrom(
		all,
		{ turns: 25 },
		{ ...{ directory: "~/.pi/agent/sessions", sessions: 71 }, ...{ copies: 4, brokenLines: 1, days: 30 } },
	);
}
