/** The tables of outcomes and answers: what each row means for whoever reads it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer, ANSWERS, isAnswer, isYes, policyAfter } from "../../src/core/answers.ts";
import { isDeclined, isEndAtLimit, OUTCOME_KINDS, type Outcome, OUTCOMES } from "../../src/core/outcome.ts";

type Row = (typeof OUTCOMES)[keyof typeof OUTCOMES];

/** The kinds of outcome whose row is like this. */
function kindsWith(is: (row: Row) => boolean): readonly string[] {
	return OUTCOME_KINDS.filter((kind) => is(OUTCOMES[kind]));
}

test("a run ends by itself, at a limit, at a question, by an abort or by a failure", () => {
	const ends = (by: Row["endedBy"]): readonly string[] => kindsWith(({ endedBy }) => endedBy === by);
	assert.deepEqual(ends("itself"), ["completed", "wrapped_up"]);
	assert.deepEqual(ends("limit"), ["synthesized", "exhausted"]);
	assert.deepEqual(ends("question"), ["declined"]);
	assert.deepEqual(ends("abort"), ["interrupted"]);
	assert.deepEqual(ends("failure"), ["failed"]);
});

test("an outcome says whether it names a limit", () => {
	const naming = (names: Row["namesLimit"]): readonly string[] => kindsWith(({ namesLimit }) => namesLimit === names);
	assert.deepEqual(naming("never"), ["completed", "interrupted"]);
	assert.deepEqual(naming("always"), ["wrapped_up", "synthesized", "exhausted", "declined"]);
	assert.deepEqual(naming("perhaps"), ["failed"]);
});

test("an outcome says whether its answer may be partial, and whether a final pass can come before it", () => {
	assert.deepEqual(
		kindsWith(({ isPartial }) => isPartial),
		["wrapped_up", "synthesized"],
	);
	assert.deepEqual(
		kindsWith(({ hasFinalPass }) => hasFinalPass),
		["synthesized", "exhausted", "failed"],
	);
});

test("the line of a script says how the run ended", () => {
	const words = OUTCOME_KINDS.map((kind) => [kind, OUTCOMES[kind].end]);
	assert.deepEqual(Object.fromEntries(words), {
		completed: "finished",
		wrapped_up: "finished after the wrap-up",
		synthesized: "stopped",
		exhausted: "stopped",
		declined: "stopped",
		interrupted: "interrupted",
		failed: "failed",
	});
});

test("a run was ended at a limit with an answer, without one, or by whoever was asked", () => {
	assert.deepEqual(OUTCOME_KINDS.filter(isEndAtLimit), ["synthesized", "exhausted", "declined"]);
	const declined = OUTCOME_KINDS.filter((kind) => isDeclined({ kind } as Outcome));
	assert.deepEqual(declined, ["declined"]);
});

test("only a yes continues; some answers end the run by a policy of their own", () => {
	const answers = Object.keys(ANSWERS) as Answer[];
	assert.deepEqual(answers.filter(isYes), ["yes"]);
	const ends = answers.map((answer) => [policyAfter(answer, "abort"), policyAfter(answer, "synthesize")]);
	assert.deepEqual(Object.fromEntries(answers.map((answer, i) => [answer, ends[i]])), {
		yes: ["abort", "synthesize"],
		wrap_up: ["synthesize", "synthesize"],
		stop: ["abort", "abort"],
		no: ["abort", "synthesize"],
		none: ["abort", "synthesize"],
	});
});

test("anything else than an answer is none", () => {
	assert.deepEqual(["yes", "wrap_up", "stop", "no", "none"].filter(isAnswer).length, 5);
	assert.deepEqual(["maybe", "toString", "", undefined, null, true, ["yes"], {}].filter(isAnswer), []);
});
