/** The names of the code and those of the spec. */
import { METER_IDS, type MeterId } from "../../src/core/meters.ts";
import type { Decision, Effect } from "../../src/core/state.ts";

/** `turn_requested` → `TurnRequested`. */
export function triggerOf(type: string): string {
	return type
		.split("_")
		.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
		.join("");
}

/** `toolCalls` → `tool_calls`. */
export function nameOf(id: MeterId): string {
	return id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function idOf(name: string): MeterId {
	const id = METER_IDS.find((id) => nameOf(id) === name);
	if (id === undefined) throw new Error(`The table has no meter ${name}`);
	return id;
}

/** The core's effects. */
export const CONSEQUENCES = {
	ask: "ContinuationRequested",
	close_question: "QuestionClosed",
	advise: "WrapUpAdvised",
	synthesize: "AnswerDemanded",
	resume: "WorkResumed",
	continue: "TurnDemanded",
	abort: "RunAborted",
	end: "RunEnded",
} as const satisfies Record<Effect["type"], string>;

/** The core's decisions. */
export const DECISIONS = {
	admit: "RequestAdmitted",
	wait: "RequestWaits",
	refuse: "RequestRefused",
	abort: "RequestAborted",
} as const satisfies Record<Decision, string>;
