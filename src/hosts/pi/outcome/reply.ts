/** Replies of the model. We change the one that pi makes up after a stop, and a member's partial answer. */
import { isLastTurn } from "../../../core/gate.ts";
import { isShared, kindOf, type MeterId } from "../../../core/meters.ts";
import { outcomeBy } from "../../../core/run.ts";
import { type Assistant, type Context, finalTextIn, NOT_REQUESTED, withNote } from "../host/api.ts";
import type { Session } from "../session.ts";
import { lineOf } from "./telling.ts";

/** Reports a reply to the core; returns the message that replaces it, if one has to. */
export async function replied(session: Session, message: Assistant, ctx: Context) {
	session.turn.replied(message);
	const { stopReason, errorMessage } = message;
	if (stopReason === "aborted") await session.step({ type: "interrupted" }, ctx);
	else if (stopReason === "error")
		await session.step({ type: "turn_failed", message: errorMessage ?? stopReason }, ctx);
	else {
		session.awaitTurnEnd();
		const text = finalTextIn(message);
		session.telling.answer = text ?? session.telling.answer;
		const note = text === undefined ? undefined : noteOn(session);
		if (note !== undefined) return { message: withNote(message, note) };
		if (text !== undefined) return undefined;
	}
	const changed = refusedMessage(session, message, ctx) ?? unansweredMessage(session, message);
	// A session that is resumed counts the replies that were requested.
	if (session.turn.isRefused) return { message: { ...(changed ?? message), rawStopReason: NOT_REQUESTED } };
	return changed && { message: changed };
}

/**
 * The message that ends a run which we stopped, with our reason in place of pi's; undefined if we did not stop it.
 * In a script or a member it repeats the model's last answer, because only the last message is read.
 */
function refusedMessage(session: Session, message: Assistant, ctx: Context): Assistant | undefined {
	const { phase } = session.state;
	if (phase.name !== "stopped" || phase.verdict.kind === "interrupted") return undefined;
	const { answer, lastLine } = session.telling;
	if (answer !== undefined && (session.role.isMember || ctx.mode === "print"))
		return sayAgain(session, message, answer);
	const line =
		phase.run.refusedSinceStop === undefined ? lineOf(session, outcomeBy(phase.run, phase.verdict)) : lastLine;
	return withReason(session, message, line);
}

/**
 * A member's reply if it ends the final pass, or the request of it, without an answer: as it is, its reader would take
 * it for a success, or not learn of the limit.
 */
function unansweredMessage(session: Session, message: Assistant): Assistant | undefined {
	const { state, role, telling } = session;
	const { phase } = state;
	if (!role.isMember || phase.name !== "finishing") return undefined;
	if (message.stopReason === "error") {
		const limit = `the subagent had come to ${limitText(phase.trip.meter)}`;
		// Pi decides by the provider's text whether it repeats the request.
		return { ...message, errorMessage: `${message.errorMessage ?? "The request failed."} [pi-turn-limit: ${limit}.]` };
	}
	if (!isLastTurn(phase) || message.content.some(({ type }) => type === "toolCall")) return undefined;
	if (telling.answer !== undefined) return sayAgain(session, message, telling.answer);
	const line = lineOf(session, outcomeBy(phase.run, { kind: "exhausted", ...phase.trip }));
	return withReason(session, message, line);
}

/** Readers of a subagent's result know success and failure only, and take an aborted one for a success. */
function withReason(session: Session, message: Assistant, line: string | undefined): Assistant | undefined {
	if (line === undefined) return undefined;
	session.telling.shownLine = line;
	return { ...message, stopReason: session.role.isMember ? "error" : "aborted", errorMessage: line };
}

function sayAgain(session: Session, message: Assistant, text: string): Assistant {
	session.telling.isAnswerShown = true;
	const again: Assistant = { ...message, stopReason: "stop", content: [{ type: "text", text: noted(session, text) }] };
	delete again.errorMessage;
	return again;
}

/** The answer, with the note if it is due. */
export function noted(session: Session, text: string): string {
	const note = noteOn(session);
	return note === undefined ? text : `${text.trimEnd()}\n\n${note}`;
}

/** The line at the end of a member's answer that may be partial. */
export function noteOn({ state: { phase }, role, settings }: Session): string | undefined {
	if (!role.isMember || !settings.current.partialNote.value || phase.name === "idle") return undefined;
	const tripped = phase.name === "finishing" ? phase.trip.meter : phase.run.advised;
	const stopped = phase.name === "stopped" && "meter" in phase.verdict ? phase.verdict.meter : undefined;
	const meter = tripped ?? stopped;
	if (meter === undefined) return undefined;
	return `[pi-turn-limit: this answer may be partial; the subagent came to ${limitText(meter)}.]`;
}

function limitText(id: MeterId): string {
	const { many, title } = kindOf(id);
	return isShared(id) ? `the ${title.toLowerCase()}` : `its limit of ${many}`;
}
