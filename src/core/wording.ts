/** Every sentence that a person or the model reads. */
import { bound, type Max, type Meter, POLICIES, read } from "./limit.ts";
import { isBroken, limitActed, type Outcome, stoppedByLimit, type Trip } from "./outcome.ts";
import { METER_IDS, type MeterId, perMeter, type State } from "./state.ts";

/** What each meter is called. */
export const METERS = {
	turns: { limit: "Turn limit", label: "Turns", one: "turn", many: "turns" },
	toolCalls: { limit: "Tool limit", label: "Tools", one: "tool call", many: "tool calls" },
} as const satisfies Record<MeterId, Record<"limit" | "label" | "one" | "many", string>>;

/** `1 turn`, `25 turns`, `unlimited turns`. */
export function count(used: Max, id: MeterId): string {
	return `${used} ${used === 1 ? METERS[id].one : METERS[id].many}`;
}

/** A value from outside, short and on one line, whatever it is. */
export function quote(value: unknown): string {
	try {
		return clip(typeof value === "number" ? String(value) : JSON.stringify(value), 60);
	} catch {
		return typeof value;
	}
}

function clip(text: string, length: number): string {
	const letters = Array.from(text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim());
	return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : letters.join("");
}

function show(max: Max): string {
	return max === "unlimited" ? "∞" : String(max);
}

/** A tool call in a few words: its name and the first text among its arguments. */
export function callText(name: string, input: unknown): string {
	const values = typeof input === "object" && input !== null ? Object.values(input) : [];
	const argument = values.find((value) => typeof value === "string") ?? "";
	return clip(`${name} ${argument}`, 60);
}

// The widget

/** `Turns: 3/25 · Tools: 12/200`; in the final pass `Turns: 25/25 · final answer`. */
export function widget(state: State): string {
	const shown = METER_IDS.filter((id) => id === "turns" || state.meters[id].limit.max !== "unlimited");
	const parts = shown.map((id) => gauge(id, state.meters[id]));
	if (state.phase.name === "finishing") parts.push("final answer");
	return parts.join(" · ");
}

/** The widget between runs: what the next prompt will start from. */
export function idleWidget(state: State): string {
	const { phase, meters } = state;
	const extra = (id: MeterId): number => (phase.name === "idle" ? phase.extra[id] : 0);
	return widget({ ...state, meters: perMeter((id) => ({ ...meters[id], used: 0, extra: extra(id) })) });
}

function gauge(id: MeterId, meter: Meter): string {
	return `${METERS[id].label}: ${meter.used}/${show(bound(meter))}`;
}

/** A budget in one short line, for logs and `/turn-limit`: `7 of 25 turns`, `synthesize` where that is its policy. */
export function describe(id: MeterId, meter: Meter): string {
	const { used, limit, policy } = read(meter);
	return `${used} of ${show(limit)} ${METERS[id].many}${policy === POLICIES[0] ? "" : `, ${policy}`}`;
}

// The question

export interface Question {
	readonly title: string;
	readonly message: string;
}

export function question(state: State, id: MeterId): Question {
	const { run } = { run: undefined, ...state.phase };
	const soFar = run ? `\nThis run so far: ${spentText(run.spent)}.` : "";
	const last = run?.lastCall ? ` Last call: ${run.lastCall}` : "";
	return {
		title: `${METERS[id].limit} reached`,
		message: `You've used ${count(state.meters[id].used, id)}. Continue?${soFar}${last}`,
	};
}

function spentText({ turns, toolCalls, cost }: Pick<Outcome, "turns" | "toolCalls" | "cost">): string {
	const parts = [count(turns, "turns"), count(toolCalls, "toolCalls")];
	if (cost > 0) parts.push(cost < 0.01 ? "less than $0.01" : `$${cost.toFixed(2)}`);
	return parts.join(", ");
}

// To the model

const ACCOUNT = [
	"- what you have accomplished,",
	"- what remains to be done,",
	"- partial findings that whoever reads this should know.",
].join("\n");

/** The wrap-up. */
export function wrapUp(remaining: Max): string {
	const left =
		remaining === "unlimited"
			? "This run is to end."
			: `Only ${count(Math.max(1, remaining), "turns")} left in this run.`;
	return `${left} Begin nothing new. Bring what you are doing to a safe stop and write your closing report now:
${ACCOUNT}

Do not call the task complete because the run is ending; say so only if it is. Ask the user something only if you truly cannot close without the answer. Then stop.`;
}

/** The instruction of the final pass. */
export function finalPass({ meter }: Trip): string {
	return `The budget of ${METERS[meter].many} for this run is spent; every further tool call is refused. Answer now, in text, from what you already have:
${ACCOUNT}

Do not call the task complete because the budget ran out.`;
}

