/** Spec, code and tests name the same things. Each check is shown to find what it is for. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { emitted, FILE, readSpec } from "./reader.ts";
import { CONSEQUENCES, DECISIONS, triggerOf } from "./names.ts";

/** The texts that can drift apart. */
interface Texts {
	readonly spec: string;
	/** `src/core/protocol.ts`. */
	readonly alphabet: string;
	readonly promises: string;
}

const text = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");

const TEXTS: Texts = {
	spec: text(FILE.href),
	alphabet: text("../../src/core/protocol.ts"),
	promises: text("promises.test.ts"),
};

/** Of `create`, which is no event. */
const CREATION = "SessionStarted";

function drift(texts: Texts): string[] {
	const spec = readSpec(texts.spec);
	const inputs = [...typesOf("Event", texts.alphabet), ...typesOf("Request", texts.alphabet)].map(triggerOf);
	const heard = spec.rules.map(({ trigger }) => trigger);
	const said = spec.rules.flatMap(({ ensures }) => emitted(ensures));
	const first = (trigger: string) => spec.rules.find((rule) => rule.trigger === trigger)?.parameters ?? [];
	return [
		...differ("promise", spec.promises, "property", namedIn(texts.promises)),
		...differ("trigger", spec.triggers, "event or request", [CREATION, ...inputs]),
		...differ("consequence", spec.consequences, "effect or decision", resultsOf(texts.alphabet)),
		...missing("rule with the trigger", heard, "surface or rule that causes it", [...spec.triggers, ...said]),
		...missing("offer of", spec.triggers, "rule that hears it", heard),
		...spec.rules
			.filter(({ trigger, parameters }) => parameters.join() !== first(trigger).join())
			.map(({ name, trigger }) => `${name} has other parameters of ${trigger} than another rule`),
	];
}

/** The text of a union type of the code. */
function union(name: string, code: string): string {
	return code.split(`export type ${name} =`)[1]?.split(";\n\n")[0] ?? "";
}

/** The members of a union, by their `type`. */
function typesOf(name: string, code: string): string[] {
	return [...union(name, code).matchAll(/readonly type: "(\w+)"/g)].map(([, type = ""]) => type);
}

/** Effects and decisions by their names in the spec. */
function resultsOf(code: string): string[] {
	const decisions = [...union("Decision", code).matchAll(/"(\w+)"/g)].map(([, decision = ""]) => decision);
	return [
		...typesOf("Effect", code).map((type) => (CONSEQUENCES as Record<string, string>)[type] ?? type),
		...decisions.map((decision) => (DECISIONS as Record<string, string>)[decision] ?? decision),
	];
}

/** `Name: a sentence`, as the first argument of whatever makes a test of it. */
function namedIn(tests: string): string[] {
	return [...tests.matchAll(/^\w+\(\s*"([A-Z]\w+): /gm)].map(([, name = ""]) => name);
}

function differ(what: string, these: readonly string[], other: string, those: readonly string[]): string[] {
	return [...missing(what, these, other, those), ...missing(other, those, what, these)];
}

function missing(what: string, these: readonly string[], other: string, those: readonly string[]): string[] {
	return [...new Set(these)].filter((name) => !those.includes(name)).map((name) => `${what} ${name}: no such ${other}`);
}

test("triggers, consequences and promises of the spec are those of code and tests", () => {
	assert.deepEqual(drift(TEXTS), []);
});

/** One text changed in one place. */
function changed(which: keyof Texts, from: string, to: string): Texts {
	assert.ok(TEXTS[which].includes(from), `${which} has no ${from}`);
	return { ...TEXTS, [which]: TEXTS[which].replace(from, to) };
}

for (const [found, texts] of [
	["promise Vain: no such property", changed("spec", "@invariant NMeansN", "@invariant Vain")],
	["property NMeansN: no such promise", changed("spec", "@invariant NMeansN", "@invariant Vain")],
	["trigger Charged: no such event or request", changed("alphabet", 'type: "charged"', 'type: "billed"')],
	["event or request Billed: no such trigger", changed("alphabet", 'type: "charged"', 'type: "billed"')],
	["event or request Ring: no such trigger", changed("alphabet", 'type: "turn_requested" }', 'type: "ring" }')],
	["effect or decision whistle: no such consequence", changed("alphabet", 'type: "resume" }', 'type: "whistle" }')],
	["consequence WorkResumed: no such effect or decision", changed("alphabet", 'type: "resume" }', 'type: "whistle" }')],
	["effect or decision shrug: no such consequence", changed("alphabet", '"admit" |', '"shrug" |')],
	["consequence RequestAdmitted: no such effect or decision", changed("alphabet", '"admit" |', '"shrug" |')],
	[
		"rule with the trigger LimitMoves: no such surface or rule that causes it",
		changed("spec", "when: LimitMoved", "when: LimitMoves"),
	],
	["offer of Charged: no such rule that hears it", changed("spec", "when: Charged", "when: Paid")],
	["LimitChanged has other parameters of LimitSet than another rule", otherParameters()],
] as [string, Texts][]) {
	test(`it is found: ${found}`, () => assert.ok(drift(texts).includes(found), drift(texts).join("\n")));
}

function otherParameters(): Texts {
	const from = "rule LimitChanged {\n    when: LimitSet(session, meter, max?)";
	return changed("spec", from, from.replace("max?", "max"));
}

for (const [why, from, to] of [
	["a name that nobody has bound", "requires: answer = yes", "requires: reply = yes"],
	["a rule without a trigger", "    when: Charged(session, charges)\n", ""],
	["a rule that ensures nothing", "    ensures: meter.policy = policy\n", ""],
	["a clause of another language", "    ensures: meter.policy = policy", "    implies: meter.policy = policy"],
	["a function that nobody knows", "first(meters where short)", "last(meters where short)"],
	[
		"a state that depends on the state it makes",
		"            TurnAdmitted(session: session)",
		"            session.concluded = true",
	],
] as const) {
	test(`the reader refuses ${why}`, () => {
		assert.throws(() => readSpec(changed("spec", from, to).spec), SyntaxError);
	});
}

test("the language's own tool accepts the file, where it is installed", (t) => {
	const { error, status, stdout, stderr } = spawnSync("allium", ["check", fileURLToPath(FILE)], { encoding: "utf8" });
	if (error === undefined) assert.equal(status, 0, `${stdout}${stderr}`);
	else assert.equal((error as NodeJS.ErrnoException).code, "ENOENT");
	if (error) t.diagnostic("allium is not on the path: only our own reader has read the file");
});
