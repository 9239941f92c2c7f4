/** The memory that all instances and copies of the extension in one process share: pi loads each of them separately. */
import type { Values } from "../../../settings/places.ts";

/**
 * Plain data, and each field is written by one file: a copy of another version may have made the object, and would
 * lack a method of ours.
 */
interface ProcessMemory {
	/** By session manager: the guard of each session (lifecycle/guard.ts). */
	readonly guards: WeakMap<object, unknown>;
	/** The process is pi's own, not that of a program that embeds pi; undefined until that is decided. */
	isPi: boolean | undefined;
	/** When a copy was first loaded; undefined until one is. */
	loadedAt: number | undefined;
	/** The session manager of the session to which this process belongs. */
	owner: object | undefined;
	/** The session managers of the sessions that have ended; undefined until one has. */
	ended: WeakSet<object> | undefined;
	/** The session managers of the sessions that an agent has started, as their environment says; undefined until one is. */
	inheriting: WeakSet<object> | undefined;
	/** The variable of the tree as this process was started with it; undefined until it is read. */
	inherited: string | undefined;
	/** By session id: left by an instance that was reloaded (lifecycle/handover.ts). */
	readonly legacies: Map<string, unknown>;
	/** By entry of a session and its values, for entries that a command of this process wrote: the values it had set itself. */
	readonly commands: Map<string, Values>;
	/** By place: the limits that were last read there. */
	readonly limits: Map<string, unknown>;
	/** The exit code that the outcomes so far ask for; undefined until one does. */
	exitCode: number | undefined;
	/** Writes the line about the last stop, which waits because pi may show it. */
	writeLine: (() => void) | undefined;
	/** By agent directory: the time of the last attempt to make the table of odds; undefined until there is one. */
	oddsTried: Map<string, number> | undefined;
	/** The address of a fleet's ledger, if the environment had one: it can be taken out once only. */
	address: string | undefined;
}

const KEY = Symbol.for("pi-turn-limit/2");
const slot = globalThis as { [KEY]?: ProcessMemory | undefined };

export const processMemory: ProcessMemory = (slot[KEY] ??= {
	guards: new WeakMap(),
	isPi: undefined,
	loadedAt: undefined,
	owner: undefined,
	ended: undefined,
	inheriting: undefined,
	inherited: undefined,
	legacies: new Map(),
	commands: new Map(),
	limits: new Map(),
	exitCode: undefined,
	writeLine: undefined,
	oddsTried: undefined,
	address: undefined,
});
