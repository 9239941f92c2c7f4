/** Passes a session from an instance of the extension to the next one when pi reloads its extensions in mid-run. */
import type { Event } from "../../../core/protocol.ts";
import type { State } from "../../../core/state.ts";
import type { Rank } from "./guard.ts";
import type { Messages } from "../events/outbox.ts";
import { shared } from "../host/process.ts";
import type { Session } from "../session.ts";
import type { Shares } from "../../../loop/sharing/reservation.ts";
import type { Prompt } from "../events/prompts.ts";
import type { Telling } from "../outcome/telling.ts";
import type { Turn } from "../events/turn.ts";

/** The next instance, for what reaches one that no longer guards the session. */
interface Successor {
	/** Handles an event of pi. */
	receive(name: string, event: unknown): unknown;
	/** Takes an event of the core that a handler of the old instance still had to report. */
	step(event: Event): Promise<void> | undefined;
}

/** The part of a session that the next instance takes over. */
interface Heritage {
	/** An installed copy does not take over from a program's. */
	readonly rank: Rank;
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shares: Shares | undefined;
	readonly turn: Turn;
	readonly telling: Telling;
	readonly prompt: Prompt;
	/** False while a dialog is open. */
	readonly isWorking: boolean;
	/** On their way to the model. */
	readonly messages: Messages;
}

/** The heritage, until the next instance takes it. */
export interface Legacy extends Heritage {
	/** What still reaches the old instance goes on with the new one. */
	succeed(successor: Successor): void;
	/** Waits longer, because a copy is being loaded, and others may keep it from beginning. */
	expectHeir(): void;
}

/** An instance that was reloaded keeps a run waiting for so long where pi loads no other: the person may have removed us. */
const PATIENCE_MS = 10_000;

/** And for so long where pi loads another. Others may keep that one from beginning until the run ends, so the wait ends too. */
const HEIR_PATIENCE_MS = 60_000;

export class Handover {
	#successor: Promise<Successor | undefined> | undefined;

	/** Pi has reloaded its extensions: this instance decides nothing any more. */
	get hasLeft(): boolean {
		return this.#successor !== undefined;
	}

	/** Leaves it to the next instance; `done` is called when it takes over, or when it does not come. */
	leave(sessionId: string, heritage: Heritage, done: () => void): void {
		const { phase, ...state } = heritage.state;
		const kept: State = { ...state, phase: phase.name === "asking" ? { name: "running", run: phase.run } : phase };
		this.#successor = new Promise((resolve) => {
			const succeed = (successor: Successor | undefined): void => {
				clearTimeout(waiting);
				done();
				resolve(successor);
			};
			const giveUp = (): void => {
				if (shared.legacies.get(sessionId) === legacy) shared.legacies.delete(sessionId);
				succeed(undefined);
			};
			let waiting: NodeJS.Timeout | undefined;
			const wait = (ms: number): void => {
				clearTimeout(waiting);
				waiting = setTimeout(giveUp, ms);
				// No run waits.
				if (phase.name === "idle") waiting.unref();
			};
			const legacy: Legacy = { ...heritage, state: kept, succeed, expectHeir: () => wait(HEIR_PATIENCE_MS) };
			shared.legacies.set(sessionId, legacy);
			wait(PATIENCE_MS);
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

export function heritageOf(session: Session): Heritage {
	const { rank, state, turn, telling, starting, delivery, driver, handover } = session;
	const messages = delivery.giveAway();
	const { isWorking } = driver.leave((event) => handover.step(event));
	return {
		rank,
		state,
		shares: session.shared.giveAway(),
		turn,
		telling,
		prompt: starting.prompt,
		messages,
		isWorking,
	};
}

export function takeOver(session: Session, legacy: Legacy): void {
	session.shared.takeOver(legacy.shares);
	session.turn = legacy.turn;
	session.telling = legacy.telling;
	session.starting.prompt = legacy.prompt;
	session.delivery.takeOver(legacy.messages);
}

/** An instance is being loaded, for one of the sessions that wait. */
export function expectHeirs(): void {
	for (const legacy of shared.legacies.values()) legacy.expectHeir();
}

/** Takes what the last instance has left of this session. */
export function takeLegacy(sessionId: string, rank: Rank): Legacy | undefined {
	const legacy = shared.legacies.get(sessionId);
	if (legacy?.rank !== rank) return undefined;
	shared.legacies.delete(sessionId);
	return legacy;
}
