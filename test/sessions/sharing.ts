/** Sessions with limits that they share, in the test's own process. */
import { join } from "node:path";
import type { Reading } from "../../src/ledger/port.ts";
import { openSqlite } from "../../src/ledger/sqlite/ledger.ts";
import type { Tree } from "../../src/loop/tree/tree-variable.ts";
import { inside, type Inside, type InsideOptions } from "../harness/inside.ts";
import { endless } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { defer, type Scope } from "../harness/wait.ts";

export interface SharingOptions extends InsideOptions {
	/** In the user's file. */
	limits: object;
}

export function sharing(t: Scope, { limits, ...options }: SharingOptions): Promise<Inside> {
	return inside(t, {
		model: endless(noop),
		...options,
		env: { PI_TURN_LIMIT_REPEATS: "unlimited", ...options.env },
		agentFiles: { "turn-limit.json": { grace: 0, ...limits }, ...options.agentFiles },
	});
}

/** A session with a fleet's budget, whose server nobody has started. */
export function ofFleet(t: Scope, { limits, ...options }: SharingOptions): Promise<Inside> {
	// The file has to be the user's alone.
	const umask = process.umask(0o077);
	defer(t, () => process.umask(umask));
	const budget = { at: "postgres://agent:secret@127.0.0.1:1/fleet", account: "team", maxTurns: 9 };
	return sharing(t, { limits: { ...limits, budget }, ...options });
}

const VARIABLE = "PI_TURN_LIMIT_ROOT";

/** An agent that the session of this process starts now. */
export function member(t: Scope, options: Partial<SharingOptions> = {}): Promise<Inside> {
	const root = { [VARIABLE]: process.env[VARIABLE] ?? "" };
	return sharing(t, { limits: {}, ...options, env: { ...root, ...options.env } });
}

/** What a session tells the agents that it starts now of its tree. */
export function announced(): Tree | undefined {
	const [, tree] = /^\d+\.\d*\.\d+ (.*)$/.exec(process.env[VARIABLE] ?? "") ?? [];
	return tree === undefined ? undefined : (JSON.parse(tree) as Tree);
}

/** What the ledger says of a tree. */
export async function readTree({ name, at }: Pick<Tree, "name" | "at">): Promise<Reading["meters"]> {
	const ledger = await openSqlite({ directory: at, within: join(at, "..") });
	try {
		const [reading] = await ledger.read([{ scope: "tree", name, caps: {} }]);
		return reading?.meters ?? {};
	} finally {
		ledger.close();
	}
}

export function directoryOf({ folder }: Inside): string {
	return join(folder, "turn-limit-ledger");
}

export function fileOf(pi: Inside): string {
	return join(directoryOf(pi), "ledger.sqlite");
}

/** The kinds of the outcomes so far. */
export function kinds(pi: Inside): string[] {
	return pi.entries("turn-limit-outcome").map((outcome) => (outcome as { kind: string }).kind);
}

/** The first lines of the questions so far. */
export function questions({ asked }: Inside): string[] {
	return asked.map(({ message }) => message.split("\n")[0] ?? "");
}

/** Types the words behind `/turn-limit`; gives the notifications that follow. */
export async function say(pi: Inside, words = ""): Promise<string[]> {
	const before = pi.notifications.length;
	await pi.run(`/turn-limit ${words}`);
	return pi.notifications.slice(before).map(({ message }) => message);
}

/** The lines of the status that start so, without the spaces that align them. */
export async function status(pi: Inside, start: string): Promise<string[]> {
	const lines = (await say(pi)).join("\n").split("\n");
	return lines.filter((line) => line.startsWith(start)).map((line) => line.replaceAll(/ {2,}/g, "  "));
}
