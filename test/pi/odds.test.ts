import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, truncateSync, utimesSync, watch } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { ODDS_FILE } from "../../src/history/odds-file.ts";
import { endless, held, host, mark, reloader, text } from "../harness/index.ts";
import type { Host, HostOptions } from "../harness/index.ts";
import { within } from "../harness/wait.ts";
import { Story } from "../history/story.ts";
import { tableIn } from "../history/table.ts";
import { reply } from "../settings/status.ts";

/** Prompts of 1 to 10 turns, as many of each; every fifth was interrupted. */
function history(prompts: number): Record<string, string> {
	const story = new Story("old");
	for (let i = 0; i < prompts; i++) {
		story.prompt();
		for (let calls = 0; calls < i % 10; calls++) story.answer({ calls: 1, cost: 0.05 }).result();
		story.answer(i % 5 === 4 ? { stopReason: "aborted", cost: 0.05 } : { cost: 0.05 });
	}
	return { "sessions/--project--/old.jsonl": story.lines().join("\n") };
}

const tableOf = (pi: Host): string => join(pi.agentDir, ODDS_FILE);

const LINE = "Of your 140 prompts that came this far, 100 finished by themselves, half of them within";

describe("a person with a history of 200 prompts", () => {
	const options: HostOptions = {
		...{ agentFiles: history(200), args: ["--turn-limit", "3"] },
		model: (request) => (request.count("first") > 0 && request.count("second") === 0 ? text("done") : mark()),
	};

	test("reads at the second question in the terminal what became of prompts that came this far", async (t) => {
		const pi = await host(t, options);
		const terminal = await pi.terminal();
		terminal.type("first\r");
		await tableIn(pi.agentDir);
		terminal.type("second\r");
		const screen = (await terminal.shows("→ Continue")).replaceAll(/\s+/g, " ");
		assert.ok(screen.includes(`${LINE} 4 more turns ($0.20)`), screen);
		assert.equal(statSync(tableOf(pi)).mode & 0o777, 0o600);
	});

	test("reads the same over rpc, after a yes about all that the prompt has spent, and in /turn-limit where the run stands", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
		await rpc.run("first");
		await tableIn(pi.agentDir);
		await rpc.run("second");
		const [first = "", second = ""] = rpc.questions.map(({ message }) => message);
		assert.match(
			first,
			/^Of your 140 prompts that came this far, 100 finished by themselves, half of them within 4 more turns \(\$0\.20\)\.$/m,
		);
		assert.match(
			second,
			/^Of your 80 prompts that came this far, 60 finished by themselves, half of them within 2 more turns \(\$0\.10\)\.$/m,
		);
	});

	test("reads it again where pi reloads at the question", async (t) => {
		const pi = await host(t, { ...options, after: [reloader] });
		const rpc = await pi.rpc();
		await reply(rpc, "advise");
		await rpc.prompt("second");
		const first = await rpc.question();
		await rpc.prompt("/reload-now");
		const second = await rpc.question();
		assert.match(first.message ?? "", /^Of your 140 prompts /m);
		assert.equal(second.message, first.message);
	});

	test("sees in /turn-limit where the present run stands, and nothing of it between runs", async (t) => {
		const slow = held(mark());
		const pi = await host(t, { ...options, model: [text("done"), mark(), slow, text("done")] });
		const rpc = await pi.rpc();
		await rpc.run("first");
		await tableIn(pi.agentDir);
		await rpc.prompt("second");
		await pi.model.arrival(3);
		assert.match(await reply(rpc, ""), /^2 turns; 20 of 100 of your prompts are done by now\.$/m);
		slow.release();
		await rpc.settled();
		assert.doesNotMatch(await reply(rpc, ""), /of your prompts/);
	});

	test("has the table at once from /turn-limit advise, and a new one after a run if it is older than a day", async (t) => {
		const pi = await host(t, { ...options, model: endless(text("done")) });
		const rpc = await pi.rpc();
		await reply(rpc, "advise --days 3");
		assert.equal(existsSync(tableOf(pi)), false);
		await reply(rpc, "advise");
		const at = (): number => statSync(tableOf(pi)).mtimeMs;
		const old = new Date(Date.now() - 25 * 3_600_000);
		utimesSync(tableOf(pi), old, old);
		const changes = watch(pi.agentDir);
		const made = new Promise<void>((resolve) => changes.on("change", () => at() > old.getTime() + 1 && resolve()));
		await rpc.run("go");
		await within("a new table", made, () => readdirSync(pi.agentDir).join()).finally(() => changes.close());
	});

	test("has no line and no table with odds switched off", async (t) => {
		for (const off of [
			{ env: { PI_TURN_LIMIT_ODDS: "false" } },
			{ agentFiles: { ...history(200), "turn-limit.json": { odds: false } } },
		]) {
			const pi = await host(t, { ...options, ...off });
			const rpc = await pi.rpc({ answer: "no" });
			await reply(rpc, "advise");
			await rpc.run("second");
			assert.doesNotMatch(rpc.questions[0]?.message ?? "", /Of your/);
			await rpc.close();
			assert.equal(existsSync(tableOf(pi)), false);
		}
	});

	test("two pi at once make one table, and both use it", async (t) => {
		const pi = await host(t, options);
		const both = await Promise.all([pi.rpc({ answer: "no" }), pi.rpc({ answer: "no" })]);
		await Promise.all(both.map((rpc) => rpc.run("first")));
		await tableIn(pi.agentDir);
		await Promise.all(both.map((rpc) => rpc.run("second")));
		for (const rpc of both) assert.ok(rpc.questions[0]?.message?.includes(LINE));
	});
});

