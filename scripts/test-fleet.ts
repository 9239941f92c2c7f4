/**
 * `npm run test:fleet`: the ledger of a fleet on a real PostgreSQL, on the server that DATABASE_URL names or on one that
 * it starts. Tests that restart a server, break it or replace it start their own, so they need PostgreSQL on this machine.
 *
 *     node scripts/test-fleet.ts test/fleet/roles.test.ts   some of them
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { isInstalled, Server } from "../test/fleet/server.ts";

const named = process.env["DATABASE_URL"];
const own = named ? undefined : await Server.make();
try {
	const all = ["test/fleet/*.test.ts", ...(isInstalled() ? ["test/fleet/servers/*.test.ts"] : [])];
	if (!isInstalled()) console.error("Without the tests that start servers: PostgreSQL is not installed here.");
	const wanted = process.argv.slice(2);
	const tests = wanted.length > 0 ? wanted : all;
	const env = { ...process.env, DATABASE_URL: named ?? own?.address() };
	const running = spawn(process.execPath, ["--test", "--test-concurrency=1", ...tests], { env, stdio: "inherit" });
	const [code] = (await once(running, "exit")) as [number | null];
	process.exitCode = code ?? 1;
} finally {
	await own?.remove();
}
