/** Limits that agents share. What holds for them as for all others stands in meters.test.ts. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "../../src/core/breaker.ts";
import { isEndAwaited } from "../../src/core/gate.ts";
import { readMeter } from "../../src/core/limit.ts";
import { isShared, kindOf, METER_IDS, type MeterId, SHARED } from "../../src/core/meters.ts";
import { ABORT, advises, asks, CLOSE, Driver, EVENTS, type Given, RESUME, sum, SYNTHESIZE } from "./driver.ts";

const RESERVE = { type: "reserve" } as const;
const REQUEST = { type: "turn_requested" } as const;
const LOCKED = "The ledger is locked.";

/** Nothing but these limits. */
function limited(given: Given): Driver {
	return new Driver({ turns: "unlimited", ...given }).prompt();
}

/** A run that waits for the ledger. */
function waiting(given: Given = {}): Driver {
	const run = limited({ dayTurns: 9, ...given });
	assert.deepEqual(run.ask(REQUEST), [RESERVE, "wait"]);
	return run;
}

/** A run for whose next turn the ledger holds room. */
function held(given: Given = {}): Driver {
	const run = waiting(given);
	run.send(run.ledger.reserve(run.state));
	return run;
}

/** A run whose ledger cannot be used, after `turns` turns with it. */
function without(given: Given = {}, turns = 0): Driver {
	const run = limited({ dayTurns: 9, ...given });
	run.turns(turns);
	run.ledger.fault = LOCKED;
	return run;
}

test("tree, periods and budget are shared, the widest first, and nothing else is", () => {
	const widest = ["budget", "month", "week", "day", "tree"].flatMap((scope) => [
		`${scope}Turns`,
		`${scope}Cost`,
		`${scope}Tokens`,
	]);
	assert.deepEqual(SHARED, widest);
	assert.deepEqual(new Set(METER_IDS.filter((id) => isShared(id))), new Set(SHARED));
});

describe("a fleet's budget", () => {
	test("at its limit nobody is asked, although somebody is there: the policy applies", () => {
		for (const [policy, said] of [
			["abort", ["abort"]],
			["synthesize", [SYNTHESIZE, "admit"]],
		] as const) {
			const run = limited({ budgetTurns: 2, attended: true, policy });
			run.turns(2);
			assert.deepEqual(run.request(), said);
		}
	});

	test("nobody here can raise it, in a run or between runs", () => {
		const run = limited({ budgetTurns: 1, attended: true });
		assert.deepEqual(run.raise("budgetTurns", 5), []);
		run.turns(1);
		assert.deepEqual(run.raise("budgetTurns", 5), []);
		assert.deepEqual(run.request(), ["abort"]);
	});

	test("that cannot be reached is asked about, and a yes goes on without it", () => {
		const run = limited({ budgetTurns: 1, attended: true });
		run.ledger.fault = LOCKED;
		assert.deepEqual(run.request(), [asks("budgetTurns"), "wait"]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.turns(3), []);
	});
});

