/** Trees of eight agents that spend at random: the overshoot stays within the bound that docs/ledger.md states. */
import assert from "node:assert/strict";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { turnLimit, type TurnLimit } from "../../src/index.ts";
import { text } from "../harness/index.ts";
import { noop, session } from "../harness/session.ts";
import type { Scope } from "../harness/wait.ts";

const AGENTS = 8;

/** Of the tree, in dollars. */
const LIMIT = 2;

/** What one agent's turns have cost, in dollars. */
type Costs = number[];

/** Fails if a tree spends more than the bound; gives the largest overshoot and the largest bound, in dollars. */
export async function soakTrees(trees: number): Promise<{ most: number; bound: number }> {
	let most = 0;
	let bound = 0;
	for (let n = 0; n < trees; n++) {
		const costs = await tree();
		const spent = sum(costs.flat());
		// What the turns in flight cost beyond their holds, or one turn alone.
		const allowed = Math.max(sum(costs.map(mostMissed)), Math.max(...costs.flat()));
		assert.ok(spent >= LIMIT && spent < LIMIT + allowed, `${spent} was spent of ${LIMIT}, and ${allowed} allowed`);
		most = Math.max(most, spent - LIMIT);
		bound = Math.max(bound, allowed);
	}
	return { most, bound };
}

/** The root starts the members and answers; they work until the tree's limit stops them. */
async function tree(): Promise<Costs[]> {
	const undos: (() => unknown)[] = [];
	const scope: Scope = { after: (undo) => undos.push(undo) };
	const all: Costs[] = Array.from({ length: AGENTS }, () => []);
	const limit = turnLimit({ treeCost: LIMIT, grace: 0 });
	const starts = (pi: ExtensionAPI): void => {
		pi.registerTool({
			...{ name: "delegate", label: "delegate", description: "Gives tasks to agents." },
			parameters: { type: "object", properties: {} },
			async execute() {
				await Promise.all(all.map((costs) => member(scope, limit, costs)));
				return { content: [{ type: "text", text: "ok" }], details: undefined };
			},
		});
	};
	const delegate = { calls: [{ name: "delegate", args: {} }] };
	const root = await session(scope, { extensions: [limit, starts], reply: (n) => (n === 1 ? delegate : text("done")) });
	await root.prompt("go", 60_000);
	assert.equal(root.turns(), 1, "the tree is spent, so the root does not go on");
	for (const undo of undos.toReversed()) await undo();
	return all;
}

async function member(scope: Scope, parent: TurnLimit, costs: Costs): Promise<void> {
	const priced = (pi: ExtensionAPI): void => {
		pi.on("message_end", ({ message }) => {
			if (message.role !== "assistant" || message.stopReason !== "toolUse") return;
			const cost = Math.round(10_000 + Math.random() ** 3 * 90_000) / 1_000_000;
			costs.push(cost);
			message.usage.cost.total = cost;
		});
	};
	const own = turnLimit({ parent, turns: "unlimited", grace: 0 });
	const { prompt } = await session(scope, { extensions: [priced, own], reply: () => noop });
	await prompt("work", 60_000);
}

/** By how much a turn was dearer than any before it: a hold is the dearest so far. */
function mostMissed(costs: Costs): number {
	let dearest = 0;
	let most = 0;
	for (const cost of costs) {
		most = Math.max(most, cost - dearest);
		dearest = Math.max(dearest, cost);
	}
	return most;
}

function sum(numbers: readonly number[]): number {
	return numbers.reduce((total, number) => total + number, 0);
}
