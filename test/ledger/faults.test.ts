/** A ledger whose file is wrong is closed, says why, and loses nothing. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
	chmodSync,
	chownSync,
	closeSync,
	cpSync,
	linkSync,
	lstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	truncateSync,
	utimesSync,
	writeFileSync,
	writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { suite, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import type { Fault } from "../../src/ledger/faults.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { idleTime, type SqliteOptions } from "../../src/ledger/sqlite/ledger.ts";
import { resultCode } from "../../src/ledger/sqlite/runtime.ts";
import { defer } from "../harness/wait.ts";
import { openIn, type Sandbox, sandbox } from "./sandbox.ts";
import { balance, DAY, day, fault, fleet, month, NOON, tree, MINUTE, week } from "./world.ts";

/** A ledger in which a tree of 9 has spent 2, closed again. */
async function spent(t: TestContext): Promise<Sandbox> {
	const box = sandbox(t);
	const ledger = await box.open();
	await ledger.join(tree({ turns: 9 }));
	await ledger.settle("before", [tree()], { turns: 2 });
	ledger.close();
	return box;
}

const unharmed = async (ledger: Ledger): Promise<void> => assert.deepEqual(await balance(ledger, tree()), [2, 0, 9]);

/** The names of what stands beside the ledger. */
const besides = ({ agentDir }: Sandbox): string[] => readdirSync(agentDir).filter((name) => name !== "ledger");

