import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { advise, render } from "../../src/history/index.ts";
import { check } from "../spec/check.ts";
import { folder, Story } from "./story.ts";

/** Values that no pi would write. */
const odd = fc.constantFrom<unknown>(
	...[null, true, -1, 1e308, -1e308, 1e15, 8.64e15, "", "x", "\x1b[2J", "9999-99-99", "2026-01-01T00:00:00Z"],
	...[[], {}, [null], { total: "x" }],
);

/** All fields and elements in a value, each as what holds it and its name there. */
function places(holder: object): [holder: object, name: string][] {
	return Object.entries(holder).flatMap(([name, value]) => [
		[holder, name] as [object, string],
		...(typeof value === "object" && value !== null ? places(value as object) : []),
	]);
}

test("whatever stands in a session, the advice is text that fits and holds no escape and no number that is none", async (t) => {
	const edits = fc.array(fc.record({ at: fc.nat(), by: odd }), { minLength: 1, maxLength: 60 });
	const property = fc.asyncProperty(edits, fc.constantFrom(38, 78), async (edits, width) => {
		const story = new Story();
		for (let i = 0; i < 40; i++)
			story
				.prompt()
				.turns(1 + (i % 5))
				.charge("compaction");
		story.outcome({ kind: "completed", continuations: 1, attended: true });
		for (const { at, by } of edits) {
			const all = places(story.entries);
			const [holder, name] = all[at % all.length] ?? [{}, ""];
			Object.assign(holder, { [name]: structuredClone(by) });
		}
		const sessionDir = folder(t, { "a.jsonl": story.lines() });
		const { sample, ...figures } = await advise({ sessionDir });
		const text = render({ ...figures, sample: { ...sample, directory: "/sessions" } }, { width });
		for (const line of text.split("\n")) assert.ok(line.length <= width, line);
		assert.doesNotMatch(text, /[\0-\x09\x0b-\x1f]|NaN|Infinity|undefined|null/);
	});
	await check(property, 100);
});
