/** Beside an extension that wakes pi whenever it has settled. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import type { Outcome } from "../../src/index.ts";
import { endless, host, type Host, type HostOptions, mark, type Reply, type Request, text } from "../harness/index.ts";
import { waker, woken } from "./extensions.ts";
import { stored } from "./sessions.ts";

const limit = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };

/** Three runs were refused, after those that ran. A waker may have called once more when pi ended. */
function refusedThree(pi: Host, ran: number): void {
	const refused = woken(pi) - (ran - 1);
	assert.ok(refused === 3 || refused === 4, `woken ${woken(pi)} times`);
}

/** The stop is recorded, and all refused runs together at most once more. */
function recordedOnce(pi: Host, kind: Outcome["kind"], turns: number): void {
	const records = stored(pi, "turn-limit-outcome") as Outcome[];
	assert.deepEqual([records[0]?.kind, records[0]?.turns], [kind, turns]);
	assert.ok(records.length <= 2, `${records.length} records`);
	for (const refused of records.slice(1)) assert.equal(refused.turns, 0);
}

/** A sandbox with a limit of 2 turns and an extension that wakes pi. */
const woke = (t: TestContext, by: "prompt" | "message", options: HostOptions): Promise<Host> =>
	host(t, { session: true, after: [waker], ...options, env: { ...limit, WAKES_BY: by, ...options.env } });

describe("a script that an extension wakes", () => {
	test("ends after the third refused run, with one line, one record and 53", async (t) => {
		const pi = await woke(t, "prompt", { model: endless() });
		const { stdout, stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 2);
		assert.match(
			stderr,
			/^pi-turn-limit: stopped at the limit of 2 turns \(PI_MAX_TURNS\), without an answer; spent: 2 turns, 2 tool calls, \$0\.02\.\n$/,
		);
		assert.deepEqual({ stdout, code }, { stdout: "", code: 53 });
		recordedOnce(pi, "exhausted", 2);
		refusedThree(pi, 1);
	});

	test("ends after the third refused run in json mode too", async (t) => {
		const pi = await woke(t, "message", { model: endless() });
		const { stderr, code } = await pi.json("go");
		assert.equal(pi.model.requests.length, 2);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns .*\n$/);
		assert.equal(code, 53);
		recordedOnce(pi, "exhausted", 2);
		refusedThree(pi, 1);
	});

	test("leaves nothing in the ledger that is held for it", async (t) => {
		const pi = await woke(t, "prompt", { model: endless(), env: { PI_TURN_LIMIT_TREE_TURNS: "9" } });
		assert.equal((await pi.print("go")).code, 53);
		const ledger = new DatabaseSync(join(pi.agentDir, "turn-limit-ledger/ledger.sqlite"), { readOnly: true });
		assert.deepEqual(ledger.prepare("SELECT meter FROM holds").all(), []);
		ledger.close();
	});

	test("prints the answer of its final pass, though more runs were refused after it", async (t) => {
		const model = (_request: Request, n: number): Reply => (n <= 2 ? mark() : text("the best I have"));
		const pi = await woke(t, "message", { model, env: { PI_TURN_LIMIT_POLICY: "synthesize" } });
		const { stdout, stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 3);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns \(PI_MAX_TURNS\), with a last answer; .*\n$/);
		assert.deepEqual({ stdout, code }, { stdout: "the best I have\n", code: 53 });
		recordedOnce(pi, "synthesized", 3);
		refusedThree(pi, 1);
	});

	test("prints the last answer when every run ended by itself until the limit", async (t) => {
		const pi = await woke(t, "prompt", { model: (_request, n) => text(`answer ${n}`) });
		const { stdout, stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 2);
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns .*\n$/);
		assert.deepEqual({ stdout, code }, { stdout: "answer 2\n", code: 53 });
		recordedOnce(pi, "exhausted", 0);
		refusedThree(pi, 2);
	});

	test("says it once also when it is woken only twice", async (t) => {
		const pi = await woke(t, "message", { model: endless(), env: { WAKES: "2" } });
		const { stderr, code } = await pi.print("go");
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns .* spent: 2 turns, .*\n$/);
		assert.equal(code, 53);
		recordedOnce(pi, "exhausted", 2);
	});
});

describe("a person whose pi an extension wakes", () => {
	test("is asked once and told once, and the next prompt has all its turns", async (t) => {
		const pi = await woke(t, "prompt", { model: endless(), env: { WAKES: "2" } });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt("go");
		for (let runs = 0; runs < 3; runs++) await rpc.settled();
		assert.equal(pi.model.requests.length, 2);
		assert.equal(rpc.questions.length, 1);
		assert.ok(rpc.notifications.length <= 2, `${rpc.notifications.length} notifications`);
		recordedOnce(pi, "declined", 2);
		await rpc.run("again");
		assert.equal(pi.model.requests.length, 2 + 2);
		assert.equal(rpc.questions.length, 2);
	});

	test("is asked when woken runs have used up the turns, and can go on", async (t) => {
		const pi = await woke(t, "message", { model: endless(text("answer")), env: { WAKES: "3" } });
		const rpc = await pi.rpc({ answer: "yes" });
		await rpc.prompt("go");
		for (let runs = 0; runs < 4; runs++) await rpc.settled();
		assert.equal(pi.model.requests.length, 4);
		assert.equal(rpc.questions.length, 1);
	});
});

for (const [how, keys, by] of [
	["Ctrl+C", "\x03\x03", "prompt"],
	["Ctrl+D", "\x04", "prompt"],
	["/quit", "/quit\r", "message"],
] as const) {
	test(`a person in the terminal whose pi an extension wakes by a ${by} says no once and leaves with ${how}`, async (t) => {
		const pi = await woke(t, by, { model: endless() });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("You've used 2 turns. Continue?");
		tui.press("escape");
		await tui.shows(/woken \d/);
		assert.doesNotMatch(await tui.shows(/woken 3|Continue\?/), /Continue\?/);
		tui.type(keys);
		assert.equal(await tui.exit(), 0);
		assert.equal(pi.model.requests.length, 2);
		recordedOnce(pi, "declined", 2);
	});
}
