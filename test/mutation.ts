/** The tests that judge a mutant, in one process and the cheapest first: the first failure ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

process.env["PROPERTIES"] = "quick";
// A process that is ended cannot tidy up; here Stryker does.
process.env["TMPDIR"] = import.meta.dirname;

/** By the folder in `src` that they judge; the last ones are slow. */
const FILES = {
	core: [
		...["core/unit", "core/meters", "core/gate", "core/limits", "core/wrap-up", "core/final-pass"],
		...["core/company", "core/words", "core/repeats", "core/scopes"],
	],
	settings: ["settings/settings", "settings/resolve", "settings/places", "settings/supplied", "settings/schema"],
	properties: ["settings/properties", "spec/promises", "spec/model"],
};

for (const file of Object.values(FILES).flat()) {
	const problem: unknown = await import(`./${file}.test.ts`).then(
		() => undefined,
		(error: unknown) => error,
	);
	// Tests run one after the other, so this one waits for all of the file; then their output goes out.
	await test(`${file} is loaded and has run`, () => assert.ifError(problem));
	await setImmediate();
}
