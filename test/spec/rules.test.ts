/** Every rule of the spec once, by name, on the smallest run that shows it; what it must do is written out. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Effect, Event } from "../../src/core/state.ts";
import * as core from "../core/driver.ts";
import { ABORT, ASK_CALLS, ASK_TURNS, CLOSE, HOLD, outcome, REFUSE, SYNTHESIZE } from "../core/driver.ts";
import { Sides } from "./sides.ts";

/** A driver of core and spec at once. */
class Driver extends core.Driver {
	readonly #sides: Sides;
	/** The rules that the last event has put into effect. */
	rules: readonly string[] = [];

	constructor({ turns = 25, toolCalls = "unlimited", policy = "abort", grace = 0, attended = false }: core.Given = {}) {
		super();
		this.#sides = new Sides(attended);
		this.state = this.#sides.state;
		this.send({ type: "limit_set", meter: "turns", max: turns });
		this.send({ type: "limit_set", meter: "toolCalls", max: toolCalls });
		this.send({ type: "policy_set", meter: "turns", policy });
		this.send({ type: "policy_set", meter: "toolCalls", policy });
		this.send({ type: "grace_set", grace });
	}

	override send(event: Event): readonly Effect[] {
		const { after, effects, rules } = this.#sides.send(event);
		this.state = after;
		this.rules = rules;
		return effects;
	}

	/** What was done, and how the run ended. */
	ended(event: Event): string {
		const effects = this.send(event);
		return [...effects.map(({ type }) => type), outcome(effects)?.kind].join(" ");
	}
}

/** The last event of `happens` puts the rule into effect, and what it gives is what the rule is to give. */
function rule(sentence: string, run: Driver, happens: (run: Driver) => unknown, expected: unknown): void {
	test(sentence, () => {
		assert.deepEqual(happens(run), expected);
		assert.ok(run.rules.includes(sentence.split(":")[0]!), `instead: ${run.rules.join(", ")}`);
	});
}

const advise = (remaining: number): Effect => ({ type: "advise", remaining });
const set = (max: number | "unlimited"): Event => ({ type: "limit_set", meter: "turns", max });
const raised = (by: number): Event => ({ type: "limit_raised", meter: "turns", by });

const FAILED: Event = { type: "turn_failed", message: "overloaded" };
const BROKE: Event = { type: "broke", message: "bug" };
const LOST: Event = { type: "message_lost" };
const INTERRUPTED: Event = { type: "interrupted" };
const SETTLED: Event = { type: "settled" };
const SHUT_DOWN: Event = { type: "shut_down" };

const idle = (given?: core.Given): Driver => new Driver(given);

/** In the first turn of a person's run. */
const running = (given?: core.Given): Driver => {
	const run = idle(given).prompt();
	run.request();
	return run;
};

/** Asked about its one turn. */
const asked = (given?: core.Given): Driver => {
	const run = running({ turns: 1, attended: true, ...given });
	run.end();
	return run;
};

/** In the final pass, of which no turn has started. */
const finishing = (): Driver => {
	const run = running({ turns: 1, policy: "synthesize" });
	run.end();
	return run;
};

const stopped = (given?: core.Given): Driver => {
	const run = running({ turns: 1, ...given });
	run.end();
	return run;
};

// Sessions and runs

test("SessionStarts: 25 turns, any number of tool calls, a wrap-up only where nobody can be asked", () => {
	for (const attended of [true, false]) {
		const { meters, grace, advice, phase } = new Sides(attended).state;
		assert.deepEqual(meters.turns, { limit: { max: 25, policy: "abort" }, used: 0, extra: 0 });
		assert.deepEqual(meters.toolCalls, { limit: { max: "unlimited", policy: "abort" }, used: 0, extra: 0 });
		assert.equal(grace, attended ? 0 : 2);
		assert.deepEqual([advice, phase.name], ["armed", "idle"]);
	}
});

