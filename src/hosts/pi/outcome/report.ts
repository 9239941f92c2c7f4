/** Reports the end of a run, once per run: event, entry, notification, callback. */
import { isShared, kindOf, type MeterId, scopeOf } from "../../../core/meters.ts";
import {
	brokenText,
	isBroken,
	limitActed,
	line,
	type Outcome,
	PREFIX,
	publish,
	stoppedByLimit,
	type Trip,
} from "../../../core/outcome.ts";
import type { State } from "../../../core/state.ts";
import { type Context, DISPOSED, type Pi } from "../host/api.ts";

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

/** The surroundings of a session's reports. */
export interface ReportParts {
	readonly pi: Pick<Pi, "events" | "appendEntry">;
	/** The place of a meter's limit. */
	readonly sourceOf: (id: MeterId) => string;
	readonly isMember: () => boolean;
	/** The transcript shows the record. */
	readonly isRecordShown: () => boolean;
	readonly onReport: (report: Report, ctx: Context) => void;
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
		const { isMember, sourceOf } = this.#parts;
		const isAboutMember = isMember() && this.#facts.answer === undefined && stoppedByLimit(outcome);
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
		const { pi, isRecordShown, onReport } = this.#parts;
		const { shownLine, isAnswerShown = false } = this.#facts;
		const isRefused = phase.name === "idle" && (phase.refusedSinceStop ?? 0) > 0;
		// Runs that are refused after the stop get no line, because the line about the stop holds for them too.
		// The line that was shown, because a new one would have a later time.
		if (!isRefused) this.#note({ lastLine: shownLine ?? this.lineAbout(outcome), lastOutcome: outcome });
		const made: Report = {
			outcome,
			line: isRefused ? undefined : this.#facts.lastLine,
			isInTranscript: shownLine !== undefined,
			isAnswered: isAnswerShown || outcome.kind === "synthesized" || outcome.kind === "wrapped_up",
			// In the terminal the abort has put queued messages back into the editor.
			wasQueued: this.#facts.wasQueued === true && ctx.mode !== "tui",
			attended,
		};
		if (ctx === DISPOSED) onReport({ ...made, outcome: publish(outcome) }, ctx);
		else report(pi, made, (told) => onReport(told, ctx), ctx, isRecordShown());
	}

	#note(facts: ReportFacts): void {
		this.#facts = { ...this.#facts, ...facts };
	}
}

/** Without a number: subagent extensions take some of them for a provider's failure and start the child again. */
function memberLine({ meter }: Trip): string {
	const { many, title } = kindOf(meter);
	const limit = isShared(meter) ? title.toLowerCase() : `limit of ${many}`;
	return `${PREFIX} the ${limit} stopped this subagent before it gave an answer.`;
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
			const isTold = isRecordShown || outcome.kind === "wrapped_up";
			const notice = isTold ? undefined : noticeOf(outcome, ctx.mode === "rpc" ? BY_USER : undefined);
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

/** Clients of rpc compare this beginning. */
const BY_USER = "Agent aborted by user.";

/** For a person, if a limit ended the run: what stopped it and how to go on. `byUser`: the words for a no. */
export function noticeOf(outcome: Outcome, byUser?: string): string | undefined {
	if (outcome.kind === "wrapped_up") return "Ended after the wrap-up; the answer may be partial.";
	if (!stoppedByLimit(outcome)) return undefined;
	const isOperators = scopeOf(outcome.meter).grantedBy === "operator";
	return `${stopText(outcome, byUser)} ${isOperators ? "An operator of the budget can raise it." : "Send a message to go on."}`;
}

function stopText(outcome: Outcome & Trip, byUser: string | undefined): string {
	const { title } = kindOf(outcome.meter);
	const reached = `${title} reached`;
	switch (outcome.kind) {
		case "declined":
			if (!outcome.answered) return `${reached}; nobody answered.`;
			return byUser ? `${byUser} ${reached}.` : `You stopped the run at the ${title.toLowerCase()}.`;
		case "synthesized":
			return `${reached}; the model gave its final answer.`;
		case "failed":
			return `${reached}; the provider failed in the final pass.`;
		default:
			return outcome.turns === 0 ? `${reached}; a run was refused.` : `${reached}; the run ended without an answer.`;
	}
}
