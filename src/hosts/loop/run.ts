/** One run of an agent loop: a host of the driver, for loops that ask before each step. */
import { isObject } from "../../core/is-object.ts";
import { type Call, SHARED } from "../../core/meters.ts";
import { line, type Outcome, publish } from "../../core/outcome.ts";
import { snapshot, type Snapshot } from "../../core/snapshot.ts";
import { isBusy, isClosed, isRetrying, isTurnOpen, type State } from "../../core/state.ts";
import { clip, quote } from "../../core/text.ts";
import { refusal } from "../../core/to-model.ts";
import { hasFailed } from "../../core/turn.ts";
import type { Resolved } from "../../settings/resolve.ts";
import { KEY_OF } from "../../settings/settings.ts";
import { readGrace, readMessage, type Supplied } from "../../settings/supplied.ts";
import { chargeOf, isAmountLimited, isKnown, priced, type PriceFunction, type Spending } from "./amounts.ts";
import { type Ask, askProgram } from "./asking.ts";
import type { Clock } from "../../loop/clock.ts";
import { type Charged, Driver } from "../../loop/driver.ts";
import { initialState } from "../../loop/initial-state.ts";
import type { Host } from "../../loop/port.ts";
import { questionAbout } from "../../loop/question.ts";
import { restore } from "../../loop/saved-state.ts";
import { type SavedRun, writeRun } from "./saved-run.ts";
import { type SessionBudget, SessionShare } from "./session-budget.ts";
import type { Policies } from "../../settings/options.ts";
import { debtText } from "../../loop/sharing/debt-text.ts";
import { asParent } from "../../loop/tree/parents.ts";
import { SharedLimits, type Sharing } from "../../loop/sharing/shared-limits.ts";
import { type Tree, TREE_VARIABLE } from "../../loop/tree/tree-variable.ts";
import { announcement } from "../../loop/tree/inheritance.ts";

const MISSING: { readonly [amount in keyof Spending]-?: string } = {
	cost: "Cost is limited, but a response came without one, and there is no price(): the run is not held to that limit.",
	tokens: "Tokens are limited, but a charge came without any: the run is not held to that limit.",
};

/** After a turn and its calls: make the next one, make one more although the model called no tool, or make none. */
export type Next = "go_on" | "again" | "stop";

/** A run; start one for each prompt. Send nothing that it has not let through. */
export interface LoopRun {
	/** Aborts when whatever is in progress has to stop: with the signal given to the run, or when time is up. */
	readonly signal: AbortSignal;
	/** Call it before every request. Gives the notes to send with that request only; undefined: do not send it. */
	turn(): Promise<readonly string[] | undefined>;
	/** Call it before a tool runs. Gives the error result in its place, if it must not run; the same for the same id in one turn. */
	call(call: Call, id?: string): Promise<string | undefined>;
	/** Call it once usage is known; for a response, before its turn ends. `of`: what `price` gets in place of `spent`. */
	charge(spent: Spending, of?: unknown): Promise<void>;
	/**
	 * After a turn and its calls. `goesOn`: the loop would request another turn. `concluded`: the model has answered,
	 * in text that was not cut off; by default, a turn that does not go on has.
	 */
	endTurn(turn: { readonly goesOn: boolean; readonly concluded?: boolean | undefined }): Promise<Next>;
	/**
	 * The request that was let through last has failed: the next turn repeats it, and is not counted again. It is counted
	 * if there was no such request, or if something of its response is known: it was charged, one of its calls was decided,
	 * or the end of its turn was reported.
	 */
	fail(error: unknown): void;
	/** The person has aborted: nothing is let through any more. */
	interrupt(): void;
	/** Something that the limits depend on broke: the run stops. */
	breakOff(error: unknown): void;
	/** The run is over. Always gives an outcome, and the same one if it is called again. */
	settle(): Promise<Outcome>;
	/** Every meter, at any time. */
	snapshot(): Snapshot;
	/** One line that says which limit acted, or that the limits could not be enforced; once the run is settled. */
	readonly reason: string | undefined;
	/** Text for `start({ from })`, in this process or another. */
	save(): string;
	/** Variables for the processes that this run starts: a pi among them shares its tree, and is not asked. */
	environment(): Record<string, string>;
}

