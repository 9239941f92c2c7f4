/** How much room do we take, on disk and in memory? */
import type { Scope } from "../test/harness/wait.ts";
import { longSession } from "./child.ts";
import { interleave, spread, table } from "./figures.ts";
import { installed } from "./package.ts";

const ROUNDS = 3;
const TURNS = 10_000;

export async function footprint(t: Scope): Promise<string> {
	const { packedBytes, installedBytes, files, packages } = await installed(t);
	const measured = await interleave(ROUNDS, {
		"no extension": () => longSession({ subject: "none", turns: TURNS, compacts: true }),
		"pi-turn-limit": () => longSession({ subject: "ours", turns: TURNS, compacts: true }),
	});
	const mib = (bytes: number): number => bytes / 1024 / 1024;
	return `## Footprint

${table(
	["", "KiB"],
	[
		["packed", (packedBytes / 1024).toFixed(0)],
		[`installed, ${files} files`, (installedBytes / 1024).toFixed(0)],
	],
)}

Packages that an install brings: ${packages}.

Memory after one run of ${TURNS} turns in one process, with compactions, garbage collected; ${ROUNDS} rounds, interleaved:

${table(
	["", "resident, MiB", "JavaScript heap, MiB"],
	Object.entries(measured).map(([name, costs]) => [
		...[name, spread(costs.map(({ rss }) => mib(rss))), spread(costs.map(({ heap }) => mib(heap)))],
	]),
)}`;
}
