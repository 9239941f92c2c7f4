/** Addresses with sslmode, on a server that has a certificate for localhost. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, suite, test, type TestContext } from "node:test";
import { defer } from "../../harness/wait.ts";
import { fleet } from "../../ledger/world.ts";
import { database, type Database } from "../database.ts";
import { file } from "../file.ts";
import { Proxy } from "../proxy.ts";
import { said } from "../said.ts";
import { Server } from "../server.ts";

let base: Database;
let port: number;
/** The certificate that the server shows, and one that it has nothing to do with. */
let trusted: string;
let other: string;

before(async () => {
	const folder = mkdtempSync(join(tmpdir(), "pi-fleet-tls-"));
	defer(file, () => rmSync(folder, { recursive: true, force: true }));
	const server = await Server.make();
	defer(file, () => server.remove());
	trusted = certify(folder, "server");
	other = certify(folder, "other");
	const [cert, key] = ["server.crt", "server.key"].map((name) => server.add(name, join(folder, name)));
	base = await database(file, { at: server.address() });
	port = server.port;
	await base.sql.unsafe(`ALTER SYSTEM SET ssl_cert_file = '${cert}'`);
	await base.sql.unsafe(`ALTER SYSTEM SET ssl_key_file = '${key}'`);
	await base.sql.unsafe("ALTER SYSTEM SET ssl = on");
	await server.stop();
	await server.start();
});

function certify(folder: string, name: string): string {
	const out = ["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.crt`)];
	const what = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"];
	execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...what, ...out], { stdio: "pipe" });
	return join(folder, `${name}.crt`);
}

const address = (query: string, host = "localhost"): string =>
	`${base.address("agent").replace("127.0.0.1", host)}?${query}`;

/** Whether the agents' connections are encrypted, as the server sees it. */
async function encrypted(): Promise<unknown> {
	const rows = await base.sql<{ ssl: boolean }[]>`
		SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'pi-turn-limit'`;
	return rows.map(({ ssl }) => ssl);
}

suite("an address with TLS", () => {
	const works: Record<string, [() => string, boolean]> = {
		"sslmode=require": [() => address("sslmode=require"), true],
		"sslmode=verify-full and the server's certificate": [
			() => address(`sslmode=verify-full&sslrootcert=${trusted}`),
			true,
		],
		"sslmode=verify-ca and another name": [
			() => address(`sslmode=verify-ca&sslrootcert=${trusted}`, "127.0.0.1"),
			true,
		],
		"no sslmode": [() => address(""), true],
		"sslmode=disable": [() => address("sslmode=disable"), false],
	};
	for (const [what, [at, isEncrypted]] of Object.entries(works)) {
		test(`${what}: ${isEncrypted ? "encrypted" : "not encrypted"}`, async (t) => {
			const ledger = await base.open(t, { address: at() });
			await ledger.join(fleet());
			assert.deepEqual(await encrypted(), [isEncrypted]);
			ledger.close();
			await gone(t);
		});
	}

	const refused: Record<string, () => string> = {
		"another certificate": () => address(`sslmode=verify-full&sslrootcert=${other}`),
		"another certificate, with require": () => address(`sslmode=require&sslrootcert=${other}`),
		"a certificate that the system does not know": () => address("sslmode=verify-full"),
		"a certificate that the system does not know, with sslrootcert=system": () =>
			address("sslmode=verify-full&sslrootcert=system"),
		"another name": () => address(`sslmode=verify-full&sslrootcert=${trusted}`, "127.0.0.1"),
	};
	for (const [what, at] of Object.entries(refused)) {
		test(`refuses ${what}`, async (t) => {
			await assert.rejects(base.open(t, { address: at() }), said(base, "unreachable", /TLS fails with \w+\.$/));
		});
	}

	test("says that the file with the certificates is missing", async (t) => {
		const at = address("sslmode=verify-full&sslrootcert=/nowhere/root.crt");
		await assert.rejects(base.open(t, { address: at }), said(base, "unsuited", /\/nowhere\/root\.crt cannot be read/));
	});

	test("is closed within the deadline when the server freezes, and recovers", async (t) => {
		const proxy = await Proxy.make(t, port);
		const at = `${base.address("agent", proxy.port)}?sslmode=require`;
		const ledger = await base.open(t, { address: at, deadline: 1500 });
		proxy.set("frozen");
		await assert.rejects(ledger.join(fleet()), said(base, "unreachable", /did not answer/));
		proxy.set("open");
		await ledger.join(fleet());
		proxy.set("cut");
		proxy.set("open");
		await ledger.join(fleet());
		ledger.close();
		await gone(t);
	});
});

/** Waits until the server has seen the last agent leave. */
async function gone(t: TestContext): Promise<void> {
	while (!t.signal.aborted && ((await encrypted()) as unknown[]).length > 0);
}

suite("a server without TLS", () => {
	let without: Database;
	let proxied: Proxy;

	before(async () => {
		const plain = await Server.make();
		defer(file, () => plain.remove());
		without = await database(file, { at: plain.address() });
		proxied = await Proxy.make(file, plain.port);
	});

	for (const [query, isUsed] of [
		["", true],
		["?sslmode=disable", true],
		["?sslmode=prefer", true],
		["?sslmode=require", false],
		["?sslmode=verify-ca", false],
		["?sslmode=verify-full", false],
	] as const) {
		test(`is ${isUsed ? "used" : "refused, and told no user,"} by an address with ${query || "no sslmode"}`, async (t) => {
			proxied.sent = "";
			const opening = without.open(t, { address: without.address("agent", proxied.port) + query });
			if (isUsed) await (await opening).join(fleet());
			else await assert.rejects(opening, said(without, "unreachable", /cannot be reached: it offers no TLS/));
			const { username } = new URL(without.address("agent"));
			assert.equal(proxied.sent.includes(username), isUsed);
		});
	}
});
