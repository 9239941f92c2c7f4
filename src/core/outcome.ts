/** How a run ended: one value per run, and the line that reports it. */
import { amount, amountIn } from "./amount.ts";
import { isOfRound } from "./limit.ts";
import { kindOf, type Max, type MeterId, type PerRunMeter, perRunMeter, RUN_METER_IDS } from "./meters.ts";
import { clip } from "./text.ts";

/** The counters of the whole run; part of every outcome. */
export interface Spent extends PerRunMeter<number> {
	/** How often somebody said yes to a question. */
	readonly continuations: number;
}

/** The meter and the limit that acted. */
export interface Trip {
	readonly meter: MeterId;
	readonly limit: Max;
}

/** The end of a run that a limit, the user or a failure ended. */
export type Verdict =
	/** A person was asked and did not continue: an explicit no, or no answer at all. */
	| ({ readonly kind: "declined"; readonly answered: boolean } & Trip)
	/** Nobody to ask, or no answer in the final pass. `cut`: the turn or call under way was not waited for. */
	| ({ readonly kind: "exhausted"; readonly cut?: true } & Trip)
	/** With an answer in the final pass. */
	| ({ readonly kind: "synthesized" } & Trip)
	/** The user aborted. */
	| { readonly kind: "interrupted" }
	/** The provider failed for good, in the final pass if a limit is named, or the breaker itself failed. */
	| ({ readonly kind: "failed"; readonly by: "provider" | "breaker"; readonly message: string } & Partial<Trip>);

/** The end of a run that ended by itself. */
export type Ending =
	| { readonly kind: "completed" }
	/** After the wrap-up. */
	| ({ readonly kind: "wrapped_up" } & Trip);

export type Outcome = Spent & {
	/** The model was told to wrap up, in the round that ended the run. */
	readonly advised: boolean;
} & (Ending | Verdict);

export type OutcomeKind = Outcome["kind"];

interface OutcomeRow {
	/** How the run ended, in the line for a script. */
	readonly end: string;
	/** `question`: a person was asked and did not continue. */
	readonly endedBy: "itself" | "limit" | "question" | "abort" | "failure";
	/** It names a limit: always, never, or only if the run had met one. */
	readonly namesLimit: "always" | "never" | "perhaps";
	/** The model's last message is an answer that may be partial. */
	readonly isPartial: boolean;
	/** A final pass can come before it. */
	readonly hasFinalPass: boolean;
}

/** The table of outcomes: how a run can end. A new one is a variant above and a row here. */
export const OUTCOMES: Readonly<Record<OutcomeKind, OutcomeRow>> = {
	completed: { end: "finished", endedBy: "itself", namesLimit: "never", isPartial: false, hasFinalPass: false },
	wrapped_up: {
		end: "finished after the wrap-up",
		endedBy: "itself",
		namesLimit: "always",
		isPartial: true,
		hasFinalPass: false,
	},
	synthesized: { end: "stopped", endedBy: "limit", namesLimit: "always", isPartial: true, hasFinalPass: true },
	exhausted: { end: "stopped", endedBy: "limit", namesLimit: "always", isPartial: false, hasFinalPass: true },
	declined: { end: "stopped", endedBy: "question", namesLimit: "always", isPartial: false, hasFinalPass: false },
	interrupted: { end: "interrupted", endedBy: "abort", namesLimit: "never", isPartial: false, hasFinalPass: false },
	failed: { end: "failed", endedBy: "failure", namesLimit: "perhaps", isPartial: false, hasFinalPass: true },
};

export const OUTCOME_KINDS = Object.keys(OUTCOMES) as readonly OutcomeKind[];

/** True if a limit acted: by advice, a question, the final pass or a stop. */
export function limitActed(outcome: Outcome): boolean {
	return hasTrip(outcome) || outcome.advised || outcome.continuations > 0;
}

/** True if the breaker itself failed. */
export function isBroken(outcome: Outcome): outcome is Extract<Outcome, { kind: "failed" }> & { by: "breaker" } {
	const { by } = outcome as { readonly by?: string };
	return by === "breaker";
}

