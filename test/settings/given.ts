/** Settings in their places, and the values that win. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PERIODS } from "../../src/core/scopes.ts";
import type { Budget } from "../../src/settings/budget.ts";
import { type Found, fromFile } from "../../src/settings/places.ts";
import { type Problem, sentenceOf } from "../../src/settings/problem.ts";
import { type LoweringPlace, type Place, type Resolution, resolve } from "../../src/settings/resolve.ts";
import { defaults } from "../../src/settings/settings.ts";

/** Strongest first. The project's file can only lower what the user's file or the default gives. */
export const SOURCES = ["command", "flag", "environment", "user", "project"] as const;

export type Source = (typeof SOURCES)[number];

export type Given = { readonly [S in Source]?: Place["values"] };

export const fallback = defaults(false);

/** Of a budget that only limits the total. */
export const NO_PERIODS = Object.fromEntries(PERIODS.map((period) => [period, {}])) as Budget["periods"];

const STRENGTH = { command: "command", flag: "flag", environment: "start", user: "file", project: "file" } as const;

export function place(source: Source, values: Place["values"] = {}): Place {
	return { values, name: (key) => `${source}'s ${key}`, strength: STRENGTH[source] };
}

export function lowering(place: Place, lowers: LoweringPlace["lowers"] = ["file"]): LoweringPlace {
	return { ...place, who: "A project file", lowers };
}

export function resolved({ project, ...given }: Given): Resolution {
	const places = SOURCES.filter((source) => source !== "project").map((source) => place(source, given[source]));
	return resolve(places, project === undefined ? [] : [lowering(place("project", project))], fallback);
}

/** The problems as a person reads them. */
export function told(problems: readonly Problem[]): readonly string[] {
	return problems.map(sentenceOf);
}

/** The problems that keep a script from starting. */
export function stopping(problems: readonly Problem[]): readonly string[] {
	return problems.flatMap(({ what, isLimit }) => (isLimit ? [what] : []));
}

export const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** The settings of a file with this content. */
export function read(content: string | Uint8Array): Found {
	const path = join(folder, "turn-limit.json");
	writeFileSync(path, content);
	return fromFile(path, "the file");
}
