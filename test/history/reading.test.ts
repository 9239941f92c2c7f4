import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { readLines } from "../../src/history/files.ts";
import { advise, render, type Advice, type AdviseOptions } from "../../src/history/index.ts";
import type { Scope } from "../harness/wait.ts";
import { folder, START, Story } from "./story.ts";

const DAY = 86_400_000;

/** Advice from these files only. */
function read(t: Scope, files: Record<string, readonly string[]>, options: AdviseOptions = {}): Promise<Advice> {
	return advise({ sessionDir: folder(t, files), env: {}, ...options });
}

/** Prompts, turns of the longest, calls, cost and seconds of the dearest and slowest. */
function figures({ prompts, meters, spent }: Advice): object {
	const { turns, toolCalls, tokens, time } = meters;
	return {
		prompts,
		turns: turns?.max,
		calls: toolCalls?.max,
		cost: spent.cost,
		tokens: tokens?.max,
		seconds: time?.max,
	};
}

describe("one prompt", () => {
	const once = { prompts: 1, turns: 3, calls: 2, cost: 0.03, tokens: 300, seconds: 19 };
	const session = (): Story => new Story().prompt().turns(3);

	test("has its turns, calls, cost, fresh tokens and the time of model and tools", async (t) => {
		assert.deepEqual(figures(await read(t, { "a.jsonl": session().lines() })), once);
	});

	test("is read from version 1", async (t) => {
		assert.deepEqual(figures(await read(t, { "a.jsonl": session().linesOfVersion1() })), once);
	});

	test("is read from version 1 without the times of messages, where steering follows a tool result", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result().queued().answer().prompt().answer();
		for (const { message } of story.entries) delete (message as { timestamp?: number }).timestamp;
		const { prompts, meters } = await read(t, { "a.jsonl": story.linesOfVersion1() });
		assert.deepEqual([prompts, meters.turns?.max, meters.time?.max], [2, 2, 12.02]);
	});

	test("is told from steering and from queued messages, which belong to it", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result().queued("steer").turns(1).queued("queued").turns(1);
		assert.deepEqual(figures(await read(t, { "a.jsonl": story.lines() })), {
			...{ prompts: 1, turns: 3, calls: 1, cost: 0.03, tokens: 300, seconds: 17 },
		});
	});

	test("begins anew with a message that was sent in the very moment in which the answer ended", async (t) => {
		const story = new Story().prompt().answer();
		story.clock -= 60_000;
		assert.equal((await read(t, { "a.jsonl": story.prompt().answer().lines() })).prompts, 2);
	});

	test("begins anew after the clock was set back, and is told from steering all the same", async (t) => {
		const story = new Story().prompt().turns(2);
		story.clock -= 3_600_000;
		story.prompt().turns(3).prompt().answer({ calls: 1 }).result().queued().answer();
		const { prompts, meters } = await read(t, { "a.jsonl": story.lines() });
		assert.deepEqual([prompts, meters.turns?.p50, meters.turns?.max, meters.time?.max], [3, 2, 3, 19]);
	});

	test("has the steering that follows a tool result after the clock was set back in mid-run", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 });
		story.clock -= 3_600_000;
		story.result().queued().answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).prompts, 1);
	});

	test("begins anew after a pi that was killed in mid-run, whose last entry is a tool result", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result().prompt().answer();
		const { prompts, meters } = await read(t, { "a.jsonl": story.lines() });
		assert.deepEqual([prompts, meters.turns?.max], [2, 1]);
	});

	test("counts a retried request once, whether or not it broke off in the middle of an answer", async (t) => {
		const broken = { stopReason: "error", text: "Let me" };
		const story = new Story().prompt().failure().failure().answer({ calls: 1 }).result();
		story.answer(broken).failure().answer(broken).answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 2);
	});

	test("counts an answer that the context cut off once, if pi repeats it, and twice after a message or a call's result", async (t) => {
		const cut = { stopReason: "length", text: "Half an" };
		const turns = async (story: Story): Promise<unknown> =>
			(await read(t, { "a.jsonl": story.lines() })).meters.turns?.max;
		const begun = (): Story => new Story().prompt().answer({ calls: 1 }).result();
		assert.equal(await turns(begun().answer(cut).charge("compaction").answer()), 2);
		assert.equal(await turns(begun().answer(cut).queued().answer()), 3);
		assert.equal(
			await turns(
				begun()
					.answer({ ...cut, calls: 1 })
					.result()
					.answer(),
			),
			3,
		);
	});

	test("counts a request whose answer was lost with the process, and has ended with it", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result();
		story.entry({ type: "custom", customType: "turn-limit-lost-turn" });
		const { meters, sample, odds } = await read(t, { "a.jsonl": story.lines() }, { now: story.clock });
		assert.deepEqual([meters.turns?.max, sample.running], [2, 0]);
		assert.deepEqual(odds.rows.turns.at(-1), { at: 1, came: 1, finished: 0, moreTurns: 0, moreCost: null });
		const queued = new Story().prompt().answer().queued().entry({ type: "custom", customType: "turn-limit-lost-turn" });
		assert.equal((await read(t, { "a.jsonl": queued.lines() })).odds.rows.turns[0]?.finished, 0);
		const message = new Story().prompt().answer().entry({ type: "custom_message", customType: "turn-limit-lost-turn" });
		assert.equal((await read(t, { "a.jsonl": message.lines() })).meters.turns?.max, 1);
	});

	test("counts a request that follows a new message as a turn, whatever failed before it", async (t) => {
		const steered = new Story().prompt().answer({ calls: 1 }).result();
		steered.answer({ stopReason: "error", text: "Let me" }).queued().answer();
		assert.equal((await read(t, { "a.jsonl": steered.lines() })).meters.turns?.max, 3);
		for (const news of [
			{ type: "custom_message", content: "more" },
			{ type: "message", message: { role: "custom" } },
		]) {
			const story = new Story().prompt().answer({ stopReason: "error", text: "Let me" }).entry(news).answer();
			assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 2);
		}
	});

	test("counts an answer that was interrupted and the one after it as two turns", async (t) => {
		const story = new Story().prompt().answer({ stopReason: "aborted" }).answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 2);
	});

	test("does not count the calls of a response that failed", async (t) => {
		const story = new Story().prompt().answer({ stopReason: "error", calls: 2 }).answer({ calls: 1 }).result().answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.toolCalls?.max, 1);
	});

	test("spends no negative time when the clock was set back", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 });
		story.clock -= 3_600_000;
		assert.equal((await read(t, { "a.jsonl": story.result().answer().lines() })).meters.time?.max, 10);
	});

	test("spends 300 days in one tool, but not two years, because then a clock was wrong", async (t) => {
		const seconds = async (days: number): Promise<number | undefined> => {
			const story = new Story().prompt().answer({ calls: 1 });
			story.clock += days * DAY;
			return (await read(t, { "a.jsonl": story.result().answer().lines() })).meters.time?.max;
		};
		assert.deepEqual([await seconds(300), await seconds(730)], [300 * 86_400 + 12, 10]);
	});

	test("does not count a request that failed without an answer, nor one that pi never made because a tool was interrupted", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result();
		story.answer({ stopReason: "error", text: "", cost: 0 });
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 1);
	});

	test("counts a request that was aborted before any text: a limit would have asked before it", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result();
		story.answer({ stopReason: "aborted", text: "", cost: 0 });
		const { meters, whatIf } = await read(t, { "a.jsonl": story.lines() }, { limits: { turns: 1 } });
		const asked = whatIf.find(({ is }) => is === "present");
		assert.deepEqual([meters.turns?.max, asked?.asked, asked?.finished], [2, 1, 0]);
	});

	test("does not count the turn that a limit refused, told by our reason or by what the breaker recorded", async (t) => {
		const refused = (): Story =>
			new Story().prompt().answer({ calls: 1 }).result().answer({ stopReason: "aborted", text: "", cost: 0.25 });
		const byReason = refused();
		Object.assign(byReason.entries.at(-1)?.["message"] as object, { errorMessage: "pi-turn-limit: stopped" });
		const byMark = refused().outcome({ kind: "failed", continuations: 0 });
		Object.assign(byMark.entries.at(-2)?.["message"] as object, { rawStopReason: "pi-turn-limit: not requested" });
		assert.equal((await read(t, { "a.jsonl": byMark.lines() })).meters.turns?.max, 1);
		for (const kind of ["declined", "exhausted", "synthesized"]) {
			const byRecord = refused().outcome({ kind, continuations: 0, meter: "turns", limit: 1 });
			for (const story of [byReason, byRecord]) {
				const { meters, spent } = await read(t, { "a.jsonl": story.lines() });
				assert.deepEqual([meters.turns?.max, spent.cost], [1, 0.26]);
			}
		}
		const interrupted = refused().outcome({ kind: "interrupted", continuations: 1 });
		assert.equal((await read(t, { "a.jsonl": interrupted.lines() })).meters.turns?.max, 2);
	});

	test("does not count an answer that is shown again in the place of a turn that was refused, and did not finish with it", async (t) => {
		const story = new Story().prompt().turns(1).answer({ calls: 1 }).result().answer({ cost: 0 });
		Object.assign(story.entries.at(-1)?.["message"] as object, { rawStopReason: "pi-turn-limit: not requested" });
		story.outcome({ kind: "exhausted", continuations: 0, meter: "turns", limit: 2 });
		const { meters, whatIf } = await read(t, { "a.jsonl": story.lines() }, { limits: { turns: 2 } });
		const { asked, finished } = whatIf.find(({ is }) => is === "present") ?? {};
		assert.deepEqual([meters.turns?.max, asked, finished], [2, 1, 0]);
	});

	test("counts a failed request and its repetition, aborted before any text, as one turn, also if a limit then ended the run", async (t) => {
		const story = new Story().prompt().turns(1).answer({ calls: 1 }).result();
		story.answer({ stopReason: "error", text: "Let me" }).answer({ stopReason: "aborted", text: "" });
		story.outcome({ kind: "declined", continuations: 0 });
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 3);
	});

	test("without any answer is none", async (t) => {
		const story = new Story().prompt().failure().prompt().answer().prompt();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).prompts, 1);
	});

	test("is charged for tools, compactions, branch summaries and cache warming, which are no turns", async (t) => {
		const nested = { usage: { input: 5, output: 6, cacheRead: 900, cacheWrite: 7, cost: { total: 0.5 } } };
		const story = new Story().prompt().answer({ calls: 1 }).result(nested).charge("compaction");
		story.charge("usage", 0.001, 0).answer().charge("branch_summary");
		assert.deepEqual(figures(await read(t, { "a.jsonl": story.lines() })), {
			...{ prompts: 1, turns: 2, calls: 1, cost: 0.621, tokens: 2218, seconds: 12 },
		});
	});

	test("is charged in the forms in which tools and providers give their usage", async (t) => {
		for (const usage of [
			{ input: 30, output: 70, cost: { input: 0.1, output: 0.3, cacheRead: 0.1 } },
			{ input: "30", output: "70", cost: { total: "0.5" } },
			{ totalTokens: 900, cacheRead: 800, cost: 0.5 },
		]) {
			const story = new Story().prompt().answer({ calls: 1 }).result({ usage }).answer();
			const { spent } = await read(t, { "a.jsonl": story.lines() });
			assert.deepEqual(spent, { cost: 0.52, tokens: 300, besides: 0 });
		}
	});

	test("counts calls that tools made", async (t) => {
		const nestedCalls = { calls: [{ id: "1" }, { id: "2" }], complete: true };
		const story = new Story().prompt().answer({ calls: 1 }).result({ nestedCalls }).answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.toolCalls?.max, 3);
	});

	test("does not spend the time before it, also if its first answer is lost", async (t) => {
		const lines = new Story().prompt().answer().prompt().turns(2).lines();
		const { meters, sample } = await read(t, { "a.jsonl": lines.map((line, i) => (i === 4 ? "{" : line)) });
		assert.deepEqual([meters.time?.max, meters.time?.p50, sample.brokenLines], [12.01, 5, 1]);
	});

	test("does not spend the time in which a question was open between two turns", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result();
		story.clock += 3_600_000;
		assert.equal((await read(t, { "a.jsonl": story.answer().lines() })).meters.time?.max, 12);
	});
});

