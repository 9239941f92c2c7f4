/** Calls that go in circles, told from the whole row of calls each time. */
import { isDeepStrictEqual } from "node:util";
import type { Call } from "../../src/core/meters.ts";

/** The lengths of a cycle. */
export const LENGTHS = [1, 2, 3] as const;

/** How many calls at the end of the row are each the same as the one so many before. */
export function echoes(calls: readonly Call[], length: number): number {
	const fresh = calls.findLastIndex((call, i) => i < length || !isDeepStrictEqual(call, calls[i - length]));
	return calls.length - 1 - fresh;
}

/** True if the last call is the same as one of the three before it. */
export function circles(calls: readonly Call[]): boolean {
	return LENGTHS.some((length) => echoes(calls, length) > 0);
}

/** How often in a row there is what the last call completes: 1 if it repeats nothing. */
export function streakOf(calls: readonly Call[]): number {
	const complete = LENGTHS.map((length) => (echoes(calls, length) + length) / length);
	return Math.max(1, ...complete.filter(Number.isInteger));
}
