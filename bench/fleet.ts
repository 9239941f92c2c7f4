/** Measures a fleet on a real PostgreSQL: many agents on one account, and what each fault costs. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { LedgerError } from "../src/ledger/faults.ts";
import type { Ledger } from "../src/ledger/port.ts";
import { openPostgres } from "../src/ledger/postgres/ledger.ts";
import { database, type Database } from "../test/fleet/database.ts";
import { Proxy } from "../test/fleet/proxy.ts";
import { Server } from "../test/fleet/server.ts";
import { defer, type Scope } from "../test/harness/wait.ts";
import { quantile, table } from "./figures.ts";
import { scoped } from "./scope.ts";

const AGENTS = 1_000;
/** In all, of every account. */
const TURNS = 4_000;
/** Seconds from one turn of an agent to its next, on average. */
const PACE = 20;
/** No more than this, in milliseconds, whatever the machine does. */
const MOST = 120_000;

const TTL = 60_000;

/** Durable, as an operator's server is. */
const DURABLE = [`max_connections = ${AGENTS + 50}`, "shared_buffers = 64MB", "unix_socket_directories = ''"];

export async function fleet(t: Scope): Promise<string> {
	const server = await Server.make(DURABLE);
	defer(t, () => server.remove());
	const base = await database(t, { at: server.address() });
	const rows = [
		await crowd(base, "1 agent, as fast as it can", 1, 0),
		await crowd(base, "8 agents, as fast as they can", 8, 0),
		await crowd(base, "64 agents, as fast as they can", 64, 0),
		await crowd(base, `${thousands(AGENTS)} agents, a turn each ${PACE} s`, AGENTS, PACE * 1000),
	];
	return `## A fleet

One account of ${thousands(TURNS)} turns on PostgreSQL with durable commits (${await version(base)}), server and agents on this machine.
An agent reserves a turn, settles it, and goes on until the account is full; every agent has a connection of its own.
An operation is one reservation or one settle. Granted is what the agents were told, counted what the ledger has.

${table(["", "granted", "counted", "operations a second", "p50, ms", "p99, ms", "failed"], rows)}

What a fault costs, with the deadline of 5 s that agents have; "next": the first operation after it is over.

${table(["fault", "closed after, s", "says", "next"], await scoped(faults))}`;
}

async function crowd(base: Database, name: string, agents: number, pace: number): Promise<string[]> {
	const account = { scope: "fleet", name, caps: { turns: TURNS } } as const;
	const ledgers: Ledger[] = [];
	while (ledgers.length < agents) {
		const some = Array.from({ length: Math.min(20, agents - ledgers.length) }, () => connect(base));
		ledgers.push(...(await Promise.all(some)));
	}
	await ledgers[0]?.join(account);
	const took: number[] = [];
	let [granted, failed] = [0, 0];
	const timed = async <T>(work: () => Promise<T>): Promise<T> => {
		const start = performance.now();
		try {
			return await work();
		} finally {
			took.push(performance.now() - start);
		}
	};
	const begin = performance.now();
	const live = async (ledger: Ledger): Promise<void> => {
		while (performance.now() < begin + MOST) {
			await setTimeout(Math.random() * 2 * pace);
			const id = randomUUID();
			try {
				if (!(await timed(() => ledger.reserve(id, [account], { turns: 1 }, TTL))).granted) return;
				granted++;
				await timed(() => ledger.settle(id, [account], { turns: 1 }));
			} catch (error) {
				if (!(error instanceof LedgerError)) throw error;
				failed++;
			}
		}
	};
	await Promise.all(ledgers.map(live));
	const seconds = (performance.now() - begin) / 1000;
	const [reading] = (await ledgers[0]?.read([account])) ?? [];
	const { used = 0, held = 0 } = reading?.meters["turns"] ?? {};
	for (const ledger of ledgers) ledger.close();
	const times = [0.5, 0.99].map((share) => quantile(took, share).toFixed(1));
	return [
		name,
		thousands(granted),
		thousands(used + held),
		(took.length / seconds).toFixed(0),
		...times,
		String(failed),
	];
}

function connect(base: Database): Promise<Ledger> {
	return openPostgres({ address: base.address("agent") });
}

async function version(base: Database): Promise<string> {
	const [row] = await base.sql`SHOW server_version`;
	return String(row?.["server_version"]);
}

/** A server of its own for every fault. */
async function faults(t: Scope): Promise<string[][]> {
	const account = { scope: "fleet", name: "f", caps: { turns: 1_000 } } as const;
	const rows: string[][] = [];
	const server = await Server.make();
	defer(t, () => server.remove());
	const base = await database(t, { at: server.address() });
	const proxy = await Proxy.make(t, server.port);
	const address = base.address("agent", proxy.port);
	const read = (ledger: Ledger): Promise<unknown> => ledger.reserve(randomUUID(), [account], { turns: 1 }, TTL);
	const open = (): Promise<Ledger> => openPostgres({ address });
	const row = async (name: string, work: () => Promise<unknown>, next: () => Promise<unknown>): Promise<void> => {
		const start = performance.now();
		const said = await work().then(
			() => "(nothing)",
			(error: unknown) => (error as Error).message,
		);
		const seconds = (performance.now() - start) / 1000;
		const shown = said
			.replace(/pi_fleet_\w+/, "budgets")
			.replaceAll("127.0.0.1", "db")
			.replace(/Run: .*/, "Run: psql …");
		const after = await next().then(
			() => "works",
			(error: unknown) => (error as Error).message,
		);
		rows.push([name, said === "(nothing)" ? "not closed" : seconds.toFixed(1), shown, after]);
	};
	const ledger = await open();
	defer(t, () => ledger.close());
	await ledger.join(account);

	await proxy.refuse();
	await row("absent at the start", open, async () => (await proxy.restore(), (await open()).close()));
	proxy.set("frozen");
	await row("frozen at the start", open, async () => (proxy.set("open"), (await open()).close()));
	const go = (): Promise<unknown> => read(ledger);
	await go();
	proxy.set("frozen");
	await row("frozen later", go, () => (proxy.set("open"), go()));
	proxy.set("cut");
	proxy.set("open");
	await row("connection cut between two turns", go, go);
	await row(
		"cut, and away for longer",
		() => (proxy.set("cut"), go()),
		() => (proxy.set("open"), go()),
	);
	await server.stop();
	await row("stopped", go, async () => (await server.start(), await go()));
	await server.stop();
	const restart = async (): Promise<void> => {
		await Promise.all([go(), server.start()]);
	};
	await row("restarted within the deadline", restart, go);
	const wrong = address.replace(base.password, "wrong");
	await row("wrong password", () => openPostgres({ address: wrong }), open);
	await base.sql`UPDATE pi_turn_limit.setup SET version = 0`;
	const mend = () => base.sql`UPDATE pi_turn_limit.setup SET version = 1`;
	await row("older set-up", open, async () => (await mend(), await open()));
	const empty = await database(t, { at: server.address(), setUp: "" });
	await row("no set-up", () => openPostgres({ address: empty.address("agent") }), open);
	const standby = await server.standby();
	defer(t, () => standby.remove());
	await server.stop();
	proxy.target = standby.port;
	await row("failover to a standby that is not yet promoted", go, () => (standby.promote(), go()));
	return rows;
}

function thousands(n: number): string {
	return n.toLocaleString("en");
}
