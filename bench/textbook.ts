/**
 * What a straightforward extension does, for comparison: the plan in the seeds, as far as it concerns the loop. The
 * counter restarts with `agent_start`; the question comes when the turn starts whose number is the limit; without
 * somebody to ask it aborts.
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function (pi: ExtensionAPI): void {
	const max = Number(process.env["PI_MAX_TURNS"] ?? 25);
	let count = 0;

	pi.on("agent_start", () => {
		count = 0;
	});

	pi.on("turn_start", async (_event, ctx) => {
		count++;
		ctx.ui.setWidget("textbook", [`Turns: ${count}/${max}`]);
		if (count < max) return;
		if (ctx.hasUI && (await ctx.ui.confirm("Turn limit reached", `You've used ${max} turns. Continue?`))) {
			count = 0;
			return;
		}
		if (ctx.hasUI) ctx.ui.notify("Agent aborted by user.", "error");
		ctx.abort();
	});

	pi.on("agent_end", (_event, ctx) => ctx.ui.setWidget("textbook", undefined));
}
