/** The session files of a sandbox, as anybody can read and write them. */
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Host } from "../harness/index.ts";

interface Entry {
	readonly id: string;
	readonly type: string;
	readonly customType?: string;
	readonly data?: unknown;
}

/** What an extension has stored under a name, in all sessions of a sandbox that keeps them (`session: true`). */
export function stored(pi: Host, customType: string): unknown[] {
	const all = files(pi).flatMap((file) => read(file));
	return all.filter((entry) => entry.type === "custom" && entry.customType === customType).map(({ data }) => data);
}

/** Appends to the newest session what an extension would have stored, in the way that pi does. */
export function forge(pi: Host, customType: string, data: unknown): void {
	const file = files(pi).at(-1) ?? "";
	const parentId = read(file).at(-1)?.id;
	const entry = { type: "custom", customType, data, id: "f0f0f0f0", parentId, timestamp: new Date().toISOString() };
	appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** Oldest first: their names begin with the time. */
function files(pi: Host): string[] {
	const folder = join(dirname(pi.cwd), "sessions");
	return readdirSync(folder)
		.sort()
		.map((name) => join(folder, name));
}

function read(file: string): Entry[] {
	const lines = readFileSync(file, "utf8").trim().split("\n");
	return lines.map((line) => JSON.parse(line) as Entry);
}
