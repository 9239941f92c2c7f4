/** The breaker without a host, for a loop of your own: feed it events, ask it to decide, do what its effects say. */
export type * from "./protocol.ts";
export * from "./amount.ts";
export { decide, transition } from "./breaker.ts";
export { FINAL_TURNS, isEndAwaited } from "./gate.ts";
export * from "./limit.ts";
export * from "./meters.ts";
export type * from "./outcome.ts";
export { limitActed, publish, stoppedByLimit } from "./outcome.ts";
export { pauseBeforeRefusal, refusalsInARow } from "./run.ts";
export * from "./snapshot.ts";
export * from "./state.ts";
export type * from "./turn.ts";
