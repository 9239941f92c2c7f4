/** The table of answers to the question at a limit. A new answer is a row here. */
import type { Policy } from "./policies.ts";

interface AnswerRow {
	/** What follows: the run goes on, or ends by this policy, or by the limit's own. */
	readonly then: "continue" | Policy | "policy";
	/** Somebody has answered. */
	readonly isGiven: boolean;
}

export const ANSWERS = {
	yes: { then: "continue", isGiven: true },
	/** A final pass, whatever the policy. */
	wrap_up: { then: "synthesize", isGiven: true },
	/** The end, whatever the policy. */
	stop: { then: "abort", isGiven: true },
	no: { then: "policy", isGiven: true },
	/** There was no answer. */
	none: { then: "policy", isGiven: false },
} as const satisfies Readonly<Record<string, AnswerRow>>;

/** A person's answer to a question. */
export type Answer = keyof typeof ANSWERS;

export function isAnswer(value: unknown): value is Answer {
	return typeof value === "string" && Object.hasOwn(ANSWERS, value);
}

/** The run goes on. */
export function isYes(answer: Answer): boolean {
	return ANSWERS[answer].then === "continue";
}

/** The policy by which an answer ends the run, at a limit with this one. */
export function policyAfter(answer: Answer, policy: Policy): Policy {
	const row: AnswerRow = ANSWERS[answer];
	return row.then === "continue" || row.then === "policy" ? policy : row.then;
}
