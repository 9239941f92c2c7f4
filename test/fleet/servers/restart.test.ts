/** Servers that restart, crash, and are replaced by their standby. */
import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { defer } from "../../harness/wait.ts";
import { balance, fleet, MINUTE } from "../../ledger/world.ts";
import { database } from "../database.ts";
import { Proxy } from "../proxy.ts";
import { said } from "../said.ts";
import { Server } from "../server.ts";

async function server(t: TestContext, conf?: readonly string[]): Promise<Server> {
	const made = await Server.make(conf);
	defer(t, () => made.remove());
	return made;
}

suite("a server that is restarted", () => {
	for (const how of ["fast", "crash"] as const) {
		test(`(${how}) is reported while it is away, and then has counted everything`, async (t) => {
			// What a crash of the server must not lose.
			const own = await server(t, ["fsync = on", "unix_socket_directories = ''"]);
			const base = await database(t, { at: own.address() });
			const ledger = await base.open(t, { address: base.address("agent") });
			await ledger.join(fleet({ turns: 5 }));
			await ledger.settle("spent", [fleet()], { turns: 2 });
			await ledger.reserve("held", [fleet()], { turns: 1 }, MINUTE);
			await own.stop(how);
			const reserve = () => ledger.reserve("next", [fleet()], { turns: 1 }, MINUTE);
			await assert.rejects(reserve(), said(base, "unreachable", /cannot be reached|shutting down/));
			await own.start();
			assert.ok((await reserve()).granted);
			await ledger.settle("held", [fleet()], { turns: 1 });
			assert.deepEqual(await balance(ledger, fleet()), [3, 1, 5]);
		});
	}

	test("in the middle of an operation is waited for", async (t) => {
		const own = await server(t);
		const base = await database(t, { at: own.address() });
		const ledger = await base.open(t, { address: base.address("agent"), deadline: 60_000 });
		await ledger.join(fleet({ turns: 5 }));
		await own.stop();
		const reserved = ledger.reserve("a", [fleet()], { turns: 1 }, MINUTE);
		await own.start();
		assert.ok((await reserved).granted);
	});
});

suite("a failover", () => {
	/** An agent and its database; a standby that has everything. */
	async function pair(t: TestContext) {
		const primary = await server(t, [
			"fsync = off",
			"unix_socket_directories = ''",
			"synchronous_commit = remote_apply",
		]);
		const base = await database(t, { at: primary.address() });
		const standby = await primary.standby();
		defer(t, () => standby.remove());
		// From here on the primary waits for its standby.
		await base.sql`ALTER SYSTEM SET synchronous_standby_names = '*'`;
		await base.sql`SELECT pg_reload_conf()`;
		return { primary, standby, base };
	}

	test("behind one address is reported and recovered", async (t) => {
		const { primary, standby, base } = await pair(t);
		const proxy = await Proxy.make(t, primary.port);
		const ledger = await base.open(t, { address: base.address("agent", proxy.port) });
		await ledger.join(fleet({ turns: 5 }));
		await ledger.settle("spent", [fleet()], { turns: 2 });
		const reserve = () => ledger.reserve("next", [fleet()], { turns: 1 }, MINUTE);
		await primary.stop("crash");
		await assert.rejects(reserve(), said(base, "unreachable", /cannot be reached/));
		proxy.target = standby.port;
		await assert.rejects(reserve(), said(base, "read-only", /is a standby, and cannot be written/));
		standby.promote();
		await standbyAlone(standby);
		assert.ok((await reserve()).granted);
		assert.deepEqual(await balance(ledger, fleet()), [2, 1, 5]);
	});

	test("between the hosts of one address is recovered within one operation", async (t) => {
		const { primary, standby, base } = await pair(t);
		const address = base.address("agent").replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
		const ledger = await base.open(t, { address, deadline: 60_000 });
		await ledger.join(fleet({ turns: 5 }));
		await primary.stop("crash");
		const reserved = ledger.reserve("a", [fleet()], { turns: 1 }, MINUTE);
		standby.promote();
		await standbyAlone(standby);
		assert.ok((await reserved).granted);
	});
});

/** The new primary has no standby that it could wait for. */
async function standbyAlone(standby: Server): Promise<void> {
	const { default: postgres } = await import("postgres");
	const sql = postgres(standby.address(), { max: 1, connection: { synchronous_commit: "local" } });
	await sql`ALTER SYSTEM SET synchronous_standby_names = ''`;
	await sql`SELECT pg_reload_conf()`;
	await sql.end();
}
