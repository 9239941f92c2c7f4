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
	/** The line before or after it, where the file has the same line several times. */
	readonly beside?: string;
	readonly becomes: string;
	/** Why no test can find it, or why none does. */
	readonly reason?: string;
}

/** The survivors that are known, by file. */
export const known = JSON.parse(readFileSync(join(import.meta.dirname, "survivors.json"), "utf8")) as Readonly<
	Record<string, readonly Survivor[]>
>;

/** A mutant in its place. */
type Placed = Pick<Survivor, "line" | "becomes"> & { readonly neighbours: readonly string[] };

export function describeMutant(source: string, { location: { start, end }, replacement = "" }: Mutant): Placed {
	const lines = source.split("\n");
	const line = lines[start.line - 1] ?? "";
	const from = start.column - 1;
	const to = end.line === start.line ? end.column - 1 : line.length;
	const marked = `${line.slice(0, from)}«${line.slice(from, to)}»${line.slice(to)}`;
	return {
		line: marked.trim(),
		becomes: replacement.replace(/\s+/g, " ").trim(),
		neighbours: neighbours(lines, start.line - 1),
	};
}

export function neighbours(lines: readonly string[], at: number): readonly string[] {
	return [lines[at - 1] ?? "", lines[at + 1] ?? ""].map((line) => line.trim());
}

export function isListed(mutant: Placed, { line, beside, becomes }: Survivor): boolean {
	const isThere = beside === undefined || mutant.neighbours.includes(beside);
	return mutant.line === line && mutant.becomes === becomes && isThere;
}
