/** The workflow for GitHub, the one that the manual shows, and the forms for issues. */
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

/** What GitHub's documentation allows of an element, by its type, among its `attributes`. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
	input: ["label", "description", "placeholder", "value"],
	textarea: ["label", "description", "placeholder", "value", "render"],
	dropdown: ["label", "description", "multiple", "options", "default"],
};

/** Of a form whose YAML prettier has checked: names of keys, in the place where they stand. */
function mistakesIn(form: string): readonly string[] {
	const keys = (text: string, depth: number): string[] =>
		[...text.matchAll(new RegExp(`^ {${depth}}(\\w+):`, "gm"))].map(([, key = ""]) => key);
	const [head = "", ...elements] = form.replaceAll(/^ {2}- /gm, "\n- \n    ").split("\n- \n");
	const ids = elements.flatMap((element) => /^ {4}id: ([\w-]+)$/m.exec(element)?.[1] ?? []);
	return [
		...["name", "description", "body"].filter((key) => !keys(head, 0).includes(key)),
		...keys(head, 0).filter((key) => !["name", "description", "title", "labels", "body"].includes(key)),
		...(new Set(ids).size === elements.length && ids.length > 0 ? [] : ["id"]),
		...elements.flatMap((element) => {
			const [, type = ""] = /^ {4}type: (\w+)$/m.exec(element) ?? [];
			const [, attributes = ""] = /^ {4}attributes:\n((?: {6}.*\n?)+)/m.exec(element) ?? [];
			const [, validations = ""] = /^ {4}validations:\n((?: {6}.*\n?)+)/m.exec(element) ?? [];
			return [
				...keys(element, 4).filter((key) => !["type", "id", "attributes", "validations"].includes(key)),
				...(keys(attributes, 6).includes("label") ? [] : ["label"]),
				...keys(attributes, 6).filter((key) => ATTRIBUTES[type]?.includes(key) !== true),
				...(/^(?: {6}required: (?:true|false)\n*)?$/.test(validations) ? [] : ["required"]),
			];
		}),
	];
}

const templates = ".github/ISSUE_TEMPLATE";
for (const file of readdirSync(join(root, templates))) {
	const form = read(join(templates, file));

	test(`GitHub would understand the form ${file}`, () => {
		assert.deepEqual(mistakesIn(form), []);
	});

	test(`a misspelt key in the form ${file} would be found`, () => {
		for (const key of ["name", "body", "type", "id", "label", "description", "required"])
			assert.notDeepEqual(mistakesIn(form.replace(new RegExp(`\\b${key}:`), `x${key}:`)), [], key);
	});
}

test("there is a form for a bug and one for a feature", () => {
	assert.deepEqual(readdirSync(join(root, templates)).sort(), ["bug.yml", "feature.yml"]);
});
