/** Makes a session listen to pi, and registers the command. */
import type { SessionShutdownEvent, SessionStartEvent } from "@earendil-works/pi-coding-agent";
import { brokenText } from "../../../core/outcome.ts";
import { NOT_RUN, refusal } from "../../../core/to-model.ts";
import type { Driver } from "../../../loop/driver.ts";
import { type Context, DISPOSED, type Events, NAME, orDisposed, type Pi } from "../host/api.ts";
import { type Duty, guardOf } from "../lifecycle/guard.ts";
import { expectSuccessors, type Handover } from "../lifecycle/handover.ts";
import type { SessionRole } from "../lifecycle/root-or-member.ts";
import type { Notices } from "../ui/notices.ts";
import { DESCRIPTION } from "../command/command.ts";
import { complete } from "../command/grammar.ts";
import type { SessionOptions } from "../options.ts";
import type { GuardingCopy } from "./guarding-copy.ts";
import type { Turn } from "./turn.ts";
import { isTurnEvent, type TurnEvents } from "./turn-events.ts";

export type Handlers = { readonly [E in keyof Events]: (event: Events[E], ctx: Context) => unknown };

type Handler = (event: unknown, ctx: Context) => unknown;

/** The parts of a session that decide whether its handlers are called, and what follows if one fails. */
interface SubscriptionParts {
	readonly pi: Pi;
	readonly guard: GuardingCopy;
	readonly duty: Duty;
	readonly handover: Pick<Handover<object>, "hasLeft" | "forward" | "tellEnd">;
	readonly driver: Pick<Driver<Context>, "state" | "fail">;
	readonly turn: Turn;
	readonly turnEvents: TurnEvents;
	readonly notices: Pick<Notices, "warnOnce">;
	readonly role: SessionRole;
	readonly options: Pick<SessionOptions, "loadedFirst" | "refuse">;
}

/**
 * By event: the answer that keeps a disposed session from running. Pi goes on prompting it, but fires no other events,
 * and there is no context left to abort.
 */
const DEAD_END: Readonly<Record<string, unknown>> = {
	input: { action: "handled" },
	context: new Promise(() => {}),
	tool_call: { block: true, terminate: true, reason: `${NOT_RUN}: this session was disposed of.` },
};

/** Makes a session listen to pi. A handler that throws stops the run. */
export class Subscription {
	readonly #parts: SubscriptionParts;
	readonly #handlers: Readonly<Record<string, Handler>>;

	constructor(parts: SubscriptionParts, handlers: Handlers) {
		const { guard, turnEvents, options } = parts;
		this.#parts = parts;
		this.#handlers = handlers as unknown as Record<string, Handler>;
		expectSuccessors();
		for (const name of Object.keys(this.#handlers)) if (!isTurnEvent(name)) this.#listen(name);
		turnEvents.listenBy((name) => this.#listen(name));
		if (!guard.isFirst) return;
		options.loadedFirst?.();
		this.#registerCommand();
	}

	/** Handles an event of pi, also one that an earlier instance forwards. Returns a promise only if it has to wait. */
	#receive(name: string, event: unknown, ctx: Context): unknown {
		if (name !== "agent_settled" && orDisposed(ctx) === DISPOSED) return DEAD_END[name];
		try {
			const handled = this.#parts.guard.hasBegun ? this.#handle(name, event, ctx) : this.#begin(name, event, ctx);
			if (!(handled instanceof Promise)) return handled;
			return handled.catch((error: unknown) => this.#failed(error, name, event, ctx));
		} catch (error) {
			return this.#failed(error, name, event, ctx);
		}
	}

	async #begin(name: string, event: unknown, ctx: Context): Promise<unknown> {
		await this.#beginSession(ctx, name === "session_start" ? (event as SessionStartEvent).reason : undefined);
		return await this.#handle(name, event, ctx);
	}

	#beginSession(ctx: Context, reason?: string): Promise<void> {
		return this.#parts.guard.begin(ctx, (name, event) => this.#receive(name, event, ctx), reason);
	}

	#handle(name: string, event: unknown, ctx: Context): unknown {
		const { guard, duty, role, options } = this.#parts;
		guard.loaded();
		// Another copy decides here, or the session has ended and a late event changes nothing.
		if (duty.name === "off") return undefined;
		const isEnd = name === "session_shutdown" && guardOf(ctx.sessionManager) === guard;
		if (duty.name === "unable" && !isEnd) {
			// `/turn-limit` still answers, so a script ends only where a run would begin.
			if (name !== "session_start") options.refuse?.(duty.unableReason, ctx, role);
			throw new Error(duty.unableReason);
		}
		return this.#handlers[name]?.(event, ctx);
	}

	#failed(error: unknown, name: string, event: unknown, ctx: Context): unknown {
		const { guard, handover, driver, turn, notices } = this.#parts;
		const isTurn = name === "turn_start";
		// Reloaded meanwhile, so its context only throws; the gate has not decided yet.
		if (handover.hasLeft && isTurn) return handover.forward(name, event);
		// Disposed of meanwhile.
		if (orDisposed(ctx) === DISPOSED) return DEAD_END[name];
		if (isTurn) turn.refused();
		driver.fail(error, isTurn);
		if (name === "tool_call") return { block: true, reason: refusal(driver.state) };
		ctx.abort();
		// A session that has not begun reports no end of a run.
		if (!guard.hasBegun) notices.warnOnce(brokenText({ message: String(error) }), ctx);
		return undefined;
	}

	#listen(name: string): () => void {
		const { pi, handover, role } = this.#parts;
		const on = pi.on as (name: string, handler: (event: unknown, ctx: Context) => unknown) => () => void;
		return on.call(pi, name, (event, ctx) => {
			if (!handover.hasLeft) return this.#receive(name, event, ctx);
			if (name !== "session_shutdown") return handover.forward(name, event);
			// If pi reloads again at once, it tells the next instance itself.
			if ((event as SessionShutdownEvent).reason === "reload") return undefined;
			role.end();
			return handover.tellEnd();
		});
	}

	/** Once for all copies of the extension that pi loads. */
	#registerCommand(): void {
		const { pi, guard } = this.#parts;
		pi.registerCommand(NAME, {
			description: DESCRIPTION,
			getArgumentCompletions: complete,
			handler: async (args, ctx) => {
				await this.#beginSession(ctx);
				await (guardOf(ctx.sessionManager) ?? guard).command(args, ctx);
			},
		});
	}
}
