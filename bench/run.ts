/**
 * `npm run bench`: what the limits hold and what they cost, beside no extension and the textbook one. Prints the tables
 * and, when all parts have run, writes them to bench/results.md.
 *
 *     node bench/run.ts                     all parts, about a quarter of an hour
 *     node bench/run.ts startup footprint   some of them
 *
 * BENCH_SHORT=1 takes fewer rounds; BENCH_EARLIER=<folder of an earlier package> measures that one too.
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { cli, node } from "../test/harness/index.ts";
import type { Scope } from "../test/harness/wait.ts";
import { type Aim, aimsTable, type Part } from "./aims.ts";
import { fleet } from "./fleet.ts";
import { footprint } from "./footprint.ts";
import { history } from "./history.ts";
import { holding } from "./holding.ts";
import { ledger } from "./ledger.ts";
import { loops } from "./loops.ts";
import { isShort, scoped } from "./scope.ts";
import { startup } from "./startup.ts";
import { turns } from "./turns.ts";

const parts: Record<string, (t: Scope) => Promise<Part | string>> = {
	holding,
	startup,
	turns,
	loops,
	ledger,
	fleet,
	history,
	footprint,
};

const wanted = process.argv.slice(2);
const title = `# What it costs, and what it holds

Made by \`npm run bench\` (\`node bench/run.ts\`) with pi ${version(node, cli)} on Node ${version(node).slice(1)}, ${availableParallelism()} cores.
Compare figures within a table, not with another machine's.${isShort ? " BENCH_SHORT: few rounds, for a first look." : ""}`;
const texts: string[] = [];
const aims: Aim[] = [];
for (const name of wanted.length > 0 ? wanted : Object.keys(parts)) {
	const part = parts[name];
	if (!part) throw new RangeError(`No such part: ${name}. Known: ${Object.keys(parts).join(", ")}`);
	const before = load();
	const made = await scoped(part);
	const { text, aims: own } = typeof made === "string" ? { text: made, aims: [] } : made;
	texts.push(`${text}\n\nLoad of the machine, the bench included: ${before} before, ${load()} after.`);
	aims.push(...own);
	console.log(`\n${texts.at(-1) ?? ""}`);
}
const head = `${title}\n\n${aimsTable(aims)}`;
console.log(`\n${head}`);
if (wanted.length === 0) writeFileSync(join(import.meta.dirname, "results.md"), `${[head, ...texts].join("\n\n")}\n`);

function load(): string {
	return loadavg()[0]?.toFixed(1) ?? "?";
}

function version(file: string, ...args: string[]): string {
	return execFileSync(file, [...args, "--version"], {
		encoding: "utf8",
		env: { ...process.env, PI_OFFLINE: "1" },
	}).trim();
}
