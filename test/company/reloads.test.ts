/** Another extension reloads pi in the middle of a run, or at its end. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { held, type Host, host, mark, outcomes, type Reply, type Request, root, spy, text } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";

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

describe("a reload in mid-run whose new copy of the extension cannot be loaded", () => {
	/** A limit of 1 and a run of 3 turns, of which the last is held: pi reloads in the first. */
	async function unguarded(t: TestContext) {
		const late = held(text("done"));
		const model = (_request: Request, n: number): Reply => (n === 3 ? late : mark());
		const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
		defer(t, () => rmSync(folder, { recursive: true }));
		const copy = join(folder, "copy.ts");
		writeFileSync(copy, `export { default } from ${JSON.stringify(join(root, "src/hosts/pi/extension.ts"))};`);
		const breaks = (pi: ExtensionAPI): void => {
			const { writeFileSync } = process.getBuiltinModule("node:fs");
			pi.on("turn_start", () => writeFileSync(process.env["COPY"] ?? "", "export default ("));
		};
		const env = { PI_MAX_TURNS: "1", RELOAD_IN: "turn_start", COPY: copy };
		return { pi: await host(t, { model, env, extension: false, fresh: true, before: [copy, breaks, reloads] }), late };
	}

	const LINE = "and this one was not loaded again: nothing limits the run.";

	test("is told to the person", async (t) => {
		const { pi, late } = await unguarded(t);
		const rpc = await pi.rpc();
		await rpc.prompt("/arm");
		await rpc.prompt("go");
		await rpc.until("the notification", () => rpc.notifications.some(({ message }) => message.endsWith(LINE)));
		late.release();
		await rpc.settled();
		assert.deepEqual([pi.model.requests.length, rpc.questions.length], [3, 0]);
	});

	test("is told on standard error", async (t) => {
		const { pi, late } = await unguarded(t);
		const script = pi.start("-p", "/arm", "go");
		script.child.stderr?.on("data", () => {
			if (script.stderr.includes(LINE)) late.release();
		});
		const { stderr } = await script.ended();
		assert.match(
			stderr,
			/^pi-turn-limit: pi has reloaded its extensions in the middle of a run, .* nothing limits the run\.$/m,
		);
	});
});
