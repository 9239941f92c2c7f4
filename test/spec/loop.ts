/** The loop of a host, as small as it can be, around the spec: what pi would do if our extension were the spec. */
import { type Effect, type Event, isClosed } from "../../src/core/state.ts";
import { Sides } from "./sides.ts";
import type { Act, Reply, World } from "./world.ts";

/** How often pi repeats a failed request. */
export const RETRIES = 1;

/** The message that pi makes up for a request that never left. */
const ABORTED: Reply = { type: "aborted" };

export class Loop {
	/** What somebody outside can see, in its order. */
	readonly log: string[] = [];
	readonly #sides: Sides;
	readonly #world: World;
	/** What the model will be told with its next request: by the transcript, and past it. */
	#told: string[] = [];
	#slipped: string[] = [];
	/** What is not on its way yet. */
	#outbox: string[] = [];
	/** What a person has typed meanwhile; one of it goes with each request. */
	#queued = 0;
	#isAborted = false;

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
		for (let goesOn = true; goesOn;) {
			this.#queued = Math.max(0, this.#queued - 1);
			this.#moment();
			const isAdmitted = this.#admit({ type: "turn_requested" });
			this.#slipped.push(...this.#outbox.splice(0));
			const reply = isAdmitted ? this.#request() : ABORTED;
			if (reply.type === "message") this.#calls(reply.calls);
			if (reply.type === "aborted") this.#isAborted = true;
			this.#moment();
			if (this.#isAborted) {
				this.#send({ type: "interrupted" });
				goesOn = false;
			} else if (reply.type === "failure") {
				this.#send({ type: "turn_failed", message: "overloaded" });
				goesOn = failures++ < RETRIES;
				if (goesOn && this.#moment()) break;
				if (!goesOn && this.#queued > 0) {
					// The failure now stands in the transcript, after what was told.
					this.#told = [];
					goesOn = true;
					failures = 0;
				}
			} else if (reply.type === "message") {
				failures = 0;
				goesOn = reply.calls > 0 || this.#queued > 0;
				this.#ask(this.#send({ type: "turn_ended", goesOn, answered: reply.calls === 0 }));
				const kept = goesOn && !isClosed(this.#sides.state) ? this.#slipped : [];
				this.#told = [...kept, ...this.#outbox.splice(0)];
				this.#slipped = [];
			}
		}
		this.#told = [];
		this.#slipped = [];
		this.#outbox = [];
		this.#send({ type: "settled" });
	}

	#request(): Reply {
		const { acts, reply } = this.#world.request();
		this.log.push(["turn", ...this.#told, ...this.#slipped].join(" "));
		for (const act of acts) this.#do(act);
		return reply;
	}

	/** All calls of a batch are let through or not before the first of them starts. */
	#calls(calls: number): void {
		let admitted = 0;
		for (let call = 0; call < calls && !this.#isAborted; call++) {
			if (this.#admit({ type: "tool_call_requested", call: "work" })) admitted++;
		}
		for (let call = 0; call < admitted && !this.#isAborted; call++) {
			this.log.push("call");
			this.#moment();
		}
	}

	/** Makes a request until it is decided. */
	#admit(request: Event): boolean {
		for (;;) {
			if (this.#isAborted) this.#send({ type: "interrupted" });
			const effects = this.#send(request);
			if (!this.#ask(effects))
				return !this.#isAborted && !effects.some(({ type }) => type === "refuse" || type === "abort");
		}
	}

	/** True if there was a question; it is answered then. */
	#ask(effects: readonly Effect[]): boolean {
		const question = effects.find((effect) => effect.type === "ask");
		if (question === undefined) return false;
		this.log.push(`ask ${question.meter}`);
		while (this.#sides.state.phase.name === "asking") {
			const next = this.#isAborted ? undefined : this.#world.question();
			if (next?.type === "answer") this.#send({ type: "answered", answer: next.answer });
			else if (next) this.#do(next);
			if (this.#isAborted) this.#send({ type: "interrupted" });
		}
		return true;
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
		const { effects } = this.#sides.send(event);
		for (const effect of effects) {
			if (effect.type === "advise") this.#outbox.push("advise");
			if (effect.type === "synthesize") this.#outbox.push("demand");
			if (effect.type === "abort") this.#outbox = [];
			if (effect.type === "end") this.log.push(JSON.stringify(effect.outcome));
		}
		return effects;
	}
}
