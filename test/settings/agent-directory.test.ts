import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { agentDirectory } from "../../src/settings/agent-directory.ts";

for (const [variable, expected] of [
	[undefined, join(homedir(), ".pi", "agent")],
	["", join(homedir(), ".pi", "agent")],
	["~", homedir()],
	["~/mine", join(homedir(), "mine")],
	["/a/~/mine", "/a/~/mine"],
	["~mine", "~mine"],
] as const) {
	test(`what belongs to the user is in ${expected.replace(homedir(), "~")} where PI_CODING_AGENT_DIR is ${variable}`, () => {
		assert.equal(agentDirectory({ PI_CODING_AGENT_DIR: variable }), expected);
	});
}

test("the variable is this process's own", (t) => {
	const before = process.env["PI_CODING_AGENT_DIR"];
	t.after(() =>
		before === undefined ? delete process.env["PI_CODING_AGENT_DIR"] : (process.env["PI_CODING_AGENT_DIR"] = before),
	);
	process.env["PI_CODING_AGENT_DIR"] = "/elsewhere";
	assert.equal(agentDirectory(), "/elsewhere");
});
