/** How much later is pi ready for its first command? */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { host } from "../test/harness/index.ts";
import { defer, type Scope } from "../test/harness/wait.ts";
import type { Aim, Part } from "./aims.ts";
import { interleave, median, quantile, spread, table } from "./figures.ts";
import { earlier, installed } from "./package.ts";
import { isShort, scoped } from "./scope.ts";

const ROUNDS = isShort ? 9 : 31;
const FIRST_ROUNDS = isShort ? 5 : 11;

/** Milliseconds below which nobody can tell a difference. */
const NOTHING = 10;

interface Start {
	/** By the clock, until pi answers. */
	readonly ready: number;
	/** Of the processor, from pi's start to its end. */
	readonly cpu: number;
}

type Measured = Record<string, Start[]>;

export async function startup(t: Scope): Promise<Part> {
	const { folder } = await installed(t);
	const extensions: Record<string, string[]> = {
		"no extension": [],
		"an empty one, .ts": [fileURLToPath(import.meta.resolve("./empty.ts"))],
		"an empty one, .js": [emptyModule(t)],
		"pi-turn-limit": [folder],
		...(earlier === undefined ? {} : { "pi-turn-limit, earlier": [earlier] }),
	};
	const measure = async (rounds: number, isFirst: boolean): Promise<Measured> => {
		const caches = mkdtempSync(join(tmpdir(), "pi-bench-"));
		const subject = (before: string[]) => () => {
			const folder = isFirst ? mkdtempSync(join(caches, "first-")) : caches;
			return untilReady(before, folder);
		};
		const subjects = Object.fromEntries(Object.entries(extensions).map(([name, before]) => [name, subject(before)]));
		try {
			if (!isFirst) await interleave(1, subjects); // fills the caches
			return await interleave(rounds, subjects);
		} finally {
			rmSync(caches, { recursive: true, force: true });
		}
	};
	const later = await measure(ROUNDS, false);
	const first = await measure(FIRST_ROUNDS, true);
	const text = `## Start-up

\`pi --mode rpc\`, from its start until it answers, and the processor's time from its start to its end; ${ROUNDS} rounds, interleaved;
medians, and between what the middle half lies. Differences are taken within a round, against an empty \`.js\`. The package is
packed, and installed from the tarball.

${table(HEAD, rows(later))}

The first start, before pi has cached what it made of TypeScript and Node what it compiled, ${FIRST_ROUNDS} rounds:

${table(HEAD, rows(first))}`;
	return {
		text,
		aims: [
			aim(
				"Start-up as with an empty extension",
				later,
				"Node reads one module, and pi tells it that the session starts",
			),
			aim("The first start as well", first, "Node compiles our module then, and keeps it for the next starts"),
		],
	};
}

/** Ours beside sources that are JavaScript: what pi does for TypeScript is not what we are to be compared with. */
function emptyModule(t: Scope): string {
	const folder = mkdtempSync(join(tmpdir(), "pi-bench-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
	writeFileSync(join(folder, "index.js"), "export default function () {}\n");
	return join(folder, "index.js");
}

/** Starts pi, waits until it answers, ends it. `caches` takes what pi and Node keep for the next time. */
function untilReady(before: string[], caches: string): Promise<Start> {
	return scoped(async (t) => {
		const meter = `import { writeFileSync } from "node:fs";
			process.on("exit", () => writeFileSync("cpu.json", JSON.stringify(process.cpuUsage())));`;
		const pi = await host(t, {
			...{ fresh: true, extension: false, before, files: { "meter.mjs": meter } },
			env: { TMPDIR: caches, NODE_OPTIONS: "--import ./meter.mjs" },
		});
		const start = performance.now();
		const rpc = await pi.rpc();
		const ready = performance.now() - start;
		await rpc.close();
		const { user, system } = JSON.parse(readFileSync(join(pi.cwd, "cpu.json"), "utf8")) as NodeJS.CpuUsage;
		return { ready, cpu: (user + system) / 1000 };
	});
}

const HEAD = ["extension", "ms until ready", "more", "ms of the processor", "more"];

function rows(measured: Measured): string[][] {
	return Object.entries(measured).map(([name, starts]) => [
		name,
		...(["ready", "cpu"] as const).flatMap((field) => [
			spread(
				starts.map((start) => start[field]),
				0,
			),
			name === "an empty one, .js" ? "–" : spread(differences(measured, name, field), 0),
		]),
	]);
}

function differences(measured: Measured, name: string, field: keyof Start): number[] {
	const empty = measured["an empty one, .js"] ?? [];
	return (measured[name] ?? []).map((start, i) => start[field] - (empty[i]?.[field] ?? NaN));
}

function aim(aim: string, measured: Measured, obstacle: string): Aim {
	const more = differences(measured, "pi-turn-limit", "cpu");
	return {
		aim: `${aim} (less than ${NOTHING} ms of the processor more)`,
		measured: `${spread(more, 0)} ms`,
		isMet: median(more) < NOTHING,
		otherwise: quantile(more, 0.25) <= 0 ? "the rounds differ too much to tell; the machine was busy" : obstacle,
	};
}