suite("a damaged ledger", () => {
	const damage: Record<string, (file: string) => void> = {
		"is overwritten in the middle": (file) => overwrite(file, 1, 3),
		"is overwritten where opening would not look": (file) => overwrite(file, 3, 1),
		"is cut off": (file) => truncateSync(file, 6000),
		"is empty": (file) => empty(file),
		"holds nothing but a line break": (file) => (writeFileSync(file, "\n"), utimesSync(file, 0, 0)),
		"has lost a table": (file) => run(file, "DROP TABLE meters"),
		"has lost all its tables": (file) =>
			["accounts", "meters", "holds", "done"].forEach((table) => run(file, `DROP TABLE ${table}`)),
		"has lost a column": (file) => run(file, "ALTER TABLE done RENAME COLUMN at TO moment"),
		"has lost a column of its holds": (file) => run(file, "ALTER TABLE holds RENAME COLUMN until TO moment"),
		"has lost its version": (file) => run(file, "PRAGMA user_version = 0"),
		"is something else": (file) => writeFileSync(file, "a text of some length, but no database".repeat(100)),
	};
	for (const [what, harm] of Object.entries(damage)) {
		test(`that ${what} is moved aside, reported, and made anew the next time`, async (t) => {
			const box = await spent(t);
			harm(box.file);
			const bytes = readFileSync(box.file);
			await assert.rejects(box.open(), (error: Error) => {
				assert.ok(fault("damaged")(error));
				assert.ok(error.message.includes(join(box.agentDir, ...besides(box))), error.message);
				assert.match(
					error.message,
					/^The ledger .*(damaged|is empty|file is not a database|lost its tables or its version)/,
				);
				assert.match(error.message, /\.damaged-\d{17}-\d+; the next time it is needed, a new one begins\.$/);
				return true;
			});
			const [aside = ""] = besides(box);
			assert.deepEqual(readFileSync(join(box.agentDir, aside, "ledger.sqlite")), bytes);

			const ledger = await box.open();
			await assert.rejects(ledger.read([tree()]), fault("unjoined"));
			await ledger.join(tree({ turns: 3 }));
			assert.deepEqual(besides(box), [aside]);
		});
	}

	test("that cannot be moved aside is reported with the reason, and leaves no file open", async (t) => {
		const box = await spent(t);
		damage["has lost a table"]?.(box.file);
		asOrdinaryUser(t, box);
		chmodSync(box.agentDir, 0o500);
		await assert.rejects(box.open(), {
			...{ name: "LedgerError", kind: "damaged" },
			message: /^The ledger has lost its tables or its version\. It cannot be moved: EACCES: /,
		});
		assert.deepEqual(openIn(box.agentDir), []);
		chmodSync(box.agentDir, 0o700);
	});

	test("whose pages are damaged leaves no file open", async (t) => {
		const box = await spent(t);
		damage["is overwritten where opening would not look"]?.(box.file);
		await assert.rejects(box.open(), { message: /^The ledger .*ledger\.sqlite is damaged\. It was moved to / });
		assert.deepEqual(openIn(box.agentDir), []);
	});

	test("of no length that another process made in the same moment is not taken for ours", async (t) => {
		const box = sandbox(t);
		mkdirSync(box.directory, 0o700);
		touch(box.file);
		await assert.rejects(box.open({ deadline: 50 }), {
			...{ name: "LedgerError", kind: "locked" },
			message: `The ledger ${box.file} is being made.`,
		});
		assert.equal(lstatSync(box.file).size, 0);
	});

	test("is moved aside once, however many find it", async (t) => {
		const box = await spent(t);
		damage["is cut off"]?.(box.file);
		const found = await Promise.allSettled([box.open(), box.open(), box.open()]);
		const said = found.map((each) => (each.status === "rejected" ? String(each.reason) : "opened"));
		assert.deepEqual(
			[/It was moved to/, /Another process has moved it/].map(
				(pattern) => said.filter((text) => pattern.test(text)).length,
			),
			[1, 2],
			said.join("\n"),
		);
		assert.equal(besides(box).length, 1);
		await (await box.open()).join(tree());
	});

	test("is not moved aside by one who found it late, when another has begun a new one", async (t) => {
		const box = await spent(t);
		run(box.file, "DROP TABLE meters");
		let isNew = false;
		const now = (): number => {
			if (!isNew) {
				renameSync(box.directory, `${box.directory}.damaged-first`);
				cpSync(`${box.directory}.damaged-first`, box.directory, { recursive: true });
				isNew = true;
			}
			return NOON;
		};
		await assert.rejects(
			box.open({ now }),
			(error: Error) => fault("damaged")(error) && /Another process has moved it/.test(error.message),
		);
		assert.deepEqual(besides(box), ["ledger.damaged-first"]);
		assert.ok(lstatSync(box.file).isFile());
	});

	test("of no length is waited for while another process may be making it", async (t) => {
		const box = sandbox(t);
		mkdirSync(box.directory, 0o700);
		touch(box.file);
		const opening = box.open();
		for (let i = 0; i < 100; i++) await setImmediate();
		const other = new DatabaseSync(box.file);
		other.exec("PRAGMA journal_mode = WAL");
		other.close();
		await (await opening).join(tree());
		assert.deepEqual(besides(box), []);
	});

	test("that another process moves aside is closed for those who have it open", async (t) => {
		const box = await spent(t);
		const ledger = await box.open();
		renameSync(box.directory, `${box.directory}.aside`);
		await assert.rejects(ledger.settle("a", [tree()], { turns: 1 }), {
			...{ name: "LedgerError", kind: "replaced" },
			message: `The ledger ${box.file} was moved or deleted while it was open.`,
		});
		await (await box.open()).join(tree());
		await assert.rejects(ledger.read([tree()]), fault("replaced"), "also when there is a new one");
	});
});

test("a ledger that is deleted while it is open is closed", async (t) => {
	const box = await spent(t);
	const ledger = await box.open();
	rmSync(box.directory, { recursive: true });
	await assert.rejects(ledger.reserve("a", [tree()], { turns: 1 }, MINUTE), fault("replaced"));
});

