import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, fail, host, mark, text } from "../harness/index.ts";
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
	assert.match(live, /\$0\.03 of ∞/);
});

test("a turn whose request failed for good counts the same before and after a resume", async (t) => {
	const pi = await host(t, { session: true, model: [mark(), fail(400), done] });
	const rpc = await pi.rpc();
	await run(rpc);
	await run(rpc, "go on");
	const live = await reply(rpc, "session turns");
	await rpc.close();
	assert.equal(await reply(await pi.rpc({ args: ["-c"] }), "session turns"), live);
});
