import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { analyse, type Figures, type Limits } from "./analysis.ts";
import { CHUNK, sessionDirectory, readLines, type SessionFile, sessionFiles, type Where } from "./files.ts";
import { sumSteps } from "./odds.ts";
import { DOLLARS } from "../core/unit.ts";
import { reportedTo } from "./reported.ts";
import { isPromptCounted, type PastRun } from "./run.ts";
import { type Header, PastSession } from "./session.ts";

/** The sessions to read, and the limits to compare them with. */
export interface AdviseOptions extends Where {
	/** Only sessions of this working directory. */
	readonly project?: boolean;
	/** Only prompts of the last days; a number above 0. */
	readonly days?: number;
	/** The limits in force; absent where unlimited. */
	readonly limits?: Limits;
	/** The present time in milliseconds. Default: the clock. */
	readonly now?: number;
	/** Stops the reading; the promise then rejects with the signal's reason. */
	readonly signal?: AbortSignal | undefined;
	/** Called before the first file and after every one. */
	readonly onProgress?: (progress: { readonly files: number; readonly of: number }) => void;
}

/** The origin of the figures. */
export interface Sample {
	readonly directory: string;
	/** The working directory, if only its sessions count. */
	readonly project: string | null;
	readonly days: number | null;
	/** Files that were read to the end. */
	readonly files: number;
	/** Sessions with a prompt that counts: copies of a file have the same one. */
	readonly sessions: number;
	/** Prompts found in more than one file, because of forks and copies; they count once. */
	readonly copies: number;
	/** Prompts that still run, or did a day ago; they are not counted. */
	readonly running: number;
	readonly brokenLines: number;
	/** Files and folders that could not be read, and files that hold no session. */
	readonly unreadable: number;
}

/** Plain data, as `--json` prints it. `version` changes when a field is removed or changes its meaning. */
export interface Advice extends Figures {
	readonly version: 1;
	readonly sample: Sample;
	/**
	 * Sessions that an agent started, not a person. Their prompts are not counted. `reported`: the part of their cost
	 * that tools also reported to the person's sessions; `spent` includes it.
	 */
	readonly subagents: {
		readonly sessions: number;
		readonly turns: number;
		readonly cost: number;
		readonly reported: number;
	};
}

const DAY = 86_400_000;

/** Derives figures about limits from the person's sessions. Writes nothing. Rejects if the directory cannot be read. */
export async function advise(options: AdviseOptions = {}): Promise<Advice> {
	const { now = Date.now(), days, limits, signal, onProgress } = options;
	if (days !== undefined && !(days > 0 && days < Infinity))
		throw new RangeError(`days: expected a number above 0, got ${days}.`);
	signal?.throwIfAborted();
	const directory = await sessionDirectory(options);
	const project = options.project ? resolve(options.cwd ?? process.cwd()) : null;
	const since = days === undefined ? -Infinity : now - days * DAY;
	const found = await sessionFiles(directory);
	const buffer = Buffer.allocUnsafe(CHUNK);
	const stored: Stored[] = [];
	const leftOut: SessionFile[] = [];
	let [brokenLines, unreadable] = [0, 0];
	if (found.length > 0) onProgress?.({ files: 0, of: found.length });
	for (const [i, file] of found.entries()) {
		const session = await read(file.path, { since, project, buffer, signal });
		if (session === "unreadable") unreadable++;
		else if (session === "left out") leftOut.push(file);
		else {
			brokenLines += session.broken;
			stored.push(storedIn(file, session, since, now));
		}
		onProgress?.({ files: i + 1, of: found.length });
	}
	const named = new Set(stored.flatMap(({ header: { parent } }) => (parent === undefined ? [] : resolve(parent))));
	const parents: Stored[] = [];
	for (const file of leftOut.filter(({ path }) => named.has(resolve(path)))) {
		const session = await read(file.path, { since: -Infinity, project: null, buffer, signal });
		if (typeof session === "object") parents.push(storedIn(file, session, since, now));
	}
	const isSubagent = subagentsAmong([...stored, ...parents]);
	const own = unite(stored.filter((one) => !isSubagent(one)));
	const others = stored.filter((one) => isSubagent(one) && one.runs.length > 0);
	const { runs } = unite(others);
	const theirs = runs.flatMap(({ steps }) => steps);
	// A subagent may have been told the cost of its own subagents.
	const cost = sumSteps(theirs, "cost") - reportedTo(runs, stored, others);
	const reported = Math.min(cost, reportedTo(own.runs, stored, others));
	const { sessions, copies, running } = own;
	const where = { directory, project, days: days ?? null };
	return {
		version: 1,
		sample: { ...where, files: stored.length, sessions, copies, running, brokenLines, unreadable },
		subagents: {
			sessions: others.length,
			turns: sumSteps(theirs, "turns"),
			cost: DOLLARS.write(cost),
			reported: DOLLARS.write(reported),
		},
		...analyse(own.runs, limits),
	};
}

