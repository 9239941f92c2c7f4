/** The events of pi that are expensive to receive: we listen only in turns in which they matter. */
import { isEndAwaited } from "../../../core/gate.ts";
import type { State } from "../../../core/state.ts";
import type { Outbox } from "./outbox.ts";

/** For `turn_end` and `context` pi builds the whole transcript; `message_update` fires for every word. */
type TurnEvent = "turn_end" | "message_update" | "context";

const TURN_EVENTS: ReadonlySet<string> = new Set<TurnEvent>(["turn_end", "message_update", "context"]);

export function isTurnEvent(name: string): boolean {
	return TURN_EVENTS.has(name);
}

export class TurnEvents {
	readonly #outbox: Pick<Outbox, "isPending">;
	readonly #handover: { readonly hasLeft: boolean };
	readonly #hasGrace: boolean;
	#listen: (name: TurnEvent) => () => void = () => () => {};
	/** In this turn, by event: ends listening to it. */
	readonly #heard = new Map<TurnEvent, () => void>();

	/** `hasGrace`: the wrap-up is due when a function says so, which is called at the end of every turn. */
	constructor(outbox: Pick<Outbox, "isPending">, handover: { readonly hasLeft: boolean }, hasGrace: boolean) {
		this.#outbox = outbox;
		this.#handover = handover;
		this.#hasGrace = hasGrace;
	}

	/** `listen` gives the function that ends it. */
	listenBy(listen: (name: TurnEvent) => () => void): void {
		this.#listen = listen;
	}

	/**
	 * From the end of the session on: if pi disposes of it while another extension's run begins, `context` is all that we
	 * hear of that run before its request leaves. Pi clones the transcript for it, so we do not listen before.
	 */
	guardEnd(): void {
		this.#listen("context");
	}

	/** Hears of the end of the turn if that can change something; to be called after everything that can bring that about in mid-turn. */
	awaitEnd(state: State): void {
		if (this.#hasGrace || this.#outbox.isPending || isEndAwaited(state)) this.#hear("turn_end");
	}

	/** Hears every word of the reply. */
	awaitWords(): void {
		this.#hear("message_update");
	}

	/** The turn is over. */
	stop(): void {
		for (const stop of this.#heard.values()) stop();
		this.#heard.clear();
	}

	#hear(name: TurnEvent): void {
		if (!this.#handover.hasLeft && !this.#heard.has(name)) this.#heard.set(name, this.#listen(name));
	}
}
