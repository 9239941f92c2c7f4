import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { bash, cli, node, type Call, type Host, text } from "../harness/index.ts";
import { family, handed, tireless } from "../company/subagents-family.ts";

/** A pi of its own. */
function child(task: string): Call {
	return bash(`"${node}" "${cli}" --offline --no-session -p "${task}" < /dev/null`);
}

const delegate = (task: string): Call => ({ name: "delegate", args: { task } });

const tool = join(import.meta.dirname, "../company/subagents-in-process.ts");

const WAYS: Readonly<Record<string, { starts: readonly Call[]; tool?: string }>> = {
	"three processes": { starts: [child("a"), child("b"), child("c")] },
	"three sessions of its own process": { starts: [delegate("a"), delegate("b"), delegate("c")], tool },
	"a process and two sessions": { starts: [child("a"), delegate("b"), delegate("c")], tool },
};

const ALONE = { PI_TURN_LIMIT_GRACE: "0" };

for (const [way, options] of Object.entries(WAYS)) {
	for (const limit of [3, 8, 20]) {
		test(`a tree limit of ${limit} turns: an agent and ${way} make exactly ${limit} requests`, async (t) => {
			const env = { ...ALONE, PI_TURN_LIMIT_TREE_TURNS: String(limit) };
			const pi = await family(t, { ...options, child: tireless, env });
			const { code, stderr } = await pi.print("go");
			assert.equal(pi.model.turns.length, limit);
			assert.equal(code, 53);
			assert.match(stderr, new RegExp(`exhausted at the limit of ${limit} turns in this tree of agents`));
		});
	}
}
