/** Runs of which it is known how they come to their end. */
import { fail, mark, text, times, type Reply, type Request } from "../harness/index.ts";

interface Pass {
	/** What the model does until then: the reply after these is the first of the final pass. */
	readonly work: readonly Reply[];
	readonly env: Record<string, string>;
	/** The limit in words. */
	readonly limit: string;
}

/** 3 turns or 3 tool calls under `synthesize`, without the wrap-up. The call that meets the limit costs a turn. */
export const PASSES = {
	turns: {
		work: times(3),
		env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_POLICY: "synthesize", PI_TURN_LIMIT_GRACE: "0" },
		limit: "3 turns",
	},
	toolCalls: {
		work: times(4),
		env: { PI_TURN_LIMIT_TOOLS: "3", PI_TURN_LIMIT_POLICY: "synthesize", PI_TURN_LIMIT_GRACE: "0" },
		limit: "3 tool calls",
	},
} as const satisfies Record<string, Pass>;

export const METERS = ["turns", "toolCalls"] as const;

/** What a run comes to under `fated`, by its prompt. */
const FATES: Record<string, (turn: number) => Reply> = {
	/** `completed` in its first turn. */
	ends: () => text("Done."),
	/** `wrapped_up` in its third turn. */
	"wraps up": (turn) => (turn < 3 ? mark() : text("My report.")),
	/** `exhausted` after its third turn. */
	"runs on": () => mark(),
	/** `failed` in its first turn. */
	fails: () => fail(400, "No such model"),
};

/** A model that does what the last prompt says, under 3 turns with the wrap-up before the last. */
export const fated = {
	model: (request: Request): Reply => {
		const said = request.texts();
		const prompt = said.findLastIndex((words) => words in FATES);
		const turn = 1 + request.body.messages.slice(prompt).filter(({ role }) => role === "assistant").length;
		return FATES[said[prompt] ?? ""]?.(turn) ?? fail(400, "No such fate");
	},
	env: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "1" },
};
