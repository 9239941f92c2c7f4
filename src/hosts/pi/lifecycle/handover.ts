/** Passes a session from an instance of the extension to the next one when pi reloads its extensions in mid-run. */
import type { Event } from "../../../core/protocol.ts";
import type { Rank } from "./guard.ts";
import { processMemory } from "../host/process.ts";

/** The next instance, for what reaches one that no longer guards the session. */
interface Successor {
	/** Handles an event of pi. */
	receive(name: string, event: unknown): unknown;
	/** Takes an event of the core that a handler of the old instance still had to report. */
	step(event: Event): Promise<void> | undefined;
}

/** Of an instance that was reloaded, until the next one takes it. `H`: the part of a session that is handed over. */
export type PendingHandover<H> = H & {
	/** An installed copy does not take over from a program's. */
	readonly rank: Rank;
	/** What still reaches the old instance goes on with the new one. */
	succeed(successor: Successor): void;
	/** Waits longer, because a copy is being loaded, and others may keep it from beginning. Version 2.0 calls it by this name. */
	expectHeir(): void;
};

const pendingHandovers = processMemory.legacies as Map<string, PendingHandover<unknown>>;

/** A reloaded instance holds a run for this long if pi loads no successor: the person may have removed the extension. */
const PATIENCE_MS = 10_000;

/** How long to wait once pi is loading a successor. Bounded, because another extension can delay it until the run ends. */
const SUCCESSOR_PATIENCE_MS = 60_000;

/** After this long without a successor, somebody is told that nothing limits the run. */
const MISSED_AFTER_MS = 2_000;

export class Handover<H extends object> {
	#successor: Promise<Successor | undefined> | undefined;
	#isAwaited = false;
	#waiting: NodeJS.Timeout | undefined;

	/** Pi has reloaded its extensions: this instance decides nothing any more. */
	get hasLeft(): boolean {
		return this.#successor !== undefined;
	}

	/**
	 * Leaves it to the next instance. `isRunning`: in the middle of a run. `done` is called when it takes over, or does not
	 * come; `missed` if pi seems to load none in the middle of a run.
	 */
	leave(
		sessionId: string,
		rank: Rank,
		handedOver: H,
		isRunning: boolean,
		{ done, missed }: { done: () => void; missed: () => void },
	): void {
		this.#successor = new Promise((resolve) => {
			const missing = isRunning ? setTimeout(missed, MISSED_AFTER_MS) : undefined;
			const succeed = (successor: Successor | undefined): void => {
				clearTimeout(missing);
				clearTimeout(this.#waiting);
				done();
				resolve(successor);
			};
			const giveUp = (): void => {
				if (pendingHandovers.get(sessionId) === pending) pendingHandovers.delete(sessionId);
				succeed(undefined);
			};
			const wait = (ms: number): void => {
				clearTimeout(this.#waiting);
				this.#waiting = setTimeout(giveUp, ms);
				if (!this.#isAwaited) this.#waiting.unref();
			};
			const expectHeir = (): void => {
				clearTimeout(missing);
				wait(SUCCESSOR_PATIENCE_MS);
			};
			const pending: PendingHandover<H> = { ...handedOver, rank, succeed, expectHeir };
			pendingHandovers.set(sessionId, pending);
			wait(PATIENCE_MS);
		});
	}

	/** Waits for the next instance and lets it handle the event; without one the event passes. */
	async forward(name: string, event: unknown): Promise<unknown> {
		this.#hold();
		return await this.#deliver(name, event);
	}

	/** The same for an event of the core. */
	async step(event: Event): Promise<void> {
		this.#hold();
		await (await this.#successor)?.step(event);
	}

	/** The session has ended. Pi tells the next instance only if it is there by then; nobody waits for it. */
	tellEnd(): void {
		void this.#deliver("session_shutdown", { type: "session_shutdown", reason: "quit" });
	}

	/** The process lives as long as a handler of pi waits here: pi's run would end in its middle. */
	#hold(): void {
		this.#isAwaited = true;
		this.#waiting?.ref();
	}

	async #deliver(name: string, event: unknown): Promise<unknown> {
		return await (await this.#successor)?.receive(name, event);
	}

	/** Takes over what the last instance left of this session. */
	take(sessionId: string, rank: Rank): PendingHandover<H> | undefined {
		const pending = pendingHandovers.get(sessionId) as PendingHandover<H> | undefined;
		if (pending?.rank !== rank) return undefined;
		pendingHandovers.delete(sessionId);
		return pending;
	}
}

/** An instance is being loaded, for one of the sessions that wait. */
export function expectSuccessors(): void {
	for (const pending of pendingHandovers.values()) pending.expectHeir();
}
