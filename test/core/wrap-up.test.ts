import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { snapshot } from "../../src/core/snapshot.ts";
import { type Max, METER_IDS, perMeter } from "../../src/core/meters.ts";
import { ABORT, advises, asks, Driver, EVENTS } from "./driver.ts";

const WISH = EVENTS.wrap_up_requested;

/** After how many turns the advice comes, with how many left; none for a run of `n` turns without it. */
function advisedAfter(run: Driver, n: number): string {
	for (let turn = 1; turn <= n; turn++) {
		const [said] = run.turns(1);
		if (typeof said === "object" && said.type === "advise") return `${turn}, ${said.remaining} left`;
	}
	return "none";
}

test("the wrap-up is due when grace turns remain, clamped to the turns there are", () => {
	const cases: [turns: Max, grace: number, expected: string, softLimit: number | undefined][] = [
		[5, 2, "3, 2 left", 3],
		[5, 1, "4, 1 left", 4],
		[5, 4, "1, 4 left", 1],
		[5, 5, "1, 4 left", 1],
		[5, 99, "1, 4 left", 1],
		[2, 1, "1, 1 left", 1],
		[2, 2, "1, 1 left", 1],
		[5, 0, "none", undefined],
		[1, 1, "none", undefined],
		[0, 1, "none", undefined],
		["unlimited", 2, "none", undefined],
	];
	for (const [turns, grace, expected, softLimit] of cases) {
		const run = new Driver({ turns, grace }).prompt();
		assert.equal(snapshot(run.state).turns.softLimit, softLimit, `${turns}, grace ${grace}`);
		assert.equal(advisedAfter(run, 6), expected, `${turns}, grace ${grace}`);
	}
});

test("it is given once per round, and the limit still holds", () => {
	const run = new Driver({ turns: 4, grace: 3 }).prompt();
	assert.deepEqual(run.turns(4), [advises("turns", 3), ABORT]);
	const outcome = run.settle();
	assert.deepEqual([outcome?.kind, outcome?.advised], ["exhausted", true]);
});

test("it is not due before the first turn has ended", () => {
	const run = new Driver({ turns: 6, grace: 5 }).prompt();
	assert.deepEqual(run.request(), ["admit"]);
	assert.deepEqual(run.end(), [advises("turns", 5)]);
});

test("it goes with a turn that nobody foresaw", () => {
	const run = new Driver({ turns: 2, grace: 1 }).prompt();
	run.request();
	assert.deepEqual(run.end(false), []);
	assert.deepEqual(run.request(), [advises("turns", 1), "admit"]);
});

test("nothing but turns brings the one about turns nearer", () => {
	const run = new Driver({ turns: 10, grace: 3 }).prompt();
	run.turns(6);
	run.request();
	for (const type of ["prompted", "message_lost", "answered"] as const) {
		for (let n = 0; n < 20; n++) assert.deepEqual(run.send(EVENTS[type]), []);
	}
	assert.deepEqual([run.calls(20), run.charge("cost", 99), run.used()], [[], [], 7]);
	assert.equal(run.state.advice, "armed");
});

test("a run that finishes on the turn after which it would be due is completed", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(2);
	run.request();
	assert.deepEqual(run.finish(), []);
	assert.equal(run.settle()?.kind, "completed");
});

test("a run that ends by itself after it is wrapped up", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(3);
	run.request();
	run.finish();
	const outcome = run.settle();
	assert.deepEqual("meter" in outcome! && [outcome.kind, outcome.meter, outcome.limit], ["wrapped_up", "turns", 5]);
});

test("a continuation arms it again and clears what came of it", () => {
	const asked = (): Driver => {
		const run = new Driver({ turns: 3, grace: 1, attended: true }).prompt();
		assert.deepEqual(run.turns(3), [advises("turns", 1), asks("turns")]);
		assert.deepEqual(run.answer("yes"), []);
		run.request();
		return run;
	};
	const again = asked();
	assert.equal(again.state.advice, "armed");
	assert.deepEqual([...again.end(), ...again.turns(1)], [advises("turns", 1)]);
	const finished = asked();
	finished.finish();
	assert.equal(finished.settle()?.kind, "completed");
});

test("a yes about another meter opens no new round for it", () => {
	const run = new Driver({ turns: 3, toolCalls: 0, grace: 2, attended: true }).prompt();
	assert.deepEqual(run.turns(1), [advises("turns", 2)]);
	run.request();
	run.call();
	run.answer("yes");
	run.call();
	assert.deepEqual(run.end(), []);
	assert.deepEqual(run.state.advice, { given: "turns" });
});

test("a new prompt arms it again; a run that an extension starts does not", () => {
	const run = new Driver({ turns: 3, grace: 2 }).prompt();
	assert.deepEqual(run.turns(1), [advises("turns", 2)]);
	run.settle();
	assert.deepEqual(run.turns(1), []);
	run.settle();
	assert.deepEqual(run.prompt().turns(1), [advises("turns", 2)]);
});

test("a grace or a limit that changes counts at the next check", () => {
	const widened = new Driver({ turns: 20, grace: 3 }).prompt();
	assert.deepEqual(widened.turns(16), []);
	widened.send({ type: "grace_set", grace: 8 });
	assert.deepEqual(widened.turns(1), [advises("turns", 3 + 1)]);
	widened.send({ type: "grace_set", grace: 19 });
	assert.deepEqual(widened.turns(2), [], "once per round");
	const lowered = new Driver({ turns: 20, grace: 2 }).prompt();
	lowered.turns(5);
	lowered.set("turns", 8);
	assert.deepEqual(lowered.turns(1), [advises("turns", 2)]);
	const raised = new Driver({ turns: 4, grace: 2 }).prompt();
	raised.turns(2);
	raised.set("turns", 9);
	assert.deepEqual(raised.turns(6), [], "once per round");
});

