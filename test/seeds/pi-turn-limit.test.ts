/** What the seeds' readme, plan and spec of pi-turn-limit ask for, and where design.md decides otherwise, of our core. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { idleWidget, notice, question, setText, widget } from "../../src/core/wording.ts";
import { parse } from "../../src/pi/command.ts";
import { fromEnvironment } from "../../src/settings/places.ts";
import { defaults, resolve } from "../../src/settings/settings.ts";
import { ABORT, ASK_TURNS, CLOSE, Driver, SYNTHESIZE } from "../core/driver.ts";

/** Somebody is there to be asked. */
const attended = (turns: number | "unlimited"): Driver => new Driver({ turns, attended: true }).prompt();

const set = (run: Driver, max: number | "unlimited") => run.send({ type: "limit_set", meter: "turns", max });

/** The limit that comes of `PI_MAX_TURNS`. */
function fromVariable(text?: string) {
	const place = fromEnvironment(text === undefined ? {} : { PI_MAX_TURNS: text });
	const { settings, problems } = resolve([place], undefined, defaults(true));
	return { max: settings.maxTurns.value, problems: problems.length };
}

describe("the limit", () => {
	test("is 25 unless something else is said", () => {
		assert.deepEqual(fromVariable(), { max: 25, problems: 0 });
	});

	test("is what PI_MAX_TURNS says: a number, or unlimited", () => {
		assert.deepEqual(fromVariable("50"), { max: 50, problems: 0 });
		assert.deepEqual(fromVariable("0"), { max: 0, problems: 0 });
		assert.deepEqual(fromVariable("unlimited"), { max: "unlimited", problems: 0 });
	});

	test("is the default, and that is said, where PI_MAX_TURNS makes no sense", () => {
		for (const text of ["abc", "-3", "2.5"]) assert.deepEqual(fromVariable(text), { max: 25, problems: 1 });
	});

	test("means so many full turns: the question comes before the next (design.md 1)", () => {
		const run = attended(5);
		assert.deepEqual(run.turns(4), []);
		assert.deepEqual(run.request(), []);
		assert.equal(run.used(), 5);
		assert.deepEqual(run.end(), [ASK_TURNS]);
	});

	test("leaves a run alone that finishes on its last turn (design.md 1)", () => {
		const run = attended(5);
		run.turns(4);
		run.request();
		assert.deepEqual(run.end(false), []);
		assert.equal(run.settle()?.kind, "completed");
	});
});

describe("the counter", () => {
	test("counts a turn when it starts", () => {
		const run = attended(25);
		run.request();
		assert.equal(widget(run.state), "Turns: 1/25");
		run.end();
		assert.equal(widget(run.state), "Turns: 1/25");
	});

	test("starts from 0 with each new prompt of a person", () => {
		const run = attended(25);
		run.turns(7);
		run.settle();
		run.prompt().request();
		assert.equal(run.used(), 1);
	});

	test("goes on where an extension starts the run (design.md 3)", () => {
		const run = attended(25);
		run.turns(7);
		run.settle();
		run.request();
		assert.equal(run.used(), 8);
	});

	test("counts a turn once that is repeated after a failure (design.md 4)", () => {
		const run = attended(25);
		run.request();
		run.send({ type: "turn_failed", message: "overloaded" });
		run.request();
		assert.equal(run.used(), 1);
	});
});

describe("the question", () => {
	test("has its title and says how many turns were used", () => {
		const run = attended(25);
		run.turns(25);
		const { title, message } = question(run.state, "turns");
		assert.equal(title, "Turn limit reached");
		assert.equal(message.split("\n")[0], "You've used 25 turns. Continue?");
		assert.equal(widget(run.state), "Turns: 25/25");
	});

	test("answered with yes puts the counter to 0 and lets the held turn run as the first of a new round", () => {
		const run = attended(5);
		run.turns(5);
		assert.deepEqual(run.answer("yes"), []);
		assert.equal(widget(run.state), "Turns: 0/5");
		assert.deepEqual(run.request(), []);
		assert.equal(widget(run.state), "Turns: 1/5");
	});

	test("can be answered with yes any number of times", () => {
		const run = attended(5);
		for (let n = 0; n < 100; n++) {
			assert.deepEqual(run.turns(5), [ASK_TURNS]);
			assert.deepEqual(run.answer("yes"), []);
		}
		run.request();
		run.end(false);
		const outcome = run.settle();
		assert.deepEqual([outcome?.kind, outcome?.turns, outcome?.continuations], ["completed", 501, 100]);
	});

	test("answered with no aborts the run and says who did", () => {
		const run = attended(5);
		run.turns(5);
		assert.deepEqual(run.answer("no"), [ABORT]);
		const outcome = run.settle();
		assert.ok(outcome?.kind === "declined" && outcome.answered);
		assert.match(notice(outcome, false) ?? "", /^Agent aborted by user\./);
	});

	test("not answered at all aborts the run too, and says that nobody answered (design.md 6)", () => {
		const run = attended(5);
		run.turns(5);
		assert.deepEqual(run.answer("none"), [ABORT]);
		const outcome = run.settle();
		assert.ok(outcome?.kind === "declined" && !outcome.answered);
		assert.match(notice(outcome, false) ?? "", /^Turn limit reached; nobody answered\./);
	});

	test("is not asked where there is nobody to ask: the run is aborted", () => {
		const run = new Driver({ turns: 5 }).prompt();
		assert.deepEqual(run.turns(5), [ABORT]);
		assert.equal(run.settle()?.kind, "exhausted");
	});

	test("follows the policy where nobody continues (design.md 6)", () => {
		const run = new Driver({ turns: 5, attended: true, policy: "synthesize" }).prompt();
		run.turns(5);
		assert.deepEqual(run.answer("no"), [SYNTHESIZE]);
	});
});

