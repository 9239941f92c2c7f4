/**
 * A pi that runs in a process which has run another pi before: a start of pi costs 0.7 s of processor time, nearly all of it
 * to load pi, and such a run 0.1 s. Each has its own arguments, environment, folders and modules of extensions (`warm-pi.ts`).
 * Where the end of the process is the point, a test says `fresh: true`. PI_TEST_FRESH=1 says it for all.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { helpers, write } from "./folders.ts";
import { cli, node, type Pi, type Result, type Started } from "./process.ts";
import { deadline, defer, Watch, within, type Scope } from "./wait.ts";
import type { Ended, Order } from "./warm-pi.ts";

/** False where every pi gets a process of its own: by PI_TEST_FRESH, and on hosts that do not export their `main`. */
export const canReuse = !process.env["PI_TEST_FRESH"] && existsSync(join(dirname(cli), "index.js"));

/** Pi reads this one's place as soon as it is loaded, and looks there for its two helpers. */
export const agentDir = canReuse ? mkdtempSync(join(tmpdir(), "pi-test-")) : "";
if (canReuse) {
	write(agentDir, helpers);
	process.on("exit", () => rmSync(agentDir, { recursive: true, force: true }));
}

/** The environment in which pi is loaded; each run has its own. */
export function loading(): Record<string, string> {
	const { PATH = "", TMPDIR = tmpdir() } = process.env;
	return { PATH, TMPDIR, LANG: "C.UTF-8", TERM: "xterm-256color", PI_CODING_AGENT_DIR: agentDir };
}

/** Processes that wait for their next run. */
const idle: Process[] = [];

/** One run of pi in a process that others use too, one after the other. It does not outlive the test. */
export class Reused implements Pi {
	readonly watch = new Watch(() => this.#seen());
	stdout = "";
	stderr = "";
	readonly #process = idle.pop() ?? new Process();
	readonly #listeners: ((part: string) => void)[] = [];
	readonly #closed: Promise<Result>;
	#isOver = false;

	constructor(t: Scope, started: Started) {
		const listeners: Listeners = {
			stdout: (part) => {
				this.stdout += part;
				for (const listener of this.#listeners) listener(part);
			},
			stderr: (part) => (this.stderr += part),
		};
		this.#closed = this.#process.run(started, listeners).then(async ({ again, ...end }) => {
			this.#isOver = true;
			if (again) idle.push(this.#process);
			else await this.#process.end();
			this.watch.over(`pi has ended (${end.signal ?? end.code})`);
			return { stdout: this.stdout, stderr: this.stderr, ...end };
		});
		defer(t, () => this.#end(started.input));
	}

	onOutput(listener: (part: string) => void): void {
		this.#listeners.push(listener);
	}

	write(text: string): void {
		this.#order({ input: text });
	}

	/** A pi that works when its client goes away cannot stop its work, so its process ends. */
	closeInput(): void {
		const last = (event: string): number => this.stdout.lastIndexOf(`\n{"type":"${event}"`);
		this.#order({ close: last("agent_start") > last("agent_settled") ? "process" : "run" });
	}

	ended(): Promise<Result> {
		return within("the end of pi", this.#closed, () => this.#seen());
	}

	#order(order: Order): void {
		if (!this.#isOver) this.#process.order(order);
	}

	/** An rpc pi stops its work and hears that its client goes away; any other that still works loses its process. */
	async #end(isRpc: boolean): Promise<void> {
		const kill = setTimeout(() => void this.#process.end(), isRpc ? deadline / 10 : 0);
		if (isRpc) this.#stop();
		await this.#closed.finally(() => clearTimeout(kill));
	}

	#stop(): void {
		const id = randomUUID();
		this.onOutput(() => {
			if (this.stdout.includes(id)) this.closeInput();
		});
		this.write(`${JSON.stringify({ type: "abort", id })}\n`);
	}

	#seen(): string {
		return `${this.stdout}\n--- stderr ---\n${this.stderr}`;
	}
}

interface Listeners {
	stdout: (part: string) => void;
	stderr: (part: string) => void;
}

type End = Pick<Result, "code" | "signal"> & { again: boolean };

/** A process that runs pi again and again. */
class Process {
	readonly #child: ChildProcess;

	constructor() {
		this.#child = spawn(node, [join(import.meta.dirname, "warm-pi.ts"), cli], {
			env: loading(),
			stdio: ["ignore", "pipe", "pipe", "ipc"],
		});
		this.#child.stdout?.setEncoding("utf8");
		this.#child.stderr?.setEncoding("utf8");
		// It must not keep the tests from ending, and ends with them because its channel closes.
		const { stdout, stderr, channel } = this.#child as unknown as Record<string, { unref: () => void }>;
		for (const each of [this.#child, stdout, stderr, channel]) each?.unref();
	}

	/** Runs pi to its end; `again` tells whether the process can run another one. */
	async run(started: Started, listeners: Listeners): Promise<End> {
		const marker = `\0${randomUUID()}\0`;
		const child = this.#child;
		const ended = new Promise<End>((resolve) => {
			child.once("message", (message: Ended) => {
				child.removeAllListeners();
				resolve({ ...message, signal: null });
			});
			const gone = (code: number | null, signal: NodeJS.Signals | null): void =>
				resolve({ code, signal, again: false });
			child.on("close", gone);
			// A tool that it has left behind may keep its pipes open.
			child.on("exit", (code, signal) => signal && gone(code, signal));
		});
		const heard = (["stdout", "stderr"] as const).map((name) => upTo(marker, child[name], listeners[name]));
		this.order({ run: { ...started, marker } });
		const end = await ended;
		if (end.signal === null) await Promise.all(heard);
		return end;
	}

	order(order: Order): void {
		if (this.#child.connected) this.#child.send(order);
	}

	async end(): Promise<void> {
		if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
		const gone = new Promise((resolve) => this.#child.once("exit", resolve));
		this.#child.kill("SIGKILL");
		await gone;
	}
}

/** Hands on what a stream says until the marker comes, or the stream ends. */
function upTo(marker: string, stream: Readable | null, listener: (part: string) => void): Promise<void> {
	let held = "";
	return new Promise((resolve) => {
		const over = (): void => {
			stream?.off("data", data).off("close", over);
			resolve();
		};
		const data = (part: string): void => {
			held += part;
			const at = held.indexOf(marker);
			const start = at >= 0 ? at : held.lastIndexOf("\0");
			const isPart = at >= 0 || (start >= 0 && marker.startsWith(held.slice(start)));
			const free = isPart ? held.slice(0, start) : held;
			held = isPart ? held.slice(start) : "";
			if (free) listener(free);
			if (at >= 0) over();
		};
		stream?.on("data", data).on("close", over);
	});
}
