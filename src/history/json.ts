/** Reads values of a session file. Trusts nothing, because anybody can write into one. */
import { isObject } from "../core/is-object.ts";

/** The most dollars, tokens or continuations that one entry can hold. */
const MOST = 1e9;

/** In milliseconds. */
const YEAR = 3.2e10;

export type Json = Readonly<Record<string, unknown>>;

/** The object that a line holds. */
export function parse(line: string): Json | undefined {
	try {
		const value: unknown = JSON.parse(line);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

/** The text of a message's content, images left out. */
export function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	return list(content)
		.map((part) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
		.join("\n");
}

/** The time of an ISO 8601 date, in milliseconds since 1970; -Infinity if it is not one. */
export function timeOf(value: unknown): number {
	const ms = typeof value === "string" ? Date.parse(value) : NaN;
	return Number.isNaN(ms) ? -Infinity : ms;
}

export function number(value: unknown): number | undefined {
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

export function list(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value : [];
}

/** A figure; 0 if it is below 0 or above what one entry can hold. */
export function spent(value: unknown): number {
	const figure = number(value) ?? 0;
	return figure >= 0 && figure <= MOST ? figure : 0;
}

/** Milliseconds from one time to another; 0 if that is no time or more than a year, because then an end is wrong. */
export function span(from: number, to: number): number {
	const ms = to - from;
	return ms > 0 && ms < YEAR ? ms : 0;
}
