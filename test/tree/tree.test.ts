import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, type Call, calls, childCli, cli, endless, type Host, host, mark, node, text } from "../harness/index.ts";
import { answersAfter, family, handed, tireless } from "../company/subagents-family.ts";

/** A pi of its own. */
function child(task: string, env = ""): Call {
	return bash(`${env} "${node}" "${childCli}" --offline --no-session -p "${task}" < /dev/null`);
}

function commandOf({ args }: Call): string {
	return (args as { command: string }).command;
}

function delegate(task: string): Call {
	return { name: "delegate", args: { task } };
}

const inProcess = join(import.meta.dirname, "../company/subagents-in-process.ts");
const example = join(dirname(cli), "../../examples/extensions/subagent/index.ts");
const agentFiles = { "agents/helper.md": "---\nname: helper\ndescription: Looks.\n---\nYou look.\n" };
const tasks = ["a", "b", "c"].map((task) => ({ agent: "helper", task }));

const WAYS: Readonly<Record<string, { starts: readonly Call[]; tool?: string; agentFiles?: Record<string, string> }>> =
	{
		"three processes": { starts: [child("a"), child("b"), child("c")] },
		"three sessions of its own process": { starts: ["a", "b", "c"].map(delegate), tool: inProcess },
		"a process and two sessions": { starts: [child("a"), delegate("b"), delegate("c")], tool: inProcess },
		"pi's example of subagents in parallel": {
			...{ starts: [{ name: "subagent", args: { tasks } }], tool: example, agentFiles },
		},
	};

/** Limits for the tree alone. */
function tree(turns: number, more: Record<string, string> = {}): Record<string, string> {
	return { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_TREE_TURNS: String(turns), ...more };
}

for (const [way, options] of Object.entries(WAYS)) {
	for (const limit of [3, 8, 20]) {
		test(`a tree limit of ${limit} turns: an agent and ${way} make exactly ${limit} requests`, async (t) => {
			const pi = await family(t, { ...options, child: tireless, env: tree(limit) });
			const { code, stderr } = await pi.print("go");
			assert.equal(pi.model.turns.length, limit);
			assert.equal(code, 53);
			assert.match(stderr, new RegExp(`stopped at the limit of ${limit} turns in this tree of agents`));
		});
	}
}

test("a member that the tree's limit stops says so, without a number that looks like a provider's failure", async (t) => {
	const pi = await family(t, { starts: [delegate("a")], tool: inProcess, child: tireless, env: tree(3) });
	await pi.print("go");
	const told = "pi-turn-limit: the tree turn limit stopped this subagent before it gave an answer.";
	assert.equal(pi.model.turns.length, 3);
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(handed(pi), [`Agent failed: ${told}`]);
});

test("a member wraps up before the tree's limit, and its answer names it", async (t) => {
	const env = tree(5, { PI_TURN_LIMIT_GRACE: "2" });
	const pi = await family(t, { starts: [child("a")], child: answersAfter(2, "Half."), env });
	const { code } = await pi.print("go");
	const note = "[pi-turn-limit: this answer may be partial; the subagent reached the tree turn limit.]";
	assert.deepEqual([handed(pi), pi.model.turns.length, code], [[`Half.\n\n${note}\n`], 5, 54]);
});

