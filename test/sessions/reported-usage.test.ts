/** A tool reports what subagents have spent that have told the ledger themselves. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import installed from "../../src/hosts/pi/extension.ts";
import type { Inside } from "../harness/inside.ts";
import { calls, type Reply, type Script, text } from "../harness/model.ts";
import { announced, member, readTree, sharing, type SharingOptions } from "./sharing.ts";

/** A reply that costs so many dollars. */
const dollars = (price: number, reply: Reply = text("done")): Reply => ({
	...reply,
	usage: { prompt: 50_000 * price, completion: 5_000 * price },
});

/** The tool `delegate` does `work` and reports `cost`; `wait` reports nothing. */
function tools(work: () => Promise<unknown>, cost: number) {
	const parameters = { type: "object", properties: {} } as never;
	return (pi: ExtensionAPI): void => {
		pi.registerTool({
			...{ name: "delegate", label: "delegate", description: "Delegates.", parameters },
			execute: async () => {
				await work();
				const usage = { input: 55_000 * cost, output: 0, cacheRead: 0, cacheWrite: 0, cost: { total: cost } };
				return { content: [{ type: "text", text: "ok" }], details: {}, usage } as never;
			},
		});
		pi.registerTool({
			...{ name: "wait", label: "wait", description: "Waits.", parameters },
			execute: () => Promise.resolve({ content: [{ type: "text", text: "ok" }], details: {} }),
		});
	};
}

const delegate = { name: "delegate", args: {} };
const wait = { name: "wait", args: {} };

interface Scene {
	readonly limits?: object;
	readonly model?: Script;
	/** What the tool does; by default an agent that spends a dollar. */
	readonly work?: (t: TestContext) => Promise<unknown>;
	/** What the tool reports, in dollars. */
	readonly reports?: number;
}

async function agent(t: TestContext, options: Partial<SharingOptions> = {}): Promise<Inside> {
	const pi = await member(t, { model: [dollars(1)], ...options });
	await pi.run("look");
	return pi;
}

/** Runs a root whose own two turns cost a dollar each; gives the dollars of the run, and of its tree. */
async function spent(t: TestContext, scene: Scene): Promise<{ run: number; tree: number; day: number | undefined }> {
	const { limits = { tree: { maxCost: 90 } }, work = agent, reports = 1 } = scene;
	const model = scene.model ?? [dollars(1, calls(delegate)), dollars(1)];
	const extensions = [installed, tools(() => work(t), reports)];
	const pi = await sharing(t, { limits, model, extensions, person: () => false });
	await pi.run("go");
	const tree = announced();
	assert.ok(tree);
	const { cost } = await readTree(tree);
	await pi.run("/turn-limit session cost");
	const [, session = ""] = /\$([\d.]+), unlimited/.exec(pi.notifications.at(-1)?.message ?? "") ?? [];
	await pi.run("/turn-limit day cost");
	const [, day] = /\$([\d.]+) of \$/.exec(pi.notifications.at(-1)?.message ?? "") ?? [];
	return { run: Number(session), tree: (cost?.used ?? 0) / 1e6, day: day === undefined ? undefined : Number(day) };
}

describe("usage that a tool reports", () => {
	for (const [what, scene, run, tree] of [
		["counts once in the tree if a subagent has told it, and in full in the session", {}, 3, 3],
		["counts in full if no subagent has told it", { work: () => Promise.resolve() }, 3, 3],
		["counts where it is more than the subagent has told", { reports: 1.5 }, 3.5, 3.5],
		["takes nothing back where it is less than the subagent has told", { reports: 0.25 }, 2.25, 3],
		[
			"counts in full where another call ran meanwhile",
			{ model: [dollars(1, calls(delegate, wait)), dollars(1)] },
			3,
			4,
		],
		[
			"counts once in each of two turns",
			{ model: [dollars(1, calls(delegate)), dollars(1, calls(delegate)), dollars(1)] },
			5,
			5,
		],
		[
			"counts once also after a turn with other calls",
			{ model: [dollars(1, calls(wait, wait)), dollars(1, calls(delegate)), dollars(1)] },
			4,
			4,
		],
	] as const satisfies readonly (readonly [string, Scene, number, number])[]) {
		test(what, async (t) => {
			const counted = await spent(t, scene);
			assert.deepEqual([counted.run, counted.tree], [run, tree]);
		});
	}

	test("counts in full while another agent of the tree is running", async (t) => {
		let release = (): void => {};
		const until = new Promise<void>((resolve) => (release = resolve));
		let other: Promise<void> | undefined;
		const work = async (t: TestContext): Promise<void> => {
			const background = await member(t, { model: [{ ...dollars(1), until }] });
			other = background.run("look");
			await background.model.arrival(1);
			await agent(t);
		};
		const counted = await spent(t, { work });
		release();
		await other;
		assert.equal(counted.tree, 4);
	});

	test("counts once in the day, also where the tree is not limited", async (t) => {
		const counted = await spent(t, { limits: { day: { maxCost: 90 } } });
		assert.deepEqual([counted.run, counted.tree, counted.day], [3, 3, 3]);
	});

	test("does not stop a run whose tree has room", async (t) => {
		const counted = await spent(t, {
			limits: { tree: { maxCost: 3.5 } },
			model: [dollars(1, calls(delegate)), dollars(1, calls(wait)), dollars(0.25)],
		});
		assert.equal(counted.tree, 3.25);
	});
});