rule(
	"PersonPrompts: nothing happens until a turn is requested",
	idle(),
	(run) => [run.send({ type: "prompted" }), run.phase],
	[[], "idle"],
);
rule(
	"PromptRefills: the run after a person's prompt starts from 0",
	stopped(),
	(run) => [run.settle()?.kind, run.prompt().request(), run.used()],
	["exhausted", [], 1],
);
rule(
	"UnpromptedRunCountsOn: a run that nobody prompted goes on where the last one ended",
	running({ turns: 2 }),
	(run) => [run.end(false), run.settle()?.turns, run.request(), run.used()],
	[[], 1, [], 2],
);
rule(
	"RunStarts: a new run has spent nothing yet",
	running(),
	(run) => {
		run.send({ type: "charged", cost: 1 });
		run.settle();
		run.request();
		return run.state.phase.name === "running" && run.state.phase.run.spent;
	},
	{ turns: 1, toolCalls: 0, cost: 0, continuations: 0, advised: false },
);
rule(
	"CostIsCharged: what a response costs is added up",
	running(),
	(run) => {
		run.send({ type: "charged", cost: 1 });
		run.send({ type: "charged", cost: 2 });
		return run.state.phase.name === "running" && run.state.phase.run.spent.cost;
	},
	3,
);
rule("RunSettles: a run that ends by itself is completed", running(), (run) => run.ended(SETTLED), "end completed");
rule(
	"HostSettlesAtTheQuestion: a question that outlives its run was not answered",
	asked(),
	(run) => run.ended(SETTLED),
	"close_question abort end declined",
);

// Turns

rule("TurnIsHeld: a turn requested while a question is open waits", asked(), (run) => run.request(), [HOLD]);
rule(
	"TurnIsRepeated: the repetition of a failed turn is not counted",
	running({ turns: 1 }),
	(run) => [run.send(FAILED), run.request(), run.used()],
	[[], [], 1],
);
rule("TurnIsRequested: a turn that is requested reaches the boundary", stopped(), (run) => run.request(), [ABORT]);
rule("TurnEnds: a turn that is not the last is followed by the gate", running({ turns: 1 }), (run) => run.end(), [
	ABORT,
]);
rule(
	"TurnIsBrokenOff: a turn that fails for good fails the run",
	running(),
	(run) => [run.send(FAILED), run.state.phase.name === "running" && run.state.phase.run.turn],
	[[], { failed: "overloaded" }],
);
rule("TurnStarts: a turn below the limit is counted", idle().prompt(), (run) => [run.request(), run.used()], [[], 1]);
rule(
	"FinalTurnStarts: a turn of the final pass counts for the run and not for the round",
	finishing(),
	(run) => [run.request(), run.used(), run.state.phase.name === "finishing" && run.state.phase.run.spent.turns],
	[[], 1, 2],
);
rule(
	"RequestIsCounted: what is admitted is counted on its own meter",
	running(),
	(run) => [run.call(), run.used("toolCalls"), run.used()],
	[[], 1, 1],
);

// Between two turns

rule("TurnMeetsTheGate: after N turns", running({ turns: 1, attended: true }), (run) => run.end(), [ASK_TURNS]);
rule("WrapUpIsAdvised: while grace turns remain", running({ turns: 3, grace: 2 }), (run) => run.end(), [advise(2)]);
rule("TurnIsFree: below the limit a turn just starts", running({ turns: 2 }), (run) => [run.end(), run.request()], [
	[],
	[],
]);
rule(
	"FinalPassIsAnnounced: the model is told that an answer is due",
	running({ turns: 1, policy: "synthesize" }),
	(run) => run.end(),
	[SYNTHESIZE],
);
rule("FinalTurnIsFree: once it has been told, it may answer", finishing(), (run) => run.request(), []);
rule("FinalPassIsSpent: two turns without an answer are the last", finishing(), (run) => run.turns(2), [ABORT]);
rule("StoppedRunIsAborted: at every boundary", running({ turns: 1 }), (run) => run.end(), [ABORT]);

// Tool calls

rule("ToolCallIsHeld: a call requested while a question is open waits", asked(), (run) => run.call(), [HOLD]);
rule(
	"ToolCallStarts: a call below the limit is counted, and remembered for the question",
	running({ toolCalls: 1 }),
	(run) => [
		run.call("bash ls"),
		run.used("toolCalls"),
		run.state.phase.name === "running" && run.state.phase.run.lastCall,
	],
	[[], 1, "bash ls"],
);
rule("ToolCallMeetsTheGate: after M calls", running({ toolCalls: 1, attended: true }), (run) => run.calls(2), [
	ASK_CALLS,
]);
rule("ToolCallIsRefused: in the final pass and once the run is stopped", finishing(), (run) => run.call(), [REFUSE]);

// The decision