suite("a locked ledger", () => {
	const lock = (t: TestContext, { file }: Sandbox): DatabaseSync => {
		const other = new DatabaseSync(file);
		defer(t, () => other.close());
		other.exec("BEGIN IMMEDIATE");
		return other;
	};

	test("is waited for without holding up the process", async (t) => {
		const box = await spent(t);
		const ledger = await box.open();
		const other = lock(t, box);
		const settled = ledger.settle("a", [tree()], { turns: 1 });
		for (let i = 0; i < 100; i++) await setImmediate();
		other.exec("ROLLBACK");
		await settled;
		assert.deepEqual(await balance(ledger, tree()), [3, 0, 9]);
	});

	test("closes every operation that writes, opening too, and nothing is counted", async (t) => {
		const box = await spent(t);
		const ledger = await box.open({ deadline: 100 });
		const other = lock(t, box);
		const closed = [
			box.open({ deadline: 100 }),
			ledger.join(tree()),
			ledger.reserve("a", [tree()], { turns: 1 }, MINUTE),
			ledger.settle("b", [tree()], { turns: 1 }),
			ledger.renew(["a"], MINUTE),
			ledger.raise("c", tree(), { turns: 1 }),
		];
		await Promise.all(closed.map((operation) => assert.rejects(operation, fault("locked"))));
		await unharmed(ledger);
		other.exec("ROLLBACK");
		assert.ok((await ledger.reserve("a", [tree()], { turns: 1 }, MINUTE)).granted);
	});
});

suite("a transaction", () => {
	const uses: Record<string, (ledger: Ledger) => Promise<unknown>> = {
		"opening it": () => Promise.resolve(),
		joining: (ledger) => ledger.join(tree()),
		reserving: (ledger) => ledger.reserve("a", [tree()], { turns: 1 }, MINUTE),
		settling: (ledger) => ledger.settle("a", [tree()], { turns: 1 }),
		renewing: (ledger) => ledger.renew(["a"], MINUTE),
		raising: (ledger) => ledger.raise("a", tree(), { turns: 1 }),
		reading: (ledger) => ledger.read([tree()]),
	};
	for (const [what, use] of Object.entries(uses)) {
		const isWriting = what !== "reading";
		test(`for ${what} ${isWriting ? "keeps others from writing" : "lets others write"} from its beginning`, async (t) => {
			const box = await spent(t);
			const other = new DatabaseSync(box.file);
			defer(t, () => other.close());
			const locked: boolean[] = [];
			const now = (): number => {
				try {
					other.exec("BEGIN IMMEDIATE");
					other.exec("ROLLBACK");
					locked.push(false);
				} catch {
					locked.push(true);
				}
				return Date.now();
			};
			const ledger = await box.open({ now });
			await use(ledger);
			assert.equal(locked.at(-1), isWriting);
		});
	}

	test("of a ledger that is closed is refused by the name of its file", async (t) => {
		const box = await spent(t);
		const ledger = await box.open();
		ledger.close();
		await assert.rejects(ledger.read([tree()]), { kind: "closed", message: `The ledger ${box.file} is closed.` });
	});
});

suite("how long an account has not been used", () => {
	const account = tree();
	const options = ({ directory, agentDir: within }: Sandbox, now: number): SqliteOptions => ({
		...{ directory, within, now: () => now },
	});

	test("is nothing where there is no ledger, and none is made to find out", async (t) => {
		const box = sandbox(t);
		assert.equal(await idleTime(options(box, NOON), account), undefined);
		assert.deepEqual(readdirSync(box.agentDir), []);
	});

	test("is nothing of an account that is not there, and else the time since it was last joined, charged, raised or held", async (t) => {
		const box = sandbox(t);
		const clock = { now: NOON };
		const ledger = await box.open({ now: () => clock.now });
		const idle = (): Promise<number | undefined> => idleTime(options(box, clock.now), account);
		assert.equal(await idle(), undefined);
		for (const use of [
			() => ledger.join(account),
			() => ledger.settle("a", [account], { turns: 1 }),
			() => ledger.reserve("b", [account], { turns: 1 }, MINUTE),
			() => ledger.raise("c", account, { turns: 1 }),
			() => ledger.renew(["b"], MINUTE),
		]) {
			await use();
			clock.now += 5 * MINUTE;
			assert.equal(await idle(), 5 * MINUTE);
		}
		await ledger.read([account]);
		assert.equal(await idle(), 5 * MINUTE, "to look at it is no use");
	});

	test("is asked without leaving a file open", async (t) => {
		const box = await spent(t);
		await idleTime(options(box, NOON), account);
		assert.deepEqual(openIn(box.agentDir), []);
	});
});

