/** What seeds/clark-graceful-turn-limit.rs.txt asks for, and where design.md decides otherwise, of our core. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { snapshot } from "../../src/core/breaker.ts";
import { readGrace, readMessage } from "../../src/core/late.ts";
import type { Max } from "../../src/core/limit.ts";
import type { Effect } from "../../src/core/state.ts";
import { wrapUp } from "../../src/core/wording.ts";
import { ABORT, Driver, EVENTS } from "../core/driver.ts";

/** A loop whose host supplies grace and message as functions; it keeps what the model was told, and when. */
class Loop extends Driver {
	readonly told: [turn: number, message: string][] = [];
	readonly problems: string[] = [];
	readonly #grace: () => unknown;
	readonly #message: (() => unknown) | undefined;

	constructor(turns: Max, grace: () => unknown, message?: () => unknown) {
		super({ turns });
		this.#grace = grace;
		this.#message = message;
		this.prompt();
	}

	/** The grace is read at every check, the message when it is sent. */
	override end(goesOn = true): readonly Effect[] {
		const grace = readGrace(this.#grace);
		this.send({ type: "grace_set", grace: grace.value });
		const effects = super.end(goesOn);
		for (const effect of effects) if (effect.type === "advise") this.#tell(wrapUp(effect.remaining));
		if (grace.problem) this.problems.push(grace.problem);
		return effects;
	}

	#tell(text: string): void {
		const { value, problem } = this.#message ? readMessage(this.#message, text) : { value: text };
		this.told.push([this.used(), value]);
		if (problem) this.problems.push(problem);
	}

	get softLimit(): number | undefined {
		return softLimit(this);
	}
}

const softLimit = ({ state }: Driver): number | undefined => snapshot(state).turns.softLimit;
const advised = ({ state }: Driver): boolean => snapshot(state).turns.advised;

describe("the soft limit", () => {
	test("is none for a grace of 0", () => {
		assert.equal(softLimit(new Driver({ turns: 50, grace: 0 })), undefined);
	});

	test("is none without a limit, and for a limit that leaves no turn to close in", () => {
		for (const turns of ["unlimited", 0, 1] as const) {
			const run = new Driver({ turns, grace: 2 }).prompt();
			assert.equal(softLimit(run), undefined);
			run.turns(1);
			assert.equal(advised(run), false);
		}
	});

	test("is the limit minus the grace", () => {
		assert.equal(softLimit(new Driver({ turns: 50, grace: 5 })), 45);
		assert.equal(softLimit(new Driver({ turns: 2, grace: 1 })), 1);
	});

	test("is one turn, not none, for a grace of the limit or more (design.md 11)", () => {
		for (const grace of [9, 10, 99]) assert.equal(softLimit(new Driver({ turns: 10, grace })), 1);
	});
});

describe("the advice", () => {
	test("does not come one turn before the soft limit", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		assert.deepEqual(run.turns(6), []);
		assert.equal(advised(run), false);
	});

	test("comes once, at the soft limit, however often the loop checks", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		assert.deepEqual(run.turns(7), [{ type: "advise", remaining: 3 }]);
		assert.equal(advised(run), true);
		assert.deepEqual([...run.end(), ...run.end(), ...run.turns(2)], []);
	});

	test("does not come before the first turn has ended", () => {
		const run = new Driver({ turns: 6, grace: 5 }).prompt();
		assert.deepEqual(run.request(), []);
		assert.equal(advised(run), false);
		assert.deepEqual(run.end(), [{ type: "advise", remaining: 5 }]);
	});

	test("is not brought nearer by anything but turns", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		run.turns(6);
		run.request();
		const idle = ["prompted", "charged", "tool_call_requested", "message_lost", "answered"];
		for (const event of EVENTS.filter(({ type }) => idle.includes(type))) {
			for (let n = 0; n < 20; n++) assert.deepEqual(run.send(event), []);
		}
		assert.equal(run.used(), 7);
		assert.equal(advised(run), false);
	});

	test("spares a run that finishes on the very turn after which it would be due", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		run.turns(6);
		run.request();
		assert.deepEqual(run.end(false), []);
		assert.equal(run.settle()?.kind, "completed");
	});

	test("is there to see in the outcome when the model follows it", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		run.turns(7);
		run.request();
		run.end(false);
		const outcome = run.settle();
		assert.deepEqual([outcome?.kind, outcome?.turns, outcome?.advised], ["wrapped_up", 8, true]);
	});

	test("leaves the limit in force when the model ignores it", () => {
		const run = new Driver({ turns: 10, grace: 3 }).prompt();
		assert.deepEqual(run.turns(10).slice(1), [ABORT]);
		assert.equal(run.used(), 10);
		assert.equal(run.settle()?.kind, "exhausted");
	});

	test("is due again in the next run", () => {
		const run = new Driver({ turns: 4, grace: 1 }).prompt();
		run.turns(4);
		run.settle();
		run.prompt();
		assert.deepEqual(run.turns(3), [{ type: "advise", remaining: 1 }]);
	});
});

