/** Replies of the model that we change: the one that pi makes up after a stop, and a member's partial answer. */
import { kindOf } from "../core/meters.ts";
import type { Outcome } from "../core/outcome.ts";
import { lineOf } from "./effects.ts";
import { type Assistant, type Context, withNote } from "./host.ts";
import type { Session } from "./session.ts";

/**
 * The message that was never requested, with our reason in place of pi's; undefined if we did not stop the run.
 * Whoever reads a script's or a member's last message finds the answer there if the model has given one.
 */
export function refusedMessage(session: Session, message: Assistant, ctx: Context): Assistant | undefined {
	const { phase } = session.state;
	if (phase.name !== "stopped" || phase.verdict.kind === "interrupted") return undefined;
	const { isMember } = session.role;
	if (session.finalText !== undefined && (isMember || ctx.mode === "print"))
		return sayAgain(session, message, session.finalText);
	const outcome = { ...phase.run.spent, advised: phase.run.advised !== undefined, ...phase.verdict } as Outcome;
	const line = phase.run.woken === undefined ? lineOf(session, outcome) : session.lastLine;
	if (line === undefined) return undefined;
	session.isReasonShown = true;
	// Readers of a subagent's result know success and failure only, and take an aborted one for a success.
	return { ...message, stopReason: isMember ? "error" : "aborted", errorMessage: line };
}

function sayAgain(session: Session, message: Assistant, text: string): Assistant {
	const again: Assistant = { ...message, stopReason: "stop", content: [{ type: "text", text }] };
	delete again.errorMessage;
	const note = noteOn(session);
	return note === undefined ? again : withNote(again, note);
}

/** The line at the end of a member's answer that may be partial. */
export function noteOn({ state: { phase }, role, settings }: Session): string | undefined {
	if (!role.isMember || !settings.current.partialNote.value || phase.name === "idle") return undefined;
	const tripped = phase.name === "finishing" ? phase.trip.meter : phase.run.advised;
	const stopped = phase.name === "stopped" && "meter" in phase.verdict ? phase.verdict.meter : undefined;
	const meter = tripped ?? stopped;
	if (meter === undefined) return undefined;
	return `[pi-turn-limit: this answer may be partial; the subagent came to its limit of ${kindOf(meter).many}.]`;
}
