import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { known } from "../mutation/survivors.ts";

const src = resolve(import.meta.dirname, "../../src");

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

/** The modules that a module imports, types included. */
const imports = new Map(
	files.map((file) => {
		const text = readFileSync(join(src, file), "utf8");
		const found = text.matchAll(/^(?:import|export) [^;]*? from "(\.[^"]+)";/gms);
		return [file, [...found].map(([, path = ""]) => relative(src, join(src, dirname(file), path)))];
	}),
);

/** The first circle that a walk from `file` meets. */
function circle(file: string, path: readonly string[] = []): readonly string[] | undefined {
	if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
	for (const next of imports.get(file) ?? []) {
		const found = circle(next, [...path, file]);
		if (found) return found;
	}
	return undefined;
}

test("no module of the source imports itself by way of others, not even its types", () => {
	assert.ok(imports.size > 20);
	for (const file of imports.keys()) assert.equal(circle(file)?.join(" → "), undefined);
});

/** The modules that declare an export, by its name. */
const declared = new Map<string, string[]>();
for (const file of files) {
	const text = readFileSync(join(src, file), "utf8");
	const found = text.matchAll(/^export (?:async )?(?:const|let|function|class|interface|type|enum) (\w+)/gm);
	for (const name of new Set([...found].map(([, name = ""]) => name)))
		declared.set(name, [...(declared.get(name) ?? []), file]);
}

test("no two modules of the source declare exports of the same name", () => {
	assert.ok(declared.size > 300);
	const twice = [...declared].filter(([, places]) => places.length > 1);
	assert.deepEqual(
		twice.map(([name, places]) => `${name}: ${places.join(", ")}`),
		[],
	);
});

test("every mutant that is listed as a survivor still stands in its file", () => {
	const stands = (file: string, line: string): boolean =>
		readFileSync(join(src, "..", file), "utf8").includes(line.replace(/[«»]/g, ""));
	const gone = Object.entries(known).flatMap(([file, all]) =>
		all.filter(({ line }) => !stands(file, line)).map(({ line }) => `${file}: ${line}`),
	);
	assert.deepEqual(gone, []);
});
