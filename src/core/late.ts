/** Values that the surroundings supply as functions: read late, never trusted, never able to switch the wrap-up off. */
import { badGrace, badMessage } from "./wording.ts";

/** The grace where a person cannot be asked, and where a grace function gives none. */
export const DEFAULT_GRACE = 2;

/** A value that can be used in any case, and what was wrong with the one supplied. */
export interface Late<T> {
	readonly value: T;
	readonly problem?: string;
}

/** At least 1; the bound from above is the limit's own. */
export function readGrace(grace: () => unknown): Late<number> {
	const read = attempt(grace);
	if (typeof read.value !== "number" || Number.isNaN(read.value)) {
		return { value: DEFAULT_GRACE, problem: badGrace(read.problem ?? read.value, DEFAULT_GRACE) };
	}
	return { value: Math.min(Math.max(1, Math.trunc(read.value)), Number.MAX_SAFE_INTEGER) };
}

export function readMessage(message: () => unknown, fallback: string): Late<string> {
	const read = attempt(message);
	if (typeof read.value === "string" && read.value.trim() !== "") return { value: read.value };
	return { value: fallback, problem: badMessage(read.problem ?? read.value) };
}

function attempt(read: () => unknown): Late<unknown> {
	try {
		return { value: read() };
	} catch (error) {
		return { value: undefined, problem: String(error) };
	}
}
