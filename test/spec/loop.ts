/** The loop of a host, as small as it can be, around the spec: what pi would do if our extension were the spec. */
import type { Effect, Event } from "../../src/core/state.ts";
import { Sides } from "./sides.ts";
import type { Act, World } from "./world.ts";

/** How often pi repeats a failed request. */
export const RETRIES = 2;

export class Loop {
	/** What somebody outside can see, in its order. */
	readonly log: string[] = [];
	readonly #sides: Sides;
	readonly #world: World;
	/** What the model will be told with its next request. */
	#told: string[] = [];
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
		this.#told = [];
		let failures = 0;
		for (;;) {
			this.#moment();
			if (!this.#admit({ type: "turn_requested" })) {
				if (this.#isAborted) this.#send({ type: "interrupted" });
				break;
			}
			const { acts, reply } = this.#world.request();
			this.log.push(["turn", ...this.#told].join(" "));
			for (const act of acts) this.#do(act);
			if (reply.type === "aborted") {
				this.#send({ type: "interrupted" });
				break;
			}
			if (reply.type === "failure") {
				this.#moment();
				this.#send(this.#isAborted ? { type: "interrupted" } : { type: "turn_failed", message: "overloaded" });
				if (this.#isAborted || failures++ === RETRIES) break;
				continue;
			}
			failures = 0;
			this.#told = [];
			this.#calls(reply.calls);
			this.#moment();
			if (this.#isAborted) {
				this.#send({ type: "interrupted" });
				break;
			}
			const effects = this.#send({ type: "turn_ended", goesOn: reply.calls > 0 });
			this.#ask(effects);
			if (reply.calls === 0) break;
		}
		this.#told = [];
		this.#send({ type: "settled" });
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
		for (let isOpen = true; isOpen;) {
			const next = this.#world.question();
			if (next.type === "answer") this.#send({ type: "answered", answer: next.answer });
			else if (next.type === "abort") this.#send({ type: "interrupted" });
			else this.#do(next);
			if (next.type === "abort") this.#isAborted = true;
			isOpen = this.#sides.state.phase.name === "asking";
		}
		return true;
	}

	#moment(): void {
		const act = this.#world.moment();
		if (act !== undefined) this.#do(act);
	}

	#do(act: Act): void {
		if (act.type === "abort") this.#isAborted = true;
		else for (const event of act.events) this.#send(event);
	}

	#send(event: Event): readonly Effect[] {
		const { effects } = this.#sides.send(event);
		for (const effect of effects) {
			if (effect.type === "advise") this.#told.push("advise");
			if (effect.type === "synthesize") this.#told.push("demand");
			if (effect.type === "abort") this.#told = [];
			if (effect.type === "end") this.log.push(JSON.stringify(effect.outcome));
		}
		return effects;
	}
}
