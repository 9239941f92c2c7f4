/** Where a shared limit is set and the ledger cannot be used: closed, told, nothing lost. */
import assert from "node:assert/strict";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	renameSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { openSqlite } from "../../src/ledger/sqlite/ledger.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { Followed, type Inside } from "../harness/inside.ts";
import { held, text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";
import {
	announced,
	directoryOf,
	fileOf,
	kinds,
	ofFleet,
	questions,
	readTree,
	say,
	sharing,
	type SharingOptions,
	status,
} from "./sharing.ts";

interface Fault {
	/** What the message says. */
	readonly said: RegExp;
	readonly harm: (pi: Inside, t: TestContext) => void;
}

const FAULTS: Readonly<Record<string, Fault>> = {
	"is damaged": {
		said: /cannot be used: .*malformed\. It was moved to .*; the next time it is needed, a new one begins/,
		harm: (pi) => {
			truncateSync(fileOf(pi), 6000);
		},
	},
	"is read-only": { said: /is read-only/, harm: (pi) => chmodSync(fileOf(pi), 0o400) },
	"is a link": {
		said: /is a link/,
		harm: (pi) => {
			renameSync(fileOf(pi), join(pi.folder, "elsewhere"));
			symlinkSync(join(pi.folder, "elsewhere"), fileOf(pi));
		},
	},
	"is a file where its directory should be": {
		said: /is not a directory/,
		harm: (pi) => {
			renameSync(directoryOf(pi), `${directoryOf(pi)}.old`);
			writeFileSync(directoryOf(pi), "");
		},
	},
	"is locked by another process": {
		said: /locked/,
		harm: (pi, t) => {
			const other = new DatabaseSync(fileOf(pi));
			other.exec("BEGIN IMMEDIATE");
			defer(t, () => other.close());
			// It waits for five seconds, which are over at once.
			let now = performance.now();
			t.mock.method(performance, "now", () => (now += 1000));
		},
	},
	"was made by a newer version": {
		said: /newer pi-turn-limit/,
		harm: (pi) => {
			const other = new DatabaseSync(fileOf(pi));
			other.exec("PRAGMA user_version = 99");
			other.close();
		},
	},
};

for (const [what, { said, harm }] of Object.entries(FAULTS)) {
	describe(`a ledger that ${what}`, () => {
		test("stops a run where nobody can be asked, before its first request, and says why", async (t) => {
			const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model: [text("one"), text("two")] });
			await pi.run("go");
			harm(pi, t);
			await pi.run("once more");
			assert.equal(pi.model.requests.length, 1);
			assert.match(pi.last?.errorMessage ?? "", /^pi-turn-limit: failed and stopped the run: The ledger/);
			assert.match(pi.last?.errorMessage ?? "", said);
		});

		test("asks a person, who can go on without it for this run", async (t) => {
			const model = [noop, text("one"), noop, text("two")];
			const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model, person: (_asked, n) => n === 1 });
			await pi.run("go");
			harm(pi, t);
			await pi.run("once more");
			const { title, message = "" } = pi.asked[0] ?? {};
			assert.equal(title, "Shared budget out of reach");
			assert.match(message, said);
			assert.match(message, /Continue without the day turn limit, for this run\?/);
			assert.match(message, /Yes: without it. No: the run ends here\.$/);
			assert.deepEqual([pi.asked.length, pi.model.requests.length], [1, 4]);
		});
	});
}

test("a person who does not go on without the ledger ends the run, and nothing is lost", async (t) => {
	const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, person: () => false });
	mkdirSync(directoryOf(pi), { mode: 0o700, recursive: true });
	writeFileSync(fileOf(pi), "no database");
	chmodSync(fileOf(pi), 0o400);
	await pi.run("go");
	assert.equal(pi.model.requests.length, 0);
	chmodSync(fileOf(pi), 0o600);
	await pi.run("go");
	assert.match(pi.asked[1]?.message ?? "", /is not a database/);
	assert.ok(readdirSync(pi.folder).some((name) => name.startsWith("turn-limit-ledger.damaged-")));
});

