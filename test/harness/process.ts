/** A pi process. */
import { spawn, type ChildProcess } from "node:child_process";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import "./noon.ts";
import { deadline, defer, Watch, within, type Scope } from "./wait.ts";

/** The package under test. */
export const root = resolve(import.meta.dirname, "../..");

/** The node that runs pi; `PI_TEST_NODE` names another. */
export const node = process.env["PI_TEST_NODE"] || process.execPath;

/** The pi that runs; `PI_TEST_HOST` names the cli.js of another. */
export const cli =
	process.env["PI_TEST_HOST"] || join(root, "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js");

/** Our extension as pi loads it; `PI_TEST_EXTENSION` names a bundle of it (`scripts/suite.ts`), or an installed package. */
export const extension = process.env["PI_TEST_EXTENSION"] || root;

/** The environment of a program that loads pi: it finds pi compiled, as pi's own cli.js does. */
export function compiled(env: Record<string, string>): Record<string, string> {
	return { ...env, NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache") };
}

/** How a process ended. */
export interface Result {
	stdout: string;
	stderr: string;
	code: number | null;
	signal: NodeJS.Signals | null;
}

/** How pi is started. */
export interface Started {
	readonly args: readonly string[];
	readonly cwd: string;
	readonly env: Record<string, string>;
	/** true: it gets input, as `--mode rpc` needs it. */
	readonly input: boolean;
}

/** A pi that runs. */
export interface Pi {
	readonly stdout: string;
	readonly stderr: string;
	/** Changes are announced by whoever reads the output. */
	readonly watch: Watch;
	onOutput(listener: (part: string) => void): void;
	write(text: string): void;
	closeInput(): void;
	/** Waits for its end. */
	ended(): Promise<Result>;
}

/** A pi process with pipes. It does not outlive the test. */
export class Running implements Pi {
	readonly child: ChildProcess;
	readonly watch = new Watch(() => `${this.stdout}\n--- stderr ---\n${this.stderr}`);
	stdout = "";
	stderr = "";
	readonly #closed: Promise<Result>;

	constructor(t: Scope, cwd: string, env: Record<string, string>, args: string[], stdin: "ignore" | "pipe") {
		this.child = spawn(node, [cli, ...args], { cwd, env, stdio: [stdin, "pipe", "pipe"] });
		// A test that hangs ends its process without its hooks.
		const kill = (): void => void this.child.kill("SIGKILL");
		process.once("exit", kill);
		this.child.stdin?.on("error", () => {}); // a write to a pi that has just gone
		this.child.stderr?.setEncoding("utf8").on("data", (part: string) => (this.stderr += part));
		this.child.stdout?.setEncoding("utf8").on("data", (part: string) => (this.stdout += part));
		this.#closed = new Promise((closed, failed) => {
			this.child.on("error", failed);
			this.child.on("close", (code, signal) => {
				process.off("exit", kill);
				closed({ stdout: this.stdout, stderr: this.stderr, code, signal });
				this.watch.over(`pi has ended (${signal ?? code})`);
			});
		});
		defer(t, () => this.#end());
	}

	onOutput(listener: (part: string) => void): void {
		this.child.stdout?.on("data", listener);
	}

	write(text: string): void {
		this.child.stdin?.write(text);
	}

	closeInput(): void {
		this.child.stdin?.end();
	}

	ended(): Promise<Result> {
		return within("the end of pi", this.#closed, () => `${this.stdout}\n--- stderr ---\n${this.stderr}`);
	}

	/** SIGTERM lets pi end its tools too; SIGKILL is for a pi that no longer listens. */
	async #end(): Promise<void> {
		this.child.kill("SIGTERM");
		const kill = setTimeout(() => this.child.kill("SIGKILL"), deadline / 4);
		await this.#closed.finally(() => clearTimeout(kill));
	}
}
