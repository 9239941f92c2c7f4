/** What instances and copies of the extension have to know of each other. */
import type { State } from "../core/state.ts";
import type { Successor } from "./adapter.ts";
import type { Pi } from "./host.ts";

/** What an instance of the extension leaves to the next one when it is reloaded. */
export interface Left {
	readonly state: State;
	/** Events that still reach the old instance, and the loop that waits for its answer, go on with the new one. */
	succeed(successor: Successor): void;
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

const CLAIM = "turn-limit:claim";

/** Copies of us on one session agree on who was first; the bus answers at once. */
export function isTaken({ events }: Pick<Pi, "events">): boolean {
	const claim = { taken: false };
	events.emit(CLAIM, claim);
	if (!claim.taken) {
		events.on(CLAIM, (other) => {
			(other as typeof claim).taken = true;
		});
	}
	return claim.taken;
}