test("a limit that is set again after unlimited arms it, if its count restarts", () => {
	const run = new Driver({ turns: 3, grace: 2 }).prompt();
	run.turns(1);
	run.set("turns", "unlimited");
	run.set("turns", 3);
	assert.deepEqual(run.turns(1), [advises("turns", 2)]);
	const other = new Driver({ turns: 3, grace: 2 }).prompt();
	other.turns(1);
	other.set("toolCalls", 5);
	assert.deepEqual(other.state.advice, { given: "turns" });
});

describe("about an amount", () => {
	const charged = (cost: number, given = {}): Driver => {
		const run = new Driver({ turns: "unlimited", cost: 100, grace: 1, ...given }).prompt();
		run.request();
		run.charge("cost", cost);
		return run;
	};

	test("it is due when a tenth or less remains", () => {
		assert.deepEqual(charged(89).end(), []);
		assert.deepEqual(charged(90).end(), [advises("cost", 10)]);
		assert.deepEqual(charged(95).end(), [advises("cost", 5)]);
		assert.deepEqual(charged(8, { cost: 9 }).end(), [], "a tenth of 9 is less than 1");
	});

	test("it is given once per round in all, whichever meter is short first", () => {
		const run = charged(90, { turns: 3 });
		assert.deepEqual(run.end(), [advises("cost", 10)]);
		assert.deepEqual(run.turns(1), []);
		run.request();
		run.finish();
		const outcome = run.settle();
		assert.deepEqual("meter" in outcome! && [outcome.kind, outcome.meter, outcome.limit], ["wrapped_up", "cost", 100]);
	});

	test("it is never due for a grace of 0, without a limit, and where the limit leaves no room", () => {
		assert.deepEqual(charged(95, { grace: 0 }).end(), []);
		assert.deepEqual(charged(95, { cost: "unlimited" }).end(), []);
		assert.deepEqual(snapshot(new Driver({ cost: 1, grace: 1 }).state).cost.softLimit, undefined);
		assert.deepEqual(snapshot(new Driver({ cost: 2, grace: 1 }).state).cost.softLimit, 0.000002);
	});

	test("a continuation of that meter arms it again, one of another does not", () => {
		const run = charged(90, { toolCalls: 0, attended: true });
		run.end();
		run.request();
		run.call();
		run.answer("yes");
		assert.deepEqual(run.state.advice, { given: "cost" });
		run.charge("cost", 10);
		assert.deepEqual(run.end(), [asks("cost")]);
		run.answer("yes");
		assert.equal(run.state.advice, "armed");
	});

	test("lost to a compaction it is given again with what remains now", () => {
		const run = charged(90);
		run.end();
		run.charge("cost", 4);
		assert.deepEqual(run.send(EVENTS.message_lost), [advises("cost", 6)]);
	});
});

test("there is none about calls, which a wrap-up cannot save", () => {
	const run = new Driver({ toolCalls: 5, grace: 2 }).prompt();
	run.request();
	run.calls(4);
	assert.deepEqual(run.end(), []);
	assert.equal(snapshot(run.state).toolCalls.softLimit, undefined);
});

describe("asked for by the person", () => {
	test("it goes with the next request, whatever the limit", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.request();
		run.send(WISH);
		assert.deepEqual(run.end(), [advises("turns", "unlimited")]);
		assert.deepEqual(run.turns(3), []);
		const outcome = run.settle();
		assert.deepEqual(outcome?.kind === "wrapped_up" && outcome.limit, "unlimited");
	});

	test("at an open question it waits for a yes", () => {
		const run = new Driver({ turns: 1, attended: true }).prompt();
		run.turns(1);
		run.send(WISH);
		assert.deepEqual(run.answer("yes"), [advises("turns", 1)]);
	});

	test("it is still due when a limit takes the place of unlimited", () => {
		const run = new Driver({ turns: "unlimited" }).prompt();
		run.turns(1);
		run.request();
		run.send(WISH);
		run.set("turns", 9);
		assert.deepEqual(run.end(), [advises("turns", 9)]);
	});

	test("it is given again though it was given before", () => {
		const run = new Driver({ turns: 9, grace: 8 }).prompt();
		assert.deepEqual(run.turns(1), [advises("turns", 8)]);
		run.send(WISH);
		assert.deepEqual(run.turns(1), [advises("turns", 8)]);
	});
});

test("lost to a compaction it is given once more, and not before it was given", () => {
	const run = new Driver({ turns: 5, grace: 2 }).prompt();
	run.turns(2);
	assert.deepEqual(run.send(EVENTS.message_lost), []);
	run.turns(1);
	assert.deepEqual(run.send(EVENTS.message_lost), [advises("turns", 2)]);
	assert.deepEqual(run.turns(1), []);
});

test("a snapshot says of every meter where it stands and whether the wrap-up was about it", () => {
	const run = new Driver({ turns: 5, toolCalls: 3, grace: 2, policy: "synthesize" }).prompt();
	for (const id of METER_IDS) assert.equal(snapshot(run.state)[id].advised, false);
	run.turns(3);
	run.request();
	run.call();
	const policy = "synthesize";
	const unlimited = {
		used: 0,
		limit: "unlimited",
		remaining: "unlimited",
		policy,
		softLimit: undefined,
		advised: false,
	};
	assert.deepEqual(snapshot(run.state), {
		...perMeter(() => unlimited),
		repeats: { ...unlimited, used: 1 },
		sessionTurns: { ...unlimited, used: 4 },
		turns: { used: 4, limit: 5, remaining: 1, policy, softLimit: 3, advised: true },
		toolCalls: { used: 1, limit: 3, remaining: 2, policy, softLimit: undefined, advised: false },
	});
});
