/** This copy of the extension: begins to guard its session at the first event, and executes its commands. */
import type { Driver } from "../../../loop/driver.ts";
import { execute } from "../command/command.ts";
import type { CommandParts } from "../command/parts.ts";
import { type Context, DISPOSED, isSupported, orDisposed, type Pi } from "../host/api.ts";
import { claim, type Duty, type SessionGuard, guardOf, announceLoading, type Rank } from "../lifecycle/guard.ts";
import type { SessionRole } from "../lifecycle/root-or-member.ts";
import { isScript } from "../outcome/exit.ts";
import type { Announcement } from "../settings/agent-tree.ts";
import type { LimitsInForce } from "../settings/limits-in-force.ts";
import type { SessionSettings } from "../settings/session-settings.ts";
import type { Notices } from "../ui/notices.ts";
import type { Reload } from "./reload.ts";

const TOO_OLD = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

/** The parts of a session that take part in its beginning. */
interface CopyParts {
	readonly pi: Pick<Pi, "events">;
	readonly rank: Rank;
	readonly duty: Duty;
	readonly role: SessionRole;
	readonly settings: SessionSettings;
	readonly limits: LimitsInForce;
	readonly driver: Driver<Context>;
	readonly announcement: Announcement;
	readonly notices: Notices;
	readonly reload: Reload;
	readonly command: CommandParts;
	/** The limits cannot be enforced on this host; ends the process if it must not run without them. */
	readonly cannotGuard: ((ctx: Context) => void) | undefined;
}

export class GuardingCopy implements SessionGuard {
	readonly #parts: CopyParts;
	readonly #loading: ReturnType<typeof announceLoading>;
	#begun: Promise<void> | undefined;
	#hasBegun = false;
	#ctx: Context | undefined;

	constructor(parts: CopyParts) {
		this.#parts = parts;
		this.#loading = announceLoading(parts.pi, parts.rank);
	}

	get rank(): Rank {
		return this.#parts.rank;
	}

	get isFirst(): boolean {
		return this.#loading.isFirst;
	}

	/** Its loader has run all copies. */
	loaded(): void {
		this.#loading.loaded();
	}

	standAside(): void {
		this.#parts.duty.standAside();
	}

	/** True for the session that this copy guards, and as long as it has seen none. */
	mayGuard(sessionManager: object | undefined): boolean {
		const { duty, role } = this.#parts;
		if (this.#ctx && orDisposed(this.#ctx) === DISPOSED) return false;
		const guard = sessionManager && guardOf(sessionManager);
		const isFree = guard === undefined && (this.#begun === undefined || sessionManager === undefined);
		return duty.name === "guard" && !role.hasEnded && (guard === this || isFree);
	}

	async command(args: string, ctx: Context): Promise<void> {
		const { duty, role, settings, notices, command } = this.#parts;
		if (!isSupported(ctx)) return notices.say(TOO_OLD, "error", ctx);
		await execute(command, args, ctx);
		const { unableReason } = settings;
		if (unableReason !== undefined) {
			duty.cannot(unableReason);
			if (isScript(ctx, role)) notices.say(`${unableReason} No run would start.`, "error", ctx);
		} else if (duty.name === "unable") {
			// It has set the limit that was not understood.
			duty.can();
			notices.warnOnce(settings.problems.join("\n"), ctx);
		}
	}

	get hasBegun(): boolean {
		return this.#hasBegun;
	}

	/** At the first event, of any type; `reason`: that of `session_start`, if it is the first. `receive` handles what an earlier instance forwards. */
	begin(ctx: Context, receive: (name: string, event: unknown) => unknown, reason?: string): Promise<void> {
		return (this.#begun ??= this.#begin(ctx, receive, reason).then(
			() => void (this.#hasBegun = true),
			(error: unknown) => {
				this.#begun = undefined;
				throw error;
			},
		));
	}

	async #begin(
		ctx: Context,
		receive: (name: string, event: unknown) => unknown,
		reason: string | undefined,
	): Promise<void> {
		this.#ctx = ctx;
		const { rank, duty, role, settings, limits, driver, announcement, notices, reload, cannotGuard } = this.#parts;
		await role.decide(ctx, reason);
		const unableReason = isSupported(ctx) ? claim(ctx.sessionManager, this) : TOO_OLD;
		if (unableReason !== undefined) {
			if (rank === "program") duty.cannot(unableReason);
			else duty.standAside();
			notices.warnOnce(unableReason, ctx);
			if (unableReason === TOO_OLD) cannotGuard?.(ctx);
			return;
		}
		announcement.renew(driver.state);
		const attended = role.isAttended(ctx);
		const problems = settings.load(ctx, attended, role.tree);
		const handed = await reload.begin(limits.resumedState(attended, role.isMember, ctx), ctx);
		await limits.apply(ctx);
		handed?.succeed({ receive, step: (event) => driver.step(event, ctx) });
		if (settings.unableReason === undefined || attended) notices.warnOnce(problems.join("\n"), ctx);
		if (settings.unableReason === undefined) return;
		duty.cannot(settings.unableReason);
		// A script reads it when its first run is refused.
		if (!isScript(ctx, role)) notices.warnOnce(settings.unableReason, ctx);
	}
}
