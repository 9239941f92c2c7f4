/** The question at a limit, in words: the same for every host. */
import { amount, amountIn, within } from "../core/amount.ts";
import { canGrant, obstacles } from "../core/gate.ts";
import { grant, isLimited, isReached, readMeter, toNumber } from "../core/limit.ts";
import { POLICIES } from "../core/policies.ts";
import {
	overAllScopes,
	type Call,
	concerns,
	isShared,
	kindOf,
	METER_IDS,
	type MeterId,
	SHARED,
} from "../core/meters.ts";
import { spentText } from "../core/outcome.ts";
import type { Asking, In, State } from "../core/state.ts";
import { cycleLength, extend } from "../core/streak.ts";
import { clip } from "../core/text.ts";
import { type Choice, choicesAt, labelOfYes, type RunEnd } from "./choices.ts";
import { Tally } from "./tally.ts";

/** A yes that buys an amount which the person chose. */
export interface Sized {
	/** As the core counts it. */
	readonly grant: number;
	readonly label: string;
}

export interface Question {
	readonly title: string;
	/** For a dialog that takes yes or no only. */
	readonly message: string;
	/** For a list of choices: sentences, which may be broken. */
	readonly lines: readonly string[];
	/** What was done since a person last decided; each stays one line, cut where there is no room. */
	readonly activity: readonly string[];
	readonly choices: readonly Choice[];
	/** Tells the person in a few words what Escape does. */
	readonly escape?: string;
	/** The same in fewer letters. */
	readonly escapeShort?: string;
	/** What happens without an answer, before a time: `Stops by itself in 30s`. */
	readonly expires?: string;
	readonly meter: MeterId;
	/** The yes for an amount that the person types, such as `50`, `+50` or `$2.50`; undefined if the text is not an amount. Absent where no amount can be chosen. */
	readonly size?: (typed: string) => Sized | undefined;
}

/** `describe` says in a few words what a call does; `extra` are further lines that the host knows. */
export function questionAbout(
	state: State,
	id: MeterId,
	describe: (call: Call) => string,
	extra: readonly string[] = [],
	tally = new Tally(),
): Question {
	const asked = state as In<Asking>;
	const { run, call, unreachable } = asked.phase;
	const { title, used, grants, more, notes } =
		unreachable === undefined ? aboutLimit(asked, id) : aboutLedger(id, unreachable);
	const waiting = call ? ` Waiting: ${describe(call)}` : "";
	const soFar = `${spentSoFar(asked, id, tally)}.${waiting}`;
	const activity = tally.lines(describe);
	// The core gives a final pass only to a run that has something to answer from, and none past a closed gate.
	const canAnswer = run.spent.turns > 0 && unreachable === undefined;
	const end: RunEnd = !canAnswer ? "stops" : POLICIES[asked.meters[id].limit.policy].answers ? "answers" : "asks";
	const { no, stops, escape, escapeShort } = ENDS[end];
	const canSize = grants !== undefined && id !== "repeats";
	return {
		title,
		message: [used, soFar, ...activity, ...notes, ...extra, `Yes: ${more}. No: ${no}.`].join("\n"),
		lines: [used, soFar, ...notes, ...extra, stops],
		activity,
		choices: choicesAt(end, more),
		escape,
		escapeShort,
		expires: "Stops by itself in",
		meter: id,
		...(canSize ? { size: (typed) => sized(typed, id, (by) => labelOfYes(moreText(asked, id, by))) } : {}),
	};
}

const ENDS: Readonly<Record<RunEnd, Words>> = {
	stops: {
		no: "the run ends here",
		stops: "Stop ends the run here.",
		escape: "Escape stops.",
		escapeShort: "Esc stops.",
	},
	asks: {
		no: "the run ends here",
		stops: "Stop ends the run here; Wrap up now gets an answer first.",
		escape: "Escape stops.",
		escapeShort: "Esc stops.",
	},
	answers: {
		no: "one last answer, without tools",
		stops: "Stop with an answer: from what it has, without tools. Stop now ends the run.",
		escape: "Escape stops with an answer.",
		escapeShort: "Esc: an answer.",
	},
};

interface Words {
	readonly no: string;
	readonly stops: string;
	readonly escape: string;
	readonly escapeShort: string;
}

interface About {
	readonly title: string;
	readonly used: string;
	/** What a yes buys, as the core counts it; undefined where the run would go on without the ledger. */
	readonly grants: number | undefined;
	/** The same in words. */
	readonly more: string;
	readonly notes: readonly string[];
}

function aboutLedger(id: MeterId, unreachable: string): About {
	const limit = kindOf(id).title.toLowerCase();
	const used = `${clip(unreachable, 300)} Continue without the ${limit}, for this run?`;
	return { title: "Shared budget out of reach", used, grants: undefined, more: "without it", notes: [] };
}

