import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { known, neighbours, type Survivor } from "../mutation/survivors.ts";

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

/** Each imports only those before it. */
const FOLDERS = ["host", "lifecycle", "settings", "ui", "outcome", "command", "events"];

test("the folders of pi's extension import only folders before them", () => {
	const place = (file: string): number => FOLDERS.indexOf(file.split("/")[2] ?? "");
	const all = [...imports].filter(([file]) => file.startsWith("hosts/pi/") && place(file) >= 0);
	assert.ok(all.length > 20);
	const back = all.flatMap(([file, paths]) =>
		paths
			.filter((path) => path.startsWith("hosts/pi/") && place(path) > place(file))
			.map((path) => `${file} → ${path}`),
	);
	assert.deepEqual(back, []);
});

/** The modules that declare a name, by that name, and the names that some module exports. */
const declared = new Map<string, string[]>();
const exported = new Set<string>();
for (const file of files) {
	const text = readFileSync(join(src, file), "utf8");
	const found = text.matchAll(/^(export )?(?:async )?(?:const|let|function|class|interface|type|enum) (\w+)/gm);
	for (const [, isExported, name = ""] of found) {
		declared.set(name, [...new Set([...(declared.get(name) ?? []), file])]);
		if (isExported) exported.add(name);
	}
}

test("no module of the source declares a name that another one exports", () => {
	assert.ok(exported.size > 300);
	const twice = [...declared].filter(([name, places]) => exported.has(name) && places.length > 1);
	assert.deepEqual(
		twice.map(([name, places]) => `${name}: ${places.join(", ")}`),
		[],
	);
});

test("every mutant that is listed as a survivor stands in one place of its file", () => {
	const places = (file: string, { line, beside }: Survivor): number => {
		const lines = readFileSync(join(src, "..", file), "utf8").split("\n");
		const isThere = (text: string, at: number): boolean =>
			text.trim() === line.replace(/[«»]/g, "") && (beside === undefined || neighbours(lines, at).includes(beside));
		return lines.filter(isThere).length;
	};
	const lost = Object.entries(known).flatMap(([file, all]) =>
		all.filter((survivor) => places(file, survivor) !== 1).map(({ line }) => `${file}: ${line}`),
	);
	assert.deepEqual(lost, []);
});
