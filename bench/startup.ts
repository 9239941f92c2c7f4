/** How much later is pi ready for its first command? */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { host, type HostOptions } from "../test/harness/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import { interleave, spread, table } from "./figures.ts";
import { installed } from "./package.ts";
import { scoped } from "./scope.ts";

const ROUNDS = 31;
const FIRST_ROUNDS = 11;

export async function startup(t: Scope): Promise<string> {
	const { folder } = await installed(t);
	const extensions: Record<string, string[]> = {
		"no extension": [],
		"an empty one": [fileURLToPath(import.meta.resolve("./empty.ts"))],
		"pi-turn-limit": [folder],
	};
	const measure = async (rounds: number, isFirst: boolean): Promise<Record<string, number[]>> => {
		const caches = mkdtempSync(join(tmpdir(), "pi-bench-"));
		const subject = (before: string[]) => () => {
			const TMPDIR = isFirst ? mkdtempSync(join(caches, "first-")) : caches;
			return untilReady({ extension: false, before, env: { TMPDIR } });
		};
		const subjects = Object.fromEntries(Object.entries(extensions).map(([name, before]) => [name, subject(before)]));
		try {
			if (!isFirst) await interleave(1, subjects); // fills the cache
			return await interleave(rounds, subjects);
		} finally {
			rmSync(caches, { recursive: true, force: true });
		}
	};
	const later = await measure(ROUNDS, false);
	const first = await measure(FIRST_ROUNDS, true);
	const head = ["extension", "ms until ready", "ms more than no extension", "ms more than an empty one"];
	return `## Start-up

From the start of \`pi --mode rpc\` until it answers, ${ROUNDS} rounds, interleaved; medians, and between what the middle half
lies. Differences are taken within a round. The package is packed, and installed from the tarball.

${table(head, rows(later))}

The first start, before pi has cached what it made of the TypeScript sources, ${FIRST_ROUNDS} rounds:

${table(head, rows(first))}`;
}

/** Starts pi, waits until it answers, ends it; gives the milliseconds until the answer. */
function untilReady(options: HostOptions): Promise<number> {
	return scoped(async (t) => {
		const pi = await host(t, options);
		const start = performance.now();
		const rpc = await pi.rpc();
		const ms = performance.now() - start;
		await rpc.close();
		return ms;
	});
}

function rows(measured: Record<string, number[]>): string[][] {
	const [none = [], empty = []] = Object.values(measured);
	const minus = (a: number[], b: number[]): string =>
		a === b
			? "–"
			: spread(
					a.map((value, i) => value - (b[i] ?? 0)),
					0,
				);
	return Object.entries(measured).map(([name, values]) => [
		...[name, spread(values, 0), minus(values, none), values === none ? "–" : minus(values, empty)],
	]);
}
