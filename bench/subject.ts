/** The thing to measure: no extension, one that only listens, or a real one by its file. Passed to other processes as JSON. */
import { type Extension, listener, timed } from "./timed.ts";

export type Subject = { readonly listens: readonly string[] } | { readonly file: string } | null;

/** Loads what is measured, and nothing else of ours; `spent` gets the milliseconds in its handlers. */
export async function load(subject: Subject, spent: (ms: number) => void): Promise<Extension[]> {
	if (subject === null) return [];
	if ("listens" in subject) return [timed(listener(subject.listens), spent)];
	const { default: extension } = (await import(subject.file)) as { default: Extension };
	return [timed(extension, spent)];
}
