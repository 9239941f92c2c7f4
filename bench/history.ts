/**
 * Measures `advise` on 2,000 sessions of 250 MB and on a hundredth of them, to show the growth.
 *
 *     node bench/history.ts
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { advise } from "../src/history/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import { makeCorpus } from "./corpus.ts";
import { median, table } from "./figures.ts";
import { scoped } from "./scope.ts";

interface Cost {
	readonly seconds: number;
	/** Of the processor, all threads together. */
	readonly cpu: number;
	/** The most that was resident, in MiB. */
	readonly rss: number;
	readonly prompts: number;
	readonly turns: number;
}

const ROUNDS = 3;

const AIM = { seconds: 15, rss: 200 } as const;

/** Makes a corpus, reads it a few times, each time in a process of its own, and gives the table. */
export async function history(t: Scope): Promise<string> {
	const folder = mkdtempSync(join(tmpdir(), "pi-corpus-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const rows = [await row(join(folder, "small"), 20, 2.5e6), await row(join(folder, "large"), 2_000, 250e6)];
	const head = ["sessions", "MB", "prompts", "turns", "seconds", "processor s", "peak RSS, MiB"];
	return `## Advice

\`advise\` over generated sessions, the median of ${ROUNDS} readings, each in a process of its own. The aim for 250 MB is
${AIM.seconds} seconds on two cores and ${AIM.rss} MiB.

${table(head, rows)}`;
}

async function row(folder: string, sessions: number, bytes: number): Promise<(string | number)[]> {
	const corpus = makeCorpus(folder, sessions, bytes);
	const costs: Cost[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, folder]);
		const cost = JSON.parse(stdout) as Cost;
		if (cost.prompts !== corpus.prompts || cost.turns !== corpus.turns)
			throw new Error(`Found ${cost.prompts} prompts and ${cost.turns} turns`, { cause: corpus });
		costs.push(cost);
	}
	const middle = (name: keyof Cost, digits: number): string => median(costs.map((cost) => cost[name])).toFixed(digits);
	const { prompts, turns } = corpus;
	return [
		sessions,
		Math.round(corpus.bytes / 1e6),
		prompts,
		turns,
		middle("seconds", 1),
		middle("cpu", 1),
		middle("rss", 0),
	];
}

async function measure(sessionDir: string): Promise<Cost> {
	const [start, before] = [performance.now(), process.cpuUsage()];
	const { prompts, whatIf } = await advise({ sessionDir, limits: { turns: 0 } });
	const { user, system } = process.cpuUsage(before);
	const seconds = (performance.now() - start) / 1000;
	// A limit of 0 asks before the first turn: all turns are beyond it.
	const turns = whatIf.find(({ is }) => is === "present")?.beyond.turns ?? 0;
	return { seconds, cpu: (user + system) / 1e6, rss: process.resourceUsage().maxRSS / 1024, prompts, turns };
}

if (import.meta.filename === process.argv[1]) {
	const folder = process.argv[2];
	console.log(folder === undefined ? await scoped(history) : JSON.stringify(await measure(folder)));
}
