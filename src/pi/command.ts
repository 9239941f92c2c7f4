/** `/turn-limit`: reads what was typed and executes it. */
import { bound } from "../core/limit.ts";
import { amount, kindOf, METER_IDS, METERS, type MeterId } from "../core/meters.ts";
import { quote } from "../core/text.ts";
import { type Key, KEY_OF, KEYS, meterOf, SETTINGS, settingOf } from "../settings/settings.ts";
import { advise } from "./advice.ts";
import type { Context } from "./host.ts";
import { apply } from "./limits.ts";
import type { Session } from "./session.ts";
import { status } from "./widget.ts";

export const DESCRIPTION = "Show or set the limits of a run";

const BY_WORD = new Map<string, Key>(
	KEYS.flatMap((key) => (SETTINGS[key].word === undefined ? [] : [[SETTINGS[key].word, key]])),
);

/** Words that stand alone. */
const ALONE = ["advise", "default", "wrap-up"] as const;

const WORDS = ["a number", "unlimited", "+n", ...[...BY_WORD.keys()].filter((word) => word !== ""), ...ALONE].join(
	", ",
);

/** Executes what stands behind `/turn-limit`. A mistake is named and changes nothing. */
export async function execute(session: Session, args: string, ctx: Context): Promise<void> {
	const [first = "", ...rest] = args.trim().split(/\s+/);
	const word = first.toLowerCase();
	if (word === "") return session.display.say(status(session.state, session.settings.current), "info", ctx);
	if (rest.length === 0 && word === "wrap-up") return await wrapUp(session, ctx);
	if (rest.length === 0 && word === "default") return await reset(session, ctx);
	if (word === "advise") return await advise(session, rest.join(" "), ctx);
	const key = BY_WORD.get(word);
	if (key === undefined) return await change(session, KEY_OF.turns, [first, ...rest].join(" "), ctx);
	if (rest.length > 0) return await change(session, key, rest.join(" "), ctx);
	session.display.say(status(session.state, session.settings.current, [key]), "info", ctx);
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
	const { parse, read, show, title } = settingOf(key);
	const id = meterOf(key);
	const by = id && increaseOf(id, text);
	if (id && by) return await raise(session, id, by, ctx);
	const value = read(parse(text));
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
	const max = bound(phase.name === "idle" ? { ...meters[id], extra: phase.promised[id] } : meters[id]);
	const round = phase.name === "idle" ? "the next run's first" : "this";
	session.display.say(`${amount(id, by)} more: ${kindOf(id).unit.show(Number(max))} in ${round} round.`, "info", ctx);
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
		{ value: `${before}+${step}`, description: `that many ${many} more, this round only` },
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
	const [first = "", ...rest] = typed.trim().split(/\s+/);
	const word = first.toLowerCase();
	const key = BY_WORD.get(word);
	if (word === "advise") return true;
	if (rest.length === 0 && (key !== undefined || (ALONE as readonly string[]).includes(word))) return true;
	const text = (key === undefined ? [first, ...rest] : rest).join(" ");
	const set = key ?? KEY_OF.turns;
	const id = meterOf(set);
	const { parse, read } = SETTINGS[set];
	return read(parse(text)) !== undefined || Boolean(id && increaseOf(id, text));
}
