/** An extension beside ours that writes down every outcome it hears of. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
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

/** An outcome without what differs with the machine and the script: time, tokens, repetitions, fractions of a cent. */
export function essence(outcome: Outcome): object {
	const left = ["time", "tokens", "repeats"];
	const rest = Object.fromEntries(Object.entries(outcome).filter(([key]) => !left.includes(key)));
	return { ...rest, cost: Number(outcome.cost.toFixed(2)) };
}
