/** The little of pi that we use. */
import type {
	ExtensionAPI,
	ExtensionContext,
	SessionCompactEvent,
	TurnEndEvent,
} from "@earendil-works/pi-coding-agent";

export type Pi = Pick<ExtensionAPI, "on" | "events" | "appendEntry" | "registerCommand" | "registerFlag" | "getFlag">;

export type Context = Pick<
	ExtensionContext,
	"ui" | "mode" | "hasUI" | "cwd" | "sessionManager" | "signal" | "abort" | "hasPendingMessages" | "isProjectTrusted"
>;

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

/** Did the compaction keep a message of ours? */
export function isInSight({ compactionEntry }: SessionCompactEvent, { sessionManager }: Context): boolean {
	const branch = sessionManager.getBranch();
	const kept = branch.findIndex(({ id }) => id === compactionEntry.firstKeptEntryId);
	return kept >= 0 && branch.slice(kept).some((entry) => entry.type === "custom_message" && entry.customType === NAME);
}

/**
 * Can what we say reach the model with its next request? Since pi 0.87.0; this came with the same release, and
 * nothing else that can be asked for tells it from 0.86.
 */
export function canTellTheModel({ sessionManager }: Context): boolean {
	return typeof (sessionManager as Partial<Context["sessionManager"]>).buildSessionProjection === "function";
}
