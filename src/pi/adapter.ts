/**
 * Pi's events in, the breaker's effects out. No rule about limits stands here: `step` commits the state that the
 * core gives and then carries out its effects, in order.
 */
import { transition } from "../core/breaker.ts";
import type { Max } from "../core/limit.ts";
import type { Outcome } from "../core/outcome.ts";
import { type Effect, type Event, IDLE, isClosed, type State } from "../core/state.ts";
import { callText, finalPass, question, refusal, widget } from "../core/wording.ts";
import { type Context, goesOn, isInSight, NAME, type Pi, telling } from "./host.ts";
import { ask, type OpenQuestion } from "./question.ts";
import type { Left } from "./shared.ts";

/** What the adapter leaves to its surroundings. */
export interface Edge {
	/** Seconds. */
	readonly askTimeout: () => Max;
	/** Read at every check. */
	readonly grace: (ctx: Context) => number;
	/** Read when it is sent. */
	readonly wrapUpMessage: (remaining: Max, ctx: Context) => string;
	/** Why the run was stopped, in place of pi's words for a message that was never requested. */
	readonly reason: (state: State) => string | undefined;
	/** `reasonTold`: such a message stands in the transcript. */
	readonly ended: (outcome: Outcome, reasonTold: boolean, ctx: Context) => void;
}

/** A breaker at work in one session. */
export interface Breaker {
	readonly state: State;
	/** From outside the loop: a command, a setting that changed. */
	step(event: Event, ctx: Context): Promise<void>;
	/** Starts from another state: a new session, a reload. */
	begin(state: State): void;
	/** Leaves the session, and the run if one is going on, to whoever comes next. */
	leave(): Left;
	/** Shows a line in place of the widget, until a run has settled. */
	show(line: string, ctx: Context): void;
}

