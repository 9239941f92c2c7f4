/** Pi's events, translated: a method per event. */
import type { TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { LOST_TURN } from "../../../core/outcome.ts";
import { isClosed, isRetrying } from "../../../core/state.ts";
import { NEW_RUN, refusal, RELOADED } from "../../../core/to-model.ts";
import { readGrace } from "../../../settings/supplied.ts";
import { chargeOfUsage } from "../host/usage.ts";
import {
	type Assistant,
	type Context,
	DISPOSED,
	finalTextIn,
	expectsTurn,
	isFinalPassLast,
	isInSight,
	isRefusal,
	orDisposed,
	type Pi,
} from "../host/api.ts";
import { withCompletions } from "../command/tab.ts";
import { release } from "../lifecycle/guard.ts";
import type { Handover } from "../lifecycle/handover.ts";
import type { SessionRole } from "../lifecycle/root-or-member.ts";
import type { SessionOptions } from "../options.ts";
import type { Announcement } from "../settings/agent-tree.ts";
import type { LimitsInForce } from "../settings/limits-in-force.ts";
import type { SessionSettings } from "../settings/session-settings.ts";
import type { Notices } from "../ui/notices.ts";
import type { PersonalOdds } from "../ui/odds.ts";
import type { Replies } from "../outcome/reply.ts";
import type { Reports } from "../outcome/report.ts";
import { tryRegisterRenderers, prepareEntries } from "../outcome/transcript.ts";
import { pauseBeforeRefusal, refusalsInARow } from "../../../core/run.ts";
import type { Driver } from "../../../loop/driver.ts";
import { pause } from "../../../loop/wait.ts";
import type { Outbox } from "./outbox.ts";
import type { Prompts } from "./prompts.ts";
import type { Reload } from "./reload.ts";
import type { Handlers } from "./subscription.ts";
import type { Turn } from "./turn.ts";
import type { TurnEvents } from "./turn-events.ts";

/** Refusals in a row after which a script ends. */
const REFUSALS_TO_GIVE_UP = 3;

/** The parts of a session that events of pi reach. */
interface HandlerParts {
	readonly pi: Parameters<typeof tryRegisterRenderers>[0] & Pick<Pi, "appendEntry">;
	readonly driver: Driver<Context>;
	readonly role: SessionRole;
	readonly settings: SessionSettings;
	readonly limits: LimitsInForce;
	readonly announcement: Announcement;
	readonly notices: Notices;
	readonly odds: PersonalOdds;
	readonly prompts: Prompts;
	readonly outbox: Outbox;
	readonly turn: Turn;
	readonly turnEvents: TurnEvents;
	readonly replies: Replies;
	readonly reports: Reports;
	readonly reload: Reload;
	readonly handover: Pick<Handover<object>, "forward">;
	readonly options: Pick<SessionOptions, "grace" | "giveUp">;
}

export function handlersOf(parts: HandlerParts): Handlers {
	const { pi, driver, role, settings, limits, announcement, notices, odds, prompts, outbox } = parts;
	const { turn, turnEvents, replies, reports, reload, handover } = parts;
	const { grace, giveUp } = parts.options;
	const showsEntries = tryRegisterRenderers(pi);

	return {
		async session_start(_event, ctx) {
			if (role.hasEnded) turnEvents.guardEnd();
			prompts.watch(ctx, () => driver.state.phase.name === "asking");
			if (ctx.mode !== "tui") return;
			ctx.ui.addAutocompleteProvider(withCompletions);
			if (showsEntries) notices.entriesShown();
			await prepareEntries(ctx);
		},

		async session_tree({ summaryEntry }, ctx) {
			await driver.charge(chargeOfUsage(summaryEntry?.usage), ctx);
			reports.forgetLastRun();
			const problems = settings.recall(ctx);
			await limits.apply(ctx);
			if (notices.isShowing) notices.showIdle(driver.state, ctx);
			notices.warnOnce(problems.join("\n"), ctx);
		},

		async session_shutdown({ reason }, ctx) {
			prompts.stopWatching();
			await driver.chargeTime(ctx);
			if (reason === "reload") reload.leave(ctx);
			else await shutDown(ctx);
		},

		model_select({ model }, ctx) {
			limits.warnOfUnknownAmounts(model, ctx);
		},

		input(event, ctx) {
			// A message into a running run, or while a prompt is still starting, says nothing about the next run.
			if (event.streamingBehavior !== undefined) return undefined;
			const isWaking = event.source === "extension" && !prompts.isPersonWaiting;
			if (isWaking && ctx.hasUI && driver.refusesNextRun()) return { action: "handled" };
			prompts.heard(event);
			return undefined;
		},

		async before_agent_start(event, ctx) {
			if (prompts.takePrompt(event)) await driver.step({ type: "prompted" }, ctx);
		},

		async turn_start(_event, ctx) {
			// Pi reports a turn once more after the end of a session has aborted its run.
			if (role.hasEnded && ctx.signal?.aborted) return ctx.abort();
			beginTurn();
			let isFirst = false;
			if (driver.state.phase.name === "idle") {
				isFirst = true;
				if (prompts.takeSlashCommand()) await driver.step({ type: "prompted" }, ctx);
				if (driver.state.phase.prompted) reports.forgetAnswer();
				await beforeRun(ctx);
				driver.beginRun();
			}
			const requested = await gateTurn(ctx, isFirst);
			await driver.charge(prompts.takeOwed(), ctx);
			return requested;
		},

		context(_event, ctx) {
			// Pi can dispose of a session while it reloads, and then tells the next instance of no turn.
			if (!turn.takeRequest()) ctx.abort();
		},

		message_start(event, ctx) {
			driver.resumeClock();
			const { role } = event.message;
			return role === "user" || role === "custom" ? entered(ctx) : undefined;
		},

		message_update({ assistantMessageEvent: part }) {
			if (part.type !== "text_end" || !turn.takeNote()) return;
			// Pi lets us add no part to the stream, and those who collect a member's answer from it read only these.
			const delta = replies.noted("");
			if (delta !== "") Object.assign(part, { type: "text_delta", delta });
		},

		message_end({ message }, ctx) {
			if (message.role === "assistant") return ended(message, ctx);
			if (message.role !== "toolResult" || !message.usage) return undefined;
			return driver.chargeCall(chargeOfUsage(message.usage), ctx);
		},

		async tool_call({ toolName, input, toolCallId }, ctx) {
			driver.resumeClock();
			const call = { tool: toolName, input, id: toolCallId };
			const decision = await driver.request({ type: "tool_call_requested", call }, ctx);
			if (decision === "admit") return undefined;
			// The tools of a reloaded pi are gone with it: the next instance could only let a dead call through.
			if (decision === "left") return { block: true, reason: RELOADED };
			turn.callRefused();
			return { block: true, reason: refusal(driver.state) };
		},

		tool_execution_end({ toolCallId, result, isError }) {
			driver.resumeClock();
			driver.callEnded(toolCallId, isError);
			turn.callEnded(toolCallId, result);
		},

		async turn_end(event, ctx): Promise<TurnEndEventResult | undefined> {
			const { message, toolResults } = event;
			if (message.role !== "assistant" || message.stopReason === "error" || ctx.signal?.aborted) return undefined;
			if (grace) await driver.step({ type: "grace_set", grace: notices.use(readGrace(grace), ctx) }, ctx);
			const isGoingOn = expectsTurn(event, turn.terminated);
			const concluded = finalTextIn(message) !== undefined;
			await driver.step({ type: "turn_ended", goesOn: isGoingOn, concluded }, ctx);
			// A tool can hide that a call it made was refused.
			const isHidden = turn.hasRefusedCall && !toolResults.some(isRefusal);
			if (isHidden && isGoingOn) await driver.step({ type: "message_lost" }, ctx);
			const entries = outbox.takeEntries(isGoingOn && !isClosed(driver.state));
			return { entries: [...event.entries, ...entries], ...(turn.mustGoOn ? { continue: true } : {}) };
		},

		async agent_end(_event, ctx) {
			if (ctx.signal?.aborted) await driver.step({ type: "interrupted" }, ctx);
		},

		async agent_before_settle(_event, ctx) {
			// Pi has given up repeating: if another extension makes it go on from here, that is a turn of its own.
			if (!isRetrying(driver.state)) await driver.step({ type: "message_entered" }, ctx);
		},

		session_before_compact({ reason }) {
			return reason !== "manual" && isClosed(driver.state) ? { cancel: true } : undefined;
		},

		async session_compact(event, ctx) {
			const amounts = chargeOfUsage(event.compactionEntry.usage);
			const isStarting = prompts.isPersonWaiting && driver.state.phase.name === "idle";
			if (isStarting && event.reason !== "manual") prompts.owe(amounts);
			else await driver.charge(amounts, ctx);
			// A truncated answer was no failure until now; pi has taken it back and repeats the turn.
			if (event.willRetry) await driver.step({ type: "turn_failed", message: event.reason }, ctx);
			if (!isInSight(event, ctx)) await driver.step({ type: "message_lost" }, ctx);
		},

		cache_warming_decision() {
			return isClosed(driver.state) ? { action: "stop" } : undefined;
		},

		async agent_settled(_event, given) {
			const ctx = orDisposed(given);
			await driver.settle(ctx, ctx === DISPOSED || !turn.isOver);
			if (driver.state.phase.name === "idle" && driver.state.phase.refusedSinceStop !== undefined)
				prompts.forgetSlashCommand();
		},

		ui_prompt_start() {
			driver.pauseClock();
		},

		ui_prompt_end() {
			driver.resumeClock();
		},
	};

	/** Before the first turn of a run. Looks again for a person, because a program may bind its UI late. */
	async function beforeRun(ctx: Context) {
		announcement.runBegins(driver.state);
		const attended = role.isAttended(ctx);
		if (attended) void odds.prepare();
		await limits.attend(attended, ctx);
	}

	function beginTurn() {
		turnEvents.stop();
		turn.begin();
	}

	async function gateTurn(ctx: Context, isFirst = false) {
		const decision = await driver.request({ type: "turn_requested" }, ctx);
		if (decision === "left") return await handover.forward("turn_start", undefined);
		if (decision !== "admit") {
			turn.refused();
			return await refuseTurn(ctx);
		}
		turn.admitted(isRetrying(driver.state));
		if (isFirst && isFinalPassLast(ctx)) outbox.post(NEW_RUN);
		outbox.inject();
		// Those who collect a member's answer from its stream read only what we add there.
		if (!role.ownsProcess && replies.note !== undefined) turnEvents.awaitWords();
		return undefined;
	}

	/** Stops a run whose turn was not admitted; waits first if such turns come again and again. */
	async function refuseTurn(ctx: Context) {
		if (refusalsInARow(driver.state) >= REFUSALS_TO_GIVE_UP && !ctx.hasUI) await endProcess(ctx);
		await pause(pauseBeforeRefusal(driver.state), [ctx.signal, driver.endSignal]);
		// A reload ended the pause.
		if (driver.hasLeft) return await handover.forward("turn_start", undefined);
		driver.abort(ctx);
		return undefined;
	}

	/** Ends the process, if that is ours to do: refused runs come again and again. */
	async function endProcess(ctx: Context) {
		if (giveUp === undefined || !role.ownsProcess) return;
		const { answer } = reports;
		const last = answer === undefined ? undefined : replies.noted(answer);
		await driver.shutDown(ctx);
		giveUp(last, role.hasEnded, ctx, role);
	}

	/** The session stays on guard until its context is dead: another extension can begin a run while pi ends it. */
	async function shutDown(ctx: Context) {
		const { isUnanswered } = turn;
		await driver.shutDown(ctx);
		if (isUnanswered) pi.appendEntry(LOST_TURN);
		beginTurn();
		turnEvents.guardEnd();
		release(ctx.sessionManager);
		role.end();
	}

	async function entered(ctx: Context) {
		const isRetry = isRetrying(driver.state);
		if (isRetry && turn.hasReply) return;
		await driver.step({ type: "message_entered" }, ctx);
		// Pi starts a turn before the messages that the turn is about.
		if (isRetry) await gateTurn(ctx);
	}

	async function ended(message: Assistant, ctx: Context) {
		limits.warnOfMissingAmounts(message, ctx);
		await driver.charge(chargeOfUsage(message.usage), ctx, message.stopReason !== "error");
		turn.replied(message);
		const { stopReason, errorMessage } = message;
		if (stopReason === "aborted") await driver.step({ type: "interrupted" }, ctx);
		else if (stopReason === "error")
			await driver.step({ type: "turn_failed", message: errorMessage ?? stopReason }, ctx);
		else turnEvents.awaitEnd(driver.state);
		const replacement = replies.replacementOf(message, turn.isRefused, ctx);
		return replacement && { message: replacement };
	}
}
