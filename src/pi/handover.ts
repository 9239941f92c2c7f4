/** Passes a session from an instance of the extension to the next one when pi reloads its extensions in mid-run. */
import type { Event } from "../core/alphabet.ts";
import type { State } from "../core/state.ts";
import type { Message } from "./delivery.ts";
import { shared } from "./process-state.ts";
import type { Shares } from "./shares.ts";
import type { Prompt } from "./starting.ts";
import type { Telling } from "./telling.ts";
import type { Turn } from "./turn.ts";

/** The next instance, for what reaches one that no longer guards the session. */
interface Successor {
	/** Handles an event of pi. */
	receive(name: string, event: unknown): unknown;
	/** Takes an event of the core that a handler of the old instance still had to report. */
	step(event: Event): Promise<void> | undefined;
}

/** The part of a session that the next instance takes over. */
interface Heritage {
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shares: Shares | undefined;
	readonly turn: Turn;
	readonly telling: Telling;
	readonly prompt: Prompt;
	/** False while a dialog is open. */
	readonly isWorking: boolean;
	/** On their way to the model. */
	readonly messages: readonly Message[];
}

/** The heritage, until the next instance takes it. */
export interface Legacy extends Heritage {
	/** What still reaches the old instance goes on with the new one. */
	succeed(successor: Successor): void;
	/** Waits for the next instance, however long others keep it from beginning. */
	expectHeir(): void;
}

/** How long an instance that was reloaded keeps a run waiting where pi has loaded no other: the person may have removed us. */
const PATIENCE_MS = 10_000;

export class Handover {
	#successor: Promise<Successor | undefined> | undefined;

	/** True once another instance decides. */
	get isOver(): boolean {
		return this.#successor !== undefined;
	}

	/** Leaves it to the next instance; `done` is called when it takes over, or when it does not come. */
	leave(sessionId: string, heritage: Heritage, done: () => void): void {
		const { phase, ...state } = heritage.state;
		const kept: State = { ...state, phase: phase.name === "asking" ? { name: "running", run: phase.run } : phase };
		this.#successor = new Promise((resolve) => {
			const giveUp = setTimeout(() => succeed(undefined), PATIENCE_MS);
			const expectHeir = (): void => clearTimeout(giveUp);
			const succeed = (successor: Successor | undefined): void => {
				done();
				resolve(successor);
			};
			shared.legacies.set(sessionId, { ...heritage, state: kept, succeed, expectHeir });
		});
	}

	/** Waits for the next instance and lets it handle the event; without one the event passes. */
	async forward(name: string, event: unknown): Promise<unknown> {
		return await (await this.#successor)?.receive(name, event);
	}

	/** The same for an event of the core. */
	async step(event: Event): Promise<void> {
		await (await this.#successor)?.step(event);
	}
}

/** An instance is being loaded, for one of the sessions that wait. */
export function expectHeirs(): void {
	for (const legacy of shared.legacies.values()) legacy.expectHeir();
}

/** Takes what the last instance has left of this session. */
export function takeLegacy(sessionId: string): Legacy | undefined {
	const legacy = shared.legacies.get(sessionId);
	shared.legacies.delete(sessionId);
	return legacy;
}
