/** `limit.prompt()` gives the end of the run that it started, and of no other. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { AgentSession, ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { LimitExceeded, type Outcome, turnLimit, type TurnLimit, type TurnLimitOptions } from "../../src/index.ts";
import { text } from "../harness/model.ts";
import { DefaultResourceLoader } from "../harness/pi.ts";
import { defer } from "../harness/wait.ts";
import { noop, session, type SessionOptions } from "../harness/session.ts";

interface Guarded {
	limit: TurnLimit;
	pi: AgentSession;
}

async function guarded(
	t: TestContext,
	options: TurnLimitOptions,
	{ extensions = [], ...more }: Partial<SessionOptions> = {},
): Promise<Guarded> {
	const limit = turnLimit({ grace: 0, ...options });
	const made = await session(t, { reply: () => noop, extensions: [limit, ...extensions], ...more });
	return { limit, pi: made.session };
}

/** How a prompt ended: its outcome, or the name of the error. */
async function ending(prompted: Promise<Outcome>): Promise<string> {
	return await prompted.then(
		({ kind, turns }) => `${kind} ${turns}`,
		(error: unknown) => {
			if (!(error instanceof LimitExceeded)) return String(error);
			return `${error.name}: ${error.outcome.kind} ${error.outcome.turns}`;
		},
	);
}

test("a prompt that `onOutcome` starts and the run that it follows each get their own outcome", async (t) => {
	const second: Promise<string>[] = [];
	const onOutcome = (): void => {
		if (second.length === 0) second.push(ending(made.limit.prompt(made.pi, "go on")));
	};
	const reply = (n: number) => (n <= 2 ? noop : text("done"));
	const made: Guarded = await guarded(t, { turns: 2, onOutcome }, { reply });
	const first = await ending(made.limit.prompt(made.pi, "go"));
	assert.deepEqual([first, await second[0]], ["LimitExceeded: exhausted 2", "completed 1"]);
});

test("a run that another extension starts when it ends changes nothing of a prompt's outcome", async (t) => {
	let isWoken = false;
	const wakes = (pi: ExtensionAPI): void => {
		pi.on("agent_settled", () => {
			if (isWoken) return;
			isWoken = true;
			pi.sendUserMessage("wake up");
		});
	};
	const { limit, pi } = await guarded(
		t,
		{ turns: 9 },
		{ extensions: [wakes], reply: (n) => (n === 1 ? text("one") : n < 4 ? noop : text("more")) },
	);
	assert.equal(await ending(limit.prompt(pi, "go")), "completed 1");
});

test("a prompt that starts no run does not give the outcome of an earlier one", async (t) => {
	const { limit, pi } = await guarded(t, { turns: 2 }, { reply: () => text("done") });
	assert.equal(await ending(limit.prompt(pi, "go")), "completed 1");
	assert.equal(await ending(limit.prompt(pi, "/turn-limit")), "Error: The prompt started no run.");
});

test("a prompt that starts no run takes nothing away from the next one", async (t) => {
	const { limit, pi } = await guarded(t, { turns: 2 }, { reply: () => text("done") });
	assert.equal(await ending(limit.prompt(pi, "/turn-limit")), "Error: The prompt started no run.");
	assert.equal(await ending(limit.prompt(pi, "go")), "completed 1");
});

test("a prompt to a session that is at work is refused by pi at once, and the run that it meets ends as it would have", async (t) => {
	const second: Promise<string>[] = [];
	let hasEnded = false;
	const reply = (n: number) => {
		if (n > 1) return text("done");
		second.push(ending(made.limit.prompt(made.pi, "me too")).then((end) => (hasEnded ? "late" : end)));
		return noop;
	};
	const made: Guarded = await guarded(t, { turns: 9 }, { reply });
	const first = await ending(made.limit.prompt(made.pi, "go"));
	hasEnded = true;
	assert.equal(first, "completed 2");
	assert.match((await second[0])!, /^Error: .*already/);
});

for (const [does, reply, expected] of [
	["a limit ended", () => noop, "LimitExceeded: exhausted 2"],
	["ended by itself", () => text("done"), "completed 1"],
] as const) {
	test(`an \`onOutcome\` that throws takes nothing away from the prompt whose run ${does}`, async (t) => {
		const onOutcome = (): never => {
			throw new Error("The database is gone.");
		};
		const { limit, pi } = await guarded(t, { turns: 2, onOutcome }, { reply });
		assert.equal(await ending(limit.prompt(pi, "go")), expected);
		assert.equal(await ending(limit.prompt(pi, "again")), expected);
	});
}

test("a breaker that failed closed rejects, and says why", async (t) => {
	const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
	defer(t, () => rmSync(folder, { recursive: true }));
	writeFileSync(join(folder, "turn-limit-ledger"), "A file where the directory of the ledger should be.");
	const { limit, pi } = await guarded(t, { treeTurns: 3 }, { env: { PI_CODING_AGENT_DIR: folder } });
	const why = `pi-turn-limit: failed and stopped the run: The ledger is refused: ${folder}/turn-limit-ledger is not a directory.`;
	assert.equal(await ending(limit.prompt(pi, "go")), `Error: ${why}`);
	await assert.rejects(limit.prompt(pi, "again"), ({ cause }: Error) => (cause as Outcome).kind === "failed");
});

test("a factory that another loader runs as well takes nothing away from the session that it guards", async (t) => {
	const limit = turnLimit({ turns: 9, treeTurns: 3, grace: 0 });
	const { session: pi } = await session(t, { extensions: [limit], reply: (n) => (n === 1 ? noop : text("done")) });
	await limit.prompt(pi, "go");
	const place = { cwd: tmpdir(), agentDir: process.env["PI_CODING_AGENT_DIR"] ?? "" };
	await new DefaultResourceLoader({ ...place, extensionFactories: [limit], noExtensions: true }).reload();
	assert.equal(limit.snapshot().turns.used, 2);
	const member = turnLimit({ parent: limit, grace: 0 });
	const child = await session(t, {
		extensions: [member],
		reply: () => noop,
	});
	assert.equal(await ending(member.prompt(child.session, "look")), "LimitExceeded: exhausted 1");
});
