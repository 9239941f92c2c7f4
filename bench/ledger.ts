/** Measures a shared count beside one in memory. */
import { memory } from "../src/ledger/memory/ledger.ts";
import type { Account } from "../src/ledger/port.ts";
import { measure } from "../test/ledger/agent.ts";
import { agents } from "../test/ledger/agents.ts";
import { sandbox } from "../test/ledger/sandbox.ts";
import type { Scope } from "../test/harness/wait.ts";
import { quantile, table } from "./figures.ts";
import { scoped } from "./scope.ts";

/** In all, however many processes share them. */
const TIMES = 4_000;

const accounts: Account[] = [
	{ scope: "day", zone: "UTC", caps: { turns: 1_000_000 } },
	{ scope: "tree", name: "bench", caps: { turns: 1_000_000 } },
];

export async function ledger(): Promise<string> {
	const rows = [
		["in memory, 1 process", await inMemory()],
		["SQLite, 1 process", await scoped((t) => inProcesses(t, 1))],
		["SQLite, 8 processes", await scoped((t) => inProcesses(t, 8))],
	] as const;
	return `## Shared counts

One reservation and its settle, over a day and a tree; ${TIMES} of them in all, the processes at once and on one file:

${table(
	["", "p50, ms", "p99, ms"],
	rows.map(([name, took]) => [name, ...[0.5, 0.99].map((share) => quantile(took, share).toFixed(3))]),
)}`;
}

async function inMemory(): Promise<number[]> {
	const ledger = memory()();
	for (const account of accounts) await ledger.join(account);
	return measure(ledger, accounts, TIMES);
}

async function inProcesses(t: Scope, processes: number): Promise<number[]> {
	const start = agents(t, sandbox(t));
	const all = Array.from({ length: processes }, () =>
		start({ accounts, times: TIMES / processes, instead: "measure" }),
	);
	for (const agent of all) await agent.until("ready");
	for (const agent of all) agent.go();
	for (const agent of all) await agent.until("done");
	return all.flatMap((agent) => JSON.parse(agent.last) as number[]);
}
