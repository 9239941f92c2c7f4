/** What stays of an answer that the model has given. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	bash,
	childCli,
	endless,
	fail,
	host,
	mark,
	node,
	type Reply,
	type Request,
	text,
	thinks,
} from "../harness/index.ts";
import { waker } from "./extensions.ts";
import { answersAfter, exampleChild, family, handed, tireless } from "./subagents-family.ts";

const abort = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" };
const synthesize = { ...abort, PI_TURN_LIMIT_POLICY: "synthesize" };
const ANSWER = "Three of ten files are done.";

describe("a subagent in the same process whose answer is read as it is streamed", () => {
	for (const [ending, turns, env] of [
		["made to answer at its limit", 3, synthesize],
		["told to wrap up", 2, { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "1" }],
	] as const) {
		test(`${ending}: the parent is told that the answer may be partial`, async (t) => {
			const pi = await family(t, {
				tool: join(import.meta.dirname, "subagents-stream.ts"),
				starts: [{ name: "listen", args: { task: "Look." } }],
				child: answersAfter(turns, ANSWER),
				env,
			});
			await pi.print("go");
			assert.match(handed(pi)[0] ?? "", /^Three of ten files are done\.\n+[^\n]*partial/);
		});
	}
});

describe("a subagent in the same process that gives no answer in its final pass", () => {
	const NO_ANSWERS: Record<string, Reply> = {
		"an empty reply": text(""),
		"thinking only": thinks("Hm."),
		"a reply that was cut off": { ...text("Three of"), stop: "length" },
	};
	for (const [what, reply] of Object.entries(NO_ANSWERS)) {
		test(`${what}: it is no success whose result is its last words`, async (t) => {
			const pi = await family(t, {
				tool: join(import.meta.dirname, "subagents-in-process.ts"),
				starts: [{ name: "delegate", args: { task: "Look." } }],
				child: (n) => (n <= 3 ? tireless(n) : reply),
				env: synthesize,
			});
			await pi.print("go");
			assert.match(handed(pi)[0] ?? "", /^Agent failed: .*the turn limit/);
		});
	}
});

test("a subagent in the same process whose provider fails in its final pass: the parent is told of both", async (t) => {
	const pi = await family(t, {
		tool: join(import.meta.dirname, "subagents-in-process.ts"),
		starts: [{ name: "delegate", args: { task: "Look." } }],
		child: (n) => (n <= 3 ? tireless(n) : fail(400)),
		env: synthesize,
	});
	await pi.print("go");
	assert.match(handed(pi)[0] ?? "", /^Agent failed: .*400.*the subagent had reached its turn limit/);
});

test("pi's example subagent: a child that has answered before another extension drove it into its limit hands that answer back", async (t) => {
	const goal = `export default (pi) => {
	let isOver = false;
	pi.on("agent_end", () => {
		if (!isOver) pi.sendUserMessage("go on", { deliverAs: "followUp" });
		isOver = true;
	});
};`;
	const child = (n: number): Reply => (n === 1 ? text(ANSWER) : tireless(n));
	const { told } = await exampleChild(t, child, { env: abort, agentFiles: { "extensions/goal.ts": goal } });
	assert.match(told, /Three of ten files are done\./);
	assert.doesNotMatch(told, /before it gave an answer/);
});

test("an agent's own pi -p in bash that answers in its final pass exits with 0 and says that this may be partial, though an extension wakes it", async (t) => {
	const wakes = `export default (pi) => {
	let left = 20;
	pi.on("agent_settled", () => {
		if (left-- > 0) pi.sendUserMessage("go on");
	});
};`;
	const pi = await family(t, {
		starts: [bash(`"${node}" "${childCli}" --offline --no-session -e wakes.ts -p "Look."; echo "exit code $?"`)],
		child: answersAfter(3, ANSWER),
		env: synthesize,
		files: { "wakes.ts": wakes },
	});
	await pi.print("go");
	assert.match(handed(pi)[0] ?? "", /^Three of ten files are done\.\n+[^\n]*partial[^\n]*\nexit code 0\n$/);
});

test("a long answer is printed whole, though an extension wakes pi after it", async (t) => {
	const answer = `${"word ".repeat(60_000)}end`;
	const model = (_request: Request, n: number): Reply => (n <= 3 ? mark() : text(answer));
	const pi = await host(t, { model, env: { ...synthesize, WAKES_BY: "prompt" }, after: [waker] });
	const { stdout, code } = await pi.print("go");
	assert.equal(stdout.length, `${answer}\n`.length);
	assert.equal(code, 53);
});

test("the line on stderr is there, though another extension ends the process when pi has settled", async (t) => {
	function leaves(pi: ExtensionAPI): void {
		pi.on("agent_settled", () => process.exit(0));
	}
	const pi = await host(t, { model: endless(), env: abort, after: [leaves] });
	const { stderr, code } = await pi.print("go");
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns /m);
	assert.equal(code, 53);
});

for (const place of ["before", "after"] as const) {
	test(`the line on stderr stands there once, though another extension, loaded ${place} ours, ends the process when the session ends`, async (t) => {
		function leaves(pi: ExtensionAPI): void {
			pi.on("session_shutdown", () => process.exit(0));
		}
		const pi = await host(t, { model: endless(), env: abort, [place]: [leaves] });
		const { stderr, code } = await pi.print("go");
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns .*\n$/);
		assert.equal(code, 53);
	});
}
