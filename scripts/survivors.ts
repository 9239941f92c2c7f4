/**
 * Judges reports of Stryker: every mutant that survived has to stand in test/mutation/survivors.json with the reason, and
 * nothing else may stand there.
 *
 *     node scripts/survivors.ts reports/mutation/pi.json
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeMutant, isListed, known, type Mutant } from "../test/mutation/survivors.ts";

interface Report {
	readonly files: Record<
		string,
		{ readonly source: string; readonly mutants: readonly (Mutant & { readonly status: string })[] }
	>;
}

const given = process.argv.slice(2);
const all = ["core", "pi", "rooms"].map((name) => `reports/mutation/${name}.json`);
const reports = (given.length > 0 ? given : all).map(
	(path) => JSON.parse(readFileSync(join(import.meta.dirname, "..", path), "utf8")) as Report,
);
const judged = reports.flatMap(({ files }) => Object.entries(files));
const unjudged = given.length > 0 ? [] : Object.keys(known).filter((file) => !judged.some(([path]) => path === file));
for (const file of unjudged) console.error(`${file}: listed, but not judged`);
if (unjudged.length > 0) process.exitCode = 1;

for (const [file, { source, mutants }] of judged) {
	const survived = mutants.filter(({ status }) => status === "Survived" || status === "NoCoverage");
	const found = survived.map((mutant) => describeMutant(source, mutant));
	const listed = known[file] ?? [];
	const unknown = found.filter((survivor) => !listed.some((other) => isListed(survivor, other)));
	const gone = listed.filter((survivor) => !found.some((other) => isListed(other, survivor)));
	for (const survivor of unknown) console.error(`${file}: survived without a reason: ${JSON.stringify(survivor)}`);
	for (const survivor of gone) console.error(`${file}: listed, but did not survive: ${JSON.stringify(survivor)}`);
	if (unknown.length + gone.length > 0) process.exitCode = 1;
	const score = (100 * (mutants.length - found.length)) / mutants.length;
	console.log(`${file}: ${mutants.length} mutants, ${found.length} survived (${score.toFixed(1)}%)`);
}