describe("the ledger", () => {
	test("is asked before every turn where something is shared, and by no other run", () => {
		const run = limited({ dayTurns: 9 });
		run.turns(3);
		assert.deepEqual(run.ledger.log, ["reserve", "reserve", "reserve"]);
		const alone = limited({ sessionTurns: 9 });
		alone.turns(3);
		assert.deepEqual(alone.ledger.log, []);
	});

	test("is not asked about the repetition of a failed turn, nor in the final pass", () => {
		const run = limited({ dayTurns: 1, policy: "synthesize" });
		run.request();
		run.fail();
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.turns(1), [SYNTHESIZE]);
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.ledger.log, ["reserve", "reserve"]);
		assert.equal(run.used("dayTurns"), 3, "final turns count for the day");
	});

	test("is asked again for every turn: what it held is used up", () => {
		const run = held();
		assert.deepEqual(run.ask(REQUEST), ["admit"]);
		assert.deepEqual(run.ask(REQUEST), [RESERVE, "wait"]);
	});

	test("has the last word on what is used and granted, by whomever", () => {
		const run = limited({ dayTurns: 5, treeTurns: 9 });
		run.turns(1);
		run.send({ type: "balanced", balances: { dayTurns: { used: 4, cap: 7 }, treeTurns: { used: 2, cap: 3 } } });
		assert.deepEqual(readMeter(run.state.meters.dayTurns), { used: 4, limit: 7, remaining: 3, policy: "abort" });
		assert.equal(readMeter(run.state.meters.treeTurns).limit, 3, "the tree's own limit is lower than ours");
	});

	test("says nothing of what is not limited, or only partly told", () => {
		const run = limited({ dayTurns: 5 });
		run.turns(1);
		const { dayTurns, dayCost } = run.state.meters;
		run.send({ type: "balanced", balances: { dayCost: { used: 4, cap: 7 } } });
		assert.deepEqual([run.state.meters.dayTurns, run.state.meters.dayCost], [dayTurns, dayCost]);
	});

	test("counts others too: what they have spent is gone for this run", () => {
		const run = limited({ dayTurns: 5 });
		run.turns(2);
		run.ledger.spend("turns", 3);
		assert.deepEqual(run.request(), ["abort"]);
		assert.equal(run.used("dayTurns"), 5);
		const end = run.settle();
		assert.deepEqual(end, { ...sum({ turns: 2 }), kind: "exhausted", meter: "dayTurns", limit: 5 });
	});

	test("can be waited for while a limit goes: its answer about that one changes nothing", () => {
		const run = waiting({ attended: true });
		run.set("dayTurns", "unlimited");
		const before = run.state;
		assert.deepEqual(run.send(EVENTS.filled), []);
		assert.equal(run.state, before);
		assert.deepEqual(run.ask(REQUEST), ["admit"]);
	});

	test("is not heard twice: once room is held, neither a full nor an unusable ledger takes it back", () => {
		const run = held({ attended: true });
		const before = run.state;
		for (const event of [EVENTS.filled, EVENTS.unreachable]) assert.deepEqual(run.send(event), []);
		assert.equal(run.state, before);
	});

	test("can be waited for while somebody interrupts: the turn is aborted, and what is held late is released", () => {
		const run = waiting();
		assert.deepEqual(run.send(EVENTS.interrupted), []);
		const late = run.ledger.reserve(run.state);
		assert.deepEqual(run.send(late), []);
		assert.deepEqual(run.ledger.log, ["reserve", "release"]);
		assert.deepEqual(run.ask(REQUEST), ["abort"]);
		assert.deepEqual(run.settle(), { ...sum(), kind: "interrupted" });
	});
});

