import type { OpenQuestion, Reply } from "./port.ts";

/** Nobody has answered. */
export const NO_REPLY: Reply = { answer: "none" };

/**
 * Opens a question. There is no answer if `ask` fails, if `signal` aborts, or if the question is taken away; then `closed`
 * aborts. `closeAfter` takes it away after so many milliseconds.
 */
export function openQuestion(
	signal: AbortSignal | undefined,
	ask: (closed: AbortSignal, closeAfter: (ms: number) => void) => Promise<Reply>,
): OpenQuestion {
	const closing = new AbortController();
	const close = (): void => closing.abort();
	const closed = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
	let timer: NodeJS.Timeout | undefined;
	const closeAfter = (ms: number): void => void (timer = setTimeout(close, ms));
	const reply = new Promise<Reply>((resolve) => {
		// Once, because Node never frees a combined signal that has a listener, even after it has fired.
		closed.addEventListener("abort", () => resolve(NO_REPLY), { once: true });
		if (closed.aborted) return resolve(NO_REPLY);
		ask(closed, closeAfter).then(resolve, () => resolve(NO_REPLY));
	}).finally(() => clearTimeout(timer));
	return { reply, close };
}
