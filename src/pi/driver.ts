/**
 * Drives the core: `step` commits the state that it gives and then carries out its effects, in order. No rule about
 * limits stands here.
 */
import { transition } from "../core/breaker.ts";
import type { Max } from "../core/limit.ts";
import type { Outcome } from "../core/outcome.ts";
import type { Effect, Event, State } from "../core/state.ts";
import { finalPass, question, widget } from "../core/wording.ts";
import { type Context, NAME } from "./host.ts";
import { ask, type OpenQuestion } from "./question.ts";

/** What the effects need from outside. */
export interface Edge {
	/** Seconds. */
	readonly askTimeout: () => Max;
	/** Read when it is sent. */
	readonly wrapUpMessage: (remaining: Max, ctx: Context) => string;
	/** `queued`: messages were waiting when the run was stopped. */
	readonly ended: (outcome: Outcome, queued: boolean, ctx: Context) => void;
}

export interface Driver {
	state: State;
	step(event: Event, ctx: Context): Promise<readonly Effect[]>;
	/** Makes a request of the gate until it is decided: may it go ahead? Undefined if we were let go meanwhile. */
	admit(request: Event, ctx: Context): Promise<boolean | undefined>;
	/** What is to be told to the model with its next request; it is then no longer waiting. */
	takeOutbox(): string[];
	/** Shows a line as the widget; none clears it. */
	show(line: string | undefined, ctx: Context): void;
	readonly isShowing: boolean;
	/** Something went wrong where we should decide: the run is over, whatever else cannot be done any more. */
	fail(error: unknown): void;
	/** Takes the open question away without an answer: somebody else decides from here. */
	letGo(): void;
}

export function drive(initial: State, edge: Edge): Driver {
	let open: OpenQuestion | undefined;
	let isLetGo = false;
	let outbox: string[] = [];
	let queued = false;
	let shown: string | undefined;

	const driver: Driver = {
		state: initial,

		async step(event, ctx) {
			const before = driver.state.phase.name;
			const [next, effects] = transition(driver.state, event);
			driver.state = next;
			for (const effect of effects) await perform(effect, ctx);
			const { phase } = driver.state;
			if (isLetGo || !ctx.hasUI || (before === "idle" && phase.name === "idle")) return effects;
			driver.show(phase.name === "idle" ? undefined : widget(driver.state), ctx);
			return effects;
		},

		async admit(request, ctx) {
			for (;;) {
				if (ctx.signal?.aborted) await driver.step({ type: "interrupted" }, ctx);
				const effects = await driver.step(request, ctx);
				const has = (...types: Effect["type"][]): boolean => effects.some(({ type }) => types.includes(type));
				if (isLetGo) return undefined;
				if (!has("ask", "hold")) return !has("refuse", "abort");
			}
		},

		takeOutbox() {
			const taken = outbox;
			outbox = [];
			return taken;
		},

		show(line, ctx) {
			if (!ctx.hasUI || line === shown) return;
			shown = line;
			ctx.ui.setWidget(NAME, line === undefined ? undefined : [line]);
		},

		get isShowing() {
			return shown !== undefined;
		},

		fail(error) {
			const [next, effects] = transition(driver.state, { type: "broke", message: String(error) });
			driver.state = next;
			if (effects.some(({ type }) => type === "close_question")) open?.close();
		},

		letGo() {
			isLetGo = true;
			open?.close();
		},
	};
	return driver;

	async function perform(effect: Effect, ctx: Context): Promise<void> {
		switch (effect.type) {
			case "ask": {
				open = ask(ctx, question(driver.state, effect.meter), edge.askTimeout());
				const answer = await open.answer;
				// It may have been answered in another way: by a command, by the end of the session.
				if (isLetGo || driver.state.phase.name !== "asking") return;
				await driver.step(ctx.signal?.aborted ? { type: "interrupted" } : { type: "answered", answer }, ctx);
				return;
			}
			case "hold":
				await open?.answer;
				return;
			case "close_question":
				open?.close();
				return;
			case "advise":
				outbox.push(edge.wrapUpMessage(effect.remaining, ctx));
				return;
			case "synthesize":
				if (driver.state.phase.name === "finishing") outbox.push(finalPass(driver.state.phase.trip));
				return;
			case "abort":
				queued ||= ctx.hasPendingMessages();
				outbox = [];
				ctx.abort();
				return;
			case "end":
				edge.ended(effect.outcome, queued, ctx);
				queued = false;
				return;
			case "refuse":
				return;
		}
	}
}