test("what a run spends without the ledger is counted once it can be used again", async (t) => {
	const model = (_request: unknown, n: number) => {
		if (n === 3) chmodSync(fileOf(pi), 0o600);
		return n === 4 ? text("done") : noop;
	};
	const pi: Inside = await sharing(t, { limits: { day: { maxTurns: 90 } }, model, person: () => true });
	await pi.run("/turn-limit day turns 50");
	chmodSync(fileOf(pi), 0o400);
	await pi.run("go");
	assert.equal(pi.asked.length, 1);
	await pi.run("/turn-limit day");
	assert.match(pi.notifications.at(-1)?.message ?? "", /^day turns +4 of 50/);
	assert.deepEqual(kinds(pi), ["completed"]);
});

test("a damage that was found between two runs closes the gate of the next", async (t) => {
	const pi = await sharing(t, { limits: { day: { maxTurns: 2 } } });
	await pi.run("go");
	assert.equal(pi.model.requests.length, 2);
	truncateSync(fileOf(pi), 6000);
	await pi.run("/turn-limit");
	await pi.run("once more");
	assert.equal(pi.model.requests.length, 2);
	assert.match(pi.last?.errorMessage ?? "", /is malformed/);
});

test("a ledger that is deleted in mid-turn closes the gate of the next, because its counts are lost", async (t) => {
	const model = () => {
		rmSync(directoryOf(pi), { recursive: true });
		return noop;
	};
	const pi: Inside = await sharing(t, { limits: { day: { maxTurns: 9 } }, model });
	await pi.run("go");
	assert.equal(pi.model.requests.length, 1);
	assert.match(pi.last?.errorMessage ?? "", /was moved or deleted while it was open/);
	await pi.run("/turn-limit day 8");
	await pi.run("once more");
	assert.equal(pi.model.requests.length, 2, "it is told once");
});

test("a ledger that is deleted in the last turn of a run closes the gate of the next run", async (t) => {
	const model = () => {
		rmSync(directoryOf(pi), { recursive: true });
		return text("done");
	};
	const pi: Inside = await sharing(t, { limits: { day: { maxTurns: 9 } }, model });
	await pi.run("go");
	await pi.run("once more");
	assert.equal(pi.model.requests.length, 1);
	assert.match(pi.last?.errorMessage ?? "", /was moved or deleted while it was open/);
});

describe("a ledger whose directory is a file", () => {
	/** A session that cannot use its ledger, until the file is gone. */
	async function barred(t: TestContext, limits: object, options: Partial<SharingOptions> = {}) {
		const agentFiles = { "turn-limit-ledger": "" };
		const pi = await sharing(t, {
			limits,
			agentFiles: { "turn-limit.json": { grace: 0, ...limits }, ...agentFiles },
			...options,
		});
		return { pi, mend: () => rmSync(directoryOf(pi)), isOpened: () => existsSync(fileOf(pi)) };
	}

	test("is tried again at the gates of a run that goes on without it, not between them", async (t) => {
		const seen: boolean[] = [];
		const looks = (api: ExtensionAPI): void => {
			api.on("tool_call", () => void seen.push(session.isOpened()));
		};
		const model = (_request: unknown, n: number) => {
			if (n === 1) session.mend();
			seen.push(session.isOpened());
			return n === 1 ? noop : text("done");
		};
		const extensions = [installed, looks];
		const session = await barred(t, { day: { maxTurns: 9 } }, { model, extensions, person: () => true });
		await session.pi.run("go");
		assert.deepEqual(seen, [false, false, true]);
	});

	test("is tried again at the end of such a run", async (t) => {
		const model = () => {
			session.mend();
			return text("done");
		};
		const session = await barred(t, { day: { maxTurns: 9 } }, { model, person: () => true });
		await session.pi.run("go");
		assert.equal(session.isOpened(), true);
		assert.deepEqual(await status(session.pi, "day turns"), ["day turns  1 of 9  day.maxTurns in turn-limit.json"]);
	});

	test("is not tried again at the end of a run that has spent nothing", async (t) => {
		const session = await barred(
			t,
			{ day: { maxTurns: 9 } },
			{
				person: () => {
					session.mend();
					return false;
				},
			},
		);
		await session.pi.run("go");
		assert.deepEqual([session.pi.model.requests.length, session.isOpened()], [0, false]);
	});

	test("is told that an agent has ended although its next turn was not made", async (t) => {
		const pi: Inside = await sharing(t, {
			limits: { tree: { maxTurns: 9 } },
			model: () => {
				renameSync(directoryOf(pi), `${directoryOf(pi)}.old`);
				writeFileSync(directoryOf(pi), "");
				return noop;
			},
			person: () => {
				rmSync(directoryOf(pi));
				renameSync(`${directoryOf(pi)}.old`, directoryOf(pi));
				return false;
			},
		});
		await pi.run("go");
		const tree = announced();
		assert.ok(tree);
		const { agents, turns } = await readTree(tree);
		assert.deepEqual([agents?.used, agents?.held, turns?.used, turns?.held], [1, 0, 1, 0]);
	});

	test("is a warning for a person who asks or grants, and closes the gate of the next run", async (t) => {
		const { pi } = await barred(t, { day: { maxTurns: 9 } }, { person: () => false });
		const path = directoryOf(pi);
		const warning = `The shared budget cannot be read: The ledger is refused: ${path} is not a directory.`;
		assert.deepEqual(pi.notifications, [{ message: warning, type: "warning" }]);
		assert.deepEqual(await say(pi, "day +3"), ["3 turns more: 12 today."]);
		assert.match((await say(pi, "day turns"))[0] ?? "", /^day turns /);
		await pi.run("go");
		assert.deepEqual([pi.asked[0]?.title, pi.model.requests.length, pi.errors], ["Shared budget out of reach", 0, []]);
	});

	test("is opened anew after a grant that it did not hear of, and hears of it then", async (t) => {
		const { pi, mend } = await barred(t, { day: { maxTurns: 2 } }, { person: () => false });
		assert.deepEqual(await say(pi, "day +3"), ["3 turns more: 5 today."]);
		mend();
		await pi.run("go");
		assert.deepEqual([questions(pi), pi.model.requests.length], [["You've used 5 turns today. Continue?"], 5]);
	});

	test("says why it is out of reach after a grant, and hears of the grant when it is back", async (t) => {
		const person = (): boolean => {
			if (pi.asked.length > 1) return false;
			session.mend();
			return true;
		};
		const session = await barred(t, { day: { maxTurns: 2 } }, { person });
		const { pi } = session;
		await say(pi, "day +3");
		await pi.run("go");
		assert.match(pi.asked[0]?.message ?? "", /is not a directory/);
		assert.equal(questions(pi)[1], "You've used 5 turns today. Continue?");
		assert.equal(pi.model.requests.length, 5);
	});
});

