/** The workflow for GitHub, and the one that the manual shows. */
import assert from "node:assert/strict";
import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { validateWorkflow } from "@action-validator/core";

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const folder = ".github/workflows";
const inManual = /^```yaml\n([^]*?)^```$/m.exec(read("docs/scripts.md"))?.[1] ?? "";
const workflows = new Map([
	...readdirSync(join(root, folder)).map((file) => [file, read(join(folder, file))] as const),
	["the workflow in docs/scripts.md", inManual],
]);

for (const [name, text] of workflows) {
	test(`GitHub would understand ${name}`, () => {
		assert.deepEqual(validateWorkflow(text).errors, []);
	});

	test(`a misspelt key in ${name} would be found`, () => {
		assert.notDeepEqual(validateWorkflow(text.replace("runs-on:", "run-on:")).errors, []);
	});
}

test("GitHub runs what .ci/run runs, and nothing else", () => {
	const commands = [...(workflows.get("ci.yml") ?? "").matchAll(/^ +-? *run: (.*)$/gm)].map(([, command]) => command);
	assert.deepEqual(commands, [".ci/run"]);
	accessSync(join(root, ".ci/run"), constants.X_OK);
});
