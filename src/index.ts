/** For programs that embed pi: the same breaker, with options in place of settings. It never touches the process. */
import type { AgentSession } from "@earendil-works/pi-coding-agent";
import { snapshot, type Snapshot } from "./core/snapshot.ts";
import type { Limit } from "./core/limit.ts";
import type { Policy } from "./core/policies.ts";
import type { Max } from "./core/meters.ts";
import { isBroken, isEndAtLimit, type Outcome, OUTCOMES } from "./core/outcome.ts";
import type { Pi } from "./hosts/pi/host/api.ts";
import { initialState } from "./loop/initial-state.ts";
import type { Report } from "./hosts/pi/outcome/report.ts";
import { Session } from "./hosts/pi/session.ts";
import type { Role } from "./hosts/pi/lifecycle/root-or-member.ts";
import { LimitExceeded } from "./hosts/loop/limit-exceeded.ts";
import { heard } from "./hosts/loop/run.ts";
import { asParent, isParent, treeOf } from "./loop/tree/parents.ts";
import { readOption } from "./settings/budget.ts";
import {
	COMMON_OTHERS,
	COMMON_SETTINGS,
	type CommonOptions,
	expecting,
	type OptionTable,
	readOptions,
} from "./settings/options.ts";
import { type Place, resolve } from "./settings/resolve.ts";
import { defaults } from "./settings/settings.ts";
import { readGrace } from "./settings/supplied.ts";

export type { Limit, Max, Outcome, Policy, Snapshot };
export { LimitExceeded };
export type { BudgetOption, LimitOption } from "./settings/options.ts";
export { OUTCOME_ENTRY, type OutcomeKind } from "./core/outcome.ts";
export { advise, render, type Advice, type AdviseOptions } from "./history/index.ts";
export { OUTCOME_EVENT } from "./hosts/pi/outcome/report.ts";

/** Every option has the default of its setting. A limit's option is named like its meter. */
export type TurnLimitOptions = CommonOptions & {
	/** False: a member's partial answer has no line that says so. */
	readonly partialNote?: boolean;
	/** False: the terminal's bell does not ring when a question opens. */
	readonly bell?: boolean;
	/** The limit of the agent that starts this one, or a run of `pi-turn-limit/loop`: both share its tree, and nobody is asked here. */
	readonly parent?: object;
};

/** An extension factory for `DefaultResourceLoader`'s `extensionFactories`. Make one per session. */
export interface TurnLimit {
	(pi: Pi): void;
	/** Every meter, at any time. */
	snapshot(): Snapshot;
	/**
	 * Prompts an idle session. Rejects with `LimitExceeded`, after pi has settled, if a limit ended the run, with an
	 * `Error` if the breaker itself failed, and before it prompts if another extension guards the session, or if the
	 * session was disposed of. `onOutcome` may call it; do not await it in a handler of `agent_settled`.
	 */
	prompt: (session: Prompted, ...args: Parameters<AgentSession["prompt"]>) => Promise<Outcome>;
}

type Prompted = Pick<AgentSession, "prompt"> & Partial<Pick<AgentSession, "sessionManager">>;

const NOT_GUARDED =
	"This limit does not guard the session: give it to the session's loader as an extension factory. A session that was disposed of runs nothing.";

/** @throws RangeError or TypeError that names the option, its value and what was expected. */
export function turnLimit(options: TurnLimitOptions = {}): TurnLimit {
	const { values, policies } = readOptions(OPTIONS, options);
	const places: Place[] = [{ values, name: () => "option", strength: "start" }];
	const grace = typeof options.grace === "function" ? options.grace : undefined;
	const wrapUpMessage = typeof options.wrapUpMessage === "function" ? options.wrapUpMessage : undefined;
	const budget = options.budget === undefined ? undefined : readOption(options.budget);
	/** One for each loader that ran the factory. */
	const sessions: Session[] = [];
	const prompts: StartedPrompt[] = [];

	const extension = (pi: Pi): void => {
		const onReport = (report: Report): void => {
			// Before `onOutcome`, which may start the next prompt.
			prompts.find((prompt) => prompt.report === undefined)?.reported(report);
			heard(options.onOutcome, report.outcome).catch(() => {}); // the run has ended as it has
		};
		const role = (): Role | undefined =>
			options.parent && { isMember: true, ownsProcess: false, tree: treeOf(options.parent) };
		sessions.push(new Session(pi, { rank: "program", places, policies, budget, grace, wrapUpMessage, onReport, role }));
	};
	asParent(extension, () => begunOf(sessions)?.tree);
	return Object.assign(extension, {
		snapshot: () => {
			const { settings } = resolve(places, [], defaults(false, true));
			const state = begunOf(sessions)?.state ?? initialState(settings, policies, false);
			return snapshot(grace ? { ...state, grace: readGrace(grace).value } : state);
		},
		prompt: async (...[prompted, ...prompt]: Parameters<TurnLimit["prompt"]>) => {
			if (!sessions.some((session) => session.mayGuard(prompted.sessionManager)))
				throw new Error(unableReasonOf(sessions) ?? NOT_GUARDED);
			// Pi puts off a prompt that is made while it settles a run, and would give back nothing of it.
			for (const { report, isOver } of prompts) if (report) await isOver;
			const report = await reportOf(prompts, () => prompted.prompt(...prompt));
			// A session that nothing was bound to begins with its first prompt, and only then knows that it cannot guard.
			if (report === undefined) throw new Error(unableReasonOf(sessions) ?? "The prompt started no run.");
			const { outcome, line } = report;
			if (isEndAtLimit(outcome.kind) && !OUTCOMES[outcome.kind].isPartial) throw new LimitExceeded(outcome, line);
			if (isBroken(outcome)) throw new Error(line, { cause: outcome });
			return outcome;
		},
	});
}

/** The session that guards: a loader can also run the factory without making a session. */
function begunOf(sessions: readonly Session[]): Session | undefined {
	return sessions.findLast(({ hasBegun }) => hasBegun);
}

/** Why one of these sessions cannot enforce its limits. */
function unableReasonOf(sessions: readonly Session[]): string | undefined {
	return sessions.find(({ unableReason }) => unableReason !== undefined)?.unableReason;
}

/** A prompt that pi has not resolved yet. */
class StartedPrompt {
	readonly isOver: Promise<void>;
	#report: Report | undefined;

	constructor(isOver: Promise<void>) {
		this.isOver = isOver;
	}

	/** The report of the first run that has ended since the prompt was sent. */
	get report(): Report | undefined {
		return this.#report;
	}

	reported(report: Report): void {
		this.#report = report;
	}
}

/** The report of the run that the prompt starts; undefined if it starts none. */
async function reportOf(prompts: StartedPrompt[], start: () => Promise<void>): Promise<Report | undefined> {
	let over = (): void => {};
	const prompt = new StartedPrompt(new Promise((resolve) => (over = resolve)));
	prompts.push(prompt);
	try {
		await start();
		return prompt.report;
	} finally {
		prompts.splice(prompts.indexOf(prompt), 1);
		over();
	}
}

const OPTIONS: OptionTable = {
	name: "turnLimit",
	settings: [...COMMON_SETTINGS, "partialNote", "bell"],
	others: {
		...COMMON_OTHERS,
		parent: expecting("what turnLimit() has given", isParent),
	},
};
