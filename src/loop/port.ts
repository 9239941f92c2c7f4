/** The port between the driver and whatever runs the agent loop. */
import type { Answer } from "../core/answers.ts";
import type { MeterId } from "../core/meters.ts";
import type { Outcome } from "../core/outcome.ts";
import type { State } from "../core/state.ts";
import type { DebtLeft } from "./sharing/unsettled.ts";
import type { Tally } from "./tally.ts";

/** A person's reply to a question; `guidance` is text for the model, `grant` the amount that a yes buys, if the person chose one. */
export interface Reply {
	readonly answer: Answer;
	readonly grant?: number | undefined;
	readonly guidance?: string | undefined;
}

/** A question that the person sees. */
export interface OpenQuestion {
	readonly reply: Promise<Reply>;
	/** Takes the question away; it then counts as not answered. */
	close(): void;
}

/** A host of the driver. `C` is what it passes with each event and gets back: pi's context, or nothing. */
export interface Host<C> {
	/** Asks whether to go on past this meter's limit; `tally` has what was done since a person last decided. */
	ask(state: State, meter: MeterId, at: C, tally: Tally): OpenQuestion;
	/** Puts a text into the model's next request: ours, or a person's. */
	post(text: string, at: C, from?: "person"): void;
	/** Takes back what was posted and not sent; a person's words go back to the person. */
	withdraw(at: C): void;
	/** The wrap-up that is sent: `text`, or the user's own. */
	wrapUp(text: string, at: C): string;
	/** Makes one more request, although the model called no tool. */
	goOn(at: C): void;
	abort(at: C): void;
	/** Aborts when the person does. */
	signal(at: C): AbortSignal | undefined;
	/** Called each time before a turn is decided, to update counts that other runs of the host share. */
	readonly beforeTurn?: (at: C) => Promise<void>;
	/** Room was reserved in the ledger, so a tree may have begun. */
	readonly reserved?: (state: State, at: C) => void;
	/** A state was committed, in a run or at the end of one. */
	committed(state: State, at: C): void;
	/** The ledger could not be told what this agent has spent; before `ended`, if a run is over. */
	debtLeft(debt: DebtLeft, at: C): void;
	/** A run is over. `repeated`: one like it was refused and reported just before. */
	ended(outcome: Outcome, repeated: boolean, state: State, at: C): void;
}
