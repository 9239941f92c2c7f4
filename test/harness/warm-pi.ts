/**
 * A process that runs pi's own `main` again and again, for `warm.ts`: what makes a start dear is loading pi. Before each run
 * the process is as pi finds it at a start. A process that cannot be brought back to that says so, and is not used again.
 */
import childProcess from "node:child_process";
import { EventEmitter } from "node:events";
import { appendFileSync } from "node:fs";
import { enableCompileCache, syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import type * as Pi from "@earendil-works/pi-coding-agent";
import type { Started } from "./process.ts";

/** What `warm.ts` says to this process. */
export interface Order {
	/** A new run; the marker ends its output. */
	readonly run?: Started & { marker: string };
	/** Input for the present one. */
	readonly input?: string;
	/** The client goes away, or in a terminal the person; and then the run ends, or the process too. */
	readonly close?: "run" | "process";
}

/** What this process says when a run has ended. */
export interface Ended {
	readonly code: number;
	/** false: this process is not to be used again. */
	readonly again: boolean;
}

/** Keeps code from running that stands after the end of the process. */
class Exit extends Error {}

type Listener = (...args: unknown[]) => void;

enableCompileCache();
childProcess.spawn = spawnOrMark(childProcess.spawn);
syncBuiltinESMExports();
const [, , cli = "", path] = process.argv;
/** In a terminal: the orders come by this socket, since a pty has no channel for them. */
const socket = path === undefined ? undefined : connect(path);
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
if (!socket) Object.defineProperty(process, "stdin", { get: () => stdin, configurable: true });
process.emitWarning = () => {}; // as pi's cli.js does
process.exit = (code) => {
	// A pi whose client or person has gone away has disposed of everything. Any other has not, so its process does end.
	if (!isClosing) return exit(code);
	process.on("unhandledRejection", (error) => {
		if (!(error instanceof Exit)) throw error;
	});
	finish(Number(code ?? 0));
	throw new Exit();
};
if (socket) {
	createInterface({ input: socket }).on("line", (line) => obey(JSON.parse(line) as Order));
	socket.on("close", () => exit());
} else {
	process.on("message", obey);
	process.on("disconnect", () => exit());
}
const globals = new Set(Reflect.ownKeys(globalThis));
const emitters: NodeJS.EventEmitter[] = [process, process.stdout, process.stderr, ...(socket ? [process.stdin] : [])];
const listeners = new Map(
	emitters.map((emitter) => [emitter, new Map(emitter.eventNames().map((name) => [name, emitter.rawListeners(name)]))]),
);
const busy = handles();

function obey({ run: started, input, close }: Order): void {
	if (started) return void run(started);
	if (input !== undefined) return void stdin.write(input);
	isClosing = close === "run";
	// Pi listens first. A library of its own that listens too would end the process.
	if (socket) added(process, "SIGTERM")[0]?.("SIGTERM");
	else stdin.end();
}

async function run({ args, cwd, env, input, marker }: NonNullable<Order["run"]>): Promise<void> {
	process.chdir(cwd);
	for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
	Object.assign(process.env, env, { PI_CODING_AGENT: "true", AI_AGENT: "pi" }); // as pi's cli.js does
	process.title = "pi";
	// By which it starts others.
	process.argv = [process.execPath, env["TEST_CHILD_CLI"] ?? cli, ...args];
	process.exitCode = undefined;
	isClosing = false;
	stdin = new PassThrough();
	if (!input) stdin.end();
	const code = await new Promise<number>((ended) => {
		finish = (code = Number(process.exitCode ?? 0)) => ended(end(code));
		void pi.main([...args]).then(() => finish()); // a failure ends the process, as it ends pi's
	});
	await new Promise((later) => setImmediate(later)); // until Node has told of the promise that the exit has rejected
	await clean();
	const ended: Ended = { code, again: await isQuiet() };
	for (const stream of socket ? [process.stdout] : [process.stdout, process.stderr]) {
		const { write } = Object.getPrototypeOf(stream) as { write: (text: string, written: () => void) => void };
		await new Promise<void>((written) => write.call(stream, marker, written)); // pi has replaced that of standard output
	}
	if (socket) socket.write(`${JSON.stringify(ended)}\n`);
	else process.send?.(ended);
}

/** The model's usual call, `mark`, is done here: a shell for it costs 10 ms of processor time, most of it to copy this process. */
function spawnOrMark(spawn: typeof childProcess.spawn): typeof childProcess.spawn {
	return ((file: string, args: readonly string[], options: childProcess.SpawnOptions) => {
		const label = /^echo (\w+) >> marks$/.exec(args.at(-1) ?? "")?.[1];
		if (label === undefined) return spawn(file, args, options);
		const shell = new EventEmitter();
		setImmediate(() => {
			appendFileSync(join(String(options.cwd), "marks"), `${label}\n`);
			for (const name of ["exit", "close"]) shell.emit(name, 0, null);
		});
		return shell;
	}) as typeof spawn;
}

/** Ends the run as Node ends a process; gives the code. */
function end(code: number): number {
	finish = () => {};
	process.exitCode = code;
	for (const listener of added(process, "exit")) listener.call(process, code);
	return process.exitCode;
}

/** Leaves nothing of a run to the next one. */
async function clean(): Promise<void> {
	for (const interval of intervals) clearInterval(interval);
	intervals = [];
	for (const emitter of emitters)
		for (const name of emitter.eventNames()) for (const listener of added(emitter, name)) emitter.off(name, listener);
	for (const name of Reflect.ownKeys(globalThis)) if (!globals.has(name)) Reflect.deleteProperty(globalThis, name);
	// Pi keeps the modules of extensions until it loads some for another folder.
	const none = { noExtensions: true, noSkills: true, noPromptTemplates: true, noThemes: true, noContextFiles: true };
	const place = { cwd: "/", agentDir: "/", settingsManager: pi.SettingsManager.inMemory() };
	await new pi.DefaultResourceLoader({ ...place, ...none }).reload();
}

/** The listeners that the run has added. */
function added(emitter: NodeJS.EventEmitter, name: string | symbol): Listener[] {
	const all = emitter.rawListeners(name) as Listener[];
	return all.filter((listener) => !listeners.get(emitter)?.get(name)?.includes(listener));
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
