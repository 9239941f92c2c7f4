/** The person's odds, in sessions of pi in this process. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { turnLimit } from "../../src/index.ts";
import { Tally } from "../../src/loop/tally.ts";
import type { State } from "../../src/core/state.ts";
import { loadOdds, ODDS_FILE, storeOdds } from "../../src/history/odds-file.ts";
import { DAMAGED } from "../../src/history/odds-index.ts";
import { oddsOf } from "../../src/history/odds.ts";
import { PersonalOdds } from "../../src/hosts/pi/ui/odds.ts";
import { type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { runs } from "../history/runs.ts";
import { folder, Story } from "../history/story.ts";

/** 20 prompts of 1 to 20 turns. */
const odds = oddsOf(runs(20, (i) => i + 1));

/** A sandbox's agent directory with the table of these prompts. */
function withTable(t: TestContext, files: Parameters<typeof folder>[1] = {}): string {
	const agentDir = folder(t, files);
	storeOdds(agentDir, odds);
	return agentDir;
}

const LINE = (came: number, more: string): string =>
	`Of your ${came} prompts that came this far, ${came} finished by themselves, half of them within ${more}.`;

/** A run with a table, stopped at the question; gives what was asked. */
async function asked(t: TestContext, options: InsideOptions, prepare?: (pi: Inside) => void): Promise<string[]> {
	const pi: Inside = await inside(t, {
		...{ person: (_asked, n) => n < 3, model: endless(noop), ...options },
		env: { PI_TURN_LIMIT_REPEATS: "unlimited", ...options.env },
	});
	prepare?.(pi);
	await pi.run("go");
	return pi.asked.map(({ message }) => message);
}

const store = (pi: Inside): void => storeOdds(pi.folder, odds);

