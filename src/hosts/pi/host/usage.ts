/** Reads the amounts that pi reports after they were spent: one line per meter. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import { type AmountId, kindOf, METER_IDS, type PerMeter, type PerRunMeter } from "../../../core/meters.ts";
import { type Assistant, type Context, NOT_REQUESTED } from "./api.ts";

type Usage = Assistant["usage"];
type Model = NonNullable<Context["model"]>;

export interface Charge {
	/** The amount that a response, a tool result or a compaction has spent. A tool can leave out parts of its usage. */
	readonly amount: (usage: Partial<Usage>) => number;
	/** Why the amount stays 0 with this model, if it does. */
	readonly unknownFor?: (model: Model) => string | undefined;
}

/** Time is charged by the clock. */
type UsageId = Exclude<AmountId, "time">;

export const CHARGES: { readonly [id in UsageId]: Charge } = {
	cost: {
		amount: ({ cost }) => (cost?.total ?? 0) * 1_000_000,
		unknownFor: ({ cost }) => (cost.input + cost.output > 0 ? undefined : "has no prices"),
	},
	tokens: { amount: ({ input = 0, output = 0, cacheWrite = 0 }) => input + output + cacheWrite },
};

const USAGE_IDS = Object.keys(CHARGES) as readonly UsageId[];

/** Whole amounts of what `usage` reports; undefined if it reports none. */
export function chargeOf(usage: Usage | null | undefined): Partial<Record<UsageId, number>> | undefined {
	let known: Partial<Record<UsageId, number>> | undefined;
	for (const id of USAGE_IDS) {
		const amount = Math.round(CHARGES[id].amount(usage ?? {}));
		if (Number.isSafeInteger(amount) && amount > 0) known = { ...known, [id]: amount };
	}
	return known;
}

/** In the session: a turn whose reply does not stand there, because the session ended before it. */
export const LOST_TURN = "turn-limit-lost-turn";

/** Sums up the entries of a session, for the meters that count over all of it. */
export function spentIn(entries: readonly SessionEntry[]): Partial<PerMeter<number>> {
	const messages = entries.filter(({ type }) => type === "message" || type === "custom_message");
	const turns = messages.filter((message, i) => isTurn(replyIn(message), replyIn(messages[i - 1]))).length;
	const lost = entries.filter((entry) => entry.type === "custom" && entry.customType === LOST_TURN).length;
	const spent: Partial<Record<keyof PerRunMeter<number>, number>> = { turns: turns + lost };
	for (const entry of entries) {
		for (const [id, amount] of Object.entries(chargeOf(usageOf(entry)) ?? {}) as [UsageId, number][])
			spent[id] = (spent[id] ?? 0) + amount;
	}
	const ids = METER_IDS.filter((id) => kindOf(id).scope === "session");
	return Object.fromEntries(ids.map((id) => [id, spent[kindOf(id).of] ?? 0]));
}

function usageOf(entry: SessionEntry): Usage | undefined {
	if (entry.type === "compaction" || entry.type === "branch_summary") return entry.usage;
	return entry.type === "message" ? (entry.message as Partial<Assistant>).usage : undefined;
}

function replyIn(entry: SessionEntry | undefined): Assistant | undefined {
	return entry?.type === "message" && entry.message.role === "assistant" ? entry.message : undefined;
}

/** Without a message between them, a reply repeats the one before if that failed, or was cut off and taken back. */
function isTurn(reply: Assistant | undefined, before: Assistant | undefined): boolean {
	if (reply === undefined || reply.rawStopReason === NOT_REQUESTED) return false;
	return before === undefined || !["error", "length"].includes(before.stopReason);
}
