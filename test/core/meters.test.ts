/** What holds for every meter in the table, at every gate that checks it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { snapshot } from "../../src/core/snapshot.ts";
import { grant, isOfRound } from "../../src/core/limit.ts";
import { amount } from "../../src/core/amount.ts";
import {
	isShared,
	kindOf,
	METER_IDS,
	type MeterId,
	OWN,
	perMeter,
	perRunMeter,
	SHARED,
} from "../../src/core/meters.ts";
import { publish } from "../../src/core/outcome.ts";
import { create } from "../../src/core/state.ts";
import { ABORT, asks, Driver, GATES, type Given, outcome, type Said, sum, SYNTHESIZE } from "./driver.ts";

for (const { id, gate } of GATES) {
	/** Nothing but this meter has a limit. */
	const limited = (n: number, given: Given = {}): Driver =>
		new Driver({ turns: "unlimited", [id]: n, ...given }).prompt();
	/** The gate is met when a turn is requested, not when the one before it ends: only then the ledger is asked. */
	const isFirst = (n: number): boolean => (n === 0 && kindOf(id).gates.includes("turn")) || isShared(id);
	const asked = (n: number): readonly Said[] => (isFirst(n) || gate === "call" ? [asks(id), "wait"] : [asks(id)]);
	const stopped = (n: number): readonly Said[] => {
		if (isFirst(n)) return ["abort"];
		return gate === "turn" ? [ABORT] : ["refuse"];
	};

	describe(`${id}, at the ${gate} gate`, () => {
		// With a limit of 0 a meter with two gates asks at the first of them again and again.
		for (const n of kindOf(id).gates.length > 1 ? [1, 2, 25] : [0, 1, 2, 25]) {
			test(`a limit of ${n} lets ${n} be spent and stops the next request where nobody can be asked`, () => {
				const run = limited(n);
				assert.deepEqual(run.spend(gate, id, n), []);
				assert.equal(run.used(id), n);
				assert.deepEqual(run.knock(gate, id), stopped(n));
				assert.equal(run.used(id), n, "a request that does not pass is not counted");
				const { spent } = run;
				assert.equal(spent?.[kindOf(id).of], n);
				run.end();
				assert.deepEqual(run.request(), ["abort"]);
				assert.deepEqual(run.call(), ["refuse"]);
				assert.deepEqual(run.settle(), { ...spent, advised: false, kind: "exhausted", meter: id, limit: n });
			});

			test(`a limit of ${n} asks once ${n} are spent, and every yes buys what is granted`, () => {
				const run = limited(n, { attended: true });
				const more = Math.max(1, Number(grant(id, run.state.meters[id])));
				assert.equal(more, isOfRound(id) ? Math.max(1, n) : Math.max(1, Math.ceil(n / 10)));
				assert.deepEqual(run.spend(gate, id, n), []);
				assert.deepEqual(run.knock(gate, id), asked(n));
				for (const round of [1, 2]) {
					const before = isOfRound(id) ? 0 : run.used(id);
					assert.deepEqual(run.answer("yes"), []);
					assert.equal(run.used(id), before, `round ${round}`);
					assert.deepEqual(run.spend(gate, id, more), []);
					assert.equal(run.used(id), before + more);
					assert.deepEqual(run.knock(gate, id).slice(0, 1), [asks(id)]);
				}
				run.answer("no");
				const ended = run.settle();
				assert.deepEqual([ended?.kind, ended?.continuations], ["declined", 2]);
			});

			test(`at a limit of ${n} the question is about ${id}, and a no stops the run as declined`, () => {
				const run = limited(n, { attended: true });
				run.spend(gate, id, n);
				run.knock(gate, id);
				assert.deepEqual(run.answer("no"), gate === "turn" || isFirst(n) ? [ABORT] : []);
				const { spent } = run;
				const expected = { kind: "declined", answered: true, meter: id, limit: n };
				assert.deepEqual(run.settle(), { ...spent, advised: false, ...expected });
			});
		}

		test("unlimited never gates and still counts what is its own", () => {
			const run = limited(0);
			run.set(id, "unlimited");
			assert.deepEqual(run.spend(gate, id, 100), []);
			assert.equal(run.used(id), isShared(id) ? 0 : 100);
			assert.deepEqual(run.ledger.log, []);
			run.finish();
			assert.deepEqual([run.settle()?.kind, run.phase], ["completed", "idle"]);
		});

		test("a run that ends by itself with the limit reached is completed", () => {
			const run = limited(3, { attended: true });
			assert.deepEqual(run.spend(gate, id, 3), []);
			assert.deepEqual(run.finish(), []);
			assert.equal(run.settle()?.kind, "completed");
		});

		test("a yes is about this meter alone", () => {
			const run = limited(1, { attended: true });
			run.spend(gate, id, 1);
			run.knock(gate, id);
			const { meters } = run.state;
			run.answer("yes");
			for (const other of METER_IDS) if (other !== id) assert.equal(run.state.meters[other], meters[other]);
		});

		test("a limit lowered to or below what is spent gates the next request", () => {
			for (const max of [4, 3, 0]) {
				const run = limited(9, { attended: true });
				run.spend(gate, id, 4);
				run.set(id, max);
				assert.deepEqual(run.knock(gate, id).slice(0, 1), [asks(id)]);
				assert.equal(run.used(id), 4);
			}
		});

		test("under synthesize the limit leads to a final pass that names it", () => {
			const run = limited(1, { policy: "synthesize" });
			run.spend(gate, id, 1);
			assert.deepEqual(run.knock(gate, id), gate === "turn" ? [SYNTHESIZE] : ["refuse"]);
			assert.equal(run.phase, "finishing");
			run.request();
			run.finish();
			const ended = run.settle();
			assert.deepEqual("meter" in ended! && [ended.kind, ended.meter, ended.limit], ["synthesized", id, 1]);
		});

		test("each limit has a policy of its own", () => {
			for (const other of METER_IDS.filter((other) => other !== id)) {
				const run = limited(1);
				run.send({ type: "policy_set", meter: other, policy: "synthesize" });
				run.spend(gate, id, 1);
				assert.deepEqual(run.knock(gate, id), stopped(1));
				assert.equal(run.phase, "stopped");
			}
		});

		test("with two limits of 0 both are asked about, and the request passes with two yeses", () => {
			const hasOneGate = (id: MeterId): boolean => kindOf(id).gates.length === 1;
			const others = GATES.filter((other) => other.gate === gate && other.id !== id && hasOneGate(other.id));
			for (const other of hasOneGate(id) ? others : []) {
				const run = limited(0, { [other.id]: 0, attended: true });
				const both = [...SHARED, ...OWN].filter((one) => one === id || one === other.id);
				const [first, second] = both as [MeterId, MeterId];
				const isAtOnce = gate === "turn" && !isShared(first);
				assert.deepEqual(run.knock(gate, id), [asks(first), "wait"]);
				assert.deepEqual(run.answer("yes"), isAtOnce ? [asks(second)] : []);
				if (!isAtOnce) assert.deepEqual(run.knock(gate, id), [asks(second), "wait"]);
				assert.deepEqual(run.answer("yes"), []);
				assert.deepEqual(run.knock(gate, id), []);
			}
		});
	});
}

