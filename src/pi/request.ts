/** Requests to the gate: made until they are decided, and what follows when a turn is refused. */
import { decide } from "../core/breaker.ts";
import { pauseBeforeRefusal, refusalsInARow } from "../core/run.ts";
import type { Decision, Request } from "../core/alphabet.ts";
import { commit, perform } from "./effects.ts";
import type { Context } from "./host.ts";
import { pause } from "./pause.ts";
import type { Session } from "./session.ts";
import { chargeTime, watchTime } from "./time.ts";

/** Refusals in a row after which a script ends. */
const REFUSALS_TO_GIVE_UP = 3;

/** Makes the request until it is decided; `gone` if another instance decides from here on. */
export async function decisionAbout(
	session: Session,
	request: Request,
	ctx: Context,
): Promise<Exclude<Decision, "wait"> | "gone"> {
	for (;;) {
		await chargeTime(session, ctx);
		if (session.handover.hasLeft) return "gone";
		if (ctx.signal?.aborted) await session.step({ type: "interrupted" }, ctx);
		const [next, decision, effects] = decide(session.state, request);
		await commit(session, next, effects, ctx);
		if (decision === "admit") watchTime(session, ctx);
		if (decision !== "wait") return decision;
		// The commit above has awaited the ledger, or a question that this request opened.
		if (effects.length > 0) continue;
		// Another request opened it.
		if (session.question === undefined) throw new Error("A request waits, but no question is open.");
		await session.question.reply;
	}
}

/** Stops a run whose turn was not admitted; waits first if such turns come again and again. */
export async function refuseTurn(session: Session, ctx: Context): Promise<void> {
	if (refusalsInARow(session.state) >= REFUSALS_TO_GIVE_UP && !ctx.hasUI) await session.options.giveUp?.(session, ctx);
	await pause(pauseBeforeRefusal(session.state), [ctx.signal, session.endSignal]);
	await perform(session, { type: "abort" }, ctx);
}
