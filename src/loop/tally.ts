/** What an agent has done since a person last decided: a prompt, or a yes. For the question. */
import { isObject } from "../core/is-object.ts";
import { type Call, perRunMeter } from "../core/meters.ts";
import type { Spent } from "../core/outcome.ts";
import { clip } from "../core/text.ts";

/** Tools that change a file, and the arguments that name it. */
const CHANGES = /^(write|edit|multi_?edit|create|patch|str_?replace)(_?file)?$/i;
const PATHS = ["path", "file_path", "filePath", "file"];

/** The calls that the question shows. */
const LAST = 3;

export class Tally {
	#since: "prompt" | "yes" = "prompt";
	readonly #calls = new Map<string, number>();
	/** Newest first. */
	#last: readonly Call[] = [];
	/** Calls under way that change a file, by id. */
	readonly #changing = new Map<string, string>();
	readonly #changed = new Set<string>();
	#errors = 0;
	/** Spent since the prompt by runs that are over. */
	#earlier: Spent | undefined;

	/** A person has prompted. */
	prompted(): void {
		this.#earlier = undefined;
		this.#reset("prompt");
	}

	/** A person has said yes at a question. */
	continued(): void {
		this.#reset("yes");
	}

	/** A run is over. The next one belongs to the same prompt, unless somebody prompts. */
	ended(spent: Spent): void {
		this.#earlier = add(this.#earlier, spent);
	}

	/** A call was admitted. */
	called(call: Call): void {
		const tool = clip(call.tool, 30);
		this.#calls.set(tool, (this.#calls.get(tool) ?? 0) + 1);
		this.#last = [call, ...this.#last].slice(0, LAST);
		const file = fileOf(call);
		if (file === undefined) return;
		if (call.id === undefined) this.#changed.add(file);
		else this.#changing.set(call.id, file);
	}

	/** The host reports the end of a call. */
	callEnded(id: string, isError: boolean): void {
		const file = this.#changing.get(id);
		this.#changing.delete(id);
		if (isError) this.#errors++;
		else if (file !== undefined) this.#changed.add(file);
	}

	/** The sum since the person's prompt, if it is more than this run has spent. */
	sincePrompt(spent: Spent): Spent | undefined {
		return this.#earlier && this.#earlier.turns > 0 ? add(this.#earlier, spent) : undefined;
	}

	/** Up to two lines: the calls by tool, changed files and errors; the last calls, newest first. None without a call. */
	lines(describe: (call: Call) => string): readonly string[] {
		if (this.#last.length === 0) return [];
		const tools = [...this.#calls].toSorted(([, a], [, b]) => b - a).map(([tool, times]) => `${times} ${tool}`);
		const files = several(this.#changed.size, "file changed", "files changed");
		const errors = several(this.#errors, "error", "errors");
		const counts = [tools.join(", "), ...files, ...errors].join(" · ");
		return [`Since your ${this.#since}: ${counts}`, `Last: ${this.#last.map(describe).join(" · ")}`];
	}

	#reset(since: "prompt" | "yes"): void {
		this.#since = since;
		this.#calls.clear();
		this.#last = [];
		this.#changed.clear();
		this.#errors = 0;
	}
}

function several(n: number, one: string, many: string): readonly string[] {
	return n === 0 ? [] : [`${n} ${n === 1 ? one : many}`];
}

function fileOf({ tool, input }: Call): string | undefined {
	if (!CHANGES.test(tool) || !isObject(input)) return undefined;
	return PATHS.map((key) => input[key]).find((value) => typeof value === "string");
}

function add(before: Spent | undefined, spent: Spent): Spent {
	if (before === undefined) return spent;
	const { continuations } = spent;
	const sum = perRunMeter((id) => before[id] + spent[id]);
	// Repetitions do not add up.
	return { ...sum, repeats: spent.repeats, continuations: before.continuations + continuations };
}
