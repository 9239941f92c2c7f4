/** Asks a program's person: calls a function with the words of the question, and takes only an answer for one. */
import type { Max } from "../../core/meters.ts";
import type { Answer } from "../../core/protocol.ts";
import type { OpenQuestion, Reply } from "../../loop/port.ts";
import type { Choice, Question } from "../../loop/question.ts";

/** The words of a question, for a program to show. */
export type AskedQuestion = Pick<Question, "title" | "message" | "lines" | "meter" | "size"> & {
	readonly choices: readonly Pick<Choice, "id" | "label">[];
};

/** `true` is a yes, `false` a no; `guidance` is what the model is to know. */
export type AskedReply = boolean | Answer | Reply;

/** `signal` aborts when the question needs no answer any more. */
export type Ask = (question: AskedQuestion, signal: AbortSignal) => AskedReply | Promise<AskedReply>;

const NONE: Reply = { answer: "none" };

/** A function that throws, or gives anything but an answer, has not answered. `onProblem` hears of it. */
export function ask(
	ask: Ask,
	question: AskedQuestion,
	seconds: Max,
	signal: AbortSignal | undefined,
	onProblem: (problem: string) => void,
): OpenQuestion {
	const closing = new AbortController();
	const close = (): void => closing.abort();
	const closed = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal;
	const timer = seconds === "unlimited" ? undefined : setTimeout(close, seconds * 1000);
	const reply = new Promise<Reply>((resolve) => {
		closed.addEventListener("abort", () => resolve(NONE), { once: true });
		if (closed.aborted) return resolve(NONE);
		const asked = new Promise<unknown>((answer) => answer(ask(question, closed)));
		asked.then(
			(given) => resolve(readReply(given, question)),
			(error: unknown) => {
				onProblem(`ask(): ${String(error)}`);
				resolve(NONE);
			},
		);
	}).finally(() => clearTimeout(timer));
	return { reply, close };
}

const ANSWERS: readonly unknown[] = ["yes", "wrap_up", "stop", "no", "none"] satisfies Answer[];

function readReply(given: unknown, { size }: AskedQuestion): Reply {
	if (typeof given === "boolean") return { answer: given ? "yes" : "no" };
	const { answer, guidance, grant } = (
		typeof given === "object" && given !== null ? given : { answer: given }
	) as Partial<Reply>;
	if (!ANSWERS.includes(answer)) return NONE;
	const sized = grant === undefined ? undefined : size?.(String(grant));
	return {
		answer: answer as Answer,
		...(typeof guidance === "string" && guidance !== "" ? { guidance } : {}),
		...(sized ? { grant: sized.grant } : {}),
	};
}
