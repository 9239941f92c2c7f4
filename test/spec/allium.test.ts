/**
 * Rules of the language's own checker (juxt/allium-tools 3.5.3: `allium check` and `allium analyse` find nothing in our
 * file) that our reader does not need. The checker is a Rust program that npm does not have, so these run everywhere.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { FILE } from "./reader.ts";

const SPEC = readFileSync(FILE, "utf8");

const BUILT_IN = ["Boolean", "Integer", "List", "Set", "String"];

interface Block {
	readonly kind: string;
	readonly name: string;
	readonly body: string;
}

function blocksOf(spec: string): Block[] {
	const text = spec.replace(/ *--.*/g, "");
	const found = text.matchAll(/^(\w+)(?: (\w+))? \{([^}\n]*\}|\n[^]*?^\})/gm);
	return [...found].map(([, kind = "", name = "", body = ""]) => ({ kind, name, body }));
}

/** Of fields, of operations, of parameters: what follows a colon and begins with a capital letter. */
function typesIn({ body }: Block): string[] {
	const typed = body.matchAll(/\b\w+: ([A-Z][\w<>]*)/g);
	return [...typed].flatMap(([, type = ""]) => type.match(/\w+/g) ?? []);
}

function faults(spec: string): string[] {
	if (!spec.startsWith("-- allium: 3\n")) return ["the first line does not name the language's version"];
	const blocks = blocksOf(spec);
	const of = (...kinds: string[]): Block[] => blocks.filter(({ kind }) => kinds.includes(kind));
	const named = (...kinds: string[]): string[] => of(...kinds).map(({ name }) => name);
	// A rule's own colons hold the arguments of its emissions, which are no types.
	const typed = of("config", "contract", "entity", "surface", "value").flatMap(typesIn);
	const known = [...BUILT_IN, ...named("actor", "entity", "enum", "value")];
	const rules = of("rule").map(({ name, body }) => ({ name, body, clauses: body.split(/^ {4}(?=\w+:|let )/m) }));
	const offered = of("surface").flatMap(({ body }) =>
		[...body.matchAll(/^ {8}([A-Z]\w+)\(/gm)].map(([, it = ""]) => it),
	);
	const emitted = rules.flatMap(({ clauses }) => clauses.flatMap(leading));
	return [
		...[...new Set(typed)].filter((type) => !known.includes(type)).map((type) => `${type} is not declared`),
		...named("enum", "value")
			.filter((name) => !typed.includes(name))
			.map((name) => `${name} is declared and never referenced`),
		...of("entity").flatMap((entity) => unused(entity, blocks)),
		...of("entity").flatMap((entity) => stuck(entity, rules)),
		...rules
			.map(({ name, body }) => ({ name, trigger: /when: (\w+)/.exec(body)?.[1] ?? "" }))
			.filter(({ trigger }) => ![...offered, ...emitted].includes(trigger))
			.map(({ name, trigger }) => `${name} hears ${trigger}, which no surface provides and no rule emits`),
	];
}

/** The entity and its fields, as far as they are named nowhere but where they are declared. */
function unused({ name, body }: Block, blocks: readonly Block[]): string[] {
	const text = blocks.map((each) => each.body).join("\n");
	const fields = [...body.matchAll(/^ {4}(\w+): /gm)].map(([, field = ""]) => field);
	const uses = (word: string): number => text.match(new RegExp(`\\b${word}\\b`, "g"))?.length ?? 0;
	return [
		...(uses(name) === 0 ? [`the entity ${name} is declared and never referenced`] : []),
		...fields.filter((field) => uses(field) === 1).map((field) => `${name}.${field} is declared and never referenced`),
	];
}

/** The checker takes the first call of an `ensures`, under whatever condition, for what it emits. */
function leading(clause: string): string[] {
	const [, first] = /^ensures:\s+(?:(?:if|for) [^\n]*:\s+)*([A-Z]\w+)\(/.exec(clause) ?? [];
	return first === undefined ? [] : [first];
}

/** The statuses that a rule must be seen to leave: `status = this` among what it requires, another one ensured. */
function stuck({ name, body }: Block, rules: readonly { readonly clauses: readonly string[] }[]): string[] {
	const statuses = /^ {4}status: (.*)$/m.exec(body)?.[1]?.split(" | ") ?? [];
	const terminal = /terminal: (.*)$/m.exec(body)?.[1]?.split(", ") ?? [];
	const leaves = (status: string): boolean =>
		rules.some(({ clauses }) => {
			const required = clauses.filter((clause) => clause.startsWith("requires:")).join("");
			const ensured = clauses.filter((clause) => clause.startsWith("ensures:")).join("");
			const next = [...ensured.matchAll(/\.status = (\w+)/g)].map(([, it]) => it);
			return new RegExp(`\\.status = ${status}\\b`).test(required) && next.some((other) => other !== status);
		});
	return statuses
		.filter((status) => !terminal.includes(status) && !leaves(status))
		.map((status) => `no rule is seen to leave the status ${status} of ${name}`);
}

test("the spec keeps the rules of the language's checker: types, definitions, statuses, triggers", () => {
	assert.deepEqual(faults(SPEC), []);
});

for (const [found, from, to] of [
	["Invocation is not declared", "waiting_call: Call?", "waiting_call: Invocation?"],
	["Moment is declared and never referenced", ", moment: Moment", ""],
	["Answer is declared and never referenced", "answer: Answer", "answer"],
	[
		"Session.unheard is declared and never referenced",
		"    refusals: Integer ",
		"    unheard: Integer\n    refusals: Integer ",
	],
	[
		"the entity Purse is declared and never referenced",
		"entity Session {",
		"entity Purse {\n    spent: Integer\n}\n\nentity Session {",
	],
	["the first line does not name the language's version", "-- allium: 3\n", ""],
	[
		"no rule is seen to leave the status stopped of Session",
		"session.status = running or session.status = finishing or session.status = stopped",
		"session.status in {running, finishing, stopped}",
	],
	[
		"MeterIsAdded hears MeterAdded, which no surface provides and no rule emits",
		"        )\n    ensures:\n        MeterAdded(",
		"        )\n        MeterAdded(",
	],
	[
		"PolicyChanges hears PolicySet, which no surface provides and no rule emits",
		"        PolicySet(session, meter",
		"        PolicyChosen(session, meter",
	],
] as const) {
	test(`it is found: ${found}`, () => {
		assert.ok(SPEC.includes(from), `the spec has no ${from}`);
		assert.deepEqual(faults(SPEC.replace(from, to)), [found]);
	});
}