/** True if a person was asked and did not continue: an explicit no, or no answer at all. */
export function isDeclined(outcome: Outcome): outcome is Extract<Outcome, { kind: "declined" }> {
	return OUTCOMES[outcome.kind].endedBy === "question";
}

/** True if a run that ends so was ended at a limit, with or without a question; not if it failed in the final pass. */
export function isEndAtLimit(kind: OutcomeKind): boolean {
	return ["limit", "question"].includes(OUTCOMES[kind].endedBy);
}

/** True if a limit cut the run short, so that its answer, if there is one, is partial. */
export function stoppedByLimit(outcome: Outcome): outcome is Outcome & Trip {
	return hasTrip(outcome) && OUTCOMES[outcome.kind].endedBy !== "itself";
}

/** The outcome with its amounts as programs write them: dollars, not millionths. */
export function publish(outcome: Outcome): Outcome {
	const spent = perRunMeter((id) => kindOf(id).unit.write(outcome[id]));
	if (!("meter" in outcome)) return { ...outcome, ...spent };
	const { meter, limit } = outcome as Outcome & Trip;
	return { ...outcome, ...spent, limit: limit === "unlimited" ? limit : kindOf(meter).unit.write(limit) };
}

/** `41 turns, 52 tool calls, $0.81`: what is worth mentioning, and always the meter that it is about. */
export function spentText(spent: PerRunMeter<number>, about?: MeterId): string {
	const shown = RUN_METER_IDS.filter((id) => spent[id] >= kindOf(id).shownFrom || (about && kindOf(about).of === id));
	return shown.map((id) => amount(id, spent[id])).join(", ");
}

/** Begins every line that a script reads, and the reason of the message that pi makes up after a stop. */
export const PREFIX = "pi-turn-limit:";

/** In a session of pi: outcomes in which a limit acted, as an `Outcome` with a `version` and whether somebody could be asked. */
export const OUTCOME_ENTRY = "turn-limit-outcome";

/** In a session of pi: a turn whose reply does not stand there, because the session ended before it. */
export const LOST_TURN = "turn-limit-lost-turn";

/**
 * A sentence for logs, if a limit or the breaker acted: how the run ended, the limit, where it was set, whether there is
 * an answer, what was spent. `hasAnswer`: the model had answered before the run was stopped.
 */
export function line(outcome: Outcome, source: (id: MeterId) => string, hasAnswer = false): string | undefined {
	if (isBroken(outcome)) return brokenText(outcome);
	if (!limitActed(outcome)) return undefined;
	const meter = hasTrip(outcome) ? outcome.meter : "turns";
	const answer = stoppedByLimit(outcome) ? `, ${answerText(outcome, hasAnswer)}` : "";
	// A wider limit counts more than this run has spent.
	const spent = isOfRound(meter) ? "spent" : "spent in this run";
	return `${PREFIX} ${OUTCOMES[outcome.kind].end}${cause(outcome, source)}${answer}; ${spent}: ${spentText(outcome, meter)}.`;
}

function cause(outcome: Outcome, source: (id: MeterId) => string): string {
	if (!hasTrip(outcome)) return outcome.advised ? " after the wrap-up" : " after a question";
	if (outcome.limit === "unlimited") return "";
	const at = stoppedByLimit(outcome) ? "at" : "near";
	const cut = "cut" in outcome ? ", which cut off what was under way" : "";
	const by = isDeclined(outcome) ? (outcome.answered ? " by a no" : " because nobody answered") : "";
	return ` ${at} the limit of ${amountIn(outcome.meter, outcome.limit)} (${source(outcome.meter)})${by}${cut}`;
}

function answerText({ kind }: Outcome, hasAnswer: boolean): string {
	if (OUTCOMES[kind].isPartial) return "with a last answer";
	return hasAnswer ? "with an earlier answer" : "without an answer";
}

/** True if it names the limit that acted. */
export function hasTrip(outcome: Outcome): outcome is Outcome & Trip {
	return "meter" in outcome;
}

export function brokenText({ message }: { readonly message: string }): string {
	return `${PREFIX} failed and stopped the run: ${clip(message, 300)}`;
}
