/** How our entries look in the transcript, today and after a resume. */
import { GUIDANCE, type Pi } from "./host.ts";
import { readOutcome } from "./record.ts";
import { isDeliberate, noticeOf, OUTCOME_ENTRY } from "./report.ts";

/** Registers how they look; false if pi lacks what draws them. */
export function canShowEntries(pi: Pi): Promise<boolean> {
	return registerRenderers(pi).then(
		() => true,
		() => false,
	);
}

/** Pi's components are loaded here because a program that embeds pi need not have them. */
async function registerRenderers(pi: Pi): Promise<void> {
	const { UserMessageComponent } = await import("@earendil-works/pi-coding-agent");
	const { Text } = await import("@earendil-works/pi-tui");
	pi.registerEntryRenderer(OUTCOME_ENTRY, ({ data }, _options, theme) => {
		const outcome = readOutcome(data);
		const notice = outcome && noticeOf(outcome);
		if (outcome === undefined || notice === undefined) return undefined;
		return new Text(theme.fg(isDeliberate(outcome) ? "dim" : "warning", notice), 1, 0);
	});
	// The person has said it, so it looks like everything else that they say.
	pi.registerMessageRenderer(GUIDANCE, ({ content }, { outputPad }) => {
		return typeof content === "string" ? new UserMessageComponent(content, undefined, outputPad) : undefined;
	});
}
