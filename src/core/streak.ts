/** Calls that go in circles: the same call in a row, or the same cycle of two or three calls. */
import type { Call } from "./meters.ts";

export interface Streak {
	/** The last calls, newest first. */
	readonly recent: readonly string[];
	/** For each cycle length n: the number of calls in a row, up to the last, that equal the call n before. */
	readonly same: readonly number[];
	/** A call that went on with this streak was refused: in this turn, or in an earlier one, so that the model knows. */
	readonly warned: "no" | "just_now" | "earlier";
}

export const NO_STREAK: Streak = { recent: [], same: [0, 0, 0], warned: "no" };

/** Adds a call. */
export function extend({ recent, same, warned }: Streak, call: Call): Streak {
	const key = JSON.stringify([call.tool, sorted(call.input)]);
	const next = same.map((times, i) => (recent[i] === key ? times + 1 : 0));
	const goesOn = next.some((times) => times > 0);
	return { recent: [key, ...recent].slice(0, same.length), same: next, warned: goesOn ? warned : "no" };
}

/** How often in a row there was what the last call completes: a call, or a cycle. 1 if it repeats nothing. */
export function repetitions(streak: Streak): number {
	return 1 + Math.max(...completed(streak));
}

/** How many calls go round; 1 if it is the same one. */
export function cycleLength(streak: Streak): number {
	const times = completed(streak);
	return 1 + times.indexOf(Math.max(...times));
}

/** For each length of a cycle: how often the last call has completed it. */
function completed({ same }: Streak): readonly number[] {
	return same.map((times, i) => (times % (i + 1) === 0 ? times / (i + 1) : 0));
}

/** The same arguments in another order are the same. */
function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (typeof value !== "object" || value === null) return value;
	const parts = value as Readonly<Record<string, unknown>>;
	const keys = Object.keys(parts).toSorted();
	return Object.fromEntries(keys.map((key) => [key, sorted(parts[key])]));
}
