import type { Clock } from "../../loop/clock.ts";
import type { BudgetFound } from "../../settings/budget.ts";
import type { Place } from "../../settings/resolve.ts";
import type { Rank } from "./lifecycle/guard.ts";
import type { Context } from "./host/api.ts";
import type { Policies } from "../../settings/options.ts";
import type { Surroundings } from "./settings/session-settings.ts";
import type { Report } from "./outcome/report.ts";
import type { Session } from "./session.ts";
import type { Role } from "./lifecycle/role.ts";

/** The differences between pi's own process and a program that embeds pi. */
export interface Options {
	readonly rank: Rank;
	/** The places of settings, strongest first, until a session has started. */
	readonly places: readonly Place[];
	/** The places once a session has started; the same if not given. */
	readonly surroundings?: (ctx: Context) => Surroundings;
	/** The budget of a fleet, if there are no surroundings to read it from. */
	readonly budget?: BudgetFound | undefined;
	/** The session's role, where pi's process does not tell it. */
	readonly role?: () => Role | undefined;
	/** The policies of limits that have their own. */
	readonly policies?: Policies;
	/** In place of the setting; read at every check. */
	readonly grace?: (() => unknown) | undefined;
	/** In place of the setting; read when it is sent. */
	readonly wrapUpMessage?: (() => unknown) | undefined;
	/** Measures the meter of time. */
	readonly clock?: Clock;
	/** Called when this copy is the first that its loader runs: it registers what only one copy may. */
	readonly loadedFirst?: () => void;
	/** Takes messages if there is no UI. */
	readonly log?: (message: string) => void;
	/** The width of the terminal, if there is one. */
	readonly columns?: () => number | undefined;
	/** Writes settings into the user's file and gives its path for people; throws if it cannot. */
	readonly save?: (values: Place["values"]) => string;
	/** Standard output, if it is ours to write. */
	readonly print?: (text: string) => void;
	/** Called once per run with its end, unless that is repeated. */
	readonly onReport?: (report: Report, ctx: Context, role: Role) => void;
	/** The limits cannot be enforced on this host; ends the process if it must not run without them. */
	readonly cannotGuard?: (ctx: Context) => void;
	/** Refused runs come again and again: ends the process if that is ours to do. */
	readonly giveUp?: (session: Session, ctx: Context) => Promise<void>;
}