describe("several branches", () => {
	test("all count, each with its own prompt", async (t) => {
		const story = new Story().prompt().turns(2);
		const fork = story.leaf;
		story.prompt().turns(3).goTo(fork).charge("branch_summary").prompt().turns(4).goTo(null).prompt().turns(5);
		const { prompts, spent, meters } = await read(t, { "a.jsonl": story.lines() });
		assert.deepEqual([prompts, meters.turns?.max, spent.cost], [4, 5, 0.19]);
	});

	test("a message to an earlier tool result is a prompt, although the run went on from there", async (t) => {
		const story = new Story().prompt().answer({ calls: 1 }).result();
		const middle = story.leaf;
		story.answer().goTo(middle).prompt().answer();
		assert.equal((await read(t, { "a.jsonl": story.lines() })).prompts, 2);
	});
});

describe("a prompt that stands in several files counts once", () => {
	const original = (): Story => new Story("a").prompt("same").turns(3);

	test("in a fork that went on", async (t) => {
		const story = original();
		const files = { "a.jsonl": story.prompt().answer().lines(), "b.jsonl": story.fork("b").prompt().turns(2).lines() };
		const { prompts, spent, sample } = await read(t, files);
		assert.deepEqual([prompts, spent.cost, sample.copies, sample.sessions], [3, 0.06, 2, 2]);
	});

	test("in a copy, also one that pi has brought to another version with other ids", async (t) => {
		const ids = JSON.parse(JSON.stringify(original().lines()).replaceAll("a-", "other-")) as string[];
		const files = { "a.jsonl": original().lines(), "b.jsonl": original().linesOfVersion1(), "x/c.jsonl": ids };
		const { prompts, sample } = await read(t, files);
		assert.deepEqual([prompts, sample.copies, sample.sessions, sample.files], [1, 2, 1, 3]);
	});

	test("as long as it got, if a copy was made in mid-run, whichever is read first", async (t) => {
		const lines = original().lines();
		for (const files of [
			{ "a.jsonl": lines, "b.jsonl": lines.slice(0, 4) },
			{ "a.jsonl": lines.slice(0, 4), "b.jsonl": lines },
		]) {
			assert.equal((await read(t, files)).meters.turns?.max, 3);
		}
	});

	test("but the same words sent at another time are another prompt, and so are other words at the same time", async (t) => {
		const again = new Story("b", { at: START + 1 }).prompt("same").answer();
		const other = new Story("c").prompt("other").answer();
		const old = new Story("d").prompt().answer();
		Object.assign(old.entries[0]?.["message"] as object, { content: "a string, as older versions stored it" });
		const stories = { "b.jsonl": again.lines(), "c.jsonl": other.lines(), "d.jsonl": old.lines() };
		assert.equal((await read(t, { "a.jsonl": original().lines(), ...stories })).prompts, 4);
	});
});

