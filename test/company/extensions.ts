/** Extensions beside ours, for several tests. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Host } from "../harness/index.ts";

/** Says in the footer how often pi has settled: `settled 1`. Load it after ours. */
export function settles(pi: ExtensionAPI): void {
	let runs = 0;
	pi.on("agent_settled", (_event, ctx) => ctx.ui.setStatus("settles", `settled ${++runs}`));
}

/** Starts a run by itself, whatever the person does meanwhile, when the test says `wake`. */
export function sleeper(pi: ExtensionAPI): void {
	const { existsSync, rmSync } = process.getBuiltinModule("node:fs");
	const look = (): void => {
		if (!existsSync("wake")) return;
		rmSync("wake");
		pi.sendUserMessage("wake up");
	};
	pi.on("session_start", () => void setInterval(look, 20).unref());
}

/** Lets the sleeper start its run. */
export function wake(pi: Host): void {
	writeFileSync(join(pi.cwd, "wake"), "");
}

/**
 * Wakes pi whenever it has settled, and shows how often: `woken 3`. `WAKES_BY` says with what: a `prompt`, or a `message`
 * of its own, of which pi tells nobody by `input`. After `WAKES` times it gives up, or after 60, so that a test that fails
 * ends.
 */
export function waker(pi: ExtensionAPI): void {
	const { writeFileSync } = process.getBuiltinModule("node:fs");
	const { WAKES = "60", WAKES_BY } = process.env;
	const message = { customType: "wake-up", content: "go on", display: true };
	let woken = 0;
	pi.on("agent_settled", (_event, ctx) => {
		if (woken === Number(WAKES)) return;
		writeFileSync("woken", String(++woken));
		ctx.ui.setStatus("woken", `woken ${woken}`);
		if (WAKES_BY === "prompt") pi.sendUserMessage(message.content);
		else pi.sendMessage(message, { triggerTurn: true });
	});
}

/** How often the waker has woken pi. */
export function woken(pi: Host): number {
	return Number(readFileSync(join(pi.cwd, "woken"), "utf8"));
}

/** A loop as pi-ralph-wiggum runs one: its tool `next` queues the next prompt while the run still goes on. */
export function loopsByTool(pi: ExtensionAPI): void {
	pi.registerTool({
		name: "next",
		label: "Next",
		description: "Begins the next iteration.",
		parameters: { type: "object", properties: {} } as never,
		execute: () => {
			pi.sendUserMessage("the next iteration", { deliverAs: "followUp" });
			return Promise.resolve({ content: [{ type: "text" as const, text: "queued" }], details: {} });
		},
	});
}

/** A goal as @capyup/pi-goal pursues one: when a run has ended, and pi is idle, it starts another; an abort pauses it. */
export function pursuesGoal(pi: ExtensionAPI): void {
	const message = { customType: "goal", content: "go on with the goal", display: false };
	let timer: NodeJS.Timeout | undefined;
	pi.on("agent_end", ({ messages }, ctx) => {
		if (messages.some((one) => one.role === "assistant" && one.stopReason === "aborted"))
			return ctx.ui.notify("goal paused");
		const look = (): void => {
			if (!ctx.isIdle() || ctx.hasPendingMessages()) timer = setTimeout(look, 5);
			else pi.sendMessage(message, { triggerTurn: true, deliverAs: "followUp" });
		};
		timer = setTimeout(look, 0);
	});
	pi.on("session_shutdown", () => clearTimeout(timer));
}

/** Research as pi-autoresearch does it: after every run, aborted or not, it prompts again, up to 20 times. */
export function resumesResearch(pi: ExtensionAPI): void {
	let resumed = 0;
	let timer: NodeJS.Timeout | undefined;
	pi.on("agent_end", (_event, ctx) => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			if (ctx.isIdle() && !ctx.hasPendingMessages() && resumed++ < 20) pi.sendUserMessage("the next experiment");
		}, 20);
	});
	pi.on("session_shutdown", () => clearTimeout(timer));
}
