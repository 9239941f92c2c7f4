/** Steps the spec: a trigger comes in, the one rule that accepts it takes effect, and so do the triggers it emits. */
import type { Expression, Instance, Scope, Value } from "./expression.ts";
import { type Entity, readSpec, type Rule, type Spec, type Statement } from "./reader.ts";

/** An emission to the outside. */
export interface Consequence {
	readonly name: string;
	readonly values: Values;
}

/** The result of a trigger; without rules it was not accepted. */
export interface Step {
	readonly rules: readonly string[];
	readonly consequences: readonly Consequence[];
}

type Values = Readonly<Record<string, Value>>;

interface Assigned {
	readonly being: Being;
	readonly field: string;
	readonly value: Value;
}

const THE_SPEC = readSpec();

class Being implements Instance {
	readonly type: Entity;
	readonly kind: string;
	readonly fields: Record<string, Value>;
	readonly #world: Machine;

	constructor(kind: string, type: Entity, given: Values, world: Machine) {
		this.kind = kind;
		this.type = type;
		this.fields = Object.fromEntries(type.fields.map((field) => [field, null]));
		for (const [field, value] of Object.entries(given)) this.set(field, value);
		this.#world = world;
	}

	get(field: string): Value {
		const value = this.fields[field];
		if (value !== undefined) return value;
		if (field in this.type.derived) return this.call(field, []);
		const relation = this.type.relations[field];
		if (relation === undefined) throw new TypeError(`A ${this.kind} has no ${field}`);
		const found = this.#world.beings.filter(
			(being) =>
				being.kind === relation.to &&
				relation.where({ names: { ...this.#world.always, this: this }, self: being }) === true,
		);
		return relation.many ? found : (found[0] ?? null);
	}

	call(name: string, values: readonly Value[]): Value {
		const derived = this.type.derived[name];
		if (derived === undefined) throw new TypeError(`A ${this.kind} has no ${name}`);
		const { parameters, value } = derived;
		if (parameters.length !== values.length) throw new TypeError(`${name} takes ${parameters.join(", ")}`);
		const given = Object.fromEntries(parameters.map((parameter, i) => [parameter, values[i]!]));
		return value({ names: { ...this.#world.always, ...given }, self: this });
	}

	set(field: string, value: Value): void {
		if (!(field in this.fields)) throw new TypeError(`A ${this.kind} has no field ${field}`);
		this.fields[field] = value;
	}
}

/** One session as the spec describes it. */
export class Machine {
	readonly spec: Spec;
	readonly beings: Being[] = [];
	/** `config`, in the scope of every expression. */
	readonly always: Values;
	readonly #rules: ReadonlyMap<string, readonly Rule[]>;
	readonly #meters: ReadonlyMap<string, Instance>;

	constructor(attended: boolean, member: boolean, spec = THE_SPEC) {
		this.spec = spec;
		this.#rules = rulesByTrigger(spec);
		const config = Object.fromEntries(Object.entries(spec.config).map(([name, is]) => [name, is({ names: {} })]));
		this.always = { config: record(config) };
		this.fire("SessionStarted", { attended, member });
		this.#meters = new Map(this.meters.map((meter) => [nameOf(meter), meter]));
	}

	get session(): Instance {
		return this.beings[0]!;
	}

	get meters(): readonly Instance[] {
		return this.session.get("meters") as readonly Instance[];
	}

	/** By `measure scope`. */
	meter(name: string): Instance {
		const found = this.#meters.get(name);
		if (found === undefined) throw new Error(`The spec has no meter of ${name}`);
		return found;
	}

	/** A trigger from outside, about the session. */
	trigger(name: string, values: Values = {}): Step {
		return this.fire(name, { session: this.session, ...values });
	}

	fire(trigger: string, values: Values): Step {
		const rules = this.#rules.get(trigger);
		if (rules === undefined) return { rules: [], consequences: [{ name: trigger, values }] };
		const matches = rules.flatMap((rule) => {
			const scope = this.#accept(rule, values);
			return scope === undefined ? [] : [{ rule, scope }];
		});
		const [match, another] = matches;
		if (match === undefined) return { rules: [], consequences: [] };
		if (another !== undefined) throw new Error(`${match.rule.name} and ${another.rule.name} both accept ${trigger}`);
		const steps = this.#take(match.rule, match.scope);
		return {
			rules: [match.rule.name, ...steps.flatMap(({ rules }) => rules)],
			consequences: steps.flatMap(({ consequences }) => consequences),
		};
	}

	/** The names that a rule has bound, if it accepts. */
	#accept({ name, parameters, guards }: Rule, values: Values): Scope | undefined {
		const names: Record<string, Value> = { ...this.always };
		for (const parameter of parameters) {
			const value = values[parameter.replace("?", "")];
			if (value === undefined && !parameter.endsWith("?")) throw new TypeError(`${name} lacks ${parameter}`);
			names[parameter.replace("?", "")] = value ?? null;
		}
		if (Object.keys(values).length > parameters.length) throw new TypeError(`${name} is given too much`);
		for (const { as, value } of guards) {
			const found = value({ names });
			if (as !== undefined) names[as] = found;
			else if (found !== true) return undefined;
		}
		return { names };
	}

	/** Values are those before the rule; what depends on a condition or is emitted sees the state after it. */
	#take(rule: Rule, scope: Scope): Step[] {
		const assigned: Assigned[] = [];
		this.#assign(rule.ensures, scope, assigned);
		for (const { being, field, value } of assigned) {
			const edge = `${being.get(field) as string} -> ${value as string}`;
			if (being.type.transitions[field]?.includes(edge) === false) throw new Error(`${rule.name}: no edge ${edge}`);
			being.set(field, value);
		}
		return this.#say(rule.ensures, scope);
	}

	#assign(statements: readonly Statement[], scope: Scope, assigned: Assigned[]): void {
		for (const statement of statements) {
			if (statement.type === "assign") {
				assigned.push({
					...{ being: statement.of(scope) as Being, field: statement.field },
					value: statement.value(scope),
				});
			} else if (statement.type === "for") {
				for (const item of statement.each(scope) as readonly Value[]) {
					this.#assign(statement.body, { names: { ...scope.names, [statement.as]: item } }, assigned);
				}
			}
		}
	}

	#say(statements: readonly Statement[], scope: Scope): Step[] {
		const names: Record<string, Value> = { ...scope.names };
		return statements.flatMap((statement) => {
			if (statement.type === "create") {
				const type = this.spec.entities[statement.entity]!;
				const being = new Being(statement.entity, type, evaluate(statement.values, { names }), this);
				this.beings.push(being);
				names[statement.as] = being;
			}
			if (statement.type === "emit") return [this.fire(statement.trigger, evaluate(statement.values, { names }))];
			if (statement.type === "if" && statement.condition({ names }) === true) {
				return this.#say(statement.body, { names });
			}
			if (statement.type !== "for") return [];
			const items = statement.each({ names }) as readonly Value[];
			return items.flatMap((item) => this.#say(statement.body, { names: { ...names, [statement.as]: item } }));
		});
	}

	/** The invariants and presences of the spec that this state breaks. */
	violations(): string[] {
		return this.beings.flatMap((being) => {
			const scope = { names: this.always, self: being };
			const broken = Object.entries(being.type.invariants).filter(([, holds]) => holds(scope) !== true);
			const misplaced = Object.entries(being.type.present).filter(([field, { status, in: states }]) => {
				return (being.get(field) !== null) !== states.includes(being.get(status) as string);
			});
			return [...broken, ...misplaced].map(([name]) => name);
		});
	}
}

/** What a meter measures, and over which scope. */
export function nameOf(meter: Instance): string {
	return `${meter.get("measure") as string} ${meter.get("scope") as string}`;
}

/** Something with fields and nothing else. */
export function record(fields: Values): Instance {
	return {
		get: (field) => fields[field] ?? null,
		call: (name) => {
			throw new TypeError(`${name} takes no values`);
		},
	};
}

function evaluate(values: Readonly<Record<string, Expression>>, scope: Scope): Values {
	return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value(scope)]));
}

function rulesByTrigger({ rules }: Spec): ReadonlyMap<string, readonly Rule[]> {
	const found = new Map<string, Rule[]>();
	for (const rule of rules) found.set(rule.trigger, [...(found.get(rule.trigger) ?? []), rule]);
	return found;
}