describe("what cannot be read", () => {
	test("broken lines are counted and left out; what follows one follows the entry before it", async (t) => {
		const lines = new Story().prompt().turns(3).lines();
		const torn = lines.map((line, i) => (i === 3 ? line.slice(0, 40) : line));
		const { prompts, meters, sample } = await read(t, { "a.jsonl": [...torn, "", "null", "[]", '{"type":'] });
		assert.deepEqual([prompts, meters.turns?.max, sample.brokenLines], [1, 3, 4]);
	});

	test("a last line without its end counts, and one that is still being written is a broken line", async (t) => {
		const directory = folder(t, { "a.jsonl": new Story().prompt().lines() });
		const answer = new Story().prompt().answer().lines().at(-1) ?? "";
		appendFileSync(join(directory, "a.jsonl"), answer.slice(0, 50));
		assert.equal((await advise({ sessionDir: directory })).sample.brokenLines, 1);
		appendFileSync(join(directory, "a.jsonl"), answer.slice(50));
		const { prompts, sample } = await advise({ sessionDir: directory });
		assert.deepEqual([prompts, sample.brokenLines], [1, 0]);
	});

	test("entries that hold nothing of what they should change nothing", async (t) => {
		const story = new Story().prompt().answer();
		for (const message of [
			undefined,
			null,
			"x",
			{},
			{ role: "assistant" },
			{ role: "user", content: 7 },
			{ role: "toolResult", nestedCalls: 3 },
		])
			story.entry({ type: "message", message });
		story
			.entry({ type: "compaction", usage: { cost: "free", input: "many" } })
			.entry({ type: "custom", customType: "turn-limit-outcome" });
		story.entry({ type: "something_new", usage: { cost: { total: 5 } } }).entry({ type: "usage", timestamp: 7 });
		const { prompts, spent } = await read(t, { "a.jsonl": story.lines() });
		assert.deepEqual([prompts, spent.cost], [1, 0.01]);
	});

	test("files without a session are counted and left out", async (t) => {
		const directory = folder(t, {
			"a.jsonl": new Story().prompt().answer().lines(),
			"b.jsonl": ['{"type":"message"}'],
			"c.jsonl": [],
		});
		mkdirSync(join(directory, "d.jsonl"));
		symlinkSync("nowhere", join(directory, "e.jsonl"));
		const { prompts, sample } = await advise({ sessionDir: directory });
		assert.deepEqual([prompts, sample.files, sample.unreadable], [1, 1, 4]);
	});

	test("a folder that cannot be read is counted; a link that leads nowhere is none", async (t) => {
		const directory = folder(t, { "x/a.jsonl": new Story().prompt().answer().lines(), "note.txt": [] });
		symlinkSync("loop", join(directory, "loop"));
		symlinkSync("nowhere", join(directory, "lost"));
		const { prompts, sample } = await advise({ sessionDir: directory });
		assert.deepEqual([prompts, sample.unreadable], [1, 1]);
	});

	test("a mark of the byte order, as some editors put it in front, and their line ends change nothing", async (t) => {
		const lines = new Story().prompt().answer().lines();
		const edited = lines.map((line, i) => `${i === 0 ? "\uFEFF" : ""}${line}\r`);
		const { prompts, sample } = await read(t, { "a.jsonl": edited });
		assert.deepEqual([prompts, sample.brokenLines], [1, 0]);
	});

	test("a pipe is not waited for", async (t) => {
		const directory = folder(t, {});
		execFileSync("mkfifo", [join(directory, "a.jsonl")]);
		assert.equal((await advise({ sessionDir: directory })).sample.unreadable, 1);
	});

	test("a pipe that has taken the place of a file is not waited for: a thread that waits keeps the process from ending", async (t) => {
		const pipe = join(folder(t, {}), "a.jsonl");
		execFileSync("mkfifo", [pipe]);
		const found: string[] = [];
		for await (const lines of readLines(pipe, Buffer.alloc(9))) found.push(...lines);
		assert.deepEqual(found, []);
	});

	test("a line of more than 32 MiB is a broken one, and what follows it is read", async (t) => {
		const [header = "", prompt = "", ...others] = new Story().prompt().turns(2).lines();
		const endless = others.map((line, i) => (i === 1 ? line.replace("{", `{${" ".repeat(33 * 2 ** 20)}`) : line));
		const { sample, meters } = await read(t, { "a.jsonl": [header, prompt, ...endless] });
		assert.deepEqual([sample.brokenLines, meters.turns?.max], [1, 2]);
	});

	test("a line of a million values is a broken one, because they would fill the memory", async (t) => {
		const story = new Story().prompt().answer();
		story.entry({ type: "custom", data: Array(2 ** 20).fill({}) });
		const { sample, prompts } = await read(t, { "a.jsonl": story.prompt().turns(2).lines() });
		assert.deepEqual([sample.brokenLines, prompts], [1, 2]);
	});

	test("a line with images and other long texts counts, whatever these hold", async (t) => {
		for (const text of [
			`${"A".repeat(2 ** 21)}\\`,
			'\\"{['.repeat(2 ** 18),
			`${"\\".repeat(2 ** 20)}"`,
			"ä€😀\n".repeat(2 ** 17),
		]) {
			const content = Array(2).fill({ type: "image", data: text });
			const story = new Story().prompt(`${text} Look.`).answer({ calls: 1 }).result({ content }).answer({ text });
			const { sample, meters } = await read(t, { "a.jsonl": story.lines() });
			assert.deepEqual([sample.brokenLines, meters.turns?.max, meters.toolCalls?.max], [0, 2, 1]);
		}
		const [one, other] = ["a", "b"].map((name) => new Story(name).prompt(name.repeat(2000)).answer().lines());
		assert.equal((await read(t, { "a.jsonl": one ?? [], "b.jsonl": other ?? [] })).prompts, 2);
	});

	test("a line longer than a chunk of the file is read", async (t) => {
		const story = new Story().prompt("ä€😀".repeat(100_000)).turns(2);
		assert.equal((await read(t, { "a.jsonl": story.lines() })).meters.turns?.max, 2);
	});
});

