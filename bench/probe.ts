/**
 * For a real pi, which loads it: writes down, by turn, the milliseconds of processor time that pi took and that our
 * handlers took. With PROBE=ours we are there too.
 */
import { writeFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import ours from "../src/pi/extension.ts";
import type { Turns } from "./long-session.ts";
import { timed } from "./timed.ts";

export default function (pi: ExtensionAPI): void {
	const cost: Turns = { turns: [], handlers: [] };
	let last = process.cpuUsage();
	let inHandlers = 0;
	pi.on("turn_start", () => {
		const { user, system } = process.cpuUsage(last);
		cost.turns.push((user + system) / 1000);
		cost.handlers.push(inHandlers);
		inHandlers = 0;
		last = process.cpuUsage();
	});
	pi.on("agent_settled", () => writeFileSync("cost.json", JSON.stringify(cost)));
	if (process.env["PROBE"] === "ours") timed(ours, (ms) => (inHandlers += ms))(pi);
}
