/** Every shell block of the README and the manual is run by a test, or stands here with the reason why not. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../harness/index.ts";

/** By page, in the order of its blocks: the test that runs it, or the reason. */
const BLOCKS: Readonly<Record<string, readonly string[]>> = {
	"README.md": ["test/docs/script.test.ts", "test/docs/script.test.ts"],
	"docs/embedding.md": ["test/docs/install.test.ts"],
	"docs/fleet.md": ["test/fleet/servers/docs.test.ts"],
	"docs/scripts.md": ["test/docs/script.test.ts"],
};

const pages = ["README.md", ...globSync("docs/*.md", { cwd: root })];

test("every shell block of the README and the manual is run by a test, or there is a reason why not", () => {
	const found = pages.flatMap((page) => {
		const blocks = readFileSync(join(root, page), "utf8").match(/^```(sh|bash|shell)\n/gm) ?? [];
		return blocks.length > 0 ? [[page, blocks.length]] : [];
	});
	const listed = Object.entries(BLOCKS).map(([page, blocks]) => [page, blocks.length]);
	assert.deepEqual(found.toSorted(), listed.toSorted());
	for (const [page, blocks] of Object.entries(BLOCKS)) {
		for (const test of blocks.filter((each) => !each.startsWith("not run: ")))
			assert.ok(readFileSync(join(root, test), "utf8").includes(page), `${test} does not read ${page}`);
	}
});
