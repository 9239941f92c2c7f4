/** Reads the spec: its entities, and its rules as guarded steps that a machine can take. */
import { readFileSync } from "node:fs";
import { type Expression, type Known, Parser } from "./expression.ts";

export const FILE = new URL("../../spec/turn-limit.allium", import.meta.url);

export interface Entity {
	readonly fields: readonly string[];
	/** Fields that are there in some states only. */
	readonly present: Named<{ readonly status: string; readonly in: readonly string[] }>;
	readonly relations: Named<{ readonly to: string; readonly many: boolean; readonly where: Expression }>;
	readonly derived: Named<Derived>;
	/** By field: `from -> to`. */
	readonly transitions: Named<readonly string[]>;
	readonly invariants: Named<Expression>;
}

export interface Derived {
	readonly parameters: readonly string[];
	readonly value: Expression;
}

export type Statement =
	| { readonly type: "assign"; readonly of: Expression; readonly field: string; readonly value: Expression }
	| { readonly type: "create"; readonly entity: string; readonly as: string; readonly values: Named<Expression> }
	| { readonly type: "emit"; readonly trigger: string; readonly values: Named<Expression> }
	| { readonly type: "if"; readonly condition: Expression; readonly body: readonly Statement[] }
	| { readonly type: "for"; readonly as: string; readonly each: Expression; readonly body: readonly Statement[] };

/** `requires` has no name, `let` has one. */
interface Guard {
	readonly as?: string;
	readonly value: Expression;
}

export interface Rule {
	readonly name: string;
	readonly trigger: string;
	/** With a question mark if it may be absent. */
	readonly parameters: readonly string[];
	readonly guards: readonly Guard[];
	readonly ensures: readonly Statement[];
}

export interface Spec {
	readonly entities: Named<Entity>;
	readonly config: Named<Expression>;
	readonly rules: readonly Rule[];
	/** The triggers that surfaces offer to the outside. */
	readonly triggers: readonly string[];
	/** Emissions that no rule listens to: they go to the outside. */
	readonly consequences: readonly string[];
	/** The invariants of contracts. */
	readonly promises: readonly string[];
}

type Named<T> = Readonly<Record<string, T>>;

/** A line and what is indented below it. */
interface Node {
	readonly text: string;
	readonly below: Node[];
}

export function readSpec(text = readFileSync(FILE, "utf8")): Spec {
	const blocks = tree(text);
	const all = <T>(keyword: string, read: (body: readonly Node[], name: string) => T): Named<T> =>
		Object.fromEntries(
			blocks.flatMap(({ text, below }) => {
				const [first, name = ""] = text.split(" ");
				return first === keyword ? [[name, read(below, name)]] : [];
			}),
		);
	const enums = [...text.matchAll(/\w+(?: \| \w+)+/g)].flatMap(([found]) => found.split(" | "));
	const items = new Set(Object.values(all("entity", (body) => lines(body).map(([field]) => field))).flat());
	const known: Known = { bound: new Set(["config"]), fields: new Set(), literals: new Set(enums), items };
	const rules = Object.values(all("rule", (body, name) => rule(name, body, known)));
	const heard = new Set(rules.map(({ trigger }) => trigger));
	const [settings = []] = Object.values(all("config", lines));
	return {
		entities: all("entity", (body) => entity(body, known)),
		config: Object.fromEntries(
			settings.map(([name, is]) => [name, Parser.expression(is.slice(is.indexOf("=") + 1), known)]),
		),
		rules,
		triggers: Object.values(all("surface", provided)).flat(),
		consequences: [...new Set(rules.flatMap((rule) => emitted(rule.ensures)))].filter((name) => !heard.has(name)),
		promises: Object.values(
			all("contract", (body) => body.flatMap(({ text }) => /^@invariant (\w+)$/.exec(text)?.[1] ?? [])),
		).flat(),
	};
}

/** The emissions of a list of statements. */
export function emitted(statements: readonly Statement[]): string[] {
	return statements.flatMap((statement) => {
		if (statement.type === "emit") return [statement.trigger];
		return "body" in statement ? emitted(statement.body) : [];
	});
}

// Lines

/** Without comments and closing braces, which the indentation makes redundant; parentheses join their lines to one. */
function tree(text: string): Node[] {
	const root: Node = { text: "", below: [] };
	const path = [{ indent: -1, node: root }];
	let open: string | undefined;
	for (const line of text.split("\n").map((line) => line.replace(/--.*/, "").trimEnd())) {
		if (line.trim() === "" || line.trim() === "}") continue;
		const whole: string = open === undefined ? line : `${open} ${line.trim()}`;
		open = whole.split("(").length > whole.split(")").length ? whole : undefined;
		if (open !== undefined) continue;
		const indent = whole.search(/\S/);
		while (path.at(-1)!.indent >= indent) path.pop();
		const node: Node = { text: whole.trim(), below: [] };
		path.at(-1)!.node.below.push(node);
		path.push({ indent, node });
	}
	return root.below;
}

/** A clause that may go on below its first line. */
function joined({ text, below }: Node): string {
	return [text, ...below.map(joined)].join(" ");
}

/** `name: what it is` or `name(parameter, …): what it is`. */
function lines(body: readonly Node[]): [name: string, is: string, parameters: readonly string[]][] {
	return body.flatMap((node) => {
		const [, name, list, is] = /^(\w+)(?:\((.*?)\))?: (.*)$/.exec(joined(node)) ?? [];
		return name === undefined || is === undefined ? [] : [[name, is, list?.split(", ") ?? []]];
	});
}