describe("which sessions", () => {
	const one = (name: string, options?: { cwd?: string; at?: number }): string[] =>
		new Story(name, options).prompt(name).answer().lines();

	test("those of the agent directory, in one folder a project", async (t) => {
		const agentDir = folder(t, {
			"sessions/--a--/a.jsonl": one("a"),
			"sessions/--b--/b.jsonl": one("b"),
			"c.jsonl": one("c"),
		});
		assert.equal((await advise({ agentDir, env: {} })).prompts, 2);
		assert.equal((await advise({ env: { PI_CODING_AGENT_DIR: agentDir } })).prompts, 2);
	});

	test("the argument is stronger than the variable, the variable than the setting, the setting than the default", async (t) => {
		const at = folder(t, {
			"sessions/a.jsonl": one("a"),
			"set/a.jsonl": one("b"),
			"env/a.jsonl": one("c"),
			"arg/a.jsonl": one("d"),
		});
		const where = async (options: AdviseOptions): Promise<string> =>
			(await advise({ agentDir: at, cwd: at, env: {}, ...options })).sample.directory;
		const env = { PI_CODING_AGENT_SESSION_DIR: "env" };
		assert.equal(await where({}), join(at, "sessions"));
		appendFileSync(join(at, "settings.json"), JSON.stringify({ sessionDir: "set" }));
		assert.equal(await where({}), join(at, "set"));
		assert.equal(await where({ env }), join(at, "env"));
		assert.equal(await where({ env, sessionDir: "arg" }), join(at, "arg"));
		assert.equal(await where({ env: { PI_CODING_AGENT_SESSION_DIR: "" } }), join(at, "set"));
	});

	test("a path can begin with ~, the home directory", async (t) => {
		const sessionDir = `~/${relative(homedir(), folder(t, { "a.jsonl": one("a") }))}`;
		assert.equal((await advise({ sessionDir })).prompts, 1);
	});

	test("the present session's directory is stronger than variable and setting; a folder of the default stands for all", async (t) => {
		const at = folder(t, {
			"settings.json": ['{"sessionDir":"set"}'],
			"sessions/--a--/a.jsonl": one("a"),
			"sessions/--b--/b.jsonl": one("b"),
			"flag/c.jsonl": one("c"),
		});
		const where = async (presentDir: string): Promise<string> => {
			const env = { PI_CODING_AGENT_SESSION_DIR: "env" };
			return relative(at, (await advise({ agentDir: at, cwd: at, env, presentDir })).sample.directory);
		};
		assert.equal(await where(join(at, "sessions/--a--")), "sessions");
		assert.equal(await where(join(at, "flag")), "flag");
		assert.equal(await where("flag"), "flag");
		assert.equal(await where(""), "env");
		assert.equal((await advise({ agentDir: at, presentDir: join(at, "sessions/--a--") })).prompts, 2);
	});

	test("a file in place of pi's directory is an error, not an empty answer", async (t) => {
		const agentDir = folder(t, { sessions: ["a file"] });
		await assert.rejects(advise({ agentDir, env: {} }), { code: "ENOTDIR" });
	});

	test("a settings file that cannot be read is as none", async (t) => {
		const agentDir = folder(t, { "sessions/a.jsonl": one("a"), "settings.json": ["{"] });
		assert.equal((await advise({ agentDir, env: {} })).prompts, 1);
	});

	test("a directory that is named and is not there is an error; pi's own may be missing", async (t) => {
		const at = folder(t, {});
		await assert.rejects(advise({ sessionDir: "no/such", cwd: at }), {
			message: '--session-dir: expected a directory, got "no/such".',
		});
		assert.equal((await advise({ agentDir: at, env: {} })).prompts, 0);
	});

	test("a named directory that cannot be reached is an error that gives the cause", async (t) => {
		const at = folder(t, {});
		symlinkSync("loop", join(at, "loop"));
		await assert.rejects(advise({ sessionDir: "loop", cwd: at }), { code: "ELOOP" });
	});

	test("only those of this working directory, if asked", async (t) => {
		const files = { "x/a.jsonl": one("a", { cwd: "/project" }), "y/b.jsonl": one("b", { cwd: "/project/b" }) };
		const { prompts, sample } = await read(t, files, { project: true, cwd: folder(t, {}) });
		assert.deepEqual([prompts, sample.files], [0, 0]);
		const sessionDir = folder(t, files);
		assert.equal((await advise({ sessionDir, project: true, cwd: "/project/b" })).prompts, 1);
	});

	test("a session that does not say where it was is not one of this working directory", async (t) => {
		const lines = one("a").map((line) => line.replace(',"cwd":"/project"', ""));
		assert.equal((await read(t, { "a.jsonl": lines })).prompts, 1);
		assert.equal((await read(t, { "a.jsonl": lines }, { project: true })).prompts, 0);
	});

	test("only prompts of the last days, if asked, by when they were sent", async (t) => {
		const story = new Story("a", { at: START }).prompt().answer();
		story.clock = START + 10 * DAY;
		const files = { "a.jsonl": story.prompt().answer().lines(), "b.jsonl": one("b") };
		const now = START + 12 * DAY;
		const within = async (days: number): Promise<number> => (await read(t, files, { days, now })).prompts;
		assert.deepEqual([await within(1), await within(2), await within(13)], [0, 1, 3]);
	});

	test("a session counts among those of the last days only if a prompt of it does", async (t) => {
		const files = {
			"a.jsonl": one("a"),
			"b.jsonl": one("b", { at: START + 10 * DAY }),
			"c.jsonl": new Story("c").lines(),
		};
		const sessions = async (days: number): Promise<number> =>
			(await read(t, files, { days, now: START + 12 * DAY })).sample.sessions;
		assert.deepEqual([await sessions(1), await sessions(3), await sessions(20)], [0, 1, 2]);
	});

	test("a number of days that is none is an error", async (t) => {
		for (const days of [0, -1, NaN, Infinity])
			await assert.rejects(read(t, {}, { days }), {
				name: "RangeError",
				message: `days: expected a number above 0, got ${days}.`,
			});
	});

	test("a file that was last written before these days is not opened", async (t) => {
		const directory = folder(t, { "a.jsonl": ["no session"], "b.jsonl": one("b") });
		utimesSync(join(directory, "a.jsonl"), START / 1000, START / 1000);
		const { sample } = await advise({ sessionDir: directory, days: 1 });
		assert.deepEqual([sample.unreadable, sample.files], [0, 1]);
	});
});

