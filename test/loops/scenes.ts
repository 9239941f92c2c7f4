/** The scenes that every host plays. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { finalPass, wrapUp } from "../../src/core/to-model.ts";
import type { Reply } from "../harness/model.ts";
import { calls as asks, text } from "../harness/model.ts";
import type { Scene, Seen } from "./hosts.ts";
import type { Script } from "./model.ts";

/** Asks for calls of the tool, with arguments that differ from turn to turn. */
function work(n: number, ...more: number[]): Reply {
	return asks(...[0, ...more].map((i) => ({ name: "noop", args: { n, i } })));
}

/** Works until it is told, and then answers. */
function obeying(words: string): Script {
	return (n, texts) => (texts.some((heard) => heard.includes(words)) ? text("report") : work(n));
}

const endless: Script = (n) => work(n);
const unmetered: Script = (n) => ({ ...work(n), usage: null });
const BUSY: Reply = { failure: { status: 503, message: "overloaded" } };
const FAILURE: Reply = { failure: { status: 400, message: "no such model" } };
const LAST = finalPass({ meter: "turns", limit: 5 });

/** `kind requests/executions`, as `loops.md` writes it. */
function shown({ requests, ran, outcomes }: Seen): string {
	return `${outcomes.map(({ kind }) => kind).join()} ${requests.length}/${ran}`;
}

type Played = [scene: Scene, expected: string, more?: (seen: Seen) => void];

