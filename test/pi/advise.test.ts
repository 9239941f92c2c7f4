import assert from "node:assert/strict";
import { test } from "node:test";
import { host, mark, text } from "../harness/index.ts";
import { reply } from "../settings/status.ts";

const prompted = { model: [mark(), text("done")], session: true };

test("pi -p '/turn-limit advise' prints what the sessions say on stdout", async (t) => {
	const pi = await host(t, { env: { PI_TURN_LIMIT_COST: "2" } });
	const { stdout, stderr, code } = await pi.print("/turn-limit advise");
	assert.match(stdout, /^Your prompts\nNone in /);
	assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
});

test("--json prints one object, with the prompts of the sessions that it was given", async (t) => {
	const pi = await host(t, prompted);
	await pi.print("go");
	const folder = pi.cwd.replace(/work$/, "sessions");
	const { stdout } = await pi.print(`/turn-limit advise --json --session-dir "${folder}"`);
	const { version, prompts } = JSON.parse(stdout) as { version: number; prompts: number };
	assert.deepEqual({ version, prompts }, { version: 1, prompts: 1 });
});

test("in json mode the stream stays pi's, and stderr says why there is no advice", async (t) => {
	const pi = await host(t);
	const { stderr, events } = await pi.json("/turn-limit advise");
	assert.equal(stderr, "pi-turn-limit: advise: standard output is pi's own in json mode.\n");
	assert.ok(events.length > 0);
});

test("over rpc it is a notification, and a wrong word is named", async (t) => {
	const rpc = await (await host(t)).rpc();
	assert.match(await reply(rpc, "advise"), /^Your prompts\nNone in /);
	assert.match(await reply(rpc, "advise --weeks 2"), /^advise: expected --project, .*, got "--weeks"\.$/);
});
