import type { Clock } from "../../loop/clock.ts";
import type { Policies } from "../../settings/options.ts";
import type { CommandParts } from "./command/parts.ts";
import type { Context } from "./host/api.ts";
import type { Role } from "./lifecycle/root-or-member.ts";
import type { Report } from "./outcome/report.ts";
import type { SettingsOptions } from "./settings/session-settings.ts";

/** The differences between pi's own process and a program that embeds pi. */
export interface SessionOptions extends SettingsOptions, Pick<CommandParts, "file" | "print"> {
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
	/** Takes messages if there is no UI. `isError`: a command was not carried out. */
	readonly log?: (message: string, isError: boolean) => void;
	/** Pi's agent directory, where the table of the person's odds is kept. Without it there is no table. */
	readonly oddsDirectory?: () => string;
	/** The width of the terminal, if there is one. */
	readonly columns?: () => number | undefined;
	/** Called once per run with its end, unless that is repeated. */
	readonly onReport?: (report: Report, ctx: Context, role: Role) => void;
	/** A run begins that may not: ends the process if that is ours to do. */
	readonly refuse?: (why: string, ctx: Context, role: Role) => void;
	/** The limits cannot be enforced on this host; ends the process if it must not run without them. */
	readonly cannotGuard?: (ctx: Context) => void;
	/** Refused runs come again and again, and this session owns the process: ends it with the answer, if there is one. */
	readonly giveUp?: (answer: string | undefined, isEnding: boolean, ctx: Context, role: Role) => void;
	/** This session owns the process, and what it has spent is lost to those who share its limits. */
	readonly debtLost?: (ctx: Context) => void;
}
