import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
	type LoopLimit,
	loopLimit,
	type LoopOptions,
	type LoopRun,
	type Outcome,
	refusal,
} from "../../src/hosts/loop/index.ts";

const call = (n = 0) => ({ tool: "noop", input: { n } });

/** Takes turns of one call each until the run says no; gives how many. */
async function work(run: LoopRun, most = Infinity): Promise<number> {
	let turns = 0;
	while (turns < most && (await run.turn()) !== undefined) {
		turns++;
		await new Promise(setImmediate);
		await run.call(call(turns));
		if ((await run.endTurn({ goesOn: true })) === "stop") break;
	}
	return turns;
}

type Action = (run: LoopRun) => unknown;

const charge: Action = (run) => run.charge({ tokens: 1 });
const decide: Action = (run) => run.call(call());
const fail: Action = (run) => run.fail("bad tool");
const decideAgain: Action = (run) => run.call(call(), "call_0");
const chargeLate: Action = (run) => void run.charge({ tokens: 1 });
const end: Action = (run) => run.endTurn({ goesOn: true });

function brief(outcome: Outcome): string {
	return `${outcome.kind}${"meter" in outcome ? ` ${outcome.meter}` : ""} ${outcome.turns}`;
}

test("without options there are 25 turns, as everywhere", async () => {
	const run = loopLimit().start();
	assert.equal(await work(run), 25);
	assert.equal(brief(await run.settle()), "exhausted turns 25");
});

describe("wrong options", () => {
	const wrong: [options: unknown, error: string, message: RegExp][] = [
		[3, "TypeError", /^loopLimit\(\): expected an object of options, got 3\.$/],
		[{ turns: -1 }, "RangeError", /^turns: expected a whole number from 0, or unlimited, got -1\.$/],
		[
			{ bell: true },
			"TypeError",
			/^loopLimit\(\): unknown option "bell"\. Known options: turns, .*, onProblem, parent\.$/,
		],
		[{ ask: true }, "TypeError", /^ask: expected a function, got true\.$/],
		[{ price: 1 }, "TypeError", /^price: expected a function, got 1\.$/],
		[{ onProblem: 1 }, "TypeError", /^onProblem: expected a function, got 1\.$/],
		[{ parent: {} }, "TypeError", /^parent: expected a limit, a run, or "environment", got \{\}\.$/],
		[{ budget: {} }, "TypeError", /^budget\.at/],
	];
	for (const [options, name, message] of wrong) {
		test(String(message), () => assert.throws(() => loopLimit(options as LoopOptions), { name, message }));
	}
});

describe("wrong arguments are refused in words of ours:", () => {
	for (const [name, message, make] of [
		["start(5)", "start(): expected an object of options, got 5.", (limit) => limit.start(5 as never)],
		["start(null)", "start(): expected an object of options, got null.", (limit) => limit.start(null as never)],
		[
			"start({ form })",
			'start(): unknown option "form". Known options: signal, from.',
			(limit) => limit.start({ form: "" } as never),
		],
		["start({ signal: 5 })", "signal: expected an AbortSignal, got 5.", (limit) => limit.start({ signal: 5 } as never)],
	] as [string, string, (limit: LoopLimit) => unknown][])
		test(name, () => assert.throws(() => make(loopLimit()), { name: "TypeError", message }));

	for (const [name, message, make] of [
		["charge(null)", "charge(): expected { tokens, cost }, got null.", (run) => run.charge(null as never)],
		["charge(5)", "charge(): expected { tokens, cost }, got 5.", (run) => run.charge(5 as never)],
		[
			"endTurn()",
			"endTurn(): expected { goesOn: true or false }, got undefined.",
			(run) => (run.endTurn as () => Promise<unknown>)(),
		],
		["endTurn({})", "endTurn(): expected { goesOn: true or false }, got {}.", (run) => run.endTurn({} as never)],
		["call()", "call(): expected { tool, input }, got undefined.", (run) => (run.call as () => Promise<unknown>)()],
		[
			"call({ name })",
			'call(): expected { tool, input }, got {"name":"bash"}.',
			(run) => run.call({ name: "bash" } as never, "id"),
		],
	] as [string, string, (run: LoopRun) => Promise<unknown>][])
		test(`${name}, and the run goes on`, async () => {
			const run = loopLimit().start();
			await run.turn();
			await assert.rejects(make(run), { name: "TypeError", message });
			assert.equal(await run.call(call(), "id"), undefined);
			assert.equal(await run.endTurn({ goesOn: true }), "go_on");
		});

	test("an end of a turn that nobody began changes nothing", async () => {
		const run = loopLimit({ turns: 1 }).start();
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
		assert.deepEqual(await run.turn(), []);
		assert.equal(brief(await run.settle()), "interrupted 1");
	});
});

