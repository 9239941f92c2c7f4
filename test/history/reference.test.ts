import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { advise, type Advice, type Limits, type HistoryMeter, type OddsRow } from "../../src/history/index.ts";
import type { Scope } from "../harness/wait.ts";
import { check } from "../spec/check.ts";
import { odds, reference } from "./reference.ts";
import { folder, Story } from "./story.ts";

const cents = fc.integer({ min: 0, max: 300 }).map((n) => n / 100);
const small = fc.integer({ min: 0, max: 3 });

/** One thing that happens in a session. */
const happening = fc.oneof(
	{ weight: 4, arbitrary: fc.constant((s: Story) => s.prompt()) },
	{
		weight: 6,
		arbitrary: fc.record({ calls: small, cost: cents, seconds: small }).map((a) => (s: Story) => s.answer(a)),
	},
	{ weight: 5, arbitrary: fc.constant((s: Story) => s.result()) },
	{ weight: 2, arbitrary: fc.integer({ min: 1, max: 8 }).map((n) => (s: Story) => s.turns(n)) },
	{
		weight: 1,
		arbitrary: fc.record({ cost: cents }).map(
			({ cost }) =>
				(s: Story) =>
					s.result({ usage: usage(cost), nestedCalls: { calls: [1, 2] } }),
		),
	},
	{ weight: 2, arbitrary: fc.constant((s: Story) => s.queued()) },
	{ weight: 2, arbitrary: fc.constant((s: Story) => s.failure()) },
	{
		weight: 2,
		arbitrary: fc
			.constantFrom("error", "aborted", "length")
			.map((stopReason) => (s: Story) => s.answer({ stopReason })),
	},
	{
		weight: 1,
		arbitrary: fc.constantFrom("aborted", "stop").map((stopReason) => (s: Story) => s.answer({ stopReason, text: "" })),
	},
	{
		weight: 2,
		arbitrary: fc.constantFrom("compaction", "branch_summary", "usage").map((type) => (s: Story) => s.charge(type)),
	},
	{
		weight: 1,
		arbitrary: fc
			.constantFrom("custom_message", "label", "model_change", "context_edit")
			.map((type) => (s: Story) => s.entry({ type })),
	},
	{ weight: 1, arbitrary: fc.constant((s: Story) => s.bash()) },
	{
		weight: 1,
		arbitrary: fc.constant((s: Story) => s.entry({ type: "message", message: { role: "custom", content: [] } })),
	},
	{
		weight: 1,
		arbitrary: fc
			.record({
				kind: fc.constantFrom("completed", "wrapped_up", "synthesized", "declined", "exhausted"),
				continuations: small,
				attended: fc.option(fc.boolean(), { nil: undefined }),
			})
			.map((data) => (s: Story) => s.outcome(data)),
	},
);

/** Goes back to an earlier entry, or before the first one. */
const jump = fc.nat().map((n) => (s: Story) => s.goTo(s.entries[n % (s.entries.length + 1)]?.id ?? null));

/** A session and the files that hold it. */
const session = fc.record({
	happenings: fc.array(happening, { minLength: 1, maxLength: 25 }),
	linear: fc.boolean(),
	jumps: fc.array(fc.tuple(fc.nat({ max: 24 }), jump), { maxLength: 3 }),
	broken: fc.array(fc.nat({ max: 30 }), { maxLength: 2 }),
	fork: fc.option(fc.nat()),
	copy: fc.option(fc.nat({ max: 30 })),
});

function usage(total: number): object {
	return { input: 3, output: 5, cacheRead: 100, cacheWrite: 7, cost: { total } };
}

type Session = typeof session extends fc.Arbitrary<infer T> ? T : never;

