import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { analyse, percentile, type WhatIf } from "../../src/history/analysis.ts";
import type { PastRun } from "../../src/history/run.ts";
import { run, runs } from "./runs.ts";

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe("a percentile", () => {
	test("is the value at the nearest rank", () => {
		for (const [n, percent, value] of [
			...[[1, 50, 1] as const, [1, 99, 1] as const, [2, 50, 1] as const, [2, 51, 2] as const],
			...[[19, 95, 19] as const, [20, 95, 19] as const, [21, 95, 20] as const, [40, 95, 38] as const],
			...[[100, 50, 50] as const, [100, 99, 99] as const, [100, 100, 100] as const, [101, 99, 100] as const],
		])
			assert.equal(percentile(upTo(n), percent), value, `${percent}% of ${n}`);
	});

	test("of nothing is none, and so are all figures", () => {
		const { prompts, span, meters, histogram, whatIf, suggestion } = analyse([], { turns: 25 });
		assert.deepEqual([prompts, span, whatIf, suggestion], [0, null, [], null]);
		assert.deepEqual(Object.values(meters), [null, null, null, null, null]);
		assert.ok(histogram.every(({ prompts }) => prompts === 0));
	});

	test("is given for 99 of 100 from 100 prompts on", () => {
		assert.equal(analyse(runs(99)).meters.turns?.p99, null);
		assert.equal(analyse(runs(100, (i) => i + 1)).meters.turns?.p99, 99);
	});

	test("of cost is one of priced prompts", () => {
		const { meters, priced, prompts } = analyse([...runs(90, () => 1, { cost: 0 }), ...runs(10, () => 1, { cost: 2 })]);
		assert.deepEqual([meters.cost?.p50, meters.cost?.prompts, priced, prompts], [2, 10, 10, 100]);
	});
});

test("the histogram holds every prompt once, at the edges too", () => {
	const { histogram } = analyse(runs(120, (i) => i + 1));
	assert.deepEqual(
		histogram.map(({ from, to, prompts }) => [from, to, prompts]),
		[
			...[
				[1, 1, 1],
				[2, 2, 1],
				[3, 5, 3],
				[6, 10, 5],
				[11, 15, 5],
				[16, 25, 10],
				[26, 40, 15],
				[41, 60, 20],
			],
			...[
				[61, 100, 40],
				[101, null, 20],
			],
		],
	);
});

describe("a suggestion", () => {
	const of = (all: readonly PastRun[]): unknown => analyse(all).suggestion;

	test("needs 40 prompts, and for cost 40 priced ones", () => {
		assert.equal(of(runs(39)), null);
		assert.deepEqual(of(runs(40)), { turns: 5, cost: 0.1, time: 10 });
		assert.deepEqual(of([...runs(39), run(1, { cost: 0 })]), { turns: 5, cost: null, time: 10 });
	});

	test("is p95 rounded up: turns to a multiple of 5, time of 5 seconds, a minute above one, 5 minutes above ten", () => {
		for (const [turns, time, limit, seconds] of [
			...[[5, 2_000, 5, 5] as const, [5, 5_005, 5, 10] as const, [5, 60_000, 5, 60] as const],
			...[[5, 61_000, 5, 120] as const, [5, 299_995, 5, 300] as const, [6, 300_006, 10, 360] as const],
			...[[5, 600_000, 5, 600] as const, [6, 600_006, 10, 900] as const, [19, 24.7 * 60_000, 20, 1500] as const],
		]) {
			const all = runs(40, () => turns, { time: Math.round(time / turns) });
			assert.deepEqual(of(all), { turns: limit, cost: turns === 19 ? 0.2 : 0.1, time: seconds }, `${turns} turns`);
		}
	});

	test("is an amount that can be read: ten cents, half a dollar, five dollars", () => {
		const costs = [0.001, 0.1, 0.11, 0.78, 1, 1.01, 1.37, 1.5, 9.99, 10, 10.01, 14.43, 104];
		const suggested = costs.map((cost) => analyse(runs(40, () => 1, { cost })).suggestion?.cost);
		assert.deepEqual(suggested, [0.1, 0.1, 0.2, 0.8, 1, 1.5, 1.5, 1.5, 10, 10, 15, 15, 105]);
	});

	test("names no time where none is known", () => {
		assert.deepEqual(of(runs(40, () => 1, { time: 0 })), { turns: 5, cost: 0.1, time: null });
	});
});

describe("what a limit would have done", () => {
	const row = (all: readonly PastRun[], limits: Parameters<typeof analyse>[1]): WhatIf | undefined =>
		analyse(all, limits).whatIf.find(({ is }) => is === "present");

	test("25 asks before turn 26 and not about a run that finishes on turn 25", () => {
		for (const [turns, asked] of [
			[24, 0],
			[25, 0],
			[26, 1],
		] as const)
			assert.equal(row([run(turns)], { turns: 25 })?.asked, asked, `${turns} turns`);
	});

	test("0 asks before the first turn", () => {
		assert.deepEqual(row([run(2)], { turns: 0 })?.beyond, { turns: 2, cost: 0.02, time: 14 });
	});

	test("an amount asks before the turn that follows it, and not after the last one", () => {
		const cent = 0.01;
		assert.equal(row([run(3)], { cost: 3 * cent })?.asked, 0);
		assert.deepEqual(row([run(4)], { cost: 3 * cent })?.beyond.turns, 1);
		assert.deepEqual(row([run(4)], { time: 14 })?.beyond.turns, 2);
		assert.deepEqual(row([run(4)], { tokens: 101 })?.beyond.turns, 2);
	});

	test("ten times ten cents are a dollar", () => {
		assert.equal(row([run(11, { cost: 0.1 })], { cost: 1 })?.beyond.turns, 1);
	});

	test("calls ask before the call that does not fit, in the middle of a turn whose response is paid for", () => {
		const all = [run(3, { toolCalls: 2 })];
		assert.equal(row(all, { toolCalls: 6 })?.asked, 0);
		for (const [toolCalls, turns] of [
			...[[5, 0] as const, [4, 0] as const, [3, 1] as const, [2, 1] as const],
			...[[1, 2] as const, [0, 2] as const],
		]) {
			const { asked, beyond } = row(all, { toolCalls }) ?? {};
			assert.deepEqual([asked, beyond?.turns, beyond?.cost], [1, turns, turns / 100], `${toolCalls} calls`);
		}
	});

	test("what finished by itself afterwards is told from what was interrupted", () => {
		const { asked, finished, prompts } = row([run(30), run(40, {}, { finished: false }), run(2)], { turns: 25 }) ?? {};
		assert.deepEqual([asked, finished, prompts], [2, 1, 3]);
	});

	test("a cost limit is measured on priced prompts", () => {
		assert.deepEqual(row([run(5), run(5, { cost: 0 })], { cost: 0.02 })?.prompts, 1);
		assert.equal(
			analyse(runs(50, () => 1, { cost: 0 })).whatIf.some(({ meter }) => meter === "cost"),
			false,
		);
	});

	test("the present limit, the suggested one and a few others stand in one table, in order and once each", () => {
		const turns = (limit: number): unknown[] =>
			analyse(
				runs(50, () => 23),
				{ turns: limit },
			)
				.whatIf.filter(({ meter }) => meter === "turns")
				.map(({ limit, is }) => (is === "other" ? limit : `${limit} ${is}`));
		assert.deepEqual(turns(30), [10, 15, "25 suggested", "30 present", 40, 60]);
		assert.deepEqual(turns(25), [10, 15, "25 present", 40, 60]);
	});
});
