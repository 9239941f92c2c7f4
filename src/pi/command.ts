/** `/turn-limit`: reads what was typed and executes it. */
import { bound, isOfRound } from "../core/limit.ts";
import { amount, kindOf, METER_IDS, METERS, type MeterId } from "../core/meters.ts";
import { quote } from "../core/text.ts";
import { type Key, KEY_OF, KEYS, meterOf, SETTINGS, settingOf } from "../settings/settings.ts";
import { advise } from "./advice.ts";
import type { Context } from "./host.ts";
import { apply } from "./limits.ts";
import { lastRunText, recalledOutcome } from "./record.ts";
import type { Session } from "./session.ts";
import { status } from "./widget.ts";

export const DESCRIPTION = "Show or set the limits of a run";

const BY_WORD = new Map<string, Key>(
	KEYS.flatMap((key) => (SETTINGS[key].word === undefined ? [] : [[SETTINGS[key].word, key]])),
);

/** Before a meter's word, for what the whole session may spend. */
const SESSION = "session";

/** Words that stand alone. */
const ALONE = ["advise", "default", "wrap-up"] as const;

const WORDS = ["a number", "unlimited", "+n", ...[...BY_WORD.keys()].filter((word) => word !== ""), ...ALONE].join(
	", ",
);

/** Executes what stands behind `/turn-limit`. A mistake is named and changes nothing. */
export async function execute(session: Session, args: string, ctx: Context): Promise<void> {
	const { word, key, text } = read(args);
	if (word === "" && text === "") return session.display.say(overview(session, ctx), "info", ctx);
	if (word === "wrap-up") return await wrapUp(session, ctx);
	if (word === "default") return await reset(session, ctx);
	if (word === "advise") return await advise(session, text, ctx);
	if (text !== "") return await change(session, key, text, ctx);
	const keys = word === SESSION ? KEYS.filter((key) => key.startsWith(`${SESSION}.`)) : [key];
	session.display.say(status(session.state, session.settings.current, keys), "info", ctx);
}

interface Typed {
	/** In lower case: a setting's, or one that stands alone; empty for turns. */
	readonly word: string;
	/** The setting that is meant, if one is. */
	readonly key: Key;
	/** What stands behind the word. */
	readonly text: string;
}

function read(args: string): Typed {
	const words = args.trim().split(/\s+/);
	for (const n of [2, 1]) {
		const word = words.slice(0, n).join(" ").toLowerCase();
		const key = word === SESSION ? KEY_OF.sessionTurns : BY_WORD.get(word);
		const text = words.slice(n).join(" ");
		const isAlone = (ALONE as readonly string[]).includes(word) && (text === "" || word === "advise");
		if (key !== undefined || isAlone) return { word, key: key ?? KEY_OF.turns, text };
	}
	const text = words.join(" ");
	return { word: "", key: KEY_OF.turns, text };
}

/** Meters, settings and the end of the last run. */
function overview({ state, settings, lastOutcome }: Session, ctx: Context): string {
	const last = lastOutcome ?? recalledOutcome(ctx);
	return [status(state, settings.current), ...(last ? [lastRunText(last)] : [])].join("\n");
}

async function wrapUp(session: Session, ctx: Context): Promise<void> {
	await session.step({ type: "wrap_up_requested" }, ctx);
	session.awaitTurnEnd();
	session.display.say(wrapUpText(session), "info", ctx);
}

async function reset(session: Session, ctx: Context): Promise<void> {
	session.settings.reset(ctx);
	await apply(session, ctx);
	session.display.say(`Back to the other places.\n${status(session.state, session.settings.current)}`, "info", ctx);
	session.display.showIdle(session.state, ctx);
}

async function change(session: Session, key: Key, text: string, ctx: Context): Promise<void> {
	const { parse, show, title, ...setting } = settingOf(key);
	const id = meterOf(key);
	const by = id && increaseOf(id, text);
	if (id && by) return await raise(session, id, by, ctx);
	const value = setting.read(parse(text));
	if (value === undefined) return session.display.say(mistake(key, text), "error", ctx);
	session.settings.set(key, value, ctx);
	await apply(session, ctx);
	session.display.say(`${title} set to ${show(value)}.`, "info", ctx);
	session.display.showIdle(session.state, ctx);
}