suite("a ledger that cannot be written", () => {
	test("because its directory cannot be entered is closed", async (t) => {
		const box = await spent(t);
		chmodSync(box.directory, 0o600);
		const message = `The ledger ${box.directory} is read-only.`;
		await assert.rejects(box.open(), { name: "LedgerError", kind: "read-only", message });
		chmodSync(box.directory, 0o700);
	});

	test("for a reason that nobody has foreseen is closed, and says what the system says", async (t) => {
		const box = sandbox(t);
		const directory = join(box.agentDir, "x".repeat(300));
		await assert.rejects(box.open({ directory }), (error: Error) => {
			assert.ok(fault("unreachable")(error));
			assert.ok(error.message.startsWith(`The ledger ${directory} cannot be used: ENAMETOOLONG: `), error.message);
			return (error.cause as NodeJS.ErrnoException).code === "ENAMETOOLONG";
		});
	});

	for (const what of ["file", "directory"] as const) {
		test(`because its ${what} is read-only is closed and unharmed`, async (t) => {
			const box = await spent(t);
			const mode = lstatSync(box[what]).mode;
			chmodSync(box[what], mode & ~0o222);
			await assert.rejects(box.open(), fault("read-only"));
			chmodSync(box[what], mode);
			await unharmed(await box.open());
		});
	}

	test("because the agent directory is read-only is closed", async (t) => {
		const box = sandbox(t);
		asOrdinaryUser(t, box);
		chmodSync(box.agentDir, 0o500);
		await assert.rejects(box.open(), fault("read-only"));
	});

	test("because the disk is full keeps what was counted, can be read, and goes on when there is room", async (t) => {
		const box = await spent(t);
		const ledger = await box.open({ maxPages: 12 });
		let counted = 2;
		const fill = async (): Promise<void> => {
			for (; ; counted++) await ledger.settle(`${counted}`.padEnd(500), [tree()], { turns: 1 });
		};
		await assert.rejects(fill(), fault("full"));
		assert.ok(counted > 2);
		assert.deepEqual(await balance(ledger, tree()), [counted, 0, 9]);
		const roomy = await box.open();
		for (let i = 0; i < 2; i++) await roomy.settle(`${counted}`.padEnd(500), [tree()], { turns: 1 });
		assert.deepEqual(await balance(roomy, tree()), [counted + 1, 0, 9]);
	});
});

