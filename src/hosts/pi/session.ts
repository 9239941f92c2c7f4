/** Composes one breaker in one session of pi from its parts. */
import type { State } from "../../core/state.ts";
import { Driver } from "../../loop/driver.ts";
import { initialState } from "../../loop/initial-state.ts";
import { SharedLimits } from "../../loop/sharing/shared-limits.ts";
import type { Tree } from "../../loop/tree/tree-variable.ts";
import { Effects } from "./effects.ts";
import { handlersOf } from "./events/handlers.ts";
import { Outbox } from "./events/outbox.ts";
import { Prompts } from "./events/prompts.ts";
import { type HandedOver, Reload } from "./events/reload.ts";
import { GuardingCopy } from "./events/guarding-copy.ts";
import { Subscription } from "./events/subscription.ts";
import { Turn } from "./events/turn.ts";
import { TurnEvents } from "./events/turn-events.ts";
import type { Context, Pi } from "./host/api.ts";
import { Duty } from "./lifecycle/guard.ts";
import { Handover } from "./lifecycle/handover.ts";
import { SessionRole } from "./lifecycle/root-or-member.ts";
import type { SessionOptions } from "./options.ts";
import { Replies } from "./outcome/reply.ts";
import { Reports } from "./outcome/report.ts";
import { Announcement, sharingOf } from "./settings/agent-tree.ts";
import { LimitsInForce } from "./settings/limits-in-force.ts";
import { SessionSettings } from "./settings/session-settings.ts";
import { Notices } from "./ui/notices.ts";
import { PersonalOdds } from "./ui/odds.ts";

export class Session {
	readonly #driver: Driver<Context>;
	readonly #announcement: Announcement;
	readonly #duty = new Duty();
	readonly #guard: GuardingCopy;

	constructor(pi: Pi, options: SessionOptions) {
		const { rank, policies, cannotGuard, file, print } = options;
		const duty = this.#duty;
		const role = new SessionRole(pi, rank, options.role);
		const handover = new Handover<HandedOver>();
		const settings = new SessionSettings(pi, options);
		const shared = new SharedLimits(sharingOf(role, settings));
		const announcement = (this.#announcement = new Announcement(role, shared, settings));
		const notices = new Notices(role.asOwner(options.log), options.columns);
		const odds = new PersonalOdds(options.oddsDirectory, settings.reader("odds"));
		const turn = new Turn();
		const prompts = new Prompts(pi);
		const outbox = new Outbox(pi);
		const turnEvents = new TurnEvents(outbox, handover, options.grace !== undefined);
		const reports = new Reports({ pi, role, settings, notices, onReport: options.onReport });
		const parts = { pi, rank, options, duty, role, handover, settings, shared, announcement, notices, odds };
		const runParts = { ...parts, turn, prompts, outbox, turnEvents, reports };
		const state = initialState(settings.current, policies, false);
		const driver = (this.#driver = new Driver(new Effects(runParts), state, shared, options.clock));
		const limits = new LimitsInForce(settings, driver, notices, policies);
		const replies = new Replies({ driver, reports, role, isNoteWanted: settings.reader("partialNote") });
		const reload = new Reload({ ...runParts, driver });
		const command = { driver, settings, limits, notices, odds, reports, role, file, print };
		const guard = (this.#guard = new GuardingCopy({ ...parts, driver, limits, reload, command, cannotGuard }));
		const handlers = handlersOf({ ...runParts, driver, limits, replies, reload });
		new Subscription({ ...runParts, driver, guard }, handlers);
	}

	/** The breaker's state. */
	get state(): State {
		return this.#driver.state;
	}

	/** Describes the tree to its members; undefined until it has begun. */
	get tree(): Tree | undefined {
		return this.#announcement.treeOf(this.state);
	}

	get hasBegun(): boolean {
		return this.#guard.hasBegun;
	}

	/** True for the session that this copy guards, and as long as it has seen none. */
	mayGuard(sessionManager: object | undefined): boolean {
		return this.#guard.mayGuard(sessionManager);
	}

	/** Why the limits cannot be enforced, if they cannot. */
	get unableReason(): string | undefined {
		return this.#duty.name === "unable" ? this.#duty.unableReason : undefined;
	}
}
