/** Our messages on their way to the model. */
import type { TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { messageOf, type Pi } from "./host.ts";

type Entries = NonNullable<NonNullable<TurnEndEventResult>["entries"]>;

export class Delivery {
	readonly #pi: Pick<Pi, "on">;
	/** Written, on no way yet. */
	#posted: string[] = [];
	/** In every request of this turn, but not in the transcript. */
	#injected: readonly string[] = [];
	#withdraw = (): void => {};

	constructor(pi: Pick<Pi, "on">) {
		this.#pi = pi;
	}

	/** The model gets `text` with its next request. */
	post(text: string): void {
		this.#posted.push(text);
	}

	/** True while the transcript lacks a message that the model is to see. */
	get isPending(): boolean {
		return this.#injected.length + this.#posted.length > 0;
	}

	/** Puts the messages into the request of this turn and its retries, because no turn's end can carry them any more. */
	inject(): void {
		const texts = [...this.#takeBack(), ...this.#takePosted()];
		if (texts.length === 0) return;
		const messages = texts.map((text) => ({ role: "custom" as const, ...messageOf(text), timestamp: 0 }));
		this.#injected = texts;
		this.#withdraw = this.#pi.on("context", (event) => ({ messages: [...event.messages, ...messages] }));
	}

	/** The messages as entries that the transcript holds from this turn's end on; `goesOn`: another request follows. */
	takeEntries(goesOn: boolean): Entries {
		const injected = this.#takeBack();
		const texts = [...(goesOn ? injected : []), ...this.#takePosted()];
		return texts.map((text) => ({ type: "custom_message" as const, ...messageOf(text) }));
	}

	discard(): void {
		this.#takeBack();
		this.#takePosted();
	}

	#takePosted(): readonly string[] {
		const texts = this.#posted;
		this.#posted = [];
		return texts;
	}

	#takeBack(): readonly string[] {
		const texts = this.#injected;
		this.#withdraw();
		this.#withdraw = () => {};
		this.#injected = [];
		return texts;
	}
}
