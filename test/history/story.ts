/** Sessions of our own making, as pi stores them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defer, type Scope } from "../harness/wait.ts";

/** An entry of a session file. */
export interface Entry {
	type: string;
	id: string;
	parentId: string | null;
	timestamp: string;
	[field: string]: unknown;
}

/** 1 January 2026. */
export const START = Date.UTC(2026, 0, 1);

const SECOND = 1000;

/** What an answer can be; by default it ends the run, took 5 seconds and cost a cent. */
export interface Answer {
	calls?: number;
	cost?: number;
	tokens?: number;
	seconds?: number;
	stopReason?: string;
	text?: string;
}

/** Tells a session entry by entry; the clock goes on by itself. */
export class Story {
	readonly entries: Entry[] = [];
	readonly header: Record<string, unknown>;
	clock: number;
	/** The id of the entry that the next one follows. */
	leaf: string | null = null;
	readonly #name: string;

	constructor(name = "a", options: { cwd?: string; at?: number; parent?: string } = {}) {
		this.#name = name;
		this.clock = options.at ?? START;
		this.header = {
			type: "session",
			version: 3,
			id: `session-${name}`,
			timestamp: this.#now(),
			cwd: options.cwd ?? "/project",
			...(options.parent === undefined ? {} : { parentSession: options.parent }),
		};
	}

	/** A prompt, a minute after whatever was last. */
	prompt(text = `prompt ${this.entries.length}`): this {
		this.clock += 60 * SECOND;
		return this.#message({ role: "user", content: [{ type: "text", text }] }, this.clock);
	}

	answer({ calls = 0, cost = 0.01, tokens = 100, seconds = 5, stopReason, text = "Well." }: Answer = {}): this {
		const start = (this.clock += 10);
		this.clock += seconds * SECOND;
		const call = (_: unknown, i: number): object => ({
			type: "toolCall",
			id: `${this.entries.length}.${i}`,
			name: "bash",
			arguments: {},
		});
		const content = [...(text ? [{ type: "text", text }] : []), ...Array.from({ length: calls }, call)];
		const reason = stopReason ?? (calls > 0 ? "toolUse" : "stop");
		return this.#message({ role: "assistant", content, stopReason: reason, usage: usage(cost, tokens) }, start);
	}

	/** A tool's result, 2 seconds later. */
	result(fields: object = {}): this {
		this.clock += 2 * SECOND;
		return this.#message({ role: "toolResult", toolName: "bash", content: [], ...fields }, this.clock);
	}

	/** As many turns, each but the last with a call and its result. */
	turns(n: number, answer: Answer = {}): this {
		for (let i = 1; i < n; i++) this.answer({ ...answer, calls: 1 }).result();
		return this.answer(answer);
	}

	/** A message sent a second before the last thing that the agent did had ended: steering, or queued. */
	queued(text = "and this"): this {
		return this.#message({ role: "user", content: [{ type: "text", text }] }, this.clock - SECOND);
	}

	/** A request that failed without an answer. */
	failure(): this {
		return this.answer({ stopReason: "error", text: "", cost: 0, tokens: 0 });
	}

	bash(): this {
		return this.#message({ role: "bashExecution", command: "ls", output: "" }, this.clock);
	}

	/** `compaction`, `branch_summary`, `usage` or anything else that can have cost something. */
	charge(type: string, cost = 0.05, tokens = 1000): this {
		this.clock += SECOND;
		return this.entry({ type, usage: usage(cost, tokens) });
	}

	outcome(data: object): this {
		return this.entry({ type: "custom", customType: "turn-limit-outcome", data: { version: 1, ...data } });
	}

	/** The next entry follows this one, as after `/tree`. */
	goTo(id: string | null): this {
		this.leaf = id;
		return this;
	}

	entry(fields: { type: string; [field: string]: unknown }): this {
		const id = `${this.#name}-${this.entries.length}`;
		this.entries.push({ id, parentId: this.leaf, timestamp: this.#now(), ...fields });
		this.leaf = id;
		return this;
	}

	/** A new session with the path to the leaf, as `/fork` makes it. */
	fork(name: string): Story {
		const fork = new Story(name, { at: this.clock });
		for (let id = this.leaf; id !== null;) {
			const entry = this.entries.find((one) => one.id === id);
			if (!entry) break;
			fork.entries.unshift(entry);
			id = entry.parentId;
		}
		fork.leaf = this.leaf;
		return fork;
	}

	/** The file's lines. */
	lines(): string[] {
		return [this.header, ...this.entries].map((entry) => JSON.stringify(entry));
	}

	/** The file's lines as version 1 wrote them: a list without ids. */
	linesOfVersion1(): string[] {
		const { type, id, timestamp, cwd } = this.header;
		const old = this.entries.map((entry) => ({ ...entry, id: undefined, parentId: undefined }));
		return [{ type, id, timestamp, cwd }, ...old].map((entry) => JSON.stringify(entry));
	}

	#message(message: object, timestamp: number): this {
		return this.entry({ type: "message", message: { ...message, timestamp } });
	}

	#now(): string {
		return new Date(this.clock).toISOString();
	}
}

function usage(cost: number, tokens: number): object {
	return { input: tokens, output: 0, cacheRead: 5_000, cacheWrite: 0, cost: { total: cost } };
}

/** Writes files, given by their lines, into a folder that does not outlive the test; gives its path. */
export function folder(t: Scope, files: Record<string, readonly string[]>): string {
	const path = mkdtempSync(join(tmpdir(), "pi-history-"));
	defer(t, () => rmSync(path, { recursive: true, force: true }));
	for (const [name, lines] of Object.entries(files)) {
		mkdirSync(dirname(join(path, name)), { recursive: true });
		writeFileSync(join(path, name), lines.map((line) => `${line}\n`).join(""));
	}
	return path;
}