describe("a price", () => {
	/** The dollars of a run whose one turn is charged so. */
	async function costOf(options: LoopOptions, ...charges: object[]): Promise<number> {
		const run = loopLimit(options).start();
		await run.turn();
		for (const charge of charges) await run.charge(charge);
		await run.endTurn({ goesOn: false });
		return (await run.settle()).cost;
	}

	test("is asked for what is charged without a cost, and for nothing else", async () => {
		const asked: unknown[] = [];
		const price = (spent: { tokens?: number | undefined }): number => {
			asked.push(spent);
			return (spent.tokens ?? 0) / 1000;
		};
		assert.equal(
			await costOf({ price }, { tokens: 500, model: "small" }, { cost: 0.25 }, { tokens: 1, cost: 0 }),
			0.75,
		);
		assert.deepEqual(asked, [{ tokens: 500, model: "small" }]);
	});

	test("leaves nothing to be missed", async () => {
		const problems: string[] = [];
		await costOf({ cost: 1, price: () => 0.5, onProblem: (problem) => problems.push(problem) }, { tokens: 9 });
		assert.deepEqual(problems, []);
	});

	test("may come late", async () => {
		assert.equal(await costOf({ price: () => Promise.resolve(0.5) }, { tokens: 9 }), 0.5);
	});

	for (const [what, price] of [
		["throws", (): number => { throw new Error("unknown model"); }], // prettier-ignore
		["is no number", () => "cheap" as never],
		["is below 0", () => -1],
		["is null", () => null as never],
	] as [string, () => number][])
		test(`that ${what} stops the run`, async () => {
			const run = loopLimit({ price }).start();
			await run.turn();
			await run.charge({ tokens: 10 });
			assert.ok(run.signal.aborted);
			assert.equal(await run.endTurn({ goesOn: true }), "stop");
			const outcome = await run.settle();
			assert.ok(outcome.kind === "failed" && outcome.by === "breaker");
			assert.match(outcome.message, /unknown model|price\(\): expected US dollars from 0, got (cheap|-1|null)\./);
			assert.equal(outcome.tokens, 10);
		});

	test("is missed once where cost is limited and nobody tells it", async () => {
		const problems: string[] = [];
		const run = loopLimit({ cost: 1, onProblem: (problem) => problems.push(problem) }).start();
		for (let n = 0; n < 2; n++) {
			await run.turn();
			await run.charge({ tokens: 10 });
			await run.endTurn({ goesOn: true });
		}
		assert.deepEqual(problems, [
			"Cost is limited, but a response came without one, and there is no price(): the run is not held to that limit.",
		]);
		const told = loopLimit({ cost: 1, onProblem: (problem) => problems.push(problem) }).start();
		await told.turn();
		await told.charge({ tokens: 10, cost: 0 });
		assert.equal(problems.length, 1);
	});

	test("of no known amount is said once where tokens are limited, as a misspelt one is", async () => {
		const problems: string[] = [];
		const run = loopLimit({ tokens: 10, onProblem: (problem) => problems.push(problem) }).start();
		const misspelt: object = { totalTokens: 500 };
		await run.turn();
		for (const known of [{ cost: 0.1 }, { tokens: 1 }]) await run.charge(known);
		assert.deepEqual(problems, []);
		for (const unknown of [misspelt, { tokens: Number.NaN }]) await run.charge(unknown);
		assert.deepEqual(problems, [
			"Tokens are limited, but a charge came without any: the run is not held to that limit.",
		]);
	});

	for (const cost of [Number.NaN, "$0.50", null, {}]) {
		const odd = { tokens: 10, cost: cost as number };
		test(`is asked for a cost of ${JSON.stringify(cost)}, or it is missed`, async () => {
			assert.equal(await costOf({ price: () => 0.5 }, odd), 0.5);
			const problems: string[] = [];
			await costOf({ cost: 1, onProblem: (problem) => problems.push(problem) }, odd);
			assert.equal(problems.length, 1);
		});
	}
});

