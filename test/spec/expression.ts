/** The expressions of the spec's language, as far as the spec uses them, compiled to functions. */
import { BLACK_BOXES } from "./black-boxes.ts";

/** The value of an expression: enum literals are their own names; the spec does not look into other objects. */
export type Value = null | boolean | number | string | Instance | readonly Value[] | object;

/** Something with identity; derived values and relationships are read like fields. */
export interface Instance {
	get(field: string): Value;
	/** A derived value with parameters. */
	call(name: string, values: readonly Value[]): Value;
}

export interface Scope {
	readonly names: Readonly<Record<string, Value>>;
	/** Whose fields need no path. */
	readonly self?: Instance;
}

export type Expression = (scope: Scope) => Value;

/** The names that an expression may use: bound ones, fields of the entity it stands in, enum literals. */
export interface Known {
	readonly bound: ReadonlySet<string>;
	readonly fields: ReadonlySet<string>;
	readonly literals: ReadonlySet<string>;
	/** Fields of all entities: those of the items that `where` filters. */
	readonly items: ReadonlySet<string>;
}

const TOKEN = /\s+|[A-Za-z_]\w*|\d+|\?\?|!=|<=|>=|[(){}:,.=<>+*-]/gy;

/** Loosest first; each compares or joins what binds tighter. */
const OPERATORS: Readonly<Record<string, (left: Value, right: () => Value) => Value>>[] = [
	{ implies: (left, right) => left !== true || right() },
	{ or: (left, right) => left === true || right() },
	{ and: (left, right) => left === true && right() },
	{
		"=": (left, right) => left === right(),
		"!=": (left, right) => left !== right(),
		"<": (left, right) => compare(left, right(), (a, b) => a < b),
		"<=": (left, right) => compare(left, right(), (a, b) => a <= b),
		">": (left, right) => compare(left, right(), (a, b) => a > b),
		">=": (left, right) => compare(left, right(), (a, b) => a >= b),
		in: (left, right) => (right() as readonly Value[]).includes(left),
	},
	{ "??": (left, right) => left ?? right() },
	{
		"+": (left, right) => calculate(left, right(), (a, b) => a + b),
		"-": (left, right) => calculate(left, right(), (a, b) => a - b),
	},
	{ "*": (left, right) => calculate(left, right(), (a, b) => a * b) },
];

/** With something absent a comparison is false and a sum is absent. */
function compare(left: Value, right: Value, test: (a: number, b: number) => boolean): boolean {
	return left !== null && right !== null && test(number(left), number(right));
}

function calculate(left: Value, right: Value, sum: (a: number, b: number) => number): Value {
	return left === null || right === null ? null : sum(number(left), number(right));
}

function number(value: Value): number {
	if (typeof value !== "number") throw new TypeError(`${typeof value} where a number is expected`);
	return value;
}

/** Reads expressions, and what is built from them, off a text. */
export class Parser {
	readonly #text: string;
	readonly #tokens: string[];
	#known: Known;
	#next = 0;

	constructor(text: string, known: Known) {
		this.#text = text;
		this.#known = known;
		this.#tokens = [];
		TOKEN.lastIndex = 0;
		while (TOKEN.lastIndex < text.length) {
			const at = TOKEN.lastIndex;
			const token = TOKEN.exec(text)?.[0];
			if (token === undefined) throw new SyntaxError(`Cannot read ${JSON.stringify(text.slice(at))}`);
			if (token.trim() !== "") this.#tokens.push(token);
		}
	}

	get isDone(): boolean {
		return this.#next === this.#tokens.length;
	}

	/** A whole text that is one expression. */
	static expression(text: string, known: Known): Expression {
		const parser = new Parser(text, known);
		const expression = parser.expression();
		if (!parser.isDone) throw parser.error("the end");
		return expression;
	}

	/** `name: value, …` up to the closing parenthesis. */
	arguments(): Readonly<Record<string, Expression>> {
		const found: Record<string, Expression> = {};
		this.expect("(");
		while (!this.accept(")")) {
			const name = this.name();
			this.expect(":");
			found[name] = this.expression();
			if (!this.accept(",")) {
				this.expect(")");
				break;
			}
		}
		return found;
	}

