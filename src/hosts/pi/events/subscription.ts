/** Makes a session listen to pi, and registers the command. */
import type { SessionStartEvent } from "@earendil-works/pi-coding-agent";
import { brokenText } from "../../../core/outcome.ts";
import { NOT_RUN } from "../../../core/to-model.ts";
import { type Guard, guardOf, isFirstLoaded } from "../lifecycle/guard.ts";
import { DESCRIPTION } from "../command/command.ts";
import { expectHeirs } from "../lifecycle/handover.ts";
import { type Context, DISPOSED, type Events, NAME, orDisposed, type Pi } from "../host/api.ts";
import { complete } from "../command/grammar.ts";

export type Handlers = { readonly [E in keyof Events]: (event: Events[E], ctx: Context) => unknown };

type Handler = (event: unknown, ctx: Context) => unknown;

/** A session as its events meet it. */
export interface Subscriber extends Guard {
	readonly hasBegun: boolean;
	/** At the first event, of any type; `reason`: that of `session_start`, if it is the first. */
	begin(ctx: Context, reason?: string): Promise<void>;
	/** `off`: another copy guards the session. `unable`: the limits cannot be enforced, so every run is aborted. */
	readonly duty: "guard" | "off" | "unable";
	/** Why it is `unable`. */
	readonly whyNot: string | undefined;
	/** A run would begin although the session is `unable`: ends the process if that is ours to do. */
	refuse(ctx: Context): void;
	/** A handler threw, so the run stops. `isTurn`: the handler of `turn_start`, so the run may not have begun yet. */
	fail(error: unknown, isTurn: boolean): void;
	/** The reason that the model reads for a call that is refused. */
	refusal(): string;
	/** Tells whoever is there that the breaker broke before the session had begun. */
	warn(message: string, ctx: Context): void;
	/** Another instance has taken over. */
	readonly hasLeft: boolean;
	forward(name: string, event: unknown): Promise<unknown>;
}

/**
 * By event: the answer that keeps a session that was disposed of from running. Pi goes on prompting it, but tells us
 * of nothing else, and there is no context left to abort.
 */
const DEAD_END: Readonly<Record<string, unknown>> = {
	input: { action: "handled" },
	tool_call: { block: true, terminate: true, reason: `${NOT_RUN}: this session was disposed of.` },
};

/** Listened to only in turns in which they matter: for the one pi builds the transcript, the other fires for every word. */
export type CostlyEvent = "turn_end" | "message_update";
const COSTLY: ReadonlySet<string> = new Set<CostlyEvent>(["turn_end", "message_update"]);

/** Makes a session listen to pi. A handler that throws stops the run. */
export class Subscription {
	readonly #session: Subscriber;
	readonly #pi: Pi;
	readonly #handlers: Readonly<Record<string, Handler>>;
	readonly #loading: ReturnType<typeof isFirstLoaded>;
	/** In this turn, by event: ends listening to it. */
	readonly #costly = new Map<CostlyEvent, () => void>();

	/** `loadedFirst` is called if this copy is the first that its loader runs. */
	constructor(pi: Pi, session: Subscriber, handlers: Handlers, loadedFirst: (() => void) | undefined) {
		this.#session = session;
		this.#pi = pi;
		this.#handlers = handlers as unknown as Record<string, Handler>;
		this.#loading = isFirstLoaded(pi, session.rank);
		expectHeirs();
		for (const name of Object.keys(this.#handlers)) if (!COSTLY.has(name)) this.#listen(name);
		if (!this.#loading.isFirst) return;
		loadedFirst?.();
		this.#registerCommand();
	}

	get isFirst(): boolean {
		return this.#loading.isFirst;
	}

	/** Until the turn ends. */
	listenTo(name: CostlyEvent): void {
		if (!this.#costly.has(name)) this.#costly.set(name, this.#listen(name));
	}

	endTurn(): void {
		for (const stop of this.#costly.values()) stop();
		this.#costly.clear();
	}

	/** Handles an event of pi, also one that an earlier instance forwards. Returns a promise only if it has to wait. */
	receive(name: string, event: unknown, ctx: Context): unknown {
		const session = this.#session;
		if (name !== "agent_settled" && orDisposed(ctx) === DISPOSED) return DEAD_END[name];
		try {
			const handled = session.hasBegun ? this.#handle(name, event, ctx) : this.#begin(name, event, ctx);
			if (!(handled instanceof Promise)) return handled;
			return handled.catch((error: unknown) => this.#failed(error, name, event, ctx));
		} catch (error) {
			return this.#failed(error, name, event, ctx);
		}
	}

	async #begin(name: string, event: unknown, ctx: Context): Promise<unknown> {
		await this.#session.begin(ctx, name === "session_start" ? (event as SessionStartEvent).reason : undefined);
		return await this.#handle(name, event, ctx);
	}

	#handle(name: string, event: unknown, ctx: Context): unknown {
		const { duty, whyNot } = this.#session;
		this.#loading.loaded();
		// Another copy decides here, or the session has ended and a late event changes nothing.
		if (duty === "off") return undefined;
		const isEnd = name === "session_shutdown" && guardOf(ctx.sessionManager) === this.#session;
		if (duty === "unable" && !isEnd) {
			// `/turn-limit` still answers, so a script ends only where a run would begin.
			if (name !== "session_start") this.#session.refuse(ctx);
			throw new Error(whyNot);
		}
		return this.#handlers[name]?.(event, ctx);
	}

	#failed(error: unknown, name: string, event: unknown, ctx: Context): unknown {
		const session = this.#session;
		// Reloaded meanwhile, so that its context only throws; the gate has not decided yet.
		if (session.hasLeft && name === "turn_start") return session.forward(name, event);
		// Disposed of meanwhile.
		if (orDisposed(ctx) === DISPOSED) return DEAD_END[name];
		session.fail(error, name === "turn_start");
		if (name === "tool_call") return { block: true, reason: session.refusal() };
		ctx.abort();
		// A session that has not begun reports no end of a run.
		if (!session.hasBegun) session.warn(brokenText({ message: String(error) }), ctx);
		return undefined;
	}

	#listen(name: string): () => void {
		const on = this.#pi.on as (name: string, handler: (event: unknown, ctx: Context) => unknown) => () => void;
		const session = this.#session;
		return on.call(this.#pi, name, (event, ctx) => {
			if (!session.hasLeft) return this.receive(name, event, ctx);
			// The next instance is told of its own end, and a second reload ends this one no more.
			return name === "session_shutdown" ? undefined : session.forward(name, event);
		});
	}

	/** Once for all copies of the extension that pi loads. */
	#registerCommand(): void {
		const session = this.#session;
		this.#pi.registerCommand(NAME, {
			description: DESCRIPTION,
			getArgumentCompletions: complete,
			handler: async (args, ctx) => {
				await session.begin(ctx);
				await (guardOf(ctx.sessionManager) ?? session).command(args, ctx);
			},
		});
	}
}
