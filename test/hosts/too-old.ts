/**
 * On a pi that is too old: run by `npm run test:hosts` with PI_TEST_HOST, never by `npm test`, which has no such host
 * and needs no registry. Hence the name, which does not end in `.test.ts`.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cli, host, text, times } from "../harness/index.ts";

const warning = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

/** A run of 5 turns under a limit of 2 in the user's file, which no script has asked for. */
const five = {
	model: [...times(4), text("finished")],
	agentFiles: { "turn-limit.json": { maxTurns: 2 } },
};

test("this pi is older than what we support", () => {
	assert.match(cli, /\b0\.8[56]\.1\b/);
});

test("in print mode stderr says once that nothing is guarded, and pi works as without us", async (t) => {
	const pi = await host(t, five);
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual({ stdout, stderr, code }, { stdout: "finished\n", stderr: `pi-turn-limit: ${warning}\n`, code: 0 });
	assert.equal(pi.model.requests.length, 5);
});

test("in json mode stderr says so once, and every line of stdout is pi's", async (t) => {
	const pi = await host(t, five);
	const { stderr, code, events } = await pi.json("go");
	assert.deepEqual({ stderr, code }, { stderr: `pi-turn-limit: ${warning}\n`, code: 0 });
	assert.equal(events.at(-1)?.type, "agent_settled");
});

test("two prompts in one process, and it is said once", async (t) => {
	const pi = await host(t, { model: times(2, text("finished")) });
	const { stdout, stderr, code } = await pi.print("first", "second");
	assert.deepEqual({ stdout, stderr, code }, { stdout: "finished\n", stderr: `pi-turn-limit: ${warning}\n`, code: 0 });
	assert.equal(pi.model.requests.length, 2);
});

const asks: [name: string, flags: string[], env: Record<string, string>][] = [
	["--turn-limit 2", ["--turn-limit", "2"], {}],
	["--turn-limit-tools 2", ["--turn-limit-tools", "2"], {}],
	["PI_MAX_TURNS=2", [], { PI_MAX_TURNS: "2" }],
	["PI_TURN_LIMIT_TOOLS=2", [], { PI_TURN_LIMIT_TOOLS: "2" }],
];

for (const [name, flags, env] of asks) {
	for (const mode of [["-p"], ["--mode", "json"]]) {
		test(`pi ${mode.join(" ")} with ${name} exits with 1 before the first request and says why`, async (t) => {
			const pi = await host(t, { ...five, env });
			const { stderr, code } = await pi.start(...flags, ...mode, "go").ended();
			assert.equal(pi.model.requests.length, 0);
			assert.match(stderr, /^pi-turn-limit.* 0\.87 .*\n$/);
			assert.equal(code, 1);
		});
	}
}

test("a person is warned once, never asked, and sees no widget; no handler of ours fails", async (t) => {
	const pi = await host(t, { model: [...times(4), text("finished"), text("again")], env: { PI_MAX_TURNS: "2" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.run("again");
	assert.equal(pi.model.requests.length, 6);
	assert.deepEqual(rpc.notifications, [{ message: warning, type: "warning" }]);
	assert.deepEqual([rpc.questions, rpc.widgets(), rpc.errors], [[], [], []]);
	assert.equal((await rpc.close()).code, 0);
});

for (const command of ["/turn-limit", "/turn-limit 3", "/turn-limit wrap-up"]) {
	test(`${command} does no harm and claims no limit`, async (t) => {
		const pi = await host(t, five);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt(command);
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 5);
		assert.deepEqual([rpc.questions, rpc.errors], [[], []]);
		assert.doesNotMatch(
			rpc.notifications.map(({ message }) => message).join("\n"),
			/set to|of 2 turns|told to wrap up/,
		);
		assert.deepEqual(rpc.widgets(), []);
	});
}

test("the terminal shows the warning, and pi works", async (t) => {
	const pi = await host(t, { model: [text("All done.")] });
	const tui = await pi.terminal();
	tui.type("go\r");
	const screen = await tui.shows("All done.");
	assert.ok(screen.includes(warning), screen);
});
