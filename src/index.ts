/** For programs that embed pi: the same breaker, with options in place of settings. It never touches the process. */
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { snapshot, type Snapshot } from "./core/breaker.ts";
import { readGrace } from "./core/late.ts";
import type { Limit, Max, Policy } from "./core/limit.ts";
import type { Outcome } from "./core/outcome.ts";
import type { MeterId, PerMeter, State } from "./core/state.ts";
import { ALLOWED, badOption, line, NO_RUN, unknownOption } from "./core/wording.ts";
import { meterOf } from "./pi/command.ts";
import type { Pi } from "./pi/host.ts";
import type { Report } from "./pi/report.ts";
import { initialState, install } from "./pi/turn-limit.ts";
import { defaults, type Key, LIMIT_OF, type Place, resolve, SETTINGS, type Settings } from "./settings/settings.ts";

export type { Limit, Max, Outcome, Policy, Snapshot };
export type { OutcomeKind } from "./core/outcome.ts";
export { OUTCOME_ENTRY, OUTCOME_EVENT } from "./pi/report.ts";

/** What is not given has the default of the settings. */
export interface TurnLimitOptions {
	/** Turns that a run may take, with a policy of its own if it has one. */
	readonly turns?: Max | Limit;
	/** Tool calls that a run may make, with a policy of its own if it has one. */
	readonly toolCalls?: Max | Limit;
	/** For limits that carry none. */
	readonly policy?: Policy;
	/** How many turns remain when the model is told to wrap up. A function is read at every check. */
	readonly grace?: number | (() => number);
	/** In place of the built-in text. A function is read when the text is sent. */
	readonly wrapUpMessage?: string | (() => string);
	/** Seconds until a question counts as not answered. */
	readonly askTimeout?: Max;
	/** Called once per run, when pi has settled. */
	readonly onOutcome?: (outcome: Outcome) => void;
}

/** An extension factory for `DefaultResourceLoader`'s `extensionFactories`. Make one per session. */
export interface TurnLimit {
	(pi: Pi): void;
	/** Where every meter stands, at any time. */
	snapshot(): Snapshot;
	/** Prompts an idle session; rejects with `LimitExceeded`, after pi has settled, if a limit ended the run. */
	prompt: (session: Pick<AgentSession, "prompt">, ...args: Parameters<AgentSession["prompt"]>) => Promise<Outcome>;
}

/** A limit ended the run: `outcome` is `exhausted` or `declined`. */
export class LimitExceeded extends Error {
	override readonly name = "LimitExceeded";
	readonly outcome: Outcome;

	constructor(outcome: Outcome) {
		super(line(outcome, () => "option"));
		this.outcome = outcome;
	}
}

/** @throws RangeError or TypeError that names the option, its value and what is allowed. */
export function turnLimit(options: TurnLimitOptions = {}): TurnLimit {
	const { values, policies } = validate(options);
	const places: Place[] = [{ values, name: () => "option" }];
	const grace = typeof options.grace === "function" ? options.grace : undefined;
	const wrapUpMessage = typeof options.wrapUpMessage === "function" ? options.wrapUpMessage : undefined;
	let last: Outcome | undefined;
	let state = (): State => initialState(resolve(places, undefined, defaults(false)).settings, policies, false);

	const extension = (pi: Pi): void => {
		const hear = ({ outcome }: Report): void => {
			last = outcome;
			options.onOutcome?.(outcome);
		};
		state = install(pi, { places, policies, grace, wrapUpMessage, hear });
	};
	return Object.assign(extension, {
		snapshot: () => snapshot(grace ? { ...state(), grace: readGrace(grace).value } : state()),
		prompt: async (...[session, ...prompt]: Parameters<TurnLimit["prompt"]>) => {
			last = undefined;
			await session.prompt(...prompt);
			// Typed as what the run has made of it.
			const outcome = last as Outcome | undefined;
			if (outcome === undefined) throw new Error(NO_RUN);
			if (outcome.kind === "exhausted" || outcome.kind === "declined") throw new LimitExceeded(outcome);
			return outcome;
		},
	});
}

const OPTIONS: { readonly [option: string]: Key } = {
	...LIMIT_OF,
	policy: "policy",
	grace: "grace",
	wrapUpMessage: "wrapUpMessage",
	askTimeout: "askTimeout",
};

function validate(options: TurnLimitOptions): { values: Place["values"]; policies: Partial<PerMeter<Policy>> } {
	const values: { [K in Key]?: unknown } = {};
	const policies: { [id in MeterId]?: Policy } = {};
	for (const [option, value] of Object.entries(options) as [string, unknown][]) {
		const key = OPTIONS[option];
		if (value === undefined) continue;
		if (option === "onOutcome") {
			if (typeof value !== "function") throw new TypeError(badOption(option, value, ALLOWED.function));
			continue;
		}
		if (key === undefined) throw new TypeError(unknownOption(option, [...Object.keys(OPTIONS), "onOutcome"]));
		if (typeof value === "function" && (key === "grace" || key === "wrapUpMessage")) continue;
		const id = meterOf(key);
		if (id === undefined || typeof value !== "object") values[key] = checked(option, key, value);
		else {
			const { max, policy } = (value ?? {}) as Partial<Limit>;
			values[key] = checked(`${option}.max`, key, max);
			if (policy !== undefined) policies[id] = checked(`${option}.policy`, "policy", policy);
		}
	}
	return { values, policies };
}

function checked<K extends Key>(option: string, key: K, value: unknown): Settings[K] {
	const { is, allowed }: (typeof SETTINGS)[K] = SETTINGS[key];
	if (is(value)) return value;
	const Problem = typeof value === "number" || typeof value === "string" ? RangeError : TypeError;
	throw new Problem(badOption(option, value, allowed));
}
