/** pi in a real pty, its output in a headless terminal emulator, so that a test types keys and reads the screen. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { spawn, type IPty } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { cli, node, type Started } from "./process.ts";
import { deadline, defer, Watch, type Scope } from "./wait.ts";
import { canReuse, loading } from "./warm.ts";
import type { Ended, Order } from "./warm-pi.ts";

/** The size of the terminal, and arguments for pi. */
export interface TerminalOptions {
	cols?: number;
	rows?: number;
	args?: readonly string[];
}

interface Command {
	file: string;
	args: string[];
	cwd: string;
	env: Record<string, string>;
}

/** A terminal that has run a pi before and waits for the next one. */
const idle: Pty[] = [];

/** Only where the runner tells when a file is over: a terminal keeps Node from ending. */
export const canReuseTerminals = canReuse && process.env["NODE_TEST_CONTEXT"] !== undefined;
if (canReuseTerminals) after(() => Promise.all(idle.map((pty) => pty.kill())));

const keys: Record<string, string> = {
	enter: "\r",
	escape: "\x1b",
	tab: "\t",
	backspace: "\x7f",
	up: "\x1b[A",
	down: "\x1b[B",
	right: "\x1b[C",
	left: "\x1b[D",
};

/** A terminal in which pi runs. It does not outlive the test. */
export class Terminal {
	readonly #emulator: InstanceType<typeof xterm.Terminal>;
	readonly #pty: IPty;
	readonly #reused: Pty | undefined;
	readonly #watch = new Watch(() => this.screen());
	#code: number | undefined;
	#title = "";
	/** How often the bell has rung. */
	bells = 0;
	/** The program status that pi has reported (OSC 7501), in that order. */
	readonly reports: string[] = [];
	/** What pi has put into the clipboard (OSC 52). */
	readonly clipboard: string[] = [];