	/** `value` or `collection where condition`. */
	expression(): Expression {
		const collection = this.#operation(0);
		if (!this.accept("where")) return collection;
		const outside = this.#known;
		this.#known = { ...outside, fields: outside.items };
		const condition = this.#operation(0);
		this.#known = outside;
		return (scope) => {
			const items = collection(scope) as readonly Instance[];
			return items.filter((item) => condition({ ...scope, self: item }) === true);
		};
	}

	#operation(level: number): Expression {
		const operators = OPERATORS[level];
		if (operators === undefined) return this.#prefix();
		let left = this.#operation(level + 1);
		for (;;) {
			const operate = operators[this.#tokens[this.#next] ?? ""];
			if (operate === undefined) return left;
			this.#next++;
			const [first, second] = [left, this.#operation(level + 1)];
			left = (scope) => operate(first(scope), () => second(scope));
		}
	}

	#prefix(): Expression {
		if (this.accept("not")) {
			const negated = this.#prefix();
			return (scope) => negated(scope) !== true;
		}
		if (this.accept("if")) {
			const condition = this.expression();
			this.expect(":");
			const yes = this.expression();
			this.expect("else");
			const no = this.#tokens[this.#next] === "if" ? this.expression() : (this.expect(":"), this.expression());
			return (scope) => (condition(scope) === true ? yes(scope) : no(scope));
		}
		let found = this.#primary();
		while (this.accept(".")) {
			const [of, field] = [found, this.name()];
			const values = this.#values();
			found = (scope) => read(of(scope), field, values?.(scope));
		}
		return found;
	}

	#primary(): Expression {
		if (this.accept("(")) {
			const inner = this.expression();
			this.expect(")");
			return inner;
		}
		if (this.accept("{")) {
			if (this.accept("}")) return () => [];
			const items = [this.expression()];
			while (this.accept(",")) items.push(this.expression());
			this.expect("}");
			return (scope) => items.map((item) => item(scope));
		}
		const token = this.#tokens[this.#next++] ?? "";
		if (/^\d/.test(token)) return () => Number(token);
		if (token === "null") return () => null;
		if (token === "true" || token === "false") return () => token === "true";
		if (token === "this") return ({ names, self }) => names["this"] ?? self ?? null;
		if (this.#known.bound.has(token)) return ({ names }) => names[token] ?? null;
		if (this.#known.fields.has(token)) {
			const values = this.#values();
			return (scope) => read(scope.self ?? null, token, values?.(scope));
		}
		if (this.#known.literals.has(token)) return () => token;
		const blackBox = BLACK_BOXES[token];
		const values = blackBox && this.#values();
		if (values) return (scope) => blackBox(...values(scope));
		this.#next--;
		throw this.error("a name that is known");
	}

	/** `(value, …)`, if there is one. */
	#values(): ((scope: Scope) => readonly Value[]) | undefined {
		if (!this.accept("(")) return undefined;
		const values = [this.expression()];
		while (this.accept(",")) values.push(this.expression());
		this.expect(")");
		return (scope) => values.map((value) => value(scope));
	}

	name(): string {
		const token = this.#tokens[this.#next] ?? "";
		if (!/^[A-Za-z_]/.test(token)) throw this.error("a name");
		this.#next++;
		return token;
	}

	accept(token: string): boolean {
		if (this.#tokens[this.#next] !== token) return false;
		this.#next++;
		return true;
	}

	expect(token: string): void {
		if (!this.accept(token)) throw this.error(token);
	}

	error(expected: string): SyntaxError {
		return new SyntaxError(`${expected} expected, not ${this.#tokens[this.#next] ?? "the end"}, in: ${this.#text}`);
	}
}

function read(of: Value, field: string, values?: readonly Value[]): Value {
	if (typeof of !== "object" || of === null || !("get" in of))
		throw new TypeError(`Nothing that could have a ${field}`);
	return values === undefined ? of.get(field) : of.call(field, values);
}