describe("what is held", () => {
	const leave: [string, (run: Driver) => unknown, phase: string][] = [
		["an interruption", (run) => run.send(EVENTS.interrupted), "stopped"],
		["a failure of the breaker", (run) => run.send(EVENTS.broke), "stopped"],
		["the end of the session", (run) => run.send(EVENTS.shut_down), "idle"],
		["a host that settles", (run) => run.settle(), "idle"],
		["a call that meets its limit", (run) => run.call(), "stopped"],
	];
	for (const [what, happens, phase] of leave) {
		test(`is released by ${what}`, () => {
			const run = held({ toolCalls: 0 });
			happens(run);
			assert.deepEqual([run.phase, run.ledger.log], [phase, ["reserve", "release"]]);
			assert.ok(run.state.phase.name === "idle" || !run.state.phase.run.isHeld);
		});
	}

	test("is released before a question about a limit of the run's own opens, and held anew after the yes", () => {
		const run = limited({ dayTurns: 9, turns: 1, attended: true });
		run.request();
		run.end(false);
		run.ask(REQUEST);
		run.send(run.ledger.reserve(run.state));
		assert.deepEqual(decide(run.state, REQUEST).slice(1), ["wait", [{ type: "release" }, asks("turns")]]);
		assert.deepEqual(run.ask(REQUEST), [asks("turns"), "wait"]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.ask(REQUEST), [RESERVE, "wait"]);
	});

	test("is released before a run of which a limit of its own is reached is stopped or answers", () => {
		for (const [policy, said] of [
			["abort", ["abort"]],
			["synthesize", [SYNTHESIZE, "admit"]],
		] as const) {
			const run = limited({ dayTurns: 9, turns: 1, policy });
			run.request();
			run.end(false);
			assert.deepEqual(run.request(), said);
			assert.deepEqual(run.ledger.log, ["reserve", "reserve", "release"]);
		}
	});

	for (const phase of ["idle", "asking", "finishing", "stopped"]) {
		test(`comes too late for a run that is ${phase}, and is released`, () => {
			const run = limited({ dayTurns: 1, attended: phase === "asking", policy: "synthesize" });
			if (phase !== "idle") run.turns(1);
			if (phase !== "idle") run.request();
			if (phase === "stopped") run.send(EVENTS.interrupted);
			assert.equal(run.phase, phase);
			run.ledger.log.length = 0;
			const before = run.state;
			assert.deepEqual(run.send({ type: "held", balances: { dayTurns: { used: 0, cap: 5 } } }), []);
			assert.equal(run.state, before);
			assert.deepEqual(run.ledger.log, ["release"]);
		});
	}
});

describe("the outermost limit first", () => {
	test("with a round and a day full at once the person is asked about the day, then about the round", () => {
		const run = limited({ turns: 1, dayTurns: 1, attended: true });
		run.request();
		assert.equal(isEndAwaited(run.state), false, "the end of the turn decides nothing");
		assert.deepEqual(run.end(), [], "only the ledger knows whether the day is still full");
		assert.deepEqual(run.request(), [asks("dayTurns"), "wait"]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.request(), [asks("turns"), "wait"]);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.request(), ["admit"]);
		assert.deepEqual(run.ledger.log, [
			...["reserve", "reserve", "raise dayTurns by 1"],
			...["reserve", "release", "reserve"],
		]);
	});

	test("a yes about the round does not ask about the next limit of the run's own while the day is full", () => {
		const run = limited({ turns: 1, sessionTurns: 1, dayTurns: 5, attended: true });
		run.request();
		assert.deepEqual(run.end(), [asks("sessionTurns")]);
		run.send({ type: "balanced", balances: { dayTurns: { used: 5, cap: 5 } } });
		assert.deepEqual(run.answer("yes"), []);
	});

	test("a day before a tree, whichever meter", () => {
		for (const day of SHARED.filter((id) => kindOf(id).scope === "day")) {
			const run = limited({ treeTurns: 0, [day]: 0, attended: true });
			assert.deepEqual(run.request(), [asks(day), "wait"]);
			run.answer("yes");
			assert.deepEqual(run.request(), [asks("treeTurns"), "wait"]);
		}
	});
});

describe("a member", () => {
	for (const id of SHARED) {
		test(`is never asked about ${id}, also with a person: its policy applies`, () => {
			for (const policy of ["abort", "synthesize"] as const) {
				const run = limited({ [id]: 2, policy, attended: true, isMember: true });
				run.spend("turn", id, 2);
				assert.deepEqual(run.knock("turn", id), policy === "abort" ? ["abort"] : [SYNTHESIZE]);
				run.finish();
				assert.equal(run.settle()?.kind, policy === "abort" ? "exhausted" : "synthesized");
			}
		});

		test(`cannot raise ${id}, in a run or between two`, () => {
			const run = limited({ [id]: 2, isMember: true, attended: true });
			for (const between of [true, false]) {
				if (!between) run.request();
				const before = run.state;
				run.raise(id, 5);
				assert.equal(run.state, before);
			}
			assert.deepEqual(run.ledger.log, ["reserve"]);
		});
	}

	test("is asked about its own limits", () => {
		const run = limited({ turns: 1, sessionTurns: 9, attended: true, isMember: true });
		assert.deepEqual(run.turns(1), [asks("turns")]);
		run.raise("turns", 1);
		assert.equal(readMeter(run.state.meters.turns).limit, 2);
	});

	test("is not asked whether to go on without the ledger: it stops", () => {
		const run = without({ attended: true, isMember: true });
		assert.deepEqual(run.request(), [ABORT, "abort"]);
	});
});

