/** The names of the code and those of the spec. */
import { kindOf, METER_IDS, type MeterId, type PerMeter, perMeter } from "../../src/core/meters.ts";
import type { Decision, Effect } from "../../src/core/protocol.ts";

/** `turn_requested` → `TurnRequested`. */
export function triggerOf(type: string): string {
	return type
		.split("_")
		.map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
		.join("");
}

/** `toolCalls` → `tool_calls`; a wider meter measures what the round's does. */
export function measureOf(id: MeterId): string {
	return kindOf(id).of.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** `tool_calls per_round`: what a meter measures, and over which scope. */
export const NAMES: PerMeter<string> = perMeter((id) => `${measureOf(id)} per_${kindOf(id).scope}`);

export function idOf(name: string): MeterId {
	const id = METER_IDS.find((id) => NAMES[id] === name);
	if (id === undefined) throw new Error(`The table has no meter of ${name}`);
	return id;
}

/** The core's effects. */
export const CONSEQUENCES = {
	ask: "ContinuationRequested",
	reserve: "RoomRequested",
	release: "RoomReleased",
	raise: "ShareRaised",
	close_question: "QuestionClosed",
	advise: "WrapUpAdvised",
	point_out: "CirclePointedOut",
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
