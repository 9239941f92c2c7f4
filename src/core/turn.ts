/** The last turn of a run. */

/** A turn whose request failed; `failed` is the reason. */
export interface FailedTurn {
	readonly failed: string;
	/**
	 * `nothing`: the next turn repeats it, which is neither counted nor gated. `retry`: it is being repeated. `message`:
	 * a message entered the conversation, so the turn that is about to start, or has just started, is a new one.
	 */
	readonly since: "nothing" | "retry" | "message";
}

export type TurnState = "ended" | "open" | FailedTurn;

/** The turn has failed, and since then one of these has come. */
export function hasFailed(turn: TurnState, ...since: FailedTurn["since"][]): turn is FailedTurn {
	// Stryker disable next-line ConditionalExpression: a turn that is a word has no `since` at run time either.
	return typeof turn === "object" && since.includes(turn.since);
}
