/** The black-box functions of the spec. */
import { type Call, kindOf } from "../../src/core/meters.ts";
import { circles, streakOf } from "./circles.ts";
import type { Value } from "./expression.ts";
import { idOf } from "./names.ts";

export const BLACK_BOXES: Readonly<Record<string, (...values: Value[]) => Value>> = {
	/** Meters come in the order in which they were added. */
	first: (items) => (items as readonly Value[])[0] ?? null,
	tenth: (max) => (typeof max === "number" ? Math.ceil(max / 10) : null),
	counts_call: (measure, call) => kindOf(idOf(`${measure as string} per_round`)).counts?.(call as Call) ?? true,
	tool_of: (call) => (call as Call).tool,
	followed_by: (calls, call) => [...(calls as readonly Value[]), call!],
	streak_of: (calls) => streakOf(calls as readonly Call[]),
	circles: (calls) => circles(calls as readonly Call[]),
};
