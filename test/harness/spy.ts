/** An extension beside ours that writes down every outcome it hears of. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { RUN_METER_IDS } from "../../src/core/meters.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import type { Host } from "./host.ts";

export function spy(pi: ExtensionAPI): void {
	const { appendFileSync } = process.getBuiltinModule("node:fs");
	pi.events.on("turn-limit:outcome", (outcome) => appendFileSync("outcomes", `${JSON.stringify(outcome)}\n`));
}

/** The outcomes that the spy has written down. */
export function outcomes(host: Host): Outcome[] {
	const file = join(host.cwd, "outcomes");
	const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
	return lines.map((line) => JSON.parse(line) as Outcome);
}

/** An outcome with its turns, tool calls and whole cents. What it spent of other meters differs with machine and script. */
export function essence(outcome: Outcome): object {
	const left: readonly string[] = RUN_METER_IDS.filter((id) => !["turns", "toolCalls", "cost"].includes(id));
	const rest = Object.fromEntries(Object.entries(outcome).filter(([key]) => !left.includes(key)));
	return { ...rest, cost: Number(outcome.cost.toFixed(2)) };
}