test("a person who has said no ten times at this limit reads in the advice that none of these finished", async (t) => {
	const pi = await host(t, { session: true, args: ["--turn-limit", "2"], model: endless() });
	const rpc = await pi.rpc({ answer: "no" });
	for (let i = 0; i < 10; i++) await rpc.run(`go ${i}`);
	const advice = await reply(rpc, "advise");
	assert.match(advice, /^ +2 0% of 10$/m);
	assert.match(advice, /^2 turns \(now\) +10 of 10 \(100%\) +0% /m);
});

test("below 10 prompts that came this far there is no line", async (t) => {
	const pi = await host(t, {
		agentFiles: history(19),
		args: ["--turn-limit", "5"],
		model: (request) => (request.count("second") > 0 ? mark() : text("done")),
	});
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("first");
	await tableIn(pi.agentDir);
	await rpc.run("second");
	assert.equal(rpc.questions.length, 1);
	assert.doesNotMatch(rpc.questions[0]?.message ?? "", /Of your/);
});

test("a script makes no table and gets no line", async (t) => {
	const pi = await host(t, { agentFiles: history(200), args: ["--turn-limit", "3"], model: endless() });
	const { stdout, stderr, code } = await pi.print("go");
	assert.equal(code, 53);
	assert.doesNotMatch(stdout + stderr, /Of your/);
	assert.equal(existsSync(tableOf(pi)), false);
});

test("a table that is damaged, foreign or huge gives no line, and one notice in /turn-limit", async (t) => {
	const pi = await host(t, { agentFiles: { [ODDS_FILE]: "{}" }, args: ["--turn-limit", "2"], model: endless() });
	const rpc = await pi.rpc({ answer: "no" });
	for (const damage of [() => {}, () => truncateSync(tableOf(pi), 2 ** 40)]) {
		damage();
		await rpc.run("go");
		const notices = (await reply(rpc, "")).split("\n").filter((line) => line.startsWith("Odds: "));
		assert.deepEqual(notices, [
			`Odds: ${ODDS_FILE} in pi's agent directory cannot be read. Delete it, and /turn-limit advise makes it again.`,
		]);
	}
	assert.equal(rpc.questions.length, 2);
	for (const { message } of rpc.questions) assert.doesNotMatch(message ?? "", /Of your/);
});

/** An extension to load beside ours: `/threads` waits until there is one, and says how many there have been. */
function tellsThreads(pi: ExtensionAPI): void {
	const shared = globalThis as { threads?: number };
	if (shared.threads === undefined) {
		shared.threads = 0;
		process.on("worker", () => shared.threads!++);
	}
	pi.registerCommand("threads", {
		handler: async (_args, { ui }) => {
			while (shared.threads === 0) await new Promise(setImmediate);
			ui.notify(`${shared.threads} thread`);
		},
	});
}

describe("a worker", () => {
	test("that reads for ever keeps pi neither from answering nor from ending", async (t) => {
		const pi = await host(t, {
			agentFiles: { "sessions/endless.jsonl": "" },
			fresh: true,
			model: endless(text("done")),
		});
		truncateSync(join(pi.agentDir, "sessions/endless.jsonl"), 2 ** 40);
		const terminal = await pi.terminal();
		terminal.type("first\r");
		await terminal.shows("done");
		terminal.type("second\r");
		await pi.model.arrival(2);
		await terminal.shows(/done[^]*done/);
		terminal.press("ctrl+d");
		assert.equal(await terminal.exit(), 0);
		assert.equal(existsSync(tableOf(pi)), false);
	});

	test("that reads for ever is the only one, however many sessions a client begins meanwhile", async (t) => {
		const pi = await host(t, {
			agentFiles: { "sessions/endless.jsonl": "" },
			...{ fresh: true, model: endless(text("done")), after: [tellsThreads] },
		});
		truncateSync(join(pi.agentDir, "sessions/endless.jsonl"), 2 ** 40);
		const rpc = await pi.rpc();
		const threads: string[] = [];
		for (let i = 0; i < 4; i++) {
			await rpc.run("go");
			await rpc.prompt("/threads");
			threads.push(rpc.notifications.at(-1)?.message ?? "");
			await rpc.send({ type: "new_session" });
		}
		assert.deepEqual(threads, ["1 thread", "1 thread", "1 thread", "1 thread"]);
	});

	test("that dies says nothing", async (t) => {
		const pi = await host(t, { agentFiles: { sessions: "a file" }, fresh: true, model: endless(text("done")) });
		const terminal = await pi.terminal();
		terminal.type("first\r");
		await terminal.shows("done");
		terminal.type("second\r");
		const screen = await terminal.shows(/done[^]*done/);
		assert.doesNotMatch(screen, /rror|ENOTDIR|Odds/);
		terminal.press("ctrl+d");
		assert.equal(await terminal.exit(), 0);
	});
});
