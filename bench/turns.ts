/** What does a turn cost with us, and does that grow with the session? */
import { median, spread, table } from "./figures.ts";
import { interleave } from "./figures.ts";
import { type Cost, type Subject } from "./long-session.ts";
import { longSession } from "./child.ts";

const ROUNDS = 3;
const TURNS = 2_000;

/** Stretches of turns, by where they begin; a single turn would be noise. */
const STRETCHES = [10, 500, 1_000, 1_900];
const LENGTH = 100;

const subjects: Record<string, Subject> = {
	"no extension": "none",
	"listens, does nothing": "listens",
	"the same, not to turn_end": "listens without turn_end",
	"pi-turn-limit": "ours",
};

export async function turns(): Promise<string> {
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

One run of ${TURNS} turns in one process, never compacted, with a model that answers at once: all that is measured is pi and
the extension. ${ROUNDS} rounds, interleaved, each in a process of its own; the median of ${LENGTH} turns each.

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

function stretch(values: readonly number[], from: number): number {
	return median(values.slice(from - 1, from - 1 + LENGTH));
}