	/** Runs any command, or pi in a terminal in which another one has run. */
	constructor(t: Scope, command: Command | Started, { cols = 120, rows = 40 }: TerminalOptions) {
		this.#emulator = new xterm.Terminal({ cols, rows, allowProposedApi: true });
		if ("file" in command) this.#pty = spawn(command.file, command.args, { ...size(cols, rows), ...command });
		else {
			this.#reused = idle.pop() ?? new Pty();
			this.#pty = this.#reused.pty;
			this.#pty.resize(cols, rows);
			this.#reused.run(command);
		}
		this.#emulator.onTitleChange((title) => (this.#title = title));
		this.#emulator.onBell(() => {
			this.bells++;
			this.#watch.changed();
		});
		this.#emulator.parser.registerOscHandler(7501, (report) => this.reports.push(report) > 0);
		this.#emulator.parser.registerOscHandler(52, (copied) => this.clipboard.push(copied) > 0);
		this.#emulator.onData((reply) => this.#pty.write(reply));
		const heard = this.#pty.onData((data) => this.#emulator.write(data, () => this.#watch.changed()));
		const exit = this.#pty.onExit(({ exitCode }) => {
			this.#code = exitCode;
			this.#watch.over(`pi has ended (${exitCode})`);
		});
		defer(t, async () => {
			await this.#end();
			for (const listener of [heard, exit]) listener.dispose();
			this.#emulator.dispose();
		});
	}

	/** Waits until pi takes input: it sets the window title when all extensions have started. */
	async ready(): Promise<void> {
		await this.#watch.until("title of the window", () => this.#title !== "");
	}

	/** What the terminal shows now, line by line, without the empty rest. */
	screen(): string {
		const buffer = this.#emulator.buffer.active;
		const lines = Array.from({ length: this.#emulator.rows }, (_, row) =>
			(buffer.getLine(buffer.baseY + row)?.translateToString(true) ?? "").trimEnd(),
		);
		return lines.join("\n").trimEnd();
	}

	/** What the terminal shows now, cell by cell, with colours. */
	get buffer(): InstanceType<typeof xterm.Terminal>["buffer"]["active"] {
		return this.#emulator.buffer.active;
	}

	/** The colour of the first such text on the screen, which must not come after wide characters. */
	colour(text: string): string {
		const cell = this.#cell(text);
		return cell.isFgDefault() ? "default" : String(cell.getFgColor());
	}

	/** The colour behind it. */
	background(text: string): string {
		const cell = this.#cell(text);
		return cell.isBgDefault() ? "default" : String(cell.getBgColor());
	}

	/** The first cell of the first such text on the screen. */
	#cell(text: string) {
		const { buffer } = this;
		const rows = Array.from({ length: this.#emulator.rows }, (_, row) => buffer.getLine(buffer.baseY + row));
		const line = rows.find((row) => row?.translateToString(true).includes(text));
		const cell = line?.getCell(line.translateToString(true).indexOf(text));
		if (!cell) throw new Error(`Not on the screen: ${text}\n${this.screen()}`);
		return cell;
	}

	/** Changes the size of the terminal. */
	resize(cols: number, rows: number): void {
		this.#emulator.resize(cols, rows);
		this.#pty.resize(cols, rows);
	}

	/** Waits until the screen shows the text; gives the screen. */
	shows(text: string | RegExp): Promise<string> {
		return this.#watch.until(`${String(text)} on the screen`, () => this.#has(text) && this.screen());
	}

	/** Waits until the screen no longer shows the text; gives the screen. */
	lacks(text: string | RegExp): Promise<string> {
		return this.#watch.until(`a screen without ${String(text)}`, () => !this.#has(text) && this.screen());
	}

	/** Waits until the bell has rung. */
	async rings(): Promise<void> {
		await this.#watch.until("bell", () => this.bells > 0);
	}

	/** Types text; `\r` is the Enter key. */
	type(text: string): void {
		this.#pty.write(text);
	}

	/** Presses a key: enter, escape, tab, backspace, up, down, left, right, or ctrl+ a letter. */
	press(key: string): void {
		const control = /^ctrl\+([a-z])$/.exec(key)?.[1];
		const sequence = control ? String.fromCharCode(control.charCodeAt(0) - 96) : keys[key];
		if (sequence === undefined) throw new RangeError(`No such key: ${key}`);
		this.#pty.write(sequence);
	}

	/** Waits for the end of pi; gives its exit code. */
	exit(): Promise<number> {
		return this.#watch.until("end of pi", () => this.#code);
	}

	/** SIGTERM lets pi end its tools too; SIGKILL is for a pi that no longer listens. */
	async #end(): Promise<void> {
		if (this.#code !== undefined) return;
		if (this.#reused) {
			if (await this.#reused.close()) idle.push(this.#reused);
			else await this.#reused.kill();
			return;
		}
		this.#pty.kill("SIGTERM");
		const kill = setTimeout(() => this.#pty.kill("SIGKILL"), deadline / 4);
		await this.exit().finally(() => clearTimeout(kill));
	}

	#has(text: string | RegExp): boolean {
		return typeof text === "string" ? this.screen().includes(text) : text.test(this.screen());
	}
}

function size(cols: number, rows: number): { name: string; cols: number; rows: number } {
	return { name: "xterm-256color", cols, rows };
}

/** A terminal in which `warm-pi.ts` runs pi again and again. */
class Pty {
	readonly pty: IPty;
	readonly #folder = mkdtempSync(join(tmpdir(), "pi-test-"));
	readonly #server = createServer();
	readonly #socket: Promise<Socket>;
	readonly #gone: Promise<undefined>;
	#marker = "";

	constructor() {
		const path = join(this.#folder, "socket");
		this.#socket = new Promise((resolve) => this.#server.listen(path).once("connection", resolve));
		const options = { ...size(120, 40), env: loading() };
		this.pty = spawn(node, [join(import.meta.dirname, "warm-pi.ts"), cli, path], options);
		this.#gone = new Promise((resolve) => this.pty.onExit(() => resolve(undefined)));
		void this.#gone.then(() => {
			this.#server.close();
			rmSync(this.#folder, { recursive: true, force: true });
		});
	}

	run(started: Started): void {
		this.#marker = randomUUID();
		void this.#order({ run: { ...started, marker: this.#marker } });
	}

	/** Ends the run as SIGTERM does; gives whether the process can run another one. */
	async close(): Promise<boolean> {
		let heard = "";
		const all = new Promise<void>((resolve) => {
			const listener = this.pty.onData((data) => {
				heard += data;
				if (!heard.includes(this.#marker)) return;
				listener.dispose();
				resolve();
			});
		});
		const ended = this.#order({ close: "run" }).then(
			(socket) =>
				new Promise<Ended>((resolve) =>
					createInterface({ input: socket }).once("line", (line) => resolve(JSON.parse(line) as Ended)),
				),
		);
		const late = new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), deadline / 10).unref());
		const both = Promise.all([ended, all]).then(([{ again }]) => again);
		return (await Promise.race([both, late, this.#gone])) ?? false;
	}

	async kill(): Promise<void> {
		this.pty.kill("SIGKILL");
		await this.#gone;
	}

	async #order(order: Order): Promise<Socket> {
		const socket = await this.#socket;
		socket.write(`${JSON.stringify(order)}\n`);
		return socket;
	}
}
