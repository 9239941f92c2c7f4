/** The breaker without a host, for a loop of your own: feed it events, do what its effects say. */
export * from "./breaker.ts";
export * from "./late.ts";
export * from "./limit.ts";
export * from "./outcome.ts";
export * from "./state.ts";
export * as wording from "./wording.ts";
