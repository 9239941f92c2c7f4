/** Whatever happens to the server or on the way to it: closed in time, said, and recovered. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { suite, test, type TestContext } from "node:test";
import { promisify } from "node:util";
import { openPostgres } from "../../src/ledger/postgres/ledger.ts";
import { defer } from "../harness/wait.ts";
import { CombinedLedger } from "../../src/ledger/combined.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import { balance, fault, fleet, MINUTE, tree } from "../ledger/world.ts";
import { database, type Database } from "./database.ts";
import { said } from "./said.ts";
import { Proxy } from "./proxy.ts";

interface Scene {
	readonly base: Database;
	readonly proxy: Proxy;
	/** The address of an agent, by way of the proxy. */
	readonly address: string;
}

async function scene(t: TestContext): Promise<Scene> {
	const base = await database(t);
	const proxy = await Proxy.make(t, Number(new URL(base.address("agent")).port || 5432));
	return { base, proxy, address: base.address("agent", proxy.port) };
}

/** A budget of three turns that an agent has joined by way of the proxy. */
async function joined(t: TestContext, deadline?: number) {
	const { base, proxy, address } = await scene(t);
	const ledger = await base.open(t, { address, ...(deadline === undefined ? {} : { deadline }) });
	await ledger.join(fleet({ turns: 3 }));
	const direct = await base.open(t);
	const counted = (): ReturnType<typeof balance> => balance(direct, fleet());
	return { base, proxy, ledger, counted, reserve: (id: string) => ledger.reserve(id, [fleet()], { turns: 1 }, MINUTE) };
}

suite("a server that is not there when it is first needed", () => {
	test("because nothing listens is reported at once, and found when it is there", async (t) => {
		const { base, proxy, address } = await scene(t);
		await proxy.refuse();
		await assert.rejects(
			openPostgres({ address }),
			said(base, "unreachable", /^The budget at 127\.0\.0\.1\/\w+ cannot be reached: nothing listens there\.$/),
		);
		await proxy.restore();
		await (await base.open(t, { address })).join(fleet());
	});

	test("because its host is unknown is reported", async (t) => {
		const { base, address } = await scene(t);
		const unknown = address.replace(/127\.0\.0\.1:\d+/, "nowhere.invalid");
		await assert.rejects(
			openPostgres({ address: unknown }),
			said(base, "unreachable", /nowhere\.invalid\/\w+ cannot be reached: its host is unknown/),
		);
	});

	for (const tls of ["", "?sslmode=disable", "?sslmode=require"]) {
		test(`because it is frozen is reported after the deadline ${tls}`, async (t) => {
			const { base, proxy, address } = await scene(t);
			proxy.set("frozen");
			await assert.rejects(
				openPostgres({ address: address + tls, deadline: 300 }),
				said(base, "unreachable", /did not answer within 0\.3 s\.$/),
			);
		});
	}

	test("leaves its share of the time to the next host if it refuses at once", async (t) => {
		const { base, address } = await scene(t);
		const refusing = await Proxy.make(t, 0);
		await refusing.refuse();
		const timers = t.mock.method(globalThis, "setTimeout");
		const hosts = address.replace("127.0.0.1", `127.0.0.1:${refusing.port},127.0.0.1`);
		await base.open(t, { address: hosts, deadline: 20 * MINUTE });
		const minutes = timers.mock.calls.map(({ arguments: [, ms = 0] }) => Math.ceil(ms / MINUTE));
		assert.deepEqual(
			minutes.filter((share) => share > 1),
			[10, 20],
		);
	});

	test("because it hangs up is reported, and is not tried again and again", async (t) => {
		const { base, proxy, address } = await scene(t);
		proxy.set("cut");
		await assert.rejects(openPostgres({ address }), said(base, "unreachable", /the connection was lost/));
		assert.equal(proxy.accepted, 1);
	});
});

