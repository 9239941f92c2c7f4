/** How our entries look in the transcript, today and after a resume. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { OUTCOME_ENTRY } from "../../../core/outcome.ts";
import { safe } from "../../../core/text.ts";
import { type Context, GUIDANCE, type Pi } from "../host/api.ts";
import { loadedPiTui, loadPiTui } from "../ui/load-pi-tui.ts";
import { readOutcome } from "./record.ts";
import { isDeliberate, noticeOf } from "./sentences.ts";

/** Registers how our entries look; false if pi lacks what shows them. While pi loads us: later is too late for its next redrawing. */
export function tryRegisterRenderers(pi: Pi): boolean {
	try {
		registerRenderers(pi);
		return true;
	} catch {
		return false;
	}
}

/** Loads what shows the words of a person, if there are any. A dialog of this process has done so, of an earlier one has not. */
export async function prepareEntries({ sessionManager }: Context): Promise<void> {
	if (isGuided(sessionManager.getEntries())) await loadPiTui().catch(() => undefined);
}

/** True if the person has said something at a question. */
export function isGuided(entries: readonly SessionEntry[]): boolean {
	return entries.some((entry) => "customType" in entry && entry.customType === GUIDANCE);
}

function registerRenderers(pi: Pi): void {
	pi.registerEntryRenderer(OUTCOME_ENTRY, ({ data }, _options, theme) => {
		const outcome = readOutcome(data);
		const notice = outcome && noticeOf(outcome);
		if (outcome === undefined || notice === undefined) return undefined;
		const paint = (line: string): string => ` ${theme.fg(isDeliberate(outcome) ? "dim" : "warning", line)}`;
		return { render: (width) => wrapNotice(notice, width - 2).map(paint), invalidate() {} };
	});
	// The person has said it, so it looks like everything else that they say.
	pi.registerMessageRenderer(GUIDANCE, ({ content }, { outputPad }, theme) => {
		const piTui = loadedPiTui();
		if (piTui === undefined || typeof content !== "string") return undefined;
		const text = theme.fg("userMessageText", safe(content));
		return new piTui.Text(text, outputPad, 1, (line) => theme.bg("userMessageBg", line));
	});
}

/** Lines of at most `width` columns. Our texts have no wide letters. */
function wrapNotice(text: string, width: number): string[] {
	const fitting = new RegExp(`(?=\\S).{1,${Math.max(1, width)}}(?!\\S)|\\S{1,${Math.max(1, width)}}`, "g");
	return [...text.matchAll(fitting)].map(([line]) => line);
}