describe("a run", () => {
	test("has an outcome before its first turn, and the same one each time", async () => {
		const outcomes: Outcome[] = [];
		const run = loopLimit({ onOutcome: (outcome) => outcomes.push(outcome) }).start();
		const outcome = await run.settle();
		assert.equal(brief(outcome), "completed 0");
		assert.equal(await run.settle(), outcome);
		assert.deepEqual(outcomes, [outcome]);
		assert.equal(run.reason, undefined);
	});

	test("that was interrupted, or failed, before its first turn says so", async () => {
		const interrupted = loopLimit().start();
		interrupted.interrupt();
		assert.equal((await interrupted.settle()).kind, "interrupted");
		const failed = loopLimit().start();
		failed.fail(new Error("no key"));
		const outcome = await failed.settle();
		assert.ok(outcome.kind === "failed" && outcome.by === "provider");
		assert.equal(outcome.message, "no key");
	});

	test("admits nothing after its end", async () => {
		const run = loopLimit().start();
		await run.turn();
		await run.endTurn({ goesOn: false });
		await run.settle();
		assert.equal(await run.turn(), undefined);
		assert.match((await run.call(call())) ?? "", /^Not run/);
		assert.equal(run.snapshot().toolCalls.used, 0);
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
	});

	test("has its last answer in a turn that does not go on, unless it is told otherwise", async () => {
		for (const [concluded, next] of [
			[undefined, "stop"],
			[false, "again"],
		] as const) {
			const run = loopLimit({ turns: 1, grace: 0, policy: "synthesize" }).start();
			await run.turn();
			await run.endTurn({ goesOn: true });
			await run.turn();
			assert.equal(await run.endTurn({ goesOn: false, concluded }), next);
		}
	});

	for (const [where, go, expected] of [
		["at a turn", (run) => run.turn(), undefined],
		["at the end of a turn", (run) => run.endTurn({ goesOn: true }), "stop"],
		["at its end", async (run) => (await run.settle()).kind, "failed"],
	] as [string, (run: LoopRun) => Promise<unknown>, unknown][])
		test(`whose clock cannot be read ${where} stops, and has failed`, async (t) => {
			const run = loopLimit().start();
			if (where !== "at a turn") await run.turn();
			if (where === "at its end") await run.endTurn({ goesOn: true });
			const clock = t.mock.method(performance, "eventLoopUtilization", () => {
				throw new Error("no clock");
			});
			assert.equal(await go(run), expected);
			clock.mock.restore();
			assert.equal((await run.settle()).kind, "failed");
		});

	test("that ends in the middle of a turn was interrupted", async () => {
		const run = loopLimit().start();
		await run.turn();
		assert.equal(brief(await run.settle()), "interrupted 1");
	});

	test("repeats a failed turn without counting it again", async () => {
		const run = loopLimit({ turns: 2, grace: 0 }).start();
		await run.turn();
		run.fail("overloaded");
		assert.deepEqual(await run.turn(), []);
		assert.equal(await run.endTurn({ goesOn: true }), "go_on");
		assert.deepEqual(await run.turn(), []);
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
		assert.equal(brief(await run.settle()), "exhausted turns 2");
	});

	test("that gives up after a failure has failed", async () => {
		const run = loopLimit().start();
		await run.turn();
		run.fail("overloaded");
		assert.equal(brief(await run.settle()), "failed 1");
	});

	test("that is interrupted before its first turn sends nothing", async () => {
		const run = loopLimit().start();
		run.interrupt();
		assert.equal(await run.turn(), undefined);
		assert.match((await run.call(call())) ?? "", /^Not run/);
		assert.equal(brief(await run.settle()), "interrupted 0");
	});

	for (const stop of ["interrupt", "settle", "breakOff"] as const)
		test(`whose turn a call has opened sends nothing after ${stop}()`, async () => {
			const run = loopLimit().start();
			await run.call(call());
			void run[stop]("enough");
			assert.equal(await run.turn(), undefined);
		});

	test("says why it failed first", async () => {
		const run = loopLimit().start();
		run.fail("no key");
		run.fail("no turn");
		const outcome = await run.settle();
		assert.ok(outcome.kind === "failed" && outcome.message === "no key");
	});

	for (const [what, take] of [
		["between two turns", [end, fail]],
		["after its response was charged", [charge, fail, end]],
		["before its response was charged", [fail, charge, end]],
		["after one of its calls was decided", [decide, fail, end]],
		["before its calls were decided", [fail, decide, end]],
		["before its end was reported", [fail, end]],
		["after a call was decided whose id an earlier turn had, too", [decideAgain, fail]],
		["while the price of its response is asked", [chargeLate, fail]],
	] as [string, Action[]][])
		test(`takes no turn more for a failure that is reported ${what}`, async () => {
			const price = async (): Promise<number> => await new Promise((resolve) => setImmediate(resolve, 0));
			const run = loopLimit({ turns: 3, grace: 0, price }).start();
			let turns = 0;
			while (turns < 9 && (await run.turn()) !== undefined) {
				turns++;
				for (const act of take) await act(run);
			}
			assert.equal(turns, 3);
			assert.equal(brief(await run.settle()), "exhausted turns 3");
		});

	test("takes no turn more for a failure that is reported before its first turn", async () => {
		const charged = loopLimit({ turns: 0 }).start();
		await charged.charge({ tokens: 1 });
		charged.fail("no key");
		assert.equal(await charged.turn(), undefined);
		const opened = loopLimit({ turns: 1 }).start();
		await opened.call(call());
		opened.fail("bad tool");
		assert.notEqual(await opened.turn(), undefined);
		assert.equal(await opened.turn(), undefined);
	});

	test("repeats a turn whose failure is reported twice, and a repetition ends like any turn", async () => {
		const run = loopLimit({ turns: 1, policy: "synthesize" }).start();
		await run.turn();
		await run.endTurn({ goesOn: true });
		await run.turn();
		run.fail("overloaded");
		run.fail("overloaded");
		await run.turn();
		await run.charge({ tokens: 1 });
		assert.equal(await run.endTurn({ goesOn: false }), "stop");
		assert.equal(brief(await run.settle()), "synthesized turns 2");
	});

	test("gives the same answer for the same call, and counts it once", async () => {
		const run = loopLimit({ toolCalls: 1 }).start();
		await run.turn();
		assert.equal(await run.call(call(1), "a"), undefined);
		assert.equal(await run.call(call(1), "a"), undefined);
		assert.match((await run.call(call(1), "b")) ?? "", /^Not run: the limit of 1 tool call for this run is reached/);
		assert.match((await run.call(call(1), "b")) ?? "", /^Not run: the limit of 1 tool call for this run is reached/);
		assert.equal((await run.settle()).toolCalls, 1);
	});

	test("decides a call of a later turn anew, whatever its id", async () => {
		const run = loopLimit({ toolCalls: 1 }).start();
		await run.turn();
		assert.equal(await run.call(call(1), "call_0"), undefined);
		await run.turn();
		assert.match((await run.call(call(2), "call_0")) ?? "", /^Not run/);
	});

	test("opens its first turn for a call that comes before it", async () => {
		const run = loopLimit({ turns: 1, grace: 0 }).start();
		assert.deepEqual(await Promise.all([run.call(call(1)), run.call(call(2))]), [undefined, undefined]);
		assert.deepEqual(await run.turn(), []);
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
		const outcome = await run.settle();
		assert.deepEqual([outcome.turns, outcome.toolCalls], [1, 2]);
	});

	test("runs no call before its first turn if that may not be", async () => {
		const run = loopLimit({ turns: 0 }).start();
		assert.match((await run.call(call())) ?? "", /^Not run: the limit of 0 turns/);
		assert.equal(await run.turn(), undefined);
		assert.equal(brief(await run.settle()), "exhausted turns 0");
	});

	test("charges what is reported, in dollars and tokens, also as text, and never less than nothing", async () => {
		const run = loopLimit().start();
		await run.turn();
		await run.charge({ tokens: 10, cost: 0.25 });
		await run.charge({ tokens: "10" as unknown as number, cost: -1 });
		await run.charge({ tokens: Number.NaN });
		await run.endTurn({ goesOn: false });
		const { tokens, cost } = await run.settle();
		assert.deepEqual({ tokens, cost }, { tokens: 20, cost: 0.25 });
	});

	test("whose limits cannot be enforced stops, cuts off what is under way, and says why", async () => {
		const run = loopLimit().start();
		await run.turn();
		run.breakOff(new Error("no price"));
		assert.ok(run.signal.aborted);
		assert.match((await run.call(call())) ?? "", /^Not run/);
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
		const outcome = await run.settle();
		assert.ok(outcome.kind === "failed" && outcome.by === "breaker");
		assert.equal(run.reason, "pi-turn-limit: failed and stopped the run: Error: no price");
	});

	test("stops if a call cannot be judged", async () => {
		const input: Record<string, unknown> = {};
		input["self"] = input;
		const run = loopLimit().start();
		await run.turn();
		assert.match((await run.call({ tool: "noop", input })) ?? "", /^Not run/);
		assert.equal(await run.endTurn({ goesOn: true }), "stop");
		const outcome = await run.settle();
		assert.ok(outcome.kind === "failed" && outcome.by === "breaker");
	});

	test("aborts its signal with the person's", () => {
		const abort = new AbortController();
		const run = loopLimit().start({ signal: abort.signal });
		abort.abort();
		assert.ok(run.signal.aborted);
	});

	test("tells every meter at any time", async () => {
		const limit = loopLimit({ turns: 4, grace: () => 3 });
		assert.deepEqual([limit.snapshot().turns.used, limit.snapshot().turns.softLimit], [0, 1]);
		const run = limit.start();
		await work(run, 2);
		assert.equal(run.snapshot().turns.used, 2);
		assert.deepEqual(limit.snapshot(), run.snapshot());
		await run.settle();
	});

	test("says in one line which limit acted", async () => {
		const run = loopLimit({ turns: 1 }).start();
		await work(run);
		await run.settle();
		const line =
			"pi-turn-limit: stopped at the limit of 1 turn (option), without an answer; spent: 1 turn, 1 tool call.";
		assert.equal(run.reason, line);
	});

	test("exports what the model reads", () => assert.equal(typeof refusal, "function"));
});

