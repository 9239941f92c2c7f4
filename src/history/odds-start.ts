/** Starts the thread that makes the table of odds. */
import { existsSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { sessionDirectory } from "./files.ts";
import type { Whose } from "./odds-file.ts";

/** Beside this module, compiled or not: in the sources, and in the package, where it is a bundle of its own. */
const WORKER = new URL(
	`./odds-worker${new URL(import.meta.url).pathname.endsWith(".ts") ? ".ts" : ".js"}`,
	import.meta.url,
);

/** In MiB. */
const MEMORY = 128;

/** In milliseconds; no one's sessions take longer to read. */
const PATIENCE = 60_000;

/** Makes the table, if this person stores sessions. */
export async function makeOdds(whose: Whose): Promise<void> {
	if (existsSync(await sessionDirectory(whose))) await startOddsWorker(whose);
}

/**
 * The table is made, or it is not: nobody is told, nothing waits for it, and the process can end meanwhile. The promise
 * resolves when the thread has ended.
 */
export function startOddsWorker(whose: Whose, file: URL = WORKER, patience = PATIENCE): Promise<void> {
	return new Promise((resolve) => {
		try {
			// Its output is kept from the terminal: Node warns there of types that it strips.
			const silent = { stdout: true, stderr: true, execArgv: [] };
			const limits = { resourceLimits: { maxOldGenerationSizeMb: MEMORY } };
			const worker = new Worker(file, { workerData: whose, ...silent, ...limits });
			const timer = setTimeout(() => void worker.terminate(), patience).unref();
			worker.on("error", () => {});
			worker.once("exit", () => {
				clearTimeout(timer);
				resolve();
			});
			worker.unref();
		} catch {
			resolve(); // a host without threads has no table
		}
	});
}
