/** PostgreSQL servers that tests start themselves, from what this machine has installed. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
	appendFileSync,
	chownSync,
	cpSync,
	existsSync,
	mkdtempSync,
	readdirSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Watch } from "../harness/wait.ts";

/** Debian keeps the server's programs off the path. */
function places(): string[] {
	const debian = "/usr/lib/postgresql";
	const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
	return [...(process.env["PATH"] ?? "").split(delimiter), ...versions.map((version) => join(debian, version, "bin"))];
}

export function isInstalled(): boolean {
	return places().some((place) => existsSync(join(place, "initdb")));
}

function program(name: string): string {
	const place = places().find((place) => existsSync(join(place, name)));
	if (place === undefined)
		throw new Error(`PostgreSQL's ${name} is not installed. On Debian: apt-get install postgresql`);
	return join(place, name);
}

/** PostgreSQL refuses to run as root. */
const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? unprivileged() : {};

function unprivileged(): typeof user {
	const id = (flag: string, name: string): number => Number(execFileSync("id", [flag, name], { stdio: "pipe" }));
	for (const name of ["postgres", "nobody"]) {
		try {
			return { uid: id("-u", name), gid: id("-g", name) };
		} catch {
			continue;
		}
	}
	throw new Error("PostgreSQL refuses to run as root, and there is neither a user postgres nor nobody.");
}

function own(path: string): void {
	if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid);
}

/** Lines of postgresql.conf. Nothing on these servers has to outlive a crash of the machine. */
const FAST = ["fsync = off", "full_page_writes = off", "autovacuum_naptime = 5s", "unix_socket_directories = ''"];

interface Place {
	readonly folder: string;
	readonly password: string;
}

/** It listens on a free port of 127.0.0.1, and on the same one when it is started again. */
export class Server {
	readonly #place: Place;
	readonly port: number;
	#child: ChildProcess | undefined;
	#log = "";

	private constructor(place: Place, port: number) {
		this.#place = place;
		this.port = port;
	}

	/** A new one; `conf` are further lines of its configuration. */
	static async make(conf: readonly string[] = FAST): Promise<Server> {
		const place = { folder: mkdtempSync(join(tmpdir(), "pi-fleet-")), password: randomBytes(12).toString("hex") };
		own(place.folder);
		const data = join(place.folder, "data");
		const secret = join(place.folder, "password");
		writeFileSync(secret, place.password);
		own(secret);
		const how = ["-A", "scram-sha-256", "--pwfile", secret, "-E", "UTF8", "--locale=C", "--no-sync"];
		execFileSync(program("initdb"), ["-D", data, "-U", "postgres", ...how], { ...user, cwd: "/", stdio: "pipe" });
		appendFileSync(join(data, "postgresql.conf"), conf.map((line) => `${line}\n`).join(""));
		const server = new Server(place, await freePort());
		await server.start();
		return server;
	}

	/** A standby of this one. */
	async standby(): Promise<Server> {
		const place = { ...this.#place, folder: mkdtempSync(join(tmpdir(), "pi-fleet-")) };
		own(place.folder);
		const from = ["-d", `host=127.0.0.1 port=${this.port} user=postgres password=${place.password}`];
		const how = ["-D", join(place.folder, "data"), "-R", "-c", "fast", "--no-sync"];
		execFileSync(program("pg_basebackup"), [...from, ...how], { ...user, cwd: "/", stdio: "pipe" });
		const server = new Server(place, await freePort());
		await server.start();
		return server;
	}

	/** Lets a file be read by the server. */
	add(name: string, from: string): string {
		const path = join(this.#place.folder, name);
		cpSync(from, path);
		own(path);
		return path;
	}

	address(database = "postgres"): string {
		return `postgres://postgres:${this.#place.password}@127.0.0.1:${this.port}/${database}`;
	}

	/** For PostgreSQL's own programs, as its owner. */
	environment(): NodeJS.ProcessEnv {
		const { password: PGPASSWORD } = this.#place;
		const PATH = places()
			.filter((place) => place !== "")
			.join(delimiter);
		return { ...process.env, PATH, PGHOST: "127.0.0.1", PGPORT: `${this.port}`, PGUSER: "postgres", PGPASSWORD };
	}

	async start(): Promise<void> {
		this.#log = "";
		const args = ["-D", join(this.#place.folder, "data"), "-p", `${this.port}`, "-c", "listen_addresses=127.0.0.1"];
		const child = spawn(program("postgres"), args, { ...user, cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
		this.#child = child;
		const watch = new Watch(() => this.#log);
		child.stderr.setEncoding("utf8").on("data", (part: string) => {
			this.#log += part;
			watch.changed();
		});
		child.once("close", () => watch.over("the server has ended"));
		await watch.until("a server that is ready", () => /ready to accept (?:read-only )?connections/.test(this.#log));
	}

	/** Ends every connection, as `pg_ctl stop -m fast`; "crash" is the power cut. */
	async stop(how: "fast" | "crash" = "fast"): Promise<void> {
		const child = this.#child;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const ended = once(child, "close");
		child.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
		await ended;
	}

	promote(): void {
		const args = ["promote", "-w", "-D", join(this.#place.folder, "data")];
		execFileSync(program("pg_ctl"), args, { ...user, cwd: "/", stdio: "pipe" });
	}

	async remove(): Promise<void> {
		await this.stop();
		rmSync(this.#place.folder, { recursive: true, force: true });
	}
}

async function freePort(): Promise<number> {
	const probe = createServer().listen(0, "127.0.0.1");
	await once(probe, "listening");
	const { port } = probe.address() as AddressInfo;
	probe.close();
	await once(probe, "close");
	return port;
}
