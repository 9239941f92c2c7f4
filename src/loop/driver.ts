/** Keeps one breaker's state and carries out its effects through a port: the same for every host. */
import { isYes } from "../core/answers.ts";
import { decide, transition } from "../core/breaker.ts";
import { isSharing } from "../core/gate.ts";
import { isLimited, isReached, readMeter } from "../core/limit.ts";
import { type AmountId, kindOf, SHARED } from "../core/meters.ts";
import type { Balances, Decision, Effect, Event, Request } from "../core/protocol.ts";
import { isSpinning } from "../core/run.ts";
import { isBusy, isRetrying, type State } from "../core/state.ts";
import { finalPass, pointOut, RESUMED, wrapUp } from "../core/to-model.ts";
import { Clock } from "./clock.ts";
import type { Host, OpenQuestion } from "./port.ts";
import type { Shared } from "./sharing/reservation.ts";
import type { SharedLimits } from "./sharing/shared-limits.ts";
import { Tally, type TallyFacts } from "./tally.ts";

export type Charged = Readonly<Partial<Record<AmountId, number>>>;

export class Driver<C> {
	readonly #host: Host<C>;
	readonly #shared: SharedLimits;
	readonly #clock: Clock;
	#ended = new AbortController();
	#state: State;
	#question: OpenQuestion | undefined;
	#tally = new Tally();
	/** Receives the events of a driver that was handed over. */
	#successor: ((event: Event) => Promise<void>) | undefined;

	constructor(host: Host<C>, state: State, shared: SharedLimits, clock = new Clock()) {
		this.#host = host;
		this.#state = state;
		this.#shared = shared;
		this.#clock = clock;
	}

	get state(): State {
		return this.#state;
	}

	/** What was done since a person last decided. */
	get tally(): Tally {
		return this.#tally;
	}

	// Requests and events

