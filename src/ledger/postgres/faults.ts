/** Maps errors of PostgreSQL, its client and the network to the port's faults, in words that name host and database only. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { clip } from "../../core/text.ts";
import type { Address } from "./address.ts";
import { type Fault, FAULTS, LedgerError } from "../faults.ts";

/** Of sql/fleet.sql, and of the functions that we call. */
const VERSION = 1;

export interface Failure {
	readonly error: LedgerError | RangeError;
	/** The connection can be used for the next operation. */
	readonly harmless?: true;
	/** It may be over in a moment; "lost" only if there has been a connection. */
	readonly passing?: "busy" | "lost";
}

type Words = (address: Address) => string;

/** By SQLSTATE. */
const SERVER: Readonly<Record<string, readonly [Fault, string | Words, Omit<Failure, "error">?]>> = {
	"28000": ["denied", "refuses the user, or the machine that it comes from"],
	"28P01": ["denied", "refuses the user or the password"],
	"42501": ["denied", "has granted its user no rights: GRANT pi_turn_limit_agent TO that user", { harmless: true }],
	"3D000": ["unsuited", "does not exist: its server has no database of that name"],
	"3F000": ["unsuited", notSetUp],
	"42883": ["unsuited", notSetUp],
	"42P01": ["unsuited", notSetUp],
	TL002: ["unsuited", "has another default_transaction_isolation than read committed"],
	"55P03": ["locked", "is locked by others", { harmless: true, passing: "busy" }],
	"40001": ["locked", "is locked by others", { harmless: true, passing: "busy" }],
	"40P01": ["locked", "is locked by others", { harmless: true, passing: "busy" }],
	"53100": ["full", "has no room left on its disk"],
	"53300": ["unreachable", "has no connection left (max_connections)", { passing: "busy" }],
	"25006": ["read-only", "is a standby, and cannot be written", { passing: "busy" }],
	"57014": ["unreachable", "has cancelled the operation", { harmless: true, passing: "busy" }],
	"57P01": ["unreachable", "is shutting down", { passing: "busy" }],
	"57P02": ["unreachable", "is shutting down", { passing: "busy" }],
	"57P03": ["unreachable", "is starting or shutting down", { passing: "busy" }],
};

/** By the codes of Node and of the client. */
const NETWORK: Readonly<Record<string, string>> = {
	ECONNREFUSED: "nothing listens there",
	ENOTFOUND: "its host is unknown",
	EAI_AGAIN: "its host is unknown",
	EHOSTUNREACH: "there is no way to its host",
	ENETUNREACH: "there is no way to its host",
	ETIMEDOUT: "it does not answer",
	ECONNRESET: "the connection was lost",
	EPIPE: "the connection was lost",
	CONNECTION_CLOSED: "the connection was lost",
	CONNECTION_DESTROYED: "the connection was lost",
	CONNECTION_ENDED: "the connection was lost",
	NO_TLS: "it offers no TLS, which the address requires",
};

/** The error itself is not kept, because it can hold the user, the password and what was asked. */
export function toFailure(error: unknown, address: Address, operation: string): Failure {
	if (error instanceof LedgerError)
		return FAULTS[error.kind].retry === "never" ? { error } : { error, passing: "lost" };
	const { code, message } = error as { code?: unknown; message?: unknown };
	const key = String(code);
	const text = clip(String(message), 300);
	if (key === "TL001") {
		const account = text.replace(/^fleet /, "");
		const unknown = `${shownAs(address)} has no account ${account}. An operator may have deleted it.`;
		return { error: new LedgerError("unjoined", unknown), harmless: true };
	}
	if (/^22...$/.test(key)) return { error: new RangeError(text), harmless: true };
	if (key === "42501" && operation === "raise") {
		const denied = `Only an operator can raise the budget at ${address.shown}.`;
		return { error: new LedgerError("denied", denied), harmless: true };
	}
	const [kind, words, more] = of(SERVER, key) ?? ["unreachable", `fails with the error ${nameOf(key)}`];
	const network = of(NETWORK, key) ?? (isTls(key) ? `TLS fails with ${key}` : undefined);
	if (network !== undefined) {
		const lost = `${shownAs(address)} cannot be reached: ${network}.`;
		return { error: new LedgerError("unreachable", lost), passing: "lost" };
	}
	const sentence = typeof words === "string" ? `${shownAs(address)} ${words}.` : words(address);
	return { error: new LedgerError(kind, sentence), ...more };
}

/** A server can send any code, even the name of a property that every object has. */
function of<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
	return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** It is not one of our servers, or its functions were changed. */
export function notUnderstood(address: Address): LedgerError {
	return new LedgerError(
		"unsuited",
		`${shownAs(address)} sent an answer that pi-turn-limit does not understand. ${howToSetUp(address)}`,
	);
}

export function tooLate(address: Address, ms: number): LedgerError {
	return new LedgerError("unreachable", `${shownAs(address)} did not answer within ${ms / 1000} s.`);
}

/** @throws LedgerError unless it is the version that we call. */
export function checkVersion(version: unknown, address: Address): void {
	if (version === VERSION) return;
	if (typeof version !== "number") throw notUnderstood(address);
	const found = `has version ${version} of the set-up, expected ${VERSION}`;
	const mend = version < VERSION ? howToSetUp(address) : "Update pi-turn-limit on this machine.";
	throw new LedgerError("unsuited", `${shownAs(address)} ${found}. ${mend}`);
}

export function clientMissing(address: Address): LedgerError {
	const root = packageRoot();
	const isInstalled = basename(dirname(root)) === "node_modules";
	const into = isInstalled ? dirname(dirname(root)) : root;
	// A clone's own package.json stays as it is, and of its development dependencies only this one is needed.
	const flags = isInstalled ? "" : " --no-save --save-prod --omit=dev";
	const install = `npm install --prefix ${typed(into)}${flags} postgres@3`;
	return new LedgerError("unsuited", `${shownAs(address)} needs the package postgres. Run: ${install}`);
}

function notSetUp(address: Address): string {
	return `${shownAs(address)} is not set up. ${howToSetUp(address)}`;
}

function howToSetUp(address: Address): string {
	return `Run: ${command(address)}`;
}

/** The operator's command, to which the operator adds user and password. */
function command({ hosts: [host], database }: Address): string {
	const file = join(packageRoot(), "sql/fleet.sql");
	const port = host && host.port !== 5432 ? ` -p ${host.port}` : "";
	return `psql -v ON_ERROR_STOP=1 -h ${host?.name ?? ""}${port} -d ${typed(database)} -f ${typed(file)}`;
}

/** As one word of a command. */
function typed(text: string): string {
	return /\s/.test(text) ? `"${text}"` : text;
}

/** The package's files are not as deep as the sources'. */
function packageRoot(from = dirname(fileURLToPath(import.meta.url))): string {
	return existsSync(join(from, "package.json")) || from === dirname(from) ? from : packageRoot(dirname(from));
}

function shownAs({ shown }: Address): string {
	return `The budget at ${shown}`;
}

/** A code that has the form of one; anything else could say more than it should. */
function nameOf(code: string): string {
	return /^[A-Z\d_]{1,40}$/.test(code) ? code : "(without a code)";
}

function isTls(code: string): boolean {
	return /^(?:ERR_TLS_|ERR_SSL_|EPROTO$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)[A-Z\d_]{0,40}$/.test(code);
}
