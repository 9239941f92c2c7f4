/** Reads and writes the variable by which an agent names its tree to the processes that it starts. */
import { isObject } from "../../core/is-object.ts";
import type { Values } from "../../settings/places.ts";

/** The name of the variable. Its format is that of version 2.0: agents of both versions share a tree. */
export const TREE_VARIABLE = "PI_TURN_LIMIT_ROOT";

/** A tree of agents that share limits. */
export interface Tree {
	readonly name: string;
	/** The directory of the ledger. */
	readonly at: string;
	/** The root's shared limits, as files write them. */
	readonly limits: Values;
	/** The limits that the root's command has overruled: a member that reads the same ones has none of its own. */
	readonly overruled: Values;
}

/** An agent, as it names itself to the processes that it starts. */
export interface Announced {
	readonly pid: number;
	/** When the process started, in ticks since boot; undefined where the system does not say. */
	readonly start: string | undefined;
	/** The number of runs that have begun. */
	readonly run: number;
	/** Undefined if nothing limits it. */
	readonly tree: Tree | undefined;
}

export function writeTree({ pid, start, run, tree }: Announced): string {
	const agent = [pid, start ?? "", run].join(".");
	return tree === undefined ? agent : `${agent} ${JSON.stringify(tree)}`;
}

/** Undefined if the value names no agent; without `tree` if that cannot be read. */
export function readTree(value: string | undefined): Announced | undefined {
	const [, pid, start, run, tree] = /^([1-9]\d*)\.(\d*)\.(\d+)(?: (.*))?$/s.exec(value ?? "") ?? [];
	if (pid === undefined) return undefined;
	return { pid: Number(pid), start: start || undefined, run: Number(run), tree: treeIn(tree) };
}

function treeIn(text = ""): Tree | undefined {
	try {
		const tree: unknown = JSON.parse(text);
		const { name, at, limits, overruled } = isObject(tree) ? tree : {};
		if (typeof name !== "string" || name === "" || typeof at !== "string" || !isObject(limits)) return undefined;
		return { name, at, limits, overruled: isObject(overruled) ? overruled : {} };
	} catch {
		return undefined;
	}
}
