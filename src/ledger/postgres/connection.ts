/** One connection to a PostgreSQL server. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, isIP, type Socket } from "node:net";
import { checkServerIdentity, type ConnectionOptions } from "node:tls";
import type { Sql } from "postgres";
import { clip } from "../../core/text.ts";
import type { Address, Endpoint } from "./address.ts";
import { LedgerError } from "../faults.ts";
import { checkVersion, clientMissing } from "./faults.ts";

/** Its types do not know all of its options. */
type Connect = (options: object) => Sql;

export interface ServerConnection {
	/** Calls a function of sql/fleet.sql. */
	readonly call: (operation: string, request: unknown) => Promise<unknown>;
	/** Rejects what is under way. */
	readonly close: () => void;
}

/** Tries one host after the other, each for its share of the time until `end`. */
export async function openConnection(
	address: Address,
	end: number,
	late: Error,
	closing: AbortSignal,
): Promise<ServerConnection> {
	const client = await load(address);
	let last: unknown;
	for (const [i, host] of address.hosts.entries()) {
		const share = (end - performance.now()) / (address.hosts.length - i);
		try {
			return await linkTo(host, address, client, share, late, closing);
		} catch (error) {
			last = error;
		}
	}
	throw last;
}

async function load(address: Address): Promise<Connect> {
	try {
		return (await import("postgres")).default;
	} catch {
		throw clientMissing(address);
	}
}

async function linkTo(
	host: Endpoint,
	address: Address,
	client: Connect,
	ms: number,
	late: Error,
	closing: AbortSignal,
): Promise<ServerConnection> {
	closing.throwIfAborted();
	const socket = connect({ host: host.name, port: host.port });
	// Each operation has a timer of its own, so the socket need not keep the process alive.
	socket.unref();
	let timer: NodeJS.Timeout | undefined;
	const destroy = (): unknown => socket.destroy();
	closing.addEventListener("abort", destroy);
	const failed = new Promise<never>((_, reject) => {
		timer = setTimeout(() => reject(late), ms);
		socket.once("error", reject);
		socket.once("close", () => reject(failure("CONNECTION_CLOSED")));
		// The server's answer to the request for TLS; the client would go on all the same.
		if (isTlsRequired(address))
			socket.once("data", ([answer]: Buffer) => answer === "N".charCodeAt(0) && reject(failure("NO_TLS")));
	});
	try {
		await Promise.race([failed, new Promise((resolve) => socket.once("connect", resolve))]);
		const connection = new OneSocket(client, socket, host, address);
		await Promise.race([failed, connection.check(address)]);
		return connection;
	} catch (error) {
		socket.destroy();
		throw error;
	} finally {
		clearTimeout(timer);
		closing.removeEventListener("abort", destroy);
	}
}

class OneSocket implements ServerConnection {
	readonly #sql: Sql;
	readonly #socket: Socket;

	constructor(client: Connect, socket: Socket, host: Endpoint, address: Address) {
		this.#socket = socket;
		let isTaken = false;
		this.#sql = client({
			...STRICT,
			socket: () => {
				// Otherwise the client connects again by itself, at once and for ever.
				if (isTaken) throw failure("CONNECTION_CLOSED");
				isTaken = true;
				return Object.assign(socket, { host: host.name });
			},
			host: host.name,
			port: host.port,
			user: address.user,
			pass: address.password,
			database: address.database,
			ssl: tlsOptions(host, address),
			connection: {
				application_name: "pi-turn-limit",
				...(address.options === undefined ? {} : { options: address.options }),
			},
		});
	}

	async check(address: Address): Promise<void> {
		const query = "SELECT pi_turn_limit.version() AS version, pg_is_in_recovery() AS standby";
		const [row] = await this.#sql.unsafe<{ version: unknown; standby: unknown }[]>(query);
		if (row?.standby !== false)
			throw new LedgerError("read-only", `The budget at ${address.shown} is a standby, and cannot be written.`);
		checkVersion(row.version, address);
		await this.#warmUp();
	}

	/** A server plans what a connection calls for the first time, which others should not have to wait for. */
	async #warmUp(): Promise<void> {
		const id = randomUUID();
		const request = { id, accounts: [{ scope: "fleet", name: id, caps: {} }], amounts: { turns: 1 }, ttl: 1 };
		const calls = ["join", "reserve", "settle"].map((operation) => toQuery(operation, request));
		await this.#sql.unsafe(["BEGIN", ...calls, "ROLLBACK"].join(";"));
	}

	async call(operation: string, request: unknown): Promise<unknown> {
		const [row] = await this.#sql.unsafe<{ answer: unknown }[]>(toQuery(operation, request));
		return row?.answer;
	}

	close(): void {
		// The client waits for the server to close the socket, which a frozen one never does.
		const destroy = (): void => this.#socket.destroySoon();
		this.#sql.end({ timeout: 0 }).then(destroy, destroy);
	}
}

/** One text, because for parameters the client makes a second round trip to the server. Base64 needs no quoting. */
function toQuery(operation: string, request: unknown): string {
	const text = Buffer.from(JSON.stringify(request)).toString("base64");
	return `SELECT pi_turn_limit.ledger_${operation}(convert_from(decode('${text}', 'base64'), 'UTF8')::jsonb) AS answer`;
}

function failure(code: string): Error {
	return Object.assign(new Error(), { code });
}

function isTlsRequired({ tls }: Address): boolean {
	return tls !== "disable" && tls !== "prefer";
}

/** Everything that the client would otherwise take from the environment, or do in its own time. */
const STRICT = {
	max: 1,
	max_pipeline: 100,
	idle_timeout: 0,
	max_lifetime: 0,
	connect_timeout: 0,
	backoff: 0,
	keep_alive: 30,
	/** Poolers such as pgbouncer give every transaction another connection. */
	prepare: false,
	fetch_types: false,
	debug: false,
	sslnegotiation: null,
	publications: "",
	no_subscribe: true,
	onnotice: () => {},
};

function tlsOptions({ name }: Endpoint, { tls, rootCert }: Address): false | "prefer" | "require" | ConnectionOptions {
	if (tls === "disable" || tls === "prefer") return tls === "prefer" && tls;
	if (tls === "require" && rootCert === undefined) return tls;
	return {
		rejectUnauthorized: true,
		...(rootCert === undefined || rootCert === "system" ? {} : { ca: readCerts(rootCert) }),
		...(isIP(name) ? {} : { servername: name }),
		checkServerIdentity: (_, certificate) =>
			tls === "verify-full" ? checkServerIdentity(name, certificate) : undefined,
	};
}

function readCerts(path: string): Buffer {
	try {
		return readFileSync(path);
	} catch {
		throw new LedgerError("unsuited", `The budget's address: sslrootcert=${clip(path, 300)} cannot be read.`);
	}
}
