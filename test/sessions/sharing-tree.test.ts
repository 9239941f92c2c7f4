/** Limits of a tree of agents, in sessions of pi in this process. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { describe, test } from "node:test";
import type { Inside } from "../harness/inside.ts";
import { endless, fail, held, type Reply, text, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { announced, directoryOf, fileOf, kinds, member, questions, readTree, say, sharing, status } from "./sharing.ts";

const no = { person: () => false };

/** A turn that reports so many tokens. */
function dear(reply: Reply, prompt: number): Reply {
	return { ...reply, usage: { prompt, completion: 0 } };
}

describe("a tree", () => {
	test("begins with each prompt; a run that an extension starts goes on in the same", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3 } }, ...no });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		await pi.session.sendUserMessage("more");
		assert.equal(pi.model.requests.length, 3);
		await pi.run("go on");
		assert.equal(pi.model.requests.length, 3 + 3);
		const question = "You've used 3 turns in this tree of agents. Continue?";
		assert.deepEqual(questions(pi), [question, question]);
	});

	test("has what was promised to it between runs", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3, maxTokens: "90k" } }, ...no });
		await say(pi, "tree +5");
		await pi.run("go");
		assert.deepEqual(questions(pi), ["You've used 8 turns in this tree of agents. Continue?"]);
		assert.equal(pi.model.requests.length, 8);
		await pi.run("go on");
		assert.equal(pi.model.requests.length, 8 + 3);
	});

	test("has the full limit that was set between runs, whatever a yes has granted to the one before", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 4 } }, person: (_asked, n) => n === 1 });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 4 + 1);
		await say(pi, "tree 8");
		await pi.run("go on");
		assert.equal(pi.model.requests.length, 5 + 8);
		assert.equal(questions(pi).at(-1), "You've used 8 turns in this tree of agents. Continue?");
	});

	test("has the full limit also where it was set in the run that was granted more", async (t) => {
		const pi: Inside = await sharing(t, {
			limits: { tree: { maxTurns: 4 } },
			person: async (_asked, n) => {
				if (n === 2) await say(pi, "tree 8");
				return n === 1;
			},
		});
		await pi.run("go");
		const before = pi.model.requests.length;
		await pi.run("go on");
		assert.equal(pi.model.requests.length - before, 8);
	});

	test("that goes on has what was promised to it between runs too", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3 } }, ...no });
		await pi.run("go");
		await say(pi, "tree +5");
		await pi.session.sendUserMessage("more");
		assert.equal(pi.model.requests.length, 3 + 5);
	});

	test("is not the day's: a grant for one of them is for that one", async (t) => {
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 4 }, tree: { maxTurns: 2 } },
			person: async (_asked, n) => {
				if (n === 1) await say(pi, "tree +3");
				return false;
			},
		});
		await pi.run("go");
		assert.deepEqual(questions(pi), [
			"You've used 2 turns in this tree of agents. Continue?",
			"You've used 4 turns today. Continue?",
		]);
	});

	test("has a limit of dollars that is asked about by its name", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 9, maxCost: 0.03 } }, ...no });
		await pi.run("go");
		assert.deepEqual(questions(pi), ["You've used $0.03 in this tree of agents. Continue?"]);
	});

	test("counts only what is limited", async (t) => {
		const pi = await sharing(t, {
			limits: { tree: { maxTurns: 9 } },
			model: [...times(2, noop), text("done")],
			...no,
		});
		await pi.run("go");
		assert.deepEqual(
			(await say(pi, "tree")).map((said) => said.replaceAll(/ {2,}/g, "  ")),
			[
				"tree turns  3 of 9  tree.maxTurns in turn-limit.json\ntree cost  unlimited  default\ntree tokens  unlimited  default",
			],
		);
		assert.deepEqual(await status(pi, "tree"), ["tree turns  3 of 9  tree.maxTurns in turn-limit.json"]);
	});

	test("counts a turn that has failed", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 9 } }, model: [noop, fail(400)], ...no });
		await pi.run("go");
		const tree = announced();
		assert.ok(tree);
		assert.deepEqual((await readTree(tree))["turns"], { used: 2, held: 0, cap: "unlimited" });
	});

	test("counts a turn that has failed once more after a message, and not when it is repeated", async (t) => {
		const limits = { tree: { maxTurns: 9 } };
		const failing = held(fail(503));
		const pi = await sharing(t, { limits, model: [fail(503), noop, failing, text("done")], ...no });
		const run = pi.run("go");
		await pi.model.arrival(3);
		await pi.session.prompt("and?", { streamingBehavior: "steer" });
		failing.release();
		await run;
		assert.equal(pi.model.requests.length, 4);
		assert.deepEqual(await status(pi, "tree turns"), ["tree turns  3 of 9  tree.maxTurns in turn-limit.json"]);
	});

	test("does not count a turn that another limit has kept from beginning", async (t) => {
		const seen: unknown[] = [];
		const pi = await sharing(t, {
			limits: { maxTurns: 0, tree: { maxTurns: 9 } },
			person: async (_asked, n) => {
				const tree = announced();
				assert.ok(tree);
				seen.push((await readTree(tree))["turns"]);
				return n === 1;
			},
		});
		await pi.run("go");
		assert.deepEqual(seen, [undefined, { used: 1, held: 0, cap: "unlimited" }]);
	});

	test("counts the turn of the final pass, and what it costs", async (t) => {
		const pi = await sharing(t, {
			limits: { policy: "synthesize", tree: { maxTurns: 2, maxCost: 9 } },
			model: [noop, noop, text("My report.")],
			...no,
		});
		await pi.run("go");
		assert.deepEqual(kinds(pi), ["synthesized"]);
		assert.deepEqual(await status(pi, "tree"), [
			"tree turns  3 of 2, synthesize  tree.maxTurns in turn-limit.json",
			"tree cost  $0.03 of $9.00, synthesize  tree.maxCost in turn-limit.json",
		]);
	});

	test("counts a compaction, and holds no room for one", async (t) => {
		const slow = held(text("done"));
		const pi = await sharing(t, {
			limits: { day: { maxTokens: "90k" }, tree: { maxTokens: "90k" } },
			model: [dear(noop, 3000), dear(text("done"), 2000), slow],
			summary: dear(text("A summary."), 7000),
			settings: { compaction: { keepRecentTokens: 1 } },
			...no,
		});
		await pi.run("go");
		await pi.session.compact();
		assert.deepEqual(await status(pi, "day tokens"), ["day tokens  12k of 90k  day.maxTokens in turn-limit.json"]);
		const run = pi.run("go on");
		await pi.model.arrival(3);
		const { tokens } = await readTree(announced() as never);
		assert.deepEqual(tokens, { used: 0, held: 3000, cap: "unlimited" }, "as much as the dearest turn so far");
		slow.release();
		await run;
	});

	test("shows at the end of a turn what others have spent meanwhile", async (t) => {
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 9 }, tree: { maxTurns: 9 } },
			model: async () => {
				const agent = await member(t, { model: [noop, noop, text("done")] });
				await agent.run("look");
				return text("done");
			},
			...no,
		});
		await pi.run("go");
		assert.deepEqual(
			pi.widgets.filter((line) => line?.includes("4/9")),
			["Turns: 1/25 · Tree turns: 4/9 · Day turns: 4/9"],
		);
	});
});

