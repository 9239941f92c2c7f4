/** One breaker in one session of pi: composes its parts, and knows when it guards. */
import { isEndAwaited } from "../../core/gate.ts";
import type { State } from "../../core/state.ts";
import { refusal } from "../../core/to-model.ts";
import { Driver } from "../../loop/driver.ts";
import type { Host } from "../../loop/port.ts";
import { questionAbout } from "../../loop/question.ts";
import { debtText } from "../../loop/sharing/debt-text.ts";
import { ledgerDirectory } from "../../loop/sharing/ledger-directory.ts";
import { adopt } from "../../loop/saved-state.ts";
import type { Reservations } from "../../loop/sharing/reservation.ts";
import type { Tally } from "../../loop/tally.ts";
import { SharedLimits, type Sharing } from "../../loop/sharing/shared-limits.ts";
import type { DebtLeft } from "../../loop/sharing/unsettled.ts";
import { readMessage } from "../../settings/supplied.ts";
import { execute } from "./command/command.ts";
import { type Course, handlersOf } from "./events/handlers.ts";
import { type Messages, Outbox } from "./events/outbox.ts";
import { type Prompt, Prompts } from "./events/prompts.ts";
import { type Subscriber, Subscription } from "./events/subscription.ts";
import { Turn, type TurnFacts } from "./events/turn.ts";
import { type Context, DISPOSED, GUIDANCE, isSupported, NAME, orDisposed, type Pi } from "./host/api.ts";
import { LOST_TURN } from "./host/usage.ts";
import { claim, guardOf, type Rank, release } from "./lifecycle/guard.ts";
import { Handover } from "./lifecycle/handover.ts";
import { announce, leaveProcess, type Role, roleOf, watchStart } from "./lifecycle/role.ts";
import type { Options } from "./options.ts";
import { isScript } from "./outcome/exit.ts";
import { Replies } from "./outcome/reply.ts";
import { type ReportFacts, Reports } from "./outcome/report.ts";
import { initialState, LimitsInForce } from "./settings/apply.ts";
import { Preferences } from "./settings/session-settings.ts";
import { callText, type Tool } from "./ui/call-text.ts";
import { Display } from "./ui/notices.ts";
import { PersonalOdds } from "./ui/odds.ts";
import { ask } from "./ui/question.ts";

const NOT_RELOADED =
	"pi has reloaded its extensions in the middle of a run, and this one was not loaded again: nothing limits the run.";

const TOO_OLD = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

/** The version of what is handed over. Of another one, such as 2.0, which has none, only the breaker's counts are taken. */
const HANDED = 3;

/** The part of a session that the next instance takes over when pi reloads its extensions. */
interface Heritage {
	readonly version: number;
	readonly state: State;
	/** Its holds in the ledger included. */
	readonly shares: Reservations | undefined;
	readonly turn: TurnFacts;
	readonly reports: ReportFacts;
	readonly prompt: Prompt;
	/** False while a dialog is open. */
	readonly isWorking: boolean;
	readonly tally: Tally;
	/** On their way to the model. */
	readonly messages: Messages;
}

export class Session implements Subscriber, Course {
	readonly #pi: Pi;
	readonly #options: Options;
	readonly #settings: Preferences;
	readonly #display: Display;
	readonly #odds: PersonalOdds;
	readonly #shared: SharedLimits;
	readonly #driver: Driver<Context>;
	readonly #limits: LimitsInForce;
	readonly #prompts: Prompts;
	readonly #outbox: Outbox;
	readonly #turn = new Turn();
	readonly #reports: Reports;
	readonly #replies: Replies;
	readonly #handover = new Handover<Heritage>();
	readonly #subscription: Subscription;
	#role: Role = { isMember: false, ownsProcess: false };
	#duty: Subscriber["duty"] = "guard";
	#whyNot: string | undefined;
	#begun: Promise<void> | undefined;
	#hasBegun = false;
	#hasEnded = false;
	#ctx: Context | undefined;
	readonly #isStartedByPi = watchStart();
	/** The number of runs that have begun. */
	#runs = 0;

