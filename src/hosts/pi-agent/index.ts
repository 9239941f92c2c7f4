/** Limits for a bare `Agent` of pi-agent-core: each `prompt` and each `continue` is a run. */
import type { Agent, AgentEvent } from "@earendil-works/pi-agent-core";
import type { Outcome } from "../../core/outcome.ts";
import { sum } from "../loop/amounts.ts";
import { LimitExceeded } from "../loop/limit-exceeded.ts";
import { limitFor, type LoopLimit, type LoopOptions } from "../loop/limit.ts";
import { type DrivenRun, expect } from "../loop/run.ts";
import { asParent, treeOf } from "../../loop/tree/parents.ts";

export { LimitExceeded, type LoopOptions, type Outcome };

export type AgentLimitOptions = Omit<LoopOptions, "price"> & {
	/** What a reply cost, in dollars, where pi's model has no prices. */
	readonly price?: (reply: ModelReply) => number | Promise<number>;
};

export interface AgentLimit extends Pick<LoopLimit, "snapshot" | "environment"> {
	/** How the last run ended; undefined before the first. */
	readonly outcome: Outcome | undefined;
}

/** Only what we use, so that a subclass or another version fits too. */
type Limited = Pick<
	Agent,
	| "prompt"
	| "continue"
	| "abort"
	| "subscribe"
	| "hasQueuedMessages"
	| "signal"
	| "prepareRequest"
	| "beforeToolCall"
	| "finishTurn"
>;

type Hook = "prepareRequest" | "beforeToolCall" | "finishTurn";
type Message = Extract<AgentEvent, { type: "message_end" }>["message"];
type ModelReply = Extract<Message, { role: "assistant" }>;

interface Current {
	readonly run: DrivenRun;
	hasBegun: boolean;
	/** Aborts with the agent. */
	readonly abort: AbortController;
	/** The number of results of this turn that ask the agent to end. */
	terminating: number;
	/** The notes of the next request, if it was let through already. */
	admitted: readonly string[] | undefined;
}

/**
 * Guards the agent from its next run on. Its hooks keep working, and so do those it is given later.
 * @throws RangeError or TypeError that names the option, its value and what was expected.
 */
export function limitAgent(agent: Limited, options: AgentLimitOptions = {}): AgentLimit {
	const isAgent = typeof (agent as Partial<Limited> | null | undefined)?.prompt === "function";
	expect(isAgent, "limitAgent(): expected an Agent of pi-agent-core", agent);
	const limit = limitFor("limitAgent", options);
	let current: Current | undefined;
	let outcome: Outcome | undefined;

	async function guarded(go: () => Promise<void>): Promise<void> {
		// The agent rejects a second run by itself.
		if (current || agent.signal) return await go();
		const abort = new AbortController();
		const run = limit.start({ signal: abort.signal });
		run.signal.addEventListener("abort", () => agent.abort());
		const mine: Current = { run, abort, hasBegun: false, terminating: 0, admitted: undefined };
		current = mine;
		try {
			await go();
		} catch (error) {
			run.fail(error);
			throw error;
		} finally {
			await end(mine);
		}
	}

	async function end(mine: Current): Promise<void> {
		if (current === mine) current = undefined;
		if (mine.hasBegun) outcome = await mine.run.settle();
	}

	const prompt = agent.prompt.bind(agent) as (...args: unknown[]) => Promise<void>;
	const goOn = agent.continue.bind(agent);
	agent.prompt = (...args: unknown[]) => guarded(() => prompt(...args));
	agent.continue = () => guarded(goOn);

	wrapHook(agent, "prepareRequest", (theirs) => async (request, signal) => {
		const update = (await theirs?.(request, signal)) ?? {};
		const { run, admitted } = must(current);
		must(current).admitted = undefined;
		const notes = run.signal.aborted ? undefined : (admitted ?? (await run.turn()));
		if (notes === undefined) throw new LimitExceeded(await run.settle(), run.reason);
		if (notes.length === 0) return update;
		const context = update.context ?? request.context;
		const messages = notes.map((content) => ({ role: "user", content, timestamp: Date.now() }) as const);
		return { ...update, context: { ...context, messages: [...context.messages, ...messages] } };
	});

	wrapHook(agent, "beforeToolCall", (theirs) => async (call, signal) => {
		const answer = await theirs?.(call, signal);
		if (answer?.block) return answer;
		const { toolCall, args } = call;
		const reason = await must(current).run.call({ tool: toolCall.name, input: args }, toolCall.id);
		return reason === undefined ? answer : { block: true, reason };
	});

	wrapHook(agent, "finishTurn", (theirs) => async (turn, signal) => {
		const decision = (await theirs?.(turn, signal)) ?? undefined;
		const { run, terminating } = must(current);
		const { message, toolResults } = turn;
		if (message.stopReason === "error" || message.stopReason === "aborted") return decision;
		must(current).terminating = 0;
		const isWorking = toolResults.length > terminating;
		const goesOn = decision ? decision.action === "continue" : isWorking || agent.hasQueuedMessages();
		const concluded = hasAnswered(message);
		const next = await run.endTurn({ goesOn, concluded });
		if (decision?.action === "end") return decision;
		// A final pass would answer what is queued without tools.
		if (run.isFinal && concluded && !isWorking) return { action: "end" };
		// Others may have spent what is shared. Only here can the run end without an error message.
		if (next !== "stop") must(current).admitted = await run.turn();
		if (must(current).admitted === undefined) return goesOn ? { action: "end" } : decision;
		return next === "again" ? { action: "continue" } : decision;
	});

	agent.subscribe(async (event, signal) => {
		if (current === undefined) return;
		if (event.type === "agent_start") begin(current, signal);
		if (event.type === "tool_execution_end" && isTerminating(event.result)) current.terminating++;
		if (event.type === "message_end") await hear(current.run, event.message);
		// The agent is not idle before its listeners are done, so the next prompt finds no run of ours.
		if (event.type === "agent_end") await end(current);
	});

	const made: AgentLimit = {
		snapshot: () => limit.snapshot(),
		environment: () => limit.environment(),
		get outcome() {
			return outcome;
		},
	};
	asParent(made, () => treeOf(limit));
	return made;
}

