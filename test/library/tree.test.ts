import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Outcome, turnLimit, type TurnLimit, type TurnLimitOptions } from "../../src/index.ts";
import { type Reply, text } from "../harness/model.ts";
import { noop, session } from "../harness/session.ts";

const delegate: Reply = { calls: ["a", "b"].map((task) => ({ name: "delegate", args: { task } })) };

/** A program with an agent that starts two others; gives how often each model was asked, and how each run ended. */
async function program(
	t: TestContext,
	options: TurnLimitOptions,
	ofMember: (parent: TurnLimit) => TurnLimitOptions,
): Promise<{ turns: number; outcomes: string[]; asked: string[] }> {
	const outcomes: string[] = [];
	const asked: string[] = [];
	let ofMembers = 0;
	const hear = (who: string) => (outcome: Outcome) => {
		outcomes.push(`${who} ${outcome.kind}${"meter" in outcome ? ` ${outcome.meter}` : ""}`);
	};
	const confirm = (title: string): Promise<boolean> => {
		asked.push(title);
		return Promise.resolve(false);
	};
	const limit = turnLimit({ ...options, grace: 0, onOutcome: hear("root") });
	const starts = (pi: ExtensionAPI): void => {
		pi.registerTool({
			...{ name: "delegate", label: "delegate", description: "Gives a task to another agent." },
			parameters: { type: "object", properties: { task: { type: "string" } } },
			async execute() {
				const own = turnLimit({ grace: 0, ...ofMember(limit), onOutcome: hear("member") });
				const member = await session(t, { extensions: [own], reply: () => noop, ui: { confirm } });
				await member.prompt("look");
				ofMembers += member.turns();
				member.session.dispose();
				return { content: [{ type: "text", text: "ok" }], details: undefined };
			},
		});
	};
	const reply = (n: number): Reply => (n === 1 ? delegate : text("done"));
	const root = await session(t, { extensions: [limit, starts], reply, ui: { confirm } });
	await root.prompt("go");
	return { turns: root.turns() + ofMembers, outcomes: outcomes.toSorted(), asked };
}

test("agents with a parent share its tree: exactly as many turns as it has, and only the root is asked", async (t) => {
	assert.deepEqual(await program(t, { treeTurns: 7 }, (parent) => ({ parent })), {
		turns: 7,
		outcomes: ["member exhausted treeTurns", "member exhausted treeTurns", "root declined treeTurns"],
		asked: ["Tree turn limit reached"],
	});
});

test("a member touches nothing of the process: no exit code, no line, no variable", async (t) => {
	const written: unknown[] = [];
	t.mock.method(console, "error", (...text: unknown[]) => written.push(text));
	await program(t, { treeTurns: 7 }, (parent) => ({ parent, turns: 2 }));
	assert.deepEqual([process.exitCode, written, process.env["PI_TURN_LIMIT_ROOT"]], [undefined, [], undefined]);
});

test("a member whose parent has not begun works within its own limits, and is asked about none", async (t) => {
	const asked: string[] = [];
	const confirm = (title: string): Promise<boolean> => Promise.resolve(asked.push(title) > 9);
	const own = turnLimit({ parent: turnLimit({ treeTurns: 7 }), turns: 3, grace: 0 });
	const member = await session(t, { extensions: [own], reply: () => noop, ui: { confirm } });
	await member.prompt("look");
	assert.deepEqual([member.turns(), member.errors, asked], [3, [], []]);
});

test("a member's own limits stay its own", async (t) => {
	const { turns, outcomes } = await program(t, { treeTurns: 20 }, (parent) => ({ parent, turns: 3 }));
	assert.equal(turns, 1 + 3 + 3 + 1);
	assert.deepEqual(outcomes, ["member exhausted turns", "member exhausted turns", "root completed"]);
});

test("an agent without a parent is a root of its own", async (t) => {
	const { outcomes, asked } = await program(t, { treeTurns: 3 }, () => ({ treeTurns: 4 }));
	assert.deepEqual(asked, ["Tree turn limit reached", "Tree turn limit reached"]);
	assert.deepEqual(outcomes, ["member declined treeTurns", "member declined treeTurns", "root completed"]);
});

test("a parent that is no limit is refused", () => {
	for (const parent of [{}, "root", () => {}]) {
		assert.throws(() => turnLimit({ parent }), {
			name: "TypeError",
			message: /^parent: expected what turnLimit\(\) has given, got /,
		});
	}
});