function aboutLimit(state: In<Asking>, id: MeterId): About {
	const { limit, used } = state.meters[id];
	const { run, gate } = state.phase;
	const isPast = (other: MeterId): boolean => other !== id && concerns(other, gate);
	const before = new Set(run.passes.filter(isPast)).size;
	const all = before + 1 + nextAsked(state, id).length;
	const title = `${kindOf(id).title} reached${all > 1 ? ` (${before + 1} of ${all})` : ""}`;
	// At a limit of 0 a yes admits one request.
	const grants = limit.max === 0 ? 1 : toNumber(grant(id, state.meters[id]));
	return {
		title,
		used: `${id === "repeats" ? circle(state, used) : `You've used ${amountIn(id, used)}.`} Continue?`,
		grants,
		more: moreText(state, id, grants),
		notes: tightest(state, id, grants).notes,
	};
}

/** `The same call 5 times in a row.`, `The same 2 calls, 5 times over.` */
function circle({ streak, phase: { call } }: In<Asking>, times: number): string {
	const length = call ? cycleLength(extend(streak, call)) : 1;
	if (times === 0) return "Every call is asked about.";
	const calls = length === 1 ? "The same call" : `The same ${length} calls`;
	if (times === 1) return `${calls} again.`;
	return length === 1 ? `${calls} ${times} times in a row.` : `${calls}, ${times} times over.`;
}

/** The limits that are asked about after this one, before anything goes on. What the ledger says of the shared ones is new only where it has just refused for one of them. */
function nextAsked(state: In<Asking>, id: MeterId): readonly MeterId[] {
	const { run, gate, call } = state.phase;
	const isNext = (other: MeterId): boolean => canGrant(state, other) && isReached(state.meters[other]);
	const shared = isShared(id) ? SHARED.filter(isNext) : [];
	return [...shared, ...obstacles(state, run, gate, call)].filter((other) => other !== id);
}

/** A cycle of calls holds no identical calls in a row. */
const REPEATED = { one: "time", many: "times" };

/** `25 more turns`, `$2.50 more`, `5 more times`; at most what every limit of the same allows. */
function moreText(state: In<Asking>, id: MeterId, by: number): string {
	const { unit } = kindOf(id);
	const { one, many } = id === "repeats" ? REPEATED : kindOf(id);
	const { gate } = state.phase;
	const { least, other } = tightest(state, id, by);
	const noun = one === undefined ? "" : ` ${least === 1 ? one : many}`;
	const isOne = state.meters[id].limit.max === 0 && by === 1;
	const more = isOne ? (gate === "turn" ? "1 more turn" : "1 more tool call") : `${unit.show(least)} more${noun}`;
	const [next] = nextAsked(state, id);
	if (next !== undefined) return `${more}; the ${kindOf(next).title.toLowerCase()} is next`;
	return other === undefined ? more : `${more}, then the ${kindOf(other).title.toLowerCase()}`;
}

/** What may be spent of `by` before another limit of the same is reached, and which one that is. */
function tightest(state: State, id: MeterId, by: number): { least: number; other?: MeterId; notes: readonly string[] } {
	const others = overAllScopes(kindOf(id).of).filter((other) => other !== id && !isReached(state.meters[other]));
	const rooms = others.map((other) => ({ other, room: toNumber(readMeter(state.meters[other]).remaining) }));
	const tight = rooms.filter(({ room }) => room < by).toSorted((a, b) => a.room - b.room)[0];
	if (tight === undefined) return { least: by, notes: [] };
	const { other, room } = tight;
	return {
		least: room,
		other,
		notes: [`A yes grants ${amount(id, by)}; left ${within(other)}: ${amount(other, room)}.`],
	};
}

function sized(typed: string, id: MeterId, label: (by: number) => string): Sized | undefined {
	const { unit } = kindOf(id);
	const by = unit.read(unit.parse(typed.replace(/^\+/, "")));
	return by === undefined || by === 0 ? undefined : { grant: by, label: label(by) };
}

/** What the run has spent, or all runs since the person's prompt; for a limit of a tree also what its agents have. */
function spentSoFar({ phase: { run }, meters }: In<Asking>, id: MeterId, tally: Tally): string {
	const all = tally.sincePrompt(run.spent);
	// The sentence about a repeated call says how often it came.
	const sum = spentText(all ?? run.spent, id === "repeats" ? undefined : id);
	const spent = all ? `Spent since your prompt: ${sum}` : `This run so far: ${sum}`;
	if (kindOf(id).scope !== "tree") return spent;
	const tree = METER_IDS.filter((other) => kindOf(other).scope === "tree" && isLimited(meters[other]));
	return `${spent}; with its agents ${tree.map((other) => amount(other, meters[other].used)).join(", ")}`;
}
