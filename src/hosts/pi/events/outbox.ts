/** Messages on their way to the model: ours, and what the person has said at the question. */
import type { TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { safe } from "../../../core/text.ts";
import { GUIDANCE, messageOf, NAME, type Pi } from "../host/api.ts";

type Entries = NonNullable<NonNullable<TurnEndEventResult>["entries"]>;

type Message = ReturnType<typeof messageOf>;

/** Messages on their way. */
export interface Messages {
	/** Queued; not yet attached to a request. */
	readonly posted: readonly Message[];
	/** In every request of this turn, but not in the transcript. */
	readonly injected: readonly Message[];
}

export class Outbox {
	readonly #pi: Pick<Pi, "on">;
	#posted: Message[] = [];
	#injected: readonly Message[] = [];
	#withdraw = (): void => {};

	constructor(pi: Pick<Pi, "on">) {
		this.#pi = pi;
	}

	/** The model gets `text` with its next request; `type` says whose words they are. pi shows ours in the transcript as they are. */
	post(text: string, type: typeof NAME | typeof GUIDANCE = NAME): void {
		this.#posted.push(messageOf(type === NAME ? safe(text) : text, type));
	}

	/** Goes on with the messages of another instance. */
	takeOver({ posted, injected }: Messages): void {
		this.#posted.push(...posted);
		this.#inject(injected);
	}

	/** Gives all messages away, because another instance goes on with them. */
	giveAway(): Messages {
		return { injected: this.#takeBack(), posted: this.#takePosted() };
	}

	/** True while the transcript lacks a message that the model is to see. */
	get isPending(): boolean {
		return this.#injected.length + this.#posted.length > 0;
	}

	/** Puts the messages into the request of this turn and its retries, because no turn's end can carry them any more. */
	inject(): void {
		this.#inject(this.#takeAll());
	}

	#inject(all: readonly Message[]): void {
		if (all.length === 0) return;
		const messages = all.map((message) => ({ role: "custom" as const, ...message, timestamp: 0 }));
		this.#injected = all;
		this.#withdraw = this.#pi.on("context", (event) => ({ messages: [...event.messages, ...messages] }));
	}

	/** The messages as entries that the transcript holds from this turn's end on; `goesOn`: another request follows. */
	takeEntries(goesOn: boolean): Entries {
		const injected = this.#takeBack().filter((message) => goesOn || isGuidance(message));
		return [...injected, ...this.#takePosted()].map((message) => ({ type: "custom_message" as const, ...message }));
	}

	/** Drops all messages; gives those of the person that no transcript holds: not sent, or with a request that failed. */
	discard(): readonly string[] {
		return this.#takeAll()
			.filter(isGuidance)
			.map(({ content }) => content);
	}

	#takeAll(): readonly Message[] {
		return [...this.#takeBack(), ...this.#takePosted()];
	}

	#takePosted(): readonly Message[] {
		const messages = this.#posted;
		this.#posted = [];
		return messages;
	}

	#takeBack(): readonly Message[] {
		const messages = this.#injected;
		this.#withdraw();
		this.#withdraw = () => {};
		this.#injected = [];
		return messages;
	}
}

function isGuidance({ customType }: Message): boolean {
	return customType === GUIDANCE;
}