describe("with a person or without", () => {
	const turns = async (t: Scope, story: Story): Promise<unknown[]> => {
		const { attended, headless, unknown } = (await read(t, { "a.jsonl": story.lines() })).people;
		return [attended?.prompts, headless?.prompts, unknown?.prompts];
	};
	const plain = (): Story => new Story().prompt().turns(2).prompt().answer();

	test("cannot be told from prompts and answers", async (t) => {
		assert.deepEqual(await turns(t, plain()), [undefined, undefined, 2]);
	});

	test("does not show by a second header in the file", async (t) => {
		const [header = "", ...lines] = plain().lines();
		const { people } = await read(t, { "a.jsonl": [header, ...lines.slice(0, 3), header, ...lines.slice(3)] });
		assert.deepEqual([people.attended, people.unknown?.prompts], [null, 2]);
	});

	test("shows by steering, by a command of the person's own, by going back in the tree, by an answer to a question", async (t) => {
		const back = plain();
		for (const story of [
			new Story().prompt().answer({ calls: 1 }).result().queued().answer().prompt().answer(),
			plain().bash(),
			back.goTo(back.entries[1]?.id ?? null).entry({ type: "label" }),
			plain().goTo(null).entry({ type: "label" }),
			plain().outcome({ kind: "completed", continuations: 1 }),
			plain().outcome({ kind: "declined", continuations: 0 }),
		])
			assert.deepEqual(await turns(t, story), [2, undefined, undefined]);
	});

	test("is as the breaker's entry says, for the whole session if nothing else shows", async (t) => {
		const entry = { kind: "exhausted", continuations: 0 };
		assert.deepEqual(await turns(t, plain().outcome({ ...entry, attended: false })), [undefined, 2, undefined]);
		assert.deepEqual(await turns(t, plain().outcome({ ...entry, attended: true })), [2, undefined, undefined]);
		assert.deepEqual(await turns(t, plain().outcome({ ...entry, attended: "no" })), [undefined, undefined, 2]);
	});

	test("follows the last entry that tells, where an extension goes on with a script's prompt beside a person", async (t) => {
		const entry = { kind: "exhausted", continuations: 0 };
		const story = new Story()
			.prompt()
			.answer()
			.outcome({ ...entry, attended: false });
		story.entry({ type: "custom_message", content: "go on" }).answer();
		story.outcome({ ...entry, attended: true }).outcome(entry);
		assert.deepEqual(await turns(t, story), [1, undefined, undefined]);
	});

	test("a script's session that a person goes on with has prompts of both", async (t) => {
		const entry = { kind: "exhausted", continuations: 0, attended: false };
		const resumed = new Story().prompt().turns(3).outcome(entry).prompt().answer().bash().prompt().answer();
		assert.deepEqual(await turns(t, resumed), [2, 1, undefined]);
	});
});

test("what the breaker asked and what was answered is read from its entries, once from copies", async (t) => {
	const spent = { turns: 3, toolCalls: 2, cost: 0.1, meter: "turns", limit: 3 };
	const story = new Story("a");
	story
		.prompt()
		.turns(3)
		.outcome({ ...spent, kind: "completed", continuations: 2 });
	story
		.prompt()
		.turns(3)
		.outcome({ ...spent, kind: "declined", answered: true, continuations: 1 });
	story
		.prompt()
		.turns(3)
		.outcome({ ...spent, kind: "declined", answered: false, continuations: 0 });
	story
		.prompt()
		.turns(3)
		.outcome({ ...spent, kind: "wrapped_up", continuations: 0 });
	for (const kind of ["synthesized", "exhausted", "failed"])
		for (const more of [{ attended: true }, { attended: false }, { attended: true, meter: "budgetCost" }])
			story
				.prompt()
				.turns(3)
				.outcome({ ...spent, kind, continuations: 0, ...more });
	story.prompt().outcome({ ...spent, turns: 0, kind: "exhausted", continuations: 0, attended: true });
	story.entry({ type: "custom", customType: "turn-limit", data: { version: 1, values: {} } });
	const { asked } = await read(t, { "a.jsonl": story.lines(), "b.jsonl": story.fork("b").lines() });
	const stopped = { synthesized: 3, exhausted: 4, failed: 3 };
	assert.deepEqual(asked, {
		...{ outcomes: { completed: 1, declined: 2, wrapped_up: 1, ...stopped } },
		...{ yes: 3, no: 1, finalPass: 3, unanswered: 1 },
	});
});

