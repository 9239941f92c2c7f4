/** The question at a limit, in words: the same for every host. */
import { amountIn } from "../core/amount.ts";
import { grant, type Meter, toNumber } from "../core/limit.ts";
import { type Call, kindOf, type MeterId } from "../core/meters.ts";
import { spentText } from "../core/outcome.ts";
import type { Answer } from "../core/protocol.ts";
import type { Asking, State } from "../core/state.ts";
import { clip } from "../core/text.ts";

/** One way to answer; `tell` is a yes with words for the model. */
export type ChoiceId = Exclude<Answer, "none"> | "tell";

export interface Choice {
	readonly id: ChoiceId;
	readonly label: string;
	/** Words that choose it when typed, in lower case, for example `y` and `yes`. The first is shown. */
	readonly typed?: readonly string[];
	/** Asks for a line of text first; this is the line above it. */
	readonly asks?: string;
}

export interface Question {
	readonly title: string;
	/** For a dialog that takes yes or no only. */
	readonly message: string;
	/** For a list of choices. */
	readonly lines: readonly string[];
	readonly choices: readonly Choice[];
	/** Tells the person in a few words what Escape does. */
	readonly escape?: string;
	readonly meter: MeterId;
	/** What a yes buys, as the core counts it; nothing where it goes on without the ledger. */
	readonly grants: number | undefined;
}

/** `describe` says in a few words what a call does; `extra` are further lines that the host knows. */
export function questionAbout(
	state: State,
	id: MeterId,
	describe: (call: Call) => string,
	extra: readonly string[] = [],
): Question {
	const { run, call, unreachable } = state.phase as Asking;
	const meter = state.meters[id];
	const title = unreachable === undefined ? `${kindOf(id).title} reached` : "Shared budget out of reach";
	const used =
		unreachable === undefined
			? `You've used ${amountIn(id, meter.used)}. Continue?`
			: `${clip(unreachable, 300)} Continue without the ${kindOf(id).title.toLowerCase()}, for this run?`;
	const last = run.lastCall ? ` Last call: ${describe(run.lastCall)}` : "";
	const soFar = `This run so far: ${spentText(run.spent, id)}.${call ? ` Waiting: ${describe(call)}` : last}`;
	const grants = unreachable === undefined ? grantOf(id, meter) : undefined;
	const more = grants === undefined ? "without it" : grantText(id, meter, state.phase as Asking, grants);
	// The core gives a final pass only to a run that has something to answer from, and none past a closed gate.
	const canAnswer = run.spent.turns > 0 && unreachable === undefined;
	const doesAnswer = canAnswer && meter.limit.policy === "synthesize";
	const no = doesAnswer ? "one last answer, without tools" : "the run ends here";
	const wrapUp: Choice = { id: "wrap_up", label: "Wrap up now" };
	return {
		title,
		message: [used, soFar, ...extra, `Yes: ${more}. No: ${no}.`].join("\n"),
		lines: [used, soFar, ...extra, stopText(canAnswer, doesAnswer)],
		choices: [
			{ id: "yes", label: `Continue (${more})`, typed: ["y", "yes"] },
			{ id: "tell", label: "Continue, and tell it something…", asks: "What should it know?" },
			...(canAnswer && !doesAnswer ? [wrapUp] : []),
			{ id: "no", label: doesAnswer ? "Stop with an answer" : "Stop", typed: ["n", "no"] },
		],
		escape: "Escape stops.",
		meter: id,
		grants,
	};
}

/** At a limit of 0 a yes admits one request. */
function grantOf(id: MeterId, meter: Meter): number {
	return meter.limit.max === 0 ? 1 : toNumber(grant(id, meter));
}

/** `25 more turns`, `$2.50 more`. */
function grantText(id: MeterId, meter: Meter, { gate }: Asking, grants: number): string {
	const { unit, one, many } = kindOf(id);
	if (meter.limit.max === 0) return gate === "turn" ? "1 more turn" : "1 more tool call";
	if (one === undefined) return `${unit.show(grants)} more`;
	return `${unit.show(grants)} more ${grants === 1 ? one : many}`;
}

function stopText(canAnswer: boolean, doesAnswer: boolean): string {
	if (doesAnswer) return "Stop lets it answer from what it has, without tools.";
	return canAnswer ? "Stop ends the run here; Wrap up now gets an answer first." : "Stop ends the run here.";
}
