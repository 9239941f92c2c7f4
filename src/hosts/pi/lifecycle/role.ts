/** Tells the root of a tree of agents from its members. */
import { readFileSync } from "node:fs";
import { type Announced, readTree, type Tree, TREE_VARIABLE, writeTree } from "../../../loop/sharing/tree-variable.ts";
import { shared } from "../host/process.ts";

export interface Role {
	/** An agent started this session. */
	readonly isMember: boolean;
	/** Exit code and standard error of this process are this session's. */
	readonly ownsProcess: boolean;
	/** The tree that a member joins, if the root has limited it. */
	readonly tree?: Tree | undefined;
}

/** Facts that tell pi's own session from one that somebody makes in its process. */
export interface Origin {
	/** It loaded this extension while pi was starting. */
	readonly isLoadedAtStart: boolean;
	/** The reason of `session_start`, if that was its first event. */
	readonly reason: string | undefined;
	readonly mode: string;
}

/**
 * The role of a session at its first event. In pi's own process the owner is the session that pi itself makes: at its
 * start, and later in place of the last one. All others are members. In a program that embeds pi every session is a root.
 */
export function roleOf(session: object, { isLoadedAtStart, reason = "startup", mode }: Origin): Role {
	if (!isPi()) return { isMember: false, ownsProcess: false };
	if (isLoadedAtStart || reason !== "startup" || mode === "tui") shared.owner ??= session;
	const announced = readTree(process.env[TREE_VARIABLE]);
	if (shared.owner !== session) return { isMember: true, ownsProcess: false, tree: announced?.tree };
	const isMember = isAlive(announced);
	return { isMember, ownsProcess: true, tree: isMember ? announced?.tree : undefined };
}

const THEME = Symbol.for("@earendil-works/pi-coding-agent:theme");

/** True until pi has a theme: it makes one before its first session starts, in the terminal sometimes before it loads us. */
export function isStarting(): boolean {
	return !(THEME in globalThis);
}

/** Lets every process that this session's tools start know its root. */
export function announceRoot({ isMember, ownsProcess }: Role, run: number, tree?: Tree): void {
	if (!ownsProcess || isMember) return;
	process.env[TREE_VARIABLE] = writeTree({ pid: process.pid, start: startOf(process.pid), run, tree });
}

/** The session ends; the next one in this process owns it. */
export function leaveProcess(session: object): void {
	if (shared.owner === session) shared.owner = undefined;
}

/** Pi's command line sets title and variable; a program that was started from pi's bash has the variable too. */
function isPi(): boolean {
	return process.env["PI_CODING_AGENT"] === "true" && /(^|\s)pi(-rpc)?$/.test(process.title);
}

/** A terminal or an editor can keep the variable of a pi that ended long ago: the process that it names must live. */
function isAlive(announced: Announced | undefined): boolean {
	if (announced === undefined || announced.pid === process.pid) return false;
	try {
		process.kill(announced.pid, 0);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
	}
	return startOf(announced.pid) === announced.start;
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
