/** Calendar days, ISO weeks and months in a time zone. */
import type { Period } from "../core/scopes.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

interface Dates {
	/** How a date of the period is written: for errors, and as a pattern. */
	readonly form: string;
	readonly pattern: RegExp;
	/** The date of the period that a day is in. */
	readonly dateOf: (day: string) => string;
	/** The first day after the period, as its midnight in UTC. @param numbers in its date */
	readonly dayAfter: (...numbers: number[]) => number;
}

const DATES: Readonly<Record<Period, Dates>> = {
	day: {
		form: "YYYY-MM-DD",
		pattern: /^\d{4}-\d\d-\d\d$/,
		dateOf: (day) => day,
		dayAfter: (year = 0, month = 0, day = 0) => Date.UTC(year, month - 1, day + 1),
	},
	week: {
		form: "YYYY-Www",
		pattern: /^\d{4}-W\d\d$/,
		dateOf: weekOf,
		// The 4th of January is in week 1.
		dayAfter: (year = 0, week = 0) => mondayOf(Date.UTC(year, 0, 4)) + week * 7 * DAY,
	},
	month: {
		form: "YYYY-MM",
		pattern: /^\d{4}-\d\d$/,
		dateOf: (day) => day.slice(0, "2026-11".length),
		dayAfter: (year = 0, month = 0) => Date.UTC(year, month, 1),
	},
};

/** `2026-11-18`, `2026-W47` or `2026-11`. A week begins on Monday and belongs to the year of its Thursday. */
export function dateIn(period: Period, zone: string, now: number): string {
	return DATES[period].dateOf(dayIn(zone, now));
}

/** The moment after the last one of the period. @param date as `dateIn` gives it. */
export function endOfPeriod(period: Period, zone: string, date: string): number {
	const known = ends.get(`${zone} ${date}`);
	if (known !== undefined) return known;
	const end = findEnd(zone, firstDayAfter(period, date));
	ends.set(`${zone} ${date}`, end);
	return end;
}

const ends = new Map<string, number>();

/** The first moment of a day; `day` is its midnight in UTC. */
function findEnd(zone: string, day: number): number {
	const text = dayOf(day);
	// No zone is a day from UTC, and offsets are whole minutes. Searched, because midnight is skipped or comes twice where
	// clocks change at midnight.
	let [before, after] = [day - DAY, day + DAY];
	while (after - before > MINUTE) {
		const middle = before + Math.floor((after - before) / MINUTE / 2) * MINUTE;
		if (formatted(zone, middle) < text) before = middle;
		else after = middle;
	}
	return after;
}

export function isZone(text: string): boolean {
	try {
		formatOf(text);
		return true;
	} catch {
		return false;
	}
}

/** True for text that `dateIn` could have given for the period. */
export function isDate(period: Period, text: string): boolean {
	return DATES[period].pattern.test(text) && DATES[period].dateOf(dayOf(firstDayAfter(period, text) - DAY)) === text;
}

/** `YYYY-MM-DD`: how a date of the period is written. */
export function dateForm(period: Period): string {
	return DATES[period].form;
}

function firstDayAfter(period: Period, date: string): number {
	return DATES[period].dayAfter(...date.split(/-[A-Z]?/).map(Number));
}

function dayOf(utc: number): string {
	return new Date(utc).toISOString().slice(0, "2026-11-18".length);
}

function weekOf(day: string): string {
	const thursday = mondayOf(Date.parse(day)) + 3 * DAY;
	const year = new Date(thursday).getUTCFullYear();
	const week = 1 + Math.floor((thursday - Date.UTC(year, 0, 1)) / (7 * DAY));
	return `${year}-W${String(week).padStart(2, "0")}`;
}

function mondayOf(utc: number): number {
	return utc - ((new Date(utc).getUTCDay() + 6) % 7) * DAY;
}

const days = new Map<string, { minute: number; day: string }>();

/** @throws RangeError for what is not a time zone. */
function dayIn(zone: string, now: number): string {
	const minute = Math.floor(now / MINUTE); // no zone changes its date within one
	const known = days.get(zone);
	if (known?.minute === minute) return known.day;
	const day = formatted(zone, now);
	days.set(zone, { minute, day });
	return day;
}

function formatted(zone: string, now: number): string {
	const parts = formatOf(zone).formatToParts(now);
	return ["year", "month", "day"].map((type) => parts.find((part) => part.type === type)?.value).join("-");
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
	const known = formats.get(zone);
	if (known) return known;
	const numbers = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
	const format = new Intl.DateTimeFormat("en", { timeZone: zone, ...numbers });
	formats.set(zone, format);
	return format;
}
