/** The mutants that nobody finds, and why: `survivors.json`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Position {
	readonly line: number;
	readonly column: number;
}

/** As Stryker's reports have it: lines and columns count from 1. */
export interface Mutant {
	readonly replacement?: string;
	readonly location: { readonly start: Position; readonly end: Position };
}

/** A mutant by its text, so that it is known again when other lines of its file have changed. */
export interface Survivor {
	/** Its first line, with what is changed between « and ». */
	readonly line: string;
	readonly becomes: string;
	/** Why no test can find it, or why none does. */
	readonly reason?: string;
}

/** The survivors that are known, by file. */
export const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8")) as Readonly<
	Record<string, readonly Survivor[]>
>;

export function describeMutant(source: string, { location: { start, end }, replacement = "" }: Mutant): Survivor {
	const line = source.split("\n")[start.line - 1] ?? "";
	const from = start.column - 1;
	const to = end.line === start.line ? end.column - 1 : line.length;
	const marked = `${line.slice(0, from)}«${line.slice(from, to)}»${line.slice(to)}`;
	return { line: marked.trim(), becomes: replacement.replace(/\s+/g, " ").trim() };
}

export function isSame(a: Survivor, b: Survivor): boolean {
	return a.line === b.line && a.becomes === b.becomes;
}
