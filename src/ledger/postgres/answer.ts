/** Reads what the functions of sql/fleet.sql answer. A server can answer anything, and all of it could be shown. */
import { isObject } from "../../core/is-object.ts";
import { isCount } from "../../core/unit.ts";
import type { Balance, Reading } from "../port.ts";

export interface ServerAnswer {
	/** In the order of the accounts that were given. */
	readonly readings: readonly Reading["meters"][];
	readonly granted: boolean;
	/** The readings are those before it. */
	readonly isNew: boolean;
	/** Which of the accounts is full. */
	readonly full: number;
	readonly meters: readonly string[];
	readonly spent: boolean;
}

/** Undefined unless it holds one reading for each of so many accounts. */
export function toAnswer(given: unknown, accounts: number): ServerAnswer | undefined {
	if (!isObject(given)) return undefined;
	const { readings = [], granted, isNew, full = 0, meters = [], spent } = given;
	if (!isList(readings) || readings.length !== accounts || !isList(meters) || !meters.every(isMeter)) return undefined;
	const read = readings.map((reading) => (isObject(reading) ? toMeters(reading["meters"]) : undefined));
	if (!read.every((each) => each !== undefined)) return undefined;
	if (granted !== true && accounts > 0 && read[Number(full)] === undefined) return undefined;
	const isTrue = (value: unknown): boolean => value === true;
	return {
		readings: read,
		granted: isTrue(granted),
		isNew: isTrue(isNew),
		full: Number(full),
		meters,
		spent: isTrue(spent),
	};
}

function toMeters(given: unknown): Reading["meters"] | undefined {
	if (!isObject(given)) return undefined;
	const meters = Object.entries(given).map(([meter, balance]) => (isMeter(meter) ? [meter, toBalance(balance)] : []));
	return meters.every(([, balance]) => balance !== undefined)
		? (Object.fromEntries(meters) as Reading["meters"])
		: undefined;
}

function toBalance(given: unknown): Balance | undefined {
	if (!isObject(given)) return undefined;
	const { used, held, cap } = given;
	return isCount(used) && isCount(held) && (cap === "unlimited" || isCount(cap)) ? { used, held, cap } : undefined;
}

/** No text that a terminal would obey. */
function isMeter(value: unknown): value is string {
	return typeof value === "string" && /^[a-z]{1,40}$/i.test(value);
}

function isList(value: unknown): value is readonly unknown[] {
	return Array.isArray(value);
}