	constructor(pi: Pi, options: Options) {
		this.#pi = pi;
		this.#options = options;
		const { grace, policies, columns } = options;
		const isMember = (): boolean => this.#role.isMember;
		const settings = (this.#settings = new Preferences(pi, options));
		const outbox = (this.#outbox = new Outbox(pi));
		const prompts = (this.#prompts = new Prompts(pi));
		const display = (this.#display = new Display((message, isError) => {
			if (this.#role.ownsProcess) options.log?.(message, isError);
		}, columns));
		this.#odds = new PersonalOdds(options.oddsDirectory, () => settings.current.odds.value);
		this.#shared = new SharedLimits(
			() => this.#sharing(),
			() => this.#announce(),
		);
		const state = initialState(settings.current, policies, false);
		const driver = (this.#driver = new Driver(this.#host(), state, this.#shared, options.clock));
		const limits = (this.#limits = new LimitsInForce(settings, driver, display, policies));
		const reports = (this.#reports = new Reports({
			pi,
			isMember,
			sourceOf: (id) => settings.sourceOf(id),
			isRecordShown: () => display.showsEntries,
			onReport: (report, ctx) => options.onReport?.(report, ctx, this.#role),
		}));
		const replies = (this.#replies = new Replies({
			reports,
			isMember,
			state: () => driver.state,
			isNoteWanted: () => settings.current.partialNote.value,
		}));
		const parts = { pi, driver, settings, limits, display, prompts, outbox, reports, replies, grace };
		const handlers = handlersOf({ ...parts, turn: this.#turn, course: this });
		this.#subscription = new Subscription(pi, this, handlers, options.loadedFirst);
	}

	/** The breaker's state. */
	get state(): State {
		return this.#driver.state;
	}

	// The guard of a session

	get rank(): Rank {
		return this.#options.rank;
	}

	get isFirst(): boolean {
		return this.#subscription.isFirst;
	}

	get duty(): Subscriber["duty"] {
		return this.#duty;
	}

	get whyNot(): string | undefined {
		return this.#whyNot;
	}

	standAside(): void {
		this.#duty = "off";
	}

	/** True for the session that this copy guards, and as long as it has seen none. */
	mayGuard(sessionManager: object | undefined): boolean {
		if (this.#ctx && orDisposed(this.#ctx) === DISPOSED) return false;
		const guard = sessionManager && guardOf(sessionManager);
		const isFree = guard === undefined && (this.#begun === undefined || sessionManager === undefined);
		return this.#duty === "guard" && !this.#hasEnded && (guard === this || isFree);
	}

	async command(args: string, ctx: Context): Promise<void> {
		if (!isSupported(ctx)) return this.#display.say(TOO_OLD, "error", ctx);
		if (this.#duty === "unable" && isScript(ctx, this.#role))
			this.#display.say(`${this.#whyNot} No run would start.`, "error", ctx);
		const { file, print } = this.#options;
		const parts = { driver: this.#driver, settings: this.#settings, limits: this.#limits, display: this.#display };
		const odds = this.#odds;
		const lastOutcome = () => this.#reports.lastOutcome;
		await execute({ ...parts, odds, lastOutcome, isMember: () => this.#role.isMember, file, print }, args, ctx);
	}

	// Its beginning

	get hasBegun(): boolean {
		return this.#hasBegun;
	}

	begin(ctx: Context, reason?: string): Promise<void> {
		return (this.#begun ??= this.#begin(ctx, reason).then(
			() => void (this.#hasBegun = true),
			(error: unknown) => {
				this.#begun = undefined;
				throw error;
			},
		));
	}

	async #begin(ctx: Context, reason: string | undefined): Promise<void> {
		this.#ctx = ctx;
		const { sessionManager, mode } = ctx;
		this.#role = this.#options.role?.() ?? (await roleOf(sessionManager, this.#isStartedByPi(reason), mode));
		const whyNot = isSupported(ctx) ? claim(sessionManager, this) : TOO_OLD;
		if (whyNot !== undefined) {
			this.#whyNot = whyNot;
			this.#duty = this.rank === "program" ? "unable" : "off";
			this.#display.warnOnce(whyNot, ctx);
			if (whyNot === TOO_OLD) this.#options.cannotGuard?.(ctx);
			return;
		}
		this.#announce();
		const attended = this.#isAttended(ctx);
		const problems = this.#settings.load(ctx, attended, this.#role.tree);
		const legacy = this.#handover.take(sessionManager.getSessionId(), this.rank);
		const fresh = this.#limits.resumedState(attended, this.#role.isMember, ctx);
		const state = legacy === undefined ? fresh : await this.#takeOver(legacy, fresh);
		this.#driver.resume(state, { isWorking: legacy?.isWorking === true, tally: legacy?.tally }, ctx);
		await this.#limits.apply(ctx);
		legacy?.succeed({
			receive: (name, event) => this.#subscription.receive(name, event, ctx),
			step: (event) => this.#driver.step(event, ctx),
		});
		this.#whyNot = this.#settings.whyNot;
		if (this.#whyNot === undefined || attended) this.#display.warnOnce(problems.join("\n"), ctx);
		if (this.#whyNot === undefined) return;
		this.#duty = "unable";
		// A script reads it when its first run is refused.
		if (!isScript(ctx, this.#role)) this.#display.warnOnce(this.#whyNot, ctx);
	}

	// Its runs

	/** Looks again for a person, because a program may bind its UI late. */
	async beforeRun(ctx: Context): Promise<void> {
		this.#runs++;
		this.#announce();
		if (this.#isAttended(ctx)) void this.#odds.prepare();
		await this.#limits.attend(this.#isAttended(ctx), ctx);
	}

	beginTurn(): void {
		this.#subscription.endTurn();
		this.#turn.begin();
	}

	/** Pi builds the whole transcript for those who listen to the end of a turn, so we listen only where it can change something. */
	awaitTurnEnd(): void {
		const isAwaited = this.#options.grace !== undefined || this.#outbox.isPending || isEndAwaited(this.state);
		if (isAwaited) this.listenTo("turn_end");
	}

	listenTo(name: Parameters<Subscription["listenTo"]>[0]): void {
		if (!this.hasLeft) this.#subscription.listenTo(name);
	}

	get isStreamRead(): boolean {
		return !this.#role.ownsProcess;
	}

	/** A member has a person only in a terminal of its own: over rpc nobody may be listening. Nobody answers where pi is ending. */
	#isAttended({ hasUI, mode }: Context): boolean {
		return hasUI && !this.#hasEnded && (!this.#role.isMember || mode === "tui");
	}

	refuse(ctx: Context): void {
		this.#options.refuse?.(String(this.#whyNot), ctx, this.#role);
	}

	fail(error: unknown, isTurn: boolean): void {
		if (isTurn) this.#turn.refused();
		this.#driver.fail(error, isTurn);
	}

	refusal(): string {
		return refusal(this.state);
	}

	warn(message: string, ctx: Context): void {
		this.#display.warnOnce(message, ctx);
	}

	async giveUp(ctx: Context): Promise<void> {
		const { giveUp } = this.#options;
		if (giveUp === undefined || !this.#role.ownsProcess) return;
		const { answer } = this.#reports;
		const last = answer === undefined ? undefined : this.#replies.noted(answer);
		await this.#driver.step({ type: "shut_down" }, ctx);
		giveUp(last, this.#hasEnded, ctx, this.#role);
	}

	// Its tree of agents

	/** Describes the tree to its members; undefined until it has begun. */
	get tree(): ReturnType<SharedLimits["treeOf"]> {
		return this.#shared.treeOf(this.state.meters, (id) => this.#settings.overruled(id));
	}

	/** Names this agent to those that it starts, and the tree if it is limited. */
	#announce(): void {
		announce(this.#role, this.#runs, this.tree);
	}

	#sharing(): Sharing {
		const { tree, isMember } = this.#role;
		const at = tree?.at ?? ledgerDirectory();
		return { at, tree: tree?.name, isMember, budget: this.#settings.budget };
	}

	// Its end

	/** The session stays on guard until its context is dead: another extension can begin a run while pi ends it. */
	async shutDown(ctx: Context): Promise<void> {
		const { isUnanswered } = this.#turn;
		await this.#driver.shutDown(ctx);
		if (isUnanswered) this.#pi.appendEntry(LOST_TURN);
		this.beginTurn();
		this.#hasEnded = true;
		release(ctx.sessionManager);
		leaveProcess(ctx.sessionManager);
	}

	/** A member that has an answer says nothing: its caller would take any line for a failure. */
	#debtLeft(debt: DebtLeft, ctx: Context): void {
		if (this.#role.isMember && this.#reports.answer !== undefined) return;
		this.#display.warnOnce(debtText(debt), ctx);
		if (debt.whyNotKept !== undefined && this.#role.ownsProcess) this.#options.debtLost?.(ctx);
	}

	isAfterEnd({ signal }: Context): boolean {
		return this.#hasEnded && signal?.aborted === true;
	}

	// Reloads

	get hasLeft(): boolean {
		return this.#handover.hasLeft;
	}

	/** What still reaches this instance waits for the next one. */
	leave({ sessionManager, hasUI, ui }: Context): void {
		// Two reloads at once end us twice.
		if (this.hasLeft) return;
		release(sessionManager);
		// It has aborted every run before the gate, so there is nothing to hand over.
		if (this.#duty === "unable") return;
		const { phase, ...state } = this.state;
		const messages = this.#outbox.giveAway();
		const { isWorking, tally } = this.#driver.leave((event) => this.#handover.step(event));
		const heritage: Heritage = {
			version: HANDED,
			// The next instance asks again.
			state: { ...state, phase: phase.name === "asking" ? { name: "running", run: phase.run } : phase },
			shares: this.#shared.giveAway(),
			turn: this.#turn.facts,
			reports: this.#reports.facts,
			prompt: this.#prompts.prompt,
			messages,
			isWorking,
			tally,
		};
		const isRunning = phase.name !== "idle";
		const done = (): void => this.#driver.closeQuestion();
		// The context is dead by then; what it has shown things with is not.
		const missed = (): void => this.#display.say(NOT_RELOADED, "error", { ...DISPOSED, hasUI, ui });
		this.#handover.leave(sessionManager.getSessionId(), this.rank, heritage, isRunning, { done, missed });
	}

	/** Gives the state to go on with. */
	async #takeOver(legacy: Heritage, fresh: State): Promise<State> {
		const { version, state, shares, turn, reports, prompt, messages } = legacy;
		if (version !== HANDED) {
			// Nobody else ends what an instance of another version holds in the ledger.
			await (shares as { endRun?: () => Promise<unknown> } | undefined)?.endRun?.();
			return adopt(fresh, state);
		}
		this.#shared.takeOver(shares);
		this.#turn.takeOver(turn);
		this.#reports.takeOver(reports);
		this.#prompts.takeOver(prompt);
		this.#outbox.takeOver(messages);
		return state;
	}

	async forward(name: string, event: unknown): Promise<unknown> {
		return await this.#handover.forward(name, event);
	}

	/** Pi as a host of the driver. */
	#host(): Host<Context> {
		const pi = this.#pi;
		const settings = this.#settings;
		const display = this.#display;
		const outbox = this.#outbox;
		const { wrapUpMessage } = this.#options;
		return {
			ask: (state, meter, ctx, tally) => {
				const odds = this.#odds.atQuestion(state, meter, tally);
				const question = questionAbout(state, meter, (call) => callText(call, toolsOf(pi)), odds, tally);
				const { askTimeout, bell } = settings.current;
				return ask(ctx, question, askTimeout.value, bell.value);
			},
			post: (text, from) => outbox.post(text, from === "person" ? GUIDANCE : NAME),
			withdraw: (ctx) => display.giveBack(outbox.discard(), ctx),
			wrapUp: (text, ctx) => {
				const written = settings.current.wrapUpMessage.value || text;
				return wrapUpMessage ? display.use(readMessage(wrapUpMessage, written), ctx) : written;
			},
			goOn: () => this.#turn.demandAnother(),
			abort: (dead) => {
				// A reload, or the program, may have ended the session since.
				const ctx = orDisposed(dead);
				if (ctx.hasPendingMessages()) this.#reports.messagesWaited();
				ctx.abort();
			},
			signal: (ctx) => ctx.signal,
			committed: (state, ctx) => {
				display.showRun(state, ctx);
				if (ctx !== DISPOSED) this.awaitTurnEnd();
			},
			debtLeft: (debt, ctx) => this.#debtLeft(debt, ctx),
			ended: (outcome, repeated, ctx) => {
				this.#reports.runEnded(outcome, repeated, this.state, ctx);
				this.#subscription.endTurn();
				// Only where a question can use it, and once in a tree of agents.
				if (ctx !== DISPOSED && ctx.hasUI && !this.#role.isMember) void this.#odds.refresh(ctx.cwd);
			},
		};
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