const SCENES: Record<string, () => Played> = {
	"a limit of 5 admits 5 turns": () => [{ options: { turns: 5, grace: 0 }, script: endless }, "exhausted 5/5"],
	"a limit of 1 admits 1 turn": () => [{ options: { turns: 1 }, script: endless }, "exhausted 1/1"],
	"a limit of 0 admits none": () => [{ options: { turns: 0 }, script: endless }, "exhausted 0/0"],
	"a run that ends by itself at the limit is complete": () => [
		{ options: { turns: 3, grace: 0 }, script: (n) => (n < 3 ? work(n) : text("done")) },
		"completed 3/2",
		({ answer, error }) => assert.deepEqual([answer, error], ["done", undefined]),
	],
	"a model that obeys the wrap-up answers in time": () => [
		{ options: { turns: 5 }, script: obeying("left in this run") },
		"wrapped_up 4/3",
		({ answer }) => assert.equal(answer, "report"),
	],
	"a model that ignores the wrap-up is stopped at the limit, and told once": () => [
		{ options: { turns: 5 }, script: endless },
		"exhausted 5/5",
		({ requests }) => assert.equal(requests[3]?.filter((heard) => heard === wrapUp("turns", 2)).length, 1),
	],
	"a final pass that the model obeys gives its answer": () => [
		{ options: { turns: 5, policy: "synthesize", grace: 0 }, script: obeying("is spent") },
		"synthesized 6/5",
		({ answer, requests, error }) => {
			assert.deepEqual([answer, error], ["report", undefined]);
			assert.ok(requests[5]?.includes(LAST));
			assert.ok(!requests[4]?.includes(LAST));
		},
	],
	"a call in the final pass is refused, and the model may answer once more": () => [
		{
			options: { turns: 5, policy: "synthesize", grace: 0 },
			script: (n) => (n < 7 ? work(n) : text("report")),
		},
		"synthesized 7/5",
		({ requests }) => assert.ok(requests[6]?.some((heard) => heard.startsWith("Not run. "))),
	],
	"a final pass without an answer ends after two turns": () => [
		{ options: { turns: 5, policy: "synthesize", grace: 0 }, script: endless },
		"exhausted 7/5",
	],
	"an empty answer in the final pass is asked for again": () => [
		{
			options: { turns: 5, policy: "synthesize", grace: 0 },
			script: (n) => (n < 6 ? work(n) : text(n === 6 ? "" : "report")),
		},
		"synthesized 7/5",
		({ answer, requests }) => {
			assert.equal(answer, "report");
			// Whatever makes the loop go on is not for the model.
			assert.doesNotMatch(JSON.stringify(requests), /pi-turn-limit/);
		},
	],
	"an answer that was cut off is asked for again": () => [
		{
			options: { turns: 2, policy: "synthesize", grace: 0 },
			script: (n) => (n < 3 ? work(n) : n === 3 ? { text: "The rep", stop: "length" } : text("report")),
		},
		"synthesized 4/2",
	],
	"of three parallel calls a limit of 4 lets the fourth through and refuses the rest": () => [
		{ options: { toolCalls: 4 }, script: (n) => work(n, 1, 2) },
		"exhausted 2/4",
	],
	"cost is limited": () => [{ options: { cost: 1, grace: 0 }, script: endless }, "exhausted 4/4"],
	"tokens are limited": () => [{ options: { tokens: 1000, grace: 0 }, script: endless }, "exhausted 2/2"],
	"odd usage is counted as far as it can be": () => [
		{
			options: { tokens: 1000, grace: 0 },
			script: (n) => ({ ...work(n), usage: { prompt: n === 1 ? Number.NaN : 1e17, completion: -5 } }),
		},
		"exhausted 2/2",
	],
	"missing usage is not charged, and turns stay exact": () => [
		{ options: { turns: 3, tokens: 1000, grace: 0 }, script: unmetered },
		"exhausted 3/3",
		({ outcomes: [outcome] }) => {
			assert.ok(outcome?.kind === "exhausted");
			assert.deepEqual([outcome.meter, outcome.tokens], ["turns", 0]);
		},
	],
	"a cost that nobody knows is said once, and turns stay exact": () => {
		const problems: string[] = [];
		const onProblem = (problem: string): unknown => problems.push(problem);
		return [
			{ options: { turns: 3, cost: 0.5, grace: 0, onProblem }, script: unmetered },
			"exhausted 3/3",
			({ outcomes: [outcome] }) => {
				assert.equal(outcome?.cost, 0);
				assert.match(problems.join("\n"), /^Cost is limited, but a response came without one.*$/);
			},
		];
	},
	"a call that repeats is refused once, then the run ends": () => [
		{
			options: { repeats: 3, grace: 0 },
			script: () => asks({ name: "noop", args: { same: true } }),
		},
		"exhausted 5/3",
	],
	"a person who says yes buys another round": () => [
		{ options: { turns: 2, ask: yesTimes(2) }, script: endless },
		"declined 6/6",
	],
	"a person's words reach the model with the next request": () => [
		{
			options: { turns: 2, ask: () => ({ answer: "yes", guidance: "Look in test/." }) },
			script: obeying("Look in test/."),
		},
		"completed 3/2",
	],
	"a person who wants an answer gets a final pass": () => [
		{ options: { turns: 2, ask: () => "wrap_up" }, script: obeying("is spent") },
		"synthesized 3/2",
	],
	"an ask that throws is no answer": () => [
		{
			options: {
				turns: 2,
				ask: () => {
					throw new Error("no terminal");
				},
			},
			script: endless,
		},
		"declined 2/2",
		({ outcomes: [outcome] }) => assert.equal(outcome && "answered" in outcome && outcome.answered, false),
	],
	"a question at a call holds the other calls of the turn back": () => [
		{ options: { toolCalls: 1, ask: yesTimes(1) }, script: (n) => work(n, 1, 2) },
		"declined 1/2",
	],
	"a throwing tool is the model's to read": () => [
		{
			options: { turns: 3, grace: 0 },
			script: (n) => (n < 3 ? work(n) : text("done")),
			tool: () => {
				throw new Error("broken tool");
			},
		},
		"completed 3/2",
		({ requests }) => assert.ok(requests[1]?.some((heard) => heard.includes("broken tool"))),
	],
	"a throwing onOutcome harms nothing": () => [
		{
			options: {
				turns: 2,
				onOutcome: () => {
					throw new Error("no log");
				},
			},
			script: endless,
		},
		"exhausted 2/2",
	],
	"a price that throws makes the run fail, although it has its answer": () => {
		const price = (): never => {
			throw new Error("no such table");
		};
		return [
			{ options: { cost: 1 }, script: () => text("done"), price },
			"failed 1/0",
			({ outcomes: [outcome] }) => assert.ok(outcome?.kind === "failed" && outcome.by === "breaker"),
		];
	},
	"a hook before a request that throws makes the run fail, and nothing more leaves": () => [
		{ options: { turns: 5 }, script: endless, hooks: { beforeRequest: throwsAt(3) } },
		"failed 2/2",
		saysThatHookFailed,
	],
	"a hook after a turn that throws makes the run fail, and nothing more leaves": () => [
		{ options: { turns: 5 }, script: endless, hooks: { afterTurn: throwsAt(2) } },
		"failed 2/2",
		saysThatHookFailed,
	],
	"two runs at once count apart": () => [
		{ options: { turns: 2, grace: 0 }, script: endless, runs: 2 },
		"exhausted,exhausted 4/4",
	],
	"a run inside a tool counts apart": () => [
		{
			options: { turns: 2, grace: 0 },
			script: endless,
			tool: async (n, again) => {
				if (n === 1) await again();
				return "ok";
			},
		},
		"exhausted,exhausted 4/4",
	],
	"a provider that fails for good is told apart": () => [
		{
			options: { turns: 5 },
			script: (n) => (n < 3 ? work(n) : FAILURE),
		},
		"failed 3/2",
		({ outcomes: [outcome] }) => {
			assert.ok(outcome?.kind === "failed" && outcome.by === "provider");
			assert.equal(outcome.turns, 3);
			assert.match(outcome.message, /no such model/);
		},
	],
	"a request that the loop repeats is one turn": () => [
		{ options: { turns: 3, grace: 0 }, script: (n) => (n === 2 ? BUSY : work(n)) },
		"exhausted 4/3",
	],
	"an abort before the first turn lets no request leave": () => {
		const abort = new AbortController();
		abort.abort();
		return [{ options: { turns: 5 }, script: endless, abort }, "interrupted 0/0"];
	},
	"an abort between two turns is the person's": () => {
		const abort = new AbortController();
		const tool = (n: number): string => {
			if (n === 2) abort.abort();
			return "ok";
		};
		return [{ options: { turns: 5 }, script: endless, tool, abort }, "interrupted 2/2"];
	},
	"an abort in the middle of a response is the person's": () => {
		const abort = new AbortController();
		const script: Script = (n) => {
			if (n === 3) abort.abort();
			return work(n);
		};
		return [{ options: { turns: 5 }, script, abort }, "interrupted 3/2"];
	},
	"an abort while the person is asked ends the run": () => {
		const abort = new AbortController();
		const ask = (): Promise<boolean> => {
			abort.abort();
			return new Promise(() => {});
		};
		return [{ options: { turns: 2, ask }, script: endless, abort }, "interrupted 2/2"];
	},
};

