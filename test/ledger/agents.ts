/** Processes that spend of one ledger. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { defer, type Scope, Watch } from "../harness/wait.ts";
import type { Order } from "./agent.ts";
import type { Sandbox } from "./sandbox.ts";
import { strip } from "./strip.ts";

/** Starts agents on one ledger. */
export function agents(t: Scope, { agentDir, directory }: Sandbox): (order: Task) => Agent {
	const script = agentScript(t);
	return (task) => new Agent(t, script, { ...task, directory, within: agentDir });
}

type Task = Omit<Order, "directory" | "within">;

/** The agent in JavaScript, made once, because fifty processes that each strip the types take seconds. */
function agentScript(t: Scope): string {
	const out = mkdtempSync(join(tmpdir(), "pi-ledger-agent-"));
	defer(t, () => rmSync(out, { recursive: true, force: true }));
	strip(out, ["test/ledger/agent.ts"]);
	return join(out, "test/ledger/agent.js");
}

/** It does not outlive the test. */
class Agent {
	readonly #child: ChildProcess;
	readonly #ended: Promise<unknown>;
	readonly #watch = new Watch(() => `${this.last}\n--- stderr ---\n${this.#err}`);
	readonly #said = new Map<string, number>();
	/** The last line that it said before it was done. */
	last = "";
	#err = "";

	constructor(t: Scope, script: string, order: Order) {
		this.#child = spawn(process.execPath, [script, JSON.stringify(order)]);
		this.#child.stdin?.on("error", () => {}); // a write to one that was killed
		createInterface({ input: this.#child.stdout as Readable }).on("line", (line) => {
			if (line !== "done") this.last = line;
			this.#said.set(line, this.count(line) + 1);
			this.#watch.changed();
		});
		this.#child.stderr?.setEncoding("utf8").on("data", (part: string) => (this.#err += part));
		this.#ended = once(this.#child, "close").then(() => this.#watch.over("the agent has ended"));
		defer(t, () => this.kill());
	}

	/** How often it has said this. */
	count(line: string): number {
		return this.#said.get(line) ?? 0;
	}

	async until(line: string, times = 1): Promise<void> {
		await this.#watch.until(`${times} × ${line}`, () => this.count(line) >= times);
	}

	/** Lets it go on to its next wait. */
	go(): void {
		this.#child.stdin?.write("go\n");
	}

	/** As `kill -9`; what it had said by then has been read when this is over. */
	async kill(): Promise<void> {
		this.#child.kill("SIGKILL");
		await this.#ended;
	}
}
