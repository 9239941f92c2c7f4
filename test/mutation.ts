/** Everything that judges a mutant, in one process and the cheapest first: the first failure ends it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";

process.env["PROPERTIES"] = "quick";
// Whoever is ended cannot tidy up; here Stryker does.
process.env["TMPDIR"] = import.meta.dirname;
for (const file of [
	...["core/gate", "core/limits", "core/wrap-up", "core/final-pass", "core/wording"],
	...["settings/resolve", "settings/places", "spec/rules"],
	...["settings/properties", "spec/promises", "spec/model"],
]) {
	const problem: unknown = await import(`./${file}.test.ts`).then(
		() => undefined,
		(error: unknown) => error,
	);
	// Tests run one after the other, so this one waits for all of the file; then what they have said goes out.
	await test(`${file} is loaded and has run`, () => assert.ifError(problem));
	await setImmediate();
}