describe("the question", () => {
	test("says what became of prompts that came as far as all rounds of this one together", async (t) => {
		const [first = "", second = "", third = ""] = await asked(t, { env: { PI_MAX_TURNS: "4" } }, store);
		assert.ok(first.includes(`\n${LINE(16, "8 more turns ($0.08)")}\nYes: `), first);
		assert.ok(second.includes(`\n${LINE(12, "6 more turns ($0.06)")}\nYes: `), second);
		assert.doesNotMatch(third, /Of your/);
	});

	for (const [what, limit, more] of [
		["calls", { PI_TURN_LIMIT_TOOLS: "4" }, "7 more turns ($0.07)"],
		["dollars", { PI_TURN_LIMIT_COST: "0.04" }, "8 more turns ($0.08)"],
		["tokens", { PI_TURN_LIMIT_TOKENS: "40k" }, "8 more turns ($0.08)"],
	] as const)
		test(`says it of prompts that spent as many ${what}`, async (t) => {
			const many = oddsOf(runs(20, (i) => i + 1, { tokens: 10_000 }));
			const model = endless(what === "tokens" ? { ...noop, usage: { prompt: 9000, completion: 1000 } } : noop);
			const [first = ""] = await asked(t, { env: limit, model }, (pi) => storeOdds(pi.folder, many));
			assert.ok(first.includes(`\n${LINE(16, more)}\n`), first);
		});

	const four = { env: { PI_MAX_TURNS: "4" } };
	for (const [where, options, prepare] of [
		["about a limit of a session", { env: { PI_MAX_TURNS: "unlimited", PI_TURN_LIMIT_SESSION_TURNS: "4" } }, store],
		["with odds off", { env: { ...four.env, PI_TURN_LIMIT_ODDS: "off" } }, store],
		["without a table", four, () => {}],
		["with a damaged table", four, (pi: Inside) => writeFileSync(join(pi.folder, ODDS_FILE), "[]")],
		["in a program that embeds pi", { extensions: [turnLimit({ turns: 4 })] }, store],
	] as const)
		test(`says nothing of it ${where}`, async (t) => {
			const messages = await asked(t, options as InsideOptions, prepare);
			assert.match(messages[0] ?? "", /You've used 4 turns/);
			assert.doesNotMatch(messages.join("\n"), /Of your/);
		});
});

describe("/turn-limit", () => {
	async function said(t: TestContext, options: InsideOptions, prepare: (pi: Inside) => void): Promise<string[]> {
		const replies: string[] = [];
		const pi: Inside = await inside(t, {
			...{ env: { PI_MAX_TURNS: "4" }, model: endless(noop), ...options },
			person: async () => {
				await pi.run("/turn-limit");
				replies.push(pi.notifications.at(-1)?.message ?? "");
				return false;
			},
		});
		prepare(pi);
		await pi.run("go");
		await pi.run("/turn-limit");
		return [...replies, pi.notifications.at(-1)?.message ?? ""];
	}

	test("says in a run where it stands, and between runs nothing", async (t) => {
		const [during = "", after = ""] = await said(t, {}, store);
		assert.match(during, /\n4 turns; 20 of 100 of your prompts are done by now\.$/);
		assert.doesNotMatch(after, /of your prompts/);
		assert.match(after, /\nLast run: /);
	});

	test("names a table that cannot be read", async (t) => {
		const damage = (pi: Inside): void => writeFileSync(join(pi.folder, ODDS_FILE), "[]");
		const notice = new RegExp(`^${DAMAGED}$`, "m");
		const replies = await said(t, {}, damage);
		assert.equal(replies.length, 2);
		for (const reply of replies) assert.match(reply, notice);
	});

	test("names no table with odds off", async (t) => {
		const off = { env: { PI_MAX_TURNS: "4", PI_TURN_LIMIT_ODDS: "false" } };
		const damage = (pi: Inside): void => writeFileSync(join(pi.folder, ODDS_FILE), "[]");
		for (const reply of await said(t, off, damage)) assert.doesNotMatch(reply, /Odds: /);
	});

	test("misses no table that was never made", async (t) => {
		for (const reply of await said(t, {}, () => {})) assert.doesNotMatch(reply, /Odds: /);
	});
});

describe("the table", () => {
	const sessions = { "sessions/--p--/a.jsonl": new Story().prompt().turns(3).lines() };

	/** Keeps the test alive, because the worker does not. */
	async function awake<T>(work: Promise<T>): Promise<T> {
		const timer = setInterval(() => {}, 1000);
		return await work.finally(() => clearInterval(timer));
	}

	test("is made if there is none or if it is damaged or older than a day, and not tried again within an hour", async (t) => {
		const agentDir = folder(t, sessions);
		const personal = new PersonalOdds(
			() => agentDir,
			() => true,
		);
		const made = async (now: number): Promise<boolean> => {
			await awake(personal.refresh(agentDir, now));
			const odds = loadOdds(agentDir);
			return typeof odds === "object" && odds.prompts > 0;
		};
		const now = Date.now();
		const hour = 3_600_000;
		assert.equal(await made(now), true);
		const empty = oddsOf([]);
		storeOdds(agentDir, empty);
		const day = 86_400_000;
		utimesSync(join(agentDir, ODDS_FILE), new Date(now - 2 * day), new Date(now - 2 * day));
		assert.equal(await made(now + hour - 1), false);
		assert.equal(await made(now + hour), true);
		storeOdds(agentDir, empty);
		assert.equal(await made(now + 3 * hour), false);
		writeFileSync(join(agentDir, ODDS_FILE), "damaged");
		assert.equal(await made(now + 3 * hour), true);
	});

	test("is made again after the clock was a year ahead and was set right", async (t) => {
		const agentDir = folder(t, sessions);
		const personal = new PersonalOdds(
			() => agentDir,
			() => true,
		);
		const now = Date.now();
		for (const time of [now + 365 * 86_400_000, now]) {
			await awake(personal.refresh(agentDir, time));
			assert.equal(typeof loadOdds(agentDir), "object");
			rmSync(join(agentDir, ODDS_FILE));
		}
	});

	test("is not made with odds off, for a program, or where no session is stored", async (t) => {
		const agentDir = folder(t, sessions);
		const empty = folder(t, {});
		for (const personal of [
			new PersonalOdds(
				() => agentDir,
				() => false,
			),
			new PersonalOdds(undefined, () => true),
			new PersonalOdds(
				() => empty,
				() => true,
			),
		]) {
			await awake(personal.refresh(agentDir));
			await personal.keep(odds, join(agentDir, "sessions"), agentDir);
		}
		assert.deepEqual([readdirSync(agentDir), readdirSync(empty)], [["sessions"], []]);
	});

	test("is taken over from advice about all of a person's sessions", async (t) => {
		const agentDir = folder(t, sessions);
		const personal = new PersonalOdds(
			() => agentDir,
			() => true,
		);
		await personal.keep(odds, join(agentDir, "elsewhere"), agentDir);
		assert.equal(loadOdds(agentDir), "none");
		await personal.keep(odds, join(agentDir, "sessions"), agentDir);
		assert.deepEqual(loadOdds(agentDir), odds);
	});

	test("says nothing before it is loaded, while nothing runs, and to nobody", async (t) => {
		const agentDir = withTable(t);
		const personal = new PersonalOdds(
			() => agentDir,
			() => true,
		);
		const idle = { attended: true, phase: { name: "idle" } } as unknown as State;
		const run = { spent: { turns: 4 } };
		const running = {
			attended: true,
			phase: { name: "running", run },
			meters: { turns: { used: 2 } },
		} as unknown as State;
		assert.deepEqual(personal.atQuestion(running, "turns", new Tally()), []);
		await personal.prepare();
		assert.deepEqual(personal.atQuestion(running, "turns", new Tally()), [LINE(16, "8 more turns ($0.08)")]);
		assert.deepEqual(personal.atQuestion(idle, "turns", new Tally()), []);
		assert.deepEqual(await personal.inStatus(idle, new Tally()), []);
		assert.deepEqual(await personal.inStatus({ ...running, attended: false }, new Tally()), []);
		assert.equal((await personal.inStatus(running, new Tally())).length, 1);
	});

	test("counts the round of the prompt where another extension's run goes on with it", async (t) => {
		const agentDir = withTable(t);
		const personal = new PersonalOdds(
			() => agentDir,
			() => true,
		);
		await personal.prepare();
		const tally = new Tally();
		tally.ended({ turns: 7, continuations: 0 } as never);
		const run = { spent: { turns: 1, continuations: 0 } };
		const state = { attended: true, phase: { name: "running", run } } as unknown as State;
		assert.deepEqual(personal.atQuestion(state, "turns", tally), [LINE(12, "6 more turns ($0.06)")]);
		const stands = ["8 turns; 40 of 100 of your prompts are done by now."];
		assert.deepEqual(await personal.inStatus(state, tally), stands);
	});

	test("is not made by a script", async (t) => {
		const pi = await inside(t, { env: { PI_MAX_TURNS: "2" }, model: endless(noop) });
		await pi.run("go");
		assert.equal(existsSync(join(pi.folder, ODDS_FILE)), false);
	});
});
