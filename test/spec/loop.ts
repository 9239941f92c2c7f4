/** The smallest loop of a host around the spec: it does what pi would do if the spec were our extension. */
import { isEndAwaited } from "../../src/core/gate.ts";
import { publish } from "../../src/core/outcome.ts";
import type { RunMeterId } from "../../src/core/meters.ts";
import type { Effect, Event, Request } from "../../src/core/protocol.ts";
import { isClosed, isRetrying, type State } from "../../src/core/state.ts";
import { Ledger } from "../core/ledger.ts";
import { type Input, Sides } from "./sides.ts";
import type { Act, Amounts, Reply, Work, World } from "./world.ts";

/** How often pi repeats a failed request. */
export const RETRIES = 1;

/** The message that pi makes up for a request that never left. */
const ABORTED: Reply = { type: "aborted" };

/** Of the run. */
function turnsOf({ phase }: State): number {
	return phase.name === "idle" ? 0 : phase.run.spent.turns;
}

export class Loop {
	/** Everything that somebody outside can see, in its order. */
	readonly log: string[] = [];
	readonly #sides: Sides;
	readonly #world: World;
	readonly #ledger = new Ledger();
	/** Our messages that go with the next request: those in the transcript, and those past it. */
	#entered: string[] = [];
	#injected: string[] = [];
	/** Messages that are on no way yet. */
	#posted: string[] = [];
	/** Messages that a person has typed meanwhile; one of them goes with each request. */
	#queued = 0;
	#isAborted = false;
	/** Time that has passed and is charged at the next request. */
	#passed = 0;
	/** Another turn is due, although the model called no tool. */
	#mustGoOn = false;

	constructor(attended: boolean, setup: readonly Event[], world: World) {
		this.#sides = new Sides(attended);
		this.#world = world;
		for (const event of setup) this.#send(event);
	}

	/** Until the script is over. */
	play(): string[] {
		for (let next = this.#world.idle(); next !== undefined; next = this.#world.idle()) {
			if (next.type === "prompt") this.#run(next.by);
			else this.#do(next);
		}
		return this.log;
	}

