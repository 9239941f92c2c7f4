/** The table of choices at the question. A new choice is a row here, in its place in the list. */
import type { Reply } from "./port.ts";

/** How a run ends if nobody continues: it just stops, it stops but can be asked for an answer, or it gives one. */
export type RunEnd = "stops" | "asks" | "answers";

/** A choice that the person has made. */
interface Made {
	/** What the person has written, where the choice asks for it. */
	readonly text?: string;
	/** The amount that a yes buys, if the person has typed one. */
	readonly grant?: number;
}

interface ChoiceRow {
	/** By the end of a run: the label of the choice, which is not offered where it has none. `more` is what a yes buys. */
	readonly labels: Readonly<Record<RunEnd, string | ((more: string) => string) | undefined>>;
	/** Words that choose it when typed, in lower case. The first is shown. */
	readonly typed?: readonly string[];
	/** Asks for a text first; this is the line above it. */
	readonly asks?: string;
	readonly reply: (made: Made) => Reply;
}

const TELL = "Continue, and tell it something…";

/** The label of a yes that buys this. */
export function labelOfYes(more: string): string {
	return `Continue (${more})`;
}

const CHOICES = {
	yes: {
		labels: { stops: labelOfYes, asks: labelOfYes, answers: labelOfYes },
		typed: ["y", "yes"],
		reply: ({ grant }) => (grant === undefined ? { answer: "yes" } : { answer: "yes", grant }),
	},
	tell: {
		labels: { stops: TELL, asks: TELL, answers: TELL },
		asks: "What should it know?",
		reply: ({ text }) => ({ answer: "yes", guidance: text }),
	},
	wrap_up: {
		labels: { stops: undefined, asks: "Wrap up now", answers: undefined },
		reply: () => ({ answer: "wrap_up" }),
	},
	no: {
		labels: { stops: "Stop", asks: "Stop", answers: "Stop with an answer" },
		typed: ["n", "no"],
		reply: () => ({ answer: "no" }),
	},
	stop: {
		labels: { stops: undefined, asks: undefined, answers: "Stop now" },
		reply: () => ({ answer: "stop" }),
	},
} as const satisfies Readonly<Record<string, ChoiceRow>>;

/** One way to answer. */
export type ChoiceId = keyof typeof CHOICES;

export interface Choice extends Pick<ChoiceRow, "typed" | "asks"> {
	readonly id: ChoiceId;
	readonly label: string;
}

/** The choices of a run that ends in this way if nobody continues. */
export function choicesAt(end: RunEnd, more: string): readonly Choice[] {
	return (Object.keys(CHOICES) as ChoiceId[]).flatMap((id) => {
		const { labels, typed, asks }: ChoiceRow = CHOICES[id];
		const label = labels[end];
		if (label === undefined) return [];
		const shown = typeof label === "string" ? label : label(more);
		return [{ id, label: shown, ...(typed && { typed }), ...(asks !== undefined && { asks }) }];
	});
}

/** The reply that a choice makes. */
export function replyOf(id: ChoiceId, made: Made): Reply {
	return CHOICES[id].reply(made);
}
