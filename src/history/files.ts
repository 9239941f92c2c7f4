/** Finds pi's session files and reads their lines. Nothing here writes. */
import { constants } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { agentDirectory } from "../settings/agent-directory.ts";

export interface Where {
	/** A directory of session files, in place of the one that pi would use. */
	readonly sessionDir?: string;
	/** The directory of the present session, if it has one: pi knows better than we where it keeps them. */
	readonly presentDir?: string;
	/** pi's agent directory. Default: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
	readonly agentDir?: string;
	/** Default: that of the process. */
	readonly env?: Readonly<Record<string, string | undefined>>;
	/** The working directory. Default: that of the process. */
	readonly cwd?: string;
}

/** Bytes that are read at a time: small enough to let a terminal draw in between. */
export const CHUNK = 256 * 1024;

/** A longer line is cut off here, so that it counts as broken and memory stays flat. */
const MAX_LINE = 32 * 1024 * 1024;

/** A longer line loses its long texts, and is cut off here: as values it would take more than ten times the memory. */
const MAX_PARSED = 512 * 1024;

/** A longer text, such as an image, holds nothing that is counted. */
const MAX_TEXT = 1024;

const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** The directory of the sessions, as pi finds it. Rejects if `sessionDir` is given and is no directory. */
export async function sessionDirectory(where: Where): Promise<string> {
	const { sessionDir, presentDir, agentDir, env = process.env, cwd = process.cwd() } = where;
	const path = (text: string): string => resolve(cwd, text.replace(/^~(?=$|[/\\])/, homedir()));
	if (sessionDir !== undefined) {
		const given = path(sessionDir);
		const stats = await stat(given).catch((error: unknown) => {
			if (!isMissing(error)) throw error;
		});
		if (stats?.isDirectory()) return given;
		throw new Error(`--session-dir: expected a directory, got ${JSON.stringify(sessionDir)}.`);
	}
	const agent = path(agentDir ?? agentDirectory(env));
	const byDefault = join(agent, "sessions");
	// By default pi keeps the sessions of every project in a folder of their own.
	if (presentDir) return dirname(path(presentDir)) === byDefault ? byDefault : path(presentDir);
	const chosen = env["PI_CODING_AGENT_SESSION_DIR"] || (await sessionDirSetting(join(agent, "settings.json")));
	return chosen ? path(chosen) : byDefault;
}

async function sessionDirSetting(file: string): Promise<string | undefined> {
	try {
		const { sessionDir } = JSON.parse(await readFile(file, "utf8")) as { sessionDir?: unknown };
		return typeof sessionDir === "string" ? sessionDir : undefined;
	} catch {
		return undefined; // no such file, or one that pi cannot read either
	}
}

/** A session file, or a folder that cannot be read. */
export interface SessionFile {
	readonly path: string;
	/** It lies where extensions keep the sessions of subagents. */
	readonly isSubagents: boolean;
}

/** Folders in folders that are looked into. */
const DEEPEST = 8;

/**
 * The session files in a directory and in the folders in it, and those folders that cannot be read; none if there is no
 * such directory. Pi puts sessions into the directory and the folders in it; what lies deeper, or in a folder named after
 * a session beside it, is of subagents. Rejects if it is no directory.
 */
export async function sessionFiles(directory: string): Promise<SessionFile[]> {
	const names = await readdir(directory).catch((error: unknown) => {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
		throw error;
	});
	const found = await inFolder(directory, names, names, 0, false);
	return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** `folders`: the names that are looked into. */
async function inFolder(
	folder: string,
	names: readonly string[],
	folders: readonly string[],
	depth: number,
	isSubagents: boolean,
): Promise<SessionFile[]> {
	const files = names.filter(isSessionFile).map((name) => ({ path: join(folder, name), isSubagents }));
	const inside = folders
		.filter((name) => !isSessionFile(name) && depth < DEEPEST)
		.map(async (name): Promise<SessionFile[]> => {
			const path = join(folder, name);
			const isTheirs = isSubagents || depth > 0 || names.includes(`${name}.jsonl`);
			try {
				const entries = await readdir(path, { withFileTypes: true });
				// A link is not followed, so that none leads in a circle; in the directory itself it is.
				const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
				return await inFolder(
					path,
					entries.map((entry) => entry.name),
					folders,
					depth + 1,
					isTheirs,
				);
			} catch (error) {
				return isMissing(error) ? [] : [{ path, isSubagents: isTheirs }];
			}
		});
	return [...files, ...(await Promise.all(inside)).flat()];
}

function isSessionFile(name: string): boolean {
	return name.endsWith(".jsonl");
}

/** True if the error says that the path does not exist, or is not a directory. */
function isMissing(error: unknown): boolean {
	return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** The lines of a file, those of one chunk at a time. Stops with the signal's reason. */
export async function* readLines(path: string, buffer: Buffer, signal?: AbortSignal): AsyncGenerator<string[]> {
	// A pipe, or a file of the system that waits for news, would keep a thread, and the process would never end.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		let rest: Buffer[] = [];
		let length = 0;
		const keep = (part: Buffer): void => {
			if (length < MAX_LINE) rest.push(part);
			length += part.length;
		};
		const take = (): string => {
			const line = rest.length === 1 ? rest[0] : Buffer.concat(rest);
			[rest, length] = [[], 0];
			return line === undefined ? "" : decoded(line);
		};
		for (;;) {
			signal?.throwIfAborted();
			const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
			if (bytesRead === 0) break;
			const chunk = buffer.subarray(0, bytesRead);
			const lines: string[] = [];
			let start = 0;
			for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
				keep(chunk.subarray(start, end));
				lines.push(take());
				start = end + 1;
			}
			if (start < bytesRead) keep(Buffer.from(chunk.subarray(start))); // a copy: the buffer is used again
			yield lines;
		}
		if (length > 0) yield [take()];
	} finally {
		await file.close();
	}
}

function decoded(line: Buffer): string {
	const short = line.length > MAX_PARSED ? withoutLongTexts(line) : line;
	return short.toString("utf8", 0, MAX_PARSED);
}

/** The JSON with long texts made empty. */
function withoutLongTexts(line: Buffer): Buffer {
	const kept: Buffer[] = [];
	let from = 0;
	for (let start = line.indexOf(QUOTE); start !== -1;) {
		const end = endOfText(line, start + 1);
		if (end - start > MAX_TEXT) {
			kept.push(line.subarray(from, start + 1));
			from = end;
		}
		start = line.indexOf(QUOTE, end + 1);
	}
	return Buffer.concat([...kept, line.subarray(from)]);
}

/** Where the quote is that is not escaped; where the line ends if there is none. */
function endOfText(line: Buffer, from: number): number {
	for (let end = line.indexOf(QUOTE, from); end !== -1; end = line.indexOf(QUOTE, end + 1)) {
		let escapes = end;
		while (line[escapes - 1] === BACKSLASH) escapes--;
		if ((end - escapes) % 2 === 0) return end;
	}
	return line.length;
}