function begin(current: Current, signal: AbortSignal): void {
	current.hasBegun = true;
	signal.addEventListener("abort", () => current.abort.abort());
}

function must(current: Current | undefined): Current {
	if (current === undefined) throw new Error("pi-turn-limit: the agent runs, but not by prompt() or continue().");
	return current;
}

type AnyHook = (given: object, signal?: AbortSignal) => unknown;

/**
 * An accessor, because a hook that is assigned later would take the gate away. Such a hook may call the one that it found
 * there, which is then only theirs: the gate is passed once.
 */
function wrapHook<H extends Hook>(
	agent: Limited,
	name: H,
	around: (theirs: Limited[H]) => NonNullable<Limited[H]>,
): void {
	const gated = new WeakSet<object>();
	const wrapped = (theirs: Limited[H]): AnyHook => {
		const ours = around(theirs) as AnyHook;
		return async (given, signal) => {
			if (gated.has(given)) return await (theirs as AnyHook | undefined)?.(given, signal);
			gated.add(given);
			try {
				return await ours(given, signal);
			} finally {
				gated.delete(given);
			}
		};
	};
	let hook = wrapped(agent[name]);
	Object.defineProperty(agent, name, {
		configurable: true,
		enumerable: true,
		get: () => hook,
		set: (theirs: Limited[H]) => (hook = wrapped(theirs)),
	});
}

/** Text that was not cut off. */
function hasAnswered({ content, stopReason }: ModelReply): boolean {
	return stopReason !== "length" && content.some((part) => part.type === "text" && part.text.trim() !== "");
}

function isTerminating(result: unknown): boolean {
	return (result as { terminate?: unknown } | undefined)?.terminate === true;
}

/** A hook or a stream function that throws ends in an error message too, and not in `finishTurn`. */
async function hear(run: DrivenRun, message: Message): Promise<void> {
	const { input, output, cacheWrite, cost }: Partial<ModelReply["usage"]> =
		(message as Partial<ModelReply>).usage ?? {};
	const tokens = sum(input, output, cacheWrite);
	// A tool can report its own usage.
	if (message.role !== "assistant") return await run.charge({ tokens, cost: cost?.total || 0 });
	// A model without prices reports 0.
	await run.charge({ tokens, cost: cost?.total || undefined }, message);
	if (message.stopReason === "error") run.fail(message.errorMessage ?? "error");
}
