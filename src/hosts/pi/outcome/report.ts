/** Reports the end of a run: event, entry, notification, callback. */
import { kindOf, scopeOf } from "../../../core/meters.ts";
import {
	brokenText,
	isBroken,
	limitActed,
	type Outcome,
	publish,
	stoppedByLimit,
	type Trip,
} from "../../../core/outcome.ts";
import type { Context, Pi } from "../host/api.ts";

/** On `pi.events`: every outcome, as an `Outcome`. */
export const OUTCOME_EVENT = "turn-limit:outcome";

/** In the session: outcomes in which a limit acted, as an `Outcome` with a `version` and whether somebody could be asked. */
export const OUTCOME_ENTRY = "turn-limit-outcome";

export interface Report {
	readonly outcome: Outcome;
	/** One line, if a limit or the breaker acted. */
	readonly line: string | undefined;
	/** The last message carries the line as its reason. */
	readonly isInTranscript: boolean;
	/** The last message is an answer of the model. */
	readonly isAnswered: boolean;
	/** Messages were waiting when the run was stopped. */
	readonly wasQueued: boolean;
	/** Somebody could be asked. */
	readonly attended: boolean;
}

/** One event, at most one record and one notification; a failure of one does not prevent the others. */
export function report(
	pi: Pick<Pi, "events" | "appendEntry">,
	made: Report,
	onReport: (report: Report) => void,
	ctx: Context,
	/** The transcript shows the record, so a notification would say it twice. */
	isRecordShown: boolean,
): void {
	const { wasQueued, attended } = made;
	// Programs read amounts as they write them: dollars, not millionths.
	const outcome = publish(made.outcome);
	const failures = [
		() => pi.events.emit(OUTCOME_EVENT, outcome),
		() => {
			if (limitActed(outcome)) pi.appendEntry(OUTCOME_ENTRY, { version: 1, attended, ...outcome });
		},
		() => {
			if (!ctx.hasUI) return;
			const notice = isRecordShown || outcome.kind === "wrapped_up" ? undefined : noticeOf(outcome);
			const kept = wasQueued ? " Messages that were queued are kept for the next prompt." : "";
			if (isBroken(outcome)) ctx.ui.notify(brokenText(outcome), "error");
			else if (notice !== undefined) ctx.ui.notify(notice + kept, isDeliberate(outcome) ? "info" : "error");
		},
		() => onReport({ ...made, outcome }),
	].flatMap(attempt);
	if (failures.length > 0) throw new Error(`The outcome could not be reported: ${failures.map(String).join("; ")}`);
}

function attempt(step: () => void): unknown[] {
	try {
		step();
		return [];
	} catch (error) {
		return [error];
	}
}

/** True if the run ended as somebody wished, so that nothing is wrong. */
export function isDeliberate(outcome: Outcome): boolean {
	const { kind } = outcome;
	return kind === "synthesized" || kind === "wrapped_up" || (kind === "declined" && outcome.answered);
}

/** For a person, if a limit ended the run: what stopped it and how to go on. */
export function noticeOf(outcome: Outcome): string | undefined {
	if (outcome.kind === "wrapped_up") return "Ended after the wrap-up; the answer may be partial.";
	if (!stoppedByLimit(outcome)) return undefined;
	const isOperators = scopeOf(outcome.meter).grantedBy === "operator";
	return `${stopText(outcome)} ${isOperators ? "An operator of the budget can raise it." : "Send a message to go on."}`;
}

function stopText(outcome: Outcome & Trip): string {
	const reached = `${kindOf(outcome.meter).title} reached`;
	switch (outcome.kind) {
		case "declined":
			return outcome.answered ? `Agent aborted by user. ${reached}.` : `${reached}; nobody answered.`;
		case "synthesized":
			return `${reached}; the model gave its final answer.`;
		case "failed":
			return `${reached}; the provider failed in the final pass.`;
		default:
			return outcome.turns === 0 ? `${reached}; a run was refused.` : `${reached}; the run ended without an answer.`;
	}
}
