/** Reads the values of a fleet's budget, and notes what is wrong with them. */
import { statSync } from "node:fs";
import { isObject } from "../core/is-object.ts";
import { LEDGER_MOST } from "../core/meters.ts";
import { PERIODS } from "../core/scopes.ts";
import { quote } from "../core/text.ts";
import { typeName } from "./places.ts";
import { SETTINGS } from "./settings.ts";

/** Holds the address; the others are named after it. */
export const VARIABLE = "PI_TURN_LIMIT_BUDGET";

/** The meters that a fleet shares, by their keys; the text behind `PI_TURN_LIMIT_BUDGET_`. */
export const CAPS = { maxTurns: "turns", maxCost: "cost", maxTokens: "tokens" } as const;

/** By meter, as the core counts. */
export type Caps = Readonly<Partial<Record<(typeof CAPS)[keyof typeof CAPS], number>>>;

/** A value, and the place that it comes from. */
export interface Given {
	readonly value: unknown;
	readonly where: string;
}

export type CapKey = keyof typeof CAPS;
export type GivenCaps = readonly (readonly [CapKey, Given])[];

/** A period is the key of its caps, and in capitals a part of their variables. */
const KNOWN = ["at", "account", "zone", ...PERIODS, ...Object.keys(CAPS)];

export class Reader {
	readonly wrong: string[] = [];

	#expect(where: string, expected: string, got: string): void {
		this.wrong.push(`${where}: expected ${expected}, got ${got}. The budget cannot be used.`);
	}

	/** False if there is nothing more to read in it. */
	shape(given: unknown = {}, place: string): boolean {
		if (!isObject(given)) {
			const got = typeof given === "symbol" ? String(given.description) : typeName(given);
			this.#expect(`budget${place}`, "an object", got);
			return false;
		}
		const unknown = Object.keys(given).filter((key) => !KNOWN.includes(key));
		for (const period of PERIODS) {
			const caps = given[period];
			if (isObject(caps)) unknown.push(...Object.keys(caps).filter((key) => !Object.hasOwn(CAPS, key)));
			else if (caps !== undefined) this.#expect(`budget.${period}${place}`, "an object", quote(caps));
		}
		if (unknown.length > 0)
			this.#expect(`budget${place}`, KNOWN.join(", "), unknown.map((key) => quote(key)).join(", "));
		return true;
	}

	address(given: unknown, path: string | undefined, place: string, isTaken: boolean): string {
		const where = `budget.at${place}`;
		const at = isObject(given) ? given["at"] : undefined;
		if (at === undefined && isTaken) {
			const expected = `an address, since ${VARIABLE} is not passed on to the agents that an agent starts`;
			this.#expect(where, expected, "nothing");
		} else if (at === undefined) this.#expect(where, `an address${orIn(VARIABLE, path)}`, "nothing");
		else if (typeof at !== "string") this.#expect(where, "an address", typeName(at));
		else if (at.trim() === "") this.#expect(where, "an address", "an empty text");
		else {
			const mode = path === undefined ? undefined : exposure(path);
			if (mode !== undefined) this.#expect(where, "a file of yours that only you can read (chmod 600)", mode);
		}
		return String(at);
	}

	account({ value: name, where }: Given, path: string | undefined): string {
		const isName = typeof name === "string" && /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,200}$/u.test(name.trim());
		const missing = [`a name${orIn(`${VARIABLE}_ACCOUNT`, path)}`, "nothing"] as const;
		const [expected, got] = name === undefined ? missing : ["a name of 1 to 200 visible characters", quote(name)];
		if (!isName) this.#expect(where, expected, got);
		return String(name).trim();
	}

	zone({ value: zone = "UTC", where }: Given): string {
		try {
			return new Intl.DateTimeFormat("en", { timeZone: zone as string }).resolvedOptions().timeZone;
		} catch {
			this.#expect(where, "a time zone such as Europe/Berlin", quote(zone));
			return String(zone);
		}
	}

	/** Nothing is asked of a ledger that limits nothing. */
	atLeastOne(caps: readonly Caps[], place: string): void {
		const isNone = caps.every((each) => Object.keys(each).length === 0);
		if (isNone && this.wrong.length === 0)
			this.#expect(`budget${place}`, `a cap: ${Object.keys(CAPS).join(", ")}`, "none");
	}

	caps(given: GivenCaps): Caps {
		const caps = given.flatMap(([key, { value, where }]) => {
			if (value === undefined) return [];
			const { read, parse, expected } = SETTINGS[`budget.${key}`];
			const cap = read(typeof value === "string" ? parse(value) : value);
			if (cap === "unlimited") return [];
			if (Number(cap) <= LEDGER_MOST) return [[CAPS[key], cap]];
			this.#expect(where, expected, quote(value));
			return [];
		});
		return Object.fromEntries(caps) as Caps;
	}
}

/** No variable is read beside a program's option. */
function orIn(variable: string, path: string | undefined): string {
	return path === undefined ? "" : ` there or in ${variable}`;
}

/** Names the mode or the owner that lets others read the file; undefined if they cannot. Windows has neither. */
function exposure(path: string): string | undefined {
	if (process.getuid === undefined) return undefined;
	const { mode, uid } = statSync(path);
	if (uid !== process.getuid()) return "one of somebody else";
	return (mode & 0o077) === 0 ? undefined : `mode ${(mode & 0o777).toString(8)}`;
}