/** The place of a run among the agents that share limits, and its settings there. */
export interface PlaceInTree {
	readonly settings: Resolved;
	readonly sharing: Sharing;
}

/** The parts of a run that come from its limit. */
interface RunSetup {
	readonly id: string;
	readonly place: PlaceInTree;
	/** The place in the tree of an agent that has ended, if the run belongs there: only the ledger knows. Only where nobody is asked. */
	readonly latePlace?: (() => Promise<PlaceInTree | undefined>) | undefined;
	readonly policies: Policies;
	readonly session: SessionBudget;
	readonly ask?: Ask | undefined;
	readonly grace?: (() => unknown) | undefined;
	readonly wrapUpMessage?: (() => unknown) | undefined;
	readonly price?: PriceFunction | undefined;
	readonly onOutcome?: ((outcome: Outcome) => void) | undefined;
	readonly onProblem?: ((problem: string) => void) | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly saved?: SavedRun | undefined;
	readonly clock?: Clock | undefined;
}

export class DrivenRun implements LoopRun {
	readonly signal: AbortSignal;
	readonly #setup: RunSetup;
	readonly #driver: Driver<undefined>;
	readonly #shared: SharedLimits;
	readonly #session: SessionShare;
	readonly #cut = new AbortController();
	/** Aborts with `#cut`, and when the person does. */
	readonly #stop = new AbortController();
	/** Aborts when nothing may be let through any more, for whatever reason. */
	readonly #stopped: AbortSignal;
	#place: PlaceInTree;
	#placing: Promise<void> | undefined;
	/** For the next request. */
	#notes: string[] = [];
	/** The answers to calls of the turn under way. */
	readonly #answers = new Map<string, Promise<string | undefined>>();
	/** The same, for `save`. */
	#answered: Record<string, string | null> = {};
	/** The first turn, if a call has opened it; the loop's own request is still to come. */
	#opening: Promise<boolean> | undefined;
	/** Each waits for a decision. */
	readonly #undecided = new Set<Promise<boolean>>();
	/** A request was let through, and nothing of its response is known. */
	#isRequesting = false;
	/** The ledgers do not know yet what the turn under way has spent. */
	#isUncharged = false;
	/** The first call of a turn tells the ledgers that the turn was taken. */
	#charging: Promise<void> | undefined;
	#mustGoOn = false;
	/** The loop has its first turn to make, or was told to make another. */
	#isTurnDue = true;
	/** The amounts that were not charged, because nobody knew them. */
	readonly #missed = new Set<keyof Spending>();
	#failure: string | undefined;
	#settling: Promise<Outcome> | undefined;
	#outcome: Outcome | undefined;
	#reason: string | undefined;

	constructor(setup: RunSetup) {
		const { place, policies, saved, signal } = setup;
		const isMember = place.sharing.isMember === true;
		this.#setup = setup;
		this.#place = place;
		this.#session = new SessionShare(setup.session);
		this.#shared = new SharedLimits(() => this.#place.sharing);
		const fresh = initialState(place.settings, policies, setup.ask !== undefined && !isMember, isMember);
		const state = saved ? restore(fresh, saved) : fresh;
		this.#driver = new Driver(this.#host(), state, this.#shared, setup.clock);
		this.signal = withSignal(this.#cut.signal, signal);
		this.#stopped = withSignal(this.#stop.signal, signal);
		asParent(this, () => this.tree);
		if (saved === undefined) void this.#driver.step({ type: "prompted" }, undefined);
		else this.#resume(saved);
	}

	get #state(): State {
		return this.#driver.state;
	}