function filesOf(sessions: readonly Session[]): Record<string, string[]> {
	const files: Record<string, string[]> = {};
	sessions.forEach(({ happenings, linear, jumps, broken, fork, copy }, n) => {
		const story = new Story(`s${n}`, { at: Date.UTC(2026, 0, 1 + n) }).prompt();
		happenings.forEach((happens, i) => {
			if (!linear) for (const [at, jump] of jumps) if (at === i) jump(story);
			happens(story);
		});
		const lines = linear ? story.linesOfVersion1() : story.lines();
		files[`${n}-b.jsonl`] = lines.map((line, i) => (i > 1 && broken.includes(i) ? line.slice(0, -1) : line));
		if (copy !== null) files[`${n}-${copy % 2 === 0 ? "a" : "c"}.jsonl`] = lines.slice(0, 2 + copy);
		if (fork === null || linear) return;
		const branch = story.goTo(story.entries[fork % story.entries.length]?.id ?? null).fork(`f${n}`);
		branch.clock = story.clock;
		files[`${n}-d.jsonl`] = branch.prompt("forked").turns(2).lines();
	});
	return files;
}

/** The figures of the advice that the reference gives, too. */
function compared(advice: Advice, values: Record<HistoryMeter, number[]>, limits: Limits): object {
	for (const [meter, all] of Object.entries(values) as [HistoryMeter, number[]][]) {
		const some = meter === "cost" ? all.filter((cost) => cost > 0) : all;
		assert.deepEqual(advice.meters[meter], naive(some), meter);
	}
	for (const { from, to, prompts } of advice.histogram)
		assert.equal(prompts, values.turns.filter((n) => n >= from && n <= (to ?? n)).length);
	const { prompts, priced, people, asked } = advice;
	return {
		...{ prompts, priced, values },
		...{ attended: people.attended?.prompts ?? 0, headless: people.headless?.prompts ?? 0 },
		...{ yes: asked.yes, outcomes: Object.values(asked.outcomes).reduce((a, b) => a + b, 0) },
		asked: Object.keys(limits).map((id) => {
			const row = advice.whatIf.find(({ meter, is }) => meter === id && is === "present");
			const { asked = 0, finished = 0, beyond } = row ?? {};
			return { meter: id, limit: limits[id as HistoryMeter], asked, finished, beyond: beyond?.cost ?? 0 };
		}),
	};
}

/** The smallest value that at least so many percent do not exceed. */
function naive(values: readonly number[]): object | null {
	if (values.length === 0) return null;
	const at = (percent: number): number =>
		Math.min(...values.filter((value) => values.filter((v) => v <= value).length * 100 >= percent * values.length));
	const p99 = values.length < 100 ? null : at(99);
	return { prompts: values.length, p50: at(50), p90: at(90), p95: at(95), p99, max: Math.max(...values) };
}

async function agree(t: Scope, sessions: readonly Session[], limits: Limits): Promise<void> {
	const files = filesOf(sessions);
	const sessionDir = folder(t, files);
	const texts = Object.keys(files)
		.sort()
		.map((name) => readFileSync(join(sessionDir, name), "utf8"));
	const expected = reference(texts, limits) as { values: Record<HistoryMeter, number[]> };
	const advice = await advise({ sessionDir, limits });
	assert.deepEqual(compared(advice, expected.values, limits), expected);
	for (const [meter, rows] of Object.entries(advice.odds.rows) as [HistoryMeter, OddsRow[]][]) {
		for (const row of rows) assert.deepEqual(row, odds(texts, meter, row.at), meter);
	}
}

test("advise, and the table of odds, find what a slow reading with pi's own parser finds, whatever is in the files", async (t) => {
	const limits = fc.record({
		...{ turns: fc.integer({ min: 0, max: 6 }), toolCalls: fc.integer({ min: 0, max: 6 }), cost: cents },
		...{ tokens: fc.integer({ min: 0, max: 2000 }), time: fc.integer({ min: 0, max: 40 }) },
	});
	const property = fc.asyncProperty(fc.array(session, { maxLength: 3 }), limits, (sessions, limits) =>
		agree(t, sessions, limits),
	);
	await check(property, 100, 40, 12);
});
