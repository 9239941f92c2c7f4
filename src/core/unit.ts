/** What a meter is counted in, how people write it and how it is shown. Inside, every amount is a whole number. */
export interface Unit {
	/** A value of a file or a program as the core counts it; undefined if it is none. */
	readonly read: (value: unknown) => number | undefined;
	/** The counted value as files and programs write it. */
	readonly write: (counted: number) => number;
	/** What a person typed, as a value that `read` takes; anything else stays as it is. */
	readonly parse: (text: string) => unknown;
	/** For error messages: "expected …". */
	readonly expected: string;
	readonly show: (counted: number) => string;
	/** What `read` takes, as JSON schema. */
	readonly schema: readonly object[];
}

/** Whole and not negative: what a limit, a grace and a count can be. */
export function isCount(value: unknown): value is number {
	return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Decimal digits that make a count become a number; other text stays as it is. */
export function parseCount(text: string): unknown {
	const count = /^\d+$/.test(text) ? Number(text) : undefined;
	return isCount(count) ? count : text;
}

export const COUNT: Unit = {
	read: (value) => (isCount(value) ? value : undefined),
	write: (counted) => counted,
	parse: parseCount,
	expected: "a whole number from 0",
	show: String,
	schema: [{ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }],
};

/** A dollar, in what the core counts. */
const MILLION = 1_000_000;

/** A whole number of millionths up to here is exact. */
const MAX_DOLLARS = 1_000_000_000;

/** At most nine digits before the point: below `MAX_DOLLARS`. */
const AMOUNT = /^\$?(\d{1,9}(?:\.\d+)?)$/;

/** Counted in whole millionths of a US dollar. */
export const DOLLARS: Unit = {
	read: (value) => {
		const dollars = typeof value === "string" ? DOLLARS.parse(value) : value;
		if (typeof dollars !== "number" || !(dollars >= 0 && dollars <= MAX_DOLLARS)) return undefined;
		return Math.round(dollars * MILLION);
	},
	write: (counted) => counted / MILLION,
	parse: (text) => {
		const digits = AMOUNT.exec(text)?.[1];
		return digits === undefined ? text : Number(digits);
	},
	expected: "dollars such as 2.50 or $2.50",
	// Of less than a cent the digits that tell something.
	show: (counted) =>
		`$${counted > 0 && counted < MILLION / 100 ? Number((counted / MILLION).toPrecision(2)) : (counted / MILLION).toFixed(2)}`,
	schema: [
		{ type: "number", minimum: 0, maximum: MAX_DOLLARS },
		{ type: "string", pattern: AMOUNT.source },
	],
};
