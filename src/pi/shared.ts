import type { State } from "../core/state.ts";

/** What an instance of the extension leaves to the next when it is reloaded. */
export interface Left {
	readonly state: State;
	/** Lets the loop go on that waits for an answer; the next instance asks again. */
	release(): void;
}

/** What has to outlive an instance: pi loads the extension anew for a reload and for every session. */
interface Shared {
	/** By session. */
	readonly left: Map<string, Left>;
	/** By place: the limits that were last read there. */
	readonly read: Map<string, unknown>;
	/** Has a limit stopped a run of this process? */
	stopped: boolean;
}

const KEY = Symbol.for("pi-turn-limit/1");
const slot = globalThis as { [KEY]?: Shared | undefined };

export const shared: Shared = (slot[KEY] ??= { left: new Map(), read: new Map(), stopped: false });
