/** Many runs in one process, 20 turns each: `node test/faults/soak.ts [runs]`. */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { perRunMeter } from "../../src/core/meters.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import { type Outcome, turnLimit } from "../../src/index.ts";
import { noop, session } from "../harness/session.ts";
import type { Scope } from "../harness/wait.ts";
import { soakTrees } from "./soak-tree.ts";

/** Then comes the next session, for pi copies the whole transcript with every request. */
const RUNS_PER_SESSION = 5;

/**
 * By how much the heap may have grown, in bytes, since a quarter of the runs. A pi without us keeps 9 kB of every session;
 * who kept the transcripts would need 60 MB for 2,000 runs.
 */
const SLACK = 6_000_000;

/** Fails unless every run is counted right and none leaves anything behind. Gives the growth of the heap. */
export async function soak(runs: number): Promise<number> {
	const warnings: Error[] = [];
	const onWarning = (warning: Error): unknown => warnings.push(warning);
	process.on("warning", onWarning);
	const before = listeners();
	let first = 0;
	for (let done = 0; done < runs; done += RUNS_PER_SESSION) {
		if (done <= runs / 4) first = inUse();
		await soakSession(done % 2 === 0);
	}
	const growth = inUse() - first;
	assert.ok(growth < SLACK, `the heap has grown by ${growth} bytes`);
	assert.deepEqual(warnings, []);
	assert.deepEqual(listeners(), before);
	assert.equal(processMemory.legacies.size, 0);
	process.off("warning", onWarning);
	return growth;
}

/** Every run takes 20 turns: with nobody to ask by its limit, else by a limit of 10 and one yes. */
async function soakSession(isAttended: boolean): Promise<void> {
	const undos: (() => unknown)[] = [];
	const scope: Scope = { after: (undo) => undos.push(undo) };
	const outcomes: Outcome[] = [];
	const handlers = new Set<() => void>();
	const limit = turnLimit({ turns: isAttended ? 10 : 20, onOutcome: (outcome) => outcomes.push(outcome) });
	const ours = (pi: ExtensionAPI): void => {
		const on = ((...args: Parameters<typeof pi.on>) => {
			const off = pi.on(...args);
			handlers.add(off);
			return () => {
				handlers.delete(off);
				off();
			};
		}) as typeof pi.on;
		limit(Object.assign(Object.create(pi) as ExtensionAPI, { on }));
	};
	/** A wish that comes when no turn's end can carry it any more: it goes past the transcript, by a handler. */
	const wishful = (pi: ExtensionAPI): void => {
		pi.on("turn_start", async ({ turnIndex }) => {
			if (turnIndex === 4) await host.session.prompt("/turn-limit wrap-up");
		});
	};
	let asked = 0;
	const ui = isAttended ? { ui: { confirm: () => Promise.resolve(++asked % 2 === 1) } } : {};
	const host = await session(scope, { extensions: [wishful, ours], reply: () => noop, ...ui });
	const { size } = handlers;
	for (let run = 1; run <= RUNS_PER_SESSION; run++) {
		await host.prompt("go");
		const { time, tokens } = outcomes[run - 1]!;
		assert.ok(time >= 0 && tokens > 0);
		assert.deepEqual(outcomes[run - 1], {
			...perRunMeter(() => 0),
			...{ turns: 20, toolCalls: 20, repeats: 20, time, tokens, meter: "turns" },
			...(isAttended
				? { kind: "declined", answered: true, limit: 10, continuations: 1, advised: false }
				: { kind: "exhausted", limit: 20, continuations: 0, advised: true }),
		});
		assert.deepEqual([outcomes.length, host.turns()], [run, 20 * run]);
		assert.equal(limit.snapshot().turns.used, isAttended ? 10 : 20);
		assert.equal(handlers.size, size);
	}
	for (const undo of undos) await undo();
}

/** The heap in use, in bytes, without garbage. */
export function inUse(): number {
	setFlagsFromString("--expose-gc");
	(runInNewContext("gc") as () => void)();
	return process.memoryUsage().heapUsed;
}

/** How many there are for each event of the process. */
function listeners(): Record<string, number> {
	return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
}

if (import.meta.main) {
	const runs = Number(process.argv[2] ?? 2000);
	const growth = await soak(runs);
	const { most, bound } = await soakTrees(20);
	console.log(
		`20 trees of 8 agents: at most $${most.toFixed(2)} beyond the limit, where $${bound.toFixed(2)} were allowed.`,
	);
	console.log(`${runs} runs of 20 turns; the heap has grown by ${Math.round(growth / 1000)} kB.`);
}
