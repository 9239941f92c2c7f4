/**
 * One long run in this process, and what it cost, as JSON on standard output. Started by turns.ts and footprint.ts.
 *
 *     node --expose-gc bench/long-session.ts '{ "subject": null, "turns": 2000 }'
 */
import type { ExtensionFactory } from "@earendil-works/pi-coding-agent";
import { calls, text } from "../test/harness/model.ts";
import { session } from "../test/harness/session.ts";
import { scoped } from "./scope.ts";
import { load, type Subject } from "./subject.ts";

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

/** Bytes, when all is done and the garbage is collected. */
export interface Memory {
	readonly resident: number;
	/** Of the JavaScript heap: what V8 holds, and what of it is in use. */
	readonly committed: number;
	readonly used: number;
}

export interface Cost extends Turns, Memory {}

const order = JSON.parse(process.argv[2] ?? "{}") as Order;
const turns: number[] = [];
const handlers: number[] = [];
let inHandlers = 0;
let last = process.cpuUsage();

const extensions = await load(order.subject, (ms) => (inHandlers += ms));

await scoped(async (t) => {
	const run = await session(t, {
		extensions: extensions as ExtensionFactory[],
		env: { PI_MAX_TURNS: "1000000", PI_TURN_LIMIT_REPEATS: "10" },
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
			// Another call each time, or the limit on repeats would end it.
			return n <= order.turns ? calls({ name: "noop", args: { n } }) : text("done");
		},
	});
	await run.prompt("go", 3_600_000);
	globalThis.gc?.();
	const { rss: resident, heapTotal: committed, heapUsed: used } = process.memoryUsage();
	if (turns.length !== order.turns || run.errors.length > 0)
		throw new Error(`${turns.length} turns`, { cause: run.errors });
	console.log(JSON.stringify({ turns, handlers, resident, committed, used } satisfies Cost));
});
