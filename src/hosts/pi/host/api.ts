/** The part of pi that we use. */
import type {
	AgentBeforeSettleEvent,
	AgentEndEvent,
	AgentSettledEvent,
	BeforeAgentStartEvent,
	CacheWarmingDecisionEvent,
	ContextEvent,
	ExtensionAPI,
	ExtensionContext,
	InputEvent,
	MessageEndEvent,
	MessageStartEvent,
	MessageUpdateEvent,
	ModelSelectEvent,
	SessionBeforeCompactEvent,
	SessionCompactEvent,
	SessionEntry,
	SessionShutdownEvent,
	SessionStartEvent,
	SessionTreeEvent,
	ToolCallEvent,
	ToolExecutionEndEvent,
	TurnEndEvent,
	TurnStartEvent,
	UIPromptEndEvent,
	UIPromptStartEvent,
} from "@earendil-works/pi-coding-agent";
import { PREFIX } from "../../../core/outcome.ts";
import { isOfFinalPass, NOT_RUN } from "../../../core/to-model.ts";

export type Pi = Pick<
	ExtensionAPI,
	| "on"
	| "events"
	| "appendEntry"
	| "registerCommand"
	| "registerFlag"
	| "registerEntryRenderer"
	| "registerMessageRenderer"
	| "getFlag"
	| "getCommands"
	| "getAllTools"
>;

export type Context = Pick<
	ExtensionContext,
	| "ui"
	| "mode"
	| "hasUI"
	| "cwd"
	| "model"
	| "sessionManager"
	| "signal"
	| "abort"
	| "hasPendingMessages"
	| "isProjectTrusted"
>;

/** The events that we subscribe to. */
export interface Events {
	session_start: SessionStartEvent;
	session_tree: SessionTreeEvent;
	session_shutdown: SessionShutdownEvent;
	model_select: ModelSelectEvent;
	input: InputEvent;
	before_agent_start: BeforeAgentStartEvent;
	turn_start: TurnStartEvent;
	message_start: MessageStartEvent;
	message_update: MessageUpdateEvent;
	message_end: MessageEndEvent;
	tool_call: ToolCallEvent;
	tool_execution_end: ToolExecutionEndEvent;
	context: ContextEvent;
	turn_end: TurnEndEvent;
	agent_end: AgentEndEvent;
	agent_before_settle: AgentBeforeSettleEvent;
	session_before_compact: SessionBeforeCompactEvent;
	session_compact: SessionCompactEvent;
	cache_warming_decision: CacheWarmingDecisionEvent;
	agent_settled: AgentSettledEvent;
	ui_prompt_start: UIPromptStartEvent;
	ui_prompt_end: UIPromptEndEvent;
}

type Message = MessageEndEvent["message"];
export type Assistant = Extract<Message, { role: "assistant" }>;
type ToolResult = TurnEndEvent["toolResults"][number];

/** The name of our command, widget, status, messages and entries. */
export const NAME = "turn-limit";

/** Our command, as people type it. */
export const COMMAND = `/${NAME}`;

/** The type of a message that holds what the person has said at the question. */
export const GUIDANCE = "turn-limit-guidance";

/** The raw stop reason of a reply that pi makes up in the place of a turn that the gate refused. */
export const NOT_REQUESTED = `${PREFIX} not requested`;

/** A message that the model sees as a message of the user, and the person in the transcript. */
export function messageOf(content: string, customType: string) {
	return { customType, content, display: true };
}

/** Stands for the context of a session that was disposed of: there is nothing left to show or to stop. */
export const DISPOSED = {
	hasUI: false,
	mode: "print",
	signal: undefined,
	abort: () => {},
	hasPendingMessages: () => false,
} as unknown as Context;

/** The context, if it still works: after `dispose()` in mid-run pi fires one more event whose context only throws. */
export function orDisposed(ctx: Context): Context {
	try {
		// A pi that is too old has no such method, and is told so.
		(ctx as Partial<Context>).isProjectTrusted?.();
		return ctx;
	} catch {
		return DISPOSED;
	}
}

/** True if pi will request another turn after this one, as far as its messages show; the gate at the turn's start sees the rest. */
export function expectsTurn(event: TurnEndEvent, terminated: readonly string[]): boolean {
	const { toolResults, context } = event;
	const hasResults = toolResults.some(({ toolCallId }) => !terminated.includes(toolCallId));
	return hasResults || context.pendingMessages.length > 0 || event.continue;
}

/** The text of a complete answer: not of one with tool calls, without text, or cut off at the maximal length. */
export function finalTextIn({ stopReason, content }: Assistant): string | undefined {
	const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
	const isAnswer = stopReason === "stop" && text.trim() !== "" && !content.some(({ type }) => type === "toolCall");
	return isAnswer ? text : undefined;
}

/** The message with a line added to its first text, because pi's example subagent reads only that part. */
export function withNote(message: Assistant, note: string): Assistant {
	const first = message.content.findIndex(({ type }) => type === "text");
	const content = message.content.map((part, i) =>
		i === first && part.type === "text" ? { ...part, text: `${part.text.trimEnd()}\n\n${note}` } : part,
	);
	return { ...message, content };
}

/** True if the compaction kept a message of ours, or the result of a call that we refused. */
export function isInSight({ compactionEntry }: SessionCompactEvent, { sessionManager }: Context): boolean {
	const branch = sessionManager.getBranch();
	const kept = branch.findIndex(({ id }) => id === compactionEntry.firstKeptEntryId);
	return kept >= 0 && branch.slice(kept).some(isOurs);
}

/** True if our last words to the model, in a final pass that is over, said that tool calls are refused. */
export function isFinalPassLast({ sessionManager }: Context): boolean {
	return isOfFinalPass(JSON.stringify(sessionManager.getBranch().findLast(isOurs) ?? ""));
}

function isOurs(entry: SessionEntry): boolean {
	if (entry.type === "custom_message") return entry.customType === NAME;
	return entry.type === "message" && entry.message.role === "toolResult" && isRefusal(entry.message);
}

/** True if the model sees in this result that we refused the call. */
export function isRefusal({ content }: ToolResult): boolean {
	return content.some((part) => part.type === "text" && part.text.startsWith(NOT_RUN));
}

/**
 * True since pi 0.87.0, where a message of ours can reach the model with its next request. `buildSessionProjection` came
 * with that release; nothing else distinguishes it from 0.86.
 */
export function isSupported({ sessionManager }: Context): boolean {
	return typeof (sessionManager as Partial<Context["sessionManager"]>).buildSessionProjection === "function";
}

/** True if the session has an extension that is built into pi's command line. Pi 0.87 has one, which it calls an inline one. */
export function hasBuiltIn(pi: Pick<Pi, "getCommands">): boolean {
	return pi
		.getCommands()
		.some(({ sourceInfo: { source, path } }) => source === "builtin" || path === "<inline:llama.cpp>");
}