test("the root asks at the tree's limit; a yes grants a tenth, a member is never asked", async (t) => {
	const pi = await family(t, { starts: [delegate("a")], tool: inProcess, child: tireless, then: [], env: tree(4) });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(
		rpc.questions.map(({ title, message }) => [title, message?.split("\n").at(-1)]),
		[["Tree turn limit reached", "Yes: 1 more turn. No: the run ends here."]],
	);
	assert.match(rpc.questions[0]?.message ?? "", /^You've used 4 turns in this tree of agents\. Continue\?/);
	assert.equal(pi.model.turns.length, 5);
});

test("each prompt begins a tree; a run that an extension starts goes on in the same", async (t) => {
	const wakes = (pi: ExtensionAPI): void => {
		// eslint-disable-next-line @typescript-eslint/require-await -- pi's type
		pi.registerCommand("wake", { handler: async () => pi.sendUserMessage("more") });
	};
	const pi = await host(t, { model: endless(), env: tree(3), after: [wakes] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 3);
	await rpc.run("/wake");
	assert.equal(pi.model.requests.length, 3);
	await rpc.run("go on");
	assert.equal(pi.model.requests.length, 6);
});

test("a prompt of a member refills its own round and not the tree", async (t) => {
	const env = tree(6, { PI_MAX_TURNS: "2" });
	const twice = bash(`"${node}" "${childCli}" --offline --no-session -p a b < /dev/null`);
	const pi = await family(t, { starts: [twice, twice], child: tireless, env, args: ["--turn-limit", "50"] });
	await pi.print("go");
	assert.equal(pi.model.turns.length, 6);
});

test("a member that is still there in the next run charges the run that started it", async (t) => {
	const untilThere = (file: string): string => `until [ -e ${file} ]; do sleep 0.05; done`;
	const late = `(${untilThere("second")}; ${commandOf(child("late"))} > late.txt 2>&1; touch over) > /dev/null 2>&1 &`;
	const then = [text("Started."), calls(bash(`touch second; ${untilThere("over")}`))];
	const pi = await family(t, { starts: [bash(late)], then, child: tireless, env: tree(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.equal(pi.model.turns.length, 2);
	await rpc.run("wait for it");
	const own = 2;
	const rest = 5 - 2;
	assert.equal(pi.model.turns.length, 2 + own + rest);
	assert.deepEqual(rpc.questions, []);
});

test("a member may lower the tree for itself, and not raise it", async (t) => {
	const lower = "PI_TURN_LIMIT_TREE_TURNS=3";
	const higher = "PI_TURN_LIMIT_TREE_TURNS=30";
	for (const [own, turns] of [
		[lower, 4],
		[higher, 6],
	] as const) {
		const pi = await family(t, { starts: [child("a", own)], child: tireless, env: tree(6) });
		await pi.print("go");
		assert.equal(pi.model.turns.length, turns);
	}
});

test("status shows what the tree has spent, and its agents", async (t) => {
	const pi = await family(t, {
		starts: [delegate("a"), child("b")],
		tool: inProcess,
		child: answersAfter(1, "x"),
		env: tree(20),
	});
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.deepEqual(handed(pi).length, 2);
	await rpc.prompt("/turn-limit");
	const status = rpc.notifications.at(-1)?.message ?? "";
	assert.match(status, /^tree turns +6 of 20 +PI_TURN_LIMIT_TREE_TURNS$/m);
	assert.match(status, /^Agents of this tree, with this one: 0 running, 3 ended\.$/m);
	assert.doesNotMatch(status, /^day/m);
});

for (const scope of ["tree", "day"]) {
	test(`what a tool reports of a subagent counts once for the ${scope} if the subagent has told it`, async (t) => {
		const starts = [{ name: "delegate", args: { task: "look", reports: true } }];
		const env = { [`PI_TURN_LIMIT_${scope.toUpperCase()}_COST`]: "9" };
		const pi = await family(t, { tool: inProcess, starts, child: answersAfter(1, "done"), env });
		const rpc = await pi.rpc();
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 4, "a reply costs a cent");
		await rpc.prompt(`/turn-limit ${scope} cost`);
		assert.match(rpc.notifications.at(-1)?.message ?? "", new RegExp(`^${scope} cost +\\$0\\.04 of \\$9`));
		await rpc.prompt("/turn-limit session cost");
		assert.match(rpc.notifications.at(-1)?.message ?? "", /^session cost +\$0\.04, unlimited/);
	});
}

test("a pi without shared limits makes no ledger, and says nothing of trees and days", async (t) => {
	const pi = await host(t, { model: [mark(), text("done")] });
	const rpc = await pi.rpc();
	await rpc.run("go");
	await rpc.prompt("/turn-limit");
	assert.doesNotMatch(rpc.notifications.at(-1)?.message ?? "", /tree|day/);
	assert.equal(existsSync(ledgerOf(pi)), false);
});

test("the tree's limit is set in mid-run: it counts from there", async (t) => {
	const pi = await host(t, { model: endless() });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await pi.model.arrival(3);
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns 2" });
	await rpc.settled();
	assert.equal(rpc.questions.at(-1)?.title, "Tree turn limit reached");
});

function ledgerOf({ agentDir }: Host): string {
	return join(agentDir, "turn-limit-ledger");
}
