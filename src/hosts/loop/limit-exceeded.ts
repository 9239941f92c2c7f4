import type { Outcome } from "../../core/outcome.ts";

/** A limit ended the run: `outcome` is `exhausted` or `declined`, or `failed` where the limits could not be enforced. */
export class LimitExceeded extends Error {
	override readonly name = "LimitExceeded";
	readonly outcome: Outcome;

	constructor(outcome: Outcome, message = "") {
		super(message);
		this.outcome = outcome;
	}
}
