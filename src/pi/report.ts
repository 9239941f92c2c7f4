/** How everybody is told that a run has ended. */
import { limitActed, type Outcome } from "../core/outcome.ts";
import { notice, unreported } from "../core/wording.ts";
import type { Context, Pi } from "./host.ts";

/** On `pi.events`: every outcome, as an `Outcome`. */
export const OUTCOME_EVENT = "turn-limit:outcome";

/** In the session: outcomes in which a limit acted, as an `Outcome` with a `version`. */
export const OUTCOME_ENTRY = "turn-limit-outcome";

export interface Report {
	readonly outcome: Outcome;
	/** One line, if a limit or the breaker acted. */
	readonly text: string | undefined;
	/** Pi will show it as the reason of the last message. */
	readonly shown: boolean;
	/** Messages were waiting when the run was stopped. */
	readonly queued: boolean;
}

/** One event, at most one record and one notification; none of them can keep another from being made. */
export function report(
	pi: Pick<Pi, "events" | "appendEntry">,
	report: Report,
	hear: ((report: Report, ctx: Context) => void) | undefined,
	ctx: Context,
): void {
	const { outcome, queued } = report;
	const failures = [
		() => pi.events.emit(OUTCOME_EVENT, outcome),
		() => {
			if (limitActed(outcome)) pi.appendEntry(OUTCOME_ENTRY, { version: 1, ...outcome });
		},
		() => {
			// In the terminal the abort has put them back into the editor.
			const text = ctx.hasUI ? notice(outcome, queued && ctx.mode !== "tui") : undefined;
			if (text !== undefined) ctx.ui.notify(text, outcome.kind === "synthesized" ? "info" : "error");
		},
		() => hear?.(report, ctx),
	].flatMap(attempt);
	if (failures.length > 0) throw new Error(unreported(failures.map(String)));
}

function attempt(step: () => void): unknown[] {
	try {
		step();
		return [];
	} catch (error) {
		return [error];
	}
}
