/** The turn under way. */
import type { Assistant } from "../host/api.ts";

/** Plain data, because the instance that takes them over may be of another version. */
export interface TurnFacts {
	/** The gate's word on this turn; `repeated`: it repeats a failed one. */
	readonly admission?: "new" | "repeated" | "refused";
	/** Its request is about to leave. Known only once the session has ended. */
	readonly isRequested?: boolean;
	/** The model's message has arrived. */
	readonly hasReply?: boolean;
	/** Calls that have not ended yet. */
	readonly running?: readonly string[];
	/** Calls whose tool asked pi to end the run. */
	readonly terminated?: readonly string[];
	readonly hasRefusedCall?: boolean;
	readonly mustGoOn?: boolean;
	/** The text that is streamed has its note. */
	readonly isNoted?: boolean;
}

export class Turn {
	#facts: TurnFacts = {};

	begin(): void {
		this.#facts = {};
	}

	get facts(): TurnFacts {
		return this.#facts;
	}

	/** Goes on with a turn that another instance has begun. */
	takeOver(facts: TurnFacts): void {
		this.#facts = facts;
	}

	admitted(isRetry: boolean): void {
		this.#note({ admission: isRetry ? "repeated" : "new" });
	}

	refused(): void {
		this.#note({ admission: "refused" });
	}

	callRefused(): void {
		this.#note({ hasRefusedCall: true });
	}

	/** Another turn is due, although the model called no tool. */
	demandAnother(): void {
		this.#note({ mustGoOn: true });
	}

	replied({ content, stopReason }: Assistant): void {
		const calls = content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
		this.#note({ hasReply: true, running: stopReason === "toolUse" ? calls : [] });
	}

	callEnded(id: string, result: unknown): void {
		const { running = [], terminated = [] } = this.#facts;
		const isEnd = (result as { terminate?: unknown } | undefined)?.terminate === true;
		this.#note({
			running: running.filter((other) => other !== id),
			terminated: isEnd ? [...terminated, id] : terminated,
		});
	}

	/** True once in a turn that was admitted: its request may leave. */
	takeRequest(): boolean {
		const { admission = "refused", isRequested = false } = this.#facts;
		this.#note({ isRequested: true });
		return admission !== "refused" && !isRequested;
	}

	/** True once in a turn: the text that is streamed gets its note now. */
	takeNote(): boolean {
		const isDue = this.#facts.isNoted !== true;
		this.#note({ isNoted: true });
		return isDue;
	}

	get isRefused(): boolean {
		return this.#facts.admission === "refused";
	}

	get hasReply(): boolean {
		return this.#facts.hasReply === true;
	}

	get hasRefusedCall(): boolean {
		return this.#facts.hasRefusedCall === true;
	}

	get mustGoOn(): boolean {
		return this.#facts.mustGoOn === true;
	}

	get terminated(): readonly string[] {
		return this.#facts.terminated ?? [];
	}

	/** The turn was counted and no reply of it stands in the session. */
	get isUnanswered(): boolean {
		return this.#facts.admission === "new" && !this.hasReply;
	}

	/** False if the session ended before the reply, or before one of its calls ended. */
	get isOver(): boolean {
		return this.hasReply && (this.#facts.running ?? []).length === 0;
	}

	#note(facts: TurnFacts): void {
		this.#facts = { ...this.#facts, ...facts };
	}
}
