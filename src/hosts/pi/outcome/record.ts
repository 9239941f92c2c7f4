/** Outcomes that stand in the session: how the last run ended, also after a resume. */
import { isObject } from "../../../core/is-object.ts";
import { kindOf, type Max, METER_IDS, type MeterId, perRunMeter } from "../../../core/meters.ts";
import { type Outcome, OUTCOME_ENTRY, OUTCOME_KINDS, OUTCOMES, type Trip } from "../../../core/outcome.ts";
import type { Context } from "../host/api.ts";

/** The outcome of the last run, if the session's newest messages are that run's. */
export function recalledOutcome({ sessionManager }: Context): Outcome | undefined {
	const branch = sessionManager.getBranch();
	const last = branch.findLastIndex((entry) => entry.type === "custom" && entry.customType === OUTCOME_ENTRY);
	const entry = branch[last];
	const isOlder = branch.slice(last + 1).some(({ type }) => type === "message");
	return entry?.type === "custom" && !isOlder ? readOutcome(entry.data) : undefined;
}

/** The outcome in an entry, counted as in the core. Trusts nothing, because anybody can write into a session's file. */
export function readOutcome(fields: unknown): Outcome | undefined {
	if (!isObject(fields)) return undefined;
	const kind = OUTCOME_KINDS.find((known) => known === fields["kind"]);
	if (kind === undefined || fields["version"] !== 1) return undefined;
	// An older version knew fewer meters.
	const spent = perRunMeter((id) => kindOf(id).unit.read(fields[id]) ?? 0);
	const continuations = typeof fields["continuations"] === "number" ? fields["continuations"] : 0;
	const { advised, answered, by } = fields;
	const known = { ...spent, continuations, advised: advised === true, answered: answered === true, by, kind };
	const trip = readTrip(fields["meter"], fields["limit"]);
	if (trip === undefined && OUTCOMES[kind].namesLimit === "always") return undefined;
	return { ...known, ...trip, ...(kind === "failed" ? { message: "" } : {}) } as unknown as Outcome;
}

function readTrip(meter: unknown, limit: unknown): Trip | undefined {
	const id = METER_IDS.find((known): known is MeterId => known === meter);
	const max: Max | undefined = limit === "unlimited" ? limit : id && kindOf(id).unit.read(limit);
	return id === undefined || max === undefined ? undefined : { meter: id, limit: max };
}
