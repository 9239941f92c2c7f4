/** One breaker in one session of pi: composes its parts, and knows when it guards. */
import { isEndAwaited } from "../../core/gate.ts";
import type { Event } from "../../core/protocol.ts";
import type { State } from "../../core/state.ts";
import { readMessage } from "../../settings/supplied.ts";
import { Driver } from "../../loop/driver.ts";
import type { Host } from "../../loop/port.ts";
import { ledgerDirectory } from "../../loop/sharing/ledger-directory.ts";
import { SharedLimits, type Sharing } from "../../loop/sharing/shared-limits.ts";
import { LOST_TURN } from "./host/usage.ts";
import { claim, type Guard, guardOf, type Rank, release } from "./lifecycle/guard.ts";
import { execute } from "./command/command.ts";
import { Delivery } from "./events/outbox.ts";
import { Display } from "./ui/notices.ts";
import { callText, type Tool } from "./ui/call-text.ts";
import { Handover, heritageOf, takeLegacy, takeOver } from "./lifecycle/handover.ts";
import {
	type Context,
	DISPOSED,
	GUIDANCE,
	isSupported,
	NAME,
	orDisposed,
	type Pi,
} from "./host/api.ts";
import { apply, initialState, resumedState } from "./settings/apply.ts";
import type { Options } from "./options.ts";
import { Preferences } from "./settings/session-settings.ts";
import { questionAbout } from "../../loop/question.ts";
import { ask } from "./ui/question.ts";
import { Starting } from "./events/prompts.ts";
import { type CostlyEvent, Subscription } from "./events/subscription.ts";
import { tell, Telling } from "./outcome/telling.ts";
import { announceRoot, isStarting, leaveProcess, type Role, roleOf } from "./lifecycle/role.ts";
import { Turn } from "./events/turn.ts";

const TOO_OLD = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

export class Session implements Guard {
	readonly pi: Pi;
	readonly options: Options;
	readonly settings: Preferences;
	readonly delivery: Delivery;
	readonly display: Display;
	readonly driver: Driver<Context>;
	readonly shared: SharedLimits;
	readonly starting: Starting;
	telling = new Telling();
	readonly handover = new Handover();
	turn = new Turn();
	role: Role = { isMember: false, ownsProcess: false };
	/** `off`: another copy guards the session. `unable`: the limits cannot be enforced, so every run is aborted. */
	duty: "guard" | "off" | "unable" = "guard";
	/** Why it is `unable`. */
	whyNot: string | undefined;
	readonly #subscription: Subscription;
	#begun: Promise<void> | undefined;
	hasBegun = false;
	#hasEnded = false;
	#ctx: Context | undefined;
	readonly #isLoadedAtStart = isStarting();
	/** The number of runs that have begun. */
	runs = 0;