describe("functions of a program", () => {
	test("that throw are replaced, reported, and stop nothing", async () => {
		const problems: string[] = [];
		const fails = (): never => {
			throw new Error("no idea");
		};
		const limit = loopLimit({
			turns: 3,
			grace: fails,
			wrapUpMessage: fails,
			onOutcome: fails,
			onProblem: (it) => problems.push(it),
		});
		const run = limit.start();
		await run.turn();
		await run.endTurn({ goesOn: true });
		assert.match((await run.turn())?.[0] ?? "", /^Only 2 turns left/);
		await run.settle();
		assert.deepEqual(
			new Set(problems.map((it) => it.split(":")[0])),
			new Set(["grace()", "wrapUpMessage()", "onOutcome()"]),
		);
	});

	test("write the wrap-up", async () => {
		const run = loopLimit({ turns: 2, grace: 1, wrapUpMessage: () => "Finish." }).start();
		await work(run, 1);
		assert.deepEqual(await run.turn(), ["Finish."]);
		const fixed = loopLimit({ turns: 2, grace: 1, wrapUpMessage: "Stop." }).start();
		await work(fixed, 1);
		assert.deepEqual(await fixed.turn(), ["Stop."]);
	});

	test("that reject are reported like those that throw", async () => {
		const problems: string[] = [];
		const onOutcome = (): unknown => Promise.reject(new Error("no disk"));
		const onProblem = (problem: string): unknown => {
			problems.push(problem);
			return Promise.reject(new Error("no log"));
		};
		await loopLimit({ onOutcome, onProblem }).start().settle();
		await new Promise(setImmediate);
		assert.deepEqual(problems, ["onOutcome(): Error: no disk"]);
	});

	test("that hear of problems may throw", async () => {
		const fails = (): never => {
			throw new Error("no");
		};
		const run = loopLimit({ grace: fails, onProblem: fails }).start();
		assert.deepEqual(await run.turn(), []);
	});
});