/** A session as its file has it. */
interface Stored {
	readonly path: string;
	/** It lies where extensions keep the sessions of subagents. */
	readonly isDeeper: boolean;
	readonly header: Header;
	/** It holds entries of the session that it was made from. */
	readonly hasCopies: boolean;
	/** Those of the wanted days. */
	readonly runs: readonly PastRun[];
	/** All of them, as times. */
	readonly busy: readonly (readonly [from: number, until: number])[];
	/** The last one, if it has not ended yet. */
	readonly running: PastRun | undefined;
}

function storedIn({ path, isSubagents }: SessionFile, session: PastSession, since: number, now: number): Stored {
	const { header = { id: path, cwd: "", at: 0, parent: undefined }, hasCopies, last } = session;
	const all = session.runs();
	return {
		path: resolve(path),
		isDeeper: isSubagents,
		header,
		hasCopies,
		runs: all.filter(({ at }) => at >= since),
		// While it waits for a tool nothing is stored; a pi that was killed leaves such a run, too.
		busy: all.map(({ at, until, open }, i) => {
			const next = all[i + 1]?.at ?? Infinity;
			return [at, open ? Math.min(until + DAY, next) : until] as const;
		}),
		// A pi that was killed leaves such a run too; after a day it counts as one that did not finish.
		running: last?.open && last.until > now - DAY ? last : undefined,
	};
}

/**
 * Tells the sessions that an agent has started. Pi names a parent also in a fork, which has entries of it, and in a
 * session that a person begins from another; but then the parent does not work.
 */
function subagentsAmong(stored: readonly Stored[]): (one: Stored) => boolean {
	const byPath = new Map(stored.map((one) => [one.path, one]));
	return ({ isDeeper, header: { at, parent }, hasCopies }) => {
		if (isDeeper) return true;
		if (parent === undefined || hasCopies) return false;
		const busy = byPath.get(resolve(parent))?.busy;
		return busy === undefined || busy.some(([from, until]) => from <= at && at <= until);
	};
}

/** The prompts that a person sent, each once; those that still run are only counted. */
function unite(stored: readonly Stored[]): { runs: PastRun[]; sessions: number; copies: number; running: number } {
	const runs = new Map<string, PastRun>();
	const ids = new Set<string>();
	const running = new Set(stored.flatMap((one) => one.running ?? []));
	let copies = 0;
	for (const one of stored) {
		for (const run of one.runs) {
			const other = runs.get(run.key);
			if (isPromptCounted(run) && !running.has(run)) ids.add(one.header.id);
			if (other && isPromptCounted(other)) copies++;
			// A copy that was made in mid-run holds less of it.
			if (!other || run.entries > other.entries) runs.set(run.key, run);
		}
	}
	const all = [...runs.values()];
	const ended = all.filter((run) => !running.has(run));
	return { runs: ended, sessions: ids.size, copies, running: all.length - ended.length };
}

interface Order {
	readonly since: number;
	readonly project: string | null;
	readonly buffer: Buffer;
	readonly signal: AbortSignal | undefined;
}

async function read(
	path: string,
	{ since, project, buffer, signal }: Order,
): Promise<PastSession | "left out" | "unreadable"> {
	const session = new PastSession();
	try {
		const stats = await stat(path);
		if (!stats.isFile()) return "unreadable"; // a pipe would never end
		if (stats.mtimeMs < since) return "left out";
		for await (const lines of readLines(path, buffer, signal)) {
			for (const line of lines) session.add(line);
			if (project !== null && session.header && !isIn(session.header, project)) return "left out";
		}
	} catch {
		signal?.throwIfAborted();
		return "unreadable";
	}
	return session.header ? session : "unreadable";
}

/** False if the session does not say where it was. */
function isIn({ cwd }: NonNullable<PastSession["header"]>, project: string): boolean {
	return cwd !== "" && resolve(cwd) === project;
}
