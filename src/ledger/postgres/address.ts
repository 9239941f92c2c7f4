/** Reads the address of a PostgreSQL database. Errors show nothing of an address that is wrong: it may hold a password. */
import { createHash } from "node:crypto";
import { LedgerError } from "../faults.ts";

export interface Endpoint {
	readonly name: string;
	readonly port: number;
}

/** As in PostgreSQL's own clients; only the last two check whom they talk to. */
const TLS_MODES = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;

export interface Address {
	/** Tried in this order; a standby is passed over. */
	readonly hosts: readonly Endpoint[];
	readonly user: string;
	/** A function, so that nothing shows it that shows an address. */
	readonly password: () => string;
	readonly database: string;
	readonly tls: (typeof TLS_MODES)[number];
	/** The file with the certificates to trust, in place of the system's. */
	readonly rootCert: string | undefined;
	/** Sent to the server as they are: `options`. */
	readonly options: string | undefined;
	/** Host and database, for messages. */
	readonly shown: string;
}

const FORM = /^postgres(?:ql)?:\/\/([^/?#]*)@([^/?#@]+)\/([^/?#]+)(?:\?([^#]*))?$/;
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(?::(\d{1,5}))?$/i;
const CONTROL = /\p{Cc}/u;
/** A terminal obeys these. User and database are shown, or can be. */
const NOT_SHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** Behind the question mark. */
const PARAMETERS = ["sslmode", "sslrootcert", "options"];

const EXPECTED = "expected postgres://user:password@host/database";

/** @throws LedgerError */
export function parseAddress(text: string): Address {
	const [, credentials = "", hosts = "", name = "", query = ""] = FORM.exec(text.trim()) ?? fail(EXPECTED);
	const colon = credentials.indexOf(":");
	const user = decode(colon < 0 ? credentials : credentials.slice(0, colon));
	const password = colon < 0 ? "" : decode(credentials.slice(colon + 1));
	const database = decode(name);
	if (user === "" || NOT_SHOWN.test(user + database) || CONTROL.test(password)) fail(EXPECTED);
	const parameters = new URLSearchParams(query);
	const names = [...parameters.keys()];
	// A misspelt sslmode must not pass for none, nor a weak one hide a strong one.
	if (names.some((name) => !PARAMETERS.includes(name))) fail(`expected no parameters but ${PARAMETERS.join(", ")}`);
	if (new Set(names).size < names.length) fail("expected each parameter once");
	const parsed = hosts.split(",").map(parseHost);
	return {
		hosts: parsed,
		user,
		password: () => password,
		database,
		tls: parseTls(parameters.get("sslmode")),
		rootCert: parameters.get("sslrootcert") ?? undefined,
		options: parameters.get("options") ?? undefined,
		shown: `${parsed.map((host) => host.name).join(",")}/${database}`,
	};
}

/** The same for every login on a server's database, and shows nothing of the address. */
export function serverIn(address: string): string {
	const { hosts, database } = parseAddress(address);
	return createHash("sha256")
		.update(JSON.stringify([hosts, database]))
		.digest("hex");
}

function parseHost(text: string): Endpoint {
	const [, name = "", port = "5432"] = HOST.exec(text) ?? fail(EXPECTED);
	if (Number(port) > 65_535) fail(EXPECTED);
	return { name: name.replace(/^\[(.*)\]$/, "$1"), port: Number(port) };
}

function parseTls(mode: string | null): Address["tls"] {
	return TLS_MODES.find((known) => known === (mode ?? "prefer")) ?? fail(`expected sslmode=${TLS_MODES.join(" or ")}`);
}

function decode(text: string): string {
	try {
		return decodeURIComponent(text);
	} catch {
		return fail(`${EXPECTED}, with % as %25`);
	}
}

function fail(expected: string): never {
	throw new LedgerError("unsuited", `The budget's address: ${expected}, got an address of another form.`);
}
