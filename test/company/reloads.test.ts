/** Another extension reloads pi in the middle of a run, or at its end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Host, host, mark, outcomes, type Reply, type Request, spy, text } from "../harness/index.ts";

/** `/arm` lets the next event that RELOAD_IN names reload pi; AWAITS=1: it waits for that. Says when pi has reloaded. */
function reloads(pi: ExtensionAPI): void {
	const slot = globalThis as { reload?: (() => Promise<void>) | undefined };
	pi.registerCommand("arm", {
		handler: (_args, ctx) => {
			slot.reload = () => ctx.reload();
			return Promise.resolve();
		},
	});
	pi.on(process.env["RELOAD_IN"] as "agent_end", async () => {
		const { reload } = slot;
		slot.reload = undefined;
		const reloaded = reload?.();
		if (process.env["AWAITS"]) await reloaded;
	});
	pi.on("session_start", ({ reason }, { ui }) => {
		if (reason === "reload") ui.notify("Reloaded.");
	});
}

const ended = (pi: Host): string[] => outcomes(pi).map(({ kind, turns }) => `${kind} ${turns}`);

for (const event of ["turn_start", "agent_settled"])
	for (const tree of ["unlimited", "100"])
		test(`a reload in ${event}, with a tree limit of ${tree}: two prompts have 3 turns each`, async (t) => {
			const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: tree, RELOAD_IN: event };
			const pi = await host(t, { model: () => mark(), env, before: [reloads], after: [spy] });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.prompt("/arm");
			await rpc.run("go");
			await rpc.until("the reload", () => rpc.notifications.some(({ message }) => message === "Reloaded."));
			assert.equal(pi.model.requests.length, 3);
			await rpc.run("again");
			assert.deepEqual([pi.model.requests.length, ended(pi)], [6, ["declined 3", "declined 3"]]);
		});

const answers = (request: Request): Reply => (request.last.includes("is spent") ? text("All I have.") : mark());
for (const [policy, model, kind, code] of [
	["synthesize", answers, "synthesized 3", 53],
	["abort", [mark(), text("Done.")], "wrapped_up 2", 54],
	["abort", () => mark(), "exhausted 2", 53],
] as const)
	test(`a script that a reload in agent_end meets is ${kind}, says it once and exits with ${code}`, async (t) => {
		const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "1", PI_TURN_LIMIT_POLICY: policy };
		const reloading = { ...env, RELOAD_IN: "agent_end", AWAITS: "1" };
		const pi = await host(t, { model, env: reloading, before: [reloads], after: [spy] });
		const { stderr, code: exit } = await pi.print("/arm", "go");
		assert.deepEqual([ended(pi), exit, stderr.match(/^pi-turn-limit: /gm)?.length], [[kind], code, 1]);
	});

/** `/renew` reloads pi, and the next instance starts a run. */
function renews(pi: ExtensionAPI): void {
	const slot = globalThis as { isRenewing?: boolean };
	pi.registerCommand("renew", {
		handler: async (_args, ctx) => {
			slot.isRenewing = true;
			await ctx.reload();
		},
	});
	pi.on("session_start", () => {
		if (slot.isRenewing) pi.sendUserMessage("Go on.");
		slot.isRenewing = false;
	});
}

test("a slash command that a person enters after a stop, and that reloads pi before its run begins, has all its turns", async (t) => {
	const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };
	const pi = await host(t, { model: () => mark(), env, before: [renews] });
	const tui = await pi.terminal({ rows: 50 });
	tui.type("go\r");
	await tui.shows("→ Continue");
	tui.press("escape");
	await tui.shows("Send a message to go on.");
	tui.type("/renew\r");
	await pi.model.arrival(4);
	await tui.shows("→ Continue");
	assert.equal(pi.model.requests.length, 4);
});
