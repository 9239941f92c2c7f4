/** Carries out the core's effects. */
import { kindOf } from "../core/meters.ts";
import { line, type Outcome, publish, stoppedByLimit, type Trip } from "../core/outcome.ts";
import type { Effect } from "../core/state.ts";
import { finalPass, pointOut, RESUMED, wrapUp } from "../core/to-model.ts";
import { readMessage } from "../settings/supplied.ts";
import { callText, type Tool } from "./call-text.ts";
import { type Context, DISPOSED, GUIDANCE, type Pi } from "./host.ts";
import { ask, questionAbout } from "./question.ts";
import { report, type Report } from "./report.ts";
import type { Session } from "./session.ts";

export async function perform(session: Session, effect: Effect, ctx: Context): Promise<void> {
	switch (effect.type) {
		case "ask": {
			// The yes before it has reset another meter.
			session.display.showRun(session.state, ctx);
			const question = questionAbout(session.state, effect.meter, (call) => callText(call, toolsOf(session.pi)));
			session.clock.pause();
			const { askTimeout, bell } = session.settings.current;
			session.question = ask(ctx, question, askTimeout.value, bell.value);
			const { answer, guidance } = await session.question.reply;
			session.clock.run();
			// A command, or the end of the session, may have answered it.
			if (session.handover.isOver || session.state.phase.name !== "asking") return;
			if (guidance !== undefined) session.delivery.post(guidance, GUIDANCE);
			await session.step(ctx.signal?.aborted ? { type: "interrupted" } : { type: "answered", answer }, ctx);
			session.awaitTurnEnd();
			return;
		}
		case "close_question":
			session.question?.close();
			return;
		case "advise":
			session.delivery.post(wrapUpText(session, effect, ctx));
			return;
		case "point_out":
			session.delivery.post(pointOut(effect.call, effect.times));
			session.awaitTurnEnd();
			return;
		case "synthesize":
			if (session.state.phase.name === "finishing") session.delivery.post(finalPass(session.state.phase.trip));
			return;
		case "resume":
			session.display.giveBack(session.delivery.discard(), ctx);
			session.delivery.post(RESUMED);
			return;
		case "continue":
			session.turn.mustGoOn = true;
			return;
		case "abort":
			session.wasQueued ||= ctx.hasPendingMessages();
			session.display.giveBack(session.delivery.discard(), ctx);
			ctx.abort();
			return;
		case "end":
			if (!effect.repeated) tell(session, effect.outcome, ctx);
			session.shownLine = undefined;
			session.isAnswerShown = false;
			session.wasQueued = false;
			return;
	}
}

/** Without them the question says less about a call, but it is asked. */
function toolsOf(pi: Pick<Pi, "getAllTools">): readonly Tool[] {
	try {
		return pi.getAllTools();
	} catch {
		return [];
	}
}

function tell(session: Session, outcome: Outcome, ctx: Context): void {
	const { shownLine, isAnswerShown, pi, options, role, state, display } = session;
	const isRefused = state.phase.name === "idle" && (state.phase.refused ?? 0) > 0;
	// The line about the stop says it all; runs that are refused after it add nothing.
	if (!isRefused) {
		// Time has passed since the line was shown; it is said once.
		session.lastLine = shownLine ?? lineOf(session, outcome);
		session.lastOutcome = outcome;
	}
	const line = isRefused ? undefined : session.lastLine;
	// In the terminal the abort has put queued messages back into the editor.
	const wasQueued = session.wasQueued && ctx.mode !== "tui";
	const isAnswered = isAnswerShown || outcome.kind === "synthesized" || outcome.kind === "wrapped_up";
	const made = { outcome, line, isInTranscript: shownLine !== undefined, isAnswered, wasQueued };
	const hear = (made: Report): void => options.hear?.(made, ctx, role);
	if (ctx === DISPOSED) hear({ ...made, outcome: publish(outcome) });
	else report(pi, made, hear, ctx, display.showsEntries);
}

/** The line about an outcome, with the place of the limit that acted. */
export function lineOf({ settings, role, finalText }: Session, outcome: Outcome): string | undefined {
	const isAboutMember = role.isMember && finalText === undefined && stoppedByLimit(outcome);
	return isAboutMember ? memberLine(outcome) : line(outcome, (id) => settings.sourceOf(id));
}

/** Without a number: subagent extensions take some of them for a provider's failure and start the child again. */
function memberLine({ meter }: Trip): string {
	return `pi-turn-limit: the limit of ${kindOf(meter).many} stopped this subagent before it gave an answer.`;
}

function wrapUpText(session: Session, { meter, remaining }: Extract<Effect, { type: "advise" }>, ctx: Context): string {
	const { settings, options } = session;
	const text = settings.current.wrapUpMessage.value || wrapUp(meter, remaining);
	return options.wrapUpMessage ? session.display.use(readMessage(options.wrapUpMessage, text), ctx) : text;
}
