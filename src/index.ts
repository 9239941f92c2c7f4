/** For programs that embed pi: the same breaker, with options in place of settings. It never touches the process. */
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { snapshot, type Snapshot } from "./core/snapshot.ts";
import { isPolicy, type Limit, type Policy } from "./core/limit.ts";
import { kindOf, type Max, METER_IDS, type MeterId } from "./core/meters.ts";
import type { Outcome } from "./core/outcome.ts";
import { quote } from "./core/text.ts";
import type { Pi } from "./hosts/pi/host/api.ts";
import { initialState, type Policies } from "./hosts/pi/settings/apply.ts";
import type { Report } from "./hosts/pi/outcome/report.ts";
import { Session } from "./hosts/pi/session.ts";
import type { Role } from "./hosts/pi/lifecycle/role.ts";
import { readOption } from "./settings/budget.ts";
import { type Place, resolve } from "./settings/resolve.ts";
import { defaults, type Key, KEY_OF, meterOf, SETTINGS } from "./settings/settings.ts";
import { readGrace } from "./settings/supplied.ts";

export type { Limit, Max, Outcome, Policy, Snapshot };
export type { OutcomeKind } from "./core/outcome.ts";
export { advise, render, type Advice, type AdviseOptions } from "./history/index.ts";
export { OUTCOME_ENTRY, OUTCOME_EVENT } from "./hosts/pi/outcome/report.ts";

/** A limit as programs write it: a number, `"$2.50"` for money, `"unlimited"`; with a policy of its own if it has one. */
export type LimitOption = number | string | { readonly max: number | string; readonly policy?: Policy };

/** Every option has the default of its setting. A limit's option is named like its meter. */
export type TurnLimitOptions = { readonly [id in Exclude<MeterId, `budget${string}`>]?: LimitOption } & {
	/** For limits that carry none. */
	readonly policy?: Policy;
	/** How many turns remain when the model is told to wrap up. A function is read at every check. */
	readonly grace?: number | (() => number);
	/** In place of the built-in text. A function is read when the text is sent. */
	readonly wrapUpMessage?: string | (() => string);
	/** Seconds until a question counts as not answered. */
	readonly askTimeout?: Max;
	/** False: a member's partial answer has no line that says so. */
	readonly partialNote?: boolean;
	/** False: the terminal's bell does not ring when a question opens. */
	readonly bell?: boolean;
	/** Tools whose identical calls in a row are not counted. */
	readonly repeatsExcept?: readonly string[];
	/** The budget of a fleet of agents. */
	readonly budget?: BudgetOption;
	/** The limit of the agent that starts this one: both share its tree, and nobody is asked here. */
	readonly parent?: TurnLimit;
	/** Called once per run, when pi has settled. */
	readonly onOutcome?: (outcome: Outcome) => void;
};

/** Caps as limits are written. */
type Caps = { readonly [key in "maxTurns" | "maxCost" | "maxTokens"]?: number | string };

export interface BudgetOption extends Caps {
	/** `postgres://user:password@host/database` */
	readonly at: string;
	/** The name of the budget. */
	readonly account: string;
	/** For each calendar day. */
	readonly day?: Caps;
	/** Where a day begins at midnight; UTC by default. */
	readonly zone?: string;
}

/** An extension factory for `DefaultResourceLoader`'s `extensionFactories`. Make one per session. */
export interface TurnLimit {
	(pi: Pi): void;
	/** Every meter, at any time. */
	snapshot(): Snapshot;
	/**
	 * Prompts an idle session. Rejects with `LimitExceeded`, after pi has settled, if a limit ended the run, and before
	 * it prompts if another extension guards the session, or if the session was disposed of.
	 */
	prompt: (session: Prompted, ...args: Parameters<AgentSession["prompt"]>) => Promise<Outcome>;
}

type Prompted = Pick<AgentSession, "prompt"> & Partial<Pick<AgentSession, "sessionManager">>;

/** A limit ended the run: `outcome` is `exhausted` or `declined`. */
export class LimitExceeded extends Error {
	override readonly name = "LimitExceeded";
	readonly outcome: Outcome;

	constructor(outcome: Outcome, message = "") {
		super(message);
		this.outcome = outcome;
	}
}

const NOT_GUARDED =
	"This limit does not guard the session: give it to the session's loader as an extension factory. A session that was disposed of runs nothing.";

