/** Suggests limits from a person's own sessions. Only reads them. */
export { advise, type Advice, type AdviseOptions, type Sample } from "./advise.ts";
export type { Asked, Figures, Limits, Percentiles, WhatIf } from "./analysis.ts";
export { parseArguments, type Arguments } from "./arguments.ts";
export type { Odds, OddsRow } from "./odds.ts";
export { render, type RenderOptions, type ChartRole } from "./render.ts";
export type { HistoryMeter } from "./run.ts";
