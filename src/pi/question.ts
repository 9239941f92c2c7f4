import type { Max } from "../core/limit.ts";
import type { Answer } from "../core/state.ts";
import type { Question } from "../core/wording.ts";
import type { Context } from "./host.ts";

/** A question that stands before the person. */
export interface OpenQuestion {
	readonly answer: Promise<Answer>;
	/** Takes the question away; it then counts as not answered. */
	close(): void;
}

/** Only a `true` continues. Who says nothing in time, or could not be asked, has not answered. */
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
