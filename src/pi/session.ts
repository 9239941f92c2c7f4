/** One breaker in one session: its state, its settings, its coming and going. */
import { decide, transition } from "../core/breaker.ts";
import { isEndAwaited } from "../core/gate.ts";
import { isSpinning, start } from "../core/run.ts";
import type { Event } from "../core/alphabet.ts";
import type { State } from "../core/state.ts";
import { LOST_TURN } from "./charges.ts";
import { Clock } from "./clock.ts";
import { claim, type Guard, guardOf, type Rank, release } from "./claim.ts";
import { execute } from "./command.ts";
import { Delivery } from "./delivery.ts";
import { Display } from "./display.ts";
import { commit } from "./effects.ts";
import { Handover, heritageOf, takeLegacy, takeOver } from "./handover.ts";
import { type Context, DISPOSED, isSupported, orDisposed, type Pi } from "./host.ts";
import { apply, initialState, resumedState } from "./limits.ts";
import type { Options } from "./options.ts";
import { Preferences } from "./preferences.ts";
import type { OpenQuestion } from "./question.ts";
import type { Shares } from "./shares.ts";
import { announce } from "./sharing.ts";
import { Starting } from "./starting.ts";
import { type CostlyEvent, Subscription } from "./subscribe.ts";
import { Telling } from "./telling.ts";
import { watchTime } from "./time.ts";
import { isStarting, leaveProcess, type Role, roleOf } from "./tree.ts";
import { Turn } from "./turn.ts";

const TOO_OLD = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

export class Session implements Guard {
	readonly pi: Pi;
	readonly options: Options;
	readonly settings: Preferences;
	readonly delivery: Delivery;
	readonly display: Display;
	readonly clock: Clock;
	readonly starting: Starting;
	telling = new Telling();
	/** Made when a limit that others share is set. */
	shares: Shares | undefined;
	readonly handover = new Handover();
	state: State;
	turn = new Turn();
	question: OpenQuestion | undefined;
	role: Role = { isMember: false, ownsProcess: false };
	/** `off`: another copy guards the session, or it has ended. `unable`: the limits cannot be enforced, so every run is aborted. */
	duty: "guard" | "off" | "unable" = "guard";
	/** Why it is `unable`. */
	whyNot: string | undefined;
	readonly #subscription: Subscription;
	readonly #ended = new AbortController();
	#begun: Promise<void> | undefined;
	hasBegun = false;
	#ctx: Context | undefined;
	readonly #isLoadedAtStart = isStarting();
	/** The number of runs that have begun. */
	runs = 0;

	constructor(pi: Pi, options: Options) {
		this.pi = pi;
		this.options = options;
		this.settings = new Preferences(pi, options);
		this.clock = new Clock(options.now);
		this.delivery = new Delivery(pi);
		this.starting = new Starting(pi);
		this.display = new Display((message) => {
			if (this.role.ownsProcess) options.log?.(message);
		}, options.columns);
		this.state = initialState(this.settings.current, options.policies, false);
		this.#subscription = new Subscription(this);
	}

	get rank(): Rank {
		return this.options.rank;
	}

	get isFirst(): boolean {
		return this.#subscription.isFirst;
	}

	// Coming and going

