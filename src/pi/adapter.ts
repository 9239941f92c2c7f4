/** Pi's events in, what pi is to do out: the translation, and nothing else. */
import type { TurnEndEvent, TurnEndEventResult } from "@earendil-works/pi-coding-agent";
import { isEndAwaited } from "../core/breaker.ts";
import { isClosed, type State } from "../core/state.ts";
import { callText, refusal, RELOADED } from "../core/wording.ts";
import type { Driver } from "./driver.ts";
import { type Context, goesOn, isInSight, isRefusal, type Pi, telling } from "./host.ts";

/** What the adapter leaves to its surroundings. */
export interface Surface {
	/** Before anything else happens in a session. */
	readonly begin: (ctx: Context) => Promise<void>;
	/** In place of the one that is set; read at every check. */
	readonly grace: ((ctx: Context) => number) | undefined;
	/** Why we stopped the run, in place of pi's words for a message that was never requested. */
	readonly reason: (state: State) => string | undefined;
	/** Such a message now stands in the transcript. */
	readonly reasonTold: () => void;
}

/** Handles an event that reached an instance which is no longer responsible for the session. */
export type Successor = (name: string, event: unknown) => Promise<unknown>;

export interface Adapter {
	/** Handles an event as if pi had brought it. */
	handle(name: string, event: unknown, ctx: Context): Promise<unknown>;
	/** Makes pi tell of the end of this turn, if anything depends on it: after whatever can change that. */
	listen(): void;
	/** From now on events wait for the successor; without one they pass. */
	retire(successor: Promise<Successor | undefined>): void;
}

/** What was slipped into the requests of one turn. */
interface Slipped {
	readonly texts: readonly string[];
	readonly withdraw: () => void;
}

const NOTHING: Slipped = { texts: [], withdraw: () => {} };

