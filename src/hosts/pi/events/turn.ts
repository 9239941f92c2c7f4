/** The facts about one turn; made new at every turn's start. */
import type { Assistant } from "../host/api.ts";

export class Turn {
	/** Calls whose tool asked pi to end the run. */
	readonly terminated = new Set<string>();
	/** The gate admitted this turn, which repeats no other. */
	isNew = false;
	/** The gate refused this turn. */
	isRefused = false;
	/** A call of this turn was refused. */
	hasRefusedCall = false;
	/** Another turn is due, although the model called no tool. */
	mustGoOn = false;
	/** The text that is streamed has its note. */
	isNoted = false;
	/** The model's message has arrived. */
	hasReply = false;
	readonly #running = new Set<string>();

	replied({ content, stopReason }: Assistant): void {
		this.hasReply = true;
		if (stopReason !== "toolUse") return;
		for (const part of content) if (part.type === "toolCall") this.#running.add(part.id);
	}

	callEnded(id: string, result: unknown): void {
		this.#running.delete(id);
		if ((result as { terminate?: unknown } | undefined)?.terminate === true) this.terminated.add(id);
	}

	/** False if the session ended before the reply, or before one of its calls ended. */
	get isOver(): boolean {
		return this.hasReply && this.#running.size === 0;
	}
}
