import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Outcome } from "../../src/core/outcome.ts";
import * as wording from "../../src/core/wording.ts";
import { Driver } from "./driver.ts";

const spent = { turns: 5, toolCalls: 1, cost: 0.25, continuations: 0, advised: false };
const trip = { meter: "turns", limit: 5 } as const;
const source = () => "PI_MAX_TURNS";

test("the widget shows what is limited, what is not, and the final pass", () => {
	const run = new Driver({ turns: 25 }).prompt();
	run.turns(3);
	assert.equal(wording.widget(run.state), "Turns: 3/25");
	run.send({ type: "limit_set", meter: "turns", max: "unlimited" });
	assert.equal(wording.widget(run.state), "Turns: 3/∞");
	run.send({ type: "limit_set", meter: "toolCalls", max: 200 });
	assert.equal(wording.widget(run.state), "Turns: 3/∞ · Tools: 0/200");
	const last = new Driver({ turns: 1, policy: "synthesize" }).prompt();
	last.turns(1);
	assert.equal(wording.widget(last.state), "Turns: 1/1 · final answer");
});

test("between runs the widget shows what the next prompt starts from", () => {
	const run = new Driver({ turns: 5, toolCalls: 9 }).prompt();
	run.turns(3);
	run.settle();
	run.send({ type: "limit_raised", meter: "turns", by: 2 });
	assert.equal(wording.idleWidget(run.state), "Turns: 0/7 · Tools: 0/9");
	run.prompt().request();
	run.call();
	assert.equal(wording.idleWidget(run.state), "Turns: 0/5 · Tools: 0/9");
});

describe("the question", () => {
	test("counts the round and sums up the run", () => {
		const run = new Driver({ turns: 2, attended: true }).prompt();
		run.turns(2);
		run.answer("yes");
		run.request();
		run.call("bash npm test");
		run.send({ type: "charged", cost: 0.4 });
		run.end();
		run.turns(1);
		assert.deepEqual(wording.question(run.state, "turns"), {
			title: "Turn limit reached",
			message: "You've used 2 turns. Continue?\nThis run so far: 4 turns, 1 tool call, $0.40. Last call: bash npm test",
		});
	});

	test("says one turn and one tool call, small change, and nothing of what there is not", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.request();
		run.send({ type: "charged", cost: 0.001 });
		run.end();
		assert.equal(
			wording.question(run.state, "turns").message,
			"You've used 1 turn. Continue?\nThis run so far: 1 turn, 0 tool calls, less than $0.01.",
		);
		assert.deepEqual(wording.question(new Driver().state, "toolCalls"), {
			title: "Tool limit reached",
			message: "You've used 0 tool calls. Continue?",
		});
	});
});

describe("text from outside", () => {
	test("stays on one line and short, and no control character passes", () => {
		assert.equal(wording.callText("bash", { timeout: 3, command: "ls\n\u001b[31m  -l" }), "bash ls [31m -l");
		assert.equal(wording.callText("read", undefined), "read");
		assert.equal(wording.callText("noop", {}), "noop");
		assert.equal(wording.callText("bash", { command: "x".repeat(99) }), `bash ${"x".repeat(54)}…`);
		assert.equal(wording.callText("bash", { command: "🦀".repeat(99) }), `bash ${"🦀".repeat(54)}…`);
		assert.equal(wording.callText("bash", { command: "x".repeat(55) }), `bash ${"x".repeat(55)}`);
	});

	test("is quoted whatever it is", () => {
		const circle: { self?: unknown } = {};
		circle.self = circle;
		const quoted = ["a", 3, undefined, null, { a: [1] }, circle, 3n].map(wording.quote);
		assert.deepEqual(quoted, ['"a"', "3", "undefined", "null", '{"a":[1]}', "object", "bigint"]);
	});
});