describe("a question", () => {
	test("has its words, its choices and its meter", async () => {
		const asked: unknown[] = [];
		const run = loopLimit({
			turns: 1,
			ask: ({ title, message, choices, meter, lines }) => {
				asked.push(title, message.split("\n")[0], choices.map(({ id }) => id).join(), meter, lines.length);
				return "no";
			},
		}).start();
		await work(run);
		assert.deepEqual(asked, ["Turn limit reached", "You've used 1 turn. Continue?", "yes,tell,wrap_up,no", "turns", 3]);
		const outcome = await run.settle();
		assert.ok(outcome.kind === "declined" && outcome.answered);
	});

	for (const [given, kind] of [
		[true, "exhausted"],
		["yes", "exhausted"],
		["sure", "declined"],
		[1, "declined"],
		[undefined, "declined"],
		[null, "declined"],
		[{ answer: "maybe" }, "declined"],
		[{ answer: "none" }, "declined"],
	] as const) {
		test(`takes ${JSON.stringify(given)} as ${kind === "declined" ? "no yes" : "a yes"}`, async () => {
			const run = loopLimit({ turns: 1, toolCalls: 2, ask: () => given as never }).start();
			await run.turn();
			const next = await run.endTurn({ goesOn: true });
			assert.equal(next, kind === "declined" ? "stop" : "go_on");
			await run.settle();
		});
	}

	for (const [given, got] of [
		["tell", '"tell"'],
		[{ answer: "maybe" }, '{"answer":"maybe"}'],
		[null, "null"],
	] as const)
		test(`that is answered with ${got} was not answered, and the program hears what is allowed`, async () => {
			const problems: string[] = [];
			const onProblem = (problem: string): unknown => problems.push(problem);
			const run = loopLimit({ turns: 1, ask: () => given as never, onProblem }).start();
			await work(run);
			const expected = "true, false, or one of yes, wrap_up, stop, no, none";
			assert.deepEqual(problems, [`ask(): expected ${expected}, got ${got}. It counts as no answer.`]);
			const outcome = await run.settle();
			assert.ok(outcome.kind === "declined" && !outcome.answered);
		});

	test("that the program leaves without an answer is not answered, and no problem", async () => {
		const problems: string[] = [];
		const ask = () => undefined as never;
		await work(loopLimit({ turns: 1, ask, onProblem: (problem) => problems.push(problem) }).start());
		assert.deepEqual(problems, []);
	});

	test("that nobody answers in time is not answered, and its signal aborts", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout"] });
		let signal: AbortSignal | undefined;
		const ask = (...[, given]: [unknown, AbortSignal]): Promise<boolean> => {
			signal = given;
			return new Promise(() => {});
		};
		const run = loopLimit({ turns: 1, askTimeout: 30, ask }).start();
		const working = work(run);
		while (signal === undefined) await new Promise(setImmediate);
		t.mock.timers.tick(29_999);
		assert.equal(signal.aborted, false);
		t.mock.timers.tick(1);
		assert.ok(signal.aborted);
		await working;
		const outcome = await run.settle();
		assert.ok(outcome.kind === "declined" && !outcome.answered);
	});

	test("that is slow holds parallel calls back, and is asked once", async () => {
		let asked = 0;
		let answer: (yes: boolean) => void = () => {};
		const ask = (): Promise<boolean> => {
			asked++;
			return new Promise((resolve) => (answer = resolve));
		};
		const run = loopLimit({ toolCalls: 1, ask }).start();
		await run.turn();
		const calls = Promise.all([1, 2].map((n) => run.call(call(n), `call ${n}`)));
		await new Promise(setImmediate);
		answer(false);
		const [first, second] = await calls;
		assert.equal(first, undefined);
		assert.match(second ?? "", /^Not run/);
		assert.equal(asked, 1);
		await run.settle();
	});
});

