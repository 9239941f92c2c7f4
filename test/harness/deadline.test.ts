import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const waits = "setInterval(() => {}, 1000)";

for (const [what, tests, named] of [
	["a test that hangs", `test("waits for ever", () => new Promise(() => ${waits}));`, "waits for ever"],
	["a test that never lets go of the processor", `test("spins", () => { for (;;); });`, "spins"],
	[
		"a test that waits for what it has started",
		`test("starts", () => void execFileSync("sleep", ["1000"], { stdio: "inherit" }));`,
		"starts",
	],
	["what a test leaves behind", `test("leaves", () => void ${waits});`, "what follows leaves"],
	["a file that never gets to its tests", `await new Promise(() => ${waits});`, "FILE, before its first test"],
] as const) {
	test(`${what} is named, and its process ends`, (t) => {
		const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
		t.after(() => rmSync(folder, { recursive: true }));
		const file = join(folder, "hanging.test.mjs");
		writeFileSync(
			file,
			`import { execFileSync } from "node:child_process";\nimport { test } from "node:test";\n${tests}\n`,
		);
		const deadline = pathToFileURL(join(import.meta.dirname, "deadline.ts")).href;
		const env = { ...process.env, PI_TEST_HANGS_AFTER: "200" };
		Reflect.deleteProperty(env, "NODE_TEST_CONTEXT");
		const { stderr, signal } = spawnSync(process.execPath, ["--import", deadline, file], {
			...{ env, encoding: "utf8" },
			// Also ended after so long where something that was started keeps the output open.
			timeout: 60_000,
		});
		assert.deepEqual(
			[stderr.trim(), signal],
			[`✖ ${named.replace("FILE", file)}: hangs, ended after 0.2 s`, "SIGKILL"],
		);
	});
}
