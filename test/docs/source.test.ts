import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

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