describe("after an abort", () => {
	test("nothing of the run passes any more", () => {
		const run = attended(5);
		run.turns(5);
		run.answer("no");
		assert.deepEqual(run.request(), [ABORT]);
		assert.deepEqual(run.answer("yes"), []);
		assert.equal(run.phase, "stopped");
	});

	test("the next prompt starts anew: the run is over, not the session (design.md 3)", () => {
		const run = attended(5);
		run.turns(5);
		run.answer("no");
		run.settle();
		run.prompt();
		assert.deepEqual(run.turns(4), []);
	});
});

describe("a limit of 0 asks before every turn", () => {
	test("and each yes admits one", () => {
		const run = attended(0);
		assert.deepEqual(run.request(), [ASK_TURNS]);
		for (let n = 0; n < 3; n++) {
			run.answer("yes");
			assert.deepEqual(run.turns(1), [ASK_TURNS]);
		}
	});

	test("and where there is nobody to ask it admits none (design.md 10)", () => {
		assert.deepEqual(new Driver({ turns: 0 }).prompt().request(), [ABORT]);
	});
});

test("a limit of 1 lets one turn run, and asks before each further one (design.md 1)", () => {
	const run = attended(1);
	for (let n = 0; n < 3; n++) {
		assert.deepEqual(run.turns(1), [ASK_TURNS]);
		run.answer("yes");
	}
	assert.equal(run.state.phase.name, "running");
});

describe("unlimited", () => {
	test("never asks, counts on, and shows it", () => {
		const run = attended("unlimited");
		assert.deepEqual(run.turns(1000), []);
		assert.equal(widget(run.state), "Turns: 1000/∞");
	});

	test("to a number: the counter starts from 0", () => {
		const run = attended("unlimited");
		run.turns(30);
		set(run, 25);
		assert.equal(widget(run.state), "Turns: 0/25");
		assert.deepEqual(run.turns(24), []);
		assert.deepEqual(run.turns(1), [ASK_TURNS]);
	});

	test("from a number: the counter stays", () => {
		const run = attended(25);
		run.turns(7);
		set(run, "unlimited");
		assert.equal(widget(run.state), "Turns: 7/∞");
	});

	test("set while the question is open answers it", () => {
		const run = attended(5);
		run.turns(5);
		assert.deepEqual(set(run, "unlimited"), [CLOSE]);
		assert.deepEqual(run.turns(10), []);
	});
});

describe("the command", () => {
	test("takes a number and the word unlimited", () => {
		assert.deepEqual(parse("50"), { type: "set", key: "maxTurns", value: 50 });
		assert.deepEqual(parse(" 10 "), { type: "set", key: "maxTurns", value: 10 });
		assert.deepEqual(parse("0"), { type: "set", key: "maxTurns", value: 0 });
		assert.deepEqual(parse("unlimited"), { type: "set", key: "maxTurns", value: "unlimited" });
	});

	test("refuses anything else and says what would be right", () => {
		for (const text of ["abc", "-1", "2.5", "1e3", "0x10", "50 60", "∞"]) {
			const command = parse(text);
			assert.ok(command.type === "invalid", text);
			assert.match(command.message, /^Invalid turn limit\. Must be a positive integer/);
		}
	});

	test("says what it has set", () => {
		assert.equal(setText("turns", 10), "Turn limit set to 10.");
	});

	test("shows at once, between runs, what the next run starts from", () => {
		const run = attended(25);
		run.turns(7);
		run.settle();
		set(run, 10);
		assert.equal(idleWidget(run.state), "Turns: 0/10");
	});

	test("given twice, the last one holds, and the counter of a running run stays (design.md 9)", () => {
		const run = attended(25);
		run.turns(3);
		set(run, 4);
		set(run, 6);
		assert.equal(widget(run.state), "Turns: 3/6");
		assert.deepEqual(run.turns(2), []);
		assert.deepEqual(run.turns(1), [ASK_TURNS]);
	});
});
