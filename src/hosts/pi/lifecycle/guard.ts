/** One guard per session, whatever copies of the extension a session loads. */
import type { Context, Pi } from "../host/api.ts";
import { processMemory } from "../host/process.ts";

/** The limits of a program that embeds pi outrank those of an installed copy. */
export type Rank = "installed" | "program";

export interface SessionGuard {
	readonly rank: Rank;
	/** The first of the copies that its loader has run. */
	readonly isFirst: boolean;
	/** Another copy guards the session from now on. */
	standAside(): void;
	/** Executes `/turn-limit`, whichever copy registered it. */
	command(args: string, ctx: Context): Promise<void>;
}

/** Whether this copy guards its session. */
export class Duty {
	#name: "guard" | "off" | "unable" = "guard";
	#unableReason = "";

	/** `off`: another copy guards the session. `unable`: the limits cannot be enforced, so every run is aborted. */
	get name(): "guard" | "off" | "unable" {
		return this.#name;
	}

	/** Why it is `unable`. */
	get unableReason(): string {
		return this.#unableReason;
	}

	/** Another copy guards the session from now on. */
	standAside(): void {
		this.#name = "off";
	}

	/** The limits of the session that it guards can be enforced after all. */
	can(): void {
		this.#name = "guard";
	}

	cannot(unableReason: string): void {
		this.#name = "unable";
		this.#unableReason = unableReason;
	}
}

const guards = processMemory.guards as WeakMap<object, SessionGuard>;

const LOADED_TWICE = "This session loads pi-turn-limit twice; this copy does nothing.";
const TWO_LIMITS = "This session has two turnLimit() extensions; it is stopped because only one can guard it.";

/** Gives the session to `guard`, or the reason why another copy keeps it. The reason is empty where a program outranks us, because nobody need know. */
export function claim(session: object, guard: SessionGuard): string | undefined {
	const present = guards.get(session);
	if (present !== undefined && present !== guard) {
		if (present.rank === "program" && guard.rank === "installed") return "";
		if (present.rank === guard.rank && guard.rank === "program") return TWO_LIMITS;
		// A copy of an earlier loader may be left: two reloads at once end only one of theirs.
		if (present.rank === guard.rank && !guard.isFirst) return LOADED_TWICE;
		present.standAside();
	}
	guards.set(session, guard);
	return undefined;
}

/** To be called by its guard: other copies handle no events. */
export function release(session: object): void {
	guards.delete(session);
}

export function guardOf(session: object): SessionGuard | undefined {
	return guards.get(session);
}

const LOADING = "turn-limit:loading";

/**
 * `isFirst` for the first of our copies that one loader runs; flags of the others would keep pi from starting. Loaders of a
 * program can share a bus; a program gives each of them one copy of its own, so these leave one another alone.
 */
export function announceLoading(
	{ events }: Pick<Pi, "events">,
	rank: Rank,
): { readonly isFirst: boolean; loaded(): void } {
	const answer = { rank, isFirst: true };
	events.emit(LOADING, answer);
	if (!answer.isFirst) return { isFirst: false, loaded: () => {} };
	const unsubscribe = events.on(LOADING, (data) => {
		const other = data as typeof answer;
		if (rank === "installed" || other.rank === "installed") other.isFirst = false;
	});
	return { isFirst: true, loaded: unsubscribe };
}