/** The triggers of a surface. */
function provided(body: readonly Node[]): string[] {
	const clauses = body.filter(({ text }) => text === "provides:").flatMap(({ below }) => below);
	return clauses.map(({ text }) => text.slice(0, text.indexOf("(")));
}

// Entities

function entity(body: readonly Node[], known: Known): Entity {
	const named = lines(body);
	const inside: Known = { ...known, fields: new Set(named.map(([name]) => name)) };
	const isField = (is: string): boolean => /^[A-Z][\w<>]*\??( when .*)?$|^\w+( \| \w+)+$/.test(is);
	const related = named.filter(([, is]) => is.includes(" with "));
	const nested = <T>(keyword: string, read: (below: readonly Node[]) => T): Named<T> => {
		const found = body.filter(({ text }) => text.startsWith(`${keyword} `));
		return Object.fromEntries(found.map(({ text, below }) => [text.split(" ")[1] ?? "", read(below)]));
	};
	return {
		fields: named.filter(([, is]) => isField(is)).map(([name]) => name),
		present: Object.fromEntries(
			named.flatMap(([name, is]) => {
				const [, status, states] = /^\w+ when (\w+) = (.*)$/.exec(is) ?? [];
				return status === undefined || states === undefined ? [] : [[name, { status, in: states.split(" | ") }]];
			}),
		),
		relations: Object.fromEntries(
			related.map(([name, is]) => {
				const [to = "", where = ""] = is.split(" with ");
				const others = { ...known, fields: known.items };
				return [name, { to, many: name.endsWith("s"), where: Parser.expression(where, others) }];
			}),
		),
		derived: Object.fromEntries(
			named
				.filter((line) => !isField(line[1]) && !related.includes(line))
				.map(([name, is, parameters]) => {
					const bound = new Set([...inside.bound, ...parameters]);
					return [name, { parameters, value: Parser.expression(is, { ...inside, bound }) }];
				}),
		),
		transitions: nested("transitions", (below) => below.map(({ text }) => text)),
		invariants: nested("invariant", (below) => Parser.expression(below.map(joined).join(" "), inside)),
	};
}

// Rules

function rule(name: string, body: readonly Node[], known: Known): Rule {
	const bound = new Set(known.bound);
	const scope = { ...known, bound };
	const [when, ...clauses] = body;
	const [, trigger = "", list = ""] = /^when: (\w+)\((.*)\)$/.exec(when?.text ?? "") ?? [];
	if (trigger === "") throw new SyntaxError(`${name} has no trigger`);
	const parameters = list.split(", ");
	for (const parameter of parameters) bound.add(parameter.replace("?", ""));
	const guards: Guard[] = [];
	const ensures: Statement[] = [];
	for (const clause of clauses) {
		const [, requires] = /^requires: *(.*)$/.exec(joined(clause)) ?? [];
		const [, as, value] = /^let (\w+) = (.*)$/.exec(joined(clause)) ?? [];
		const [, ensured] = /^ensures: *(.*)$/.exec(clause.text) ?? [];
		if (requires !== undefined) guards.push({ value: Parser.expression(requires, scope) });
		else if (as !== undefined && value !== undefined) {
			guards.push({ as, value: Parser.expression(value, scope) });
			bound.add(as);
		} else if (ensured === "") ensures.push(...clause.below.map((node) => statement(node, scope)));
		else if (ensured !== undefined) ensures.push(statement({ ...clause, text: ensured }, scope));
		else if (clause.text !== "@guidance")
			throw new SyntaxError(`${name} has a clause that nobody reads: ${clause.text}`);
	}
	if (ensures.length === 0) throw new SyntaxError(`${name} ensures nothing`);
	return { name, trigger, parameters, guards, ensures };
}

function statement(node: Node, known: Known & { readonly bound: Set<string> }): Statement {
	const text = joined(node);
	const [, condition] = /^if (.*):$/.exec(node.text) ?? [];
	if (condition !== undefined) {
		const body = node.below.map((inner) => statement(inner, known));
		// Its condition reads the state after the rule, its values the state before: only emissions are clear.
		if (body.some(({ type }) => type !== "emit")) throw new SyntaxError(`Only emissions can depend on ${condition}`);
		return { type: "if", condition: Parser.expression(condition, known), body };
	}
	const [, each, collection] = /^for (\w+) in (.*):$/.exec(node.text) ?? [];
	if (each !== undefined && collection !== undefined) {
		const inside = { ...known, bound: new Set([...known.bound, each]) };
		const body = node.below.map((inner) => statement(inner, inside));
		return { type: "for", as: each, each: Parser.expression(collection, known), body };
	}
	const [, as, created, values] = /^(?:let (\w+) = )?([A-Z]\w*)\.created(\(.*)$/.exec(text) ?? [];
	if (created !== undefined && values !== undefined) {
		const create = { entity: created, as: as ?? "_", values: new Parser(values, known).arguments() };
		known.bound.add(create.as);
		return { type: "create", ...create };
	}
	const [, emits, parameters] = /^([A-Z]\w*)(\(.*)$/.exec(text) ?? [];
	if (emits !== undefined && parameters !== undefined) {
		return { type: "emit", trigger: emits, values: new Parser(parameters, known).arguments() };
	}
	const [, path, field, value] = /^([\w.]+)\.(\w+) = (.*)$/.exec(text) ?? [];
	if (path === undefined || field === undefined || value === undefined) throw new SyntaxError(`No statement: ${text}`);
	return {
		...{ type: "assign", of: Parser.expression(path, known), field },
		value: Parser.expression(value, known),
	};
}
