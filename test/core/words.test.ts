import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kindOf, METER_IDS, type PerMeter } from "../../src/core/meters.ts";
import {
	isBroken,
	limitActed,
	line,
	type Outcome,
	OUTCOME_ENTRY,
	spentText,
	stoppedByLimit,
} from "../../src/core/outcome.ts";
import type { Scope } from "../../src/core/scopes.ts";
import { clip, quote, safe, wrap } from "../../src/core/text.ts";
import {
	finalPass,
	isOfFinalPass,
	NEW_RUN,
	pointOut,
	refusal,
	RELOADED,
	RESUMED,
	wrapUp,
} from "../../src/core/to-model.ts";
import { Driver, EVENTS, GATES, sum } from "./driver.ts";

test("words go into lines that fit, as far to the right as the text begins; a longer word has a line of its own", () => {
	assert.deepEqual(wrap("one two three four", 7), ["one two", "three", "four"]);
	assert.deepEqual(wrap("  one two three", 9), ["  one two", "  three"]);
	assert.deepEqual(wrap("a considerable b", 5), ["a", "considerable", "b"]);
	assert.deepEqual([wrap("", 5), wrap("  ", 5)], [[""], ["  "]]);
});

describe("text from outside", () => {
	test("stays on one line and short, and no control character passes", () => {
		assert.equal(clip(" ls\n\u001b[31m \u2028\u200b -l ", 60), "ls [31m -l");
		assert.equal(clip("x".repeat(60), 60), "x".repeat(60));
		assert.equal(clip("x".repeat(61), 60), `${"x".repeat(59)}…`);
		assert.equal(clip("🦀".repeat(61), 60), `${"🦀".repeat(59)}…`);
	});

	test("keeps its lines and blanks, and nothing that a terminal obeys", () => {
		assert.equal(
			safe("a\tb\n  c \u001b]52;c;x\u0007\u009b\u202e\u2028\r"),
			"a\tb\n  c \uFFFD]52;c;x\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD",
		);
		assert.equal(safe("👩\u200d💻 می\u200cخواهم"), "👩\u200d💻 می\u200cخواهم");
	});

	test("is quoted whatever it is", () => {
		const circle: { self?: unknown } = {};
		circle.self = circle;
		const quoted = ["a", 3, NaN, undefined, null, { a: [1] }, circle, 3n].map(quote);
		assert.deepEqual(quoted, ['"a"', "3", "NaN", "undefined", "null", '{"a":[1]}', "object", "bigint"]);
		assert.equal(quote("x".repeat(99)), `"${"x".repeat(58)}…`);
	});
});

/** Behind what is left, and behind a budget. */
const SCOPE_WORDS: Record<Scope, readonly [string, string]> = {
	round: ["in this run", "for this run"],
	session: ["in this session", "for this session"],
	tree: ["in this tree of agents", "for this tree of agents"],
	day: ["today", "for today"],
	week: ["this week", "for this week"],
	month: ["this month", "for this month"],
	fleet: ["in this fleet's budget", "for this fleet's budget"],
};

