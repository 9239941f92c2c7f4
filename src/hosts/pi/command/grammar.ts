/** The words of `/turn-limit`: what they mean, help and completion. */
import { isOfRound, POLICIES, type Policy } from "../../../core/limit.ts";
import { within } from "../../../core/amount.ts";
import { kindOf, METER_IDS, type MeterId } from "../../../core/meters.ts";
import { SCOPES, WIDER_SCOPES } from "../../../core/scopes.ts";
import { type Key, KEY_OF, KEYS, meterOf, SETTINGS } from "../../../settings/settings.ts";
import { fold, table } from "./status.ts";

const ABOUT_POLICY: Readonly<Record<Policy, string>> = {
	abort: "nobody continues: the run is aborted",
	synthesize: "nobody continues: one last answer, tools refused",
};

/** Words that stand alone. */
const ALONE = {
	"wrap-up": "tell the model to wrap up now",
	save: "keep what was set here, for every session",
	default: "back to what flags, environment and files say",
	advise: "which limit fits, from your own sessions",
	help: "these words",
} as const;

type Alone = keyof typeof ALONE;

const BY_WORD = new Map<string, Key>(
	KEYS.flatMap((key) => (SETTINGS[key].word === undefined ? [] : [[SETTINGS[key].word, key]])),
);

/** The meters whose limit can be typed. */
const TYPED = METER_IDS.filter((id) => SETTINGS[KEY_OF[id]].word !== undefined);

/** Turns need no word, but may have one. */
const ALIASES = new Map<string, Key>([
	["turns", KEY_OF.turns],
	...WIDER_SCOPES.map((scope) => SCOPES[scope].name)
		.filter((name) => TYPED.includes(`${name}Turns`))
		.map((name): [string, Key] => [name, KEY_OF[`${name}Turns`]]),
]);

export const WORDS = [
	...["a number", "unlimited", "+n"],
	...[...BY_WORD.keys()].filter((word) => word !== ""),
	...Object.keys(ALONE),
].join(", ");

/** The text after `/turn-limit`, parsed. */
export interface Typed {
	/** The word, if it is one of `ALONE`. */
	readonly alone?: Alone;
	/** The word of a setting, in lower case; empty for turns. */
	readonly word: string;
	/** The setting that is meant, if one is. */
	readonly key: Key;
	/** The text after the word. */
	readonly text: string;
}

export function read(args: string): Typed {
	const words = args.trim().split(/\s+/);
	for (const n of [2, 1]) {
		const word = words.slice(0, n).join(" ").toLowerCase();
		const text = words.slice(n).join(" ");
		const alone = (Object.keys(ALONE) as Alone[]).find((known) => known === word);
		// A path in quotes keeps its blanks.
		if (alone === "advise") return { alone, word, key: KEY_OF.turns, text: args.trim().slice(word.length) };
		if (alone && text === "") return { alone, word, key: KEY_OF.turns, text };
		const key = ALIASES.get(word) ?? BY_WORD.get(word);
		if (key !== undefined) return { word, key, text };
	}
	return { word: "", key: KEY_OF.turns, text: words.join(" ") };
}

/** True if `/turn-limit` understands the text. */
export function isCommand(typed: string): boolean {
	const { alone, key, text } = read(typed);
	if (alone || text === "") return true;
	const id = meterOf(key);
	const setting = SETTINGS[key];
	return setting.read(setting.parse(text)) !== undefined || Boolean(id && increaseOf(id, text));
}

/** The amount that `+10` adds; 0 or undefined if the text is no increase. */
export function increaseOf(id: MeterId, text: string): number | undefined {
	const { read, parse } = kindOf(id).unit;
	return text.startsWith("+") ? read(parse(text.slice(1))) : undefined;
}

// Help and completion

type Entry = readonly [value: string, description: string];

const OTHERS: readonly Entry[] = [
	...POLICIES.map((policy): Entry => [`policy ${policy}`, ABOUT_POLICY[policy]]),
	["grace 2", "tell the model to wrap up when 2 turns remain"],
	["grace 0", "never tell the model to wrap up"],
	...Object.entries(ALONE),
];

const COMPLETIONS: readonly Entry[] = [
	...TYPED.flatMap((id): Entry[] => {
		const { samples, step, many } = kindOf(id);
		const scope = isOfRound(id) ? ", this round only" : "";
		return [
			...samples.map((sample): Entry => [typed(id, sample), `${many} until you are asked`]),
			[typed(id, "unlimited"), `count ${many}, never ask`],
			[typed(id, `+${step}`), `raise the limit of ${many} by that${scope}`],
		];
	}),
	...OTHERS,
];

function typed(id: MeterId, value: string): string {
	return `${kindOf(id).word} ${value}`.trim();
}

/** Completes text after `/turn-limit`. Null for a valid command, because pi's editor would replace it on Enter. */
export function complete(prefix: string): { value: string; label: string; description: string }[] | null {
	const typed = prefix.trimStart();
	if (isCommand(typed)) return null;
	const found = COMPLETIONS.filter(([value]) => value.startsWith(typed.toLowerCase()));
	return found.length === 0 ? null : found.map(([value, description]) => ({ value, label: value, description }));
}

/** Every word with an example, in lines of at most `room` letters as far as that goes. */
export function help(room: number): string {
	const entries: readonly Entry[] = [
		["/turn-limit", "show meters, settings, the last run"],
		...TYPED.map((id): Entry => [typed(id, kindOf(id).samples[0] ?? ""), `${kindOf(id).many}${per(id)}`]),
		["unlimited", "in place of a number: never ask"],
		[`+${kindOf("turns").step}`, "that many more, this round only"],
		...OTHERS,
	];
	const wide = table(entries);
	if (wide.every((line) => line.length <= room)) return wide.join("\n");
	return entries.flatMap(([value, description]) => fold(`${value}:`, description, room)).join("\n");
}

function per(id: MeterId): string {
	if (!isOfRound(id)) return ` ${within(id)}`;
	return id === "turns" ? " until you are asked" : "";
}