export function attach(pi: Pick<Pi, "on">, initial: State, edge: Edge): Breaker {
	let state = initial;
	let left = false;
	let open: OpenQuestion | undefined;
	let outbox: string[] = [];
	let withdraw: (() => void) | undefined;
	let reasonTold = false;
	let shown: string | undefined;
	const terminated = new Set<string>();

	async function step(event: Event, ctx: Context): Promise<readonly Effect[]> {
		const wasIdle = state.phase.name === "idle";
		const [next, effects] = transition(state, event);
		state = next;
		for (const effect of effects) await perform(effect, ctx);
		if (!left && !(wasIdle && state.phase.name === "idle")) {
			show(state.phase.name === "idle" ? undefined : widget(state), ctx);
		}
		return effects;
	}

	async function perform(effect: Effect, ctx: Context): Promise<void> {
		switch (effect.type) {
			case "ask": {
				open = ask(ctx, question(state, effect.meter), edge.askTimeout());
				const answer = await open.answer;
				// Somebody may have answered in another way: by a command, by leaving.
				if (state.phase.name !== "asking") return;
				await step(ctx.signal?.aborted ? { type: "interrupted" } : { type: "answered", answer }, ctx);
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
				if (state.phase.name === "finishing") outbox.push(finalPass(state.phase.trip));
				return;
			case "abort":
				outbox = [];
				ctx.abort();
				return;
			case "end":
				edge.ended(effect.outcome, reasonTold, ctx);
				return;
			case "refuse":
				return;
		}
	}

	/** Makes a request of the gate until it is decided; true if it may go ahead. */
	async function admit(request: Event, ctx: Context): Promise<boolean> {
		for (;;) {
			if (left) return false;
			if (ctx.signal?.aborted) await step({ type: "interrupted" }, ctx);
			const effects = await step(request, ctx);
			if (!effects.some(({ type }) => type === "ask" || type === "hold")) {
				return !effects.some(({ type }) => type === "refuse" || type === "abort");
			}
		}
	}

	function show(line: string | undefined, ctx: Context): void {
		if (!ctx.hasUI || line === shown) return;
		shown = line;
		ctx.ui.setWidget(NAME, line === undefined ? undefined : [line]);
	}

	/** A circuit breaker that fails open is none: whatever goes wrong in a handler stops the run. */
	function guard<E, R>(handler: (event: E, ctx: Context) => R | Promise<R>, blocked?: () => R) {
		return async (event: E, ctx: Context): Promise<R | undefined> => {
			try {
				return left ? undefined : await handler(event, ctx);
			} catch (error) {
				[state] = transition(state, { type: "broke", message: String(error) });
				if (blocked) return blocked();
				ctx.abort();
				return undefined;
			}
		};
	}

	/** Messages that no turn's end can carry any more go with the next request, past the transcript. */
	function slipIn(): void {
		if (outbox.length === 0) return;
		const messages = takeOutbox().map((content) => ({ role: "custom" as const, ...telling(content), timestamp: 0 }));
		withdraw = pi.on("context", (event) => ({ messages: [...event.messages, ...messages] }));
	}

	function takeOutbox(): string[] {
		const taken = outbox;
		outbox = [];
		withdraw?.();
		withdraw = undefined;
		return taken;
	}

	pi.on(
		"input",
		guard(async (event, ctx) => {
			if (event.source !== "extension" && event.streamingBehavior === undefined) await step({ type: "prompted" }, ctx);
		}),
	);

	pi.on(
		"turn_start",
		guard(async (_event, ctx) => {
			terminated.clear();
			await admit({ type: "turn_requested" }, ctx);
			slipIn();
		}),
	);

	pi.on(
		"tool_call",
		guard(async ({ toolName, input }, ctx) => {
			const admitted = await admit({ type: "tool_call_requested", call: callText(toolName, input) }, ctx);
			return admitted ? undefined : blocked();
		}, blocked),
	);

	pi.on("tool_execution_end", ({ toolCallId, result }) => {
		if ((result as { terminate?: unknown } | undefined)?.terminate === true) terminated.add(toolCallId);
	});

	pi.on(
		"message_end",
		guard(async ({ message }, ctx) => {
			if (message.role !== "assistant") return undefined;
			if (message.usage.cost.total > 0) await step({ type: "charged", cost: message.usage.cost.total }, ctx);
			const errorMessage = edge.reason(state);
			if (errorMessage === undefined || !["error", "aborted"].includes(message.stopReason)) return undefined;
			reasonTold = true;
			return { message: { ...message, stopReason: "aborted" as const, errorMessage } };
		}),
	);

	pi.on(
		"turn_end",
		guard(async (event, ctx) => {
			const { message } = event;
			if (message.role !== "assistant") return undefined;
			if (ctx.signal?.aborted || message.stopReason === "aborted") {
				await step({ type: "interrupted" }, ctx);
			} else if (message.stopReason === "error") {
				await step({ type: "turn_failed", message: message.errorMessage ?? message.stopReason }, ctx);
			} else {
				await step({ type: "grace_set", grace: edge.grace(ctx) }, ctx);
				await step({ type: "turn_ended", goesOn: goesOn(event, terminated) }, ctx);
				const drafts = takeOutbox().map((content) => ({ type: "custom_message" as const, ...telling(content) }));
				if (drafts.length > 0) return { entries: [...event.entries, ...drafts] };
			}
			return undefined;
		}),
	);

	pi.on(
		"session_before_compact",
		guard(({ reason }) => (reason !== "manual" && isClosed(state) ? { cancel: true } : undefined)),
	);

	pi.on(
		"session_compact",
		guard(async (event, ctx) => {
			if (!isInSight(event, ctx)) await step({ type: "message_lost" }, ctx);
		}),
	);

	pi.on(
		"cache_warming_decision",
		guard(() => (isClosed(state) ? { action: "stop" as const } : undefined)),
	);

	pi.on(
		"agent_settled",
		guard(async (_event, ctx) => {
			takeOutbox();
			await step({ type: "settled" }, ctx);
			reasonTold = false;
		}),
	);

	return {
		get state() {
			return state;
		},
		step: guard(async (event: Event, ctx: Context) => {
			await step(event, ctx);
		}),
		begin(next) {
			state = next;
		},
		leave() {
			const { phase } = state;
			const last: State = phase.name === "asking" ? { ...state, phase: { name: "running", run: phase.run } } : state;
			left = true;
			state = { ...state, phase: IDLE };
			return { state: last, release: () => open?.close() };
		},
		show,
	};

	function blocked() {
		return { block: true, reason: refusal(state) };
	}
}
