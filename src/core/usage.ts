/** Reads the usage that a host reports or has stored. Trusts nothing: a tool leaves out parts, and nobody checks a provider's. */
import { isObject } from "./is-object.ts";

export interface ReportedUsage {
	readonly cost?: unknown;
	readonly input?: unknown;
	readonly output?: unknown;
	readonly cacheRead?: unknown;
	readonly cacheWrite?: unknown;
	readonly totalTokens?: unknown;
}

/** The total, which can be 0 although the parts are not; the sum of the parts if the total is missing, negative or no number. A cost that is a number is the total. */
export function dollarsIn({ cost }: ReportedUsage): number {
	if (!isObject(cost)) return figure(cost);
	const { total, input, output, cacheRead, cacheWrite } = cost;
	const isKnown = typeof total === "number" ? total >= 0 : figure(total) > 0;
	return isKnown ? figure(total) : sumOfFigures(input, output, cacheRead, cacheWrite);
}

/** Cache reads are none. */
export function tokensIn({ input, output, cacheWrite, cacheRead, totalTokens }: ReportedUsage): number {
	return sumOfFigures(input, output, cacheWrite) || figure(totalTokens) - figure(cacheRead);
}

function sumOfFigures(...values: readonly unknown[]): number {
	return values.map(figure).reduce((all, value) => all + value, 0);
}

/** A number that can be counted; text that holds one is one. */
function figure(value: unknown): number {
	const number = typeof value === "string" || typeof value === "bigint" ? Number(value) : value;
	return typeof number === "number" && number > 0 ? number : 0;
}