/** Says yes so often, then no. */
function yesTimes(times: number): () => boolean {
	let left = times;
	return () => left-- > 0;
}

/** Throws when it is called for the nth time. */
function throwsAt(n: number): () => void {
	let calls = 0;
	return () => {
		if (++calls === n) throw new Error("bad hook");
	};
}

function saysThatHookFailed({ outcomes: [outcome] }: Seen): void {
	assert.equal(outcome?.kind === "failed" && outcome.message, "bad hook");
}

/** A host, and why it cannot play a scene. */
export interface LoopHost {
	readonly name: string;
	readonly cannot?: Readonly<Partial<Record<string, string>>>;
	readonly play: (scene: Scene, t: TestContext) => Promise<Seen>;
}

/** Plays every scene that the host can play. */
export function playAll({ name, cannot = {}, play }: LoopHost): void {
	const unknown = Object.keys(cannot).filter((scene) => !(scene in SCENES));
	assert.deepEqual(unknown, [], "no such scene");
	describe(name, () => {
		for (const [scene, make] of Object.entries(SCENES).filter(([scene]) => !(scene in cannot))) {
			test(scene, async (t) => {
				const [played, expected, more] = make();
				const seen = await play(played, t);
				assert.equal(shown(seen), expected, String(seen.error));
				more?.(seen);
			});
		}
	});
}
