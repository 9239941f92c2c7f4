/**
 * One long run in this process, and what it cost, as JSON on standard output. Started by turns.ts and footprint.ts.
 *
 *     node --expose-gc bench/long-session.ts '{ "subject": "ours", "turns": 2000 }'
 */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import ours from "../src/pi/extension.ts";
import { text } from "../test/harness/index.ts";
import { noop, session } from "../test/harness/session.ts";
import { scoped } from "./scope.ts";
import { timed } from "./timed.ts";

export type Subject = "none" | "ours" | "listens" | "listens without turn_end";

export interface Order {
	readonly subject: Subject;
	readonly turns: number;
	/** Lets pi compact now and then, so that the transcript stays short. */
	readonly compacts?: boolean;
}

export interface Turns {
	/** By turn: milliseconds of processor time from its request to the next; unlike the clock, it does not count others' work. */
	readonly turns: number[];
	/** By turn: milliseconds in the handlers of the extension. */
	readonly handlers: number[];
}

export interface Cost extends Turns {
	/** In bytes, when all is done and the garbage is collected. */
	readonly rss: number;
	readonly heap: number;
}

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
const turns: number[] = [];
const handlers: number[] = [];
let inHandlers = 0;
let last = process.cpuUsage();

/** Listens to what we listen to, and does nothing. */
function listens(pi: ExtensionAPI): void {
	const names = [
		...["input", "before_agent_start", "turn_start", "tool_call", "tool_execution_end", "message_end", "turn_end"],
		...["session_before_compact", "session_compact", "cache_warming_decision", "agent_settled"],
	];
	for (const name of names) {
		if (name !== "turn_end" || order.subject === "listens") pi.on(name as "turn_start", () => {});
	}
}

const extensions = {
	none: [],
	ours: [timed(ours, (ms) => (inHandlers += ms))],
	listens: [listens],
	"listens without turn_end": [listens],
};

await scoped(async (t) => {
	const run = await session(t, {
		extensions: extensions[order.subject],
		env: { PI_MAX_TURNS: "1000000" },
		...(order.compacts
			? { contextWindow: 4_000, settings: { compaction: { reserveTokens: 1_000, keepRecentTokens: 100 } } }
			: {}),
		reply: (n) => {
			const { user, system } = process.cpuUsage(last);
			if (n > 1) {
				turns.push((user + system) / 1000);
				handlers.push(inHandlers);
			}
			run.events.length = 0;
			inHandlers = 0;
			last = process.cpuUsage();
			return n <= order.turns ? noop : text("done");
		},
	});
	await run.prompt("go", 3_600_000);
	globalThis.gc?.();
	const { rss, heapUsed: heap } = process.memoryUsage();
	if (turns.length !== order.turns || run.errors.length > 0)
		throw new Error(`${turns.length} turns`, { cause: run.errors });
	console.log(JSON.stringify({ turns, handlers, rss, heap } satisfies Cost));
});
