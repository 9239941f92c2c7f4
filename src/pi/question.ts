/** The question at a limit. */
import { amountIn, kindOf, type Max, type MeterId } from "../core/meters.ts";
import { spentText } from "../core/outcome.ts";
import type { Answer, Asking, State } from "../core/state.ts";
import { callText } from "./call-text.ts";
import type { Context } from "./host.ts";

export interface Question {
	readonly title: string;
	readonly message: string;
}

export function questionAbout(state: State, id: MeterId): Question {
	const { run } = state.phase as Asking;
	const last = run.lastCall ? ` Last call: ${callText(run.lastCall)}` : "";
	return {
		title: `${kindOf(id).title} reached`,
		message: `You've used ${amountIn(id, state.meters[id].used)}. Continue?\nThis run so far: ${spentText(run.spent, id)}.${last}`,
	};
}

/** A question that stands before the person. */
export interface OpenQuestion {
	readonly answer: Promise<Answer>;
	/** Takes the question away; it then counts as not answered. */
	close(): void;
}

/** Only a `true` continues. No reply in time, or a dialog that fails, is no answer. */
export function ask({ ui, signal }: Context, { title, message }: Question, seconds: Max): OpenQuestion {
	const closing = new AbortController();
	const close = () => closing.abort();
	const closed = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
	const timeout = seconds === "unlimited" ? undefined : seconds * 1000;
	// A little before the host's own, which does not tell a time-out from a no.
	const timer = timeout === undefined ? undefined : setTimeout(close, timeout - 10);
	const answer = new Promise<Answer>((resolve) => {
		closed.addEventListener("abort", () => resolve("none"), { once: true });
		confirm().then(
			(confirmed) => resolve(confirmed === true ? "yes" : "no"),
			() => resolve("none"),
		);
	}).finally(() => clearTimeout(timer));
	return { answer, close };

	async function confirm(): Promise<unknown> {
		return await ui.confirm(title, message, { signal: closed, ...(timeout === undefined ? {} : { timeout }) });
	}
}
