/** The file that holds the table of odds: figures only, private to the person, in the agent directory. */
import { randomUUID } from "node:crypto";
import {
	closeSync,
	constants,
	fstatSync,
	openSync,
	readSync,
	renameSync,
	rmSync,
	type Stats,
	statSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { sessionDirectory, type Where } from "./files.ts";
import { MAX_TABLE_BYTES, type Odds, readOdds, writeOdds } from "./odds.ts";

export const ODDS_FILE = "turn-limit-odds.json";

export const DAMAGED = `Odds: ${ODDS_FILE} in pi's agent directory cannot be read. Delete it, and /turn-limit advise makes it again.`;

/** The person's own: pi's agent directory, and the working directory that a relative path in its settings starts from. */
export type Whose = Required<Pick<Where, "agentDir" | "cwd">>;

/** In milliseconds: an older table is rebuilt. */
const MAX_AGE = 86_400_000;

/** The table in an agent directory; `none` if there is no such file, `damaged` if it holds no table of ours or is somebody else's. Reads 10 KB at most and never waits. */
export function loadOdds(agentDir: string): Odds | "none" | "damaged" {
	let file: number | undefined;
	try {
		// Opening a pipe would wait for its other end.
		file = openSync(join(agentDir, ODDS_FILE), constants.O_RDONLY | constants.O_NONBLOCK);
		const stats = fstatSync(file);
		if (!stats.isFile() || !belongsToUser(stats) || stats.size > MAX_TABLE_BYTES) return "damaged";
		const buffer = Buffer.alloc(MAX_TABLE_BYTES);
		const length = readSync(file, buffer, 0, MAX_TABLE_BYTES, 0);
		return readOdds(buffer.toString("utf8", 0, length)) ?? "damaged";
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === "ENOENT" ? "none" : "damaged";
	} finally {
		if (file !== undefined) closeSync(file);
	}
}

/** Always true where users have no ids, as on Windows. */
function belongsToUser({ uid }: Stats): boolean {
	return process.getuid === undefined || uid === process.getuid();
}

/** True if the table has to be made: it is missing or damaged, or was made more than a day ago or in the future. Never throws. */
export function isStale(agentDir: string, now: number): boolean {
	try {
		const age = now - Math.floor(statSync(join(agentDir, ODDS_FILE)).mtimeMs);
		return age < 0 || age > MAX_AGE || loadOdds(agentDir) === "damaged";
	} catch {
		return true; // a link that leads in a circle, too: the new table replaces it
	}
}

/** Replaces the table as a whole, so that nobody reads half of one. Throws if it cannot. */
export function storeOdds(agentDir: string, odds: Odds): void {
	const path = join(agentDir, ODDS_FILE);
	const text = writeOdds(odds);
	if (text === undefined) return rmSync(path, { force: true });
	const written = `${path}.${randomUUID()}`;
	try {
		writeFileSync(written, text, { mode: 0o600, flag: "wx" });
		// A disk elsewhere may have a clock that is ahead, by which the table would be stale at once.
		const now = new Date();
		utimesSync(written, now, now);
		renameSync(written, path);
	} catch (error) {
		rmSync(written, { force: true });
		throw error;
	}
}

/** Stores a table that was made of all sessions in `readIn`, if that is where this person's are; else changes nothing. */
export async function keepOdds(odds: Odds, readIn: string, whose: Whose): Promise<void> {
	try {
		if (readIn === (await sessionDirectory(whose))) storeOdds(whose.agentDir, odds);
	} catch {
		// A question goes without the line.
	}
}
