/** Passes a session from an instance of the extension to the next one when pi reloads its extensions in mid-run. */
import type { State } from "../core/state.ts";
import { shared } from "./process-state.ts";
import type { Shares } from "./shares.ts";

/** Handles an event that reached an instance which no longer guards the session. */
export type Successor = (name: string, event: unknown) => unknown;

/** The part of a session that the next instance takes over. */
interface Heritage {
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shares: Shares | undefined;
}

/** The heritage, until the next instance takes it. */
export interface Legacy extends Heritage {
	/** Events that still reach the old instance go on with the new one. */
	succeed(successor: Successor): void;
}

/** How long an instance that was reloaded keeps a run waiting for the next one, which may never be loaded. */
const PATIENCE_MS = 10_000;

export class Handover {
	#successor: Promise<Successor | undefined> | undefined;

	/** True once another instance decides. */
	get isOver(): boolean {
		return this.#successor !== undefined;
	}

	/** Leaves it to the next instance; `done` is called when it takes over, or when it does not come. */
	leave(sessionId: string, { state: { phase, ...state }, shares }: Heritage, done: () => void): void {
		const kept: State = { ...state, phase: phase.name === "asking" ? { name: "running", run: phase.run } : phase };
		this.#successor = new Promise((resolve) => {
			const giveUp = setTimeout(() => succeed(undefined), PATIENCE_MS);
			const succeed = (successor: Successor | undefined): void => {
				clearTimeout(giveUp);
				done();
				resolve(successor);
			};
			shared.legacies.set(sessionId, { state: kept, shares, succeed });
		});
	}

	/** Waits for the next instance and lets it handle the event; without one the event passes. */
	async forward(name: string, event: unknown): Promise<unknown> {
		return await (
			await this.#successor
		)?.(name, event);
	}
}

/** Takes what the last instance has left of this session. */
export function takeLegacy(sessionId: string): Legacy | undefined {
	const legacy = shared.legacies.get(sessionId);
	shared.legacies.delete(sessionId);
	return legacy;
}
