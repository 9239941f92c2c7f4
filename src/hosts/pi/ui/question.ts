/** The ways to ask the question at a limit in pi. */
import type { Max } from "../../../core/meters.ts";
import { NO_REPLY, openQuestion } from "../../../loop/open-question.ts";
import type { OpenQuestion, Reply } from "../../../loop/port.ts";
import { replyOf } from "../../../loop/choices.ts";
import type { Question } from "../../../loop/question.ts";
import type { Context } from "../host/api.ts";
import { choose } from "./dialog/dialog.ts";

/** Only a deliberate yes continues. No reply in time, or a dialog that fails, is no answer. */
export function ask(ctx: Context, question: Question, seconds: Max, bell: boolean): OpenQuestion {
	const { ui, mode, signal } = ctx;
	const time = seconds === "unlimited" ? undefined : seconds;
	return openQuestion(signal, (closed, closeAfter) => {
		const inDialog = (): Promise<Reply> => confirm(closed, closeAfter);
		return mode === "tui" ? pick(closed).catch(inDialog) : inDialog();
	});

	async function pick(closed: AbortSignal): Promise<Reply> {
		const picked = await choose(ui, question, { signal: closed, ring: bell, seconds: time });
		switch (picked.kind) {
			case "withdrawn":
				return NO_REPLY;
			case "dismissed":
				return { answer: "no" };
			case "picked":
				return replyOf(picked.id, picked);
		}
	}

	async function confirm(closed: AbortSignal, closeAfter: (ms: number) => void): Promise<Reply> {
		const { title, message } = question;
		const timeout = time === undefined ? undefined : time * 1000;
		// A little before the host's own, which reports a time-out as a no.
		if (timeout !== undefined) closeAfter(timeout - 10);
		const options = { signal: closed, ...(timeout === undefined ? {} : { timeout }) };
		const confirmed: unknown = await ui.confirm(title, message, options);
		return { answer: confirmed === true ? "yes" : "no" };
	}
}