	/** At the first event of the session, of any type; `reason`: that of `session_start`, if it is the first. */
	begin(ctx: Context, reason?: string): Promise<void> {
		return (this.#begun ??= this.#begin(ctx, reason).then(
			() => void (this.hasBegun = true),
			(error: unknown) => {
				this.#begun = undefined;
				throw error;
			},
		));
	}

	async #begin(ctx: Context, reason: string | undefined): Promise<void> {
		this.#ctx = ctx;
		const { sessionManager, mode } = ctx;
		const origin = { isLoadedAtStart: this.#isLoadedAtStart, reason, mode };
		this.role = this.options.role?.() ?? roleOf(sessionManager, origin);
		const whyNot = isSupported(ctx) ? claim(sessionManager, this) : TOO_OLD;
		if (whyNot !== undefined) {
			this.whyNot = whyNot;
			this.duty = this.rank === "program" ? "unable" : "off";
			this.display.warnOnce(whyNot, ctx);
			if (whyNot === TOO_OLD) this.options.cannotGuard?.(ctx);
			return;
		}
		announce(this);
		const attended = this.#isAttended(ctx);
		const problems = this.settings.load(ctx, attended, this.role.tree);
		const legacy = takeLegacy(ctx.sessionManager.getSessionId(), this.rank);
		this.state = legacy?.state ?? resumedState(this, attended, ctx);
		if (legacy) takeOver(this, legacy);
		await apply(this, ctx);
		watchTime(this, ctx);
		legacy?.succeed({
			receive: (name, event) => this.#subscription.receive(name, event, ctx),
			step: (event) => this.step(event, ctx),
		});
		this.display.warnOnce(problems.join("\n"), ctx);
		this.whyNot = this.settings.whyNot;
		if (this.whyNot === undefined) return;
		this.duty = "unable";
		this.display.warnOnce(this.whyNot, ctx);
	}

	/** True for the session that this copy guards, and as long as it has seen none. */
	mayGuard(sessionManager: object | undefined): boolean {
		if (this.#ctx && orDisposed(this.#ctx) === DISPOSED) return false;
		const guard = sessionManager && guardOf(sessionManager);
		const isFree = guard === undefined && (this.#begun === undefined || sessionManager === undefined);
		return this.duty === "guard" && (guard === this || isFree);
	}

	standAside(): void {
		this.duty = "off";
	}

	/** Pi reloads its extensions: what still reaches this instance waits for the next instance. */
	leave({ sessionManager }: Context): void {
		// Two reloads at once end us twice.
		if (this.handover.hasLeft) return;
		release(sessionManager);
		// It has aborted every run before the gate, so there is nothing to hand over.
		if (this.duty === "unable") return;
		this.handover.leave(sessionManager.getSessionId(), heritageOf(this), () => this.question?.close());
	}

	async shutDown(ctx: Context): Promise<void> {
		const isLost = this.turn.isNew && !this.turn.hasReply;
		await this.step({ type: "shut_down" }, ctx);
		if (isLost) this.pi.appendEntry(LOST_TURN);
		await this.shares?.endRun();
		this.duty = "off";
		this.#ended.abort();
		release(ctx.sessionManager);
		leaveProcess(ctx.sessionManager);
	}

	/** Before the first turn of a run. Looks again for a person, because a program may bind its UI late. */
	async beforeRun(ctx: Context): Promise<void> {
		this.runs++;
		announce(this);
		const attended = this.#isAttended(ctx);
		if (this.state.attended === attended) return;
		this.settings.attend(attended);
		await this.step({ type: "attended_set", attended }, ctx);
		await apply(this, ctx);
	}

	/** Aborts when the session ends. */
	get endSignal(): AbortSignal {
		return this.#ended.signal;
	}

	/** A member has a person only in a terminal of its own: over rpc nobody may be listening. */
	#isAttended({ hasUI, mode }: Context): boolean {
		return hasUI && (!this.role.isMember || mode === "tui");
	}

	// The core

	/** Returns a promise only if there are effects. */
	step(event: Event, ctx: Context): Promise<void> | undefined {
		if (this.handover.hasLeft) return this.handover.step(event);
		const [next, effects] = transition(this.state, event);
		return commit(this, next, effects, ctx);
	}

	/** A dialog may have stopped it, and the agent works again. */
	resumeClock(): void {
		const { name } = this.state.phase;
		if (name === "running" || name === "finishing") this.clock.run();
	}

	/** True if several runs that nobody prompted were refused and the next would be too, so pi need not begin it. */
	drops(): boolean {
		return isSpinning(this.state) && decide(this.state, { type: "turn_requested" })[1] === "abort";
	}

	/** A handler threw, so the run stops. `isTurn`: the handler of `turn_start`, so the run may not have begun yet. */
	fail(error: unknown, isTurn: boolean): void {
		this.turn.isRefused ||= isTurn;
		const begun = isTurn ? start(this.state) : this.state;
		[this.state] = transition(begun, { type: "broke", message: String(error) });
		this.question?.close();
	}

	newTurn(): void {
		this.#subscription.endTurn();
		this.turn = new Turn();
	}

	/**
	 * Pi builds the whole transcript for those who listen to the end of a turn, so we listen only where it can change
	 * something. To be called after everything that can bring that about in mid-turn.
	 */
	awaitTurnEnd(): void {
		const isAwaited = this.options.grace !== undefined || this.delivery.isPending || isEndAwaited(this.state);
		if (isAwaited) this.listenTo("turn_end");
	}

	/** Until the next turn starts. */
	listenTo(name: CostlyEvent): void {
		if (!this.handover.hasLeft) this.#subscription.listenTo(name);
	}

	async command(args: string, ctx: Context): Promise<void> {
		if (!isSupported(ctx)) return this.display.say(TOO_OLD, "error", ctx);
		await execute(this, args, ctx);
	}
}
