/** Outcomes that stand in the session: how the last run ended, also after a resume. */
import { amountIn } from "../../../core/amount.ts";
import { kindOf, type Max, METER_IDS, type MeterId, perRunMeter } from "../../../core/meters.ts";
import { type Outcome, spentText, type Trip } from "../../../core/outcome.ts";
import type { Context } from "../host/api.ts";
import { OUTCOME_ENTRY } from "./report.ts";

const ENDS: { readonly [K in Outcome["kind"]]: string } = {
	completed: "finished by itself",
	wrapped_up: "finished after the wrap-up",
	synthesized: "stopped with an answer",
	declined: "stopped by you",
	exhausted: "stopped without an answer",
	interrupted: "interrupted",
	failed: "failed",
};

/** One line about the end of a run. */
export function lastRunText(outcome: Outcome): string {
	const isSilent = outcome.kind === "declined" && !outcome.answered;
	const how = isSilent ? "stopped, nobody answered" : ENDS[outcome.kind];
	const { meter, limit } = outcome as Outcome & Partial<Trip>;
	// The person can ask for the wrap-up without a limit.
	const where = meter !== undefined && typeof limit === "number" ? ` at the limit of ${amountIn(meter, limit)}` : "";
	return `Last run: ${how}${where}; spent: ${spentText(outcome, meter)}.`;
}

/** The outcome of the last run, if the session's newest messages are that run's. */
export function recalledOutcome({ sessionManager }: Context): Outcome | undefined {
	const branch = sessionManager.getBranch();
	const last = branch.findLastIndex((entry) => entry.type === "custom" && entry.customType === OUTCOME_ENTRY);
	const entry = branch[last];
	const isOlder = branch.slice(last + 1).some(({ type }) => type === "message");
	return entry?.type === "custom" && !isOlder ? readOutcome(entry.data) : undefined;
}

/** The outcome in an entry, counted as in the core. Trusts nothing, because anybody can write into a session's file. */
export function readOutcome(data: unknown): Outcome | undefined {
	if (typeof data !== "object" || data === null) return undefined;
	const fields = data as Readonly<Record<string, unknown>>;
	const kind = Object.keys(ENDS).find((known) => known === fields["kind"]);
	if (kind === undefined || fields["version"] !== 1) return undefined;
	// An older version knew fewer meters.
	const spent = perRunMeter((id) => kindOf(id).unit.read(fields[id]) ?? 0);
	const continuations = typeof fields["continuations"] === "number" ? fields["continuations"] : 0;
	const { advised, answered, by } = fields;
	const known = { ...spent, continuations, advised: advised === true, answered: answered === true, by, kind };
	const trip = readTrip(fields["meter"], fields["limit"]);
	if (trip === undefined && ["wrapped_up", "synthesized", "declined", "exhausted"].includes(kind)) return undefined;
	return { ...known, ...trip, ...(kind === "failed" ? { message: "" } : {}) } as unknown as Outcome;
}

function readTrip(meter: unknown, limit: unknown): Trip | undefined {
	const id = METER_IDS.find((known): known is MeterId => known === meter);
	const max: Max | undefined = limit === "unlimited" ? limit : id && kindOf(id).unit.read(limit);
	return id === undefined || max === undefined ? undefined : { meter: id, limit: max };
}