describe("the built-in message", () => {
	const text = wrapUp(2);

	test("is a directive: to begin nothing, to report now, to stop", () => {
		for (const order of ["Begin nothing new.", "write your closing report now", "Then stop."]) {
			assert.ok(text.includes(order), order);
		}
		assert.doesNotMatch(text, /\b(might|may|could|please|consider|should try)\b/i);
	});

	test("asks for what was accomplished, what remains and partial findings", () => {
		for (const item of [/^- .*accomplished/m, /^- .*remains/m, /^- partial findings/m]) assert.match(text, item);
	});

	test("asks for input only where it is truly needed", () => {
		assert.match(text, /Ask the user something only if you truly cannot/);
	});

	test("lets nobody claim completion because of the limit", () => {
		assert.match(text, /Do not call the task complete because the run is ending/);
	});

	test("names no tool", () => {
		assert.doesNotMatch(text, /\b(bash|read|edit|write_file|grep|find|ls|message_result|message_ask)\b/);
		assert.doesNotMatch(text, /[a-z]_[a-z]|`/);
	});

	test("says how many turns remain", () => {
		assert.match(wrapUp(1), /^Only 1 turn left/);
		assert.match(wrapUp(2), /^Only 2 turns left/);
	});
});

describe("a message function", () => {
	test("takes the place of the built-in text", () => {
		const loop = new Loop(
			10,
			() => 3,
			() => "custom",
		);
		loop.turns(10);
		assert.deepEqual(loop.told, [[7, "custom"]]);
	});

	test("is read when the message is sent, and only then", () => {
		const read: number[] = [];
		const loop: Loop = new Loop(
			10,
			() => 3,
			() => `number ${read.push(loop.used())}`,
		);
		loop.turns(10);
		assert.deepEqual(read, [7]);
	});

	test("that throws or gives no text does not take the advice away: the built-in text is used, with a warning", () => {
		for (const bad of [() => assert.fail("no idea"), () => undefined, () => "  ", () => 5]) {
			const loop = new Loop(10, () => 3, bad);
			loop.turns(10);
			assert.deepEqual(loop.told, [[7, wrapUp(3)]]);
			assert.equal(loop.problems.length, 1);
		}
	});
});

describe("a grace function", () => {
	test("is read at every check: a grace that is widened past the point fires at the next one", () => {
		let grace = 3;
		const loop = new Loop(20, () => grace);
		loop.turns(16);
		assert.deepEqual(loop.told, []);
		assert.equal(loop.softLimit, 17);
		grace = 8;
		loop.turns(1);
		assert.equal(loop.softLimit, 12);
		assert.deepEqual(loop.told, [[17, wrapUp(3)]]);
	});

	test("cannot bring the advice back by being widened again", () => {
		let grace = 3;
		const loop = new Loop(20, () => grace);
		loop.turns(17);
		grace = 8;
		loop.turns(2);
		assert.equal(loop.told.length, 1);
	});

	test("cannot switch the advice off: what it gives is clamped to 1 … limit - 1", () => {
		for (const [given, turn] of [
			[0, 9],
			[-5, 9],
			[0.5, 9],
			[1, 9],
			[9, 1],
			[10, 1],
			[999, 1],
			[Infinity, 1],
			[-Infinity, 9],
		] as const) {
			const loop = new Loop(10, () => given);
			loop.turns(10);
			assert.deepEqual(
				loop.told.map(([at]) => at),
				[turn],
				String(given),
			);
			assert.deepEqual(loop.problems, []);
		}
	});

	test("that throws or gives no number is replaced by the default, with a warning", () => {
		for (const bad of [() => assert.fail("no idea"), () => NaN, () => undefined, () => "3"]) {
			const loop = new Loop(10, bad);
			loop.turns(10);
			assert.deepEqual(loop.told, [[8, wrapUp(2)]]);
			assert.match(loop.problems[0] ?? "", /^The grace function gave .* Using 2\.$/);
		}
	});
});
