/** How much room do we take, on disk and in memory? */
import type { Scope } from "../test/harness/wait.ts";
import type { Part } from "./aims.ts";
import { longSession } from "./child.ts";
import { interleave, median, spread, table } from "./figures.ts";
import { entryOf, installed } from "./package.ts";
import { isShort } from "./scope.ts";

const ROUNDS = isShort ? 1 : 3;
const TURNS = isShort ? 1_000 : 10_000;

/** V8 goes on compiling for thousands of turns, and keeps what it compiles. */
const FIRST = TURNS / 2;

/** KiB that we may hold more after all turns than after the first: 50 bytes a turn, which is noise. */
const ENOUGH = 256;

export async function footprint(t: Scope): Promise<Part> {
	const { folder, packedBytes, installedBytes, files, packages } = await installed(t);
	const file = entryOf(folder);
	const measured = await interleave(ROUNDS, {
		[`no extension, ${FIRST} turns`]: () => longSession({ subject: null, turns: FIRST, compacts: true }),
		[`pi-turn-limit, ${FIRST} turns`]: () => longSession({ subject: { file }, turns: FIRST, compacts: true }),
		[`no extension, ${TURNS} turns`]: () => longSession({ subject: null, turns: TURNS, compacts: true }),
		[`pi-turn-limit, ${TURNS} turns`]: () => longSession({ subject: { file }, turns: TURNS, compacts: true }),
	});
	const used = Object.values(measured).map((costs) => median(costs.map(({ used }) => used)));
	const [none = 0, ours = 0, noneLater = 0, oursLater = 0] = used;
	const grown = (oursLater - noneLater - (ours - none)) / 1024;
	const mib = (bytes: number[]): string => spread(bytes.map((bytes) => bytes / 1024 / 1024));
	const text = `## Footprint

${table(
	["", "KiB"],
	[
		["packed", (packedBytes / 1024).toFixed(0)],
		[`installed, ${files} files`, (installedBytes / 1024).toFixed(0)],
	],
)}

Packages that an install brings: ${packages}.

Memory after one run in one process, with compactions, garbage collected; ${ROUNDS} rounds, interleaved. V8 holds more of its heap
than is in use, by how much depends on when it last collected; the resident memory follows that.

${table(
	["", "resident, MiB", "JavaScript heap: committed, MiB", "in use, MiB"],
	Object.entries(measured).map(([name, costs]) => [
		...[name, mib(costs.map(({ resident }) => resident)), mib(costs.map(({ committed }) => committed))],
		mib(costs.map(({ used }) => used)),
	]),
)}`;
	return {
		text,
		aims: [
			{
				...{ aim: "One package", measured: String(packages), isMet: packages === 1 },
				otherwise: "an install brings others",
			},
			{
				aim: `No memory that grows with the turns (of the heap in use, less than ${ENOUGH} KiB more is ours after ${TURNS} than after ${FIRST})`,
				measured: `${grown.toFixed(0)} KiB`,
				isMet: grown < ENOUGH,
				otherwise: "something of a turn is kept",
			},
		],
	};
}
