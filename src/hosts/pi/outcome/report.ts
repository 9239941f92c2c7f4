/** Reports the end of a run, once per run: event, entry, notification, callback. */
import type { MeterId } from "../../../core/meters.ts";
import {
	brokenText,
	isBroken,
	limitActed,
	line,
	type Outcome,
	OUTCOME_ENTRY,
	OUTCOMES,
	publish,
	stoppedByLimit,
} from "../../../core/outcome.ts";
import type { State } from "../../../core/state.ts";
import { type Context, DISPOSED, type Pi } from "../host/api.ts";
import { isDeliberate, memberLine, noticeOf } from "./sentences.ts";
import type { Role } from "../lifecycle/root-or-member.ts";
import type { SessionSettings } from "../settings/session-settings.ts";
import type { Notices } from "../ui/notices.ts";

/** On `pi.events`: every outcome, as an `Outcome`. */
export const OUTCOME_EVENT = "turn-limit:outcome";

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

/** The surroundings of a session's reports. */
interface ReportParts {
	readonly pi: Pick<Pi, "events" | "appendEntry">;
	readonly role: Role;
	readonly settings: Pick<SessionSettings, "sourceOf">;
	/** Tells whether the transcript shows the record. */
	readonly notices: Pick<Notices, "showsEntries">;
	readonly onReport: ((report: Report, ctx: Context, role: Role) => void) | undefined;
}

/** The facts about a session's runs that their reports need; plain data, because another instance may take them over. */
export interface ReportFacts {
	/** The model's last answer; kept until the next prompt, whatever runs in between. */
	readonly answer?: string | undefined;
	/** The line about the last run that was not refused, and its outcome. */
	readonly lastLine?: string | undefined;
	readonly lastOutcome?: Outcome | undefined;
	/** The line about our stop, if the last message carries it. */
	readonly shownLine?: string | undefined;
	/** The last message repeats the model's answer. */
	readonly isAnswerShown?: boolean;
	/** Messages were waiting when the run was stopped. */
	readonly wasQueued?: boolean;
}

/** The reports of one session. */
export class Reports {
	readonly #parts: ReportParts;
	#facts: ReportFacts = {};

	constructor(parts: ReportParts) {
		this.#parts = parts;
	}

	get facts(): ReportFacts {
		return this.#facts;
	}

	/** Goes on where another instance has left. */
	takeOver(facts: ReportFacts): void {
		this.#facts = facts;
	}

	get answer(): string | undefined {
		return this.#facts.answer;
	}

	get lastLine(): string | undefined {
		return this.#facts.lastLine;
	}

	get lastOutcome(): Outcome | undefined {
		return this.#facts.lastOutcome;
	}

	answered(text: string): void {
		this.#note({ answer: text });
	}

	/** A person's prompt begins a run: what was answered before belongs to another one. */
	forgetAnswer(): void {
		this.#note({ answer: undefined });
	}

	/** The person went to another branch of the session. */
	forgetLastRun(): void {
		this.#note({ lastOutcome: undefined });
	}

	/** The last message carries this line. */
	lineShown(line: string): void {
		this.#note({ shownLine: line });
	}

	/** The last message repeats the model's answer. */
	answerShown(): void {
		this.#note({ isAnswerShown: true });
	}

	messagesWaited(): void {
		this.#note({ wasQueued: true });
	}

	/** The line about an outcome, with the place of the limit that acted. */
	lineAbout(outcome: Outcome): string | undefined {
		const { role, settings } = this.#parts;
		const sourceOf = (id: MeterId): string => settings.sourceOf(id);
		const isAboutMember = role.isMember && this.#facts.answer === undefined && stoppedByLimit(outcome);
		return isAboutMember ? memberLine(outcome) : line(outcome, sourceOf, this.#facts.answer !== undefined);
	}

	/** The run is over. `isRepeated`: one like it was refused and reported just before. */
	runEnded(outcome: Outcome, isRepeated: boolean, state: State, ctx: Context): void {
		try {
			if (!isRepeated) this.#tell(outcome, state, ctx);
		} finally {
			this.#note({ shownLine: undefined, isAnswerShown: false, wasQueued: false });
		}
	}

	#tell(outcome: Outcome, { phase, attended }: State, ctx: Context): void {
		const { pi, role, notices, onReport } = this.#parts;
		const { shownLine, isAnswerShown = false } = this.#facts;
		const isRefused = phase.name === "idle" && (phase.refusedSinceStop ?? 0) > 0;
		// Runs that are refused after the stop get no line, because the line about the stop holds for them too.
		// The line as it was shown, because a new one would name a later time.
		if (!isRefused) this.#note({ lastLine: shownLine ?? this.lineAbout(outcome), lastOutcome: outcome });
		const made: Report = {
			outcome,
			line: isRefused ? undefined : this.#facts.lastLine,
			isInTranscript: shownLine !== undefined,
			isAnswered: isAnswerShown || OUTCOMES[outcome.kind].isPartial,
			// In the terminal the abort has put queued messages back into the editor.
			wasQueued: this.#facts.wasQueued === true && ctx.mode !== "tui",
			attended,
		};
		if (ctx === DISPOSED) onReport?.({ ...made, outcome: publish(outcome) }, ctx, role);
		else report(pi, made, (told) => onReport?.(told, ctx, role), ctx, notices.showsEntries);
	}

	#note(facts: ReportFacts): void {
		this.#facts = { ...this.#facts, ...facts };
	}
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
			const isTold = isRecordShown || OUTCOMES[outcome.kind].endedBy === "itself";
			const notice = isTold ? undefined : noticeOf(outcome, ctx.mode === "rpc");
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