/** @throws RangeError or TypeError that names the option, its value and what was expected. */
export function turnLimit(options: TurnLimitOptions = {}): TurnLimit {
	const { values, policies } = validate(options);
	const places: Place[] = [{ values, name: () => "option", strength: "start" }];
	const grace = typeof options.grace === "function" ? options.grace : undefined;
	const wrapUpMessage = typeof options.wrapUpMessage === "function" ? options.wrapUpMessage : undefined;
	const budget = options.budget === undefined ? undefined : readOption(options.budget);
	/** One for each loader that ran the factory. */
	const sessions: Session[] = [];
	let last: Report | undefined;

	const extension = (pi: Pi): void => {
		const onReport = (report: Report): void => {
			last = report;
			options.onOutcome?.(report.outcome);
		};
		const role = (): Role | undefined => options.parent && memberOf(options.parent);
		sessions.push(new Session(pi, { rank: "program", places, policies, budget, grace, wrapUpMessage, onReport, role }));
	};
	SESSIONS.set(extension, sessions);
	return Object.assign(extension, {
		snapshot: () => {
			const { settings } = resolve(places, [], defaults(false, true));
			const state = sessions.at(-1)?.state ?? initialState(settings, policies, false);
			return snapshot(grace ? { ...state, grace: readGrace(grace).value } : state);
		},
		prompt: async (...[prompted, ...prompt]: Parameters<TurnLimit["prompt"]>) => {
			if (!sessions.some((session) => session.mayGuard(prompted.sessionManager)))
				throw new Error(sessions.find(({ duty }) => duty === "unable")?.whyNot ?? NOT_GUARDED);
			last = undefined;
			await prompted.prompt(...prompt);
			// TypeScript does not see that a session has set it meanwhile.
			const report = last as Report | undefined;
			if (report === undefined) throw new Error("The prompt started no run.");
			const { outcome, line } = report;
			if (outcome.kind === "exhausted" || outcome.kind === "declined") throw new LimitExceeded(outcome, line);
			return outcome;
		},
	});
}

/** The sessions of each limit, for `parent`. */
const SESSIONS = new WeakMap<object, readonly Session[]>();

function memberOf(parent: TurnLimit): Role {
	const session = SESSIONS.get(parent)?.at(-1);
	return { isMember: true, ownsProcess: false, tree: session?.tree };
}

const OPTIONS: { readonly [option: string]: Key } = {
	...Object.fromEntries(METER_IDS.filter((id) => kindOf(id).scope !== "fleet").map((id) => [id, KEY_OF[id]])),
	policy: "policy",
	grace: "grace",
	wrapUpMessage: "wrapUpMessage",
	askTimeout: "askTimeout",
	partialNote: "partialNote",
	bell: "bell",
	repeatsExcept: "repeatsExcept",
};

/** Options that are no settings. */
const OTHERS: { readonly [option: string]: { takes: (value: unknown) => boolean; expected: string } } = {
	onOutcome: { takes: (value) => typeof value === "function", expected: "a function" },
	budget: { takes: (value) => checkBudget(value), expected: "" },
	parent: { takes: (value) => SESSIONS.has(value as object), expected: "what turnLimit() has given" },
};

function validate(options: TurnLimitOptions): { values: Place["values"]; policies: Policies } {
	const values: { [K in Key]?: unknown } = {};
	const policies: { [id in MeterId]?: Policy } = {};
	for (const [option, value] of Object.entries(options) as [string, unknown][]) {
		if (value === undefined) continue;
		const key = Object.hasOwn(OPTIONS, option) ? OPTIONS[option] : undefined;
		const other = Object.hasOwn(OTHERS, option) ? OTHERS[option] : undefined;
		if (other) {
			if (!other.takes(value)) throw new TypeError(badOption(option, value, other.expected));
			continue;
		}
		if (key === undefined) {
			const known = [...Object.keys(OPTIONS), ...Object.keys(OTHERS)].join(", ");
			throw new TypeError(`turnLimit(): unknown option ${quote(option)}. Known options: ${known}.`);
		}
		if (typeof value === "function" && (key === "grace" || key === "wrapUpMessage")) continue;
		const id = meterOf(key);
		if (id === undefined || typeof value !== "object") values[key] = checked(option, key, value);
		else {
			const { max, policy } = (value ?? {}) as Partial<Limit>;
			values[key] = checked(`${option}.max`, key, max);
			if (policy !== undefined && isPolicy(checked(`${option}.policy`, "policy", policy))) policies[id] = policy;
		}
	}
	return { values, policies };
}

/** @throws TypeError */
function checkBudget(value: unknown): boolean {
	const found = readOption(value);
	if (found.kind === "unusable") throw new TypeError(found.why.join("\n"));
	return true;
}

/** The value as it was given, if the setting takes it. */
function checked(option: string, key: Key, value: unknown): unknown {
	const { read, expected } = SETTINGS[key];
	if (read(value) !== undefined) return value;
	const Problem = typeof value === "number" || typeof value === "string" ? RangeError : TypeError;
	throw new Problem(badOption(option, value, expected));
}

function badOption(option: string, value: unknown, expected: string): string {
	return `${option}: expected ${expected}, got ${quote(value)}.`;
}
