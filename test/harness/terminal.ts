/** pi in a real pty, its output in a headless terminal emulator, so that a test types keys and reads the screen. */
import { spawn, type IPty } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import { deadline, defer, Watch, type Scope } from "./wait.ts";

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
	readonly #watch = new Watch(() => this.screen());
	#code: number | undefined;
	#title = "";
	/** How often the bell has rung. */
	bells = 0;
	/** The program status that pi has reported (OSC 7501), in that order. */
	readonly reports: string[] = [];

	constructor(t: Scope, { file, args, cwd, env }: Command, { cols = 120, rows = 40 }: TerminalOptions) {
		this.#emulator = new xterm.Terminal({ cols, rows, allowProposedApi: true });
		this.#pty = spawn(file, args, { name: "xterm-256color", cols, rows, cwd, env });
		this.#emulator.onTitleChange((title) => (this.#title = title));
		this.#emulator.onBell(() => {
			this.bells++;
			this.#watch.changed();
		});
		this.#emulator.parser.registerOscHandler(7501, (report) => this.reports.push(report) > 0);
		this.#emulator.onData((reply) => this.#pty.write(reply));
		this.#pty.onData((data) => this.#emulator.write(data, () => this.#watch.changed()));
		this.#pty.onExit(({ exitCode }) => {
			this.#code = exitCode;
			this.#watch.over(`pi has ended (${exitCode})`);
		});
		defer(t, () => this.#end());
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
		if (this.#code === undefined) this.#pty.kill("SIGTERM");
		const kill = setTimeout(() => this.#pty.kill("SIGKILL"), deadline / 4);
		await this.exit().finally(() => clearTimeout(kill));
		this.#emulator.dispose();
	}

	#has(text: string | RegExp): boolean {
		return typeof text === "string" ? this.screen().includes(text) : text.test(this.screen());
	}
}
