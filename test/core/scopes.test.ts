import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isShared, kindOf, LEDGER_MOST, METER_IDS, type MeterId, scopeOf } from "../../src/core/meters.ts";
import { line } from "../../src/core/outcome.ts";
import { type Scope, SCOPES as ROWS, WIDER_SCOPES } from "../../src/core/scopes.ts";
import { ABORT, asks, Driver, type Said } from "./driver.ts";

const SCOPES: readonly Scope[] = ["round", "session", "tree", "day", "week", "month", "fleet"];

function over(...scopes: Scope[]): MeterId[] {
	return METER_IDS.filter((id) => scopes.includes(kindOf(id).scope));
}

test("scopes stand from the narrowest to the widest", () => {
	assert.deepEqual(Object.keys(ROWS), SCOPES);
});

for (const scope of WIDER_SCOPES) {
	test(`what a ${scope} may spend is limited in turns, cost and tokens`, () => {
		assert.deepEqual(
			over(scope),
			["Turns", "Cost", "Tokens"].map((meter) => ROWS[scope].name + meter),
		);
		for (const id of over(scope)) assert.equal(kindOf(id).unit.show, kindOf(kindOf(id).of).unit.show);
	});
}

test("a limit or a grant is at most what its ledger takes, and adds up exactly; a fleet's larger one is refused", () => {
	const { MAX_SAFE_INTEGER: huge } = Number;
	for (const id of METER_IDS.filter((id) => !["cost", "time"].includes(kindOf(id).of))) {
		const { read } = kindOf(id).unit;
		assert.deepEqual(
			[read(huge), read(3), read("x")],
			[scopeOf(id).countedIn === "fleet" ? huge : LEDGER_MOST, 3, undefined],
			id,
		);
	}
	assert.equal(kindOf("dayCost").unit.read("$999999999"), LEDGER_MOST);
	assert.equal(kindOf("time").unit.read("876000h"), LEDGER_MOST);
});

describe("what a session or a period may spend", () => {
	for (const id of over("session", "day", "week", "month")) {
		test(`${id}: no prompt refills it, and a run that begins with it reached is asked about or stopped`, () => {
			for (const attended of [true, false]) {
				const run = new Driver({ turns: "unlimited", [id]: 2, attended }).prompt();
				run.spend("turn", id, 2);
				run.finish();
				assert.equal(run.settle()?.kind, "completed");
				assert.equal(run.used(id), 2);
				assert.deepEqual(run.prompt().request(), attended ? [asks(id), "wait"] : ["abort"]);
			}
		});

		test(`${id}: a raise lasts over prompts, and counts between runs too`, () => {
			const run = new Driver({ turns: "unlimited", [id]: 1 }).prompt();
			run.spend("turn", id, 1);
			run.finish();
			run.settle();
			run.raise(id, 2);
			for (const n of [1, 2]) {
				run.prompt();
				assert.deepEqual(run.spend("turn", id, 1), [], `prompt ${n}`);
				run.finish();
				run.settle();
			}
			assert.deepEqual(run.prompt().request(), ["abort"]);
		});
	}
});

for (const id of over("session", "tree", "day", "week", "month")) {
	const narrower = over("round", "session", "tree", "day", "week").filter((other) => {
		return kindOf(other).of === kindOf(id).of && SCOPES.indexOf(kindOf(other).scope) < SCOPES.indexOf(kindOf(id).scope);
	});
	for (const other of narrower) {
		test(`${id} is asked about before ${other}`, () => {
			const run = new Driver({ turns: "unlimited", [other]: 1, [id]: 1, attended: true }).prompt();
			run.spend("turn", id, 1);
			const asked = (meter: MeterId): readonly Said[] => run.knock("turn", meter).slice(0, 1);
			assert.deepEqual(asked(id), [asks(id)]);
			assert.deepEqual(isShared(id) ? [...run.answer("yes"), ...asked(id)] : run.answer("yes"), [asks(other)]);
			assert.deepEqual(run.answer("yes"), []);
			assert.deepEqual(run.knock("turn", id), []);
		});
	}
}

describe("what a session may spend", () => {
	for (const id of over("session")) {
		test(`${id}: a resumed session goes on from what it has spent`, () => {
			const run = new Driver({ turns: "unlimited", [id]: 9 });
			run.send({ type: "counted", used: { [id]: 8 } });
			run.prompt();
			assert.deepEqual(run.spend("turn", id, 1), []);
			assert.deepEqual(run.knock("turn", id), [ABORT]);
		});

		test(`${id}: what was spent before is not told in the middle of a run`, () => {
			const run = new Driver({ turns: "unlimited", [id]: 1, attended: true }).prompt();
			run.spend("turn", id, 1);
			run.knock("turn", id);
			const { state } = run;
			run.send({ type: "counted", used: { [id]: 0 } });
			assert.equal(run.state, state);
		});

		test(`${id}: a limit that is set counts from the session's beginning`, () => {
			const run = new Driver({ turns: "unlimited" }).prompt();
			run.spend("turn", id, 5);
			run.set(id, 7);
			assert.equal(run.used(id), 5);
		});
	}

	test("the turns of a final pass count for the session, not for the round", () => {
		const run = new Driver({ turns: 1, policy: "synthesize" }).prompt();
		run.turns(1);
		run.request();
		run.finish();
		assert.deepEqual([run.used(), run.used("sessionTurns"), run.used("sessionCost")], [1, 2, 0]);
	});

	test("the line about a stop says that the limit is the session's", () => {
		const run = new Driver({ sessionTurns: 1 }).prompt();
		run.turns(1);
		const text = line(run.settle()!, () => "PI_TURN_LIMIT_SESSION_TURNS");
		const where = "at the limit of 1 turn in this session (PI_TURN_LIMIT_SESSION_TURNS)";
		assert.equal(text, `pi-turn-limit: stopped ${where}, without an answer; spent in this run: 1 turn, 0 tool calls.`);
	});
});
