/** A database that is set up for budgets, on the server that DATABASE_URL names or on one of the test's own. */
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres, { type Sql } from "postgres";
import type { Ledger } from "../../src/ledger/port.ts";
import { openPostgres, type PostgresOptions } from "../../src/ledger/postgres/ledger.ts";
import { root } from "../harness/process.ts";
import { defer, type Scope } from "../harness/wait.ts";

export const SETUP = readFileSync(join(root, "sql/fleet.sql"), "utf8");

/** The file of version 2.0, whose agents go on beside newer ones. */
export const SETUP_OF_2_0 = readFileSync(join(import.meta.dirname, "fixtures/fleet-2.0.sql"), "utf8");

/** Members of the roles that the set-up makes. */
const LOGINS = {
	agent: ["pi_turn_limit_agent"],
	operator: ["pi_turn_limit_operator"],
	both: ["pi_turn_limit_agent", "pi_turn_limit_operator"],
	stranger: [],
} as const;

export type Login = keyof typeof LOGINS;

function serverAddress(): string {
	const named = process.env["DATABASE_URL"];
	if (!named)
		throw new Error("DATABASE_URL is not set. `node scripts/test-fleet.ts <file>` starts a server for a test.");
	return named;
}

export interface Database {
	readonly name: string;
	/** As its owner. */
	readonly sql: Sql;
	/** The address of a login, by another port if there is a proxy. */
	readonly address: (login: Login, port?: number) => string;
	readonly password: string;
	/** SQL as somebody. */
	readonly as: (login: Login) => Sql;
	/** A ledger that is closed when the test is over. */
	readonly open: (t: Scope, options?: Partial<PostgresOptions>) => Promise<Ledger>;
}

interface Options {
	/** The file that sets it up; none if it is empty. */
	readonly setUp?: string;
	/** A server of the test's own. */
	readonly at?: string;
}

/** Its logins are its own. It is dropped when the test is over. */
export async function database(t: Scope, { setUp = SETUP, at = "" }: Options = {}): Promise<Database> {
	const admin = at || serverAddress();
	const unique = randomBytes(6).toString("hex");
	const [name, password] = [`pi_fleet_${unique}`, `pw-${randomBytes(12).toString("hex")}`];
	const users = Object.keys(LOGINS).map((login) => `${login}_${unique}`);
	const server = postgres(admin, { max: 1, onnotice: () => {} });
	defer(t, () => server.end());
	await server.unsafe(`CREATE DATABASE ${name}`);
	// A server of the test's own goes with all that it has, and may be gone by then.
	defer(t, async () => {
		if (at) return;
		await server.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
		for (const user of users) await server.unsafe(`DROP ROLE IF EXISTS ${user}`);
	});
	const connect = (address: string): Sql => {
		const sql = postgres(address, { max: 1, onnotice: () => {} });
		defer(t, () => sql.end());
		return sql;
	};
	const located = (user: string, pass: string, port?: number): string => {
		const url = new URL(admin);
		Object.assign(url, { pathname: `/${name}`, username: user, password: pass });
		if (port !== undefined) url.host = `127.0.0.1:${port}`;
		return url.href;
	};
	const { username, password: secret } = new URL(admin);
	const sql = connect(located(username, secret));
	if (setUp) await sql.unsafe(setUp);
	for (const [login, roles] of Object.entries(LOGINS)) {
		const member = setUp !== "" && roles.length > 0 ? `IN ROLE ${roles.join(", ")}` : "";
		await sql.unsafe(`CREATE ROLE ${login}_${unique} LOGIN PASSWORD '${password}' ${member}`);
	}
	const address: Database["address"] = (login, port) => located(`${login}_${unique}`, password, port);
	const open: Database["open"] = async (t, options = {}) => {
		const ledger = await openPostgres({ address: address("both"), ...options });
		defer(t, () => ledger.close());
		return ledger;
	};
	return { name, sql, address, password, as: (login) => connect(address(login)), open };
}

/** What an operator reads of the budgets, or of one: account, meter, used, held, cap. */
export async function budgets(base: Database, of?: string): Promise<unknown[]> {
	const operator = base.as("operator");
	const rows = await (of === undefined
		? operator<Record<string, string | null>[]>`SELECT * FROM pi_turn_limit.budgets()`
		: operator<Record<string, string | null>[]>`SELECT * FROM pi_turn_limit.budgets(${of})`);
	return rows.map(({ account, meter, used, held, cap }) => [account, meter, ...[used, held, cap].map(numeric)]);
}

function numeric(value: string | null | undefined): number | null {
	return value === null ? null : Number(value);
}
