import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { advise, render } from "../../src/history/index.ts";
import type { PastRun } from "../../src/history/run.ts";
import { defaults, KEYS, meterOf, SETTINGS } from "../../src/settings/settings.ts";
import { check } from "../spec/check.ts";
import { docs, textIn } from "../docs/picture.ts";
import { write } from "../harness/folders.ts";
import { personsSessions } from "./person.ts";
import { adviceFrom, example, run, runs } from "./runs.ts";
import { folder } from "./story.ts";

const [counting, reasons] = ["advice-counting.md", "advice-reasons.md"].map((page) =>
	readFileSync(join(docs, page), "utf8"),
) as [string, string];

const WIDE = `Your prompts
240 prompts in 71 sessions of the last 30 days, 2026-01-01 to 2026-01-30.
Read in ~/.pi/agent/sessions.
Priced: 120 of 240, $26.36 in all.
4 copies of prompts in forks and copied files not counted again.
Skipped: 1 broken line.

Spent per prompt
              p50    p90    p95    p99    max
turns           3     10     16     51    162
tool calls      3     10     16     51    162
cost        $0.12  $0.40  $0.60  $1.60  $2.92
tokens       5.7k    19k  30.4k  96.9k   308k
time          39s  2m10s  3m28s  11m3s  35m6s

Turns per prompt
      1 0
      2 ███████████████████████████████████████████████ 76
    3–5 ██████████████████████████████████████████████████████████████████ 109
   6–10 ████████████████████ 33
  11–15 ██████ 9
  16–25 ████ 6
  26–40 ███ 4
  41–60 █ 1
 61–100 █ 1
   101+ █ 1

Finished by themselves, by turns
      1 █████████████████████████████████ 99% of 240, half within 2 more turns
      2 █████████████████████████████████ 99% of 164, half within 2 more turns
      5 ████████████████████████████████ 96% of 55, half within 4 more turns
     10 ██████████████████████████████ 91% of 22, half within 6 more turns
     15 ████████████████████████████ 85% of 13, half within 11 more turns

What a limit would have done
limit                       asked in  finished anyway  spent beyond
10 turns              22 of 240 (9%)              91%         $6.24
15 turns              13 of 240 (5%)              85%         $4.44
20 turns (suggested)   9 of 240 (4%)              78%         $3.40
25 turns (now)         7 of 240 (3%)              86%         $2.68
40 turns               3 of 240 (1%)             100%         $1.32
60 turns              2 of 240 (<1%)             100%         $0.52
$0.60 (suggested)      6 of 120 (5%)              67%         $4.44
$1.00                  3 of 120 (3%)              67%         $2.68
$5.00                  0 of 120 (0%)                –         $0.00
4m (suggested)         9 of 240 (4%)              78%         $3.56
10m                    3 of 240 (1%)             100%         $1.04
30m                   1 of 240 (<1%)             100%         $0.00

With and without a person
With a person: 80 prompts, turns p50 3, p95 14, max 51.
Without one: 80 prompts, turns p50 3, p95 15, max 73.
Not known: 80 prompts, turns p50 3, p95 16, max 162.

What the breaker did
It asked 7 times: 7 yes, 0 no, 0 for a last answer, 0 without an answer.
Runs in which a limit acted: 7 completed.

Suggestion
95 of 100 of your prompts stay within these, each rounded up:
  /turn-limit 20
  /turn-limit cost 0.60
  /turn-limit time 4m
Or all of them, after one question:
  /turn-limit advise --apply
Then, to keep what you have set for every session:
  /turn-limit save`;

