/**
 * A process that runs pi's own `main` again and again, for `warm.ts`: what makes a start dear is loading pi. Before each run
 * the process is as pi finds it at a start. A process that cannot be brought back to that says so, and is not used again.
 */
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { pathToFileURL } from "node:url";
import type * as Pi from "@earendil-works/pi-coding-agent";
import type { Started } from "./process.ts";

/** What `warm.ts` says to this process. */
export interface Order {
	/** A new run; the marker ends its output. */
	readonly run?: Started & { marker: string };
	/** Input for the present one. */
	readonly input?: string;
	/** Its input ends, and then the run, or the process too. */
	readonly close?: "run" | "process";
}

/** What this process says when a run has ended. */
export interface Ended {
	readonly code: number;
	/** false: this process is not to be used again. */
	readonly again: boolean;
}

type Listener = (...args: unknown[]) => void;

enableCompileCache();
const cli = process.argv[2] ?? "";
const pi = (await import(pathToFileURL(join(dirname(cli), "index.js")).href)) as typeof Pi;

const exit = process.exit.bind(process);
const { setInterval } = globalThis;
let stdin = new PassThrough();
let intervals: NodeJS.Timeout[] = [];
let isClosing = false;
/** Ends the present run, whose process would end now. */
let finish: (code?: number) => void = () => {};

globalThis.setInterval = (...args: Parameters<typeof setInterval>) => {
	const interval = setInterval(...args);
	intervals.push(interval);
	return interval;
};
Object.defineProperty(process, "stdin", { get: () => stdin, configurable: true });
process.emitWarning = () => {}; // as pi's cli.js does
// An rpc pi whose client has gone away has disposed of everything. Any other has not, so its process does end.
process.exit = ((code?: number) => (isClosing ? finish(code) : exit(code))) as typeof process.exit;
process.on("disconnect", () => exit());
process.on("message", ({ run: started, input, close }: Order) => {
	if (started) return void run(started);
	if (input !== undefined) return void stdin.write(input);
	isClosing = close === "run";
	stdin.end();
});
const globals = new Set(Reflect.ownKeys(globalThis));
const listeners = new Map(process.eventNames().map((name) => [name, process.rawListeners(name)]));
const busy = handles();

async function run({ args, cwd, env, input, marker }: NonNullable<Order["run"]>): Promise<void> {
	process.chdir(cwd);
	for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
	Object.assign(process.env, env, { PI_CODING_AGENT: "true", AI_AGENT: "pi" }); // as pi's cli.js does
	process.title = "pi";
	process.argv = [process.execPath, cli, ...args];
	process.exitCode = undefined;
	isClosing = false;
	stdin = new PassThrough();
	if (!input) stdin.end();
	const code = await new Promise<number>((ended) => {
		finish = (code = Number(process.exitCode ?? 0)) => ended(end(code));
		void pi.main([...args]).then(() => finish()); // a failure ends the process, as it ends pi's
	});
	await clean();
	const ended: Ended = { code, again: await isQuiet() };
	for (const stream of [process.stdout, process.stderr]) {
		const { write } = Object.getPrototypeOf(stream) as { write: (text: string, written: () => void) => void };
		await new Promise<void>((written) => write.call(stream, marker, written)); // pi has replaced that of standard output
	}
	process.send?.(ended);
}

/** Ends the run as Node ends a process; gives the code. */
function end(code: number): number {
	finish = () => {};
	process.exitCode = code;
	for (const listener of added("exit")) listener.call(process, code);
	return process.exitCode;
}

/** Leaves nothing of a run to the next one. */
async function clean(): Promise<void> {
	for (const interval of intervals) clearInterval(interval);
	intervals = [];
	for (const name of process.eventNames()) for (const listener of added(name)) process.off(name, listener);
	for (const name of Reflect.ownKeys(globalThis)) if (!globals.has(name)) Reflect.deleteProperty(globalThis, name);
	// Pi keeps the modules of extensions until it loads some for another folder.
	const none = { noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true };
	const place = { cwd: "/", agentDir: "/", settingsManager: pi.SettingsManager.inMemory() };
	await new pi.DefaultResourceLoader({ ...place, ...none }).reload();
}

/** The listeners that the run has added to the process. */
function added(name: string | symbol): Listener[] {
	const all = process.rawListeners(name) as Listener[];
	return all.filter((listener) => !listeners.get(name)?.includes(listener));
}

/** Node ends a process when nothing is left to do: the last tool may just be going, a file may be half written. */
async function isQuiet(): Promise<boolean> {
	let quiet = 0;
	for (let waits = 0; waits < 50 && quiet < 3; waits++) {
		await new Promise((later) => setTimeout(later, 2));
		quiet = handles() <= busy ? quiet + 1 : 0;
	}
	return quiet > 0;
}

/** How many timers, children and files the process waits for. */
function handles(): number {
	return process.getActiveResourcesInfo().filter((name) => /Timeout|ProcessWrap|FSEvent|FSReq/.test(name)).length;
}