suite("a ledger is refused", () => {
	const refused: Record<string, [Fault, RegExp, (box: Sandbox) => void]> = {
		"if its file is a link": [
			"unsafe",
			/is a link/,
			({ directory, file }) => moveAndLink(file, `${directory}.elsewhere`),
		],
		"if its file has a second name": [
			"unsafe",
			/is a link/,
			({ directory, file }) => linkSync(file, `${directory}.elsewhere`),
		],
		"if its file is a directory": ["unsafe", /is not a file/, ({ file }) => (rmSync(file), mkdirSync(file))],
		"if its directory is a link": [
			"unsafe",
			/is a link/,
			({ directory }) => moveAndLink(directory, `${directory}.elsewhere`),
		],
		"if its directory is a file": [
			"unsafe",
			/is not a directory/,
			(box) => (rmSync(box.directory, { recursive: true }), touch(box.directory)),
		],
		"if its file was made by a newer version": [
			"unsuited",
			/newer pi-turn-limit/,
			({ file }) => run(file, "PRAGMA user_version = 99"),
		],
	};
	for (const [what, [kind, why, harm]] of Object.entries(refused)) {
		test(what, async (t) => {
			const box = await spent(t);
			harm(box);
			await assert.rejects(box.open(), (error: Error) => fault(kind)(error) && why.test(error.message));
			assert.deepEqual(
				besides(box).filter((name) => name.includes("damaged")),
				[],
			);
		});
	}

	test("if it is outside of the agent directory, also by a link on the way", async (t) => {
		const { agentDir, open } = sandbox(t);
		const outside = join(dirname(agentDir), "outside");
		mkdirSync(outside);
		symlinkSync(outside, join(agentDir, "way"));
		for (const directory of [join(outside, "ledger"), join(agentDir, "../ledger"), join(agentDir, "way/ledger")])
			await assert.rejects(open({ directory }), {
				...{ name: "LedgerError", kind: "unsafe" },
				message: `The ledger is refused: ${directory} is outside of ${agentDir}.`,
			});
		assert.deepEqual(readdirSync(outside), []);
	});

	test("if it belongs to somebody else", async (t) => {
		const box = await spent(t);
		asOrdinaryUser(t, box);
		await assert.rejects(box.open({ directory: "/usr/ledger", within: "/usr" }), fault("read-only"));
		const message = "The ledger is refused: /usr belongs to another user.";
		await assert.rejects(box.open({ directory: "/usr", within: "/" }), { kind: "unsafe", message });
	});

	// As <linux/magic.h> and the modules of these file systems have them.
	for (const [name, type] of [
		["NFS", 0x6969],
		["SMB", 0x517b],
		["SMB2", 0xfe534d42],
		["CIFS", 0xff534d42],
		["NCP", 0x564c],
		["AFS", 0x5346414f],
		["AFS", 0x6b414653],
		["Coda", 0x73757245],
		["Ceph", 0x00c36400],
		["Lustre", 0x0bd00bd0],
		["GPFS", 0x47504653],
		["9P", 0x01021997],
		["FUSE", 0x65735546],
		["VirtualBox shared folder", 0x786f4256],
		["VMware shared folder", 0xbacbacbc],
	] as const) {
		test(`on a file system of ${name} (0x${type.toString(16)}), and by its name`, async (t) => {
			const { open } = sandbox(t);
			for (const typeOf of [() => type, () => type | 0])
				await assert.rejects(
					open({ typeOf }),
					(error) => fault("unsuited")(error) && (error as Error).message.includes(name),
				);
		});
	}
});

test("a ledger is refused where SQLite finds no shared memory", async (t) => {
	const box = sandbox(t);
	/** What SQLite answers on such a file system. */
	class WithoutSharedMemory extends DatabaseSync {
		override prepare(sql: string): ReturnType<DatabaseSync["prepare"]> {
			return super.prepare(sql.replace("journal_mode = WAL", "journal_mode = DELETE"));
		}
	}
	t.mock.method(process, "getBuiltinModule", () => ({ DatabaseSync: WithoutSharedMemory }));
	const message = `The ledger ${box.file} is on a file system without shared memory.`;
	await assert.rejects(box.open(), { name: "LedgerError", kind: "unsuited", message });
});

test("an agent directory that is itself behind a link is fine", async (t) => {
	const { agentDir, open } = sandbox(t);
	const link = `${agentDir}.link`;
	symlinkSync(agentDir, link);
	await (await open({ directory: join(link, "ledger"), within: link })).join(tree());
});

test("nobody else can read a ledger, and one that others could read is closed to them", async (t) => {
	const box = sandbox(t);
	const umask = process.umask(0);
	defer(t, () => process.umask(umask));
	(await box.open()).close();
	chmodSync(box.directory, 0o755);
	chmodSync(box.file, 0o644);
	const ledger = await box.open();
	await ledger.join(tree());
	const modes = [box.directory, box.file, `${box.file}-wal`, `${box.file}-shm`].map((path) => lstatSync(path).mode);
	assert.deepEqual(
		modes.map((mode) => (mode & 0o777).toString(8)),
		["700", "600", "600", "600"],
	);
});

