/** Spec, code and tests name the same things. Each check is shown to find what it is for. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { emitted, FILE, readSpec } from "./reader.ts";
import { CONSEQUENCES, triggerOf } from "./sides.ts";

/** Everything that can drift apart, as text. */
interface Texts {
	readonly spec: string;
	/** `src/core/state.ts`. */
	readonly state: string;
	readonly rules: string;
	readonly promises: string;
}

const text = (file: string): string => readFileSync(new URL(file, import.meta.url), "utf8");

const TEXTS: Texts = {
	spec: text(FILE.href),
	state: text("../../src/core/state.ts"),
	rules: text("rules.test.ts"),
	promises: text("promises.test.ts"),
};

/** Of `create`, which is no event. */
const CREATION = "SessionStarted";

function drift(texts: Texts): string[] {
	const spec = readSpec(texts.spec);
	const events = typesOf("Event", texts.state).map(triggerOf);
	const heard = spec.rules.map(({ trigger }) => trigger);
	const said = spec.rules.flatMap(({ ensures }) => emitted(ensures));
	const first = (trigger: string) => spec.rules.find((rule) => rule.trigger === trigger)?.parameters ?? [];
	return [
		...differ(
			"rule",
			spec.rules.map(({ name }) => name),
			"test",
			namedIn(texts.rules),
		),
		...differ("promise", spec.promises, "property", namedIn(texts.promises)),
		...differ("trigger", spec.triggers, "event", [CREATION, ...events]),
		...differ("consequence", spec.consequences, "effect", effectsOf(texts.state)),
		...missing("rule with the trigger", heard, "surface or rule that causes it", [...spec.triggers, ...said]),
		...missing("offer of", spec.triggers, "rule that hears it", heard),
		...spec.rules
			.filter(({ trigger, parameters }) => parameters.join() !== first(trigger).join())
			.map(({ name, trigger }) => `${name} has other parameters of ${trigger} than another rule`),
	];
}

/** The members of a union of the code, by their `type`. */
function typesOf(union: string, code: string): string[] {
	const declaration = code.split(`export type ${union} =`)[1]?.split(" };\n")[0] ?? "";
	return [...declaration.matchAll(/readonly type: "(\w+)"/g)].map(([, type = ""]) => type);
}

function effectsOf(code: string): string[] {
	return typesOf("Effect", code).map((type) => (CONSEQUENCES as Record<string, string>)[type] ?? type);
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

test("rules, triggers, consequences and promises of the spec are those of code and tests", () => {
	assert.deepEqual(drift(TEXTS), []);
});

/** One text changed in one place. */
function changed(which: keyof Texts, from: string, to: string): Texts {
	assert.ok(TEXTS[which].includes(from), `${which} has no ${from}`);
	return { ...TEXTS, [which]: TEXTS[which].replace(from, to) };
}

for (const [found, texts] of [
	["rule Renamed: no such test", changed("spec", "rule TurnIsHeld {", "rule Renamed {")],
	["rule TurnIsHeld: no such test", changed("rules", '"TurnIsHeld: ', '"')],
	["test NoSuchRule: no such rule", changed("rules", '"TurnIsHeld: ', '"NoSuchRule: ')],
	["promise Vain: no such property", changed("spec", "@invariant NMeansN", "@invariant Vain")],
	["property NMeansN: no such promise", changed("spec", "@invariant NMeansN", "@invariant Vain")],
	["trigger Charged: no such event", changed("state", 'type: "charged"', 'type: "billed"')],
	["event Billed: no such trigger", changed("state", 'type: "charged"', 'type: "billed"')],
	["effect whistle: no such consequence", changed("state", 'type: "hold" }', 'type: "whistle" }')],
	["consequence RequestHeld: no such effect", changed("state", 'type: "hold" }', 'type: "whistle" }')],
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
	["a rule without a trigger", "    when: Charged(session, cost)\n", ""],
	["a rule that ensures nothing", "    ensures: meter.policy = policy\n", ""],
	["a clause of another language", "    ensures: meter.policy = policy", "    implies: meter.policy = policy"],
	[
		"a state that depends on the state it makes",
		"            TurnAdmitted(session: session)",
		"            session.told = true",
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
