/** The little of pi that we use. */
import type {
	ExtensionAPI,
	ExtensionContext,
	SessionCompactEvent,
	SessionEntry,
	TurnEndEvent,
} from "@earendil-works/pi-coding-agent";
import { NOT_RUN } from "../core/wording.ts";

export type Pi = Pick<ExtensionAPI, "on" | "events" | "appendEntry" | "registerCommand" | "registerFlag" | "getFlag">;

export type Context = Pick<
	ExtensionContext,
	"ui" | "mode" | "hasUI" | "cwd" | "sessionManager" | "signal" | "abort" | "hasPendingMessages" | "isProjectTrusted"
>;

type ToolResult = TurnEndEvent["toolResults"][number];

/** The name of our widget, message, entries and events. */
export const NAME = "turn-limit";

/** Something we tell the model: it sees it as a message of the user, the person sees it in the transcript. */
export function telling(content: string) {
	return { customType: NAME, content, display: true };
}

/** Will pi request another turn after this one? What it cannot tell yet meets the gate at the turn's start. */
export function goesOn(event: TurnEndEvent, terminated: ReadonlySet<string>): boolean {
	const { toolResults, context } = event;
	const hasResults = toolResults.some(({ toolCallId }) => !terminated.has(toolCallId));
	return hasResults || context.pendingMessages.length > 0 || event.continue;
}

/** Did the compaction keep something that we have told the model: a message, or the result of a refused call? */
export function isInSight({ compactionEntry }: SessionCompactEvent, { sessionManager }: Context): boolean {
	const branch = sessionManager.getBranch();
	const kept = branch.findIndex(({ id }) => id === compactionEntry.firstKeptEntryId);
	return kept >= 0 && branch.slice(kept).some(isOurs);
}

function isOurs(entry: SessionEntry): boolean {
	if (entry.type === "custom_message") return entry.customType === NAME;
	return entry.type === "message" && entry.message.role === "toolResult" && isRefusal(entry.message);
}

/** Does the model see in this result that we refused the call? */
export function isRefusal({ content }: ToolResult): boolean {
	return content.some((part) => part.type === "text" && part.text.startsWith(NOT_RUN));
}

/**
 * Can what we say reach the model with its next request? Since pi 0.87.0; this came with the same release, and
 * nothing else that can be asked for tells it from 0.86.
 */
export function canTellTheModel({ sessionManager }: Context): boolean {
	return typeof (sessionManager as Partial<Context["sessionManager"]>).buildSessionProjection === "function";
}