/** How every error result of ours begins. */
export const NOT_RUN = "Not run";

/** The error result of a tool call that the gate refused. */
export function refusal({ phase }: State): string {
	if (phase.name === "finishing") return `${NOT_RUN}. ${finalPass(phase.trip)}`;
	if (phase.name === "stopped" && "meter" in phase.verdict) {
		return `${NOT_RUN}: the limit of ${count(phase.verdict.limit, phase.verdict.meter)} for this run is reached, and the run is being stopped.`;
	}
	return `${NOT_RUN}: this run is being stopped.`;
}

/** The error result of a tool call that waited for an answer when pi was reloaded. */
export const RELOADED = `${NOT_RUN}: the extensions were reloaded meanwhile. Call it again if it is still needed.`;

// How a run ended

/** For a person, if there is something to say: what stopped the run and how to go on. */
export function notice(outcome: Outcome, queued: boolean): string | undefined {
	const kept = queued ? " Messages that were queued are kept for the next prompt." : "";
	if (stoppedByLimit(outcome) && "meter" in outcome) return `${stopText(outcome)} Send a message to go on.${kept}`;
	return isBroken(outcome) ? brokenText(outcome.message) : undefined;
}

function stopText(outcome: Outcome & Trip): string {
	const reached = `${METERS[outcome.meter].limit} reached`;
	switch (outcome.kind) {
		case "declined":
			return outcome.answered ? `Agent aborted by user. ${reached}.` : `${reached}; nobody answered.`;
		case "synthesized":
			return `${reached}; the model gave its final answer.`;
		default:
			return `${reached}; no answer in the final pass.`;
	}
}

/** In the transcript, in place of the host's reason for a message that was never requested. */
export function reason(state: State, source: (id: MeterId) => string): string | undefined {
	if (state.phase.name !== "stopped" || state.phase.verdict.kind === "interrupted") return undefined;
	return line({ ...state.phase.run.spent, ...state.phase.verdict }, source);
}

/** One line for logs, if a limit or the breaker acted: what, which limit, where it was set, what was spent. */
export function line(outcome: Outcome, source: (id: MeterId) => string): string | undefined {
	if (isBroken(outcome)) return brokenText(outcome.message);
	if (!limitActed(outcome)) return undefined;
	const after = outcome.advised ? " after the wrap-up" : " after a question";
	const where =
		"meter" in outcome ? ` at the limit of ${count(outcome.limit, outcome.meter)} (${source(outcome.meter)})` : after;
	return `pi-turn-limit: ${outcome.kind}${where}; spent: ${spentText(outcome)}.`;
}

function brokenText(message: string): string {
	return `pi-turn-limit failed and stopped the run: ${clip(message, 200)}`;
}

// Settings

/** What a setting may be. */
export const ALLOWED = {
	limit: "a whole number from 0, or unlimited",
	policy: POLICIES.join(" or "),
	grace: "a whole number from 0",
	seconds: "a whole number of seconds from 1 to 2147483, or unlimited",
	text: "a text that is not empty",
	function: "a function",
	project: "for a project to set: its file can only lower a limit",
} as const;

export function badValue(place: string, value: unknown, allowed: string, used: unknown, source: string): string {
	return `${place}: ${quote(value)} is not ${allowed}. Using ${used === "" ? "the built-in one" : quote(used)} (${source}).`;
}

export function badFile(file: string, why: string): string {
	return `${file} is ignored: ${clip(why, 160)}. The other places and the defaults hold.`;
}

export const NOT_A_FILE = "it is not a file";

export function tooLarge(bytes: number, most: number): string {
	return `it has ${bytes} bytes, more than ${most}`;
}

export function notAnObject(content: unknown): string {
	return `it holds ${quote(content)} where an object is expected`;
}

export function unknownKeys(file: string, keys: readonly string[], known: readonly string[]): string {
	return `${file}: unknown and ignored: ${clip(keys.map(quote).join(", "), 160)}. Known are ${known.join(", ")}.`;
}

export function damagedEntries(entries: number): string {
	return `${entries} damaged or foreign turn-limit ${entries === 1 ? "entry" : "entries"} in this session ignored.`;
}

export function badGrace(value: unknown, used: number): string {
	return `The grace function gave ${quote(value)}, not a number. Using ${used}.`;
}

export function badMessage(value: unknown): string {
	return `The wrap-up message function gave ${quote(value)}, not a text. Using the built-in one.`;
}

export function changedLimit(place: string, before: unknown, now: unknown): string {
	const [was, is] = [before, now].map((value) => (value === undefined ? "not set" : quote(value)));
	return `${place} has changed since it was last read: it was ${was} and is now ${is}.`;
}

// The command

export const COMMAND = "Show or set the limits of a run";

