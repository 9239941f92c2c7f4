/** Options that a program gives as functions: read late, never trusted, never able to switch the wrap-up off. */
import { quote } from "../core/text.ts";
import { DEFAULT_GRACE } from "./settings.ts";

/** A value that can be used, and what was wrong with the one supplied. */
export interface Supplied<T> {
	readonly value: T;
	readonly problem?: string;
}

/** At least 1; the limit bounds it from above. */
export function readGrace(grace: () => unknown): Supplied<number> {
	const read = attempt(grace);
	if (typeof read.value !== "number" || Number.isNaN(read.value)) {
		const problem = `grace(): expected a number, got ${quote(read.problem ?? read.value)}. Using ${DEFAULT_GRACE}.`;
		return { value: DEFAULT_GRACE, problem };
	}
	return { value: Math.min(Math.max(1, Math.trunc(read.value)), Number.MAX_SAFE_INTEGER) };
}

export function readMessage(message: () => unknown, fallback: string): Supplied<string> {
	const read = attempt(message);
	if (typeof read.value === "string" && read.value.trim() !== "") return { value: read.value };
	const got = quote(read.problem ?? read.value);
	return { value: fallback, problem: `wrapUpMessage(): expected non-empty text, got ${got}. Using the built-in one.` };
}

function attempt(read: () => unknown): Supplied<unknown> {
	try {
		return { value: read() };
	} catch (error) {
		return { value: undefined, problem: String(error) };
	}
}
