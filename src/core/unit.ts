/** Units of meters: how people write an amount and how it is shown. The core counts whole numbers. */
export interface Unit {
	/** A value of a file or a program as the core counts it; undefined if it is invalid. */
	readonly read: (value: unknown) => number | undefined;
	/** The counted value as files and programs write it. */
	readonly write: (counted: number) => number;
	/** Turns typed text into a value that `read` takes; leaves any other text as it is. */
	readonly parse: (text: string) => unknown;
	/** For error messages: "expected …". */
	readonly expected: string;
	readonly show: (counted: number) => string;
	/** The values that `read` takes, as JSON schema. */
	readonly schema: readonly object[];
}

/** The unit with every amount capped at `most`. */
export function atMost(unit: Unit, most: number): Unit {
	const read: Unit["read"] = (value) => {
		const counted = unit.read(value);
		return counted === undefined ? undefined : Math.min(counted, most);
	};
	return { ...unit, read };
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

/** The largest amount that two digits do not round to a cent. */
const BELOW_CENT = 9_949;

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
	show: (counted) => {
		const dollars = counted / MILLION;
		// Two significant digits, because two decimals say too little below a cent.
		return `$${counted > 0 && counted <= BELOW_CENT ? Number(dollars.toPrecision(2)) : dollars.toFixed(2)}`;
	},
	schema: [
		{ type: "number", minimum: 0, maximum: MAX_DOLLARS },
		{ type: "string", pattern: AMOUNT.source },
	],
};

/** Digits alone, or a decimal number of thousands or millions. */
const TOKEN_FORM = /^(?:\d{1,16}|\d{1,9}(?:\.\d+)?[kKmM])$/;
const TOKEN_FACTORS: Readonly<Record<string, number>> = { k: 1000, m: MILLION };

/** People write `500k` and `1.5M`. */
export const TOKENS: Unit = {
	read: (value) => {
		const tokens = typeof value === "string" ? TOKENS.parse(value) : value;
		return isCount(tokens) ? tokens : undefined;
	},
	write: (counted) => counted,
	parse: (text) => {
		if (!TOKEN_FORM.test(text)) return text;
		const factor = TOKEN_FACTORS[text.slice(-1).toLowerCase()] ?? 1;
		const tokens = Math.round(Number.parseFloat(text) * factor);
		return isCount(tokens) ? tokens : text;
	},
	expected: "tokens such as 500000, 500k or 1.5M",
	show: (counted) => {
		if (counted < 1000) return String(counted);
		// From here on an amount would round to 1000k, so it is shown as 1M.
		return counted < 999_500 ? `${rounded(counted / 1000)}k` : `${rounded(counted / MILLION)}M`;
	},
	schema: [
		{ type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
		{ type: "string", pattern: TOKEN_FORM.source },
	],
};

/** Seconds alone, or hours, minutes and seconds, each with its letter. */
const TIME_FORM =
	/^(?=\d)(?:(\d{1,9}(?:\.\d+)?)|(?:(\d{1,9}(?:\.\d+)?)[hH])?(?:(\d{1,9}(?:\.\d+)?)[mM])?(?:(\d{1,9}(?:\.\d+)?)[sS])?)$/;

/** A hundred years; in milliseconds it is exact. */
const MAX_SECONDS = 3_155_760_000;

/** Counted in whole milliseconds. */
export const SECONDS: Unit = {
	read: (value) => {
		const seconds = typeof value === "string" ? SECONDS.parse(value) : value;
		if (typeof seconds !== "number" || !(seconds >= 0 && seconds <= MAX_SECONDS)) return undefined;
		return Math.round(seconds * 1000);
	},
	write: (counted) => counted / 1000,
	parse: (text) => {
		const parts = TIME_FORM.exec(text);
		if (parts === null) return text;
		const [alone = 0, hours = 0, minutes = 0, seconds = 0] = parts
			.slice(1)
			.map((part: string | undefined) => Number(part ?? 0));
		return alone + hours * 3600 + minutes * 60 + seconds;
	},
	expected: "a time such as 90s, 30m or 1h30m",
	show: (counted) => {
		// From here on a time would round to 10s, so it is shown in whole seconds.
		if (counted < 9_950) return `${tenths(counted / 1000)}s`;
		const seconds = Math.round(counted / 1000);
		const parts = [
			[Math.floor(seconds / 3600), "h"],
			[Math.floor(seconds / 60) % 60, "m"],
			[seconds % 60, "s"],
		] as const;
		return parts.flatMap(([n, letter]) => (n > 0 ? [`${n}${letter}`] : [])).join("");
	},
	schema: [
		{ type: "number", minimum: 0, maximum: MAX_SECONDS },
		{ type: "string", pattern: TIME_FORM.source },
	],
};

/** To one decimal, or to one significant digit if that says 0. */
function tenths(number: number): number {
	return Number(number.toFixed(1)) || Number(number.toPrecision(1));
}

/** To three significant digits. */
function rounded(number: number): number {
	return Number(number.toPrecision(3));
}
