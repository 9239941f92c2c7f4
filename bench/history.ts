/**
 * Measures `advise` and the table of odds on 2,000 sessions of 250 MB and on a hundredth of them, to show the growth.
 *
 *     node bench/history.ts
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { advise } from "../src/history/index.ts";
import { isStale, loadOdds, makeOdds, oddsLine } from "../src/history/odds-index.ts";
import type { Scope } from "../test/harness/wait.ts";
import type { Part } from "./aims.ts";
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

/** Seconds and MiB for 250 MB in the worker; milliseconds in which the main thread does nothing else. */
const ODDS_AIM = { seconds: 5, rss: 200, ms: 10 } as const;

/** What the table of odds costs. */
interface OddsCost {
	readonly seconds: number;
	/** Of the process, the worker's included, in MiB. */
	readonly rss: number;
	/** In which the main thread was busy with starting the worker, with reading the table at a question, and in all. */
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
	const odds = await measuredOdds(join(folder, "large"));
	const middle = (name: keyof OddsCost): number => median(odds.map((cost) => cost[name]));
	const shown = (name: keyof OddsCost, digits: number): string => middle(name).toFixed(digits);
	const oddsHead = [
		"MB",
		"seconds",
		"peak RSS, MiB",
		"main thread: start, ms",
		"a question, ms",
		"in all, ms",
		"bytes",
	];
	const oddsRow = [250, shown("seconds", 1), shown("rss", 0), shown("start", 1), shown("read", 2), shown("all", 1)];
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

The table of odds, made in a worker from the same sessions. The main thread loads what starts the worker, starts it, and
reads the table at a question; "in all" is everything that it does until the worker has ended.

${table(oddsHead, [[...oddsRow, middle("bytes")]])}`;
	return { text, aims };
}

async function measuredOdds(sessionDir: string): Promise<OddsCost[]> {
	const costs: OddsCost[] = [];
	for (let i = 0; i < ROUNDS; i++) {
		const { stdout } = await promisify(execFile)(process.execPath, [import.meta.filename, sessionDir, "odds"]);
		costs.push(JSON.parse(stdout) as OddsCost);
	}
	return costs;
}

async function measureOdds(sessionDir: string): Promise<OddsCost> {
	const agentDir = mkdtempSync(join(tmpdir(), "pi-odds-"));
	try {
		writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ sessionDir }));
		const awake = setInterval(() => {}, 60_000);
		const [begun, busy] = [performance.now(), performance.eventLoopUtilization()];
		if (!isStale(agentDir, Date.now())) throw new Error("There is a table already.");
		const made = makeOdds({ agentDir, cwd: agentDir });
		await new Promise(setImmediate);
		await new Promise(setImmediate);
		const start = performance.eventLoopUtilization(busy).active;
		await made;
		const seconds = (performance.now() - begun) / 1000;
		const until = performance.eventLoopUtilization(busy).active;
		clearInterval(awake);
		const asked = performance.now();
		const odds = loadOdds(agentDir);
		if (typeof odds === "string" || oddsLine(odds, "turns", 25).length === 0) throw new Error("There is no table.");
		const read = performance.now() - asked;
		const { size: bytes } = statSync(join(agentDir, "turn-limit-odds.json"));
		return { seconds, rss: process.resourceUsage().maxRSS / 1024, start, read, all: until + read, bytes };
	} finally {
		rmSync(agentDir, { recursive: true });
	}
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
	const [folder, part] = process.argv.slice(2);
	if (folder === undefined) console.log((await scoped(history)).text);
	else console.log(JSON.stringify(await (part === "odds" ? measureOdds(folder) : measure(folder))));
}
