/** What stands in the places, and what comes of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Found, fromFile } from "../../src/settings/places.ts";
import { defaults, type Place, resolve } from "../../src/settings/settings.ts";

/** Who can set something; the first three are the person's own word, the others yield to a project's file. */
export const SOURCES = ["command", "flag", "environment", "user", "project"] as const;

export type Given = { readonly [S in (typeof SOURCES)[number]]?: Place["values"] };

export const fallback = defaults(false);

function place(source: (typeof SOURCES)[number], values: Place["values"] = {}): Place {
	return { values, name: (key) => `${source}'s ${key}`, ...(source === "user" && { yieldsToProject: true }) };
}

export function resolved(given: Given): ReturnType<typeof resolve> {
	const places = SOURCES.filter((source) => source !== "project").map((source) => place(source, given[source]));
	return resolve(places, given.project && place("project", given.project), fallback);
}

export const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** What is read from a file with this content. */
export function read(content: string | Uint8Array): Found {
	const path = join(folder, "turn-limit.json");
	writeFileSync(path, content);
	return fromFile(path, "the file");
}
