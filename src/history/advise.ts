import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { analyse, type Figures, type Limits } from "./analysis.ts";
import { CHUNK, locate, readLines, sessionFiles, type Where } from "./files.ts";
import { isCounted, type Run } from "./run.ts";
import { Session } from "./session.ts";

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
	/** Prompts that stand in more than one file, because of forks and copies; they count once. */
	readonly copies: number;
	readonly brokenLines: number;
	/** Files and folders that could not be read, and files that hold no session. */
	readonly unreadable: number;
}

/** Plain data, as `--json` prints it. `version` changes when a field changes its meaning or goes. */
export interface Advice extends Figures {
	readonly version: 1;
	readonly sample: Sample;
}

/** Derives figures about limits from the person's sessions. Writes nothing. Rejects if the directory cannot be read. */
export async function advise(options: AdviseOptions = {}): Promise<Advice> {
	const { now = Date.now(), days, limits, signal, onProgress } = options;
	if (days !== undefined && !(days > 0 && days < Infinity))
		throw new RangeError(`days: expected a number above 0, got ${days}.`);
	signal?.throwIfAborted();
	const directory = await locate(options);
	const project = options.project ? resolve(options.cwd ?? process.cwd()) : null;
	const since = days === undefined ? -Infinity : now - days * 86_400_000;
	const paths = await sessionFiles(directory);
	const buffer = Buffer.allocUnsafe(CHUNK);
	const runs = new Map<string, Run>();
	const ids = new Set<string>();
	let [files, copies, brokenLines, unreadable] = [0, 0, 0, 0];
	if (paths.length > 0) onProgress?.({ files: 0, of: paths.length });
	for (const [i, path] of paths.entries()) {
		const session = await read(path, { since, project, buffer, signal });
		if (session === "unreadable") unreadable++;
		else if (session !== "left out") {
			files++;
			brokenLines += session.broken;
			for (const run of session.runs().filter(({ at }) => at >= since)) {
				const other = runs.get(run.key);
				if (isCounted(run)) ids.add(session.header?.id ?? path);
				if (other && isCounted(other)) copies++;
				// A copy that was made in mid-run holds less of it.
				if (!other || run.entries > other.entries) runs.set(run.key, run);
			}
		}
		onProgress?.({ files: i + 1, of: paths.length });
	}
	const sample = { directory, project, days: days ?? null, files, sessions: ids.size, copies, brokenLines, unreadable };
	return { version: 1, sample, ...analyse([...runs.values()], limits) };
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
): Promise<Session | "left out" | "unreadable"> {
	const session = new Session();
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
function isIn({ cwd }: NonNullable<Session["header"]>, project: string): boolean {
	return cwd !== "" && resolve(cwd) === project;
}
