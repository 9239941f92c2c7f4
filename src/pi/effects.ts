/** Carries out the core's effects. */
import type { Effect } from "../core/alphabet.ts";
import type { State } from "../core/state.ts";
import { finalPass, pointOut, RESUMED, wrapUp } from "../core/to-model.ts";
import { readMessage } from "../settings/supplied.ts";
import { callText, type Tool } from "./call-text.ts";
import { type Context, GUIDANCE, type Pi } from "./host.ts";
import { ask, questionAbout } from "./question.ts";
import type { Session } from "./session.ts";
import { raise, reserve } from "./sharing.ts";
import { tell } from "./telling.ts";

/** Commits a state, then carries out the effects, in order. Returns a promise only if there are any. */
export function commit(
	session: Session,
	next: State,
	effects: readonly Effect[],
	ctx: Context,
): Promise<void> | undefined {
	const wasIdle = session.state.phase.name === "idle";
	session.state = next;
	if (effects.length > 0) return performAll(session, effects, ctx).then(() => show(session, wasIdle, ctx));
	show(session, wasIdle, ctx);
	return undefined;
}

async function performAll(session: Session, effects: readonly Effect[], ctx: Context): Promise<void> {
	// An effect can commit further states: an answer does.
	for (const effect of effects) await perform(session, effect, ctx);
}

function show({ state, handover, display }: Session, wasIdle: boolean, ctx: Context): void {
	if (handover.hasLeft || (wasIdle && state.phase.name === "idle")) return;
	display.showRun(state, ctx);
}

export async function perform(session: Session, effect: Effect, ctx: Context): Promise<void> {
	switch (effect.type) {
		case "ask": {
			// The widget is stale if a yes has just reset another meter.
			session.display.showRun(session.state, ctx);
			const question = questionAbout(session.state, effect.meter, (call) => callText(call, toolsOf(session.pi)));
			session.clock.pause();
			const { askTimeout, bell } = session.settings.current;
			session.question = ask(ctx, question, askTimeout.value, bell.value);
			const { answer, guidance } = await session.question.reply;
			if (session.handover.hasLeft) return;
			session.clock.run();
			// A command, or the end of the session, may have answered it.
			if (session.state.phase.name !== "asking") return;
			if (guidance !== undefined) session.delivery.post(guidance, GUIDANCE);
			// The end of the run reports an abort.
			if (!ctx.signal?.aborted) await session.step({ type: "answered", answer }, ctx);
			session.awaitTurnEnd();
			return;
		}
		case "reserve":
			return await reserve(session, ctx);
		case "release":
			return await session.shares?.release();
		case "raise":
			return await raise(session, effect.meter, effect.by);
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
			session.telling.wasQueued ||= ctx.hasPendingMessages();
			session.display.giveBack(session.delivery.discard(), ctx);
			ctx.abort();
			return;
		case "end":
			if (!effect.repeated) tell(session, effect.outcome, ctx);
			session.telling.end();
			return;
	}
}

/** None if pi fails to list them: the question is asked all the same, and says less about a call. */
function toolsOf(pi: Pick<Pi, "getAllTools">): readonly Tool[] {
	try {
		return pi.getAllTools();
	} catch {
		return [];
	}
}

function wrapUpText(session: Session, { meter, remaining }: Extract<Effect, { type: "advise" }>, ctx: Context): string {
	const { settings, options } = session;
	const text = settings.current.wrapUpMessage.value || wrapUp(meter, remaining);
	return options.wrapUpMessage ? session.display.use(readMessage(options.wrapUpMessage, text), ctx) : text;
}