describe("to the model", () => {
	test("the wrap-up is a directive that names no tool and says how much remains", () => {
		assert.equal(
			wrapUp("turns", 2),
			`Only 2 turns left in this run. Begin nothing new. Bring what you are doing to a safe stop and write your closing report now:
- what you have accomplished,
- what remains to be done,
- partial findings that whoever reads this should know.

Do not call the task complete because the run is ending; say so only if it is. Ask the user something only if you truly cannot close without the answer. Then stop.`,
		);
		assert.match(wrapUp("turns", 1), /^Only 1 turn left/);
		assert.match(wrapUp("turns", 0), /^Only 1 turn left/);
		assert.match(wrapUp("cost", 250_000), /^Only \$0\.25 left in this run\. Begin/);
		assert.match(wrapUp("turns", "unlimited"), /^This run is to end\. Begin nothing new\./);
		assert.doesNotMatch(
			wrapUp("turns", 2),
			/\b(might|may|could|please|consider)\b|\b(bash|read|edit|grep|ls)\b|[a-z]_[a-z]|`/i,
		);
	});

	test("the final pass says what is spent and asks for an answer", () => {
		assert.equal(
			finalPass({ meter: "turns", limit: 5 }),
			`The budget of turns for this run is spent; every further tool call is refused. Answer now, in text, from what you already have:
- what you have accomplished,
- what remains to be done,
- partial findings that whoever reads this should know.

Do not call the task complete because the budget ran out.`,
		);
	});

	test("what the model reads in a final pass can be told from what it reads before and after", () => {
		const trip = { meter: "turns", limit: 5 } as const;
		const read = [finalPass(trip), wrapUp("turns", 2), RESUMED, NEW_RUN];
		assert.deepEqual(read.map(isOfFinalPass), [true, false, false, false]);
		assert.equal(
			NEW_RUN,
			"A new run has begun, and tool calls run again. What was said above about refused tool calls was about the run before.",
		);
	});

	for (const id of METER_IDS) {
		test(`the final pass and the wrap-up name ${id}`, () => {
			const { unit, many, one, scope } = kindOf(id);
			const [within, forScope] = SCOPE_WORDS[scope];
			assert.ok(finalPass({ meter: id, limit: 3 }).startsWith(`The budget of ${many} ${forScope} is spent;`));
			const left = one === undefined ? unit.show(3) : `${unit.show(3)} ${many}`;
			assert.ok(wrapUp(id, 3).startsWith(`Only ${left} left ${within}. `));
		});
	}

	test("a limit that makes room in the final pass says that work may go on", () => {
		assert.equal(RESUMED, "The limit was raised. Tool calls run again; go on with the task.");
	});

	for (const { id, gate } of GATES) {
		test(`a call that is refused because of ${id} names the limit, or asks for the answer`, () => {
			const stopped = new Driver({ turns: "unlimited", [id]: 1 }).prompt();
			stopped.spend(gate, id, 1);
			stopped.knock(gate, id);
			const { unit, one, scope } = kindOf(id);
			const limit = one === undefined ? unit.show(1) : `1 ${one}`;
			const why = `the limit of ${limit} ${SCOPE_WORDS[scope][1]} is reached, and the run is being stopped.`;
			assert.equal(refusal(stopped.state), `Not run: ${why}`);
			const finishing = new Driver({ turns: "unlimited", [id]: 1, policy: "synthesize" }).prompt();
			finishing.spend(gate, id, 1);
			finishing.knock(gate, id);
			assert.equal(refusal(finishing.state), `Not run. ${finalPass({ meter: id, limit: 1 })}`);
		});
	}

	test("a call that goes in circles is refused once with the reason, where nobody can be asked", () => {
		const run = new Driver({ repeats: 2 }).prompt();
		run.request();
		run.calls(2);
		assert.deepEqual(run.call(), ["refuse"]);
		assert.equal(
			refusal(run.state),
			"Not run: this would make 3 identical calls in a row. Do something else, or say what keeps you from going on. If this call comes once more, the run ends.",
		);
		assert.equal(
			pointOut({ tool: "bash", input: {} }, 3),
			"You are going in circles: the same calls with the same arguments have now come 3 times in a row; the last was bash. Look at what they returned. If nothing changes, do something else, or say what keeps you from going on.",
		);
	});

	test("a call that is refused for another reason is told that the run is being stopped", () => {
		const run = new Driver().prompt();
		assert.equal(refusal(run.state), "Not run: this run is being stopped.");
		run.request();
		run.send(EVENTS.interrupted);
		assert.equal(refusal(run.state), "Not run: this run is being stopped.");
	});

	test("a call that waited when pi was reloaded may be made again", () => {
		const text = "Not run: the extensions were reloaded meanwhile. Call it again if it is still needed.";
		assert.equal(RELOADED, text);
	});
});

describe("how a run ended", () => {
	test("is stored in a session under the name that other versions and programs look for", () => {
		assert.equal(OUTCOME_ENTRY, "turn-limit-outcome");
	});

	const spent = sum({ turns: 5, toolCalls: 1, cost: 250_000 });
	const trip = { meter: "turns", limit: 5 } as const;
	const failed = { kind: "failed", by: "provider", message: "overloaded" } as const;
	const ends: [outcome: Outcome, acted: boolean, stopped: boolean, line: string | undefined][] = [
		[{ ...spent, kind: "completed" }, false, false, undefined],
		[{ ...spent, kind: "interrupted" }, false, false, undefined],
		[{ ...spent, ...failed }, false, false, undefined],
		[
			{ ...spent, kind: "failed", by: "breaker", message: `a\nbug${"!".repeat(400)}` },
			...([false, false, `pi-turn-limit: failed and stopped the run: a bug${"!".repeat(294)}…`] as const),
		],
		[
			{ ...spent, kind: "wrapped_up", meter: "turns", limit: "unlimited", cost: 10_000, advised: true },
			...([true, false] as const),
			"pi-turn-limit: finished after the wrap-up; spent: 5 turns, 1 tool call, $0.01.",
		],
		[
			{ ...spent, kind: "wrapped_up", meter: "turns", limit: 6, advised: true },
			...([true, false] as const),
			"pi-turn-limit: finished after the wrap-up near the limit of 6 turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "exhausted", meter: "treeTurns", limit: 9 },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of 9 turns in this tree of agents (treeTurns), without an answer; spent in this run: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "synthesized", ...trip },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of 5 turns (PI_MAX_TURNS), with a last answer; spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "declined", answered: false, meter: "toolCalls", limit: 1 },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of 1 tool call (--turn-limit-tools) because nobody answered, without an answer; spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "declined", answered: true, ...trip },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of 5 turns (PI_MAX_TURNS) by a no, without an answer; spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "exhausted", meter: "cost", limit: 200_000 },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of $0.20 (maxCost in turn-limit.json), without an answer; spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "exhausted", cut: true, ...trip },
			...([true, true] as const),
			"pi-turn-limit: stopped at the limit of 5 turns (PI_MAX_TURNS), which cut off what was under way, without an answer; spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, ...failed, ...trip, toolCalls: 0, cost: 0 },
			...([true, true] as const),
			"pi-turn-limit: failed at the limit of 5 turns (PI_MAX_TURNS), without an answer; spent: 5 turns, 0 tool calls.",
		],
		[
			{ ...spent, ...failed, advised: true },
			...([true, false, "pi-turn-limit: failed after the wrap-up; spent: 5 turns, 1 tool call, $0.25."] as const),
		],
		[
			{ ...spent, kind: "completed", continuations: 1 },
			...([true, false, "pi-turn-limit: finished after a question; spent: 5 turns, 1 tool call, $0.25."] as const),
		],
	];
	const sources: Partial<PerMeter<string>> = {
		treeTurns: "treeTurns",
		turns: "PI_MAX_TURNS",
		toolCalls: "--turn-limit-tools",
		cost: "maxCost in turn-limit.json",
	};
	for (const [outcome, acted, stopped, expected] of ends) {
		const about = "meter" in outcome ? ` about ${outcome.meter}` : "";
		const after = `${outcome.advised ? ", advised" : ""}${outcome.continuations > 0 ? ", continued" : ""}`;
		test(`${outcome.kind}${about}${after}: a line where a limit or the breaker acted`, () => {
			assert.equal(
				line(outcome, (id) => sources[id] ?? ""),
				expected,
			);
			assert.equal(limitActed(outcome), acted);
			assert.equal(stoppedByLimit(outcome), stopped);
		});
	}

	test("an answer that came before the stop is named, but not where the last one came after it", () => {
		const said = (outcome: Outcome): string | undefined => line(outcome, () => "default", true);
		const at = "pi-turn-limit: stopped at the limit of 5 turns (default), with";
		assert.ok(said({ ...spent, kind: "exhausted", ...trip })?.startsWith(`${at} an earlier answer; spent`));
		assert.ok(said({ ...spent, kind: "synthesized", ...trip })?.startsWith(`${at} a last answer; spent`));
		assert.match(
			said({ ...spent, kind: "interrupted", continuations: 1 }) ?? "",
			/: interrupted after a question; spent/,
		);
	});

	test("the breaker has failed only where it says so", () => {
		assert.equal(isBroken({ ...spent, ...failed, by: "breaker" }), true);
		assert.equal(isBroken({ ...spent, ...failed }), false);
		assert.equal(isBroken({ ...spent, kind: "completed" }), false);
	});

	test("a summary leaves out what was not spent, but for the meters that are always listed", () => {
		assert.equal(spentText(sum({ turns: 1, tokens: 99_999, time: 59_999, repeats: 2 })), "1 turn, 0 tool calls");
		assert.equal(spentText(sum({ toolCalls: 2, cost: 1 })), "0 turns, 2 tool calls, $0.000001");
		const all = sum({ turns: 1, toolCalls: 1, cost: 10_000, tokens: 100_000, time: 60_000, repeats: 9 });
		assert.equal(spentText(all), "1 turn, 1 tool call, $0.01, 100k tokens, 1m");
		const about = (["tokens", "sessionTokens", "turns"] as const).map((id) => spentText(sum({ tokens: 9 }), id));
		const named = "0 turns, 0 tool calls, 9 tokens";
		assert.deepEqual(about, [named, named, "0 turns, 0 tool calls"]);
		assert.equal(spentText(sum({ repeats: 5 }), "repeats"), "0 turns, 0 tool calls, 5 identical calls in a row");
	});
});