const NARROW = `Your prompts
240 prompts in 71 sessions of the last
30 days, 2026-01-01 to 2026-01-30.
Read in ~/.pi/agent/sessions.
Priced: 120 of 240, $26.36 in all.
4 copies of prompts in forks and
copied files not counted again.
Skipped: 1 broken line.

Spent per prompt
             p50   p90   p95   p99
turns          3    10    16    51
tool calls     3    10    16    51
cost       $0.12 $0.40 $0.60 $1.60
tokens      5.7k   19k 30.4k 96.9k
time         39s 2m10s 3m28s 11m3s

Turns per prompt
      1 0
      2 ███████████████████ 76
    3–5 ██████████████████████████ 109
   6–10 ████████ 33
  11–15 ███ 9
  16–25 ██ 6
  26–40 █ 4
  41–60 █ 1
 61–100 █ 1
   101+ █ 1

Finished by themselves, by turns
      1 ███████████████ 99% of 240, +2
      2 ███████████████ 99% of 164, +2
      5 ███████████████ 96% of 55, +4
     10 ██████████████ 91% of 22, +6
     15 █████████████ 85% of 13, +11

What a limit would have done
limit      asked done beyond
10 turns  22/240  91%  $6.24
15 turns  13/240  85%  $4.44
20 turns+  9/240  78%  $3.40
25 turns*  7/240  86%  $2.68
40 turns   3/240 100%  $1.32
60 turns   2/240 100%  $0.52
$0.60+     6/120  67%  $4.44
$1.00      3/120  67%  $2.68
$5.00      0/120    –  $0.00
4m+        9/240  78%  $3.56
10m        3/240 100%  $1.04
30m        1/240 100%  $0.00
* now, + suggested; done: finished
anyway

With and without a person
With a person: 80 prompts, turns p50
3, p95 14, max 51.
Without one: 80 prompts, turns p50 3,
p95 15, max 73.
Not known: 80 prompts, turns p50 3,
p95 16, max 162.

What the breaker did
It asked 7 times: 7 yes, 0 no, 0 for a
last answer, 0 without an answer.
Runs in which a limit acted: 7
completed.

Suggestion
95 of 100 of your prompts stay within
these, each rounded up:
  /turn-limit 20
  /turn-limit cost 0.60
  /turn-limit time 4m
Or all of them, after one question:
  /turn-limit advise --apply
Then, to keep what you have set for
every session:
  /turn-limit save`;

test("80 columns hold every figure, and more columns show nothing else", () => {
	for (const width of [78, 80, 200]) assert.equal(render(example(), { width }), WIDE);
});

test("the picture in docs/advice.md shows what is said today", async (t) => {
	const agentDir = folder(t, {});
	write(agentDir, personsSessions(Date.UTC(2026, 0, 31)));
	const said = render(await advise({ agentDir, env: {}, limits: { turns: 25 } }), { width: 78 });
	const shown = textIn("advice")
		.split("\n")
		.map((row) => row.trim());
	for (const line of said.replace(join(agentDir, "sessions"), "~/.pi/agent/sessions").split("\n"))
		assert.ok(shown.includes(line.trim()) || line === "", line);
});

test("40 columns hold the same figures, in shorter words", () => {
	for (const width of [38, 40, 77]) assert.equal(render(example(), { width }), NARROW);
});

test("every line fits, whatever the figures are", async () => {
	const amount = fc.record({
		...{ toolCalls: fc.nat({ max: 400 }), cost: fc.double({ min: 0, max: 90, noNaN: true }) },
		...{ tokens: fc.nat({ max: 9e5 }), time: fc.nat({ max: 3e6 }) },
	});
	const some = fc.record({
		turns: fc.integer({ min: 1, max: 150 }),
		amount,
		finished: fc.boolean(),
		often: fc.constantFrom(1, 50, 300),
	});
	const limits = fc.record({
		turns: fc.nat({ max: 500 }),
		cost: fc.nat({ max: 500 }),
		toolCalls: fc.nat({ max: 5000 }),
		tokens: fc.nat({ max: 9e8 }),
		time: fc.nat({ max: 99_999 }),
	});
	const property = fc.property(
		fc.array(some, { maxLength: 5 }),
		limits,
		fc.constantFrom(38, 78),
		(all, limits, width) => {
			const many = all.flatMap(({ turns, amount, finished, often }) =>
				Array<PastRun>(often).fill(run(turns, amount, { finished })),
			);
			for (const line of render(adviceFrom(many, limits), { width }).split("\n"))
				assert.ok(line.length <= width, `${line.length}: ${line}`);
		},
	);
	await check(property, 100);
});