test("a run that a limit ended did not finish by itself, even if an answer is its last message", async (t) => {
	const finished = async (kind: string): Promise<unknown> => {
		const story = new Story().prompt().turns(3).outcome({ kind, continuations: 0, meter: "turns", limit: 2 });
		const { whatIf } = await read(t, { "a.jsonl": story.lines() }, { limits: { turns: 2 } });
		return whatIf.find(({ is }) => is === "present")?.finished;
	};
	for (const kind of ["synthesized", "declined", "exhausted"]) assert.equal(await finished(kind), 0, kind);
	for (const kind of ["completed", "wrapped_up"]) assert.equal(await finished(kind), 1, kind);
});

test("a limit would not have asked about a run that ended there with an answer, however often that was recorded", async (t) => {
	const stopped = { continuations: 0, meter: "turns", limit: 2 };
	const story = new Story().prompt().turns(3);
	story.outcome({ ...stopped, kind: "synthesized" }).outcome({ ...stopped, kind: "exhausted" });
	const { whatIf } = await read(t, { "a.jsonl": story.lines() }, { limits: { turns: 3 } });
	assert.equal(whatIf.find(({ is }) => is === "present")?.asked, 0);
});

test("figures that nobody can spend, and continuations that are none, count as nothing", async (t) => {
	const usage = { input: -9, output: 7, cacheWrite: 1e300, cost: { total: -3 } };
	const story = new Story().prompt().turns(2).entry({ type: "compaction", usage });
	for (const continuations of [-4, "7", null, 1.5]) story.outcome({ kind: "completed", continuations });
	for (const timestamp of [-1e308, 0]) {
		story.answer();
		Object.assign(story.entries.at(-1)?.["message"] as object, { timestamp });
	}
	const { spent, asked, meters } = await read(t, { "a.jsonl": story.lines() });
	assert.deepEqual([spent.cost, spent.tokens, asked.yes, meters.time?.max], [0.04, 400, 1, 12]);
});

test("an entry of our name with a kind that is not ours is ignored", async (t) => {
	const story = new Story().prompt().answer().outcome({ kind: "\x1b[2J", continuations: 1 }).outcome({ kind: {} });
	assert.deepEqual((await read(t, { "a.jsonl": story.lines() })).asked, {
		...{ outcomes: {}, yes: 0, no: 0, finalPass: 0, unanswered: 0 },
	});
});

test("prompts without a time of which a date can be made are counted and can be shown", async (t) => {
	for (const timestamp of [undefined, "yesterday", 1e300, -5]) {
		const story = new Story().prompt().answer();
		for (const entry of story.entries)
			Object.assign(entry, { timestamp, message: { ...(entry["message"] as object), timestamp } });
		const advice = await read(t, { "a.jsonl": story.lines() });
		assert.deepEqual([advice.prompts, advice.span], [1, null]);
		assert.match(render(advice, { width: 80 }), /^1 prompt in 1 session\.$/m);
	}
});

test("what an extension spent before the first prompt stands besides the prompts", async (t) => {
	const story = new Story().entry({ type: "custom_message", content: "go" }).turns(2).prompt().answer();
	const files = { "a.jsonl": story.lines(), "b.jsonl": story.fork("b").lines() };
	const { prompts, spent, sample } = await read(t, files);
	assert.deepEqual([prompts, spent.cost, spent.besides, sample.copies], [1, 0.01, 0.02, 1]);
});