	/** Makes the request until it is decided; `left` if another driver decides from here on. */
	async request(request: Request, at: C): Promise<Exclude<Decision, "wait"> | "left"> {
		for (;;) {
			await this.chargeTime(at);
			if (this.hasLeft) return "left";
			const isTurn = request.type === "turn_requested";
			if (isTurn) await this.#host.beforeTurn?.(at);
			if (this.#host.signal(at)?.aborted) {
				if (isTurn) await this.step({ type: "begun" }, at);
				await this.step({ type: "interrupted" }, at);
			}
			const [next, decision, effects] = decide(this.#state, request);
			await this.#commit(next, effects, at);
			if (decision === "admit") {
				this.#watchTime(at);
				if (!isTurn) {
					this.#shared.beginCall();
					this.#tally.called(request.call);
				} else if (!isRetrying(this.#state)) await this.#shared.beginTurn(this.#state.meters);
			}
			if (decision !== "wait") return decision;
			// The commit above has awaited the ledger, or a question that this request opened.
			if (effects.length > 0) continue;
			// Another request opened it.
			if (this.#question === undefined) throw new Error("A request waits, but no question is open.");
			await this.#question.reply;
		}
	}

	/** Gives a promise only if there are effects. */
	step(event: Event, at: C): Promise<void> | undefined {
		if (this.#successor) return this.#successor(event);
		const [next, effects] = transition(this.#state, event);
		return this.#commit(next, effects, at);
	}

	/** Charges the core, then the ledger. `isTurn`: the model's reply has spent it. */
	async charge(amounts: Charged | undefined, at: C, isTurn = false): Promise<void> {
		if (amounts) await this.step({ type: "charged", amounts }, at);
		const told = this.#shared.charge(amounts, isTurn, this.#state.meters);
		if (told) await this.step({ type: "balanced", balances: await told }, at);
	}

	/** The same for what a tool reports: the run is charged in full, the ledger less what subagents have told it. */
	async chargeCall(amounts: Charged | undefined, at: C): Promise<void> {
		if (amounts === undefined) return;
		await this.step({ type: "charged", amounts }, at);
		const told = this.#shared.chargeCall(amounts, this.#state.meters);
		if (told) await this.step({ type: "balanced", balances: await told }, at);
	}

	/** The breaker failed, so the run stops. `isTurn`: where a turn was to be decided, so the run may not have begun yet. */
	fail(error: unknown, isTurn: boolean): void {
		if (isTurn) [this.#state] = transition(this.#state, { type: "begun" });
		[this.#state] = transition(this.#state, { type: "broke", message: String(error) });
		this.#question?.close();
	}

	/** Stops the host's run. */
	abort(at: C): void {
		this.#host.withdraw(at);
		this.#host.abort(at);
	}

	/** Several runs that nobody prompted were refused and the next would be too, so the host need not begin it. */
	refusesNextRun(): boolean {
		return isSpinning(this.#state) && decide(this.#state, { type: "turn_requested" })[1] === "abort";
	}

	// Runs

	/** To be called before the first request of a run: its clock runs, and a prompt begins a tree. */
	beginRun(): void {
		if (this.#state.phase.name === "idle" && this.#state.phase.prompted) {
			this.#shared.beginTree();
			this.#tally.prompted();
		}
		this.#clock.run();
	}

	/** The host reports the end of a call. */
	callEnded(id: string, isError: boolean): void {
		this.#tally.callEnded(id, isError);
	}

	/** The host has settled: time and debts, then the outcome. Does nothing between runs. `isCut`: what was under way was cut off. */
	async settle(at: C, isCut: boolean): Promise<void> {
		await this.chargeTime(at);
		this.#clock.stop();
		this.#host.withdraw(at);
		if (isCut) await this.step({ type: "interrupted" }, at);
		await this.#endSharing(at);
		if (isBusy(this.#state)) this.#tally.ended(this.#state.phase.run.spent);
		await this.step({ type: "settled" }, at);
	}

	/** The session ends, perhaps in the middle of a run. A run that somebody still begins is decided as any other. */
	async shutDown(at: C): Promise<void> {
		await this.chargeTime(at);
		await this.step({ type: "shut_down" }, at);
		this.#clock.stop();
		await this.#endSharing(at);
		this.#ended.abort();
		this.#ended = new AbortController();
	}

	/** Aborts when the session has ended. */
	get endSignal(): AbortSignal {
		return this.#ended.signal;
	}

	// Time

	/** A dialog is open, ours or another extension's. */
	pauseClock(): void {
		this.#clock.pause();
	}

	/** The agent works again, if a run goes on. */
	resumeClock(): void {
		const { name } = this.#state.phase;
		if (name === "running" || name === "finishing") this.#clock.run();
	}

	chargeTime(at: C): Promise<void> | undefined {
		const time = this.#clock.lap();
		return time > 0 ? this.step({ type: "charged", amounts: { time } }, at) : undefined;
	}

	/** The time that is left may run out in the middle of what was just admitted. Where nobody can be asked, that is cut off. */
	#watchTime(at: C): void {
		const { attended, meters, phase } = this.#state;
		const { remaining } = readMeter(meters.time);
		if (attended || this.hasLeft || phase.name === "idle" || remaining === "unlimited") return;
		this.#clock.setAlarm(remaining, () => {
			this.#runOut(at).catch((error: unknown) => {
				this.fail(error, false);
				this.#host.abort(at);
			});
		});
	}

	async #runOut(at: C): Promise<void> {
		await this.chargeTime(at);
		await this.step({ type: "ran_out", meter: "time" }, at);
		// A dialog may have stopped the clock meanwhile.
		if (!isReached(this.#state.meters.time)) this.#watchTime(at);
	}

	// Handing over

	get hasLeft(): boolean {
		return this.#successor !== undefined;
	}

	/** Another driver goes on: from now on every request is answered `left`, and events go to `successor`. Returns what that one resumes with. */
	leave(successor: (event: Event) => Promise<void>): { readonly isWorking: boolean; readonly tally: TallyFacts } {
		this.#successor = successor;
		const isWorking = this.#clock.isRunning;
		this.#clock.stop();
		return { isWorking, tally: this.#tally.facts };
	}

	/** Goes on with the state of another driver, whose question is asked again. */
	resume(state: State, { isWorking, tally }: { isWorking: boolean; tally?: TallyFacts | undefined }, at: C): void {
		this.#state = state;
		this.#tally = new Tally(tally);
		if (isWorking) this.#clock.run();
		this.#watchTime(at);
	}

	/** Ends the wait for an answer. */
	closeQuestion(): void {
		this.#question?.close();
	}

	// Shared limits

	/** Reads the ledger where something is shared. `isAsked`: by a person, who waits for a fleet's server. @throws LedgerError */
	async readShared(at: C, isAsked: boolean): Promise<Shared | undefined> {
		if (!isSharing(this.#state)) return undefined;
		const { balances, ...shared } = await this.#shared.read(this.#state.meters, isAsked);
		await this.#adopt(balances, at);
		await this.step({ type: "balanced", balances }, at);
		return shared;
	}

	async #reserve(at: C): Promise<void> {
		const event = await this.#shared.reserve(this.#state.meters, [this.#host.signal(at), this.endSignal]);
		if (this.hasLeft) {
			// The successor reserves by itself.
			await this.#shared.endRun();
			return;
		}
		this.#host.reserved?.(this.#state, at);
		if ("balances" in event) await this.#adopt(event.balances, at);
		await this.step(event, at);
	}

	/**
	 * A fleet's budget can have caps that our settings do not name: an operator's, or those of whoever joined first. A day
	 * or a tree that has one has it from us, and a command may have lifted it since.
	 */
	async #adopt(balances: Balances, at: C): Promise<void> {
		for (const meter of SHARED.filter((id) => kindOf(id).scope === "fleet")) {
			const told = balances[meter];
			if (told && !isLimited(this.#state.meters[meter]))
				await this.step({ type: "limit_set", meter, max: told.cap }, at);
		}
	}

	async #endSharing(at: C): Promise<void> {
		const debt = await this.#shared.endRun();
		if (debt) this.#host.debtLeft(debt, at);
	}

	// Effects

	/** Commits a state, then carries out the effects, in order. Gives a promise only if there are any. */
	#commit(next: State, effects: readonly Effect[], at: C): Promise<void> | undefined {
		const wasBusy = isBusy(this.#state);
		this.#state = next;
		if (effects.length > 0) return this.#performAll(effects, at).then(() => this.#show(wasBusy, at));
		this.#show(wasBusy, at);
		return undefined;
	}

	async #performAll(effects: readonly Effect[], at: C): Promise<void> {
		// An effect can commit further states: an answer does.
		for (const effect of effects) await this.#perform(effect, at);
	}

	#show(wasBusy: boolean, at: C): void {
		if (!this.hasLeft && (wasBusy || isBusy(this.#state))) this.#host.committed(this.#state, at);
	}

	async #perform(effect: Effect, at: C): Promise<void> {
		const host = this.#host;
		switch (effect.type) {
			case "ask":
				// What the host shows is stale if a yes has just reset another meter.
				host.committed(this.#state, at);
				return await this.#ask(effect.meter, at);
			case "reserve":
				return await this.#reserve(at);
			case "release":
				return await this.#shared.release();
			case "raise":
				return await this.#shared.raise(effect, this.#state.meters);
			case "close_question":
				return this.#question?.close();
			case "advise":
				return host.post(host.wrapUp(wrapUp(effect.meter, effect.remaining), at), at);
			case "point_out":
				return host.post(pointOut(effect.call, effect.times), at);
			case "synthesize":
				if (this.#state.phase.name === "finishing") host.post(finalPass(this.#state.phase.trip), at);
				return;
			case "resume":
				host.withdraw(at);
				return host.post(RESUMED, at);
			case "continue":
				return host.goOn(at);
			case "abort":
				return this.abort(at);
			case "end":
				return host.ended(effect.outcome, effect.repeated, this.#state, at);
		}
	}

	async #ask(meter: Extract<Effect, { type: "ask" }>["meter"], at: C): Promise<void> {
		this.#clock.pause();
		this.#question = this.#host.ask(this.#state, meter, at, this.#tally);
		const { guidance, ...answered } = await this.#question.reply;
		if (this.hasLeft) return;
		this.#clock.run();
		// A command, or the end of the session, may have answered it.
		if (this.#state.phase.name !== "asking") return;
		if (guidance !== undefined) this.#host.post(guidance, at, "person");
		// The end of the run reports an abort.
		if (this.#host.signal(at)?.aborted) return;
		if (isYes(answered.answer)) this.#tally.continued();
		await this.step({ type: "answered", ...answered }, at);
	}
}