suite("a server that goes away", () => {
	test("frozen closes every operation within the deadline, and the next one after it works", async (t) => {
		const { base, proxy, ledger, counted, reserve } = await joined(t, 1500);
		proxy.set("frozen");
		const operations = [
			ledger.join(fleet()),
			reserve("a"),
			ledger.settle("b", [fleet()], { turns: 1 }),
			ledger.renew(["a"], MINUTE),
			ledger.read([fleet()]),
		];
		const late = said(base, "unreachable", /did not answer within 1\.5 s\.$/);
		await Promise.all(operations.map((operation) => assert.rejects(operation, late)));
		proxy.set("open");
		assert.ok((await reserve("c")).granted);
		assert.ok(((await counted())?.[1] ?? 0) >= 1);
	});

	test("after it counted and before it answered: the repetition with the same id counts once", async (t) => {
		const { base, proxy, ledger, counted, reserve } = await joined(t, 2000);
		proxy.set("deaf");
		await assert.rejects(reserve("a"), said(base, "unreachable", /did not answer/));
		assert.deepEqual(await counted(), [0, 1, 3]);
		proxy.set("open");
		assert.ok((await reserve("a")).granted);
		assert.deepEqual(await counted(), [0, 1, 3]);
		for (let i = 0; i < 2; i++) await ledger.settle("a", [fleet()], { turns: 1 });
		assert.deepEqual(await counted(), [1, 0, 3]);
	});

	test("in the middle of an operation is found again, and the operation counts once", async (t) => {
		const { proxy, counted, reserve } = await joined(t);
		proxy.set("hangs up");
		const reserved = reserve("a");
		await proxy.swallows();
		proxy.set("open");
		assert.ok((await reserved).granted);
		assert.deepEqual(await counted(), [0, 1, 3]);
	});

	test("between two operations is found again, and nobody hears of it", async (t) => {
		const { proxy, counted, reserve } = await joined(t);
		await reserve("a");
		proxy.set("cut");
		proxy.set("open");
		assert.ok((await reserve("b")).granted);
		assert.deepEqual(await counted(), [0, 2, 3]);
	});

	test("for a moment is waited for", async (t) => {
		const { proxy, reserve } = await joined(t);
		proxy.set("cut");
		const tried = proxy.accepts(3);
		const reserved = reserve("a");
		await tried;
		proxy.set("open");
		assert.ok((await reserved).granted);
	});

	test("for longer is reported, and what was not counted is counted later", async (t) => {
		const { base, proxy, ledger, counted } = await joined(t, 2000);
		await proxy.refuse();
		const settle = (): Promise<unknown> => ledger.settle("a", [fleet()], { turns: 2 });
		await assert.rejects(settle(), said(base, "unreachable", /nothing listens there/));
		await proxy.restore();
		await settle();
		assert.deepEqual(await counted(), [2, 0, 3]);
	});

	test("without a word to the connection is refused after the ledger is closed", async (t) => {
		const { proxy, ledger, reserve } = await joined(t);
		proxy.set("frozen");
		const waiting = reserve("a");
		ledger.close();
		await assert.rejects(waiting, fault("closed"));
		await assert.rejects(reserve("b"), fault("closed"));
	});
});