describe("a tree's limit that is set", () => {
	/** Types the words at the questions, one after the other; gives how many turns were made before each. */
	async function answering(
		t: Parameters<typeof sharing>[0],
		limits: object,
		answers: readonly (boolean | readonly string[])[],
	): Promise<{ pi: Inside; turns: number[] }> {
		const turns: number[] = [];
		const pi: Inside = await sharing(t, {
			limits: { maxTurns: "unlimited", ...limits },
			person: async (_asked, n) => {
				turns.push(pi.model.requests.length);
				const answer = answers[n - 1] ?? false;
				if (typeof answer === "boolean") return answer;
				for (const words of answer) await say(pi, words);
				return false;
			},
		});
		await pi.run("go");
		return { pi, turns };
	}

	test("after a yes, a lower one or a raise is what all may spend", async (t) => {
		const answers = [true, ["tree 8"], ["tree +2"], ["tree 14"], ["tree 11", "tree +3"]];
		const { turns } = await answering(t, { tree: { maxTurns: 3 } }, answers);
		assert.deepEqual(turns, [3, 4, 8, 10, 14, 17]);
	});

	test("leaves the other one as it is", async (t) => {
		const limits = { tree: { maxTurns: 3, maxCost: 0.5 } };
		const { turns } = await answering(t, limits, [
			["tree +2"],
			["tree 6", "tree cost 0.90"],
			["tree +1", "tree cost 0.80"],
		]);
		assert.deepEqual(turns, [3, 5, 6, 7]);
	});

	test("to unlimited leaves the other one alone to hold", async (t) => {
		const limits = { tree: { maxTurns: 3, maxCost: 0.06 } };
		const { pi } = await answering(t, limits, [["tree unlimited"]]);
		assert.deepEqual(questions(pi).slice(1), ["You've used $0.06 in this tree of agents. Continue?"]);
	});

	test("in a run without one counts from there", async (t) => {
		const { turns } = await answering(t, { maxTurns: 3 }, [["tree 2", "9"]]);
		assert.deepEqual(turns, [3, 5]);
	});

	test("between runs is shown as it was set, from the start of the next run as in the widget", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3 } }, person: (_asked, n) => n === 1 });
		await pi.run("go");
		for (const limit of [8, 2]) {
			await say(pi, `tree ${limit}`);
			assert.deepEqual(await status(pi, "tree turns"), [`tree turns  0 of ${limit}  /turn-limit`]);
		}
	});

	for (const scope of ["tree", "day"]) {
		const other = scope === "tree" ? "day" : "tree";
		test(`for a ${scope} in mid-turn is not short at the end of that turn`, async (t) => {
			const slow = held(text("done"));
			const pi = await sharing(t, {
				limits: { day: { maxTurns: 9 }, tree: { maxTurns: 9 } },
				model: [noop, slow],
				...no,
			});
			const run = pi.run("go");
			await pi.model.arrival(2);
			await say(pi, `${scope} 20`);
			slow.release();
			await run;
			const shown = { [scope]: "2/20", [other]: "2/9" };
			assert.equal(
				pi.widgets.findLast((line) => line),
				`Turns: 2/25 · Tree turns: ${shown["tree"]} · Day turns: ${shown["day"]}`,
			);
		});
	}

	test("to unlimited leaves the ledger alone", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3 } }, model: endless(text("done")), ...no });
		await pi.run("go");
		await say(pi, "tree unlimited");
		rmSync(directoryOf(pi), { recursive: true });
		await pi.run("go on");
		assert.deepEqual([pi.model.requests.length, pi.last?.stopReason], [2, "stop"]);
		assert.equal(existsSync(directoryOf(pi)), false);
		assert.deepEqual(pi.errors, []);
	});

	test("to unlimited leaves no agents to count", async (t) => {
		const limits = { day: { maxTurns: 9 }, tree: { maxTurns: 3 } };
		const pi = await sharing(t, { limits, model: [text("done")], ...no });
		await pi.run("go");
		assert.equal((await status(pi, "Agents")).length, 1);
		await say(pi, "tree unlimited");
		assert.deepEqual(await status(pi, "Agents"), []);
	});
});

