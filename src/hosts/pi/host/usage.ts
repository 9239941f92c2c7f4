/** Reads the amounts that pi reports after they were spent: one line per meter. */
import type { SessionEntry } from "@earendil-works/pi-coding-agent";
import {
	type AmountId,
	kindOf,
	LEDGER_MOST,
	METER_IDS,
	type PerMeter,
	type PerRunMeter,
} from "../../../core/meters.ts";
import { LOST_TURN } from "../../../core/outcome.ts";
import { dollarsIn, type ReportedUsage, tokensIn } from "../../../core/usage.ts";
import { type Assistant, type Context, NOT_REQUESTED } from "./api.ts";

type Usage = Assistant["usage"];
type Model = NonNullable<Context["model"]>;

export interface Charge {
	/** The amount that a response, a tool result or a compaction has spent. */
	readonly amount: (usage: ReportedUsage) => number;
	/** Why the amount stays 0 with this model, if pi's catalogue tells. */
	readonly unknownFor?: (model: Model) => string | undefined;
	/** Why the amount of this response is 0, although the model has worked. */
	readonly unknownIn?: (usage: ReportedUsage) => string | undefined;
}

/** Time is charged by the clock. */
type UsageId = Exclude<AmountId, "time">;

const UNPRICED = "has no prices";

export const CHARGES: { readonly [id in UsageId]: Charge } = {
	cost: {
		amount: (usage) => dollarsIn(usage) * 1_000_000,
		unknownFor: ({ cost, ...model }) => (cost.input + cost.output > 0 || reportsPrices(model) ? undefined : UNPRICED),
		unknownIn: (usage) => (CHARGES.tokens.amount(usage) > 0 && CHARGES.cost.amount(usage) === 0 ? UNPRICED : undefined),
	},
	tokens: {
		amount: tokensIn,
	},
};

const USAGE_IDS = Object.keys(CHARGES) as readonly UsageId[];

/** The interfaces whose replies pi prices from its catalogue, OpenRouter's apart. Others report what they cost, or route to a model that is priced. */
const PRICED_BY_CATALOGUE = /^(openai|azure-openai|anthropic|google|mistral|bedrock)-/;

function reportsPrices({ api, provider, baseUrl }: Pick<Model, "api" | "provider" | "baseUrl">): boolean {
	return !PRICED_BY_CATALOGUE.test(String(api)) || provider === "openrouter" || baseUrl.includes("openrouter.ai");
}

/** Whole amounts of what `usage` reports; undefined if it reports none. */
export function chargeOfUsage(usage: ReportedUsage | null | undefined): Partial<Record<UsageId, number>> | undefined {
	let known: Partial<Record<UsageId, number>> | undefined;
	for (const id of USAGE_IDS) {
		// The ledger takes no larger amount at once, and thousands of these add up exactly.
		const amount = Math.round(Math.min(CHARGES[id].amount(usage ?? {}), LEDGER_MOST));
		if (amount > 0) known = { ...known, [id]: amount };
	}
	return known;
}

/** Sums up the entries of a session, for the meters that count over all of it. */
export function spentIn(entries: readonly SessionEntry[]): Partial<PerMeter<number>> {
	const messages = entries.filter(({ type }) => type === "message" || type === "custom_message");
	const turns = messages.filter((message, i) => isTurn(replyIn(message), replyIn(messages[i - 1]))).length;
	const lost = entries.filter((entry) => entry.type === "custom" && entry.customType === LOST_TURN).length;
	const spent: Partial<Record<keyof PerRunMeter<number>, number>> = { turns: turns + lost };
	for (const entry of entries) {
		for (const [id, amount] of Object.entries(chargeOfUsage(usageOf(entry)) ?? {}) as [UsageId, number][])
			spent[id] = (spent[id] ?? 0) + amount;
	}
	const ids = METER_IDS.filter((id) => kindOf(id).scope === "session");
	return Object.fromEntries(ids.map((id) => [id, spent[kindOf(id).of] ?? 0]));
}

function usageOf(entry: SessionEntry): Usage | undefined {
	if (entry.type === "compaction" || entry.type === "branch_summary") return entry.usage;
	return entry.type === "message" ? (messageIn(entry) as Partial<Assistant> | undefined)?.usage : undefined;
}

function replyIn(entry: SessionEntry | undefined): Assistant | undefined {
	const message = entry?.type === "message" ? messageIn(entry) : undefined;
	return message?.role === "assistant" ? message : undefined;
}

/** Undefined for a truncated entry: pi ignores it, unless it is on the active branch. */
function messageIn<M>({ message }: { readonly message?: M | null }): M | undefined {
	return message ?? undefined;
}

/** Without a message between them, a reply repeats the one before if that failed, or was cut off and taken back. */
function isTurn(reply: Assistant | undefined, before: Assistant | undefined): boolean {
	if (reply === undefined || reply.rawStopReason === NOT_REQUESTED) return false;
	return before === undefined || !["error", "length"].includes(before.stopReason);
}
