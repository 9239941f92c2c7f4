import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Call } from "../../src/core/meters.ts";
import { cycleLength, extend, NO_STREAK, repetitions } from "../../src/core/streak.ts";
import { asks, Driver, type Said } from "./driver.ts";

const call = (tool: string, input: unknown = {}): Call => ({ tool, input });

/** What is said to calls of these tools in a row, a letter each. */
function make(run: Driver, letters: string): readonly Said[] {
	return Array.from(letters, (letter) => run.call(call(letter))).flat();
}

function started(given: ConstructorParameters<typeof Driver>[0]): Driver {
	const run = new Driver({ turns: "unlimited", ...given }).prompt();
	run.request();
	return run;
}

const admitted = (n: number): readonly Said[] => Array.from({ length: n }, () => "admit" as const);

describe("repetitions", () => {
	for (const [letters, times] of [
		["A", 1],
		["AB", 1],
		["AA", 2],
		["AAAAA", 5],
		["AAAAB", 1],
		["ABAB", 2],
		["ABABA", 1],
		["ABABAB", 3],
		["ABCABC", 2],
		["ABCABCAB", 1],
		["ABCABCABC", 3],
		["ABCDABCD", 1],
		["AABAAB", 2],
		["ABABAA", 2],
	] as const) {
		test(`${letters} completes ${times}`, () => {
			const streak = Array.from(letters, (letter) => call(letter)).reduce(extend, NO_STREAK);
			assert.equal(repetitions(streak), times);
		});
	}

	test("arguments in another order are the same call, other arguments are not", () => {
		const first = call("t", { a: 1, b: { c: [{ x: 1, y: 2 }], d: null } });
		const again = call("t", { b: { d: null, c: [{ y: 2, x: 1 }] }, a: 1 });
		const others = [call("t", { a: 1, b: { c: [], d: null } }), call("u", first.input), call("t", ["a", "b"])];
		assert.equal(repetitions([first, again].reduce(extend, NO_STREAK)), 2);
		for (const other of others) assert.equal(repetitions([first, other].reduce(extend, NO_STREAK)), 1);
		assert.equal(repetitions([call("t", [1, 2]), call("t", [2, 1])].reduce(extend, NO_STREAK)), 1);
	});
});

