/** One run, as its session file records it. */
import type { OutcomeKind } from "../core/outcome.ts";
import type { RunMeterId } from "../core/meters.ts";

/**
 * Counted are:
 *
 * - `turns`: model responses, and requests that were aborted before any text or lost when pi ended. Not counted: the
 *   repetition of a request that failed or of an answer that was cut off, a request without any answer.
 * - `toolCalls`: calls that the model asked for, and nested ones as far as pi stores them.
 * - `cost`: as pi stores it, tools, compactions and branch summaries included.
 * - `tokens`: fresh ones, which are input, output and cache writes.
 * - `time`: while the model answered or tools ran. Not counted: pauses between turns, such as a question at the limit.
 */
export const HISTORY_METERS = ["turns", "toolCalls", "cost", "tokens", "time"] as const satisfies readonly RunMeterId[];

export type HistoryMeter = (typeof HISTORY_METERS)[number];

/** Spent between one turn's start and the next, as the core counts it: millionths of a dollar, milliseconds. */
export type PastStep = Readonly<Record<HistoryMeter, number>>;

/** A record of `turn-limit-outcome`, as far as it can be read. */
export interface OutcomeRecord {
	readonly kind: OutcomeKind;
	readonly continuations: number;
	/** Whether a question without a yes was answered with no. */
	readonly answered: boolean;
	/** Whether somebody was asked and the run then ended in a final pass. */
	readonly finalPass: boolean;
}

/** Everything from a person's prompt to the next: steering and queued messages, retries and compactions included. */
export interface PastRun {
	/** The same for every copy of the prompt: made from its time and its text. */
	readonly key: string;
	/** The time of the prompt. */
	readonly at: number;
	/** False for a run that an extension started before the first prompt. */
	readonly prompted: boolean;
	/** The step before the first turn, then one a turn. */
	readonly steps: readonly PastStep[];
	readonly outcomes: readonly OutcomeRecord[];
	/** The number of the file's entries that belong to it. */
	readonly entries: number;
	/** The time at which its last message was stored. */
	readonly until: number;
	/** The last answer called no tool, was neither interrupted nor a failure, and no limit had asked for it. */
	readonly finished: boolean;
	/** Another request is due: its last message is a tool result, or an answer that calls tools. */
	readonly open: boolean;
	/** The part of its cost that tools have reported, as the core counts it. */
	readonly reported: number;
	/** A limit refused its next request, so the run ended there. */
	readonly refused: boolean;
	/** True if somebody could be asked; undefined if the session does not say. */
	readonly attended: boolean | undefined;
}

/** A prompt counts if a person sent it and it got an answer. */
export function isPromptCounted({ prompted, steps }: PastRun): boolean {
	return prompted && steps.length > 1;
}