/** What `+10` adds; 0 or undefined if the text is no increase. */
function increaseOf(id: MeterId, text: string): number | undefined {
	const { read, parse } = kindOf(id).unit;
	return text.startsWith("+") ? read(parse(text.slice(1))) : undefined;
}

async function raise(session: Session, id: MeterId, by: number, ctx: Context): Promise<void> {
	if (bound(session.state.meters[id]) === "unlimited") {
		return session.display.say(`${kindOf(id).title} is unlimited; there is nothing to raise.`, "error", ctx);
	}
	await session.step({ type: "limit_raised", meter: id, by }, ctx);
	const { phase, meters } = session.state;
	const max = bound(phase.name === "idle" && isOfRound(id) ? { ...meters[id], extra: phase.promised[id] } : meters[id]);
	const round = phase.name === "idle" ? "the next run's first round" : "this round";
	const where = isOfRound(id) ? round : "this session";
	session.display.say(`${amount(id, by)} more: ${kindOf(id).unit.show(Number(max))} in ${where}.`, "info", ctx);
	session.display.showIdle(session.state, ctx);
}

function mistake(key: Key, text: string): string {
	const { title, expected } = SETTINGS[key];
	const zero = meterOf(key) === "turns" ? " (0 asks every time)" : "";
	const hint = meterOf(key) === undefined ? "" : ` /turn-limit takes ${WORDS}.`;
	return `Invalid ${title.toLowerCase()}: expected ${expected}${zero}, got ${quote(text)}. Nothing has changed.${hint}`;
}

function wrapUpText({ state: { phase } }: Session): string {
	if (phase.name === "idle") return "Nothing is running.";
	if (phase.name === "finishing" || phase.name === "stopped") return "The run is ending already.";
	return "The model will be told to wrap up with its next request.";
}

// Completion

interface Completion {
	readonly value: string;
	readonly description: string;
}

const COMPLETIONS: readonly Completion[] = [
	...METER_IDS.flatMap(limitCompletions),
	{ value: "policy abort", description: "nobody continues: the run is aborted" },
	{ value: "policy synthesize", description: "nobody continues: one last answer, tools refused" },
	{ value: "grace 2", description: "tell the model to wrap up when 2 turns remain" },
	{ value: "grace 0", description: "never tell the model to wrap up" },
	{ value: "wrap-up", description: "tell the model to wrap up now" },
	{ value: "advise", description: "which limit fits, from your own sessions" },
	{ value: "default", description: "back to what flags, environment and files say" },
];

function limitCompletions(id: MeterId): readonly Completion[] {
	const { word, samples, step, many } = METERS[id];
	const before = word === "" ? "" : `${word} `;
	return [
		...samples.map((sample) => ({ value: before + sample, description: `${many} until you are asked` })),
		{ value: `${before}unlimited`, description: `count ${many}, never ask` },
		{
			value: `${before}+${step}`,
			description: `raise the limit of ${many} by that${isOfRound(id) ? ", this round only" : ""}`,
		},
	];
}

/** For text behind `/turn-limit`. None for a valid command, because pi's editor would replace it on Enter. */
export function complete(prefix: string): { value: string; label: string; description: string }[] | null {
	const typed = prefix.trimStart();
	if (isCommand(typed)) return null;
	const found = COMPLETIONS.filter(({ value }) => value.startsWith(typed.toLowerCase()));
	return found.length === 0 ? null : found.map(({ value, description }) => ({ value, label: value, description }));
}

/** True if `/turn-limit` understands the text. */
export function isCommand(typed: string): boolean {
	const { word, key, text } = read(typed);
	if (word === "advise" || (text === "" && word !== "")) return true;
	const id = meterOf(key);
	const setting = SETTINGS[key];
	return setting.read(setting.parse(text)) !== undefined || Boolean(id && increaseOf(id, text));
}
