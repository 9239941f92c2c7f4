import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_GRACE } from "../../src/settings/settings.ts";
import { readGrace, readMessage } from "../../src/settings/supplied.ts";

function throws(): never {
	throw new Error("no idea");
}

test("a grace function is clamped to at least 1 and kept whole", () => {
	const graces = [0, -7, 0.5, 1, 2.9, 999, Infinity, -Infinity].map((value) => readGrace(() => value));
	assert.deepEqual(
		graces,
		[1, 1, 1, 1, 2, 999, Number.MAX_SAFE_INTEGER, 1].map((value) => ({ value })),
	);
});

test("a grace function that gives no number, or throws, gives the default and a problem", () => {
	for (const [grace, got] of [
		[() => undefined, "undefined"],
		[() => null, "null"],
		[() => "3", '"3"'],
		[() => NaN, "NaN"],
		[throws, '"Error: no idea"'],
	] as const) {
		const problem = `grace(): expected a number, got ${got}. Using 2.`;
		assert.deepEqual(readGrace(grace), { value: DEFAULT_GRACE, problem });
	}
});

test("a message function that gives no text, or throws, gives the built-in text and a problem", () => {
	assert.deepEqual(
		readMessage(() => "Stop.", "Built in."),
		{ value: "Stop." },
	);
	for (const [message, got] of [
		[() => undefined, "undefined"],
		[() => 3, "3"],
		[() => "", '""'],
		[() => "  ", '" "'],
		[throws, '"Error: no idea"'],
	] as const) {
		const problem = `wrapUpMessage(): expected non-empty text, got ${got}. Using the built-in one.`;
		assert.deepEqual(readMessage(message, "Built in."), { value: "Built in.", problem });
	}
});