describe("sessions of subagents are counted apart", () => {
	const parent = (): Story => new Story("parent").prompt("delegate").answer({ calls: 1 });
	/** Pi stores the model in the very moment in which it makes the session. */
	const child = (at: number, directory: string, name = "child"): Story => {
		const story = new Story(name, { at, parent: join(directory, "parent.jsonl") });
		return story.entry({ type: "model_change" }).prompt(name).turns(2);
	};
	/** Advice from a directory whose files may name their own place. */
	const readAt = (t: Scope, files: (directory: string) => Record<string, string[]>): Promise<Advice> => {
		const directory = folder(t, {});
		for (const [name, lines] of Object.entries(files(directory))) {
			mkdirSync(join(directory, name, ".."), { recursive: true });
			appendFileSync(join(directory, name), lines.map((line) => `${line}\n`).join(""));
		}
		return advise({ sessionDir: directory, env: {} });
	};

	test("where they lie beside the session of an agent that was working when they were made", async (t) => {
		const { prompts, subagents, spent, odds } = await readAt(t, (directory) => {
			const story = parent();
			const { clock } = story;
			const files = [1, 2].map((n) => [`child${n}.jsonl`, child(clock, directory, `c${n}`).lines()] as const);
			return { "parent.jsonl": story.result().answer().lines(), ...Object.fromEntries(files) };
		});
		assert.deepEqual([prompts, odds.prompts, spent.cost], [1, 1, 0.02]);
		assert.deepEqual(subagents, { sessions: 2, turns: 4, cost: 0.04, reported: 0 });
	});

	test("where that agent still waits for them, or was killed while it did", async (t) => {
		const counts = async (sinceThen: number, later = 0): Promise<unknown[]> => {
			const now = parent().clock + sinceThen;
			const directory = folder(t, { "parent.jsonl": parent().lines() });
			const story = child(parent().clock + later, directory);
			appendFileSync(join(directory, "child.jsonl"), story.lines().join("\n"));
			const { prompts, sample, subagents } = await advise({ sessionDir: directory, env: {}, now });
			return [prompts, sample.running, subagents.sessions];
		};
		assert.deepEqual(await counts(60_000, 1000), [0, 1, 1]);
		assert.deepEqual(await counts(2 * DAY, 1000), [1, 0, 1]);
		assert.deepEqual(await counts(3 * DAY, DAY + 1), [2, 0, 0], "a person, later");
	});

	test("but not once that agent's session was begun anew", async (t) => {
		const { prompts, subagents } = await readAt(t, (directory) => {
			const story = parent();
			const { clock } = story.prompt().answer();
			return { "parent.jsonl": story.lines(), "child.jsonl": child(clock + 1000, directory).lines() };
		});
		assert.deepEqual([prompts, subagents.sessions], [3, 0]);
	});

	test("but not because the session that a person began them from is left out", async (t) => {
		const directory = folder(t, {});
		const story = parent().result().answer();
		const sub = child(story.clock - 1000, directory, "sub");
		sub.clock += 12 * DAY;
		const files = {
			"parent.jsonl": story.lines(),
			"handed-over.jsonl": child(story.clock + 10 * DAY, directory).lines(),
			"sub.jsonl": sub.prompt().turns(3).lines(),
		};
		for (const [name, lines] of Object.entries(files))
			appendFileSync(join(directory, name), lines.map((line) => line.replace('"/project"', `"/${name}"`)).join("\n"));
		utimesSync(join(directory, "parent.jsonl"), story.clock / 1000, story.clock / 1000);
		const now = story.clock + 13 * DAY;
		const recent = await advise({ sessionDir: directory, env: {}, now, days: 5 });
		assert.deepEqual([recent.prompts, recent.subagents.sessions, recent.sample.files], [1, 1, 2]);
		const here = await advise({ sessionDir: directory, env: {}, now, project: true, cwd: "/handed-over.jsonl" });
		assert.deepEqual([here.prompts, here.subagents.sessions, here.sample.files], [1, 0, 1]);
	});

	test("where they lie deeper than pi puts any, or in a folder named after a session", async (t) => {
		const lines = (name: string): string[] => new Story(name).prompt(name).turns(2).lines();
		const { prompts, subagents, sample } = await readAt(t, () => ({
			"--p--/a.jsonl": lines("a"),
			"--p--/a/run/x/session.jsonl": lines("b"),
			"--p--/other/c.jsonl": lines("c"),
			"d.jsonl": lines("d"),
			"d/e.jsonl": lines("e"),
			[`${"x/".repeat(8)}f.jsonl`]: lines("f"),
			[`${"y/".repeat(9)}g.jsonl`]: lines("g"),
		}));
		assert.deepEqual([prompts, subagents.sessions, sample.files], [2, 4, 6]);
	});

	test("but neither a fork, nor a session that a person began from another while that was idle", async (t) => {
		const { prompts, subagents } = await readAt(t, (directory) => {
			const story = parent().result().answer();
			const fork = story.fork("fork").prompt("in the fork").answer();
			Object.assign(fork.header, { parentSession: join(directory, "parent.jsonl") });
			return {
				"parent.jsonl": story.lines(),
				"fork.jsonl": fork.lines(),
				"handed-over.jsonl": child(story.clock + 1, directory).lines(),
			};
		});
		assert.deepEqual([prompts, subagents.sessions], [3, 0]);
	});

	test("and those whose parent is gone", async (t) => {
		const { prompts, subagents } = await readAt(t, (directory) => ({ "a.jsonl": child(START, directory).lines() }));
		assert.deepEqual([prompts, subagents], [0, { sessions: 1, turns: 2, cost: 0.02, reported: 0 }]);
		assert.match(
			render(await readAt(t, (directory) => ({ "a.jsonl": child(START, directory).lines() })), { width: 80 }),
			/^Counted apart: 1 session of subagents, \$0\.02\.$/m,
		);
	});

	describe("where a tool reports what they spent to the prompt that started them", () => {
		const usage = (total: number): object => ({ usage: { input: 0, output: 0, cacheWrite: 0, cost: { total } } });
		/** Delegates for 12 cents, waits for five minutes, and is told this cost. */
		const reporting = (total: number, name = "parent", options = {}): { story: Story; at: number } => {
			const story = new Story(name, options).prompt(`${name} delegates`).answer({ calls: 1, cost: 0.06 });
			const at = story.clock + 100;
			story.clock += 300_000;
			story.result(usage(total)).answer({ cost: 0.06 });
			return { story, at };
		};
		const spending = (cost: number, at: number, options = {}): string[] =>
			new Story("child", { at, ...options }).prompt("the task").answer({ cost }).lines();
		const costs = ({ spent, subagents: { sessions, cost, reported } }: Advice): number[] => [
			...[spent.cost + spent.besides, sessions],
			...[cost, reported],
		];

		test("the advice says how much of their cost is the prompts' too", async (t) => {
			const { story, at } = reporting(1.2);
			for (const name of ["child.jsonl", "parent/child.jsonl", "--p--/parent/run-1/child.jsonl"]) {
				const isBeside = !name.includes("/");
				const advice = await readAt(t, (directory) => ({
					[name.startsWith("--p--") ? "--p--/parent.jsonl" : "parent.jsonl"]: story.lines(),
					[name]: spending(1.2, at, isBeside ? { parent: join(directory, "parent.jsonl") } : {}),
				}));
				assert.deepEqual(costs(advice), [1.32, 1, 1.2, 1.2], name);
				assert.match(
					render(advice, { width: 500 }).replaceAll(/\s+/g, " "),
					/\$1\.32 in all\. Counted apart: 1 session of subagents, \$1\.20\. Of that, \$1\.20 is in the cost above too, because tools reported it\./,
				);
			}
		});

		test("only so much as was reported, and as they spent", async (t) => {
			const reported = async (report: number, spent: number): Promise<number[]> => {
				const { story, at } = reporting(report);
				const files = { "parent.jsonl": story.lines(), "parent/child.jsonl": spending(spent, at) };
				return costs(await readAt(t, () => files)).slice(2);
			};
			assert.deepEqual(await reported(0.5, 1.2), [1.2, 0.5]);
			assert.deepEqual(await reported(1.2, 0.5), [0.5, 0.5]);
			assert.deepEqual(await reported(0, 0.5), [0.5, 0]);
		});

		test("none of those that another project, another session or another prompt has started", async (t) => {
			const { story, at } = reporting(1.2);
			const beside = async (name: string, lines: (directory: string) => string[]): Promise<void> => {
				const advice = await readAt(t, (directory) => ({
					"--p--/parent.jsonl": story.lines(),
					"--q--/other.jsonl": new Story("other").prompt("other").turns(200, { cost: 0 }).lines(),
					[name]: lines(directory),
				}));
				assert.deepEqual(costs(advice), [1.32, 1, 1.2, 0], name);
			};
			await beside("--q--/x/child.jsonl", () => spending(1.2, at));
			await beside("--p--/child.jsonl", (directory) =>
				spending(1.2, at, { parent: join(directory, "--q--/other.jsonl") }),
			);
			await beside("--p--/parent/child.jsonl", () => spending(1.2, START));
			await beside("--p--/parent/child.jsonl", () => spending(1.2, story.clock + 1));
		});

		test("those of a parent that was moved, by the folder of its project", async (t) => {
			const { story, at } = reporting(1.2);
			const child = spending(1.2, at, { parent: "/elsewhere/parent.jsonl" });
			const advice = await readAt(t, () => ({ "--p--/parent.jsonl": story.lines(), "--p--/child.jsonl": child }));
			assert.deepEqual(costs(advice), [1.32, 1, 1.2, 1.2]);
		});

		test("a subagent that was told the cost of its own subagent has it once", async (t) => {
			const root = reporting(1.32);
			const child = reporting(1.2, "child", { at: root.at });
			const advice = await readAt(t, () => ({
				"parent.jsonl": root.story.lines(),
				"parent/child.jsonl": child.story.lines(),
				"parent/grandchild.jsonl": spending(1.2, child.at),
			}));
			assert.deepEqual(costs(advice), [1.44, 2, 1.32, 1.32]);
		});
	});

	test("a link to a folder is followed once, and a circle of links is none", async (t) => {
		const directory = folder(t, { "--p--/a.jsonl": new Story("a").prompt().answer().lines() });
		symlinkSync("..", join(directory, "--p--/up"));
		symlinkSync("--p--", join(directory, "--q--"));
		const { prompts, sample } = await advise({ sessionDir: directory, env: {} });
		assert.deepEqual([prompts, sample.copies], [1, 1]);
	});
});

