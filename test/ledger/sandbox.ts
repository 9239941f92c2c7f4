/** An agent directory of its own, with a ledger in it. */
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Ledger } from "../../src/ledger/port.ts";
import { openSqlite, type SqliteOptions } from "../../src/ledger/sqlite/ledger.ts";
import { defer, type Scope } from "../harness/wait.ts";

export interface Sandbox {
	readonly agentDir: string;
	/** Of the ledger; not made yet. */
	readonly directory: string;
	readonly file: string;
	/** Opens the ledger; it is closed when the test is over. */
	readonly open: (options?: Partial<SqliteOptions>) => Promise<Ledger>;
}

export function sandbox(t: Scope): Sandbox {
	const folder = mkdtempSync(join(realpathSync(tmpdir()), "pi-ledger-"));
	defer(t, () => rmSync(folder, { recursive: true, force: true }));
	const agentDir = join(folder, "agent");
	mkdirSync(agentDir);
	const directory = join(agentDir, "ledger");
	const open = async (options: Partial<SqliteOptions> = {}): Promise<Ledger> => {
		const ledger = await openSqlite({ directory, within: agentDir, ...options });
		defer(t, () => ledger.close());
		return ledger;
	};
	return { agentDir, directory, file: join(directory, "ledger.sqlite"), open };
}

/** What this process has open there. Linux tells; elsewhere it is nothing. */
export function openIn(folder: string): string[] {
	const path = (number: string): string => {
		try {
			return readlinkSync(`/proc/self/fd/${number}`);
		} catch {
			return ""; // it was that of the list itself
		}
	};
	const numbers = process.platform === "linux" ? readdirSync("/proc/self/fd") : [];
	return numbers.map(path).filter((each) => each.startsWith(realpathSync(folder)));
}
