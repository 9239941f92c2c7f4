/**
 * `npm run test:fleet`: the ledger of a fleet on a real PostgreSQL, on the server that DATABASE_URL names or on one that
 * it starts. Tests that restart a server, break it or replace it start their own, so they need PostgreSQL on this machine.
 *
 *     node scripts/test-fleet.ts test/fleet/roles.test.ts   some of them
 */
import { globSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { isInstalled, Server } from "../test/fleet/server.ts";

const named = process.env["DATABASE_URL"];
const own = named ? undefined : await Server.make();
try {
	const all = ["test/fleet/*.test.ts", ...(isInstalled() ? ["test/fleet/servers/*.test.ts"] : [])];
	if (!isInstalled()) console.error("Without the tests that start servers: PostgreSQL is not installed here.");
	const wanted = process.argv.slice(2);
	const tests = wanted.length > 0 ? wanted : all;
	process.env["DATABASE_URL"] = named || own?.address();
	const execArgv = ["--import", new URL("../test/harness/deadline.ts", import.meta.url).href];
	const results = run({ files: globSync(tests), concurrency: 1, execArgv });
	let passed = 0;
	results.on("test:pass", () => (passed += 1));
	results.on("test:fail", () => (process.exitCode = 1));
	await pipeline(results, new spec(), process.stdout, { end: false });
	if (passed === 0) process.exitCode = 1;
} finally {
	await own?.remove();
}