suite("a database that cannot be used", () => {
	const file = /\/sql\/fleet\.sql$/;

	test("says that the password is wrong", async (t) => {
		const base = await database(t);
		const address = base.address("agent").replace(base.password, "another");
		const denied = /^The budget at [\w.]+\/\w+ refuses the user or the password\.$/;
		await assert.rejects(openPostgres({ address }), said(base, "denied", denied));
	});

	test("says that it is not set up, and how to mend that", async (t) => {
		const base = await database(t, { setUp: "" });
		const address = base.address("agent");
		const missing = said(base, "unsuited", /is not set up\. Run: psql .* -d \w+ -f /, file);
		await assert.rejects(openPostgres({ address }), missing);
	});

	test("says that its set-up is older, and how to mend that", async (t) => {
		const base = await database(t);
		await base.sql`UPDATE pi_turn_limit.setup SET version = 0`;
		const older = said(base, "unsuited", /has version 0 of the set-up, expected 1\. Run: psql /, file);
		await assert.rejects(openPostgres({ address: base.address("agent") }), older);
	});

	test("says that its set-up is newer", async (t) => {
		const base = await database(t);
		await base.sql`UPDATE pi_turn_limit.setup SET version = 2`;
		const newer = said(base, "unsuited", /has version 2 of the set-up, expected 1\. Update pi-turn-limit/);
		await assert.rejects(openPostgres({ address: base.address("agent") }), newer);
	});

	test("says that a function is gone since it was opened", async (t) => {
		const { base, reserve } = await joined(t);
		await base.sql`DROP FUNCTION pi_turn_limit.ledger_reserve`;
		await assert.rejects(reserve("a"), said(base, "unsuited", /is not set up\. Run: psql /, file));
	});

	test("says that its user has no rights", async (t) => {
		const base = await database(t);
		const denied = said(base, "denied", /has granted its user no rights: GRANT pi_turn_limit_agent TO that user\.$/);
		await assert.rejects(openPostgres({ address: base.address("stranger") }), denied);
	});

	test("says that its user has lost its rights, and works once they are back", async (t) => {
		const { base, proxy, reserve } = await joined(t);
		const { username } = new URL(base.address("agent"));
		await base.sql.unsafe(`REVOKE pi_turn_limit_agent FROM ${username}`);
		proxy.set("cut");
		proxy.set("open");
		await assert.rejects(reserve("a"), said(base, "denied", /has granted its user no rights/));
		await base.sql.unsafe(`GRANT pi_turn_limit_agent TO ${username}`);
		assert.ok((await reserve("a")).granted);
	});

	test("says that an operator has deleted the budget", async (t) => {
		const { base, reserve } = await joined(t);
		await base.as("operator")`SELECT pi_turn_limit.delete_budget('f')`;
		const gone = /^The budget at [\w.]+\/\w+ has no account f\. An operator may have deleted it\.$/;
		await assert.rejects(reserve("a"), said(base, "unjoined", gone));
	});

	test("says that there is no such database", async (t) => {
		const base = await database(t);
		const address = base.address("agent").replace(base.name, "pi_fleet_none");
		await assert.rejects(openPostgres({ address }), said(base, "unsuited", /pi_fleet_none does not exist/));
	});

	test("says that others keep an account locked", async (t) => {
		const { base, reserve, counted } = await joined(t, 2000);
		const other = await base.open(t, { deadline: 2000 });
		const locked = said(base, "locked", /is locked by others\.$/);
		await base.sql.begin(async (locking) => {
			await locking`SELECT FROM pi_turn_limit.account FOR UPDATE`;
			const operations = [reserve("a"), other.settle("b", [fleet()], {})];
			await Promise.all(operations.map((operation) => assert.rejects(operation, locked)));
		});
		assert.ok((await reserve("a")).granted);
		assert.deepEqual(await counted(), [0, 1, 3]);
	});

	test("says that its isolation level would over-grant", async (t) => {
		const { base, proxy, reserve } = await joined(t);
		await base.sql.unsafe(`ALTER DATABASE ${base.name} SET default_transaction_isolation = 'repeatable read'`);
		proxy.set("cut");
		proxy.set("open");
		await assert.rejects(reserve("a"), said(base, "unsuited", /default_transaction_isolation/));
	});
});

