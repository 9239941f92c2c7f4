import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, host, mark, outcomes, type Reply, spy, text, times } from "../harness/index.ts";

/**
 * An extension with a will of its own. What the model's commands say decides what it does: it blocks them, asks about
 * them, steers, leaves a message, or aborts at the end of the turn; and it shows how many turns it has seen.
 */
function peer(pi: ExtensionAPI): void {
	let turns = 0;
	let commands = "";
	pi.on("turn_start", (_event, ctx) => {
		commands = "";
		ctx.ui.setWidget("peer", [`Peer: ${++turns}`]);
	});
	pi.on("tool_call", async ({ input }, ctx) => {
		const { command } = input as { command: string };
		commands += command;
		if (command.includes("steer")) pi.sendUserMessage("Look left.", { deliverAs: "steer" });
		const asks = command.includes("ask");
		const forbids = command.includes("forbid") || (asks && !(await ctx.ui.confirm("The peer asks", command)));
		return forbids ? { block: true, reason: "The peer forbids it." } : undefined;
	});
	pi.on("turn_end", ({ entries }, ctx) => {
		if (commands.includes("abort")) ctx.abort();
		if (!commands.includes("leave")) return undefined;
		const note = { type: "custom_message", customType: "peer", content: "The peer was here.", display: true } as const;
		return { entries: [...entries, note] };
	});
	pi.on("agent_settled", (_event, ctx) => ctx.ui.setWidget("peer", undefined));
}

/** One bash call per command. */
const run = (...commands: string[]): Reply => calls(...commands.map((command) => bash(command)));

const limit = (turns: number, grace = 0): Record<string, string> => ({
	PI_MAX_TURNS: String(turns),
	PI_TURN_LIMIT_GRACE: String(grace),
});

for (const order of ["before", "after"] as const) {
	const beside = { [order]: order === "before" ? [spy, peer] : [peer, spy] };
	const isFirst = order === "before";

	describe(`beside a peer that is loaded ${order} us`, () => {
		test("a limit holds, and both widgets count and go", async (t) => {
			const pi = await host(t, { ...beside, model: endless(), env: limit(2) });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			assert.equal(pi.model.requests.length, 2);
			assert.deepEqual(rpc.widgets().map(String), ["Turns: 1/2", "Turns: 2/2", "undefined"]);
			assert.deepEqual(rpc.widgets("peer").map(String).slice(0, 2), ["Peer: 1", "Peer: 2"]);
			assert.equal(rpc.widgets("peer").at(-1), undefined);
			assert.deepEqual(rpc.errors, []);
		});

		test("both block calls of one batch, each with its own reason, and a call that the peer hides costs nothing", async (t) => {
			const batch = calls(bash("forbid"), ...["a", "b", "c"].map((label) => bash(`echo ${label} >> marks`)));
			const env = { PI_TURN_LIMIT_TOOLS: "2", PI_TURN_LIMIT_POLICY: "synthesize" };
			const pi = await host(t, { ...beside, model: [batch, text("answer")], env });
			assert.equal((await pi.print("go")).stdout, "answer\n");
			// What is loaded after us sees a call only when we have let it through, and counted it.
			assert.deepEqual(pi.marks().sort(), isFirst ? ["a", "b"] : ["a"]);
			const results = pi.model.requests[1]?.texts("tool") ?? [];
			assert.equal(results[0], "The peer forbids it.");
			assert.equal(results.filter((result) => result.startsWith("Not run")).length, isFirst ? 1 : 2);
			assert.equal(results.length, 4);
		});

		test("both ask, one after the other, and each gets its own answer", async (t) => {
			const pi = await host(t, {
				...beside,
				model: [...times(3, run("echo ask >> marks")), text("done")],
				env: limit(2),
			});
			const rpc = await pi.rpc({ answer: ({ title }, n) => title === "Turn limit reached" || n === 1 });
			await rpc.run("go");
			assert.deepEqual(
				rpc.questions.map(({ title }) => title),
				["The peer asks", "The peer asks", "Turn limit reached", "The peer asks"],
			);
			assert.deepEqual(pi.marks(), ["ask"]);
			assert.equal(pi.model.requests.length, 4);
			assert.deepEqual(rpc.errors, []);
		});

		test("what the peer steers with and our advice are in the same request", async (t) => {
			const pi = await host(t, { ...beside, model: [run("echo steer"), text("done")], env: limit(3, 2) });
			await pi.print("go");
			assert.equal(pi.model.requests.length, 2);
			assert.equal(pi.model.requests[1]?.count("Look left."), 1);
			assert.equal(pi.model.requests[1].count("turns left in this run"), 1);
		});

		test("what the peer leaves at the end of a turn and our advice are in the same request", async (t) => {
			const pi = await host(t, { ...beside, model: [run("echo leave"), text("done")], env: limit(3, 2) });
			await pi.print("go");
			const told = pi.model.requests[1]?.texts("user").slice(1) ?? [];
			assert.deepEqual(
				told.map((message) => (message.startsWith("Only 2 turns left") ? "ours" : message)),
				isFirst ? ["The peer was here.", "ours"] : ["ours", "The peer was here."],
			);
		});

		test("when the peer aborts, the run was interrupted and we say nothing", async (t) => {
			const pi = await host(t, { ...beside, model: [mark(), run("echo abort")], env: limit(5) });
			const rpc = await pi.rpc();
			await rpc.run("go");
			assert.equal(pi.model.requests.length, 2);
			assert.deepEqual([rpc.questions, rpc.notifications, rpc.errors], [[], [], []]);
			assert.deepEqual(
				outcomes(pi).map(({ kind }) => kind),
				["interrupted"],
			);
		});

		test("when the peer aborts at the limit, the run is over, and a yes does not revive it", async (t) => {
			const pi = await host(t, { ...beside, model: [run("echo abort")], env: limit(1) });
			const rpc = await pi.rpc({ answer: "yes" });
			await rpc.run("go");
			assert.equal(pi.model.requests.length, 1);
			assert.equal(rpc.questions.length, isFirst ? 0 : 1);
			assert.deepEqual(
				outcomes(pi).map(({ kind }) => kind),
				["interrupted"],
			);
		});

		test("when we stop a run that the peer has steered, nothing leaves", async (t) => {
			const pi = await host(t, { ...beside, model: endless(run("echo steer")), env: limit(2) });
			const { stderr, code } = await pi.print("go");
			assert.equal(pi.model.requests.length, 2);
			assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns/);
			assert.equal(code, 53);
		});
	});
}