describe("the ledger", () => {
	test("is not made where nothing was spent yet", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 3 } }, ...no });
		await say(pi);
		assert.equal(existsSync(directoryOf(pi)), false);
		assert.deepEqual(pi.notifications.length, 1);
	});

	/** The files of the ledger that this process has open. */
	function open(pi: Inside): string[] {
		const names = readdirSync("/proc/self/fd").flatMap((fd) => {
			try {
				return [readlinkSync(`/proc/self/fd/${fd}`)];
			} catch {
				return [];
			}
		});
		return names.filter((name) => name === fileOf(pi));
	}

	for (const [what, end] of [
		["that has ended", (pi: Inside) => pi.run("go")],
		[
			"whose session ends in it",
			async (pi: Inside) => {
				void pi.session.prompt("go");
				await pi.model.arrival(1);
				await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
			},
		],
	] as const) {
		test(`has no file open and no timer running after a run ${what}`, async (t) => {
			const slow = held(text("done"));
			if (what === "that has ended") slow.release();
			const pi = await sharing(t, { limits: { tree: { maxTurns: 9 } }, model: [slow], ...no });
			const begun = t.mock.method(globalThis, "setInterval");
			const ended = t.mock.method(globalThis, "clearInterval");
			await end(pi);
			const over = ended.mock.calls.map(({ arguments: [timer] }) => timer);
			// The clock looks every 5 seconds, and holds are renewed every 20.
			const ours = begun.mock.calls.filter(({ arguments: [, ms] }) => ms === 5_000 || ms === 20_000);
			assert.equal(ours.length, 2);
			assert.deepEqual(
				ours.filter(({ result }) => !over.includes(result)),
				[],
			);
			assert.deepEqual(open(pi), []);
			slow.release();
			await pi.until("the end of the run", () => pi.events.some(({ type }) => type === "agent_end"));
		});
	}

	test("is open in a run, and not between runs", async (t) => {
		const seen: number[] = [];
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 3 } },
			model: () => {
				seen.push(open(pi).length);
				return text("done");
			},
			...no,
		});
		await pi.run("go");
		assert.deepEqual([seen, open(pi)], [[1], []]);
		await say(pi);
		assert.deepEqual(open(pi), []);
		assert.deepEqual(await say(pi, "day +3"), ["3 turns more: 6 today."]);
		assert.deepEqual([existsSync(fileOf(pi)), open(pi)], [true, []]);
		await say(pi, "day 5");
		assert.deepEqual(await status(pi, "day turns"), ["day turns  1 of 8 (5 + 3)  /turn-limit"]);
	});
});
