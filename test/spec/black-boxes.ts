/** The black-box functions of the spec. */
import type { Call } from "../../src/core/meters.ts";
import { circles, streakOf } from "./circles.ts";
import type { Value } from "./expression.ts";

export const BLACK_BOXES: Readonly<Record<string, (...values: Value[]) => Value>> = {
	/** Meters come in the order in which they were added. */
	first: (items) => (items as readonly Value[])[0] ?? null,
	tenth: (max) => (typeof max === "number" ? Math.ceil(max / 10) : null),
	tool_of: (call) => (call as Call).tool,
	followed_by: (calls, call) => [...(calls as readonly Value[]), call!],
	streak_of: (calls) => streakOf(calls as readonly Call[]),
	circles: (calls) => circles(calls as readonly Call[]),
};
