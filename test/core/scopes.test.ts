import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { kindOf, METER_IDS } from "../../src/core/meters.ts";
import { line } from "../../src/core/outcome.ts";
import { ABORT, asks, Driver } from "./driver.ts";

const SESSION_IDS = METER_IDS.filter((id) => kindOf(id).scope === "session");

describe("what a session may spend", () => {
	test("is limited in turns, cost and tokens", () => {
		assert.deepEqual(SESSION_IDS, ["sessionTurns", "sessionCost", "sessionTokens"]);
		for (const id of SESSION_IDS) assert.deepEqual(kindOf(id).unit, kindOf(kindOf(id).of).unit);
	});

	for (const id of SESSION_IDS) {
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

		test(`${id}: a raise holds for the rest of the session, between runs too`, () => {
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

		test(`${id} is asked about before the round's own limit`, () => {
			const { of } = kindOf(id);
			const run = new Driver({ turns: "unlimited", [of]: 1, [id]: 1, attended: true }).prompt();
			run.spend("turn", id, 1);
			assert.deepEqual(run.knock("turn", id), [asks(id)]);
			assert.deepEqual(run.answer("yes"), [asks(of)]);
			assert.deepEqual(run.answer("yes"), []);
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
		assert.equal(text, `pi-turn-limit: exhausted ${where}; spent: 1 turn, 0 tool calls.`);
	});
});