describe("colour", () => {
	test("changes no word", () => {
		const paint = (_role: string, text: string): string => `\x1b[1m${text}\x1b[0m`;
		const plain = render(example(), { width: 80, paint }).replaceAll(/\x1b\[\dm/g, "");
		assert.equal(plain, render(example(), { width: 80 }));
	});

	test("tells bars beyond the present limit, and the present and the suggested limit, from the others", () => {
		const seen: [string, string][] = [];
		render(example(), { width: 80, paint: (role, text) => (seen.push([role, text.trim()]), text) });
		const of = (role: string): string[] => seen.filter(([one]) => one === role).map(([, text]) => text);
		assert.equal(of("bar").length, 6 + 5);
		assert.equal(of("beyond").length, 4);
		assert.match(of("present").join(), /^25 turns \(now\) /);
		assert.match(of("suggested").join(), /^20 turns \(suggested\) /);
		assert.equal(of("heading").length, 8);
	});
});

test("a bar is beyond the limit only if all its prompts are", () => {
	const beyond = (turns: number): number => {
		let bars = 0;
		render(
			adviceFrom(
				runs(30, (i) => i + 1),
				{ turns },
			),
			{ width: 80, paint: (role, text) => ((bars += role === "beyond" ? 1 : 0), text) },
		);
		return bars;
	};
	assert.deepEqual([beyond(10), beyond(11), beyond(15), beyond(26)], [3, 2, 2, 0]);
});

test("amounts are shown as everywhere else", () => {
	for (const [turn, cells] of [
		[{ cost: 0.004, tokens: 999, time: 2_400 }, ["$0.004", "999", "2.4s"]],
		[{ cost: 0.01, tokens: 9_999, time: 59_400 }, ["$0.01", "10k", "59s"]],
		[{ cost: 99.99, tokens: 123_456, time: 3_599_000 }, ["$99.99", "123k", "59m59s"]],
		[{ cost: 1234.5, tokens: 999_700, time: 3_600_000 }, ["$1234.50", "1M", "1h"]],
		[{ cost: 99.996, tokens: 150_000_000, time: 5_460_000 }, ["$100.00", "150M", "1h31m"]],
	] as const) {
		const text = render(adviceFrom([run(1, turn)]), { width: 80 });
		const shown = ["cost", "tokens", "time"].map((name) => new RegExp(`^${name} +(\\S+) `, "m").exec(text)?.[1]);
		assert.deepEqual(shown, cells);
	}
});

test("a limit of 1 is one turn", () => {
	assert.match(
		render(adviceFrom(runs(3), { turns: 1, toolCalls: 1, tokens: 1 }), { width: 40 }),
		/^1 turn\* .*\n(.*\n)*^1 tool call\* .*\n(.*\n)*^1 token\* /m,
	);
});

describe("few sessions", () => {
	test("none at all: says so, with where it looked and for what, and nothing else", () => {
		const sample = { project: "/project", days: 1 };
		assert.equal(
			render(adviceFrom([], { turns: 25 }, sample), { width: 80 }),
			"Your prompts\nNone of /project of the last 1 day in /sessions.",
		);
	});

	test("none that can be read: says how many files hold none", () => {
		assert.equal(
			render(adviceFrom([], {}, { unreadable: 2, brokenLines: 1 }), { width: 80 }),
			"Your prompts\nNone in /sessions.\nSkipped: 1 broken line, 2 files without a session.",
		);
	});

	test("below 40 there is no suggestion, and it says how many are needed", () => {
		const text = render(adviceFrom(runs(39)), { width: 80 });
		assert.match(text, /^None: 39 prompts, and at least 40 are needed\.$/m);
		assert.doesNotMatch(text, /\/turn-limit/);
	});

	test("below 100 there is a dash for p99", () => {
		assert.match(render(adviceFrom(runs(99)), { width: 80 }), /^turns +1 +1 +1 +– +1$/m);
		assert.match(render(adviceFrom(runs(100)), { width: 80 }), /^turns +1 +1 +1 +1 +1$/m);
	});

	test("without prices, what is beyond a limit is shown in turns, and no cost is suggested", () => {
		const text = render(
			adviceFrom(
				runs(50, () => 30, { cost: 0 }),
				{ turns: 25 },
			),
			{ width: 80 },
		);
		assert.match(text, /^25 turns \(now\) +50 of 50 \(100%\) +100% +250 turns$/m);
		assert.match(text, /Priced: 0 of 50/);
		const narrow = render(
			adviceFrom(
				runs(50, () => 30, { cost: 0 }),
				{ turns: 25 },
			),
			{ width: 40 },
		);
		assert.match(narrow, /^25 turns\* +50\/50 100% +250$/m);
		assert.match(narrow, /finished\sanyway; beyond: turns$/m);
		assert.match(text, /No cost: 0 priced, and at least 40 are needed\.$/);
		assert.doesNotMatch(text, /\/turn-limit cost/);
	});
});

test("prompts with and without a person are shown apart where sessions say it", () => {
	const all = [...runs(2, () => 9), run(4, {}, { attended: true }), run(7, {}, { attended: false })];
	const text = render(adviceFrom(all), { width: 80 });
	assert.match(text, /^With a person: 1 prompt, turns p50 4, p95 4, max 4\.$/m);
	assert.match(text, /^Without one: 1 prompt, turns p50 7, p95 7, max 7\.$/m);
	assert.match(text, /^Not known: 2 prompts, turns p50 9, p95 9, max 9\.$/m);
	assert.match(render(adviceFrom(runs(3)), { width: 80 }), /^Not known: pi does not store it;/m);
});

test("what was asked and answered is shown, with the outcomes of these runs", () => {
	const outcomes = [
		{ kind: "wrapped_up", continuations: 0, answered: true, finalPass: false } as const,
		{ kind: "declined", continuations: 2, answered: false, finalPass: false } as const,
		{ kind: "declined", continuations: 0, answered: true, finalPass: false } as const,
		{ kind: "synthesized", continuations: 1, answered: true, finalPass: true } as const,
	];
	const text = render(adviceFrom([run(3, {}, { outcomes })]), { width: 80 });
	assert.match(
		text,
		/It asked 6 times: 3 yes, 1 no, 1 for a last answer, 1 without an answer\.\nRuns in which a limit acted: 1 wrapped up, 2 declined, 1 synthesized\./,
	);
});

test("a long name of a directory is not cut", () => {
	const directory = join("/", ..."a long path with many parts".split(" "), "x".repeat(60));
	assert.ok(render(adviceFrom([], {}, { directory }), { width: 40 }).includes(`${directory}.`));
});

test("the home directory is shown as ~", () => {
	const names = { directory: join(homedir(), "x"), project: join(homedir(), "my", "project") };
	assert.match(render(adviceFrom([], {}, names), { width: 80 }), /^None of ~\/my\/project in ~\/x\.$/m);
	const other = { directory: `${homedir()}x/y` };
	assert.match(render(adviceFrom([], {}, other), { width: 80 }), /^None in \/.*x\/y\.$/m);
});

test("the name of a directory cannot do anything to the terminal", () => {
	const names = { directory: "/a\x1b[2Jb", project: "/c\nd\u009b\u202Ee\u2028" };
	for (const all of [[], runs(2)]) {
		const text = render(adviceFrom(all, {}, names), { width: 80 });
		assert.match(text, /\/a \[2Jb/);
		assert.match(text, / of \/c d/);
		assert.doesNotMatch(text, /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
	}
});

test("the shares in docs/advice-reasons.md follow from its sums", () => {
	const rows = [...reasons.matchAll(/^\| \**(\d+)\** \| [\d.]+ \| \d+% \| ([\d.]+) \| (\d+)% \|/gm)];
	assert.equal(rows.length, 5);
	for (const [, limit, beyond, share] of rows) assert.equal(Math.round(Number(beyond) / 3.19), Number(share), limit);
});

test("docs/advice-reasons.md gives the defaults that hold", () => {
	const titles = { turns: "maxTurns", "tool calls": "maxToolCalls", cost: "maxCost", tokens: "maxTokens" } as const;
	const keys = { ...titles, time: "maxTime", repeats: "maxRepeats", grace: "grace" } as const;
	for (const [name, key] of Object.entries(keys)) {
		const [attended, alone] = [true, false].map((one) => SETTINGS[key].show(defaults(one)[key] as never));
		assert.ok(reasons.includes(`\n| ${name} | ${attended} | ${alone} |\n`), name);
	}
	const others = KEYS.filter((key) => meterOf(key) !== undefined && !Object.values<string>(keys).includes(key));
	assert.ok(others.every((key) => [true, false].every((one) => defaults(one)[key] === "unlimited")));
});

test("docs/advice-counting.md names every field of the advice", () => {
	const fields = [...counting.matchAll(/^\| (`.*?`) \| /gm)].flatMap(([, cell = ""]) =>
		cell.replaceAll("`", "").split(", "),
	);
	for (const field of Object.keys(example())) assert.ok(field === "version" || fields.includes(field), field);
});
