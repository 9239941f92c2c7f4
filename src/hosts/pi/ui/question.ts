/** The question at a limit: its words, and the ways to ask it. */
import { grant, type Meter } from "../../../core/limit.ts";
import { amountIn } from "../../../core/amount.ts";
import { type Call, type Gate, kindOf, type Max, type MeterId } from "../../../core/meters.ts";
import { spentText } from "../../../core/outcome.ts";
import type { Answer } from "../../../core/protocol.ts";
import type { Asking, State } from "../../../core/state.ts";
import { choose, type Dialog } from "./dialog/dialog.ts";
import type { Context } from "../host/api.ts";

export interface Question {
	readonly title: string;
	/** For a dialog that takes yes or no only. */
	readonly message: string;
	/** For the terminal. */
	readonly dialog: Dialog;
}

/** A person's reply; `guidance` is what the model is to know. */
export interface Reply {
	readonly answer: Answer;
	readonly guidance?: string | undefined;
}

const NONE: Reply = { answer: "none" };

/** `describe` says in a few words what a call does. */
export function questionAbout(state: State, id: MeterId, describe: (call: Call) => string): Question {
	const { run, call, gate, unreachable } = state.phase as Asking;
	const meter = state.meters[id];
	const title = unreachable === undefined ? `${kindOf(id).title} reached` : "Shared budget out of reach";
	const used =
		unreachable === undefined
			? `You've used ${amountIn(id, meter.used)}. Continue?`
			: `${unreachable} Continue without the ${kindOf(id).title.toLowerCase()}, for this run?`;
	const last = run.lastCall ? ` Last call: ${describe(run.lastCall)}` : "";
	const soFar = `This run so far: ${spentText(run.spent, id)}.${call ? ` Waiting: ${describe(call)}` : last}`;
	const more = unreachable === undefined ? grantText(id, meter, gate) : "without it";
	// The core gives a final pass only to a run that has something to answer from, and none past a closed gate.
	const canAnswer = run.spent.turns > 0 && unreachable === undefined;
	const doesAnswer = canAnswer && meter.limit.policy === "synthesize";
	const no = doesAnswer ? "one last answer, without tools" : "the run ends here";
	const wrapUp = [{ id: "wrap_up", label: "Wrap up now" }];
	return {
		title,
		message: [used, soFar, `Yes: ${more}. No: ${no}.`].join("\n"),
		dialog: {
			title,
			lines: [used, soFar, stopText(canAnswer, doesAnswer)],
			choices: [
				{ id: "yes", label: `Continue (${more})`, typed: ["y", "yes"] },
				{ id: "tell", label: "Continue, and tell it something…", asks: "What should it know?" },
				...(canAnswer && !doesAnswer ? wrapUp : []),
				{ id: "no", label: doesAnswer ? "Stop with an answer" : "Stop", typed: ["n", "no"] },
			],
			escape: "Escape stops.",
		},
	};
}

/** `25 more turns`, `$2.50 more`. At a limit of 0 a yes admits one request. */
function grantText(id: MeterId, meter: Meter, gate: Gate): string {
	const { unit, one, many } = kindOf(id);
	if (meter.limit.max === 0) return gate === "turn" ? "1 more turn" : "1 more tool call";
	const more = Number(grant(id, meter));
	if (one === undefined) return `${unit.show(more)} more`;
	return `${unit.show(more)} more ${more === 1 ? one : many}`;
}

function stopText(canAnswer: boolean, doesAnswer: boolean): string {
	if (doesAnswer) return "Stop lets it answer from what it has, without tools.";
	return canAnswer ? "Stop ends the run here; Wrap up now gets an answer first." : "Stop ends the run here.";
}

/** A question that the person sees. */
export interface OpenQuestion {
	readonly reply: Promise<Reply>;
	/** Takes the question away; it then counts as not answered. */
	close(): void;
}

/** Only a deliberate yes continues. No reply in time, or a dialog that fails, is no answer. */
export function ask(ctx: Context, question: Question, seconds: Max, bell: boolean): OpenQuestion {
	const { ui, mode, signal } = ctx;
	const closing = new AbortController();
	const close = () => closing.abort();
	const closed = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
	const timeout = seconds === "unlimited" ? undefined : seconds * 1000;
	// A little before the host's own, which does not tell a time-out from a no.
	const timer = timeout === undefined ? undefined : setTimeout(close, timeout - 10);
	const reply = new Promise<Reply>((resolve) => {
		// Once, because Node keeps a combined signal that has a listener for good, also after it has fired.
		closed.addEventListener("abort", () => resolve(NONE), { once: true });
		const asked = mode === "tui" ? pick().catch(confirm) : confirm();
		asked.then(resolve, () => resolve(NONE));
	}).finally(() => clearTimeout(timer));
	return { reply, close };

	async function pick(): Promise<Reply> {
		const picked = await choose(ui, question.dialog, { signal: closed, ring: bell });
		if (picked.kind === "withdrawn") return NONE;
		if (picked.kind === "dismissed") return { answer: "no" };
		if (picked.id === "tell") return { answer: "yes", guidance: picked.text };
		return { answer: picked.id as Answer };
	}

	async function confirm(): Promise<Reply> {
		const { title, message } = question;
		const options = { signal: closed, ...(timeout === undefined ? {} : { timeout }) };
		const confirmed: unknown = await ui.confirm(title, message, options);
		return { answer: confirmed === true ? "yes" : "no" };
	}
}
