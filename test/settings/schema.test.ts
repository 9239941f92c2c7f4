import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Ajv, type ValidateFunction } from "ajv";
import fc from "fast-check";
import { FILE, text } from "../../scripts/schema.ts";
import { kindOf, METER_IDS } from "../../src/core/meters.ts";
import { resolve } from "../../src/settings/resolve.ts";
import { KEY_OF, KEYS, SETTINGS } from "../../src/settings/settings.ts";
import { check } from "../spec/check.ts";
import { fallback, read } from "./given.ts";
import { anything, valid } from "./values.ts";

interface Schema {
	readonly properties: Readonly<Record<string, { readonly description: string; readonly default?: unknown }>>;
}

const schema = JSON.parse(readFileSync(FILE, "utf8")) as Schema;

/** The description of each setting; those of a scope stand in an object. */
const described = Object.fromEntries(
	Object.entries(schema.properties).flatMap(([name, property]) =>
		"properties" in property
			? Object.entries((property as unknown as Schema).properties).map(([inner, its]) => [`${name}.${inner}`, its])
			: [[name, property]],
	),
) as Schema["properties"];

const ajv = new Ajv({ strict: true });
const accepts: ValidateFunction = ajv.compile(schema);

test("schema.json is what scripts/schema.ts writes", async () => {
	assert.equal(readFileSync(FILE, "utf8"), await text(), "run: node scripts/schema.ts");
});

test("the schema describes every setting in words and names the defaults that are always the same", () => {
	const ofBudget = ["at", "account", "zone", "day", "week", "month"].map((name) => `budget.${name}`);
	assert.deepEqual(Object.keys(described).sort(), ["$schema", ...KEYS, ...ofBudget].sort());
	for (const key of KEYS) assert.match(described[key]?.description ?? "", /^[A-Z].*\.$/, key);
	const named = Object.entries(described).filter(([, { default: value }]) => value !== undefined);
	const { grace, wrapUpMessage, maxRepeats, ...same } = fallback;
	assert.deepEqual(Object.fromEntries(named.map(([key, { default: value }]) => [key, value])), {
		...same,
		"budget.zone": "UTC",
	});
	assert.ok(described["grace"]?.description.includes(`By default ${grace}, and 0 where`));
	assert.ok(described["maxRepeats"]?.description.includes(`By default 5, ${maxRepeats} where`));
	assert.equal(wrapUpMessage, "");
});

for (const key of KEYS) {
	test(`the schema accepts for ${key} what we accept, and nothing else`, async () => {
		const isValid = ajv.compile(described[key]!);
		const property = fc.property(fc.oneof(valid[key], anything, fc.jsonValue()), (value) => {
			assert.equal(isValid(value), SETTINGS[key].read(value) !== undefined);
		});
		await check(property, 1000);
	});
}

/** A setting as a file holds it. */
function inFile(key: string, value: unknown): object {
	const [name = "", inner] = key.split(".");
	return { [name]: inner === undefined ? value : { [inner]: value } };
}

describe("a file that the schema", () => {
	/** A fleet's budget is read as a whole, by others. */
	const ours = METER_IDS.filter((id) => kindOf(id).scope !== "fleet");
	const good = [
		...['{ "$schema": "./schema.json", "maxTurns": 50, "policy": "synthesize" }', "{}"],
		...ours.flatMap((id) =>
			[...kindOf(id).samples.map(kindOf(id).unit.parse), "unlimited"].map((max) =>
				JSON.stringify(inFile(KEY_OF[id], max)),
			),
		),
		...['{ "maxCost": "$2.50" }', '{ "partialNote": false }', '{ "askTimeout": 60, "grace": 0 }'],
	];
	const bad = [
		...['{ "maxturns": 50 }', '{ "maxTurns": "50" }', '{ "maxCost": "2,50" }', '{ "policy": "stop" }', '"text"', "[]"],
		...['{ "grace": -1 }', '{ "askTimeout": 0 }', '{ "wrapUpMessage": " " }', '{ "partialNote": "yes" }'],
		...ours.map((id) => JSON.stringify(inFile(KEY_OF[id], -1))),
		...['{ "session": { "maxTurn": 5 } }', '{ "session": 5 }', '{ "repeatsExcept": "poll" }'],
	];
	const problems = (content: string): number => {
		const found = read(content);
		return found.problems.length + resolve([found.place], [], fallback).problems.length;
	};
	for (const content of good) {
		test(`accepts is read without a problem: ${content}`, () => {
			assert.deepEqual([accepts(JSON.parse(content)), problems(content)], [true, 0]);
		});
	}
	for (const content of bad) {
		test(`refuses is reported once: ${content}`, () => {
			assert.deepEqual([accepts(JSON.parse(content)), problems(content)], [false, 1]);
		});
	}

	test("refuses for a schema that is no text", () => assert.equal(accepts({ $schema: 1 }), false));
});
