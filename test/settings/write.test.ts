import assert from "node:assert/strict";
import fs, {
	chmodSync,
	lstatSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { valuesIn } from "../../src/settings/places.ts";
import { writeSettings } from "../../src/settings/write.ts";
import { folder } from "./given.ts";

const empty = (): string => mkdtempSync(join(folder, "write-"));

/** A file with this content, or where one will be. */
function file(content?: string): string {
	const path = join(empty(), "turn-limit.json");
	if (content !== undefined) writeFileSync(path, content);
	return path;
}

const read = (path: string): string => readFileSync(path, "utf8");

test("a missing file is made, and its folder", () => {
	const path = join(empty(), "agent", "inner", "turn-limit.json");
	writeSettings(path, { maxTurns: 50, "session.maxCost": 20 });
	assert.equal(read(path), '{\n\t"maxTurns": 50,\n\t"session": {\n\t\t"maxCost": 20\n\t}\n}\n');
	assert.deepEqual(valuesIn(path), { maxTurns: 50, "session.maxCost": 20 });
});

test("everything else that stands in the file stays, in its order and with its indent", () => {
	const path = file(
		'{\n  "$schema": "s",\n  "maxTurns": 9,\n  "mine": [1],\n  "session": { "mine": 1 },\n  "grace": 3\n}',
	);
	writeSettings(path, { maxTurns: 50, "session.maxTurns": 90, policy: "abort" });
	const after = {
		$schema: "s",
		maxTurns: 50,
		mine: [1],
		session: { mine: 1, maxTurns: 90 },
		grace: 3,
		policy: "abort",
	};
	assert.equal(read(path), `${JSON.stringify(after, undefined, "  ")}\n`);
});

test("a file in one line gets tabs", () => {
	const path = file('{ "grace": 3 }');
	writeSettings(path, { maxTurns: 50 });
	assert.equal(read(path), '{\n\t"grace": 3,\n\t"maxTurns": 50\n}\n');
});

test("a link stays a link, the file behind it keeps its mode, and nothing else is left", () => {
	const dotfiles = join(empty(), "dotfiles");
	mkdirSync(dotfiles);
	const real = join(dotfiles, "mine.json");
	writeFileSync(real, "{}");
	chmodSync(real, 0o600);
	const path = file();
	symlinkSync(real, path);
	writeSettings(path, { maxTurns: 50 });
	assert.equal(read(real), '{\n\t"maxTurns": 50\n}\n');
	assert.ok(lstatSync(path).isSymbolicLink());
	assert.equal(statSync(real).mode & 0o777, 0o600);
	assert.deepEqual(readdirSync(dotfiles), ["mine.json"]);
});

for (const [content, problem] of [
	["{ maxTurns: 3", /JSON/],
	["[]", /expected an object, got a list/],
	['{ "session": 3 }', /session: expected an object, got 3/],
	['{ "session": [] }', /session: expected an object, got \[\]/],
] as const) {
	test(`a damaged file is left alone: ${content}`, () => {
		const path = file(content);
		assert.throws(() => writeSettings(path, { "session.maxTurns": 90 }), problem);
		assert.equal(read(path), content);
	});
}

for (const takes of ["the name of a file", "nothing"]) {
	test(`a full disk that takes ${takes} has nothing left behind, and is named`, (t) => {
		const path = file("{}");
		const { writeFileSync } = fs;
		t.mock.method(fs, "writeFileSync", (draft: string) => {
			if (takes !== "nothing") writeFileSync(draft, "");
			throw new Error("ENOSPC: no space left on device, write");
		});
		syncBuiltinESMExports();
		t.after(() => {
			t.mock.restoreAll();
			syncBuiltinESMExports();
		});
		assert.throws(() => writeSettings(path, { maxTurns: 50 }), /ENOSPC/);
		assert.deepEqual([readdirSync(dirname(path)), read(path)], [["turn-limit.json"], "{}"]);
	});
}

test("takes out what is undefined, and an object with its last value", () => {
	const path = file('{ "maxTurns": 3, "session": { "maxCost": 2, "maxTurns": 9 }, "day": { "maxCost": 5 } }');
	writeSettings(path, { maxTurns: undefined, "session.maxCost": undefined, "day.maxCost": undefined });
	assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), { session: { maxTurns: 9 } });
});

test("a key that stands with its scope before a dot is set and taken out there too", () => {
	const path = file('{ "session.maxCost": 2, "session.maxTurns": 3, "day": { "maxCost": 5 } }');
	writeSettings(path, { "session.maxCost": undefined, "session.maxTurns": 9 });
	assert.deepEqual(JSON.parse(read(path)), { session: { maxTurns: 9 }, day: { maxCost: 5 } });
	writeSettings(path, { "session.maxTurns": undefined });
	assert.deepEqual(JSON.parse(read(path)), { day: { maxCost: 5 } });
});
