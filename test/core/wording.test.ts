import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isBroken, limitActed, type Outcome } from "../../src/core/outcome.ts";
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
		for (const input of [undefined, null, 3]) assert.equal(wording.callText("read", input), "read");
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
		assert.equal(
			wording.wrapUp(2),
			`Only 2 turns left in this run. Begin nothing new. Bring what you are doing to a safe stop and write your closing report now:
- what you have accomplished,
- what remains to be done,
- partial findings that whoever reads this should know.

Do not call the task complete because the run is ending; say so only if it is. Ask the user something only if you truly cannot close without the answer. Then stop.`,
		);
		assert.match(wording.wrapUp(1), /^Only 1 turn left/);
		assert.match(wording.wrapUp(0), /^Only 1 turn left/);
		assert.match(wording.wrapUp("unlimited"), /^This run is to end\. Begin nothing new\./);
	});

	test("the final pass says what is spent and asks for an answer", () => {
		assert.equal(
			wording.finalPass(trip),
			`The budget of turns for this run is spent; every further tool call is refused. Answer now, in text, from what you already have:
- what you have accomplished,
- what remains to be done,
- partial findings that whoever reads this should know.

Do not call the task complete because the budget ran out.`,
		);
		assert.match(wording.finalPass({ meter: "toolCalls", limit: 3 }), /^The budget of tool calls/);
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
			{ ...spent, kind: "wrapped_up", meter: "turns", limit: "unlimited", cost: 0.01, advised: true },
			undefined,
			"pi-turn-limit: wrapped_up at the limit of unlimited turns (PI_MAX_TURNS); spent: 5 turns, 1 tool call, $0.01.",
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
		[
			{ ...spent, kind: "completed", continuations: 1 },
			undefined,
			"pi-turn-limit: completed after a question; spent: 5 turns, 1 tool call, $0.25.",
		],
	];
	for (const [outcome, notice, line] of outcomes) {
		test(`${outcome.kind}${outcome.advised ? ", advised" : ""}: a notice and a line, where there is something to say`, () => {
			assert.equal(wording.notice(outcome, false), notice);
			assert.equal(wording.line(outcome, source), line);
		});
	}

	test("a limit has acted also where it only asked", () => {
		assert.ok(limitActed({ ...spent, kind: "completed", continuations: 1 }));
		assert.ok(!limitActed({ ...spent, kind: "completed" }));
	});

	test("the breaker has failed only where it says so", () => {
		const failed = { ...spent, kind: "failed", message: "bug" } as const;
		assert.equal(isBroken({ ...failed, by: "breaker" }), true);
		assert.equal(isBroken({ ...failed, by: "provider" }), false);
		assert.equal(isBroken({ ...spent, kind: "completed" }), false);
	});

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
		const interrupted = new Driver({ turns: 3, grace: 2 }).prompt();
		interrupted.turns(1);
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

describe("the command", () => {
	test("says where every meter stands and where each setting comes from", () => {
		const run = new Driver({ turns: 25, toolCalls: 9, policy: "synthesize" });
		const settings = {
			maxTurns: { value: 25, source: "--turn-limit" },
			maxToolCalls: { value: 9, source: "PI_TURN_LIMIT_TOOLS" },
			policy: { value: "synthesize", source: "/turn-limit" },
			grace: { value: 0, source: "default" },
			askTimeout: { value: "unlimited", source: "default" },
			wrapUpMessage: { value: "", source: "default" },
		};
		run.send({ type: "limit_raised", meter: "turns", by: 10 });
		assert.equal(
			wording.status(run.state, settings),
			`turns           0 of 35 turns, synthesize      --turn-limit
tool calls      0 of 9 tool calls, synthesize  PI_TURN_LIMIT_TOOLS
policy          synthesize                     /turn-limit
grace           0                              default
time to answer  unlimited                      default
wrap-up text    built in                       default`,
		);
		run.prompt().request();
		run.call();
		run.send({ type: "limit_raised", meter: "toolCalls", by: 1 });
		const own = { ...settings, wrapUpMessage: { value: "Stop.", source: "wrapUpMessage in turn-limit.json" } };
		assert.equal(
			wording.status(run.state, own),
			`turns           1 of 35 turns, synthesize       --turn-limit
tool calls      1 of 10 tool calls, synthesize  PI_TURN_LIMIT_TOOLS
policy          synthesize                      /turn-limit
grace           0                               default
time to answer  unlimited                       default
wrap-up text    your own                        wrapUpMessage in turn-limit.json`,
		);
	});

	test("says what became of the wish to wrap up", () => {
		const run = new Driver({ turns: 1, policy: "synthesize", attended: true });
		assert.equal(wording.wrapUpText(run.state), "Nothing is running.");
		run.prompt().request();
		assert.equal(wording.wrapUpText(run.state), "The model will be told to wrap up with its next request.");
		run.end();
		assert.equal(wording.wrapUpText(run.state), "The model will be told to wrap up with its next request.");
		run.answer("no");
		assert.equal(wording.wrapUpText(run.state), "The run is ending already.");
		run.send({ type: "interrupted" });
		assert.equal(wording.wrapUpText(run.state), "The run is ending already.");
	});

	test("says for which round it has raised a limit", () => {
		const run = new Driver({ turns: 5, toolCalls: 1 });
		run.send({ type: "limit_raised", meter: "turns", by: 10 });
		assert.equal(wording.raisedText(run.state, "turns", 10), "10 turns more: 15 in the next run's first round.");
		run.prompt().request();
		run.send({ type: "limit_raised", meter: "toolCalls", by: 1 });
		assert.equal(wording.raisedText(run.state, "toolCalls", 1), "1 tool call more: 2 in this round.");
	});

	test("completes what can stand behind it", () => {
		assert.deepEqual(
			wording.COMPLETIONS.map(({ value, description }) => `${value}: ${description}`),
			[
				"25: turns until you are asked",
				"50: turns until you are asked",
				"unlimited: count turns, never ask",
				"+10: ten more turns, this round only",
				"tools 200: tool calls until you are asked",
				"tools unlimited: count tool calls, never ask",
				"policy abort: nobody continues: the run is aborted",
				"policy synthesize: nobody continues: one last answer, tools refused",
				"grace 2: tell the model to wrap up when 2 turns remain",
				"grace 0: never tell the model to wrap up",
				"wrap-up: tell the model to wrap up now",
			],
		);
	});
});

/** What a person reads in one situation, word for word. */
const SENTENCES: readonly [situation: string, said: string, sentence: string][] = [
	["the command in a list of commands", wording.COMMAND, "Show or set the limits of a run"],
	["a limit is set", wording.setText("turns", 50), "Turn limit set to 50."],
	["another limit is set", wording.setText("toolCalls", "unlimited"), "Tool limit set to unlimited."],
	["a policy is set", wording.setText("policy", "abort"), "Policy set to abort."],
	["a grace is set", wording.setText("grace", 3), "Grace set to 3."],
	[
		"a limit is none",
		wording.badArgument("turns", "ten"),
		'Invalid turn limit. Must be a positive integer, 0 (ask every time) or unlimited, not "ten". /turn-limit takes a number, unlimited, +n, tools, policy, grace, wrap-up.',
	],
	["a policy is none", wording.badArgument("policy", "x"), 'Invalid policy. Must be abort or synthesize, not "x".'],
	["a grace is none", wording.badArgument("grace", "x"), 'Invalid grace. Must be a whole number from 0, not "x".'],
	[
		"there is nothing to raise",
		wording.unlimitedText("toolCalls"),
		"Tool limit is unlimited; there is nothing to raise.",
	],
	[
		"a limit in a file was set anew",
		wording.changedLimit("maxTurns in turn-limit.json", undefined, 50),
		"maxTurns in turn-limit.json has changed since it was last read: it was not set and is now 50.",
	],
	[
		"a limit in a file is gone",
		wording.changedLimit("maxTurns in turn-limit.json", "unlimited", undefined),
		'maxTurns in turn-limit.json has changed since it was last read: it was "unlimited" and is now not set.',
	],
	[
		"a grace function gives nonsense",
		wording.badGrace("few", 2),
		'The grace function gave "few", not a number. Using 2.',
	],
	[
		"a message function gives nonsense",
		wording.badMessage(3),
		"The wrap-up message function gave 3, not a text. Using the built-in one.",
	],
	[
		"an option is none",
		wording.badOption("grace", -1, wording.ALLOWED.grace),
		"grace must be a whole number from 0, not -1.",
	],
	[
		"an option is no function",
		wording.badOption("onOutcome", 1, wording.ALLOWED.function),
		"onOutcome must be a function, not 1.",
	],
	[
		"there is no such option",
		wording.unknownOption("turn", ["turns", "grace"]),
		'There is no option "turn"; known are turns, grace.',
	],
	["a prompt starts no run", wording.NO_RUN, "The prompt started no run of a session that this limit guards."],
	[
		"an outcome could not be told",
		wording.unreported(["stderr: closed", "session: gone"]),
		"The outcome could not be told everywhere: stderr: closed; session: gone",
	],
	[
		"the extension is loaded twice",
		wording.LOADED_TWICE,
		"pi-turn-limit is loaded twice; this copy stays out of the way.",
	],
	["pi is too old", wording.HOST_TOO_OLD, "pi-turn-limit needs pi 0.87 or newer and does not guard this session."],
	[
		"a held call meets a reload",
		wording.RELOADED,
		"Not run: the extensions were reloaded meanwhile. Call it again if it is still needed.",
	],
	["--turn-limit in pi --help", wording.FLAGS.maxTurns, "Turns a run may take: a number or unlimited (default 25)"],
	[
		"--turn-limit-tools in pi --help",
		wording.FLAGS.maxToolCalls,
		"Tool calls a run may make: a number or unlimited (default unlimited)",
	],
	[
		"--turn-limit-policy in pi --help",
		wording.FLAGS.policy,
		"When nobody continues: abort, or synthesize one last answer (default abort)",
	],
	[
		"--turn-limit-grace in pi --help",
		wording.FLAGS.grace,
		"Turns left when the model is told to wrap up (default 2, 0 with a person)",
	],
];

describe("what is said when", () => {
	for (const [situation, said, sentence] of SENTENCES) test(situation, () => assert.equal(said, sentence));
});