	constructor(pi: Pi, options: Options) {
		this.pi = pi;
		this.options = options;
		this.settings = new Preferences(pi, options);
		this.delivery = new Delivery(pi);
		this.starting = new Starting(pi);
		this.display = new Display((message) => {
			if (this.role.ownsProcess) options.log?.(message);
		}, options.columns);
		const sharing = (): Sharing => {
			const { tree } = this.role;
			const at = tree?.at ?? ledgerDirectory();
			return { at, tree: tree?.name, budget: this.settings.budget };
		};
		this.shared = new SharedLimits(sharing, () => this.announce());
		const state = initialState(this.settings.current, options.policies, false);
		this.driver = new Driver(this.#host(), state, this.shared, options.clock);
		this.#subscription = new Subscription(this);
	}

	get rank(): Rank {
		return this.options.rank;
	}

	get state(): State {
		return this.driver.state;
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
		this.announce();
		const attended = this.#isAttended(ctx);
		const problems = this.settings.load(ctx, attended, this.role.tree);
		const legacy = takeLegacy(ctx.sessionManager.getSessionId(), this.rank);
		const state = legacy?.state ?? resumedState(this, attended, ctx);
		if (legacy) takeOver(this, legacy);
		this.driver.resume(state, legacy?.isWorking === true, ctx);
		await apply(this, ctx);
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
		return this.duty === "guard" && !this.#hasEnded && (guard === this || isFree);
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
		this.handover.leave(sessionManager.getSessionId(), heritageOf(this), () => this.driver.closeQuestion());
	}

	/** The session stays on guard until its context is dead: another extension can begin a run while pi ends it. */
	async shutDown(ctx: Context): Promise<void> {
		const isLost = this.turn.isNew && !this.turn.hasReply;
		await this.driver.shutDown(ctx);
		if (isLost) this.pi.appendEntry(LOST_TURN);
		this.newTurn();
		this.#hasEnded = true;
		release(ctx.sessionManager);
		leaveProcess(ctx.sessionManager);
	}

	/** Before the first turn of a run. Looks again for a person, because a program may bind its UI late. */
	async beforeRun(ctx: Context): Promise<void> {
		this.runs++;
		this.announce();
		const attended = this.#isAttended(ctx);
		if (this.state.attended === attended) return;
		this.settings.attend(attended);
		await this.step({ type: "attended_set", attended }, ctx);
		await apply(this, ctx);
	}

	/** Lets the agents that this session starts know their root, and the tree if it is limited. */
	announce(): void {
		announceRoot(this.role, this.runs, this.tree);
	}

	/** Describes the tree to its members; undefined until it has begun. */
	get tree(): ReturnType<SharedLimits["treeOf"]> {
		return this.shared.treeOf(this.state.meters, (id) => this.settings.overruled(id));
	}

	/** A member has a person only in a terminal of its own: over rpc nobody may be listening. Nobody answers where pi is ending. */
	#isAttended({ hasUI, mode }: Context): boolean {
		return hasUI && !this.#hasEnded && (!this.role.isMember || mode === "tui");
	}

	// The core

	/** Gives a promise only if there are effects. */
	step(event: Event, ctx: Context): Promise<void> | undefined {
		return this.driver.step(event, ctx);
	}

	/** Pi reports a turn once more after the end of a session has aborted its run. */
	isAfterEnd({ signal }: Context): boolean {
		return this.#hasEnded && signal?.aborted === true;
	}

	/** A handler threw, so the run stops. `isTurn`: the handler of `turn_start`, so the run may not have begun yet. */
	fail(error: unknown, isTurn: boolean): void {
		this.turn.isRefused ||= isTurn;
		this.driver.fail(error, isTurn);
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

	/** Pi as a host of the driver. */
	#host(): Host<Context> {
		const { pi, options, settings, delivery, display } = this;
		const withdraw = (ctx: Context): void => display.giveBack(delivery.discard(), ctx);
		return {
			ask: (state, meter, ctx) => {
				const question = questionAbout(state, meter, (call) => callText(call, toolsOf(pi)));
				const { askTimeout, bell } = settings.current;
				return ask(ctx, question, askTimeout.value, bell.value);
			},
			post: (text, from) => delivery.post(text, from === "person" ? GUIDANCE : NAME),
			withdraw,
			wrapUp: (text, ctx) => {
				const written = settings.current.wrapUpMessage.value || text;
				return options.wrapUpMessage ? display.use(readMessage(options.wrapUpMessage, written), ctx) : written;
			},
			goOn: () => (this.turn.mustGoOn = true),
			abort: (dead) => {
				// A reload, or the program, may have ended the session since.
				const ctx = orDisposed(dead);
				this.telling.wasQueued ||= ctx.hasPendingMessages();
				ctx.abort();
			},
			signal: (ctx) => ctx.signal,
			committed: (state, ctx) => {
				display.showRun(state, ctx);
				if (ctx !== DISPOSED) this.awaitTurnEnd();
			},
			ended: (outcome, repeated, ctx) => {
				if (!repeated) tell(this, outcome, ctx);
				this.telling.end();
				this.#subscription.endTurn();
			},
		};
	}

	async command(args: string, ctx: Context): Promise<void> {
		if (!isSupported(ctx)) return this.display.say(TOO_OLD, "error", ctx);
		await execute(this, args, ctx);
	}
}

/** None if pi fails to list them: the question is asked all the same, and says less about a call. */
function toolsOf(pi: Pick<Pi, "getAllTools">): readonly Tool[] {
	try {
		return pi.getAllTools();
	} catch {
		return [];
	}
}