describe("time", () => {
	test("that runs out cuts off what is under way, where nobody is asked", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
		const run = loopLimit({ time: 1 }).start();
		await run.turn();
		const aborted = new Promise((resolve) => run.signal.addEventListener("abort", resolve));
		// The alarm looks at the real clock, which has not moved: it rings again until the time has passed.
		const ringing = setImmediateLoop(() => t.mock.timers.tick(1000));
		await aborted;
		ringing.stop();
		const outcome = await run.settle();
		assert.ok(outcome.kind === "exhausted" && outcome.cut && outcome.meter === "time");
	});
});

/** Calls again and again, as real time passes. */
function setImmediateLoop(ring: () => void): { stop: () => void } {
	let isOn = true;
	const again = (): void => {
		if (!isOn) return;
		ring();
		setImmediate(again);
	};
	setImmediate(again);
	return { stop: () => (isOn = false) };
}

describe("the session's limits", () => {
	async function together(limit: LoopLimit, runs: number): Promise<[turns: number, outcomes: string[]]> {
		const done = await Promise.all(
			Array.from({ length: runs }, async () => {
				const run = limit.start();
				const turns = await work(run);
				return [turns, brief(await run.settle()).replace(/ \d+$/, "")] as const;
			}),
		);
		return [done.reduce((sum, [turns]) => sum + turns, 0), done.map(([, outcome]) => outcome)];
	}

	for (const [max, runs] of [
		[5, 3],
		[0, 2],
		[1, 4],
		[20, 8],
	] as const) {
		test(`admit ${max} turns over ${runs} runs at once`, async () => {
			const [turns, outcomes] = await together(loopLimit({ sessionTurns: max }), runs);
			assert.equal(turns, max);
			assert.deepEqual(new Set(outcomes), new Set(["exhausted sessionTurns"]));
		});
	}

	test("go on over runs one after the other", async () => {
		const limit = loopLimit({ sessionTurns: 5, grace: 0 });
		const first = limit.start();
		await work(first, 3);
		await first.settle();
		const second = limit.start();
		assert.equal(await work(second), 2);
		assert.equal(brief(await second.settle()), "exhausted sessionTurns 2");
		assert.deepEqual([limit.snapshot().sessionTurns.used, limit.snapshot().sessionTurns.remaining], [5, 0]);
	});

	test("count cost and tokens of all runs", async () => {
		const limit = loopLimit({ sessionCost: 1, grace: 0 });
		const spend = async (): Promise<number> => {
			const run = limit.start();
			let turns = 0;
			while (await run.turn()) {
				turns++;
				await new Promise(setImmediate);
				await run.charge({ cost: 0.25 });
				if ((await run.endTurn({ goesOn: true })) === "stop") break;
			}
			await run.settle();
			return turns;
		};
		const turns = await Promise.all([spend(), spend(), spend()]);
		const sum = turns.reduce((a, b) => a + b, 0);
		// The first turns of the runs leave together, since nobody knows yet what one costs.
		assert.ok(sum >= 4 && sum <= 6, String(sum));
	});

	test("wait for a turn that another run has under way, and take its place if it does not come", async () => {
		const limit = loopLimit({ sessionTurns: 2, grace: 0 });
		const [a, b, c] = [limit.start(), limit.start(), limit.start()];
		await a.turn();
		await b.turn();
		let answer: unknown;
		const waiting = c.turn().then((notes) => (answer = notes ?? "no"));
		await new Promise(setImmediate);
		assert.equal(answer, undefined);
		await a.settle();
		await b.settle();
		await waiting;
		assert.equal(answer, "no");
		assert.equal(brief(await c.settle()), "exhausted sessionTurns 0");
	});

	test("stop waiting when the person aborts", async () => {
		const limit = loopLimit({ sessionTurns: 1 });
		await limit.start().turn();
		const abort = new AbortController();
		const run = limit.start({ signal: abort.signal });
		const waiting = run.turn();
		await new Promise(setImmediate);
		abort.abort();
		assert.equal(await waiting, undefined);
		assert.equal(brief(await run.settle()), "interrupted 0");
	});

	test("wait ten minutes for a run that was dropped in the middle of its turn, which then counts", async (t) => {
		t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
		const limit = loopLimit({ sessionTurns: 1 });
		await limit.start().turn();
		const run = limit.start();
		let answer: unknown;
		const waiting = run.turn().then((notes) => (answer = notes ?? "no"));
		await new Promise(setImmediate);
		t.mock.timers.tick(600_000 - 1);
		await new Promise(setImmediate);
		assert.equal(answer, undefined);
		t.mock.timers.tick(1);
		await new Promise(setImmediate);
		assert.equal(answer, "no");
		await waiting;
		assert.equal(brief(await run.settle()), "exhausted sessionTurns 0");
	});

	test("hold for a turn what the largest one has spent, without its tools", async () => {
		for (const [response, tool, expected] of [
			[0.6, 0, "waits"],
			[0.1, 0.5, "admitted"],
		] as const) {
			const limit = loopLimit({ sessionCost: 1, grace: 0 });
			const [a, b] = [limit.start(), limit.start()];
			await a.turn();
			await a.charge({ cost: response });
			await a.charge({ cost: tool });
			await a.endTurn({ goesOn: true });
			await a.turn();
			let answer: string | undefined;
			const waiting = b.turn().then((notes) => (answer = notes ? "admitted" : "refused"));
			await new Promise(setImmediate);
			assert.equal(answer ?? "waits", expected);
			await a.charge({ cost: 0.1 });
			await waiting;
			assert.equal(answer, "admitted");
		}
	});

	test("hold nothing for a turn whose tools run, because they can start runs", async () => {
		const limit = loopLimit({ sessionCost: 1, grace: 0 });
		const outer = limit.start();
		await outer.turn();
		await outer.charge({ cost: 0.6 });
		await outer.endTurn({ goesOn: true });
		await outer.turn();
		await outer.call(call());
		let notes: readonly string[] | undefined;
		void limit
			.start()
			.turn()
			.then((given) => (notes = given));
		await new Promise(setImmediate);
		assert.deepEqual(notes, []);
	});

	test("are raised by a yes, for every run", async () => {
		let asked = 0;
		const limit = loopLimit({ sessionTurns: 10, ask: () => ++asked === 1 });
		const first = limit.start();
		assert.equal(await work(first), 11);
		await first.settle();
		assert.equal(limit.snapshot().sessionTurns.limit, 11);
		const second = limit.start();
		assert.equal(await work(second), 0);
		assert.equal(asked, 3);
		assert.equal(brief(await second.settle()), "declined sessionTurns 0");
	});

	test("count the final pass", async () => {
		const limit = loopLimit({ sessionTurns: 2, policy: "synthesize", grace: 0 });
		const run = limit.start();
		await work(run, 2);
		assert.equal((await run.turn())?.length, 1);
		await run.endTurn({ goesOn: false, concluded: true });
		assert.equal(brief(await run.settle()), "synthesized sessionTurns 3");
		const next = limit.start();
		assert.equal(await next.turn(), undefined);
		assert.equal(next.snapshot().sessionTurns.used, 3);
	});

	test("count a failed turn and its repetition once", async () => {
		const limit = loopLimit({ sessionTurns: 2, grace: 0 });
		const run = limit.start();
		await run.turn();
		run.fail("overloaded");
		await run.turn();
		await run.endTurn({ goesOn: true });
		assert.equal(await work(run), 1);
	});
});
