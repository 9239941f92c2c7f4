/**
 * Judges a report of Stryker: every mutant of src/pi that survived has to stand in test/mutation/survivors.json with the
 * reason why nobody sees it, and nothing else may stand there.
 *
 *     node scripts/survivors.ts reports/mutation/pi.json
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Position {
	readonly line: number;
	readonly column: number;
}

interface Mutant {
	readonly status: string;
	readonly replacement?: string;
	readonly location: { readonly start: Position; readonly end: Position };
}

interface Report {
	readonly files: Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>;
}

/** A mutant by its text, so that other changes to the file leave it where it is. */
interface Survivor {
	/** Its first line, with what is changed between « and ». */
	readonly line: string;
	readonly becomes: string;
	readonly reason?: string;
}

type Survivors = Record<string, readonly Survivor[]>;

const root = join(import.meta.dirname, "..");

function survivorsOf({ source, mutants }: Report["files"][string]): Survivor[] {
	const lines = source.split("\n");
	return mutants
		.filter(({ status }) => status === "Survived" || status === "NoCoverage")
		.map(({ location: { start, end }, replacement = "" }) => {
			const line = lines[start.line - 1] ?? "";
			const last = end.line === start.line ? end.column - 1 : line.length;
			const marked = `${line.slice(0, start.column - 1)}«${line.slice(start.column - 1, last)}»${line.slice(last)}`;
			return { line: marked.trim(), becomes: replacement.replace(/\s+/g, " ").trim() };
		});
}

function isSame(a: Survivor, b: Survivor): boolean {
	return a.line === b.line && a.becomes === b.becomes;
}

const [path = "reports/mutation/pi.json"] = process.argv.slice(2);
const report = JSON.parse(readFileSync(join(root, path), "utf8")) as Report;
const known = JSON.parse(readFileSync(join(root, "test/mutation/survivors.json"), "utf8")) as Survivors;

for (const [file, { source, mutants }] of Object.entries(report.files)) {
	const found = survivorsOf({ source, mutants });
	const listed = known[file] ?? [];
	const unknown = found.filter((survivor) => !listed.some((other) => isSame(survivor, other)));
	const gone = listed.filter((survivor) => !found.some((other) => isSame(survivor, other)));
	for (const survivor of unknown) console.error(`${file}: survived, and nobody says why: ${JSON.stringify(survivor)}`);
	for (const survivor of gone)
		console.error(`${file}: is found now, take it off the list: ${JSON.stringify(survivor)}`);
	if (unknown.length + gone.length > 0) process.exitCode = 1;
	const score = (100 * (mutants.length - found.length)) / mutants.length;
	console.log(`${file}: ${mutants.length} mutants, ${found.length} survived (${score.toFixed(1)} %)`);
}
