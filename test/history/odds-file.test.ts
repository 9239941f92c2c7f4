import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
	mkdirSync,
	readdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ODDS_FILE, storeOdds } from "../../src/history/odds-file.ts";
import { isStale, keepOdds, loadOdds } from "../../src/history/odds-index.ts";
import { type Odds, oddsLine, readOdds, writeOdds } from "../../src/history/odds.ts";
import { startOddsWorker } from "../../src/history/odds-start.ts";
import { defer, type Scope } from "../harness/wait.ts";
import { write } from "../harness/folders.ts";
import { personsSessions } from "./person.ts";
import { example, run, runs } from "./runs.ts";
import { analyse } from "../../src/history/analysis.ts";
import { folder } from "./story.ts";

const odds = (): Odds => example().odds;

/** Keeps the test alive, because the worker does not. */
async function made(...order: Parameters<typeof startOddsWorker>): Promise<void> {
	const awake = setInterval(() => {}, 1000);
	await startOddsWorker(...order).finally(() => clearInterval(awake));
}

/** An agent directory, and the file of the table in it. */
function agent(t: Scope, files: Parameters<typeof folder>[1] = {}): { agentDir: string; path: string } {
	const agentDir = folder(t, files);
	return { agentDir, path: join(agentDir, ODDS_FILE) };
}

