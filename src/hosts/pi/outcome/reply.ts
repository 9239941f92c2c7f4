/** Replies of the model. We change the one that pi makes up after a stop, and a member's partial answer. */
import { isLastTurn } from "../../../core/gate.ts";
import { OUTCOMES } from "../../../core/outcome.ts";
import { outcomeBy } from "../../../core/run.ts";
import type { State } from "../../../core/state.ts";
import { type Assistant, type Context, finalTextIn, NOT_REQUESTED, withNote } from "../host/api.ts";
import type { Role } from "../lifecycle/root-or-member.ts";
import type { Reports } from "./report.ts";
import { limitNote, partialNote } from "./sentences.ts";

/** The surroundings of a session's replies. */
interface ReplyParts {
	readonly driver: { readonly state: State };
	readonly reports: Reports;
	readonly role: Pick<Role, "isMember">;
	/** The setting: a member's partial answer says that it is one. */
	readonly isNoteWanted: () => boolean;
}

export class Replies {
	readonly #parts: ReplyParts;

	constructor(parts: ReplyParts) {
		this.#parts = parts;
	}

	/** The message that replaces a reply, if one has to. `isRefused`: pi made it up in the place of a turn that was refused. */
	replacementOf(message: Assistant, isRefused: boolean, ctx: Context): Assistant | undefined {
		const text = finalTextIn(message);
		if (text !== undefined) {
			this.#parts.reports.answered(text);
			const { note } = this;
			return note === undefined ? undefined : withNote(message, note);
		}
		const changed = this.#refused(message, ctx) ?? this.#unanswered(message);
		// A session that is resumed counts the replies that were requested.
		return isRefused ? { ...(changed ?? message), rawStopReason: NOT_REQUESTED } : changed;
	}

	/** The answer, with the note if it is due. */
	noted(text: string): string {
		const { note } = this;
		return note === undefined ? text : `${text.trimEnd()}\n\n${note}`;
	}

	/** The line at the end of a member's answer that may be partial. */
	get note(): string | undefined {
		const { driver, role, isNoteWanted } = this.#parts;
		const { phase } = driver.state;
		if (!role.isMember || !isNoteWanted() || phase.name === "idle") return undefined;
		const tripped = phase.name === "finishing" ? phase.trip.meter : phase.run.advised;
		const stopped = phase.name === "stopped" && "meter" in phase.verdict ? phase.verdict.meter : undefined;
		const meter = tripped ?? stopped;
		if (meter === undefined) return undefined;
		return partialNote(meter);
	}

	/**
	 * The message that ends a run which we stopped, with our reason in place of pi's; undefined if we did not stop it.
	 * In a script or a member it repeats the model's last answer, because only the last message is read.
	 */
	#refused(message: Assistant, ctx: Context): Assistant | undefined {
		const { driver, reports, role } = this.#parts;
		const { phase } = driver.state;
		if (phase.name !== "stopped" || OUTCOMES[phase.verdict.kind].endedBy === "abort") return undefined;
		if (reports.answer !== undefined && (role.isMember || ctx.mode === "print"))
			return this.#sayAgain(message, reports.answer);
		const isFirst = phase.run.refusedSinceStop === undefined;
		return this.#withReason(
			message,
			isFirst ? reports.lineAbout(outcomeBy(phase.run, phase.verdict)) : reports.lastLine,
		);
	}

	/**
	 * A member's reply if it ends the final pass, or the request of it, without an answer: as it is, its reader would take
	 * it for a success, or not learn of the limit.
	 */
	#unanswered(message: Assistant): Assistant | undefined {
		const { driver, reports, role } = this.#parts;
		const { phase } = driver.state;
		if (!role.isMember || phase.name !== "finishing") return undefined;
		if (message.stopReason === "error") {
			// Pi decides by the provider's text whether it repeats the request.
			const reason = message.errorMessage ?? "The request failed.";
			return { ...message, errorMessage: `${reason} ${limitNote(phase.trip.meter)}` };
		}
		if (!isLastTurn(phase) || message.content.some(({ type }) => type === "toolCall")) return undefined;
		if (reports.answer !== undefined) return this.#sayAgain(message, reports.answer);
		return this.#withReason(message, reports.lineAbout(outcomeBy(phase.run, { kind: "exhausted", ...phase.trip })));
	}

	/** Readers of a subagent's result know success and failure only, and take an aborted one for a success. */
	#withReason(message: Assistant, line: string | undefined): Assistant | undefined {
		if (line === undefined) return undefined;
		const { reports, role } = this.#parts;
		reports.lineShown(line);
		return { ...message, stopReason: role.isMember ? "error" : "aborted", errorMessage: line };
	}

	#sayAgain(message: Assistant, text: string): Assistant {
		this.#parts.reports.answerShown();
		const again: Assistant = { ...message, stopReason: "stop", content: [{ type: "text", text: this.noted(text) }] };
		delete again.errorMessage;
		return again;
	}
}
