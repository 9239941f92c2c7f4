/** The table of odds, for those who ask: small, because a run with a person loads it. */
export { DAMAGED, isStale, keepOdds, loadOdds } from "./odds-file.ts";
export { makeOdds } from "./odds-start.ts";
export { doneLine, type Odds, oddsLine } from "./odds.ts";