describe("the file of the table", () => {
	test("gives back what was stored, is private, small, and holds nothing but figures", (t) => {
		const { agentDir, path } = agent(t);
		storeOdds(agentDir, odds());
		assert.deepEqual(loadOdds(agentDir), odds());
		const { mode, size } = statSync(path);
		assert.equal(mode & 0o777, 0o600);
		assert.ok(size <= 10_000);
		assert.match(readFileSync(path, "utf8"), /^\{"version":1,"prompts":240(,"[a-zC]+":\[(\[[\d.,nul]+\],?)*\])+\}$/);
		assert.deepEqual(readdirSync(join(path, "..")), [ODDS_FILE]);
	});

	test("takes at most 10 KB, however much a person has done", () => {
		const most = { cost: 987.654321, tokens: 99_999, time: 900_000, toolCalls: 3 };
		const busiest = analyse([...runs(40, (i) => 1 + i * 60, most), run(3, { cost: 0.013 })]).odds;
		const rows = Object.fromEntries(
			Object.entries(busiest.rows).map(([meter, rows]) => [
				meter,
				rows.map((row) => ({ ...row, came: 999_999, finished: 999_998, moreTurns: 9999, moreCost: 1230.5 })),
			]),
		) as unknown as Odds["rows"];
		const text = writeOdds({ prompts: 999_999, rows });
		assert.ok((text?.length ?? Infinity) <= 10_000, String(text?.length));
	});

	test("is read again, however much a session says that it has cost", (t) => {
		const { agentDir } = agent(t);
		storeOdds(agentDir, analyse([...runs(20, () => 5), run(3, { cost: 1e9 })]).odds);
		const stored = loadOdds(agentDir);
		assert.ok(typeof stored === "object");
		assert.match(oddsLine(stored, "turns", 2)[0] ?? "", /^Of your 21 prompts .* within 3 more turns \(\$0\.03\)\.$/);
	});

	test("is none if there is none, and damaged if it is anything else, without waiting", (t) => {
		const { agentDir, path } = agent(t);
		assert.equal(loadOdds(agentDir), "none");
		const good = writeOdds(odds()) ?? "";
		for (const text of [
			"",
			"null",
			"[]",
			"{",
			good.slice(0, -1),
			good.replace(':1,"', ':2,"'),
			good + " ".repeat(10_000),
		]) {
			writeFileSync(path, text);
			assert.equal(loadOdds(agentDir), "damaged", text.slice(0, 20));
		}
		for (const make of [
			(path: string) => execFileSync("mkfifo", [path]),
			(path: string) => mkdirSync(path),
			(path: string) => (writeFileSync(path, good), truncateSync(path, 2 ** 40)),
			...[ODDS_FILE, "/dev/zero", "/dev/null"].map((to) => (path: string) => symlinkSync(to, path)),
		]) {
			const { agentDir, path } = agent(t);
			make(path);
			assert.equal(loadOdds(agentDir), "damaged");
		}
		assert.equal(loadOdds(path), "damaged", "the directory is a file");
	});

	test("is stale if it is missing, a link to itself, damaged, older than a day, or of the future", (t) => {
		const { agentDir, path } = agent(t);
		assert.equal(isStale(agentDir, Date.now()), true);
		symlinkSync(ODDS_FILE, path);
		assert.equal(isStale(agentDir, Date.now()), true);
		storeOdds(agentDir, odds());
		const good = readFileSync(path, "utf8");
		const fresh = [good.replace('"version":1', '"version":2'), "{", good].map((text) => {
			writeFileSync(path, text);
			return isStale(agentDir, Date.now() + 1000);
		});
		assert.deepEqual(fresh, [true, true, false]);
		const day = 86_400_000;
		const at = (ms: number): boolean => {
			utimesSync(path, new Date(ms), new Date(ms));
			return isStale(agentDir, 10 * day);
		};
		assert.deepEqual([at(10 * day), at(9 * day), at(9 * day - 1000)], [false, false, true]);
		assert.deepEqual([at(10 * day + 1000), at(11 * day + 1000), at(-day), at(2 ** 44)], [true, true, true, true]);
	});

	test("has the time of this machine's clock, whatever the clock of the disk says", (t) => {
		const { agentDir } = agent(t);
		const now = Date.now() - 3_600_000;
		t.mock.timers.enable({ apis: ["Date"], now });
		storeOdds(agentDir, odds());
		assert.equal(isStale(agentDir, now), false);
	});

	test("is damaged if it belongs to somebody else", (t) => {
		const { agentDir } = agent(t);
		storeOdds(agentDir, odds());
		const { getuid } = process;
		defer(t, () => Object.assign(process, { getuid }));
		const { uid } = statSync(agentDir);
		Object.assign(process, { getuid: () => uid + 1 });
		assert.equal(loadOdds(agentDir), "damaged");
		Object.assign(process, { getuid: undefined });
		assert.deepEqual(loadOdds(agentDir), odds(), "where users have no numbers");
	});

	test("is replaced as a whole, also where a link or a damaged file stood; what cannot be written leaves nothing behind", (t) => {
		const { agentDir, path } = agent(t);
		symlinkSync("/dev/null", path);
		storeOdds(agentDir, odds());
		assert.deepEqual(loadOdds(agentDir), odds());
		const taken = agent(t, { [`${ODDS_FILE}/a file`]: [] });
		assert.throws(() => storeOdds(taken.agentDir, odds()));
		assert.deepEqual(readdirSync(taken.agentDir), [ODDS_FILE]);
	});

	test("is kept from advice only if that has read where this person's sessions are", async (t) => {
		const { agentDir } = agent(t, { "settings.json": ['{"sessionDir":"mine"}'] });
		const whose = { agentDir, cwd: agentDir };
		await keepOdds(odds(), join(agentDir, "sessions"), whose);
		assert.equal(loadOdds(agentDir), "none");
		await keepOdds(odds(), join(agentDir, "mine"), whose);
		assert.deepEqual(loadOdds(agentDir), odds());
		const missing = { agentDir: join(agentDir, "no/such"), cwd: agentDir };
		await keepOdds(odds(), join(missing.agentDir, "sessions"), missing);
	});
});

describe("a table that nobody can have", () => {
	const table = JSON.parse(writeOdds(odds()) ?? "") as Record<string, unknown>;
	const isRead = (change: object): boolean => readOdds(JSON.stringify({ ...table, ...change })) !== undefined;

	test("is not read", () => {
		assert.equal(isRead({}), true);
		assert.equal(isRead({ turns: [[240, 240, 0, 0]] }), true);
		for (const change of [
			...[{ version: 2 }, { version: "1" }, { prompts: -1 }, { prompts: 1.5 }, { prompts: "240" }, { prompts: 1e6 }],
			...[{ turns: undefined }, { cost: {} }, { time: [5] }, { turns: [[]] }, { turns: [[1, 1, 1]] }],
			...[{ turns: [[1, 1, 1, 1, 1]] }, { turns: [[241, 1, 1, 1]] }, { turns: [[5, 6, 1, 1]] }],
			...[
				{ turns: [[5, 5, -1, 1]] },
				{ turns: [[5, 5, 1, -1]] },
				{ turns: [[5, 5, 1, "1"]] },
				{ turns: [[5, 5, 1, 1e9]] },
			],
			...[
				{ turns: [[5, 5, 1e9, 1]] },
				{
					turns: [
						[5, 1, 1, 1],
						[6, 1, 1, 1],
					],
				},
				{ turns: [["\x1b[2J", 1, 1, 1]] },
			],
			{ turns: Array(70).fill([1, 1, 1, 1]) },
		])
			assert.equal(isRead(change), false, JSON.stringify(change));
	});

	test("says nothing that a terminal obeys: a line has words of ours and numbers", () => {
		const [line = ""] = oddsLine(odds(), "turns", 10);
		assert.match(line, /^[A-Za-z0-9 ,.()$]+$/);
	});
});

