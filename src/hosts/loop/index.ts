/** The breaker for an agent loop of your own: start a run for each prompt, and ask it before every step. */
export { loopLimit, type LoopLimit, type LoopOptions, type StartOptions } from "./limit.ts";
export type { LoopRun, Next } from "./run.ts";
export type { Ask, AskedQuestion, AskedReply } from "./asking.ts";
export type { Spending } from "./amounts.ts";
export { LimitExceeded } from "./limit-exceeded.ts";
export type { Outcome, OutcomeKind } from "../../core/outcome.ts";
export type { Limit } from "../../core/limit.ts";
export type { Policy } from "../../core/policies.ts";
export type { Max } from "../../core/meters.ts";
export type { Snapshot } from "../../core/snapshot.ts";
export type { BudgetOption, LimitOption } from "../../settings/options.ts";
/** What the model reads. */
export { finalPass, NOT_RUN, pointOut, refusal, RESUMED, wrapUp } from "../../core/to-model.ts";
