/** Pi's events, translated: a method per event. */
import type { TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { isClosed, isRetrying } from "../../../core/state.ts";
import { refusal, RELOADED } from "../../../core/to-model.ts";
import { readGrace } from "../../../settings/supplied.ts";
import { chargeOf } from "../host/usage.ts";
import {
	type Assistant,
	type Context,
	DISPOSED,
	type Events,
	finalTextIn,
	goesOn,
	isInSight,
	isRefusal,
	orDisposed,
} from "../host/api.ts";
import { apply, warnOfUnknownAmounts } from "../settings/apply.ts";
import { noted, noteOn, replied } from "../outcome/reply.ts";
import { pauseBeforeRefusal, refusalsInARow } from "../../../core/run.ts";
import { pause } from "../../../loop/wait.ts";
import type { Session } from "../session.ts";
import { canShowEntries, prepareEntries } from "../outcome/transcript.ts";

/** Refusals in a row after which a script ends. */
const REFUSALS_TO_GIVE_UP = 3;

type Handlers = { [E in keyof Events]: (event: Events[E], ctx: Context) => unknown };

export function handlersOf(session: Session): Handlers {
	const { starting, driver } = session;
	const showsEntries = canShowEntries(session.pi);

	return {
		async session_start(_event, ctx) {
			starting.watch(ctx, () => session.state.phase.name === "asking");
			if (ctx.mode !== "tui") return;
			session.display.showsEntries = showsEntries;
			await prepareEntries(ctx);
		},

		async session_tree({ summaryEntry }, ctx) {
			await driver.charge(chargeOf(summaryEntry?.usage), ctx);
			session.telling.lastOutcome = undefined;
			const problems = session.settings.recall(ctx);
			await apply(session, ctx);
			if (session.display.isShowing) session.display.showIdle(session.state, ctx);
			session.display.warnOnce(problems.join("\n"), ctx);
		},

		async session_shutdown({ reason }, ctx) {
			starting.stop();
			await driver.chargeTime(ctx);
			if (reason === "reload") session.leave(ctx);
			else await session.shutDown(ctx);
		},

		model_select({ model }, ctx) {
			warnOfUnknownAmounts(session, model, ctx);
		},

		input(event, ctx) {
			// A message into a running run, or while a prompt is still starting, says nothing about the next run.
			if (event.streamingBehavior !== undefined) return undefined;
			const isWaking = event.source === "extension" && !starting.prompt.isPersons;
			if (isWaking && ctx.hasUI && driver.refusesNextRun()) return { action: "handled" };
			starting.heard(event);
			return undefined;
		},

		async before_agent_start(event, ctx) {
			if (starting.takePrompt(event)) await session.step({ type: "prompted" }, ctx);
		},

		async turn_start(_event, ctx) {
			if (session.isAfterEnd(ctx)) return ctx.abort();
			session.newTurn();
			if (session.state.phase.name === "idle") {
				if (starting.takeSlashCommand()) await session.step({ type: "prompted" }, ctx);
				if (session.state.phase.prompted) session.telling.answer = undefined;
				await session.beforeRun(ctx);
				driver.beginRun();
			}
			const requested = await gateTurn(ctx);
			await driver.charge(starting.takeOwed(), ctx);
			return requested;
		},

		message_start(event, ctx) {
			driver.resumeClock();
			const { role } = event.message;
			return role === "user" || role === "custom" ? entered(ctx) : undefined;
		},

		message_update({ assistantMessageEvent: part }) {
			if (part.type !== "text_end" || session.turn.isNoted) return;
			session.turn.isNoted = true;
			// Pi lets us add no part to the stream, and those who collect a member's answer from it read only these.
			const delta = noted(session, "");
			if (delta !== "") Object.assign(part, { type: "text_delta", delta });
		},

		message_end({ message }, ctx) {
			if (message.role === "assistant") return ended(message, ctx);
			return message.role === "toolResult" && message.usage ? driver.charge(chargeOf(message.usage), ctx) : undefined;
		},

		async tool_call({ toolName, input }, ctx) {
			driver.resumeClock();
			const decision = await driver.request({ type: "tool_call_requested", call: { tool: toolName, input } }, ctx);
			if (decision === "admit") return undefined;
			// The tools of a reloaded pi are gone with it: the next instance could only let a dead call through.
			if (decision === "left") return { block: true, reason: RELOADED };
			session.turn.hasRefusedCall = true;
			return { block: true, reason: refusal(session.state) };
		},

		tool_execution_end({ toolCallId, result }) {
			driver.resumeClock();
			session.turn.callEnded(toolCallId, result);
		},

		async turn_end(event, ctx): Promise<TurnEndEventResult | undefined> {
			const { message, toolResults } = event;
			if (message.role !== "assistant" || message.stopReason === "error" || ctx.signal?.aborted) return undefined;
			const { grace } = session.options;
			if (grace) await session.step({ type: "grace_set", grace: session.display.use(readGrace(grace), ctx) }, ctx);
			const isGoingOn = goesOn(event, session.turn.terminated);
			const concluded = finalTextIn(message) !== undefined;
			await session.step({ type: "turn_ended", goesOn: isGoingOn, concluded }, ctx);
			// A tool can keep to itself that a call which it made was refused.
			const isHidden = session.turn.hasRefusedCall && !toolResults.some(isRefusal);
			if (isHidden && isGoingOn) await session.step({ type: "message_lost" }, ctx);
			const { mustGoOn } = session.turn;
			const entries = session.delivery.takeEntries(isGoingOn && !isClosed(session.state));
			return { entries: [...event.entries, ...entries], ...(mustGoOn ? { continue: true } : {}) };
		},

		async agent_end(_event, ctx) {
			if (ctx.signal?.aborted) await session.step({ type: "interrupted" }, ctx);
		},

		async agent_before_settle(_event, ctx) {
			// Pi has given up repeating: if another extension makes it go on from here, that is a turn of its own.
			if (!isRetrying(session.state)) await session.step({ type: "message_entered" }, ctx);
		},

		session_before_compact({ reason }) {
			return reason !== "manual" && isClosed(session.state) ? { cancel: true } : undefined;
		},

		async session_compact(event, ctx) {
			const amounts = chargeOf(event.compactionEntry.usage);
			const isStarting = starting.prompt.isPersons && session.state.phase.name === "idle";
			if (isStarting && event.reason !== "manual") starting.owe(amounts);
			else await driver.charge(amounts, ctx);
			// A truncated answer was no failure until now; pi has taken it back and repeats the turn.
			if (event.willRetry) await session.step({ type: "turn_failed", message: event.reason }, ctx);
			if (!isInSight(event, ctx)) await session.step({ type: "message_lost" }, ctx);
		},

		cache_warming_decision() {
			return isClosed(session.state) ? { action: "stop" } : undefined;
		},

		async agent_settled(_event, settled) {
			const ctx = orDisposed(settled);
			await driver.settle(ctx, ctx === DISPOSED || !session.turn.isOver);
			if (session.state.phase.name === "idle" && session.state.phase.refusedSinceStop !== undefined)
				starting.forgetSlashCommand();
		},

		ui_prompt_start() {
			driver.pauseClock();
		},

		ui_prompt_end() {
			driver.resumeClock();
		},
	};

	async function gateTurn(ctx: Context) {
		const decision = await driver.request({ type: "turn_requested" }, ctx);
		if (decision === "left") return await session.handover.forward("turn_start", undefined);
		if (decision !== "admit") {
			session.turn.isRefused = true;
			return await refuseTurn(ctx);
		}
		session.turn.isNew = !isRetrying(session.state);
		session.delivery.inject();
		if (!session.role.ownsProcess && noteOn(session) !== undefined) session.listenTo("message_update");
		return undefined;
	}

	/** Stops a run whose turn was not admitted; waits first if such turns come again and again. */
	async function refuseTurn(ctx: Context) {
		const { state, options } = session;
		if (refusalsInARow(state) >= REFUSALS_TO_GIVE_UP && !ctx.hasUI) await options.giveUp?.(session, ctx);
		await pause(pauseBeforeRefusal(session.state), [ctx.signal, driver.endSignal]);
		// A reload ended the pause.
		if (driver.hasLeft) return await session.handover.forward("turn_start", undefined);
		driver.abort(ctx);
		return undefined;
	}

	async function entered(ctx: Context) {
		const isRetry = isRetrying(session.state);
		if (isRetry && session.turn.hasReply) return;
		await session.step({ type: "message_entered" }, ctx);
		// Pi starts a turn before the messages that the turn is about.
		if (isRetry) await gateTurn(ctx);
	}

	async function ended(message: Assistant, ctx: Context) {
		await driver.charge(chargeOf(message.usage), ctx, message.stopReason !== "error");
		return await replied(session, message, ctx);
	}
}
