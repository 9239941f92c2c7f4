/** Bugs that a limit can easily have, planted one at a time: each is found by the test that is for it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

interface Bug {
	readonly name: string;
	/** In `src/core`. */
	readonly file: string;
	readonly right: string;
	readonly wrong: string;
	/** File in `test/core` and name of the test that finds it. */
	readonly foundBy: readonly [file: string, name: string];
}

const BUGS: readonly Bug[] = [
	{
		name: "off by one",
		file: "limit.ts",
		right: "meter.used >= toNumber",
		wrong: "meter.used > toNumber",
		foundBy: ["gate.test.ts", "lets 25 turns run and stops the next where nobody can be asked"],
	},
	{
		name: "`===` for `>=`",
		file: "limit.ts",
		right: "meter.used >= toNumber",
		wrong: "meter.used === toNumber",
		foundBy: ["limits.test.ts", "lowered to or below the count gates the next turn"],
	},
	{
		name: "no reset on re-enable",
		file: "limit.ts",
		right: "used: reEnabled ? 0 : meter.used",
		wrong: "used: meter.used",
		foundBy: ["limits.test.ts", "from unlimited to a number restarts the count"],
	},
	{
		name: "advice every turn",
		file: "gate.ts",
		right: `[{ ...told, advice: "given" }, [advice(next)]]`,
		wrong: "[told, [advice(next)]]",
		foundBy: ["wrap-up.test.ts", "it is given once per round, and the limit still holds"],
	},
	{
		name: "lost held turn",
		file: "gate.ts",
		right: "run: { ...run, spent, pass: id }",
		wrong: "run: { ...run, spent }",
		foundBy: ["gate.test.ts", "asks after 0 turns, and every yes admits 1 more"],
	},
	{
		name: "retry refills",
		file: "gate.ts",
		right: `return [withRun(state, phase, { turn: "open" }), []]`,
		wrong: `return [withMeter(withRun(state, phase, { turn: "open" }), "turns", { ...state.meters.turns, used: 0 }), []]`,
		foundBy: ["gate.test.ts", "a retried turn is neither counted nor gated again, also at a limit of 0"],
	},
	{
		name: "failed turn counted twice",
		file: "gate.ts",
		right: `typeof phase.run.turn === "object"`,
		wrong: "false",
		foundBy: ["final-pass.test.ts", "a failed turn of it is retried and counted once"],
	},
	{
		name: "question asked twice",
		file: "gate.ts",
		right: `[{ type: "hold" }]];\n\tif (phase.name !== "running")`,
		wrong: `[{ type: "ask", meter: phase.meter }]];\n\tif (phase.name !== "running")`,
		foundBy: ["gate.test.ts", "holds further requests until it is answered"],
	},
];

const root = fileURLToPath(new URL("../..", import.meta.url));
const copy = mkdtempSync(join(tmpdir(), "pi-test-"));
after(() => rmSync(copy, { recursive: true }));
for (const part of ["package.json", "src/core", "test/core"]) {
	cpSync(join(root, part), join(copy, part), { recursive: true });
}

/** How many of the tests of that name in the copy pass and fail. */
function run([file, name]: Bug["foundBy"]): { passed: string | undefined; failed: string | undefined } {
	const args = ["--test-reporter=tap", `--test-name-pattern=${name}$`, join(copy, "test/core", file)];
	// So that it does not take itself for a part of this run.
	const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
	const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env });
	const count = (what: string) => new RegExp(`^# ${what} (\\d+)$`, "m").exec(stdout)?.[1];
	return { passed: count("pass"), failed: count("fail") };
}

for (const { name, file, right, wrong, foundBy } of BUGS) {
	test(`it is found: ${name}`, () => {
		const path = join("src/core", file);
		const source = readFileSync(join(root, path), "utf8");
		assert.equal(source.split(right).length, 2, `${path} must hold once: ${right}`);
		writeFileSync(join(copy, path), source.replace(right, wrong));
		assert.deepEqual(run(foundBy), { passed: "0", failed: "1" }, "with the bug");
		writeFileSync(join(copy, path), source);
		assert.deepEqual(run(foundBy), { passed: "1", failed: "0" }, "without it");
	});
}

test("CONTRIBUTING.md names these bugs and what finds them", () => {
	const rows = BUGS.map(({ name, foundBy: [file, test] }) => `| ${name} | \`${file}\`: ${test} |`);
	const table = ["| Bug | Found by, in `test/core` |", "|---|---|", ...rows].join("\n");
	assert.ok(readFileSync(join(root, "CONTRIBUTING.md"), "utf8").includes(table), `It lacks:\n${table}`);
});
