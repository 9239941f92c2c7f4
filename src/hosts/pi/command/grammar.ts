/** The words of `/turn-limit`: what they mean, help and completion. */
import { isOfRound } from "../../../core/limit.ts";
import { type Policy, POLICY_IDS } from "../../../core/policies.ts";
import { within } from "../../../core/amount.ts";
import { kindOf, METER_IDS, type MeterId } from "../../../core/meters.ts";
import { SCOPES, WIDER_SCOPES } from "../../../core/scopes.ts";
import { type Key, KEY_OF, KEYS, meterOf, SETTINGS } from "../../../settings/settings.ts";
import { quote } from "../../../core/text.ts";
import { VARIABLE } from "../../../settings/budget-reader.ts";
import { nearest } from "../../../settings/nearest.ts";
import { BUDGET } from "../../../settings/meant.ts";
import { fold, table } from "./status.ts";

const ABOUT_POLICY: Readonly<Record<Policy, string>> = {
	abort: "if nobody continues: abort the run",
	synthesize: "if nobody continues: one last answer, tools refused",
};

/** Words that stand alone. */
const ALONE = {
	"wrap-up": "tell the model to wrap up now",
	save: "keep what was set here, for every session",
	forget: "remove what was saved from your file",
	default: "back to what flags, environment and files say",
	advise: "which limit fits, from your own sessions",
	help: "this list",
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

/** The meters that a wider scope takes: every scope the same. */
const OF_SCOPE = TYPED.filter((id) => kindOf(id).scope === "session").map(
	(id) => kindOf(kindOf(id).of).word || "turns",
);

/** The scopes whose limits can be typed. */
const TYPED_SCOPES = [...ALIASES.keys()].filter((word) => word !== "turns");

/** The settings that no word sets, with their variables. */
const ELSEWHERE = new Map<string, string | undefined>([
	...KEYS.filter((key) => SETTINGS[key].word === undefined && meterOf(key) === undefined).map(
		(key) => [key, SETTINGS[key].env] as const,
	),
	[BUDGET, VARIABLE],
]);

/** The words of settings, those of a scope in one. */
const SETTING_WORDS = [...new Set([...BY_WORD.keys()].map((words) => words.split(" ")[0] || "turns"))];

/** In place of a number. */
const UNLIMITED: readonly string[] = ["unlimited", "off"];

/** Words of other programs, and ours for the same; none for the command alone. */
const OFTEN_TYPED: ReadonlyMap<string, string> = new Map([
	["status", ""],
	["show", ""],
	["reset", "default"],
	["none", "unlimited"],
	["never", "unlimited"],
]);

/** Everything that can be the first word, for somebody who has misspelt it. */
const FIRST_WORDS = [...SETTING_WORDS, ...Object.keys(ALONE), "unlimited"];

/** The text after `/turn-limit`, parsed. */
export interface TypedCommand {
	/** The word, if it is one of `ALONE`. */
	readonly alone?: Alone;
	/** The word of a setting, in lower case; empty for turns. */
	readonly word: string;
	/** The setting that is meant, if one is. */
	readonly key: Key;
	/** The text after the word. */
	readonly text: string;
}

export function parseCommand(args: string): TypedCommand {
	const words = args.trim().split(/\s+/);
	for (const n of [2, 1]) {
		const word = words.slice(0, n).join(" ").toLowerCase();
		const text = words.slice(n).join(" ");
		const alone = (Object.keys(ALONE) as Alone[]).find((known) => known === word);
		// A path in quotes keeps its blanks.
		if (alone === "advise") return { alone, word, key: KEY_OF.turns, text: args.trim().slice(word.length) };
		if (alone) return { alone, word, key: KEY_OF.turns, text };
		const key = ALIASES.get(word) ?? BY_WORD.get(word);
		if (key !== undefined) return { word, key, text };
	}
	return { word: "", key: KEY_OF.turns, text: words.join(" ") };
}

function isCommand({ alone, key, text }: TypedCommand): boolean {
	if (alone === "advise" || text === "") return true;
	if (alone === "forget") return keysNamed(text).length > 0;
	const id = meterOf(key);
	const { read, parse } = SETTINGS[key];
	return !alone && (read(parse(text)) !== undefined || Boolean(id && increaseOf(id, text)));
}

/** The mistake in what was typed, if there is one. */
export function mistakeIn(typed: TypedCommand): string | undefined {
	if (isCommand(typed)) return undefined;
	const { alone, word, key, text } = typed;
	if (alone === "forget") return unknownWord(text);
	if (alone) return expectedNothing(alone, text);
	const id = meterOf(key);
	if (id && text.startsWith("+")) return expected(word, `an increase such as +${kindOf(id).step}`, text);
	const isNumber = /^[$.\d]|^-\d/.test(text);
	if (word === "" && !isNumber) return unknownWord(text, OFTEN_TYPED.get(text.toLowerCase()) ?? meant(text));
	if (TYPED_SCOPES.includes(word) && !isNumber) return unknownWord(`${word} ${text}`);
	return expected(word, SETTINGS[key].expected, text, meant(`${word} ${text}`.trim()));
}

function expected(word: string, what: string, got: string, instead?: string): string {
	return `${word || "turns"}: expected ${what}, got ${quote(got)}.${didYouMean(instead)} Nothing has changed.`;
}

function expectedNothing(word: string, got: string, instead?: string): string {
	return expected(word, "nothing after it", got, instead);
}

function didYouMean(command: string | undefined): string {
	return command === undefined ? "" : ` Did you mean ${command}?`;
}

/** The command that has the same words in another form, if one has: `turns 5` for `5 turns`, `cost $5` for `$5`. */
function meant(text: string): string | undefined {
	const [first = "", ...rest] = text.split(" ");
	const scope = TYPED_SCOPES.includes(first) ? first : "";
	const value = scope === "" ? text : rest.join(" ");
	const units = ["cost", "time", "tokens"].map((meter) => `${scope} ${meter} ${value}`.trim());
	const turned = rest.length === 0 ? text : `${rest.join(" ")} ${first}`;
	const forms = [turned, text.replace(/[=:]/, " "), text.replaceAll(" ", "-"), ...units];
	return forms.find((form) => form !== text && isCommand(parseCommand(form)));
}

/** `text` begins with a word that is none, or with a scope that does not take the next one. `instead`: a command that does. */
function unknownWord(text: string, instead?: string): string {
	const [word = "", second = ""] = text.split(" ");
	const near = (typed: string, known: readonly string[]): string | undefined => {
		const found = nearest(typed.replace(/^-+/, ""), known);
		return found === typed ? undefined : found;
	};
	const scope = TYPED_SCOPES.find((each) => each === word.toLowerCase());
	if (scope !== undefined) return expected(scope, listed(OF_SCOPE), second, near(second, OF_SCOPE));
	if (UNLIMITED.includes(word.toLowerCase())) return expectedNothing(word, text.slice(word.length + 1), instead);
	const name = [...ELSEWHERE.keys()].find((each) => each.toLowerCase() === word.toLowerCase());
	const variable = ELSEWHERE.get(name ?? "");
	if (name !== undefined) return `${name} is set in turn-limit.json${variable ? ` or by ${variable}` : ""}, not here.`;
	const hint = instead === "" ? " /turn-limit alone shows the limits." : didYouMean(instead ?? near(word, FIRST_WORDS));
	return `Unknown word ${quote(word)}.${hint} /turn-limit help lists all.`;
}

/** `turns, cost or tokens` */
function listed(words: readonly string[]): string {
	return words.join(", ").replace(/, ([^,]*)$/, " or $1");
}

/** The settings that a word means: one, or all those of a scope. */
export function keysNamed(text: string): readonly Key[] {
	const word = text.toLowerCase();
	const ofScope = KEYS.filter((key) => key.startsWith(`${word}.`) && SETTINGS[key].word !== undefined);
	const key = ALIASES.get(word) ?? BY_WORD.get(word);
	return ofScope.length > 0 ? ofScope : key === undefined ? [] : [key];
}

/** The amount that `+10` adds; 0 or undefined if the text is no increase. */
export function increaseOf(id: MeterId, text: string): number | undefined {
	const { read, parse } = kindOf(id).unit;
	return text.startsWith("+") ? read(parse(text.slice(1))) : undefined;
}

// Help and completion

type Entry = readonly [value: string, description: string];

const POLICY_ENTRIES = POLICY_IDS.map((policy): Entry => [`policy ${policy}`, ABOUT_POLICY[policy]]);
const WRAPS_UP = "tell the model to wrap up when 2 turns remain";

/** Words, what they do, and the values that can follow. */
const ENTRIES: readonly Entry[] = [
	...TYPED.flatMap((id): Entry[] => {
		const { samples, step, many, word, title } = kindOf(id);
		const scope = isOfRound(id) ? ", this round only" : "";
		return [
			...(word === "" ? [] : [[word, `${many}${per(id)}`] as const]),
			...samples.map((sample): Entry => [typed(id, sample), `${many} until you are asked`]),
			[typed(id, "unlimited"), `count ${many}, never ask`],
			[typed(id, `+${step}`), `raise the ${title.toLowerCase()} by that much${scope}`],
		];
	}),
	["policy", "what happens if nobody continues"],
	["grace", "turns left when the model is told to wrap up"],
	...POLICY_ENTRIES,
	["grace 2", WRAPS_UP],
	["grace 0", "never tell the model to wrap up"],
	...Object.entries(ALONE),
	...SETTING_WORDS.map((word): Entry => [`forget ${word}`, "take it out of your file"]),
	["advise --project", "only prompts in this folder"],
	["advise --days 30", "only the last 30 days"],
	["advise --apply", "set what it suggests, after a question"],
	["advise --json", "figures for a program"],
	["advise --session-dir", "the sessions in another folder"],
];

function typed(id: MeterId, value: string): string {
	return `${kindOf(id).word} ${value}`.trim();
}

function sampleOf(id: MeterId): string {
	return typed(id, kindOf(id).samples[0] ?? "");
}

interface Item {
	value: string;
	label: string;
	description: string;
}

/** Completes text after `/turn-limit` while it is typed. Null for a valid command: pi's editor would replace it on Enter. */
export function complete(prefix: string): Item[] | null {
	return mistakeIn(parseCommand(prefix)) === undefined ? null : offer(prefix);
}

/** Options of `advise`, none of which waits for its value, and the beginning of another. Quotes are closed. */
const MORE_OPTIONS = /^advise((?: +(?:"[^"]*"|'[^']*'|[^\s"'])+)+)(?<!--days|--session-dir) +(\S*)$/i;

/** The options of `advise` that can follow those that are typed. */
function offerOptions(typed: string, given: string, begun: string): Item[] | null {
	const found = ENTRIES.flatMap(([value, description]): Item[] => {
		const label = /^advise (--.*)/.exec(value)?.[1];
		const isGiven = label === undefined || given.toLowerCase().includes(label.replace(/ .*/, ""));
		if (isGiven || label === begun || !label.startsWith(begun.toLowerCase())) return [];
		return [{ value: typed.slice(0, typed.length - begun.length) + label, label, description }];
	});
	return found.length === 0 ? null : found;
}

/** Everything that can follow: words first, and the values of a word behind it. */
export function offer(prefix: string): Item[] | null {
	const [typed, given, option = ""] = MORE_OPTIONS.exec(prefix.trimStart()) ?? [];
	if (typed !== undefined && given !== undefined) return offerOptions(typed, given, option);
	const begun = prefix.trimStart().toLowerCase();
	const found = ENTRIES.filter(([value]) => value.startsWith(begun) && value !== begun);
	const next = found.filter(([value]) => !found.some(([word]) => value.startsWith(`${word} `)));
	return next.length === 0 ? null : next.map(([value, description]) => ({ value, label: value, description }));
}

/** Every word with an example, in lines of at most `room` letters as far as that goes. */
export function help(room: number): string {
	const entries: readonly Entry[] = [
		["/turn-limit", "show meters, settings, the last run"],
		...TYPED.filter(isOfRound).map((id): Entry => [sampleOf(id), `${kindOf(id).many}${per(id)}`]),
		[sampleOf("sessionCost"), `${listed(OF_SCOPE)} of ${TYPED_SCOPES.join(", ")}`],
		["unlimited, off", "in place of a number: never ask"],
		[`+${kindOf("turns").step}`, "that many more, this round only"],
		...POLICY_ENTRIES,
		["grace 2", `${WRAPS_UP}; 0: never`],
		...Object.entries(ALONE),
	];
	const wide = table(entries);
	if (wide.every((line) => line.length <= room)) return wide.join("\n");
	return entries.flatMap(([value, description]) => fold(`${value}:`, description, room)).join("\n");
}

function per(id: MeterId): string {
	if (!isOfRound(id)) return ` ${within(id)}`;
	return id === "turns" ? " until you are asked" : "";
}
