/** The sentences about the end of a run, for a person and for whoever reads a subagent's result. A script's line is in `core/outcome.ts`. */
import { amountIn } from "../../../core/amount.ts";
import { isShared, kindOf, type MeterId, scopeOf } from "../../../core/meters.ts";
import {
	isDeclined,
	type Outcome,
	type OutcomeKind,
	OUTCOMES,
	PREFIX,
	spentText,
	stoppedByLimit,
	type Trip,
} from "../../../core/outcome.ts";

/** A run that a limit ended, in words: `reached` names the limit. */
interface Stop {
	readonly reached: string;
	readonly outcome: Outcome & Trip;
	readonly isRpc: boolean;
}

interface Sentences {
	/** Follows `Last run:`. */
	readonly last: string;
	/** The notice where the run ended by itself, if there is one. */
	readonly notice?: string;
	/** The notice where a limit ended the run, if one can. */
	readonly stop?: (stop: Stop) => string;
}

const SENTENCES: Readonly<Record<OutcomeKind, Sentences>> = {
	completed: { last: "finished by itself" },
	wrapped_up: {
		last: "finished after the wrap-up",
		notice: "Ended after the wrap-up; the answer may be partial.",
	},
	synthesized: {
		last: "stopped with an answer",
		stop: ({ reached }) => `${reached}; the model gave its final answer.`,
	},
	declined: { last: "stopped by you", stop: declinedText },
	exhausted: {
		last: "stopped without an answer",
		stop: ({ reached, outcome }) =>
			outcome.turns === 0 ? `${reached}; a run was refused.` : `${reached}; the run ended without an answer.`,
	},
	interrupted: { last: "interrupted" },
	failed: { last: "failed", stop: ({ reached }) => `${reached}; the provider failed in the final pass.` },
};

/** Clients of rpc compare this beginning. */
const BY_USER = "Agent aborted by user.";

function declinedText({ reached, outcome, isRpc }: Stop): string {
	if (!isDeclined(outcome) || !outcome.answered) return `${reached}; nobody answered.`;
	return isRpc ? `${BY_USER} ${reached}.` : `You stopped the run at the ${titleOf(outcome)}.`;
}

/** True if the run ended as somebody wished, so that nothing is wrong. */
export function isDeliberate(outcome: Outcome): boolean {
	return OUTCOMES[outcome.kind].isPartial || (isDeclined(outcome) && outcome.answered);
}

/** For a person, if a limit ended the run: what stopped it and how to go on. */
export function noticeOf(outcome: Outcome, isRpc = false): string | undefined {
	if (!stoppedByLimit(outcome)) return SENTENCES[outcome.kind].notice;
	const { title } = kindOf(outcome.meter);
	const stop = SENTENCES[outcome.kind].stop?.({ reached: `${title} reached`, outcome, isRpc });
	const isOperatorNeeded = scopeOf(outcome.meter).grantedBy === "operator";
	return `${stop} ${isOperatorNeeded ? "An operator of the budget can raise it." : "Send a message to go on."}`;
}

/** One line about the end of the last run. */
export function lastRunText(outcome: Outcome): string {
	const isSilent = isDeclined(outcome) && !outcome.answered;
	const how = isSilent ? "stopped, nobody answered" : SENTENCES[outcome.kind].last;
	const { meter, limit } = outcome as Outcome & Partial<Trip>;
	// The person can ask for the wrap-up without a limit.
	const where = meter !== undefined && typeof limit === "number" ? ` at the limit of ${amountIn(meter, limit)}` : "";
	return `Last run: ${how}${where}; spent: ${spentText(outcome, meter)}.`;
}

/** Without a number: subagent extensions take some of them for a provider's failure and start the child again. */
export function memberLine({ meter }: Trip): string {
	return `${PREFIX} the ${titleOf({ meter })} stopped this subagent before it gave an answer.`;
}

/** The line at the end of a member's answer. */
export function partialNote(meter: MeterId): string {
	return `[${PREFIX} this answer may be partial; the subagent reached ${ownLimit(meter)}.]`;
}

/** Follows the provider's reason, where it failed in a member's final pass. */
export function limitNote(meter: MeterId): string {
	return `[${PREFIX} the subagent had reached ${ownLimit(meter)}.]`;
}

function ownLimit(meter: MeterId): string {
	return `${isShared(meter) ? "the" : "its"} ${titleOf({ meter })}`;
}

function titleOf({ meter }: Pick<Trip, "meter">): string {
	return kindOf(meter).title.toLowerCase();
}