describe("a ledger that cannot be used", () => {
	const failed = { kind: "failed", by: "breaker", message: LOCKED } as const;

	test("without a person it stops the run", () => {
		for (const policy of ["abort", "synthesize"] as const) {
			const run = without({ policy }, 2);
			assert.deepEqual(run.request(), [ABORT, "abort"]);
			assert.deepEqual(run.settle(), { ...sum({ turns: 2 }), ...failed });
		}
	});

	test("is asked about, as the widest limit that is set", () => {
		for (const [given, id] of [
			[{}, "dayTurns"],
			[{ dayTurns: "unlimited", treeCost: 9 }, "treeCost"],
		] as [Given, MeterId][]) {
			const run = without({ ...given, attended: true });
			assert.deepEqual(run.request(), [asks(id), "wait"]);
			assert.equal(run.state.phase.name === "asking" && run.state.phase.unreachable, LOCKED);
		}
	});

	test("after a yes the run goes on without it, and it is tried again for each turn", () => {
		const run = without({ attended: true });
		run.request();
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(run.turns(3), []);
		assert.equal(run.used("dayTurns"), 3, "as far as we know");
		run.ledger.fault = undefined;
		run.ledger.spend("turns", 6);
		assert.deepEqual(run.request(), [asks("dayTurns"), "wait"], "back again it holds its limit");
		assert.equal(run.ledger.log.filter((word) => word === "reserve").length, 5);
		run.answer("no");
		const end = run.settle();
		assert.deepEqual([end?.kind, end?.continuations], ["declined", 1]);
	});

	test("the yes is for this run: the next one asks again", () => {
		const run = without({ attended: true });
		run.request();
		run.answer("yes");
		run.request();
		run.finish();
		run.settle();
		assert.deepEqual(run.prompt().request(), [asks("dayTurns"), "wait"]);
	});

	test("any answer but yes stops the run as a failure of the breaker", () => {
		for (const answer of ["no", "none", "wrap_up", "stop"] as const) {
			const run = without({ attended: true, policy: "synthesize" }, 1);
			run.request();
			assert.deepEqual(run.answer(answer), [ABORT], "the question is answered, so it need not be closed");
			assert.deepEqual(run.settle(), { ...sum({ turns: 1 }), ...failed });
		}
	});

	test("a session that ends at that question ends the run as a failure too", () => {
		const run = without({ attended: true });
		run.request();
		const outcome = { ...sum(), ...failed };
		assert.deepEqual(run.send(EVENTS.shut_down), [CLOSE, ABORT, { type: "end", outcome, repeated: false }]);
	});

	test("after the stop a run that nobody prompted is refused without a question, and reported once", () => {
		for (const attended of [true, false]) {
			const run = without({ attended });
			run.request();
			if (attended) run.answer("no");
			run.settle();
			for (const repeated of [false, true]) {
				assert.deepEqual(run.request(), [ABORT, "abort"]);
				const [end] = run.send(EVENTS.settled);
				assert.equal(end?.type === "end" && end.repeated, repeated);
			}
			run.ledger.fault = undefined;
			assert.deepEqual(run.request(), ["admit"], "once the ledger is back it may begin");
		}
	});

	test("goes unnoticed where nothing is shared any more", () => {
		const run = waiting();
		run.set("dayTurns", "unlimited");
		assert.deepEqual(run.send(EVENTS.unreachable), []);
		assert.deepEqual(run.ask(REQUEST), ["admit"]);
	});
});