export function attach(pi: Pick<Pi, "on">, driver: Driver, surface: Surface): Adapter {
	const handlers = new Map<string, (event: never, ctx: Context) => Promise<unknown>>();
	const terminated = new Set<string>();
	let retired: Promise<Successor | undefined> | undefined;
	let byPerson = false;
	let hasRefused = false;
	let slipped = NOTHING;
	let stopListening: (() => void) | undefined;

	/** A circuit breaker that fails open is none: whatever goes wrong in a handler stops the run. */
	function guard<E, R>(name: string, handler: (event: E, ctx: Context) => R | Promise<R>, block?: () => R) {
		const guarded = async (event: E, ctx: Context): Promise<R | undefined> => {
			try {
				await surface.begin(ctx);
				return await handler(event, ctx);
			} catch (error) {
				driver.fail(error);
				if (block) return block();
				ctx.abort();
				return undefined;
			}
		};
		handlers.set(name, guarded);
		const forward = async (event: E): Promise<R | undefined> => (await (await retired)?.(name, event)) as R | undefined;
		return (event: E, ctx: Context): Promise<R | undefined> => (retired ? forward(event) : guarded(event, ctx));
	}

	// Who prompts: `input` alone is not enough, for an extension may answer it without a run.
	pi.on(
		"input",
		guard("input", ({ source, streamingBehavior }) => {
			byPerson = source !== "extension" && streamingBehavior === undefined;
		}),
	);
	pi.on(
		"before_agent_start",
		guard("before_agent_start", async (event, ctx) => {
			const isPrompt = (event as { messageType?: string }).messageType !== "custom";
			if (byPerson && isPrompt) await driver.step({ type: "prompted" }, ctx);
			byPerson = false;
		}),
	);

	pi.on(
		"turn_start",
		guard("turn_start", async (event, ctx) => {
			terminated.clear();
			hasRefused = false;
			unlisten();
			const admitted = await driver.admit({ type: "turn_requested" }, ctx);
			if (admitted === undefined) await (await retired)?.("turn_start", event);
			slipIn();
		}),
	);

	pi.on(
		"tool_call",
		guard(
			"tool_call",
			async (event, ctx) => {
				const call = callText(event.toolName, event.input);
				const admitted = await driver.admit({ type: "tool_call_requested", call }, ctx);
				// The tools of a reloaded pi are gone with it: the next instance could only let a dead call through.
				if (admitted === undefined) return { block: true, reason: RELOADED };
				if (admitted) return undefined;
				listen();
				return blocked();
			},
			blocked,
		),
	);

	pi.on("tool_execution_end", ({ toolCallId, result }) => {
		if ((result as { terminate?: unknown } | undefined)?.terminate === true) terminated.add(toolCallId);
	});

	pi.on(
		"message_end",
		guard("message_end", async ({ message }, ctx) => {
			if (message.role !== "assistant") return undefined;
			const { stopReason } = message;
			const cost = message.usage.cost.total;
			if (cost > 0) await driver.step({ type: "charged", cost }, ctx);
			if (stopReason === "aborted") await driver.step({ type: "interrupted" }, ctx);
			else if (stopReason === "error")
				await driver.step({ type: "turn_failed", message: message.errorMessage ?? stopReason }, ctx);
			else {
				listen();
				return undefined;
			}
			const errorMessage = surface.reason(driver.state);
			if (errorMessage === undefined) return undefined;
			surface.reasonTold();
			return { message: { ...message, stopReason: "aborted" as const, errorMessage } };
		}),
	);

	const turnEnd = guard<TurnEndEvent, TurnEndEventResult | undefined>("turn_end", async (event, ctx) => {
		const { message, toolResults } = event;
		if (message.role !== "assistant" || ["error", "aborted"].includes(message.stopReason)) return undefined;
		if (ctx.signal?.aborted) {
			await driver.step({ type: "interrupted" }, ctx);
			return undefined;
		}
		if (surface.grace) await driver.step({ type: "grace_set", grace: surface.grace(ctx) }, ctx);
		const isGoingOn = goesOn(event, terminated);
		await driver.step({ type: "turn_ended", goesOn: isGoingOn, answered: toolResults.length === 0 }, ctx);
		// A tool can keep to itself that a call which it made was refused.
		const isHidden = hasRefused && !toolResults.some(isRefusal);
		if (isHidden && isGoingOn) await driver.step({ type: "message_lost" }, ctx);
		const carried = takeBack();
		// What was slipped in stays in sight only if the transcript holds it from now on.
		const told = [...(isGoingOn && !isClosed(driver.state) ? carried : []), ...driver.takeOutbox()];
		const entries = told.map((text) => ({ type: "custom_message" as const, ...telling(text) }));
		return entries.length > 0 ? { entries: [...event.entries, ...entries] } : undefined;
	});

	pi.on(
		"agent_end",
		guard("agent_end", async (_event, ctx) => {
			if (ctx.signal?.aborted) await driver.step({ type: "interrupted" }, ctx);
		}),
	);

	pi.on(
		"session_before_compact",
		guard("session_before_compact", ({ reason }) =>
			reason !== "manual" && isClosed(driver.state) ? { cancel: true } : undefined,
		),
	);
	pi.on(
		"session_compact",
		guard("session_compact", async (event, ctx) => {
			// A truncated answer was no failure until now; pi has taken it back and repeats the turn.
			if (event.willRetry) await driver.step({ type: "turn_failed", message: event.reason }, ctx);
			if (!isInSight(event, ctx)) await driver.step({ type: "message_lost" }, ctx);
		}),
	);
	pi.on(
		"cache_warming_decision",
		guard("cache_warming_decision", () => (isClosed(driver.state) ? { action: "stop" as const } : undefined)),
	);

	pi.on(
		"agent_settled",
		guard("agent_settled", async (_event, ctx) => {
			takeBack();
			driver.takeOutbox();
			unlisten();
			await driver.step({ type: "settled" }, ctx);
		}),
	);

	return {
		listen,
		handle: async (name, event, ctx) => await handlers.get(name)?.(event as never, ctx),
		retire(successor) {
			retired = successor;
		},
	};

	/** Pi builds the whole transcript for those who listen to the end of a turn, so we do where it matters. */
	function listen(): void {
		if (stopListening || retired) return;
		const isAwaited = surface.grace !== undefined || slipped !== NOTHING || isEndAwaited(driver.state);
		if (isAwaited) stopListening = pi.on("turn_end", turnEnd);
	}

	function unlisten(): void {
		stopListening?.();
		stopListening = undefined;
	}

	/** What no turn's end can carry any more goes with the request of this turn, and of its retries. */
	function slipIn(): void {
		const texts = [...takeBack(), ...driver.takeOutbox()];
		if (texts.length === 0) return;
		const messages = texts.map((text) => ({ role: "custom" as const, ...telling(text), timestamp: 0 }));
		slipped = { texts, withdraw: pi.on("context", (event) => ({ messages: [...event.messages, ...messages] })) };
	}

	function takeBack(): readonly string[] {
		const { texts, withdraw } = slipped;
		withdraw();
		slipped = NOTHING;
		return texts;
	}

	function blocked() {
		hasRefused = true;
		return { block: true, reason: refusal(driver.state) };
	}
}
