/** Asks the person behind a program: calls its function with the words of the question, and accepts nothing but an answer. */
import { type Answer, ANSWERS, isAnswer } from "../../core/answers.ts";
import type { Max } from "../../core/meters.ts";
import { quote } from "../../core/text.ts";
import { NO_REPLY, openQuestion } from "../../loop/open-question.ts";
import type { OpenQuestion, Reply } from "../../loop/port.ts";
import type { Choice } from "../../loop/choices.ts";
import type { Question } from "../../loop/question.ts";

const ALLOWED = `true, false, or one of ${Object.keys(ANSWERS).join(", ")}`;

/** The words of a question, for a program to show. */
export type AskedQuestion = Pick<Question, "title" | "message" | "lines" | "meter" | "size"> & {
	readonly choices: readonly Pick<Choice, "id" | "label">[];
};

/** `true` is a yes, `false` a no; `guidance` is text for the model. */
export type AskedReply = boolean | Answer | Reply;

/** `signal` aborts when the question no longer needs an answer. */
export type Ask = (question: AskedQuestion, signal: AbortSignal) => AskedReply | Promise<AskedReply>;

/** A function that throws, or gives anything but an answer, has not answered. `onProblem` is called then, unless it gives nothing. */
export function askProgram(
	ask: Ask,
	question: AskedQuestion,
	seconds: Max,
	signal: AbortSignal | undefined,
	onProblem: (problem: string) => void,
): OpenQuestion {
	return openQuestion(signal, async (closed, closeAfter) => {
		if (seconds !== "unlimited") closeAfter(seconds * 1000);
		try {
			const given: unknown = await ask(question, closed);
			const reply = given === undefined ? NO_REPLY : readReply(given, question);
			if (!reply) onProblem(`ask(): expected ${ALLOWED}, got ${quote(given)}. It counts as no answer.`);
			return reply ?? NO_REPLY;
		} catch (error) {
			onProblem(`ask(): ${String(error)}`);
			return NO_REPLY;
		}
	});
}

function readReply(given: unknown, { size }: AskedQuestion): Reply | undefined {
	if (typeof given === "boolean") return { answer: given ? "yes" : "no" };
	const { answer, guidance, grant } = (
		typeof given === "object" && given !== null ? given : { answer: given }
	) as Partial<Reply>;
	if (!isAnswer(answer)) return undefined;
	const sized = grant === undefined ? undefined : size?.(String(grant));
	return {
		answer,
		...(typeof guidance === "string" && guidance !== "" ? { guidance } : {}),
		...(sized ? { grant: sized.grant } : {}),
	};
}