describe("a prompt that may still be running", () => {
	const open = (): Story => new Story().prompt().turns(2).prompt().answer({ calls: 1 });
	const counts = async (t: Scope, story: Story, now: number): Promise<unknown[]> => {
		const { prompts, sample } = await read(t, { "a.jsonl": story.lines() }, { now });
		return [prompts, sample.running];
	};

	test("is not counted for a day after its last message", async (t) => {
		for (const story of [open(), open().result()]) {
			assert.deepEqual(await counts(t, story, story.clock + DAY - 1), [1, 1]);
			assert.deepEqual(await counts(t, story, story.clock + DAY), [2, 0]);
		}
		const story = open();
		const advice = await read(t, { "a.jsonl": story.lines() }, { now: story.clock });
		assert.match(render(advice, { width: 80 }), /^Not counted: 1 prompt that may still be running\.$/m);
	});

	test("is one that has ended if it was answered, interrupted or stopped, or if another prompt followed", async (t) => {
		for (const story of [
			open().result().answer(),
			open().result().answer({ stopReason: "aborted" }),
			open().result().failure(),
			open().result().outcome({ kind: "exhausted", continuations: 0 }),
		])
			assert.deepEqual(await counts(t, story, story.clock), [2, 0]);
		const followed = open().result().prompt().answer();
		assert.deepEqual(await counts(t, followed, followed.clock), [3, 0]);
	});

	test("counts by the copy that has more of it", async (t) => {
		const story = open().result();
		const cut = story.lines();
		const files = { "a.jsonl": cut, "b.jsonl": story.answer().lines() };
		const { prompts, sample } = await read(t, files, { now: story.clock });
		assert.deepEqual([prompts, sample.running], [2, 0]);
	});
});

test("progress is told before the first file and after each", async (t) => {
	const files = { "a.jsonl": new Story().lines(), "b.jsonl": [], "c.jsonl": new Story().lines() };
	const seen: unknown[] = [];
	await read(t, files, { onProgress: (progress) => seen.push(progress) });
	assert.deepEqual(
		seen,
		[0, 1, 2, 3].map((n) => ({ files: n, of: 3 })),
	);
	await read(t, {}, { onProgress: () => assert.fail("there is no file") });
});

test("a signal stops it with its reason: before, between two files, and within one", async (t) => {
	const why = new Error("enough");
	const long = new Story().prompt("x".repeat(2_000_000)).answer().lines();
	const sessionDir = folder(t, { "a.jsonl": long, "b.jsonl": long });
	await assert.rejects(advise({ sessionDir: folder(t, {}), signal: AbortSignal.abort(why) }), why);
	const between = new AbortController();
	const seen: number[] = [];
	const onProgress = ({ files }: { files: number }): void => {
		seen.push(files);
		if (files === 1) between.abort(why);
	};
	await assert.rejects(advise({ sessionDir, signal: between.signal, onProgress }), why);
	assert.deepEqual(seen, [0, 1]);
	const within = new AbortController();
	const reading = advise({ sessionDir, signal: within.signal, onProgress: ({ files }) => assert.equal(files, 0) });
	setImmediate(() => within.abort(why));
	await assert.rejects(reading, why);
});

test("nothing is written: every file keeps its bytes and its time, and none is added", async (t) => {
	const story = new Story().prompt().turns(3);
	const directory = folder(t, {
		"a.jsonl": story.linesOfVersion1(),
		"x/b.jsonl": story.lines(),
		"x/c.jsonl": ['{"type":'],
	});
	appendFileSync(join(directory, "x/b.jsonl"), '{"type":"mess');
	const state = (): object =>
		readdirSync(directory, { recursive: true, encoding: "utf8" })
			.sort()
			.map((name) => {
				const stats = statSync(join(directory, name));
				const bytes = stats.isFile() ? readFileSync(join(directory, name)) : "";
				return [name, stats.mtimeMs, stats.ctimeMs, createHash("sha256").update(bytes).digest("hex")];
			});
	const before = state();
	await advise({ sessionDir: directory, days: 3650, now: START });
	await advise({ sessionDir: directory });
	assert.deepEqual(state(), before);
});
