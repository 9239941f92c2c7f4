/** How much room do we take, on disk and in memory? */
import type { Scope } from "../test/harness/wait.ts";
import type { Part } from "./aims.ts";
import { longSession } from "./child.ts";
import { interleave, median, spread, table } from "./figures.ts";
import { entryOf, installed } from "./package.ts";
import { isShort } from "./scope.ts";

const ROUNDS = isShort ? 1 : 3;
const TURNS = isShort ? 1_000 : 10_000;

/** Percent that the heap in use may be larger: our own code and state. */
const ENOUGH = 3;

export async function footprint(t: Scope): Promise<Part> {
	const { folder, packedBytes, installedBytes, files, packages } = await installed(t);
	const measured = await interleave(ROUNDS, {
		"no extension": () => longSession({ subject: null, turns: TURNS, compacts: true }),
		"pi-turn-limit": () => longSession({ subject: { file: entryOf(folder) }, turns: TURNS, compacts: true }),
	});
	const [none = 0, ours = 0] = Object.values(measured).map((costs) => median(costs.map(({ used }) => used)));
	const more = (ours / none - 1) * 100;
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

Memory after one run of ${TURNS} turns in one process, with compactions, garbage collected; ${ROUNDS} rounds, interleaved. V8 holds more
of its heap than is in use, by how much depends on when it last collected; the resident memory follows that.

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
				aim: `No memory that grows with the turns (less than ${ENOUGH} % more heap in use after ${TURNS})`,
				measured: `${more.toFixed(1)} %`,
				isMet: more < ENOUGH,
				otherwise: "see Footprint below",
			},
		],
	};
}
