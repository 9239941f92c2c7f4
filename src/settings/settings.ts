/** The settings: one row each, those of the limits derived from the table of meters. */
import { toNumber } from "../core/limit.ts";
import { DEFAULT_POLICY, isPolicy, POLICIES, type Policy, POLICY_IDS } from "../core/policies.ts";
import { kindOf, type Max, METER_IDS, type MeterId, type RunMeterId } from "../core/meters.ts";
import { SCOPES, type WiderScopeName } from "../core/scopes.ts";
import { clip } from "../core/text.ts";
import { isCount, parseCount, SECONDS } from "../core/unit.ts";

/** The setting that limits a meter; before a dot stands the object of the file that holds it. */
export type LimitKey = `${"" | `${WiderScopeName}.`}max${Capitalize<RunMeterId>}`;

/** Values that a person can set; the keys are those of the files. */
export type Settings = Readonly<Record<LimitKey, Max>> & {
	readonly policy: Policy;
	readonly grace: number;
	/** Seconds. */
	readonly askTimeout: Max;
	/** Empty for the built-in text. */
	readonly wrapUpMessage: string;
	/** A member's partial answer ends with a line that says so. */
	readonly partialNote: boolean;
	/** The terminal's bell rings when a question opens. */
	readonly bell: boolean;
	/** The question says what became of the person's own prompts that came this far. */
	readonly odds: boolean;
	/** Tools whose calls may repeat. */
	readonly repeatsExcept: readonly string[];
};

export type Key = keyof Settings;

/** One setting: the values it takes and the places it has, beside the files. */
export interface Setting<T> {
	/** A value of a file or a program as we use it; undefined if it is invalid. */
	readonly read: (value: unknown) => T | undefined;
	/** The value as files and programs write it. */
	readonly write: (value: T) => unknown;
	/** Text of a flag, a variable or the command, as a value that `read` takes. */
	readonly parse: (text: string) => unknown;
	/** For error messages: "expected …". */
	readonly expected: string;
	readonly show: (value: T) => string;
	/** Its name in sentences and in the status. */
	readonly title: string;
	readonly flag?: string;
	readonly env?: string;
	/** Another name of the variable. */
	readonly envAlias?: string;
	/** The word of `/turn-limit`; empty for turns. */
	readonly word?: string;
	/** True if a place that can only tighten limits, as a project's file, may set its value. None: it may set no value. */
	readonly tightens?: (project: T, user: T) => boolean;
	/** For `schema.json`. */
	readonly about: string;
	readonly schema: object;
}

/** Of every variable but `PI_MAX_TURNS`. */
export const ENV_PREFIX = "PI_TURN_LIMIT_";

/** The longest time that a timer can wait, in whole seconds. */
const MAX_SECONDS = 2_147_483;

/** Grace where no person can be asked, and in place of a bad one. */
export const DEFAULT_GRACE = 2;

export const KEY_OF = Object.fromEntries(
	METER_IDS.map((id) => {
		const { scope, of } = kindOf(id);
		const key = `max${of.slice(0, 1).toUpperCase()}${of.slice(1)}`;
		return [id, scope === "round" ? key : `${SCOPES[scope].name}.${key}`];
	}),
) as { readonly [id in MeterId]: LimitKey };

/** The meter that a setting limits, if it limits one. */
export function meterOf(key: Key): MeterId | undefined {
	return METER_IDS.find((id) => KEY_OF[id] === key);
}

function isLower(project: Max, user: Max): boolean {
	return toNumber(project) <= toNumber(user);
}

function limitOf(id: MeterId): Setting<Max> {
	const { unit, title, word, env, about, scope } = kindOf(id);
	const variable = `${ENV_PREFIX}${(word || id).toUpperCase()}`;
	return {
		read: (value) => (value === "unlimited" ? value : unit.read(value)),
		write: (value) => (value === "unlimited" ? value : unit.write(value)),
		parse: (text) => (["unlimited", "off"].includes(text.toLowerCase()) ? "unlimited" : unit.parse(text)),
		expected: `${unit.expected}, or unlimited`,
		show: (value) => (value === "unlimited" ? value : unit.show(value)),
		title,
		...(scope === "round" ? { flag: word === "" ? "turn-limit" : `turn-limit-${word}` } : {}),
		// A fleet's budget is read as a whole (budget.ts), and only where the user has set it.
		...(scope === "fleet" ? {} : { env: env ?? variable, word, tightens: isLower }),
		...(word === "" ? { envAlias: variable } : {}),
		about: `${title}: ${scope === "fleet" ? "nobody is" : "you are"} asked when it is reached. ${about}`,
		schema: { anyOf: [...unit.schema, { enum: ["unlimited"] }] },
	};
}

const LIMIT_SETTINGS = Object.fromEntries(METER_IDS.map((id) => [KEY_OF[id], limitOf(id)])) as {
	readonly [K in LimitKey]: Setting<Max>;
};

function same<T>(value: T): T {
	return value;
}

function lower(text: string): string {
	return text.toLowerCase();
}

/** Also the words by which we show it. */
const SWITCH: Record<string, boolean> = { true: true, on: true, false: false, off: false };

