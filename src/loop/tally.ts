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

/** Plain data, because another instance may take them over. */
export interface TallyFacts {
	readonly since: "prompt" | "yes";
	/** By tool. */
	readonly calls: ReadonlyMap<string, number>;
	/** Newest first. */
	readonly last: readonly Call[];
	/** Calls under way that change a file, by id. */
	readonly changing: ReadonlyMap<string, string>;
	readonly changed: ReadonlySet<string>;
	readonly errors: number;
	/** Spent since the prompt by runs that are over. */
	readonly earlier?: Spent | undefined;
}

const NOTHING_DONE = { calls: new Map(), last: [], changed: new Set<string>(), errors: 0 } as const;

export class Tally {
	#facts: TallyFacts;

	constructor(facts: TallyFacts = { ...NOTHING_DONE, since: "prompt", changing: new Map() }) {
		this.#facts = facts;
	}

	get facts(): TallyFacts {
		return this.#facts;
	}

	/** A person has prompted. */
	prompted(): void {
		this.#note({ ...NOTHING_DONE, since: "prompt", earlier: undefined });
	}

	/** A person has said yes at a question. */
	continued(): void {
		this.#note({ ...NOTHING_DONE, since: "yes" });
	}

	/** A run is over. The next one belongs to the same prompt, unless somebody prompts. */
	ended(spent: Spent): void {
		this.#note({ earlier: add(this.#facts.earlier, spent) });
	}

	/** A call was admitted. */
	called(call: Call): void {
		const { calls, last, changed, changing } = this.#facts;
		const tool = clip(call.tool, 30);
		this.#note({
			calls: new Map(calls).set(tool, (calls.get(tool) ?? 0) + 1),
			last: [call, ...last].slice(0, LAST),
		});
		const file = fileOf(call);
		if (file === undefined) return;
		if (call.id === undefined) this.#note({ changed: new Set(changed).add(file) });
		else this.#note({ changing: new Map(changing).set(call.id, file) });
	}

	/** The host reports the end of a call. */
	callEnded(id: string, isError: boolean): void {
		const { changing, changed, errors } = this.#facts;
		const file = changing.get(id);
		if (isError) this.#note({ errors: errors + 1 });
		if (file === undefined) return;
		this.#note({ changing: new Map([...changing].filter(([other]) => other !== id)) });
		if (!isError) this.#note({ changed: new Set(changed).add(file) });
	}

	/** The sum since the person's prompt, if it is more than this run has spent. */
	sincePrompt(spent: Spent): Spent | undefined {
		const { earlier } = this.#facts;
		return earlier && earlier.turns > 0 ? add(earlier, spent) : undefined;
	}

	/** Up to two lines: the calls by tool, changed files and errors; the last calls, newest first. None without a call. */
	lines(describe: (call: Call) => string): readonly string[] {
		const { since, calls, last, changed, errors } = this.#facts;
		if (last.length === 0) return [];
		const tools = [...calls].toSorted(([, a], [, b]) => b - a).map(([tool, times]) => `${times} ${tool}`);
		const files = several(changed.size, "file changed", "files changed");
		const counts = [tools.join(", "), ...files, ...several(errors, "error", "errors")].join(" · ");
		return [`Since your ${since}: ${counts}`, `Last: ${last.map(describe).join(" · ")}`];
	}

	#note(facts: Partial<TallyFacts>): void {
		this.#facts = { ...this.#facts, ...facts };
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