describe("amounts", () => {
	test("are charged in every phase, between runs too, and stop nothing by themselves", () => {
		const run = new Driver({ turns: 2, cost: 5, policy: "synthesize", attended: true });
		const phases: string[] = [];
		const charge = (): void => {
			const before = run.used("cost");
			phases.push(run.phase);
			assert.deepEqual(run.charge("cost", 7), []);
			assert.equal(run.used("cost"), before + 7);
			assert.equal(phases.at(-1), run.phase);
		};
		charge();
		run.prompt().request();
		charge();
		run.end();
		charge();
		run.answer("no");
		charge();
		run.send({ type: "interrupted" });
		charge();
		assert.deepEqual(phases, ["idle", "running", "asking", "finishing", "stopped"]);
		assert.equal(run.settle()?.cost, 28, "what was charged between runs belongs to none");
	});

	test("can go beyond the limit by one response, and the next turn meets the gate", () => {
		const run = new Driver({ cost: 10, attended: true }).prompt();
		run.request();
		run.charge("cost", 9);
		assert.deepEqual([...run.end(), ...run.request()], ["admit"]);
		run.charge("cost", 500);
		assert.deepEqual(run.end(), [asks("cost")]);
		assert.equal(run.used("cost"), 509);
	});

	test("of other meters stay as they are", () => {
		const run = new Driver().prompt();
		run.request();
		run.send({ type: "charged", amounts: {} });
		run.charge("cost", 3);
		assert.deepEqual(run.spent, { ...perRunMeter(() => 0), turns: 1, cost: 3, continuations: 0 });
		assert.deepEqual([run.used(), run.used("toolCalls"), run.used("cost")], [1, 0, 3]);
	});
});

