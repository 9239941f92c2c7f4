/** Tells the root of a tree of agents from its members. */
import { readFileSync } from "node:fs";
import { shared } from "./shared.ts";

/** Names the root's process and run to every process that it starts. */
const VARIABLE = "PI_TURN_LIMIT_ROOT";

export interface Role {
	/** An agent started this session. */
	readonly isMember: boolean;
	/** Exit code and standard error of this process are this session's. */
	readonly ownsProcess: boolean;
}

/**
 * The role of a session at its first event. In pi's own process the first session is the owner, and every further
 * one that starts beside it a member. In a program that embeds pi every session is a root.
 */
export function roleOf(session: object): Role {
	if (!isPi()) return { isMember: false, ownsProcess: false };
	shared.owner ??= session;
	if (shared.owner !== session) return { isMember: true, ownsProcess: false };
	return { isMember: isStartedByRoot(process.env[VARIABLE]), ownsProcess: true };
}

/** Lets every process that this session's tools start know its root. */
export function announceRoot({ isMember, ownsProcess }: Role, run: number): void {
	if (ownsProcess && !isMember) process.env[VARIABLE] = [process.pid, startOf(process.pid) ?? "", run].join(".");
}

/** The session ends; the next one in this process owns it. */
export function leaveProcess(session: object): void {
	if (shared.owner === session) shared.owner = undefined;
}

/** Pi's command line sets the title; a program that embeds pi keeps its own. */
function isPi(): boolean {
	return process.env["PI_CODING_AGENT"] === "true" && !/\b(node|bun|deno)\b/.test(process.title);
}

/** A terminal or an editor can keep the variable of a pi that ended long ago: the process that it names must live. */
function isStartedByRoot(value: string | undefined): boolean {
	const [, pid, start] = /^(\d+)\.(\d*)\.\d+$/.exec(value ?? "") ?? [];
	if (pid === undefined || Number(pid) === process.pid) return false;
	try {
		process.kill(Number(pid), 0);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
	}
	return startOf(Number(pid)) === (start || undefined);
}

/** When a process started, in ticks since the machine did; undefined where the system does not tell. */
function startOf(pid: number): string | undefined {
	try {
		// The command's name stands in parentheses and can hold anything, spaces included.
		return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19];
	} catch {
		return undefined;
	}
}
