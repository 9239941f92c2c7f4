/** Sessions as pi stores them, made up: for the bench of `advise`. The same seed gives the same bytes. */
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The contents of the corpus, to be compared with the figures of `advise`. */
export interface Corpus {
	readonly bytes: number;
	readonly prompts: number;
	readonly turns: number;
}

/**
 * Writes sessions into `folder`, in 40 projects: most prompts are short, some long, as in docs/advice-reasons.md; most bytes are
 * tool results.
 */
export function makeCorpus(folder: string, sessions: number, bytes: number): Corpus {
	const random = generator(42);
	let [written, prompts, turns] = [0, 0, 0];
	for (let n = 0; n < sessions; n++) {
		const project = join(folder, `--home-me-project-${n % 40}--`);
		mkdirSync(project, { recursive: true });
		const file = openSync(join(project, `${n}.jsonl`), "w");
		const session = new Writer(file, n, random);
		// Sizes differ a lot between sessions; together they come to what was asked for.
		const size = ((n + random()) / sessions) * bytes - written;
		do {
			prompts++;
			turns += session.prompt();
		} while (session.bytes < size);
		written += session.bytes;
		closeSync(file);
	}
	return { bytes: written, prompts, turns };
}

class Writer {
	bytes = 0;
	readonly #file: number;
	readonly #random: () => number;
	#clock: number;
	#parent: string | null = null;
	#n = 0;

	constructor(file: number, n: number, random: () => number) {
		this.#file = file;
		this.#random = random;
		this.#clock = Date.UTC(2026, 0, 1) + n * 3_600_000;
		const timestamp = new Date(this.#clock).toISOString();
		this.#write({ type: "session", version: 3, id: `session-${n}`, timestamp, cwd: `/home/me/project-${n % 40}` });
	}

	/** Gives how many turns it took. */
	prompt(): number {
		const turns = Math.ceil(Math.min(150, 1.2 / (this.#random() + 0.008)));
		this.#message(60_000, { role: "user", content: [{ type: "text", text: `Do thing ${this.#n}.` }] });
		for (let turn = 1; turn <= turns; turn++) {
			const last = turn === turns;
			const call = {
				type: "toolCall",
				id: `call-${this.#n}`,
				name: "bash",
				arguments: { command: "npm test -- some/file" },
			};
			const said = { type: "text", text: words(this.#random, last ? 900 : 200) };
			const usage = {
				input: 800,
				output: 250,
				cacheRead: 20_000,
				cacheWrite: 900,
				cost: { total: 0.02 * this.#random() },
			};
			this.#message(8_000, {
				...{ role: "assistant", content: last ? [said] : [said, call], usage, provider: "p", model: "m" },
				...{ stopReason: last ? "stop" : "toolUse", api: "anthropic-messages" },
			});
			if (last) continue;
			const output = words(this.#random, 200 + 12_000 * this.#random() ** 2);
			this.#message(2_000, {
				role: "toolResult",
				toolCallId: call.id,
				toolName: "bash",
				content: [{ type: "text", text: output }],
			});
		}
		return turns;
	}

	#message(ms: number, message: object): void {
		const start = this.#clock;
		this.#clock += Math.ceil(ms * (0.5 + this.#random()));
		const asked = "stopReason" in message ? start : this.#clock;
		const [id, timestamp] = [(this.#n++).toString(16).padStart(8, "0"), new Date(this.#clock).toISOString()];
		this.#write({ type: "message", id, parentId: this.#parent, timestamp, message: { ...message, timestamp: asked } });
		this.#parent = id;
	}

	#write(entry: object): void {
		this.bytes += writeSync(this.#file, `${JSON.stringify(entry)}\n`);
	}
}

const VOCABULARY = [
	"const value = read(path);\n",
	"expected ",
	"\tat Object.<anonymous> ",
	"“ok” ",
	"12 passing\n",
	'the "quoted" text ',
];

function words(random: () => number, length: number): string {
	const parts: string[] = [];
	for (let n = 0; n < length;) {
		const part = VOCABULARY[Math.floor(random() * VOCABULARY.length)] ?? "";
		n += part.length;
		parts.push(part);
	}
	return parts.join("");
}

/** Numbers from 0 to 1 that look random. */
function generator(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return state / 2 ** 32;
	};
}