test("every row has words of its own, and samples that people can type", () => {
	for (const field of ["title", "label", "word"] as const) {
		assert.equal(new Set(METER_IDS.map((id) => kindOf(id)[field])).size, METER_IDS.length, field);
	}
	const rows = METER_IDS.map((id) => {
		const { title, label, samples, step } = kindOf(id);
		return [title, label, ...samples, `+${step}`].join(", ");
	});
	assert.deepEqual(rows, [
		...["Turn limit, Turns, 25, 50, +10", "Tool limit, Tools, 200, +10", "Cost limit, Cost, 2.50, +1"],
		...["Token limit, Tokens, 500k, +100k", "Time limit, Time, 30m, +10m", "Repeat limit, Repeats, 5, +5"],
		...["Session", "Tree", "Day", "Week", "Month", "Budget"].flatMap((whose) => [
			`${whose} turn limit, ${whose} turns, 25, 50, +10`,
			`${whose} cost limit, ${whose} cost, 2.50, +1`,
			`${whose} token limit, ${whose} tokens, 500k, +100k`,
		]),
	]);
});

test("an amount is said with its unit, one and many told apart", () => {
	assert.deepEqual(
		[amount("turns", 1), amount("turns", 25), amount("toolCalls", 0), amount("toolCalls", "unlimited")],
		["1 turn", "25 turns", "0 tool calls", "unlimited tool calls"],
	);
	assert.deepEqual(
		[amount("cost", 1_000_000), amount("cost", 1), amount("cost", "unlimited")],
		[...["$1.00", "$0.000001", "unlimited US dollars"]],
	);
});

describe("programs read dollars where the core counts millionths", () => {
	test("in a snapshot", () => {
		const run = new Driver({ cost: 2_500_000, grace: 1, policy: "synthesize" }).prompt();
		run.request();
		run.charge("cost", 500_000);
		const cost = { used: 0.5, limit: 2.5, remaining: 2, policy: "synthesize", softLimit: 2.25, advised: false };
		assert.deepEqual(snapshot(run.state).cost, cost);
		run.set("cost", "unlimited");
		const { limit, remaining, softLimit } = snapshot(run.state).cost;
		assert.deepEqual([limit, remaining, softLimit], ["unlimited", "unlimited", undefined]);
	});

	test("in an outcome, with and without a limit", () => {
		const run = new Driver({ cost: 2_500_000 }).prompt();
		run.request();
		run.charge("cost", 3_000_000);
		run.end();
		const spent = sum({ turns: 1, cost: 3 });
		assert.deepEqual(publish(run.settle()!), { ...spent, kind: "exhausted", meter: "cost", limit: 2.5 });
		run.prompt().request();
		run.charge("cost", 1);
		run.finish();
		assert.deepEqual(publish(run.settle()!), { ...sum({ turns: 1, cost: 0.000001 }), kind: "completed" });
		const asked = new Driver({ turns: "unlimited", grace: 1 }).prompt();
		asked.request();
		asked.send({ type: "wrap_up_requested" });
		asked.end();
		const ended = outcome(asked.send({ type: "settled" }))!;
		assert.deepEqual(publish(ended), {
			...sum({ turns: 1, advised: true }),
			...{ kind: "wrapped_up" },
			...{ meter: "turns", limit: "unlimited" },
		});
		const boundless = { ...sum(), kind: "wrapped_up", meter: "cost", limit: "unlimited" } as const;
		assert.deepEqual(publish(boundless), boundless);
	});
});

test("a breaker is no member's unless it is said", () => {
	const limits = perMeter(() => ({ max: 1, policy: "abort" }) as const);
	assert.equal(create({ attended: true, limits, grace: 0 }).isMember, false);
});
