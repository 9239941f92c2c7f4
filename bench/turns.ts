/** What does a turn cost with us, and does that grow with the session? */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { calls, host, text, times } from "../test/harness/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import { longSession } from "./child.ts";
import { interleave, median, spread, table } from "./figures.ts";
import type { Cost, Subject, Turns } from "./long-session.ts";

const REAL_TURNS = 300;
const REAL_FROM = 10;

const ROUNDS = 3;
const TURNS = 2_000;

/** Stretches of turns, by where they begin; a single turn would be noise. */
const STRETCHES = [10, 500, 1_000, 1_900];
const LENGTH = 100;

const probe = fileURLToPath(import.meta.resolve("./probe.ts"));

const subjects: Record<string, Subject> = {
	"no extension": "none",
	"listens, does nothing": "listens",
	"the same, not to turn_end": "listens without turn_end",
	"pi-turn-limit": "ours",
};

export async function turns(t: Scope): Promise<string> {
	const real = await interleave(ROUNDS, {
		none: () => realRun(t, "none"),
		ours: () => realRun(t, "ours"),
	});
	const own = (real["none"] ?? []).map(({ turns }) => median(turns.slice(REAL_FROM)));
	const inHandlers = (real["ours"] ?? []).map(({ handlers }) => median(handlers.slice(REAL_FROM)));
	const measured = await interleave(
		ROUNDS,
		Object.fromEntries(
			Object.entries(subjects).map(([name, subject]) => [name, () => longSession({ subject, turns: TURNS })]),
		),
	);
	const none = measured["no extension"] ?? [];
	const ours = measured["pi-turn-limit"] ?? [];
	const times = (costs: Cost[], at: number): number[] => costs.map((cost) => stretch(cost.turns, at));
	const head = ["", ...STRETCHES.map((at) => `from turn ${at}`)];
	const ratio = (costs: Cost[]): string[] =>
		STRETCHES.map((at) => spread(times(costs, at).map((ms, i) => (ms / (times(none, at)[i] ?? NaN) - 1) * 100)));
	return `## Per turn

A real pi (\`-p\`) that reads a file in each of ${REAL_TURNS} turns, the model behind HTTP on loopback; ${ROUNDS} rounds,
interleaved; the median of the turns from ${REAL_FROM} on:

${table(
	["pi's own time, ms", "in our handlers, µs", "% of pi's own time"],
	[
		[
			spread(own),
			spread(inHandlers.map((ms) => ms * 1000)),
			spread(
				inHandlers.map((ms, i) => (ms / (own[i] ?? NaN)) * 100),
				2,
			),
		],
	],
)}

The rest is about growth. One run of ${TURNS} turns in one process, never compacted, with a model that answers at once: all that is measured is pi and
the extension, and of pi the least that there is. ${ROUNDS} rounds, interleaved, each in a process of its own; the median of
${LENGTH} turns each.

In our handlers:

${table(head, [
	["µs per turn", ...STRETCHES.map((at) => spread(ours.map((cost) => stretch(cost.handlers, at) * 1000)))],
	[
		"% of pi's own time",
		...STRETCHES.map((at) =>
			spread(
				ours.map((cost, i) => (stretch(cost.handlers, at) / (times(none, at)[i] ?? NaN)) * 100),
				2,
			),
		),
	],
])}

The whole turn, what pi does because somebody listens included: milliseconds without an extension, then % more than that.

${table(head, [
	["no extension, ms", ...STRETCHES.map((at) => spread(times(none, at), 2))],
	...Object.entries(measured)
		.slice(1)
		.map(([name, costs]) => [`${name}, %`, ...ratio(costs)]),
])}`;
}

/** What a real pi and our handlers in it spend, by turn. */
async function realRun(t: Scope, subject: "none" | "ours"): Promise<Turns> {
	const read = calls({ name: "read", args: { path: "notes" } });
	const pi = await host(t, {
		model: [...times(REAL_TURNS, read), text("done")],
		files: { notes: "Nothing of note.\n" },
		...{ env: { PROBE: subject, PI_MAX_TURNS: "1000000" }, extension: false, before: [probe] },
	});
	await pi.print("go");
	return JSON.parse(readFileSync(join(pi.cwd, "cost.json"), "utf8")) as Turns;
}

function stretch(values: readonly number[], from: number): number {
	return median(values.slice(from - 1, from - 1 + LENGTH));
}
