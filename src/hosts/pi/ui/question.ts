/** The ways to ask the question at a limit in pi. */
import type { Max } from "../../../core/meters.ts";
import type { OpenQuestion, Reply } from "../../../loop/port.ts";
import type { ChoiceId, Question } from "../../../loop/question.ts";
import type { Context } from "../host/api.ts";
import { choose, type Result } from "./dialog/dialog.ts";

type Picked = Extract<Result, { kind: "picked" }>;

const NONE: Reply = { answer: "none" };

/** The reply that each choice makes. */
const REPLIES: Readonly<Record<ChoiceId, (picked: Picked) => Reply>> = {
	yes: ({ grant }) => (grant === undefined ? { answer: "yes" } : { answer: "yes", grant }),
	tell: ({ text }) => ({ answer: "yes", guidance: text }),
	wrap_up: () => ({ answer: "wrap_up" }),
	stop: () => ({ answer: "stop" }),
	no: () => ({ answer: "no" }),
};

/** Only a deliberate yes continues. No reply in time, or a dialog that fails, is no answer. */
export function ask(ctx: Context, question: Question, seconds: Max, bell: boolean): OpenQuestion {
	const { ui, mode, signal } = ctx;
	const closing = new AbortController();
	const close = () => closing.abort();
	const closed = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
	const timeout = seconds === "unlimited" ? undefined : seconds * 1000;
	let timer: NodeJS.Timeout | undefined;
	const reply = new Promise<Reply>((resolve) => {
		// Once, because Node keeps a combined signal that has a listener for good, also after it has fired.
		closed.addEventListener("abort", () => resolve(NONE), { once: true });
		const asked = mode === "tui" ? pick().catch(confirm) : confirm();
		asked.then(resolve, () => resolve(NONE));
	}).finally(() => clearTimeout(timer));
	return { reply, close };

	async function pick(): Promise<Reply> {
		const picked = await choose(ui, question, {
			signal: closed,
			ring: bell,
			seconds: seconds === "unlimited" ? undefined : seconds,
		});
		switch (picked.kind) {
			case "withdrawn":
				return NONE;
			case "dismissed":
				return { answer: "no" };
			case "picked":
				return REPLIES[picked.id](picked);
		}
	}

	async function confirm(): Promise<Reply> {
		const { title, message } = question;
		// A little before the host's own, which does not tell a time-out from a no.
		if (timeout !== undefined) timer = setTimeout(close, timeout - 10);
		const options = { signal: closed, ...(timeout === undefined ? {} : { timeout }) };
		const confirmed: unknown = await ui.confirm(title, message, options);
		return { answer: confirmed === true ? "yes" : "no" };
	}
}
