import type { Max } from "./limit.ts";
import type { MeterId, PerMeter } from "./state.ts";

/** What every outcome tells: the counters of the whole run. */
export interface Spent extends PerMeter<number> {
	/** In the model's currency, as far as the provider reports it: a lower bound. */
	readonly cost: number;
	/** How often somebody said yes to a question. */
	readonly continuations: number;
	/** Was the model told to wrap up, in the round that ended the run? */
	readonly advised: boolean;
}

/** The meter and the limit that acted. */
export interface Trip {
	readonly meter: MeterId;
	readonly limit: Max;
}

/** How a run ended that a limit, the user or a failure ended. */
export type Verdict =
	/** A person was asked and did not continue: an explicit no, or no answer at all. */
	| ({ readonly kind: "declined"; readonly answered: boolean } & Trip)
	/** Nobody to ask, or no answer in the final pass. */
	| ({ readonly kind: "exhausted" } & Trip)
	/** With an answer in the final pass. */
	| ({ readonly kind: "synthesized" } & Trip)
	/** The user aborted. */
	| { readonly kind: "interrupted" }
	/** The provider failed for good, or the breaker itself did. */
	| { readonly kind: "failed"; readonly by: "provider" | "breaker"; readonly message: string };

/** How a run ended by itself. */
type Ending =
	| { readonly kind: "completed" }
	/** After the wrap-up. */
	| ({ readonly kind: "wrapped_up" } & Trip);

/** How a run ended: one value per run. */
export type Outcome = Spent & (Ending | Verdict);

export type OutcomeKind = Outcome["kind"];

/** Did a limit act: by advice, a question, the final pass or a stop? */
export function limitActed(outcome: Outcome): boolean {
	return "meter" in outcome || outcome.advised || outcome.continuations > 0;
}

/** Did the breaker itself fail? */
export function isBroken(outcome: Outcome): outcome is Extract<Outcome, { kind: "failed" }> & { by: "breaker" } {
	switch (outcome.kind) {
		case "failed":
			return outcome.by === "breaker";
		default:
			return false;
	}
}

/** Was the run cut short by a limit, so that its answer, if there is one, is partial? */
export function stoppedByLimit(outcome: Outcome): boolean {
	return ["declined", "exhausted", "synthesized"].includes(outcome.kind);
}
