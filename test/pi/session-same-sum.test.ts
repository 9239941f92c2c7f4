import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	bash,
	calls,
	endless,
	fail,
	held,
	host,
	type Host,
	type HostOptions,
	mark,
	type Rpc,
	text,
} from "../harness/index.ts";
import { leaf, reply, run } from "../settings/status.ts";

const done = text("done");

/** An extension to load beside ours: `/go-to id` moves to another entry, and has the model sum up what is left behind. */
function summarizer(pi: ExtensionAPI): void {
	pi.registerCommand("go-to", {
		handler: async (id, ctx) => {
			await ctx.navigateTree(id, { summarize: true });
		},
	});
}

test("the summary of a branch that is left counts at once, and not only after a resume", async (t) => {
	const pi = await host(t, { session: true, model: endless(done), after: [summarizer] });
	const rpc = await pi.rpc();
	await run(rpc);
	const first = await leaf(rpc);
	await run(rpc, "this way");
	await rpc.prompt(`/go-to ${first}`);
	assert.equal(pi.model.requests.at(-1)!.kind, "summary");
	const live = await reply(rpc, "session cost");
	await rpc.close();
	assert.equal(await reply(await pi.rpc({ args: ["-c"] }), "session cost"), live);
	assert.match(live, /\$0\.03, unlimited/);
});

/** An extension to load beside ours: `/wake` starts a run by a message of its own type. */
function waker(pi: ExtensionAPI): void {
	pi.registerCommand("wake", {
		handler: (content) => {
			pi.sendMessage({ customType: "alarm", content, display: true }, { triggerTurn: true });
			return Promise.resolve();
		},
	});
}

const cutOff = { ...text("half"), stop: "length", usage: { prompt: 199_990, completion: 10 } } as const;

/** By what happened in the session: the turns that were requested. */
const STORIES: Record<string, [turns: number, HostOptions, (rpc: Rpc, pi: Host) => Promise<void>]> = {
	"a turn whose request failed for good": [
		3,
		{ model: [mark(), fail(400), done] },
		async (rpc) => {
			await run(rpc);
			await run(rpc, "go on");
		},
	],
	"a turn after a failed one, begun by a message of another extension": [
		2,
		{ model: [fail(400), done], after: [waker] },
		async (rpc) => {
			await run(rpc);
			await rpc.prompt("/wake up");
			await rpc.settled();
		},
	],
	"a turn that pi repeats after a compaction, because its answer was cut off": [
		2,
		{ model: [mark(), cutOff, done], settings: { compaction: { keepRecentTokens: 1 } } },
		(rpc) => run(rpc),
	],
	"a turn whose request is aborted": [
		2,
		{ model: [mark(), held()] },
		async (rpc, pi) => {
			await rpc.prompt("go");
			await pi.model.arrival(2);
			await rpc.abort();
		},
	],
	"a turn whose call is aborted": [
		1,
		{ model: [calls(bash("sleep 999"))] },
		async (rpc) => {
			await rpc.prompt("go");
			await rpc.event("tool_execution_start");
			await rpc.abort();
		},
	],
};

for (const [what, [turns, options, act]] of Object.entries(STORIES)) {
	test(`${what} counts the same before and after a resume`, async (t) => {
		const pi = await host(t, { session: true, ...options });
		const rpc = await pi.rpc();
		await act(rpc, pi);
		const live = await reply(rpc, "session turns");
		await rpc.close();
		assert.match(live, new RegExp(`^session turns +${turns}, unlimited`));
		assert.equal(await reply(await pi.rpc({ args: ["-c"] }), "session turns"), live);
	});
}

for (const [what, model] of [
	["response", held()],
	["call", calls(bash("sleep 999"))],
] as const) {
	test(`a turn whose ${what} the time limit cuts off counts for the session that is resumed`, async (t) => {
		const pi = await host(t, { session: true, model: endless(model), env: { PI_TURN_LIMIT_TIME: "0.3s" } });
		const { stderr } = await pi.print("go");
		assert.match(stderr, /cut off what was under way/);
		assert.match(await reply(await pi.rpc({ args: ["-c"] }), "session turns"), /^session turns +1, unlimited/);
	});
}

test("a turn counts for the session that is resumed if a script was ended while it waited for the response", async (t) => {
	const pi = await host(t, { session: true, model: [done, held(), held()] });
	await pi.print("go");
	for (const turns of [2, 3]) {
		const script = pi.start("-p", "-c", "go on");
		await pi.model.arrival(turns);
		script.child.kill("SIGTERM");
		assert.equal((await script.ended()).code, 143);
		assert.match(
			await reply(await pi.rpc({ args: ["-c"] }), "session turns"),
			new RegExp(`^session turns +${turns}, unlimited`),
		);
	}
});

test("an answer that a script shows again after a stop does not count as a turn", async (t) => {
	const pi = await host(t, {
		session: true,
		model: endless(done),
		env: { PI_MAX_TURNS: "1" },
		after: [
			(pi) => {
				pi.on("agent_end", () => pi.sendUserMessage("once more", { deliverAs: "followUp" }));
			},
		],
	});
	assert.equal((await pi.print("go")).stdout, "done\n");
	assert.equal(pi.model.requests.length, 1);
	assert.match(await reply(await pi.rpc({ args: ["-c"] }), "session turns"), /^session turns +1, unlimited/);
});

test("a turn before which the breaker fails does not count for the session that is resumed", async (t) => {
	const pi = await host(t, {
		session: true,
		model: endless(done),
		before: [
			(pi) => {
				pi.on("session_start", (_event, { ui }) => {
					ui.setWidget = () => {
						throw new Error("The widget is broken.");
					};
				});
			},
		],
	});
	const rpc = await pi.rpc();
	await run(rpc);
	assert.equal(pi.model.requests.length, 0);
	await rpc.close();
	assert.match(await reply(await pi.rpc({ args: ["-c"] }), "session turns"), /^session turns +0, unlimited/);
});
