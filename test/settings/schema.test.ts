import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { defaults, type Key, KEYS, SETTINGS } from "../../src/settings/settings.ts";
import { anything, valid } from "./values.ts";

/** The keywords that our schema uses. */
interface Schema {
	$schema?: string;
	title?: string;
	description?: string;
	default?: unknown;
	type?: "object" | "string" | "integer";
	enum?: unknown[];
	anyOf?: Schema[];
	minimum?: number;
	maximum?: number;
	pattern?: string;
	properties?: Record<string, Schema>;
	additionalProperties?: false;
}

const schema = JSON.parse(readFileSync(new URL("../../schema.json", import.meta.url), "utf8")) as Schema;
const settings = schema.properties as Record<Key | "$schema", Schema>;

/** What JSON Schema says about these keywords; one that is missing here fails. */
const keywords: { [K in keyof Required<Schema>]: (rule: NonNullable<Schema[K]>, value: unknown) => boolean } = {
	$schema: () => true,
	title: () => true,
	description: () => true,
	default: () => true,
	type: (type, value) => (type === "integer" ? Number.isInteger(value) : typeof value === type),
	enum: (list, value) => list.includes(value),
	anyOf: (schemas, value) => schemas.some((schema) => accepts(schema, value)),
	minimum: (least, value) => typeof value !== "number" || value >= least,
	maximum: (most, value) => typeof value !== "number" || value <= most,
	pattern: (pattern, value) => typeof value !== "string" || new RegExp(pattern, "u").test(value),
	properties: (all, value) => Object.entries(value as object).every(([key, v]) => accepts(all[key] ?? {}, v)),
	additionalProperties: (_, value) => Object.keys(value as object).every((key) => Object.hasOwn(settings, key)),
};

function accepts(schema: Schema, value: unknown): boolean {
	return Object.entries(schema).every(([keyword, rule]) =>
		(keywords[keyword as keyof Schema] as (rule: unknown, value: unknown) => boolean)(rule, value),
	);
}

test("the schema describes exactly the settings, each in words", () => {
	assert.deepEqual(Object.keys(settings).sort(), ["$schema", ...KEYS].sort());
	for (const key of KEYS) assert.match(settings[key].description ?? "", /^[A-Z].*\.$/, key);
	assert.equal(schema.title, "pi-turn-limit");
});

test("the schema names the defaults, but for those that depend on who is there or are a text", () => {
	const { grace, wrapUpMessage, ...fixed } = defaults(true);
	const named = Object.entries(settings).filter(([, { default: value }]) => value !== undefined);
	assert.deepEqual(Object.fromEntries(named.map(([key, { default: value }]) => [key, value])), fixed);
	assert.equal(settings.grace.description?.includes(`By default ${defaults(false).grace}, and ${grace} where`), true);
	assert.equal(wrapUpMessage, "");
});

for (const key of KEYS) {
	test(`the schema accepts for ${key} what we accept, and nothing else`, () => {
		fc.assert(
			fc.property(fc.oneof(valid[key], anything, fc.jsonValue()), (value) => {
				assert.equal(accepts(settings[key], value), SETTINGS[key].is(value));
			}),
		);
	});
}

test("the schema accepts a file with a schema, and refuses unknown keys and what is not an object", () => {
	assert.equal(accepts(schema, { $schema: "./schema.json", maxTurns: 50, policy: "synthesize" }), true);
	assert.equal(accepts(schema, {}), true);
	for (const bad of [{ maxturns: 50 }, { maxTurns: "50" }, { $schema: 1 }, "text"]) {
		assert.equal(accepts(schema, bad), false, JSON.stringify(bad));
	}
});
