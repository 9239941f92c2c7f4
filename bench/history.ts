/**
 * Measures `advise` and the table of odds on 2,000 sessions of 250 MB and on a hundredth of them, to show the growth.
 *
 *     node bench/history.ts
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { advise } from "../src/history/index.ts";
import type * as oddsModule from "../src/history/odds-index.ts";
import type { Scope } from "../test/harness/wait.ts";
import type { Part } from "./aims.ts";
import { makeCorpus } from "./corpus.ts";
import { median, table } from "./figures.ts";
import { entryOf, installed } from "./package.ts";
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

/** Seconds and MiB for 250 MB in the worker; milliseconds of processor time of the main thread. */
const ODDS_AIM = { seconds: 5, rss: 200, ms: 10 } as const;

/** What the table of odds costs. */
interface OddsCost {
	readonly seconds: number;
	/** Of the process, the worker's included, in MiB. */
	readonly rss: number;
	/** Processor time of the main thread: for loading our code, for starting the worker, for reading the table at a question, and in all. */
	readonly load: number;
	readonly start: number;
	readonly read: number;
	readonly all: number;
	readonly bytes: number;
}

/** Makes a corpus, reads it a few times, each time in a process of its own, and gives the table. */
export async function history(t: Scope): Promise<Part> {
	const folder = mkdtempSync(join(tmpdir(), "pi-corpus-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const rows = [await row(join(folder, "small"), 20, 2.5e6), await row(join(folder, "large"), 2_000, 250e6)];
	const head = ["sessions", "MB", "prompts", "turns", "seconds", "processor s", "peak RSS, MiB"];
	const { folder: packed } = await installed(t);
	const odds = await measuredOdds(join(folder, "large"), entryOf(packed));
	const middle = (name: keyof OddsCost): number => median(odds.map((cost) => cost[name]));
	const shown = (name: keyof OddsCost, digits: number): string => middle(name).toFixed(digits);
	const oddsHead = [
		"MB",
		"seconds",
		"peak RSS, MiB",
		"main thread: load, ms",
		"start, ms",
		"a question, ms",
		"in all, ms",
		"bytes",
	];
	const thread = [shown("load", 1), shown("start", 1), shown("read", 2), shown("all", 1)];
	const oddsRow = [250, shown("seconds", 1), shown("rss", 0), ...thread];
	const aims = [
		{
			aim: `the table of odds from 250 MB, in the worker: at most ${ODDS_AIM.seconds} s and ${ODDS_AIM.rss} MiB`,
			measured: `${shown("seconds", 1)} s, ${shown("rss", 0)} MiB`,
			isMet: middle("seconds") <= ODDS_AIM.seconds && middle("rss") <= ODDS_AIM.rss,
			otherwise: "see Advice",
		},
		{
			aim: `the main thread meanwhile, and a question: at most ${ODDS_AIM.ms} ms`,
			measured: `${shown("all", 1)} ms`,
			isMet: middle("all") <= ODDS_AIM.ms,
			otherwise: "see Advice",
		},
	];
	const text = `## Advice

\`advise\` over generated sessions, the median of ${ROUNDS} readings, each in a process of its own. The aim for 250 MB is
${AIM.seconds} seconds on two cores and ${AIM.rss} MiB.

${table(head, rows)}

The table of odds, made in a worker from the same sessions. The milliseconds are processor time of the
main thread, which loads the packed code that the start of pi leaves out, starts the worker and hears of its end, and reads
the table at a question.

${table(oddsHead, [[...oddsRow, middle("bytes")]])}`;
	return { text, aims };
}

async function measuredOdds(sessionDir: string, entry: string): Promise<OddsCost[]> {
	const costs: OddsCost[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, sessionDir, entry]);
		costs.push(JSON.parse(stdout) as OddsCost);
	}
	return costs;
}

/** `entry`: the file that pi loads from our package. */
async function measureOdds(sessionDir: string, entry: string): Promise<OddsCost> {
	const agentDir = mkdtempSync(join(tmpdir(), "pi-odds-"));
	const awake = setInterval(() => {}, 60_000);
	try {
		writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ sessionDir }));
		// Pi has loaded these.
		await Promise.all([import(pathToFileURL(entry).href), import("node:crypto"), import("node:worker_threads")]);
		const name = readdirSync(dirname(entry)).find((file) => file.startsWith("odds-index-")) ?? "";
		const path = pathToFileURL(join(dirname(entry), name)).href;
		const [load, history] = await busy(async () => (await import(path)) as typeof oddsModule);
		if (!history.isStale(agentDir, Date.now())) throw new Error("There is a table already.");
		const begun = performance.now();
		const [start] = await busy(() => history.makeOdds({ agentDir, cwd: agentDir }));
		const seconds = (performance.now() - begun) / 1000;
		const [read, hasLine] = await busy(() => {
			const odds = history.loadOdds(agentDir);
			return typeof odds !== "string" && history.oddsLine(odds, "turns", 25).length > 0;
		});
		if (!hasLine) throw new Error("There is no table.");
		const { size: bytes } = statSync(join(agentDir, "turn-limit-odds.json"));
		const rss = process.resourceUsage().maxRSS / 1024;
		return { seconds, rss, load, start, read, all: load + start + read, bytes };
	} finally {
		clearInterval(awake);
		rmSync(agentDir, { recursive: true });
	}
}

/** The milliseconds of processor time that this thread took, however busy the machine is, and what came of the work. */
async function busy<T>(work: () => T): Promise<[ms: number, made: Awaited<T>]> {
	const before = process.threadCpuUsage();
	const made = await work();
	await new Promise(setImmediate);
	const { user, system } = process.threadCpuUsage(before);
	return [(user + system) / 1000, made];
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
	const [folder, entry] = process.argv.slice(2);
	if (folder === undefined) console.log((await scoped(history)).text);
	else console.log(JSON.stringify(await (entry === undefined ? measure(folder) : measureOdds(folder, entry))));
}