test("a statement that an administrator cancels is tried again, and counts once", async (t) => {
	const { base, reserve, counted } = await joined(t);
	const reserved = await base.sql.begin(async (locking) => {
		await locking`SELECT FROM pi_turn_limit.account FOR UPDATE`;
		const reserving = reserve("a");
		const cancel = () => locking`
			SELECT pg_cancel_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'pi-turn-limit' AND wait_event_type = 'Lock'`;
		while (!t.signal.aborted && (await cancel()).length === 0);
		return { reserving };
	});
	assert.ok((await reserved.reserving).granted);
	assert.deepEqual(await counted(), [0, 1, 3]);
});

suite("a process that has used a fleet's ledger", () => {
	const module = new URL("../../src/ledger/postgres/ledger.ts", import.meta.url).href;

	/** What a program prints that has `openPostgres`, and the address as `at`. */
	async function run(t: TestContext, address: string, work: string): Promise<string> {
		const program = `
			import { setImmediate } from "node:timers/promises";
			import { openPostgres } from ${JSON.stringify(module)};
			const at = process.argv[1];
			const account = { scope: "fleet", name: "f", caps: {} };
			/** What keeps the process, once that which is being closed is closed. */
			const left = async () => {
				const kept = () => process.getActiveResourcesInfo().filter((kind) => /^(Timeout|TCP)/.test(kind)).join();
				for (let i = 0; i < 20_000 && kept() !== ""; i++) await setImmediate();
				console.log(kept());
				process.exit();
			};
			${work}`;
		const running = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program, address]);
		defer(t, () => running.child.kill());
		return (await running).stdout;
	}

	for (const [what, query] of [
		["", ""],
		[" (without TLS)", "?sslmode=disable"],
	] as const) {
		test(`is kept by nothing while the ledger is open and idle${what}`, async (t) => {
			const base = await database(t);
			const work = "await (await openPostgres({ address: at })).join(account); await left();";
			assert.equal(await run(t, base.address("agent") + query, work), "\n");
		});
	}

	test("keeps no timer and no connection once the ledger is closed", async (t) => {
		const base = await database(t);
		const work = `
			const ledger = await openPostgres({ address: at });
			await ledger.join(account);
			ledger.close();
			await left();`;
		assert.equal(await run(t, base.address("agent"), work), "\n");
	});

	for (const [what, work] of [
		["is being opened", "const opening = openPostgres({ address: at, deadline: 600_000, closing: closing.signal });"],
		[
			"was closed before",
			"closing.abort(); const opening = openPostgres({ address: at, deadline: 600_000, closing: closing.signal });",
		],
	] as const) {
		test(`keeps no timer and no connection if the ledger ${what} when it is closed`, async (t) => {
			const { proxy, address } = await scene(t);
			proxy.set("frozen");
			const said = await run(
				t,
				address,
				`const closing = new AbortController();
				${work}
				opening.catch(({ kind }) => console.log(kind)).then(left);
				for (let i = 0; i < 20; i++) await setImmediate();
				closing.abort();`,
			);
			assert.equal(said, "closed\n\n");
		});
	}
});

test("nobody hears of a release that fails because the server is gone", async (t) => {
	const { proxy, ledger } = await joined(t, 300);
	const unhandled: unknown[] = [];
	const note = (reason: unknown) => void unhandled.push(reason);
	process.on("unhandledRejection", note);
	t.after(() => process.off("unhandledRejection", note));
	const home = memory()();
	const both = new CombinedLedger(
		() => Promise.resolve(home),
		() => Promise.resolve(ledger),
		new Map(),
	);
	await both.join(tree({ turns: 1 }));
	await both.reserve("a", [fleet(), tree()], { turns: 1 }, MINUTE);
	await ledger.read([fleet()]);
	proxy.set("deaf");
	await assert.rejects(both.reserve("b", [fleet(), tree()], { turns: 1 }, MINUTE), fault("unreachable"));
	proxy.set("open");
	assert.equal((await both.reserve("b", [fleet(), tree()], { turns: 1 }, MINUTE)).granted, false);
	assert.deepEqual(await balance(ledger, fleet()), [0, 1, 3]);
	assert.deepEqual(unhandled, []);
});