describe("+n", () => {
	test("on a day is raised at once, between runs too", () => {
		const run = limited({ dayTurns: 1 });
		run.raise("dayTurns", 2);
		assert.deepEqual(run.ledger.log, ["raise dayTurns by 2"]);
		assert.equal(readMeter(run.state.meters.dayTurns).limit, 3);
		run.turns(3);
		assert.deepEqual(run.request(), ["abort"]);
	});

	test("on a tree between runs is promised to the next run", () => {
		const run = limited({ treeTurns: 1 });
		run.raise("treeTurns", 2);
		assert.deepEqual([run.ledger.log, readMeter(run.state.meters.treeTurns).limit], [[], 1]);
		run.turns(3);
		assert.equal(readMeter(run.state.meters.treeTurns).limit, 3);
		assert.deepEqual(run.request(), ["abort"]);
		assert.ok(!run.ledger.log.some((word) => word.startsWith("raise")), "the tree begins with it");
	});

	test("on a tree between runs reaches the ledger with a run that goes on in that tree", () => {
		const run = limited({ treeTurns: 1, dayTurns: 9 });
		run.turns(1);
		run.request();
		run.settle();
		run.raise("treeTurns", 2);
		assert.deepEqual(run.turns(2), []);
		assert.deepEqual(run.request(), ["abort"]);
		assert.deepEqual(
			run.ledger.log.filter((word) => word.startsWith("raise")),
			["raise treeTurns by 2"],
		);
	});

	test("in a run is raised in the ledger, and answers the question or ends the final pass", () => {
		for (const [attended, effect] of [
			[true, CLOSE],
			[false, RESUME],
		] as const) {
			const run = limited({ treeTurns: 1, policy: "synthesize", attended });
			run.turns(1);
			run.request();
			assert.deepEqual(run.raise("treeTurns", 4), [effect]);
			assert.deepEqual(run.ledger.log.at(-1), "raise treeTurns by 4");
			assert.deepEqual(run.request(), ["admit"]);
		}
	});
});

describe("a prompt", () => {
	test("begins a new tree's count, and goes on with the day's", () => {
		for (const [id, said] of [
			["treeTurns", ["admit"]],
			["dayTurns", ["abort"]],
		] as const) {
			const run = limited({ [id]: 2 });
			run.turns(1);
			run.request();
			run.finish();
			run.settle();
			assert.deepEqual(run.prompt().request(), said);
		}
	});

	test("is what begins a tree: a run that nobody prompted goes on in the old one", () => {
		const run = limited({ treeTurns: 2 });
		run.turns(1);
		run.request();
		run.finish();
		run.settle();
		assert.deepEqual(run.request(), ["abort"]);
	});
});

describe("the wrap-up", () => {
	for (const id of METER_IDS.filter((id) => kindOf(id).gates[0] === "turn" && kindOf(id).known === "before")) {
		test(`about ${id} goes with the turn that is one of the last two`, () => {
			const run = limited({ [id]: 5, grace: 2 });
			assert.deepEqual(run.turns(2), []);
			assert.deepEqual(run.request(), ["admit"]);
			assert.deepEqual(run.end(), [advises(id, 2)]);
		});

		test(`about ${id} goes with a turn that nobody foresaw`, () => {
			const run = limited({ [id]: 2, grace: 1 });
			run.request();
			run.end(false);
			assert.deepEqual(run.request(), [advises(id, 1), "admit"]);
		});
	}

	test("about what is shared counts what others spend", () => {
		const run = limited({ dayTurns: 9, grace: 2 });
		run.request();
		run.ledger.spend("turns", 6);
		assert.deepEqual([...run.end(), ...run.request()], [advises("dayTurns", 2), "admit"]);
	});
});
