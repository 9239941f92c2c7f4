/** The breaker without a host, for a loop of your own: feed it events, ask it to decide, do what its effects say. */
export { decide, transition } from "./breaker.ts";
export { create, IDLE, isBusy, isClosed, type Setup, type State } from "./state.ts";
export type { Answer } from "./answers.ts";
export type { Balances, Decision, Effect, Event, Request, Ruling, Step } from "./protocol.ts";
export { type Limit, limits } from "./limit.ts";
export { type Policy, POLICY_IDS } from "./policies.ts";
export { type Call, METER_IDS, METERS, type Max, type MeterId, type PerMeter, perMeter } from "./meters.ts";
export {
	limitActed,
	type Outcome,
	type OutcomeKind,
	publish,
	type Spent,
	stoppedByLimit,
	type Trip,
	type Verdict,
} from "./outcome.ts";
export { type Gauge, type Snapshot, snapshot } from "./snapshot.ts";
export { FINAL_TURNS, isEndAwaited } from "./gate.ts";
export { finalPass, NOT_RUN, pointOut, refusal, RESUMED, wrapUp } from "./to-model.ts";