test("an account that no pi-turn-limit has named is no period", async (t) => {
	const box = sandbox(t);
	const clock = { now: NOON };
	const ledger = await box.open({ now: () => clock.now });
	await ledger.join(month());
	for (const key of ["month UTC garbage", "month UTC 2026-99", "month Mars/Olympus 2026-01", "month"])
		run(box.file, `INSERT INTO accounts (key, touched) VALUES ('${key}', 0)`);
	clock.now += 31 * DAY;
	const { account } = await ledger.join({ ...month(), keepsZone: true });
	assert.deepEqual(account, { ...month(), keepsZone: true, date: "2026-03" });
});

suite("what is old", () => {
	const accounts = Array.from({ length: 150 }, (_, i) => tree({}, `${i}`));

	test("is forgotten on opening: trees, days and ids unused for a week, except for a hundred", async (t) => {
		const box = sandbox(t);
		const clock = { now: NOON };
		const first = await box.open({ now: () => clock.now });
		await first.join(fleet());
		for (const account of accounts) {
			await first.join(account);
			await first.settle(`${clock.now++}`, [account, fleet()], { turns: 1 });
			await first.reserve(`h${clock.now++}`, [account], { turns: 1 }, MINUTE);
		}
		clock.now = NOON + 7 * DAY;
		await box.open({ now: () => clock.now });
		assert.equal((await first.read(accounts)).length, 150);
		await first.settle("late", [accounts[0]!], { turns: 1 });
		clock.now += DAY;
		const ledger = await box.open({ now: () => clock.now });
		await assert.rejects(ledger.read([accounts[50]!]), fault("unjoined"));
		assert.equal((await ledger.read(accounts.slice(51))).length, 99);
		assert.deepEqual(await balance(ledger, accounts[0]!), [3, 0, "unlimited"]);
		assert.deepEqual(await balance(ledger, fleet()), [150, 0, "unlimited"]);
		const left = (table: string): unknown => run(box.file, `SELECT COUNT(*) AS n FROM ${table}`);
		assert.deepEqual(["accounts", "meters", "holds", "done"].map(left), [101, 101, 100, 1]);
	});

	test("is not a day, a week or a month before a week after its end, however many trees are younger", async (t) => {
		const box = sandbox(t);
		const clock = { now: Date.UTC(2026, 10, 1) };
		const open = () => box.open({ now: () => clock.now });
		const first = await open();
		const all = [day(), week(), month()];
		await first.settle("a", all, { turns: 1 });
		const dated = (await first.read(all)).map(({ account }) => account);
		clock.now = Date.UTC(2026, 11, 1) + 7 * DAY;
		for (const account of accounts) await first.join(account);
		const later = await open();
		for (const account of dated) assert.deepEqual(await balance(later, account), [1, 0, "unlimited"], account.scope);
	});

	test("is not a day that a clock takes for old which jumps forward and back, beside 120 trees", async (t) => {
		const box = sandbox(t);
		const clock = { now: NOON };
		const open = () => box.open({ now: () => clock.now });
		await (await open()).settle("a", [day(), month()], { turns: 1 });
		clock.now += 400 * DAY;
		const wrong = await open();
		for (const account of accounts.slice(0, 120)) await wrong.join(account);
		await open();
		clock.now = NOON;
		const right = await open();
		for (const account of [day(), month()]) assert.deepEqual(await balance(right, account), [1, 0, "unlimited"]);
	});

	test("is not forgotten because the clock is wrong for a while", async (t) => {
		const box = sandbox(t);
		await (await box.open({ now: () => NOON })).settle("a", [day()], { turns: 1 });
		await box.open({ now: () => NOON + 400 * DAY });
		assert.deepEqual(await balance(await box.open({ now: () => NOON }), day()), [1, 0, "unlimited"]);
	});
});