/** What can stand behind `/turn-limit`. */
export const COMPLETIONS = [
	{ value: "25", description: "turns until you are asked" },
	{ value: "50", description: "turns until you are asked" },
	{ value: "unlimited", description: "count turns, never ask" },
	{ value: "+10", description: "ten more turns, this round only" },
	{ value: "tools 200", description: "tool calls until you are asked" },
	{ value: "tools unlimited", description: "count tool calls, never ask" },
	{ value: "policy abort", description: "nobody continues: the run is aborted" },
	{ value: "policy synthesize", description: "nobody continues: one last answer, tools refused" },
	{ value: "grace 2", description: "tell the model to wrap up when 2 turns remain" },
	{ value: "grace 0", description: "never tell the model to wrap up" },
	{ value: "wrap-up", description: "tell the model to wrap up now" },
] as const;

const WORDS = "a number, unlimited, +n, tools, policy, grace, wrap-up";

/** Nothing has changed. */
export function badArgument(what: MeterId | "policy" | "grace", text: string): string {
	if (what === "policy" || what === "grace") return `Invalid ${what}. Must be ${ALLOWED[what]}, not ${quote(text)}.`;
	return `Invalid ${METERS[what].limit.toLowerCase()}. Must be a positive integer, 0 (ask every time) or unlimited, not ${quote(text)}. /turn-limit takes ${WORDS}.`;
}

export function setText(what: MeterId | "policy" | "grace", value: number | string): string {
	return `${what === "policy" ? "Policy" : what === "grace" ? "Grace" : METERS[what].limit} set to ${value}.`;
}

export function raisedText(state: State, id: MeterId, by: number): string {
	const { phase, meters } = state;
	const max = bound(phase.name === "idle" ? { ...meters[id], extra: phase.extra[id] } : meters[id]);
	return `${count(by, id)} more: ${max} in ${phase.name === "idle" ? "the next run's first" : "this"} round.`;
}

export function unlimitedText(id: MeterId): string {
	return `${METERS[id].limit} is unlimited; there is nothing to raise.`;
}

/** What became of the person's wish to wrap up. */
export function wrapUpText({ phase }: State): string {
	if (phase.name === "idle") return "Nothing is running.";
	if (phase.name === "finishing" || phase.name === "stopped") return "The run is ending already.";
	return "The model will be told to wrap up with its next request.";
}

interface Sourced {
	readonly value: unknown;
	readonly source: string;
}

/** Where every meter stands and where each setting comes from: a few aligned lines. */
export function status(
	state: State,
	settings: Readonly<Record<keyof typeof FLAGS | "askTimeout" | "wrapUpMessage", Sourced>>,
): string {
	const { meters, phase } = state;
	const told = (id: MeterId): string => {
		const granted = phase.name === "idle" ? phase.extra[id] : 0;
		return describe(id, granted > 0 ? { ...meters[id], extra: granted } : meters[id]);
	};
	const row = (name: string, { value, source }: Sourced, shown = String(value)) => [name, shown, source];
	return table([
		row("turns", settings.maxTurns, told("turns")),
		row("tool calls", settings.maxToolCalls, told("toolCalls")),
		row("policy", settings.policy),
		row("grace", settings.grace),
		row("time to answer", settings.askTimeout),
		row("wrap-up text", settings.wrapUpMessage, settings.wrapUpMessage.value ? "your own" : "built in"),
	]);
}

function table(rows: readonly (readonly string[])[]): string {
	const widths = rows.reduce<number[]>((most, row) => row.map((cell, i) => Math.max(most[i] ?? 0, cell.length)), []);
	return rows
		.map((row) =>
			row
				.map((cell, i) => cell.padEnd(widths[i] ?? 0))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
}

/** What `pi --help` says about a flag. */
export const FLAGS = {
	maxTurns: "Turns a run may take: a number or unlimited (default 25)",
	maxToolCalls: "Tool calls a run may make: a number or unlimited (default unlimited)",
	policy: "When nobody continues: abort, or synthesize one last answer (default abort)",
	grace: "Turns left when the model is told to wrap up (default 2, 0 with a person)",
} as const;

export function unreported(failures: readonly string[]): string {
	return `The outcome could not be told everywhere: ${failures.join("; ")}`;
}

// The host

export const LOADED_TWICE = "pi-turn-limit is loaded twice; this copy stays out of the way.";
export const HOST_TOO_OLD = "pi-turn-limit needs pi 0.87 or newer and does not guard this session.";

// The library

export function badOption(option: string, value: unknown, allowed: string): string {
	return `${option} must be ${allowed}, not ${quote(value)}.`;
}

export function unknownOption(option: string, known: readonly string[]): string {
	return `There is no option ${quote(option)}; known are ${known.join(", ")}.`;
}

export const NO_RUN = "The prompt started no run of a session that this limit guards.";
