/**
 * A process that spends of a ledger: `node agent.ts '<order>'`. It says `ready`, waits for a line, and then says of
 * every reservation whether it was granted, at once, so that nobody can take a granted one for lost.
 */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Account, Ledger } from "../../src/ledger/port.ts";
import { openSqlite } from "../../src/ledger/sqlite/ledger.ts";

export interface Order {
	readonly directory: string;
	readonly within: string;
	readonly accounts: readonly Account[];
	/** How often it reserves; after the last it waits until it is ended. */
	readonly times: number;
	/** What it does instead: it holds the lock for ever, or it says at the end how long each reservation took. */
	readonly instead?: "lock" | "measure";
}

const say = (line: string): unknown => writeSync(1, `${line}\n`);

if (import.meta.filename === process.argv[1]) await obey(JSON.parse(process.argv[2] ?? "") as Order);

async function obey(order: Order): Promise<void> {
	const ledger = await openSqlite(order);
	for (const account of order.accounts) await ledger.join(account);
	say("ready");
	const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
	await lines.next();
	if (order.instead === "lock") await lock(order);
	else if (order.instead === "measure") say(JSON.stringify(await measure(ledger, order.accounts, order.times)));
	else await spend(ledger, order);
	say("done");
	await lines.next();
	ledger.close();
}

async function spend(ledger: Ledger, { accounts, times }: Order): Promise<void> {
	for (let i = 0; i < times; i++) {
		const id = randomUUID();
		const { granted } = await ledger.reserve(id, accounts, { turns: 1 }, 60_000);
		say(granted ? "granted" : "refused");
		if (granted) await ledger.settle(id, accounts, { turns: 1 });
	}
}

/** How long each reservation takes with its settle, in milliseconds. */
export async function measure(ledger: Ledger, accounts: readonly Account[], times: number): Promise<number[]> {
	const took: number[] = [];
	for (let i = 0; i < times; i++) {
		const id = randomUUID();
		const start = performance.now();
		await ledger.reserve(id, accounts, { turns: 1 }, 60_000);
		await ledger.settle(id, accounts, { turns: 1 });
		took.push(performance.now() - start);
	}
	return took;
}

async function lock({ directory }: Order): Promise<void> {
	const { DatabaseSync } = await import("node:sqlite");
	const database = new DatabaseSync(`${directory}/ledger.sqlite`);
	database.exec("BEGIN IMMEDIATE");
	// Node would collect it, and with it the lock.
	process.once("exit", () => database.close());
}