	#run(by: "person" | "extension"): void {
		if (by === "person") this.#send({ type: "prompted" });
		this.#isAborted = false;
		let failures = 0;
		let isTakenBack = false;
		for (let goesOn = true; goesOn;) {
			isTakenBack = false;
			const isSteered = this.#queued > 0;
			if (isSteered) this.#queued--;
			this.#moment();
			const isAdmitted = this.#admitTurn(isSteered);
			this.#injected.push(...this.#posted.splice(0));
			const reply = isAdmitted ? this.#request() : ABORTED;
			if (reply.type === "message") this.#calls(reply.calls);
			if (reply.type === "aborted") this.#isAborted = true;
			// pi reports the end of a turn only to those who listened before it.
			const isHeard = this.#injected.length + this.#posted.length > 0 || isEndAwaited(this.#sides.state);
			this.#moment();
			if (this.#isAborted) {
				this.#send({ type: "interrupted" });
				goesOn = false;
			} else if (reply.type === "failure") {
				this.#send({ type: "turn_failed", message: "overloaded" });
				goesOn = failures++ < RETRIES;
				isTakenBack = goesOn;
				if (goesOn && this.#moment()) break;
				if (!goesOn && this.#queued > 0) {
					this.#entered = [];
					goesOn = true;
					failures = 0;
				}
			} else if (reply.type === "message") {
				failures = 0;
				goesOn = this.#endTurn(reply, isHeard);
			}
		}
		// A failure that pi has not taken back stands in the transcript after our messages.
		if (!isTakenBack && (this.#isAborted || failures > 0)) this.#entered = [];
		this.#injected = [];
		this.#posted = [];
		this.#chargeTime();
		this.#send({ type: "settled" });
	}

	/** pi starts a turn before the message that was queued for it. */
	#admitTurn(isSteered: boolean): boolean {
		const isAdmitted = this.#admit({ type: "turn_requested" });
		if (!isSteered || !isAdmitted || !isRetrying(this.#sides.state)) return isAdmitted;
		this.#send({ type: "message_entered" });
		return this.#admit({ type: "turn_requested" });
	}

	/** True if another turn follows. */
	#endTurn({ calls, hasText }: Extract<Reply, { type: "message" }>, isHeard: boolean): boolean {
		const goesOn = calls.length > 0 || this.#queued > 0;
		this.#entered = [];
		if (!isHeard) return goesOn;
		this.#mustGoOn = false;
		this.#ask(this.#send({ type: "turn_ended", goesOn, concluded: calls.length === 0 && hasText }));
		const kept = goesOn && !isClosed(this.#sides.state) ? this.#injected : [];
		this.#entered = [...kept, ...this.#posted.splice(0)];
		this.#injected = [];
		return goesOn || this.#mustGoOn;
	}

	#request(): Reply {
		const { acts, reply } = this.#world.request();
		this.log.push(["turn", ...this.#entered, ...this.#injected].join(" "));
		for (const act of acts) this.#do(act);
		return reply;
	}

	/** All calls of a batch are decided before the first of them starts, and end after the last of them has started. */
	#calls(calls: readonly Work[]): void {
		const admitted = calls.filter(({ name: tool, args: input }) => {
			return !this.#isAborted && this.#admit({ type: "tool_call_requested", call: { tool, input } });
		});
		const spent: Amounts[] = [];
		for (const { name, args } of admitted) {
			if (this.#isAborted) break;
			this.log.push(name);
			this.#moment();
			const { time = 0, ...amounts } = args.spends;
			this.#passed += time;
			spent.push(amounts);
		}
		for (const amounts of spent) if (Object.keys(amounts).length > 0) this.#charge(amounts);
	}

	#charge(amounts: Amounts): void {
		this.#send({ type: "charged", amounts });
		for (const [id, amount] of Object.entries(amounts)) this.#ledger.spend(id as RunMeterId, amount);
		this.#send({ type: "balanced", balances: this.#ledger.balances(this.#sides.state) });
	}

	#chargeTime(): void {
		if (this.#passed > 0) this.#send({ type: "charged", amounts: { time: this.#passed } });
		this.#passed = 0;
	}

	/** Makes a request until it is decided. */
	#admit(request: Request): boolean {
		for (;;) {
			this.#chargeTime();
			const { phase } = this.#sides.state;
			if (phase.name === "idle" && phase.prompted) this.#ledger.beginTree(phase.promised);
			if (this.#isAborted) {
				if (request.type === "turn_requested") this.#send({ type: "begun" });
				this.#send({ type: "interrupted" });
			}
			const { before, decision, effects, after } = this.#take(request);
			this.#ledger.spend("turns", turnsOf(after) - turnsOf(before));
			const isReserved = effects.some(({ type }) => type === "reserve");
			this.#ask(isReserved ? this.#send(this.#reserve()) : effects);
			if (decision !== "wait") return !this.#isAborted && decision === "admit";
		}
	}

	/** The ledger's answer, for which an aborted run does not wait. */
	#reserve(): Event {
		return this.#isAborted ? { type: "interrupted" } : this.#ledger.reserve(this.#sides.state);
	}

	/** Opens the question, if there is one, until it is answered; an answer can bring another question. */
	#ask(effects: readonly Effect[]): void {
		const question = effects.find((effect) => effect.type === "ask");
		if (question === undefined) return;
		this.log.push(`ask ${question.meter}`);
		let next: readonly Effect[] = [];
		while (this.#sides.state.phase.name === "asking" && !next.some(({ type }) => type === "ask")) {
			const act = this.#isAborted ? undefined : this.#world.question();
			if (act?.type === "answer") next = this.#send({ type: "answered", answer: act.answer });
			else if (act) this.#do(act);
			if (this.#isAborted) this.#send({ type: "interrupted" });
		}
		this.#ask(next);
	}

	/** Something may happen; true if the run is aborted. */
	#moment(): boolean {
		const act = this.#world.moment();
		if (act !== undefined) this.#do(act);
		return this.#isAborted;
	}

	#do(act: Act): void {
		if (act.type === "abort") this.#isAborted = true;
		else if (act.type === "steer") this.#queued++;
		else for (const event of act.events) if (!this.#isSet(event)) this.#send(event);
	}

	/** A limit that is in force already is not set again. */
	#isSet(event: Event): boolean {
		return event.type === "limit_set" && this.#sides.state.meters[event.meter].limit.max === event.max;
	}

	#send(event: Event): readonly Effect[] {
		return this.#take(event).effects;
	}

	#take(input: Input): ReturnType<Sides["send"]> {
		const moment = this.#sides.send(input);
		for (const effect of moment.effects) {
			if (effect.type === "raise") this.#ledger.raise(effect.meter, effect.by, moment.after);
			if (effect.type === "advise") this.#posted.push("advise");
			if (effect.type === "point_out") this.#posted.push("point_out");
			if (effect.type === "synthesize") this.#posted.push("demand");
			if (effect.type === "continue") this.#mustGoOn = true;
			if (effect.type === "abort" || effect.type === "resume") [this.#posted, this.#injected] = [[], []];
			if (effect.type === "resume") this.#posted.push("resume");
			if (effect.type === "end" && !effect.repeated) this.log.push(JSON.stringify(publish(effect.outcome)));
		}
		return moment;
	}
}