describe("the worker", () => {
	const sessions = (t: Scope): string => {
		const agentDir = folder(t, {});
		write(agentDir, personsSessions(Date.UTC(2026, 0, 31)));
		return agentDir;
	};

	test("stores the figures that advise has", async (t) => {
		const agentDir = sessions(t);
		await made({ agentDir, cwd: agentDir });
		const stored = loadOdds(agentDir);
		assert.ok(typeof stored === "object");
		assert.equal(stored.prompts, 240);
		assert.match(
			oddsLine(stored, "turns", 10)[0] ?? "",
			/^Of your \d\d prompts that came this far, \d\d finished by themselves, half of them within \d+ more turns\b/,
		);
	});

	test("survives a session whose line would fill the memory of the process", async (t) => {
		const agentDir = sessions(t);
		const bomb = `{"type":"custom","data":[${"{},".repeat(10_000_000)}0]}`;
		write(agentDir, {
			"sessions/--a--/bomb.jsonl": [JSON.stringify({ type: "session", id: "bomb" }), bomb].join("\n"),
		});
		await made({ agentDir, cwd: agentDir });
		assert.equal((loadOdds(agentDir) as Odds).prompts, 240);
	});

	test("two at once leave one table, whole", async (t) => {
		const agentDir = sessions(t);
		const order = { agentDir, cwd: agentDir };
		await Promise.all([made(order), made(order)]);
		assert.equal((loadOdds(agentDir) as Odds).prompts, 240);
		assert.deepEqual(readdirSync(agentDir).sort(), ["sessions", ODDS_FILE]);
	});

	test("that cannot read the sessions, dies, runs out of memory or does not exist hurts nothing", async (t) => {
		const agentDir = folder(t, {
			sessions: ["a file"],
			"throws.mjs": ["throw new Error('no')"],
			"exits.mjs": ["process.exit(3)"],
			"eats.mjs": ["const all = []; for (;;) all.push(Array(1e5).fill({}));"],
			"nothing.mjs": ["import './no-such.mjs'"],
			"prints.mjs": ["console.error('noise'); console.log('noise'); process.emitWarning('noise');"],
		});
		await made({ agentDir, cwd: agentDir });
		for (const name of ["throws.mjs", "exits.mjs", "eats.mjs", "nothing.mjs", "prints.mjs", "missing.mjs"])
			await made({ agentDir, cwd: agentDir }, pathToFileURL(join(agentDir, name)));
		assert.equal(loadOdds(agentDir), "none");
	});

	test("that hangs is ended, and keeps no process", async (t) => {
		const at = folder(t, { "hangs.mjs": ["for (;;);"], "waits.mjs": ["setInterval(() => {}, 1000);"] });
		for (const name of ["hangs.mjs", "waits.mjs"]) {
			const file = pathToFileURL(join(at, name));
			await made({ agentDir: at, cwd: at }, file, 1);
			const start = new URL("../../src/history/odds-start.ts", import.meta.url).href;
			const program = `import { startOddsWorker } from ${JSON.stringify(start)};
				void startOddsWorker({ agentDir: "", cwd: "" }, new URL(${JSON.stringify(file.href)}));`;
			const { stderr } = await promisify(execFile)(process.execPath, [
				"--no-warnings",
				"--input-type=module",
				"-e",
				program,
			]);
			assert.equal(stderr, "");
		}
	});
});
