/** Tells whether this process belongs to the tree that its environment names. */
import { dirname } from "node:path";
import { isatty } from "node:tty";
import { isAlive, startOf } from "./process-start.ts";
import { type Announced, type Tree, writeTree } from "./tree-variable.ts";

/** How long ago a tree may have been used whose agents are all gone, in milliseconds. */
const RECENT = 60 * 60 * 1000;

/** The variable's value for the processes that this one starts. */
export function announcement(run: number, tree: Tree | undefined): string {
	return writeTree({ pid: process.pid, start: startOf(process.pid), run, tree });
}

/** This process wrote the announcement. */
export function isOwn({ pid, start }: Announced): boolean {
	return pid === process.pid && start === startOf(pid);
}

/**
 * True if the agent is running or, for a script whose standard streams are no terminals, if its tree was used within the last
 * hour: a detached child may begin after the agent that started it has ended. Anything else is a root, because a terminal
 * or an editor that an agent once started keeps the variable for ever. A tree whose ledger cannot be read is joined, so
 * that its first gate is closed.
 */
export async function inherits(announced: Announced | undefined, isScript: boolean): Promise<boolean> {
	if (announced === undefined || isOwn(announced)) return false;
	if (isAlive(announced)) return true;
	const { tree } = announced;
	return tree !== undefined && isScript && ![0, 1, 2].some((stream) => isatty(stream)) && (await isRecent(tree));
}

/** Imported only here, because most agents have a running parent, or none. */
async function isRecent({ name, at }: Tree): Promise<boolean> {
	const { idleTime } = await import("../../ledger/sqlite/ledger.ts");
	try {
		const idle = await idleTime({ directory: at, within: dirname(at) }, { scope: "tree", name, caps: {} });
		// A clock that was set back makes it negative.
		return idle !== undefined && Math.abs(idle) <= RECENT;
	} catch {
		return true;
	}
}
