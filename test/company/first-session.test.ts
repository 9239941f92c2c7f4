/** The session of the person is the root, also if another session of the process was there before it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { type Host, host, type HostOptions, mark, type Reply, type Request, root, text } from "../harness/index.ts";
import { embedded } from "./program.ts";
import { DONE, family, handed, tireless } from "./subagents-family.ts";

const firstChild = join(import.meta.dirname, "first-child.ts");

/** The child answers at once; the person's prompts never end by themselves. */
const model = (request: Request): Reply => (request.texts("user").at(-1) === "child" ? text("Remembered.") : mark());

/**
 * A limit of 3 turns, and an extension that starts an agent in pi's process. Ours is installed, so that the child loads it
 * too, and so is one that makes pi's theme.
 */
const withChild = (t: TestContext, at: string, options: HostOptions): Promise<Host> =>
	host(t, {
		model,
		settings: { packages: [root, join(import.meta.dirname, "theme-maker.ts")] },
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0", CHILD_AT: at },
		...options,
	});

describe("an extension that is loaded before ours runs an agent of its own when a session starts", () => {
	test("the person is asked at the limit", async (t) => {
		const pi = await withChild(t, "session_start", { before: [firstChild] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 1 + 3);
		assert.equal(rpc.questions.length, 1);
	});

	test("a script exits with 53, and its line is not about a subagent", async (t) => {
		const pi = await withChild(t, "session_start", { before: [firstChild] });
		const { stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 1 + 3);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns /m);
		assert.equal(code, 53);
	});
});

test("a subagent of a pi that does not load us sets no exit code, and its parent learns that a limit stopped it", async (t) => {
	const pi = await family(t, {
		extension: false,
		args: [],
		tool: join(import.meta.dirname, "subagents-in-process.ts"),
		starts: [{ name: "delegate", args: { task: "Look." } }],
		child: tireless,
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" },
	});
	const { stdout, stderr, code } = await pi.print("go");
	assert.match(handed(pi)[0] ?? "", /^Agent failed: .*the turn limit/);
	assert.deepEqual({ stdout, stderr, code }, { stdout: `${DONE}\n`, stderr: "", code: 0 });
});

test("after /new the person is asked, though an extension ran an agent of its own when the old session ended", async (t) => {
	const pi = await withChild(t, "session_shutdown", { after: [firstChild] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.newSession();
	await rpc.run("go again");
	assert.equal(pi.model.requests.length, 3 + 1 + 3);
	assert.equal(rpc.questions.length, 2);
});

test("every session of a program that was started from pi's bash is a root, also if the program has a title of its own", async (t) => {
	const wrapsUp = (request: Request): Reply => (request.texts("assistant").length > 0 ? text("An answer.") : mark());
	const pi = await host(t, { model: wrapsUp, env: { PI_CODING_AGENT: "true" } });
	const answers = await embedded(pi, async ({ turnLimit, loader, open }) => {
		process.title = "reporter";
		const answers: unknown[] = [];
		for (const prompt of ["first", "second"]) {
			const limit = turnLimit({ turns: 2, grace: 1 });
			const resources = loader([limit]);
			await resources.reload();
			const session = await open(resources);
			await limit.prompt(session, prompt);
			answers.push(session.getLastAssistantText());
		}
		return answers;
	});
	assert.deepEqual(answers, ["An answer.", "An answer."]);
});
