/** Tells whether a process id still belongs to the process that a variable names. */
import { readFileSync } from "node:fs";
import type { Announced } from "./tree-variable.ts";

/** When a process started, in ticks since boot; undefined where the system does not say. */
export function startOf(pid: number): string | undefined {
	try {
		// The command's name is in parentheses and can contain anything, spaces included.
		return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
	} catch {
		return undefined;
	}
}

/** A terminal or an editor can keep the variable of an agent that ended long ago. */
export function isAlive({ pid, start }: Announced): boolean {
	try {
		process.kill(pid, 0);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
	}
	return startOf(pid) === start;
}
