/**
 * For a real pi, which loads it: writes down, by turn, the milliseconds of processor time that pi took, and the milliseconds
 * in the handlers of PROBE, a subject as JSON.
 */
import { writeFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Turns } from "./long-session.ts";
import { load, type Subject } from "./subject.ts";

export default async function (pi: ExtensionAPI): Promise<void> {
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
	const subject = JSON.parse(process.env["PROBE"] ?? "null") as Subject;
	for (const extension of await load(subject, (ms) => (inHandlers += ms))) await extension(pi);
}