suite("somebody's own program", () => {
	const program = `
		const { openSqlite } = await import(process.argv[1]);
		process.emitWarning("one of the program");
		await openSqlite({ directory: process.argv[2] + "/ledger", within: process.argv[2] });
		process.emitWarning("another of the program");
	`;
	const execute = async (t: TestContext, ...flags: string[]): Promise<string> => {
		const args = [
			...flags,
			"--input-type=module",
			"-e",
			program,
			import.meta.resolve("../../src/ledger/sqlite/ledger.ts"),
		];
		return (await promisify(execFile)(process.execPath, [...args, sandbox(t).agentDir])).stderr;
	};

	test("reads no warning of Node about SQLite, and all others", async (t) => {
		const warnings = (await execute(t)).split("\n").filter((line) => line.includes("Warning:"));
		assert.deepEqual(
			warnings.map((line) => line.replace(/^\(node:\d+\) /, "")),
			["Warning: one of the program", "Warning: another of the program"],
		);
	});

	test("is told if its Node has no SQLite", async (t) => {
		await assert.rejects(execute(t, "--no-experimental-sqlite"), /LedgerError: The ledger needs SQLite: Node 22\.13/);
	});
});

suite("SQLite as the runtime has it", () => {
	test("is said to be missing where there is none, and Node warns as before", async (t) => {
		const warns = t.mock.method(process, "emitWarning", () => {});
		t.mock.method(process, "getBuiltinModule", () => undefined);
		const box = sandbox(t);
		await assert.rejects(box.open(), {
			...{ name: "LedgerError", kind: "unsuited" },
			message: "The ledger needs SQLite: Node 22.13 or newer, or Bun.",
		});
		assert.deepEqual(readdirSync(box.agentDir), [], "an empty ledger would be a damaged one to others");
		process.emitWarning("one of the program");
		assert.equal(warns.mock.callCount(), 1);
	});

	test("is Bun's own in Bun", async (t) => {
		const { versions } = process;
		defer(t, () => Object.defineProperty(process, "versions", { value: versions }));
		Object.defineProperty(process, "versions", { value: { ...versions, bun: "1.3.0" } });
		const modules: Record<string, object> = { "bun:sqlite": { Database: DatabaseSync } };
		t.mock.method(process, "getBuiltinModule", (name: string) => modules[name]);
		(await sandbox(t).open()).close();
	});

	test("has its errors known by their numbers, Node's and Bun's, and those of the system are none", () => {
		assert.deepEqual(
			[{ errcode: 261 }, { errno: 5, code: "SQLITE_BUSY" }, { errno: -13, code: "EACCES" }, {}].map(resultCode),
			[5, 5, undefined, undefined],
		);
	});
});

/** What a first row says; the file is not open afterwards. */
function run(file: string, sql: string): unknown {
	const database = new DatabaseSync(file);
	const [row = {}] = database.prepare(sql).all();
	database.close();
	return Object.values(row)[0];
}

function overwrite(file: string, page: number, pages: number): void {
	const open = openSync(file, "r+");
	writeSync(open, Buffer.alloc(pages * 4096, 0xa5), 0, pages * 4096, page * 4096);
	closeSync(open);
}

/** As it was left long ago. */
function empty(file: string): void {
	truncateSync(file, 0);
	utimesSync(file, 0, 0);
}

function touch(path: string): void {
	writeFileSync(path, "");
}

function moveAndLink(path: string, elsewhere: string): void {
	renameSync(path, elsewhere);
	symlinkSync(elsewhere, path);
}

/** Root may write everything, so what is read-only has to be met as somebody else. */
function asOrdinaryUser(t: TestContext, { agentDir, directory, file }: Sandbox): void {
	if (process.geteuid?.() !== 0) return;
	chmodSync(dirname(agentDir), 0o755);
	for (const path of [agentDir, directory, file])
		if (lstatSync(path, { throwIfNoEntry: false })) chownSync(path, 65534, 65534);
	process.seteuid?.(65534);
	defer(t, () => process.seteuid?.(0));
}