test("the end of a session waits until a slow ledger has heard of the turn that was under way", async (t) => {
	const slow = held(text("done"));
	const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model: [slow], person: () => false });
	void pi.session.prompt("go");
	await pi.model.arrival(1);
	const other = new DatabaseSync(fileOf(pi));
	other.exec("BEGIN IMMEDIATE");
	let hasEnded = false;
	const ending = pi.session.extensionRunner
		.emit({ type: "session_shutdown", reason: "quit" })
		.then(() => (hasEnded = true));
	for (let i = 0; i < 50; i++) await setImmediate();
	assert.equal(hasEnded, false);
	other.close();
	await ending;
	assert.equal(await turnsToday(pi), 1);
	slow.release();
	await pi.until("the end of the run", () => pi.events.some(({ type }) => type === "agent_end"));
});

/** The turns of today, as the ledger has them. */
async function turnsToday(pi: Inside): Promise<number | undefined> {
	const ledger = await openSqlite({ directory: directoryOf(pi), within: pi.folder });
	const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
	const [reading] = await ledger.read([{ scope: "day", zone, caps: {} }]);
	ledger.close();
	return reading?.meters["turns"]?.used;
}

describe("a ledger that is locked from the last turn of a run on", () => {
	let other: DatabaseSync;
	const harm = (pi: Inside, t: TestContext): void => {
		other = new DatabaseSync(fileOf(pi));
		other.exec("BEGIN IMMEDIATE");
		// It waits for five seconds, which are over at once.
		let now = performance.now();
		t.mock.method(performance, "now", () => (now += 1000));
	};
	const debts = (pi: Inside): string => `${directoryOf(pi)}.debts`;
	const warnings = (pi: Inside): string[] =>
		pi.notifications.flatMap(({ message, type }) => (type === "warning" ? [message] : []));

	async function harmed(
		t: TestContext,
		more: (pi: Inside) => void = () => {},
		who: Pick<SharingOptions, "mode" | "person"> = { person: () => false },
	) {
		const model = (_request: unknown, n: number) => {
			if (n === 1) {
				harm(pi, t);
				more(pi);
			}
			return text("done");
		};
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 9 }, tree: { maxTurns: 9 } },
			model,
			...who,
		});
		return pi;
	}

	test("leaves a debt of which the person is told, and which the next look at the budget pays", async (t) => {
		const pi = await harmed(t);
		await pi.run("go");
		const reason = `The ledger ${directoryOf(pi)} cannot be used: database is locked.`;
		const kept = "It is saved, and counted when the budget is next used";
		assert.deepEqual(warnings(pi), [
			`Not yet counted in the shared budget: 1 turn, $0.01, 550 tokens. ${kept}. ${reason}`,
		]);
		assert.equal(readdirSync(debts(pi)).length, 1, "the end of the agent is none");
		other.close();
		await say(pi);
		assert.deepEqual([readdirSync(debts(pi)), await turnsToday(pi)], [[], 1]);
		await pi.run("once more");
		assert.equal(await turnsToday(pi), 2);
	});

	test("leaves in memory what cannot be kept, says so once, and pays it when it can", async (t) => {
		const pi = await harmed(t, (pi) => writeFileSync(debts(pi), ""));
		await pi.run("go");
		await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
		const [warning = "", ...others] = warnings(pi);
		assert.match(
			warning,
			/^Not counted in the shared budget: 1 turn, .*\. It is lost when this process ends\. The ledger .* is locked\. A debt cannot be kept in /,
		);
		assert.deepEqual(others, []);
		rmSync(debts(pi));
		other.close();
		await say(pi);
		assert.equal(await turnsToday(pi), 1);
	});

	for (const [mode, who] of [
		["print", {}],
		["json", {}],
		["rpc", { person: () => false }],
	] as const) {
		const code = mode === "rpc" ? 0 : 1;
		test(`ends a pi in ${mode} mode with ${code} if the debt cannot be kept`, async (t) => {
			const followed = new Followed(t);
			const pi = await harmed(t, (pi) => writeFileSync(debts(pi), ""), { mode, ...who });
			await pi.run("go");
			await pi.quit();
			assert.equal(followed.end(0), code);
		});
	}

	test("is waited for once by a script whose last turn has met it", async (t) => {
		const pi = await harmed(t);
		await pi.run("go");
		const waited = performance.now();
		await pi.quit();
		assert.ok(performance.now() - waited < 5000, "the end of the session looked at it again");
	});

	test("keeps several debts of a run, and says their sum", async (t) => {
		const pays = (api: ExtensionAPI): void => {
			api.on("turn_end", async () => {
				await pi.session.extensionRunner.emit({ type: "session_tree", summaryEntry: { usage } } as never);
			});
		};
		const usage = { input: 3, cost: { total: 0.5 } };
		const model = () => {
			harm(pi, t);
			return text("done");
		};
		const options = { limits: { day: { maxTurns: 9 } }, model, person: () => false, extensions: [installed, pays] };
		const pi: Inside = await sharing(t, options);
		await pi.run("go");
		assert.match(warnings(pi).join(), /Not yet counted in the shared budget: 1 turn, \$0\.51, 553 tokens\./);
		assert.equal(readdirSync(debts(pi)).length, 2);
		other.close();
		await say(pi);
		assert.equal(await turnsToday(pi), 1);
	});

	test("closes the next gate if a debt cannot be paid", async (t) => {
		const pi = await harmed(t);
		await pi.run("go");
		other.close();
		const [name = ""] = readdirSync(debts(pi));
		writeFileSync(join(debts(pi), name), "{");
		await pi.run("once more");
		assert.match(pi.asked[0]?.message ?? "", /The debt .* cannot be paid: /);
		assert.equal(pi.model.requests.length, 1);
	});
});

describe("a fleet's server that nobody has started", () => {
	const unreachable = "The budget at 127.0.0.1/fleet cannot be reached: nothing listens there.";

	test("stops a run where nobody can be asked", async (t) => {
		const pi = await ofFleet(t, { limits: { day: { maxTurns: 9 } } });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 0);
		assert.equal(pi.last?.errorMessage, `pi-turn-limit: failed and stopped the run: ${unreachable}`);
	});

	test("is a warning for a person who asks, who sees the day all the same", async (t) => {
		const pi = await ofFleet(t, { limits: { day: { maxTurns: 9 } }, person: () => false });
		assert.deepEqual(pi.notifications, []);
		assert.deepEqual(await say(pi, "day turns"), [
			`The shared budget cannot be read: ${unreachable}`,
			"day turns  0 of 9  day.maxTurns in turn-limit.json",
		]);
	});
});
