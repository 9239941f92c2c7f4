/** Tab behind `/turn-limit `; test/pi/completion.test.ts has it in a real terminal. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { withCompletions } from "../../src/hosts/pi/command/tab.ts";

type Provider = Parameters<typeof withCompletions>[0];

const { signal } = new AbortController();
const theirs = { items: [{ value: "file.txt", label: "file.txt" }], prefix: "fi" };
const applied = { lines: ["theirs"], cursorLine: 7, cursorCol: 7 };

/** A provider as pi has one, with ours on top. */
function provider(more: Partial<Provider> = {}): Provider {
	return withCompletions({ getSuggestions: () => Promise.resolve(theirs), applyCompletion: () => applied, ...more });
}

const suggest = async (line: string, force: boolean, column = line.length): Promise<string[] | undefined> => {
	const found = await provider().getSuggestions(["x", line], 1, column, { signal, force });
	return found?.items.slice(0, 2).map(({ value }) => value);
};

test("Tab lists what can follow behind the command, and leaves everything else to pi", async () => {
	assert.deepEqual(await suggest("/turn-limit ", true), ["25", "50"]);
	assert.deepEqual(await suggest("/turn-limit tools u", true), ["tools unlimited"]);
	assert.deepEqual(await suggest("/turn-limit tools u", true, "/turn-limit to".length), ["tools", "tokens"]);
	assert.equal(await suggest("/turn-limit nonsense", true), undefined);
	for (const line of ["/turn-limit", "/turn-limits x", "see /turn-limit x", "x"])
		assert.deepEqual(await suggest(line, true), ["file.txt"], line);
	assert.deepEqual(await suggest("/turn-limit to", false), ["file.txt"]);
	const nothing = await provider().getSuggestions([], 0, 0, { signal, force: true });
	assert.equal(nothing, theirs);
});

test("a word of ours takes the place of what was typed, and what stands behind the cursor stays", () => {
	const line = "/turn-limit tools u now";
	const column = "/turn-limit tools u".length;
	const item = { value: "tools unlimited", label: "tools unlimited" };
	assert.deepEqual(provider().applyCompletion(["a", line], 1, column, item, "tools u"), {
		lines: ["a", "/turn-limit tools unlimited now"],
		cursorLine: 1,
		cursorCol: "/turn-limit tools unlimited".length,
	});
	assert.equal(provider().applyCompletion(["a", line], 1, column, item, "u"), applied);
	assert.equal(provider().applyCompletion([], 0, 0, item, ""), applied);
});

test("Tab acts behind the command, and elsewhere as pi's own does", () => {
	const asks = (line: string, more: Partial<Provider> = {}): unknown =>
		provider(more).shouldTriggerFileCompletion?.([line], 0, line.length);
	const never = { shouldTriggerFileCompletion: () => false };
	assert.deepEqual([asks("/turn-limit ", never), asks("x", never), asks("x")], [true, false, true]);
	assert.equal(provider().triggerCharacters, undefined);
	assert.deepEqual(provider({ triggerCharacters: ["@"] }).triggerCharacters, ["@"]);
});
