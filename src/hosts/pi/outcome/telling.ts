/** Makes the report of a run's end, once per run. */
import { isShared, kindOf } from "../../../core/meters.ts";
import { line, type Outcome, PREFIX, publish, stoppedByLimit, type Trip } from "../../../core/outcome.ts";
import { type Context, DISPOSED } from "../host/api.ts";
import { report, type Report } from "./report.ts";
import type { Session } from "../session.ts";

/** Facts about the runs of a session that their reports need. */
export class Telling {
	/** The model's last answer; kept until the next prompt, whatever runs in between. */
	answer: string | undefined;
	/** The line about the last run that was not refused, and its outcome. */
	lastLine: string | undefined;
	lastOutcome: Outcome | undefined;
	/** The line about our stop, if the last message carries it. */
	shownLine: string | undefined;
	/** The last message repeats the model's answer. */
	isAnswerShown = false;
	/** Messages were waiting when the run was stopped. */
	wasQueued = false;

	/** The run is over and reported. */
	end(): void {
		this.shownLine = undefined;
		this.isAnswerShown = false;
		this.wasQueued = false;
	}
}

export function tell(session: Session, outcome: Outcome, ctx: Context): void {
	const { telling, pi, options, role, state, display } = session;
	const { shownLine, isAnswerShown } = telling;
	const isRefused = state.phase.name === "idle" && (state.phase.refusedSinceStop ?? 0) > 0;
	// Runs that are refused after the stop get no line, because the line about the stop holds for them too.
	if (!isRefused) {
		// The line that was shown, because a new one would have a later time.
		telling.lastLine = shownLine ?? lineOf(session, outcome);
		telling.lastOutcome = outcome;
	}
	const line = isRefused ? undefined : telling.lastLine;
	// In the terminal the abort has put queued messages back into the editor.
	const wasQueued = telling.wasQueued && ctx.mode !== "tui";
	const isAnswered = isAnswerShown || outcome.kind === "synthesized" || outcome.kind === "wrapped_up";
	const { attended } = state;
	const made = { outcome, line, isInTranscript: shownLine !== undefined, isAnswered, wasQueued, attended };
	const onReport = (made: Report): void => options.onReport?.(made, ctx, role);
	if (ctx === DISPOSED) onReport({ ...made, outcome: publish(outcome) });
	else report(pi, made, onReport, ctx, display.showsEntries);
}

/** The line about an outcome, with the place of the limit that acted. */
export function lineOf({ settings, role, telling }: Session, outcome: Outcome): string | undefined {
	const isAboutMember = role.isMember && telling.answer === undefined && stoppedByLimit(outcome);
	return isAboutMember ? memberLine(outcome) : line(outcome, (id) => settings.sourceOf(id));
}

/** Without a number: subagent extensions take some of them for a provider's failure and start the child again. */
function memberLine({ meter }: Trip): string {
	const { many, title } = kindOf(meter);
	const limit = isShared(meter) ? title.toLowerCase() : `limit of ${many}`;
	return `${PREFIX} the ${limit} stopped this subagent before it gave an answer.`;
}