describe("to the model", () => {
	test("the wrap-up is a directive that names no tool and says how many turns remain", () => {
		const text = wording.wrapUp(2);
		assert.match(text, /^Only 2 turns left in this run\. Begin nothing new\./);
		for (const asked of ["what you have accomplished", "what remains", "partial findings", "Ask the user"]) {
			assert.ok(text.includes(asked), asked);
		}
		assert.match(text, /Do not call the task complete because the run is ending/);
		assert.doesNotMatch(text, /\b(bash|read|edit|grep|find)\b/);
		assert.match(wording.wrapUp(1), /^Only 1 turn left/);
		assert.match(wording.wrapUp(0), /^Only 1 turn left/);
		assert.match(wording.wrapUp("unlimited"), /^This run is to end\. Begin nothing new\./);
	});

	test("the final pass says what is spent and asks for an answer", () => {
		assert.match(wording.finalPass(trip), /^The budget of turns for this run is spent; every further tool call/);
		assert.match(wording.finalPass({ meter: "toolCalls", limit: 3 }), /^The budget of tool calls/);
		assert.match(wording.finalPass(trip), /Answer now.*\n- what you have accomplished,\n.*\n.*\nDo not call/);
	});

	test("a refused call is told why", () => {
		const stopped = new Driver({ toolCalls: 1 }).prompt();
		stopped.request();
		stopped.calls(2);
		assert.equal(
			wording.refusal(stopped.state),
			"Not run: the limit of 1 tool call for this run is reached, and the run is being stopped.",
		);
		const finishing = new Driver({ toolCalls: 1, policy: "synthesize" }).prompt();
		finishing.request();
		finishing.calls(2);
		assert.match(wording.refusal(finishing.state), /^Not run\. The budget of tool calls for this run is spent/);
		const interrupted = new Driver().prompt();
		interrupted.request();
		interrupted.send({ type: "interrupted" });
		assert.equal(wording.refusal(interrupted.state), "Not run: this run is being stopped.");
		assert.equal(wording.refusal(new Driver().state), "Not run: this run is being stopped.");
	});
});

describe("how a run ended", () => {
	const outcomes: [outcome: Outcome, notice: string | undefined, line: string | undefined][] = [
		[{ ...spent, kind: "completed" }, undefined, undefined],
		[{ ...spent, kind: "interrupted" }, undefined, undefined],
		[{ ...spent, kind: "failed", by: "provider", message: "overloaded" }, undefined, undefined],
		[
			{ ...spent, kind: "failed", by: "breaker", message: "a\nbug" },
			"pi-turn-limit failed and stopped the run: a bug",
			"pi-turn-limit failed and stopped the run: a bug",
		],
		[
			{ ...spent, kind: "wrapped_up", ...trip, advised: true },
			undefined,
			"pi-turn-limit: wrapped_up at the limit of 5 turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "synthesized", ...trip },
			"Turn limit reached; the model gave its final answer. Send a message to go on.",
			"pi-turn-limit: synthesized at the limit of 5 turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "declined", answered: true, ...trip },
			"Agent aborted by user. Turn limit reached. Send a message to go on.",
			"pi-turn-limit: declined at the limit of 5 turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "declined", answered: false, meter: "toolCalls", limit: 1 },
			"Tool limit reached; nobody answered. Send a message to go on.",
			"pi-turn-limit: declined at the limit of 1 tool call (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.25.",
		],
		[
			{ ...spent, kind: "exhausted", ...trip, cost: 0 },
			"Turn limit reached; no answer in the final pass. Send a message to go on.",
			"pi-turn-limit: exhausted at the limit of 5 turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call.",
		],
		[
			{ ...spent, kind: "failed", by: "provider", message: "overloaded", advised: true },
			undefined,
			"pi-turn-limit: failed after the wrap-up; spent: 5 turns, 1 tool call, $0.25.",
		],
	];
	for (const [outcome, notice, line] of outcomes) {
		test(`${outcome.kind}${outcome.advised ? ", advised" : ""}: a notice and a line, where there is something to say`, () => {
			assert.equal(wording.notice(outcome, false), notice);
			assert.equal(wording.line(outcome, source), line);
		});
	}

	test("queued messages are mentioned", () => {
		assert.equal(
			wording.notice({ ...spent, kind: "declined", answered: true, ...trip }, true),
			"Agent aborted by user. Turn limit reached. Send a message to go on. Messages that were queued are kept for the next prompt.",
		);
	});

	test("the reason in the transcript is ours only where we stopped the run", () => {
		const stopped = new Driver({ turns: 1 }).prompt();
		assert.equal(wording.reason(stopped.state, source), undefined);
		stopped.turns(1);
		assert.equal(
			wording.reason(stopped.state, source),
			"pi-turn-limit: exhausted at the limit of 1 turn (PI_MAX_TURNS); spent: 1 turn, 0 tool calls.",
		);
		const interrupted = new Driver().prompt();
		interrupted.request();
		interrupted.send({ type: "interrupted" });
		assert.equal(wording.reason(interrupted.state, source), undefined);
	});
});

test("a budget describes itself in one short line", () => {
	const run = new Driver({ turns: 25, toolCalls: "unlimited" }).prompt();
	run.turns(3);
	assert.equal(wording.describe("turns", run.state.meters.turns), "3 of 25 turns");
	assert.equal(wording.describe("toolCalls", run.state.meters.toolCalls), "0 of ∞ tool calls");
	run.send({ type: "policy_set", meter: "turns", policy: "synthesize" });
	assert.equal(wording.describe("turns", run.state.meters.turns), "3 of 25 turns, synthesize");
});
