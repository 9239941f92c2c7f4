/** The black-box functions of the spec. */
import { type Call, kindOf } from "../../src/core/meters.ts";
import type { Value } from "./expression.ts";
import { idOf } from "./names.ts";

export const BLACK_BOXES: Readonly<Record<string, (...values: Value[]) => Value>> = {
	/** Meters come in the order in which they were added. */
	first: (items) => (items as readonly Value[])[0] ?? null,
	counts_call: (name, call) => kindOf(idOf(name as string)).counts?.(call as Call) ?? true,
};
