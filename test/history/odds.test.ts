import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { analyse } from "../../src/history/analysis.ts";
import { doneLine, type Odds, oddsLine } from "../../src/history/odds-index.ts";
import type { PastRun } from "../../src/history/run.ts";
import { run, runs } from "./runs.ts";

const oddsOf = (all: readonly PastRun[]): Odds => analyse(all).odds;

/** As many runs of each number of turns, that did not finish if it is negative. */
const each = (n: number, ...turns: number[]): PastRun[] =>
	turns.flatMap((count) => Array.from({ length: n }, () => run(Math.abs(count), {}, { finished: count > 0 })));

describe("the line at the question", () => {
	const line = (
		all: readonly PastRun[],
		used = 3,
		meter: Parameters<typeof oddsLine>[1] = "turns",
	): string | undefined => oddsLine(oddsOf(all), meter, used)[0];

	test("says how many came this far, how many of them finished, and what half of these still took", () => {
		const all = each(5, 2, 3, 4, 6, -7, 12);
		assert.equal(
			line(all),
			"Of your 20 prompts that came this far, 15 finished by themselves, half of them within 3 more turns ($0.03).",
		);
	});

	test("needs 10 prompts", () => {
		assert.equal(line(each(9, 4)), undefined);
		assert.match(
			line(each(10, 4)) ?? "",
			/^Of your 10 prompts that came this far, 10 finished by themselves, half of them within 1 more turn \(\$0\.01\)\.$/,
		);
	});

	test("says so if none finished, or one", () => {
		assert.equal(line(each(12, -4)), "Of your 12 prompts that came this far, none finished by itself.");
		assert.equal(
			line([...each(11, -4), run(5)]),
			"Of your 12 prompts that came this far, 1 finished by itself, within 2 more turns ($0.02).",
		);
	});

	test("does not count a prompt that ended on this very turn, as a limit would not have asked about it", () => {
		assert.equal(line(each(10, 3)), undefined);
		assert.match(line([...each(10, 3), ...each(10, 4)]) ?? "", /^Of your 10 prompts /);
	});

	test("counts a prompt that a limit stopped at this very point: it was asked about, and did not finish", () => {
		const stopped = Array.from({ length: 5 }, () => run(3, {}, { finished: false, refused: true }));
		const said = line([...each(10, 5), ...stopped]) ?? "";
		assert.match(said, /^Of your 15 prompts that came this far, 10 finished by themselves, half of them within 2 /);
		assert.match(line([...each(10, 5), ...stopped], 4) ?? "", /^Of your 10 prompts /);
		for (const [meter, used] of [["cost", 30_000] as const, ["time", 20_000] as const])
			assert.match(line([...each(10, 5, 1), ...stopped], used, meter) ?? "", /^Of your 15 prompts /, meter);
		assert.match(line([...each(10, 5), ...stopped], 3, "toolCalls") ?? "", /^Of your 10 prompts /);
	});

	test("names no price if most of those that finished have none", () => {
		const [free, priced] = [runs(6, () => 5, { cost: 0 }), runs(5, () => 5)];
		assert.match(line([...free, ...priced]) ?? "", /within 2 more turns\.$/);
		assert.match(line([...free.slice(1), ...priced]) ?? "", /within 2 more turns \(\$0\.02\)\.$/);
	});

	test("is there for calls, cost, tokens and time too, as the core counts them, and for no other meter", () => {
		const all = runs(10, () => 50, { toolCalls: 2, cost: 0.1, tokens: 1000, time: 30_000 });
		for (const [meter, used, more] of [
			...[["turns", 25, 25] as const, ["toolCalls", 20, 39] as const, ["cost", 2_000_000, 30] as const],
			...[["tokens", 20_000, 30] as const, ["time", 600_000, 30] as const],
		])
			assert.match(line(all, used, meter) ?? "", new RegExp(`^Of your 10 prompts .* within ${more} more turns`), meter);
		for (const meter of ["repeats", "sessionTurns", "dayCost"] as const) assert.equal(line(all, 3, meter), undefined);
	});

	test("is about the step of the table at or below what was spent, and about none below the first or beyond the last", () => {
		const all = runs(10, () => 3000, { cost: 0.05, tokens: 10_000 });
		assert.match(line(all, 99) ?? "", / within 2910 more turns /);
		assert.match(line(all, 100) ?? "", / within 2900 more turns /);
		assert.match(line(all, 1999) ?? "", / within 1300 more turns /);
		assert.equal(line(all, 2000), undefined);
		assert.equal(line(all, 9_999, "cost"), undefined);
		assert.match(line(all, 10_000, "cost") ?? "", /^Of your 10 /);
		assert.equal(line(all, 100_000_000, "cost"), undefined);
	});
});

describe("the line in /turn-limit", () => {
	const all = [...each(46, 2), ...each(4, 30)];

	test("says how many of 100 prompts are done by now, rounded down", () => {
		const said = (turns: number): unknown => doneLine(oddsOf(all), turns)[0];
		assert.equal(said(1), "1 turn; 0 of 100 of your prompts are done by now.");
		assert.equal(said(18), "18 turns; 92 of 100 of your prompts are done by now.");
		assert.equal(said(30), "30 turns; 100 of 100 of your prompts are done by now.");
		assert.deepEqual(doneLine(oddsOf([...each(299, 2), run(30)]), 18), [
			"18 turns; 99 of 100 of your prompts are done by now.",
		]);
	});

	test("needs 10 prompts, and turns that the table knows", () => {
		assert.deepEqual(doneLine(oddsOf(each(9, 2)), 3), []);
		assert.equal(doneLine(oddsOf(each(10, 2)), 3).length, 1);
		assert.deepEqual(doneLine(oddsOf(all), 2000), []);
	});
});
