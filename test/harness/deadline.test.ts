import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

test("a test that hangs is named, and ends its process", (t) => {
	const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
	t.after(() => rmSync(folder, { recursive: true }));
	const file = join(folder, "hanging.test.mjs");
	const hangs = `test("waits for ever", () => new Promise(() => setInterval(() => {}, 1000)));`;
	writeFileSync(file, `import { test } from "node:test";\ntest("ends", () => {});\n${hangs}\n`);
	const deadline = pathToFileURL(join(import.meta.dirname, "deadline.ts")).href;
	const env = { ...process.env, PI_TEST_HANGS_AFTER: "200" };
	Reflect.deleteProperty(env, "NODE_TEST_CONTEXT");
	const { stderr, status } = spawnSync(process.execPath, ["--import", deadline, file], {
		env,
		encoding: "utf8",
	});
	assert.deepEqual([stderr.trim(), status], ["✖ waits for ever: hangs, ended after 0.2 s", 1]);
});
