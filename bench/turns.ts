/** What does a turn cost with us, and does that grow with the session? */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { calls, host, text } from "../test/harness/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import type { Part } from "./aims.ts";
import { longSession } from "./child.ts";
import { interleave, median, spread, table } from "./figures.ts";
import type { Turns } from "./long-session.ts";
import { earlier, entryOf, installed } from "./package.ts";
import { isShort } from "./scope.ts";
import type { Subject } from "./subject.ts";
import { type Extension, listened } from "./timed.ts";

const REAL_TURNS = 300;
const REAL_FROM = 10;

const ROUNDS = isShort ? 1 : 3;
const TURNS = isShort ? 700 : 2_000;

/** Stretches of turns, by where they begin; a single turn would be noise. */
const STRETCHES = isShort ? [10, 500] : [10, 500, 1_000, 1_900];
const LENGTH = 100;

/** Of pi's own time. */
const ENOUGH = 1;

const probe = fileURLToPath(import.meta.resolve("./probe.ts"));

const NONE = "no extension";
const EMPTY = "empty handlers";
const OURS = "pi-turn-limit";

export async function turns(t: Scope): Promise<Part> {
	const file = entryOf((await installed(t)).folder);
	const { default: extension } = (await import(file)) as { default: Extension };
	const names = await listened(extension);
	const subjects: Record<string, Subject> = {
		[NONE]: null,
		[EMPTY]: { listens: names },
		"the same, and turn_end": { listens: [...names, "turn_end"] },
		[OURS]: { file },
		...(earlier === undefined ? {} : { [`${OURS}, earlier`]: { file: entryOf(earlier) } }),
	};
	const measure = (run: (subject: Subject) => Promise<Turns>): Promise<Record<string, Turns[]>> =>
		interleave(
			ROUNDS,
			Object.fromEntries(Object.entries(subjects).map(([name, subject]) => [name, () => run(subject)])),
		);
	const real = await measure((subject) => realRun(t, subject));
	const long = await measure((subject) => longSession({ subject, turns: TURNS }));
	const ofReal = (turns: readonly number[]): number => median(turns.slice(REAL_FROM));
	const ofStretch = (from: number) => (turns: readonly number[]) => median(turns.slice(from - 1, from - 1 + LENGTH));
	const head = ["", ...STRETCHES.map((at) => `from turn ${at}`)];
	const others = Object.keys(subjects).filter((name) => name !== NONE);
	const timed = others.filter((name) => name.startsWith(OURS));

	const realShare = share(real, OURS, ofReal);
	const stretches = STRETCHES.map((at) => median(inHandlers(long, OURS, ofStretch(at))));
	const growth = Math.max(...stretches) / (stretches[0] ?? NaN);
	return {
		text: `## Per turn

In our handlers: less what the same number of empty handlers takes, which is the measuring itself. ${ROUNDS} rounds, interleaved.

A real pi (\`-p\`) that reads a file in each of ${REAL_TURNS} turns, the model behind HTTP on loopback; the median of the turns from
${REAL_FROM} on:

${table(
	["", "pi's own time, ms", "in the handlers, µs", "% of pi's own time"],
	timed.map((name) => [
		name,
		spread(own(real, ofReal)),
		spread(inHandlers(real, name, ofReal)),
		spread(share(real, name, ofReal), 2),
	]),
)}

The rest is about growth. One run of ${TURNS} turns in one process, never compacted, with a model that answers at once: all that is
measured is pi and the extension, and of pi the least that there is. Each in a process of its own; the median of ${LENGTH} turns each.

In our handlers:

${table(
	head,
	timed.flatMap((name) => [
		[`${name}, µs`, ...STRETCHES.map((at) => spread(inHandlers(long, name, ofStretch(at))))],
		[`${name}, % of pi's own time`, ...STRETCHES.map((at) => spread(share(long, name, ofStretch(at)), 2))],
	]),
)}

The whole turn, what pi does because somebody listens included: milliseconds of the processor without an extension, then % more.

${table(head, [
	[`${NONE}, ms`, ...STRETCHES.map((at) => spread(own(long, ofStretch(at)), 2))],
	...others.map((name) => [`${name}, %`, ...STRETCHES.map((at) => spread(more(long, name, ofStretch(at))))]),
])}`,
		aims: [
			{
				aim: `A turn costs less than ${ENOUGH}% of pi's own smallest turn`,
				measured: `${spread(realShare, 2)}%`,
				isMet: median(realShare) < ENOUGH,
				otherwise:
					"the gate decides twice in a turn and charges in between; this model answers at once, a real one takes seconds",
			},
			{
				aim: "That does not grow with the session (less than twice)",
				measured: `${growth.toFixed(1)} times`,
				isMet: growth < 2,
				otherwise: "our code falls out of the processor's caches while pi copies its transcript",
			},
		],
	};
}

type Measured = Record<string, Turns[]>;
type Figure = (turns: readonly number[]) => number;

/** Milliseconds of a turn without an extension, by round. */
function own(measured: Measured, figure: Figure): number[] {
	return (measured[NONE] ?? []).map(({ turns }) => figure(turns));
}

/** Microseconds, by round. */
function inHandlers(measured: Measured, name: string, figure: Figure): number[] {
	const empty = (measured[EMPTY] ?? []).map(({ handlers }) => figure(handlers));
	return (measured[name] ?? []).map(({ handlers }, i) => (figure(handlers) - (empty[i] ?? NaN)) * 1000);
}

/** Percent of pi's own time, by round. */
function share(measured: Measured, name: string, figure: Figure): number[] {
	const base = own(measured, figure);
	return inHandlers(measured, name, figure).map((µs, i) => µs / 10 / (base[i] ?? NaN));
}

/** Percent that a whole turn takes longer, by round. */
function more(measured: Measured, name: string, figure: Figure): number[] {
	const base = own(measured, figure);
	return (measured[name] ?? []).map(({ turns }, i) => (figure(turns) / (base[i] ?? NaN) - 1) * 100);
}

/** What a real pi and the handlers in it spend, by turn. */
async function realRun(t: Scope, subject: Subject): Promise<Turns> {
	const pi = await host(t, {
		// Another call each time, or the limit on repeats would end it.
		model: (_request, n) =>
			n <= REAL_TURNS ? calls({ name: "read", args: { path: "notes", limit: n } }) : text("done"),
		...{ files: { notes: "Nothing of note.\n" }, fresh: true, extension: false, before: [probe] },
		env: { PROBE: JSON.stringify(subject), PI_MAX_TURNS: "1000000", PI_TURN_LIMIT_REPEATS: "10" },
	});
	await pi.print("go");
	return JSON.parse(readFileSync(join(pi.cwd, "cost.json"), "utf8")) as Turns;
}
