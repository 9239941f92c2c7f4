/** Reports the end of a run to everybody. */
import { kindOf } from "../core/meters.ts";
import { brokenText, isBroken, limitActed, type Outcome, publish, stoppedByLimit, type Trip } from "../core/outcome.ts";
import type { Context, Pi } from "./host.ts";

/** On `pi.events`: every outcome, as an `Outcome`. */
export const OUTCOME_EVENT = "turn-limit:outcome";

/** In the session: outcomes in which a limit acted, as an `Outcome` with a `version`. */
export const OUTCOME_ENTRY = "turn-limit-outcome";

export interface Report {
	readonly outcome: Outcome;
	/** One line, if a limit or the breaker acted. */
	readonly line: string | undefined;
	/** The last message carries the line as its reason. */
	readonly isInTranscript: boolean;
	/** Messages were waiting when the run was stopped. */
	readonly wasQueued: boolean;
}

/** One event, at most one record and one notification; a failure of one does not prevent the others. */
export function report(
	pi: Pick<Pi, "events" | "appendEntry">,
	made: Report,
	hear: (report: Report) => void,
	ctx: Context,
): void {
	const { wasQueued } = made;
	// Programs read amounts as they write them: dollars, not millionths.
	const outcome = publish(made.outcome);
	const failures = [
		() => pi.events.emit(OUTCOME_EVENT, outcome),
		() => {
			if (limitActed(outcome)) pi.appendEntry(OUTCOME_ENTRY, { version: 1, ...outcome });
		},
		() => {
			// In the terminal the abort has put queued messages back into the editor.
			const text = ctx.hasUI ? notice(outcome, wasQueued && ctx.mode !== "tui") : undefined;
			if (text !== undefined) ctx.ui.notify(text, outcome.kind === "synthesized" ? "info" : "error");
		},
		() => hear({ ...made, outcome }),
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

/** For a person, if there is something to say: what stopped the run and how to go on. */
function notice(outcome: Outcome, queued: boolean): string | undefined {
	if (isBroken(outcome)) return brokenText(outcome);
	if (!stoppedByLimit(outcome)) return undefined;
	const kept = queued ? " Messages that were queued are kept for the next prompt." : "";
	return `${stopText(outcome)} Send a message to go on.${kept}`;
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
			return `${reached}; no answer in the final pass.`;
	}
}