/** On or off; not for a project's file. */
function toggle(title: string, env: string, about: string): Setting<boolean> {
	return {
		read: (value) => (typeof value === "boolean" ? value : undefined),
		write: same,
		parse: (text) => SWITCH[text.toLowerCase()] ?? text,
		expected: "true or false",
		show: (value) => (value ? "on" : "off"),
		title,
		env,
		about: `${about} Not for a project's file.`,
		schema: { type: "boolean" },
	};
}

/** Flags and variables have a prefix because all extensions share one namespace. */
export const SETTINGS: { readonly [K in Key]: Setting<Settings[K]> } = {
	...LIMIT_SETTINGS,
	policy: {
		read: (value) => (isPolicy(value) ? value : undefined),
		write: same,
		parse: lower,
		expected: POLICY_IDS.join(" or "),
		show: same,
		title: "Policy",
		flag: "turn-limit-policy",
		env: "PI_TURN_LIMIT_POLICY",
		word: "policy",
		tightens: (project, user) => !POLICIES[project].answers || project === user,
		about:
			"If nobody continues at a limit: abort stops the run; synthesize refuses further tool calls and has the model give one last answer from what it has.",
		schema: { enum: POLICY_IDS },
	},
	grace: {
		read: (value) => (isCount(value) ? value : undefined),
		write: same,
		parse: parseCount,
		expected: "a whole number from 0",
		show: String,
		title: "Grace",
		flag: "turn-limit-grace",
		env: "PI_TURN_LIMIT_GRACE",
		word: "grace",
		tightens: (project, user) => project >= user,
		about:
			"Turns left when the model is told to wrap up; 0 for never. By default 2, and 0 where a person can be asked.",
		schema: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
	},
	askTimeout: {
		read: (value) => {
			if (value === "unlimited") return value;
			return isCount(value) && value > 0 && value <= MAX_SECONDS ? value : undefined;
		},
		write: same,
		parse: parseCount,
		expected: `a whole number of seconds from 1 to ${MAX_SECONDS}, or unlimited`,
		show: (max) => (max === "unlimited" ? max : SECONDS.show(max * 1000)),
		title: "Time to answer",
		env: "PI_TURN_LIMIT_ASK_TIMEOUT",
		tightens: isLower,
		about: "Seconds until a question counts as not answered.",
		schema: { anyOf: [{ type: "integer", minimum: 1, maximum: MAX_SECONDS }, { enum: ["unlimited"] }] },
	},
	wrapUpMessage: {
		read: (value) => (typeof value === "string" && value.trim() !== "" ? value : undefined),
		write: same,
		parse: same,
		expected: "non-empty text",
		show: (value) => (value === "" ? "the built-in one" : "your own"),
		title: "Wrap-up text",
		about: "The message that tells the model to wrap up, in place of the built-in text. Not for a project's file.",
		schema: { type: "string", pattern: "\\S" },
	},
	partialNote: toggle(
		"Partial note",
		"PI_TURN_LIMIT_PARTIAL_NOTE",
		"The partial answer of a subagent ends with a line that says so. Switch it off for subagents that answer in JSON.",
	),
	bell: toggle("Bell", "PI_TURN_LIMIT_BELL", "The terminal's bell rings once when a question opens."),
	odds: toggle(
		"Odds",
		"PI_TURN_LIMIT_ODDS",
		"The question says what became of your own prompts that came this far. A table of figures is made from your sessions.",
	),
	repeatsExcept: {
		read: (value) => {
			const isNames = Array.isArray(value) && value.every((name) => typeof name === "string" && name.trim() !== "");
			return isNames ? (value as string[]) : undefined;
		},
		write: same,
		parse: (text) =>
			text
				.split(",")
				.map((name) => name.trim())
				.filter((name) => name !== ""),
		expected: "a list of tools' names",
		show: (value) => value.map((name) => clip(name, 60)).join(", ") || "none",
		title: "May repeat",
		env: "PI_TURN_LIMIT_REPEATS_EXCEPT",
		about: "Tools whose identical calls in a row are not counted: a poll, for example. Not for a project's file.",
		schema: { type: "array", items: { type: "string", pattern: "\\S" } },
	},
};

/** A row by its general type. */
export function settingOf(key: Key): Setting<Settings[Key]> {
	return SETTINGS[key] as unknown as Setting<Settings[Key]>;
}

export const KEYS = Object.keys(SETTINGS) as readonly Key[];

/** The values where no place says otherwise. A person at the limit needs no wrap-up that cuts good work short. */
export function defaults(attended: boolean, embedded = false): Settings {
	const max = (id: MeterId): Max => {
		const kind = kindOf(id);
		const alone = kind.alone ?? kind.default;
		return embedded ? (kind.embedded ?? alone) : attended ? kind.default : alone;
	};
	const maxima = Object.fromEntries(METER_IDS.map((id) => [KEY_OF[id], max(id)])) as Record<LimitKey, Max>;
	const grace = attended ? 0 : DEFAULT_GRACE;
	const rest = {
		askTimeout: "unlimited",
		wrapUpMessage: "",
		partialNote: true,
		bell: true,
		odds: true,
		repeatsExcept: [],
	} as const;
	return { ...maxima, policy: DEFAULT_POLICY, grace, ...rest };
}
