/** What a person, a program and the session learn of a run's end. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Outcome } from "../../src/core/outcome.ts";
import type { Context, Pi } from "../../src/hosts/pi/host/api.ts";
import { type Report, report } from "../../src/hosts/pi/outcome/report.ts";
import { isDeliberate, noticeOf } from "../../src/hosts/pi/outcome/sentences.ts";
import { sum } from "../core/driver.ts";

const trip = { meter: "turns", limit: 2 } as const;
const spent = sum({ turns: 2 });
const OUTCOMES = {
	declined: { ...spent, kind: "declined", answered: true, ...trip },
	unanswered: { ...spent, kind: "declined", answered: false, ...trip },
	exhausted: { ...spent, kind: "exhausted", ...trip },
	refused: { ...spent, turns: 0, kind: "exhausted", ...trip },
	budget: { ...spent, kind: "exhausted", meter: "budgetTurns", limit: 2 },
	synthesized: { ...spent, kind: "synthesized", ...trip },
	failed: { ...spent, kind: "failed", by: "provider", message: "overloaded", ...trip },
	wrappedUp: { ...spent, kind: "wrapped_up", ...trip },
	interrupted: { ...spent, kind: "interrupted" },
	completed: { ...spent, kind: "completed" },
	broken: { ...spent, kind: "failed", by: "breaker", message: "bug" },
} as const satisfies Record<string, Outcome>;

const KEPT = " Messages that were queued are kept for the next prompt.";

interface Told {
	readonly events: unknown[];
	readonly entries: unknown[];
	readonly notices: unknown[];
	readonly reports: Report[];
}

/** Reports an outcome; what is in `fails` fails. */
function tell(
	outcome: Outcome,
	made: Partial<Report> = {},
	isRecordShown = false,
	fails: string[] = [],
	hasUI = true,
	mode = "tui",
) {
	const told: Told = { events: [], entries: [], notices: [], reports: [] };
	const record = (list: keyof Told, value: unknown): void => {
		if (fails.includes(list)) throw new Error(`no ${list}`);
		(told[list] as unknown[]).push(value);
	};
	const pi = {
		events: { emit: (name: string, data: unknown) => record("events", [name, data]) },
		appendEntry: (name: string, data: unknown) => record("entries", [name, data]),
	} as unknown as Pi;
	const ui = { notify: (message: string, type: string) => record("notices", [message, type]) };
	const whole = {
		...{ outcome, line: undefined, isInTranscript: false, isAnswered: false, wasQueued: false, attended: true },
		...made,
	};
	const act = (): void =>
		report(pi, whole, (of) => record("reports", of), { hasUI, ui, mode } as unknown as Context, isRecordShown);
	return { told, act };
}

function told(...args: Parameters<typeof tell>): Told {
	const { told, act } = tell(...args);
	act();
	return told;
}

describe("the end of a run", () => {
	for (const [name, notice, type] of [
		["declined", "You stopped the run at the turn limit. Send a message to go on.", "info"],
		["unanswered", "Turn limit reached; nobody answered. Send a message to go on.", "error"],
		["exhausted", "Turn limit reached; the run ended without an answer. Send a message to go on.", "error"],
		["refused", "Turn limit reached; a run was refused. Send a message to go on.", "error"],
		[
			"budget",
			"Budget turn limit reached; the run ended without an answer. An operator of the budget can raise it.",
			"error",
		],
		["synthesized", "Turn limit reached; the model gave its final answer. Send a message to go on.", "info"],
		["failed", "Turn limit reached; the provider failed in the final pass. Send a message to go on.", "error"],
	] as const) {
		test(`that is ${name} is a notification: ${notice}`, () => {
			assert.deepEqual(told(OUTCOMES[name]).notices, [[notice, type]]);
			assert.deepEqual(told(OUTCOMES[name], { wasQueued: true }).notices, [[notice + KEPT, type]]);
			assert.deepEqual(told(OUTCOMES[name], {}, true).notices, []);
			assert.deepEqual(told(OUTCOMES[name], {}, false, [], false).notices, []);
			assert.equal(isDeliberate(OUTCOMES[name]), type === "info");
		});
	}

	test("that the person declined has the words that clients compare over rpc", () => {
		const told = tell(OUTCOMES.declined, {}, false, [], true, "rpc");
		told.act();
		assert.deepEqual(told.told.notices, [
			["Agent aborted by user. Turn limit reached. Send a message to go on.", "info"],
		]);
	});

	for (const name of ["wrappedUp", "interrupted", "completed"] as const) {
		test(`that is ${name} is no notification`, () => {
			assert.deepEqual(told(OUTCOMES[name], { wasQueued: true }).notices, []);
		});
	}

	test("after the wrap-up may be partial, and is as it was wished", () => {
		assert.equal(noticeOf(OUTCOMES.wrappedUp), "Ended after the wrap-up; the answer may be partial.");
		assert.equal(isDeliberate(OUTCOMES.wrappedUp), true);
		assert.equal(isDeliberate(OUTCOMES.completed), false);
		assert.equal(isDeliberate({ ...OUTCOMES.exhausted, answered: true } as Outcome), false);
	});

	test("by our own failure is an error, also where the record is shown", () => {
		const broken = [["pi-turn-limit: failed and stopped the run: bug", "error"]];
		assert.deepEqual(told(OUTCOMES.broken).notices, broken);
		assert.deepEqual(told(OUTCOMES.broken, {}, true).notices, broken);
	});

	test("is an event and a record in which amounts stand as programs write them", () => {
		const outcome = { ...OUTCOMES.exhausted, cost: 1_500_000, meter: "cost", limit: 1_000_000 } as const;
		const published = { ...outcome, cost: 1.5, limit: 1 };
		const { events, entries, reports } = told(outcome, { attended: false, line: "line" });
		assert.deepEqual(events, [["turn-limit:outcome", published]]);
		assert.deepEqual(entries, [["turn-limit-outcome", { version: 1, attended: false, ...published }]]);
		assert.deepEqual(
			reports.map(({ line, outcome }) => [line, outcome]),
			[["line", published]],
		);
	});

	test("is no record where no limit acted", () => {
		assert.deepEqual(told(OUTCOMES.completed).entries, []);
		assert.equal(told(OUTCOMES.completed).events.length, 1);
	});

	test("is told to the others where one cannot be told, and all failures are named", () => {
		const lists = ["events", "entries", "notices", "reports"] as const;
		for (const failing of lists) {
			const { told, act } = tell(OUTCOMES.declined, {}, false, [failing]);
			assert.throws(act, new Error(`The outcome could not be reported: Error: no ${failing}`));
			for (const list of lists) assert.equal(told[list].length, list === failing ? 0 : 1);
		}
		const { act } = tell(OUTCOMES.declined, {}, false, ["events", "reports"]);
		assert.throws(act, new Error("The outcome could not be reported: Error: no events; Error: no reports"));
	});
});