rule("LimitReached: a person is asked", running({ turns: 1, attended: true }), (run) => run.end(), [ASK_TURNS]);
rule("LimitReachedUnattended: nobody is asked", running({ turns: 1 }), (run) => run.end(), [ABORT]);
rule("RunContinues: a yes opens a new round", asked(), (run) => [run.answer("yes"), run.used(), run.phase], [
	[],
	0,
	"running",
]);
rule("ContinuationDeclined: a no stops the run", asked(), (run) => [run.answer("no"), run.phase], [[ABORT], "stopped"]);
rule(
	"LimitStopsTheRun: also under the policy synthesize, if there was no turn to answer from",
	idle({ turns: 0, policy: "synthesize" }).prompt(),
	(run) => [run.request(), run.used()],
	[[ABORT], 0],
);
rule(
	"FinalPassBegins: nobody continues, and an answer is due",
	asked({ policy: "synthesize" }),
	(run) => [run.answer("none"), run.phase],
	[[SYNTHESIZE], "finishing"],
);
rule("TurnIsDecided: the turn at the gate is aborted", idle({ turns: 0 }).prompt(), (run) => run.request(), [ABORT]);
rule(
	"ToolCallIsDecided: the call at the gate is refused, and nothing is aborted yet",
	running({ toolCalls: 0 }),
	(run) => run.call(),
	[REFUSE],
);

// What the model is told

rule(
	"WrapUpIsRequested: the person's wish goes with the next request",
	running({ turns: 9 }),
	(run) => [run.send({ type: "wrap_up_requested" }), run.state.advice],
	[[], "requested"],
);
rule(
	"LostWrapUpIsAdvisedAgain: a compaction took it",
	running({ turns: 3, grace: 2 }),
	(run) => [run.end(), run.send(LOST)],
	[[advise(2)], [advise(2)]],
);
rule("LostDemandIsMadeAgain: a compaction took it", finishing(), (run) => run.send(LOST), [SYNTHESIZE]);

// Limits

rule(
	"LimitDisabled: without a limit nothing is gated, and the count goes on",
	running({ turns: 1 }),
	(run) => [run.send(set("unlimited")), run.used()],
	[[], 1],
);
rule(
	"LimitReEnabled: a limit that follows unlimited starts from 0",
	running({ turns: "unlimited" }),
	(run) => [run.send(set(3)), run.used()],
	[[], 0],
);
rule(
	"LimitChanged: another number leaves the count alone",
	running({ turns: 9 }),
	(run) => [run.send(set(3)), run.used()],
	[[], 1],
);
rule(
	"RoundIsRaised: this round only, counted from what is spent",
	running({ turns: 9 }),
	(run) => {
		run.turns(2);
		run.send(set(1));
		return [run.send(raised(2)), run.state.meters.turns.extra];
	},
	[[], 4],
);
rule(
	"NextRoundIsRaised: between runs the grant waits for the next",
	idle({ turns: 1 }),
	(run) => [run.send(raised(2)), run.state.meters.turns.extra],
	[[], 0],
);
rule(
	"LimitMakesRoom: a limit raised at an open question answers it",
	asked(),
	(run) => [run.send(raised(1)), run.used(), run.phase],
	[[CLOSE], 1, "running"],
);
rule(
	"PolicyChanges: the policy belongs to one limit",
	running(),
	(run) => {
		run.send({ type: "policy_set", meter: "toolCalls", policy: "synthesize" });
		const { turns, toolCalls } = run.state.meters;
		return [turns.limit.policy, toolCalls.limit.policy];
	},
	["abort", "synthesize"],
);
rule(
	"GraceChanges: and counts at the next check",
	running({ turns: 3 }),
	(run) => [run.send({ type: "grace_set", grace: 2 }), run.state.grace],
	[[], 2],
);

// Stops from outside

rule("RunIsInterrupted: the user aborted", running(), (run) => [run.send(INTERRUPTED), run.phase], [[], "stopped"]);
rule("BreakerFails: the run is aborted", running(), (run) => [run.send(BROKE), run.phase], [[ABORT], "stopped"]);
rule("BreakerFailsAfterTheStop: the run is aborted again", stopped(), (run) => run.send(BROKE), [ABORT]);
rule(
	"SessionEnds: in the middle of a run, which is aborted",
	running(),
	(run) => run.ended(SHUT_DOWN),
	"abort end interrupted",
);
rule(
	"SessionEndsAtTheQuestion: nobody answered",
	asked(),
	(run) => run.ended(SHUT_DOWN),
	"close_question abort end declined",
);
rule("SessionEndsAfterTheStop: the verdict stands", stopped(), (run) => run.ended(SHUT_DOWN), "abort end exhausted");
rule("RunIsStopped: a final pass that is interrupted too", finishing(), (run) => [run.send(INTERRUPTED), run.phase], [
	[],
	"stopped",
]);
rule("RunIsStoppedAtTheQuestion: the question is closed", asked(), (run) => run.send(BROKE), [CLOSE, ABORT]);