describe("at the limit of repeats", () => {
	test("a person is asked before the call that would be one more, and a yes starts over", () => {
		const run = started({ repeats: 2, attended: true });
		assert.deepEqual(make(run, "AAA"), [...admitted(2), asks("repeats"), "wait"]);
		assert.equal(run.used("repeats"), 2);
		assert.deepEqual(run.answer("yes"), []);
		assert.deepEqual(make(run, "AAA"), [...admitted(2), asks("repeats"), "wait"]);
		assert.deepEqual(run.answer("no"), []);
		assert.deepEqual(make(run, "A"), ["refuse"]);
		assert.equal(run.settle()?.kind, "declined");
	});

	test("a call that waits counts once, however often it is requested", () => {
		const run = started({ repeats: 2, attended: true });
		make(run, "AAA");
		run.raise("repeats", 1);
		assert.deepEqual(make(run, "AA"), ["admit", asks("repeats"), "wait"]);
	});

	test("where nobody can be asked the call is refused first, and the policy applies if it comes again", () => {
		const run = started({ repeats: 2 });
		assert.deepEqual(make(run, "AAAA"), [...admitted(2), "refuse", "refuse"]);
		assert.equal(run.phase, "running", "calls of one batch come before the model can know");
		run.end();
		run.request();
		assert.deepEqual(make(run, "A"), ["refuse"]);
		assert.equal(run.phase, "stopped");
		const ended = run.settle();
		assert.deepEqual([ended?.kind, ended?.toolCalls, ended?.repeats], ["exhausted", 2, 2]);
	});

	test("after the refusal another call starts over", () => {
		const run = started({ repeats: 2 });
		make(run, "AAA");
		assert.deepEqual(make(run, "BAAA"), [...admitted(3), "refuse"]);
		assert.equal(run.phase, "running");
	});

	test("a cycle is stopped where it would be complete once more", () => {
		const run = started({ repeats: 2 });
		assert.deepEqual(make(run, "ABABAB"), [...admitted(5), "refuse"]);
		run.end();
		run.request();
		assert.deepEqual(make(run, "A"), ["admit"]);
		assert.deepEqual(make(run, "B"), ["refuse"]);
		assert.equal(run.phase, "stopped");
	});

	test("the third repetition is pointed out once", () => {
		const run = started({ repeats: 5 });
		const said = { type: "point_out", call: call("A"), times: 3 } as const;
		assert.deepEqual(make(run, "AAAA"), [...admitted(2), said, ...admitted(2)]);
	});

	test("nothing is pointed out where the limit is 3 or less, or none", () => {
		for (const repeats of [3, "unlimited"] as const) {
			assert.deepEqual(make(started({ repeats }), "AAA"), admitted(3));
		}
	});

	test("a prompt starts over, a run that nobody prompted goes on", () => {
		const run = started({ repeats: 2 });
		make(run, "AA");
		run.finish();
		run.settle();
		run.request();
		assert.deepEqual(make(run, "A"), ["refuse"]);
		run.finish();
		run.settle();
		run.prompt().request();
		assert.deepEqual(make(run, "AA"), admitted(2));
	});

	test("a yes about another meter starts nothing over", () => {
		const run = started({ repeats: 3, toolCalls: 2, attended: true });
		make(run, "AAA");
		run.answer("yes");
		assert.deepEqual(make(run, "AA"), ["admit", asks("repeats"), "wait"]);
	});

	test("calls of an exempt tool are neither counted nor gated, and begin the streak anew", () => {
		const run = started({ repeats: 2 });
		run.send({ type: "exempt_set", exempt: ["P"] });
		assert.deepEqual(make(run, "AAPPPAA"), admitted(7));
		assert.equal(run.used("repeats"), 2);
		assert.equal(run.spent?.repeats, 2);
		assert.deepEqual(make(run, "A"), ["refuse"]);
		assert.deepEqual(make(run, "P"), ["admit"]);
		assert.equal(run.used("repeats"), 0);
		run.set("repeats", 0);
		assert.deepEqual(make(run, "P"), ["admit"]);
	});

	test("a call of an exempt tool does not use up the yes about another call", () => {
		const run = started({ repeats: 0, attended: true });
		run.send({ type: "exempt_set", exempt: ["P"] });
		make(run, "A");
		run.answer("yes");
		assert.deepEqual(make(run, "PAA"), [...admitted(2), asks("repeats"), "wait"]);
	});

	test("a limit after none begins anew", () => {
		const run = started({ repeats: "unlimited" });
		make(run, "AAAA");
		run.set("repeats", 2);
		assert.deepEqual(make(run, "AAA"), [...admitted(2), "refuse"]);
	});

	test("a run that makes no call has repeated none, whatever the run before it did", () => {
		const run = started({});
		make(run, "AAA");
		run.finish();
		assert.equal(run.settle()?.repeats, 3);
		run.send({ type: "exempt_set", exempt: ["P"] });
		run.request();
		make(run, "P");
		run.finish();
		assert.equal(run.settle()?.repeats, 0);
		run.request();
		make(run, "A");
		run.finish();
		assert.equal(run.settle()?.repeats, 1);
	});

	test("a limit of 0 asks before every call", () => {
		const run = started({ repeats: 0, attended: true });
		assert.deepEqual(make(run, "A"), [asks("repeats"), "wait"]);
		run.answer("yes");
		assert.deepEqual(make(run, "AB"), ["admit", asks("repeats"), "wait"]);
	});

	test("calls outside a run count too", () => {
		const run = new Driver({ repeats: 2 });
		assert.deepEqual(make(run, "AAA"), admitted(3));
		assert.equal(run.used("repeats"), 3);
	});
});

describe("time that runs out in the middle of a turn", () => {
	test("cuts it off where nobody can be asked, under abort", () => {
		const run = started({ time: 10 });
		run.charge("time", 10);
		assert.deepEqual(run.send({ type: "ran_out", meter: "time" }), [{ type: "abort" }]);
		const ended = run.settle();
		assert.deepEqual(ended?.kind === "exhausted" && [ended.cut, ended.meter, ended.limit], [true, "time", 10]);
	});

	test("a count that is reached cuts off nothing, because its last request is under way", () => {
		const run = started({ turns: 1 });
		assert.deepEqual(run.send({ type: "ran_out", meter: "turns" }), []);
		assert.equal(run.phase, "running");
	});

	test("cuts off nothing while some is left, under synthesize, with a person, or at a question", () => {
		for (const [given, spent] of [
			[{ time: 10 }, 9],
			[{ time: 10, policy: "synthesize" }, 10],
			[{ time: 10, attended: true }, 10],
		] as const) {
			const run = started(given);
			run.charge("time", spent);
			const { state } = run;
			assert.deepEqual(run.send({ type: "ran_out", meter: "time" }), []);
			assert.equal(run.state, state);
		}
	});
});

test("how many calls go round is known for one, two and three, and the shortest cycle counts", () => {
	const length = (calls: string) =>
		cycleLength(Array.from(calls).reduce((streak, tool) => extend(streak, { tool, input: {} }), NO_STREAK));
	assert.deepEqual(["aaaa", "abab", "abcabc", "aaaaaa", "abcaa", "a"].map(length), [1, 2, 3, 1, 1, 1]);
});
