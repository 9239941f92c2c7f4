/** A run as text, to go on in another process. */
import { createHash } from "node:crypto";
import { isObject } from "../../core/is-object.ts";
import type { State } from "../../core/state.ts";
import { readSaved, saved, type SavedState } from "../../loop/saved-state.ts";

const VERSION = 1;

/** Counts of a run, and the texts that are still to reach its model. */
export interface SavedRun extends SavedState {
	/** Names the run in every process. */
	readonly id: string;
	/** For the next request. */
	readonly notes: readonly string[];
	/** The answers to calls of the turn under way, by id; null admits. */
	readonly answers: Readonly<Record<string, string | null>>;
	/** As `tree-variable.ts` writes it. */
	readonly tree: string;
}

export function writeRun(state: State, rest: Pick<SavedRun, "id" | "notes" | "answers" | "tree">): string {
	return sealed({ version: VERSION, ...rest, ...saved(state) });
}

/** With a checksum before it, so that a damaged text does not pass for another run. It keeps nobody from writing one. */
export function sealed(run: object): string {
	const text = JSON.stringify(run);
	return `${checksum(text)} ${text}`;
}

function checksum(text: string): string {
	return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Undefined for anything but what `writeRun` has written. */
export function readRun(text: unknown): SavedRun | undefined {
	try {
		const [, sum, json = ""] = /^([\da-f]{16}) (.*)$/s.exec(String(text)) ?? [];
		if (sum !== checksum(json)) return undefined;
		const written: unknown = JSON.parse(json);
		if (!isObject(written) || written["version"] !== VERSION) return undefined;
		const { id, notes, answers, tree } = written;
		const isText = (value: unknown): value is string => typeof value === "string";
		if (!isText(id) || id === "" || !isText(tree)) return undefined;
		if (!Array.isArray(notes) || !notes.every(isText) || !isObject(answers)) return undefined;
		if (!Object.values(answers).every((answer) => answer === null || isText(answer))) return undefined;
		return { id, notes, tree, answers: answers as SavedRun["answers"], ...readSaved(written) };
	} catch {
		return undefined;
	}
}