	#resume({ notes, answers }: SavedRun): void {
		this.#notes = [...notes];
		this.#answered = { ...answers };
		for (const [id, answer] of Object.entries(answers)) this.#answers.set(id, Promise.resolve(answer ?? undefined));
		if (isBusy(this.#state)) this.#driver.beginRun();
	}

	// Requests

	async turn(): Promise<readonly string[] | undefined> {
		const opening = this.#opening ?? this.#open();
		this.#opening = undefined;
		// It may have been stopped since then.
		if (!(await opening) || this.#settling || this.#stopped.aborted) return undefined;
		this.#isRequesting = true;
		return this.#notes.splice(0);
	}

	async call(call: Call, id?: string): Promise<string | undefined> {
		const isCall = isObject(call) && typeof call.tool === "string";
		expect(isCall, "call(): expected { tool, input }", call);
		const known = id === undefined ? undefined : this.#answers.get(id);
		if (known) return await known;
		const answer = this.#decideCall(call);
		if (id !== undefined) {
			this.#answers.set(id, answer);
			void answer.then((refused) => (this.#answered[id] = refused ?? null));
		}
		return await answer;
	}

	#open(): Promise<boolean> {
		this.#forgetAnswers();
		this.#isRequesting = false;
		const opening = this.#decideTurn();
		this.#undecided.add(opening);
		return opening.finally(() => this.#undecided.delete(opening));
	}

	async #decideTurn(): Promise<boolean> {
		try {
			await this.#begin();
			if (this.#settling) return false;
			this.#readGrace();
			const decision = await this.#driver.request({ type: "turn_requested" }, undefined);
			if (decision !== "admit") return false;
			this.#isTurnDue = false;
			if (!isRetrying(this.#state)) await this.#session.beginTurn();
			this.#isUncharged = true;
			return true;
		} catch (error) {
			this.#driver.fail(error, true);
			return false;
		} finally {
			await this.#session.release();
		}
	}

	/** Before the first turn, or what is charged before it. */
	async #begin(): Promise<void> {
		const { latePlace } = this.#setup;
		if (latePlace) await (this.#placing ??= this.#findPlace(latePlace));
		if (!isBusy(this.#state) && !this.#settling) this.#driver.beginRun();
	}

	/** Nobody is asked here, so only the limits differ. */
	async #findPlace(latePlace: () => Promise<PlaceInTree | undefined>): Promise<void> {
		const late = await latePlace();
		if (late === undefined) return;
		this.#place = late;
		for (const meter of SHARED)
			await this.#driver.step({ type: "limit_set", meter, max: late.settings[KEY_OF[meter]].value }, undefined);
	}

	async #decideCall(call: Call): Promise<string | undefined> {
		if (this.#settling) return refusal(this.#state);
		try {
			// An approval can let a call run before the first request.
			if (!isBusy(this.#state)) this.#opening ??= this.#open();
			if (this.#opening) await this.#opening;
			else {
				this.#endRequest();
				// A tool can start agents that wait for room which this turn holds.
				if (this.#isUncharged) this.#charging = this.#tell(undefined);
			}
			// In the order in which the calls came.
			await this.#charging;
			const decision = await this.#driver.request({ type: "tool_call_requested", call }, undefined);
			if (decision === "admit" && isBusy(this.#state)) return undefined;
		} catch (error) {
			this.#driver.fail(error, true);
		}
		return refusal(this.#state);
	}

	// Events

	async charge(spent: Spending, of: unknown = spent): Promise<void> {
		expect(isObject(spent), "charge(): expected { tokens, cost }", spent);
		// The price may take its time.
		this.#endRequest();
		const { price } = this.#setup;
		if (isKnown(spent.cost)) return await this.#tell(chargeOf(spent));
		if (price === undefined) this.#miss("cost");
		if (!isKnown(spent.tokens)) this.#miss("tokens");
		const cost = price && (await priced(price, of).catch((error: unknown) => this.breakOff(error)));
		await this.#tell(chargeOf({ ...spent, cost: cost ?? 0 }));
	}

	#miss(amount: keyof Spending): void {
		if (!this.#missed.has(amount) && isAmountLimited(this.snapshot(), amount)) this.#report(MISSING[amount]);
		this.#missed.add(amount);
	}

	/** Tells the breaker and the ledgers what was spent, at least that the turn under way was taken. */
	async #tell(amounts: Charged | undefined): Promise<void> {
		this.#endRequest();
		const isTurn = this.#isUncharged;
		if (amounts === undefined && !isTurn) return;
		this.#isUncharged = false;
		if (!isBusy(this.#state)) {
			await this.#begin();
			if (!this.#settling) await this.#driver.step({ type: "begun" }, undefined);
		}
		await this.#driver.charge(amounts, undefined, isTurn);
		const balances = await this.#session.charge(amounts ?? {}, isTurn, this.#state.meters);
		await this.#driver.step({ type: "balanced", balances }, undefined);
		// A loop may report late.
		if (this.#outcome) await this.#shared.endRun();
	}

	/** Of another response, where some providers count the ids of calls anew. */
	#forgetAnswers(): void {
		this.#answers.clear();
		this.#answered = {};
	}

	/** Something of the response is known: the next turn is no repetition. */
	#endRequest(): void {
		this.#isRequesting = false;
		if (!isRetrying(this.#state)) void this.#driver.step({ type: "message_entered" }, undefined);
	}

	async endTurn(turn: Parameters<LoopRun["endTurn"]>[0]): Promise<Next> {
		const isEnd = isObject(turn) && typeof turn.goesOn === "boolean";
		expect(isEnd, "endTurn(): expected { goesOn: true or false }", turn);
		const { goesOn, concluded = !goesOn } = turn;
		try {
			this.#forgetAnswers();
			await this.#tell(undefined);
			this.#readGrace();
			await this.#driver.chargeTime(undefined);
			this.#mustGoOn = false;
			await this.#driver.step({ type: "turn_ended", goesOn, concluded }, undefined);
			if (goesOn && this.#stopped.aborted) await this.#driver.step({ type: "interrupted" }, undefined);
		} catch (error) {
			this.#driver.fail(error, false);
		}
		this.#isTurnDue = isBusy(this.#state) && !isClosed(this.#state) && (goesOn || this.#mustGoOn);
		if (!this.#isTurnDue) return "stop";
		return this.#mustGoOn ? "again" : "go_on";
	}

	fail(error: unknown): void {
		const message = error instanceof Error ? error.message : String(error);
		this.#failure ??= message;
		void this.#driver.step({ type: "turn_failed", message }, undefined);
		if (!this.#isRequesting) this.#endRequest();
	}

	interrupt(): void {
		this.#stop.abort();
		void this.#driver.step({ type: "interrupted" }, undefined);
	}

	breakOff(error: unknown): void {
		this.#driver.fail(error, true);
		this.#cutOff(error);
	}

	#cutOff(reason?: unknown): void {
		this.#cut.abort(reason);
		this.#stop.abort(reason);
	}

	settle(): Promise<Outcome> {
		return (this.#settling ??= this.#settle());
	}

	async #settle(): Promise<Outcome> {
		try {
			if (this.#undecided.size > 0) this.interrupt();
			await Promise.all(this.#undecided);
			if (!isBusy(this.#state)) await this.#startLate();
			await this.#session.end();
			await this.#driver.settle(undefined, this.#isCut());
		} catch (error) {
			this.#driver.fail(error, true);
			await this.#driver.step({ type: "settled" }, undefined);
		}
		return this.#outcome as Outcome;
	}

	/** A run that ends before its first turn has an outcome too. */
	async #startLate(): Promise<void> {
		await this.#driver.step({ type: "begun" }, undefined);
		if (this.#failure !== undefined)
			await this.#driver.step({ type: "turn_failed", message: this.#failure }, undefined);
	}

	/** A turn is under way, or was due and the person aborted before it. */
	#isCut(): boolean {
		const { phase } = this.#state;
		return (phase.name !== "idle" && isTurnOpen(phase.run)) || (this.#isTurnDue && this.#stopped.aborted);
	}

	snapshot(): Snapshot {
		return snapshot(this.#state);
	}

	get reason(): string | undefined {
		return this.#reason;
	}

	save(): string {
		const { id, session } = this.#setup;
		session.saved(id);
		const tree = announcement(1, this.tree);
		return writeRun(this.#state, { id, notes: this.#notes, answers: this.#answered, tree });
	}

	/** The final pass has begun. */
	get isFinal(): boolean {
		return this.#state.phase.name === "finishing";
	}

	/** Describes the tree to its members; undefined until it has begun. */
	get tree(): Tree | undefined {
		return this.#shared.treeOf(this.#state.meters, () => "unlimited");
	}

	environment(): Record<string, string> {
		return { [TREE_VARIABLE]: announcement(1, this.tree) };
	}

	// The driver's host

	#host(): Host<undefined> {
		const { ask: asks, onOutcome, wrapUpMessage } = this.#setup;
		const { settings } = this.#setup.place;
		return {
			ask: (state, meter, _at, tally) => {
				const question = questionAbout(state, meter, describe, [], tally);
				return askProgram(asks as Ask, question, settings.askTimeout.value, this.#stopped, (problem) =>
					this.#report(problem),
				);
			},
			post: (text) => void this.#notes.push(text),
			withdraw: () => (this.#notes = []),
			wrapUp: (text) => {
				const written = settings.wrapUpMessage.value || text;
				return wrapUpMessage ? this.#use(readMessage(wrapUpMessage, written)) : written;
			},
			goOn: () => (this.#mustGoOn = true),
			// The answer to a request says that the run stops; only what is under way has to be cut off.
			abort: () => {
				const { phase } = this.#state;
				if (phase.name === "stopped" && "cut" in phase.verdict) this.#cutOff();
			},
			signal: () => this.#stopped,
			beforeTurn: async () => {
				const { phase, meters } = this.#state;
				if (isBusy(this.#state) && (phase.name !== "running" || hasFailed(this.#state.phase.run.turn, "nothing")))
					return;
				const balances = await this.#session.hold(meters, this.#stopped);
				if (balances) await this.#driver.step({ type: "balanced", balances }, undefined);
			},
			committed: () => {},
			debtLeft: (debt) => this.#report(debtText(debt)),
			ended: (outcome) => {
				this.#reason = line(outcome, (id) => this.#place.settings[KEY_OF[id]].source);
				this.#outcome = publish(outcome);
				heard(onOutcome, this.#outcome).catch((error: unknown) => this.#report(`onOutcome(): ${String(error)}`));
			},
		};
	}

	#readGrace(): void {
		const { grace } = this.#setup;
		if (grace) void this.#driver.step({ type: "grace_set", grace: this.#use(readGrace(grace)) }, undefined);
	}

	#use<T>({ value, problem }: Supplied<T>): T {
		if (problem !== undefined) this.#report(problem);
		return value;
	}

	#report(problem: string): void {
		heard(this.#setup.onProblem, problem).catch(() => {}); // nobody else wants to know
	}
}

/** @throws TypeError */
export function expect(isGood: boolean, expected: string, given: unknown): void {
	if (!isGood) throw new TypeError(`${expected}, got ${quote(given)}.`);
}

function withSignal(own: AbortSignal, given: AbortSignal | undefined): AbortSignal {
	return given ? AbortSignal.any([given, own]) : own;
}

/** Tells a program's own function at once. It may be asynchronous, and rejects if it fails in either way. */
export async function heard<T>(listener: ((told: T) => unknown) | undefined, told: T): Promise<void> {
	await listener?.(told);
}

function describe({ tool, input }: Call): string {
	return clip(`${tool} ${quote(input)}`, 80);
}
