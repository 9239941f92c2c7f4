/** One call of the AI SDK under a limit: its hooks, translated for a run. */
import type { ModelMessage, StepResult, Experimental_Steering as Steering, ToolSet } from "ai";
import { kindOf, OWN } from "../../core/meters.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { sum } from "../loop/amounts.ts";
import { LimitExceeded } from "../loop/limit-exceeded.ts";
import type { LoopRun, Next } from "../loop/run.ts";

export type SdkStep = StepResult<ToolSet>;

/** The part of a call's settings that we read or replace; the SDK's own types are generic in the user's tools. */
export interface CallSettings {
	readonly tools?: Readonly<Record<string, { readonly needsApproval?: unknown }>> | undefined;
	readonly output?: unknown;
	readonly abortSignal?: AbortSignal | undefined;
	readonly prepareStep?: ((options: StepOptions) => unknown) | undefined;
	readonly stopWhen?: Condition | readonly Condition[] | undefined;
	readonly toolApproval?: unknown;
}

interface StepOptions {
	readonly messages: readonly ModelMessage[];
}

type Condition = (options: { steps: readonly SdkStep[] }) => boolean | PromiseLike<boolean>;

interface ApprovalOptions {
	readonly toolCall: {
		readonly toolName: string;
		readonly toolCallId: string;
		readonly input: unknown;
		readonly providerExecuted?: boolean | undefined;
	};
	readonly tools: CallSettings["tools"];
	readonly messages: readonly ModelMessage[];
	readonly toolsContext: Readonly<Record<string, unknown>> | undefined;
	readonly runtimeContext: unknown;
}

type Status = { readonly type: string; readonly reason?: string };

/** Makes the SDK take another step after an answer; the model does not see it. */
const NUDGE = "pi-turn-limit: once more";

/** Follows our notes where the answer has to have a form. */
export const IN_FORM = "Give your answer in the required output format.";

export class Guard {
	readonly run: LoopRun;
	readonly #steering: Steering;
	readonly #asks: boolean;
	/** A step has begun, so a call that is asked about comes from the model and not from an earlier approval. */
	#hasStepped = false;
	/** The end of the present turn was reported. */
	#hasEnded = false;
	/** The notes of the next step, if it was let through already. */
	#admitted: readonly string[] | undefined;

	/** `asks`: somebody is asked at a limit. */
	constructor(run: LoopRun, steering: Steering, asks: boolean) {
		this.run = run;
		this.#steering = steering;
		this.#asks = asks;
	}

	/** The gate before each step: throws if it must not be made. */
	prepareStep({ prepareStep, output }: CallSettings): (options: StepOptions) => Promise<object | undefined> {
		return async (options) => {
			const theirs = this.#failing(async () => await prepareStep?.(options));
			const prepared = (await theirs) as Partial<StepOptions> | undefined;
			const notes = this.#admitted ?? (await this.run.turn());
			this.#admitted = undefined;
			if (notes === undefined) throw await this.#refusal();
			this.#hasStepped = true;
			this.#hasEnded = false;
			const given = prepared?.messages ?? options.messages;
			const kept = given.filter(({ content }) => content !== NUDGE);
			if (notes.length === 0 && kept.length === given.length) return prepared;
			const form = output === undefined ? "" : ` ${IN_FORM}`;
			const ours = notes.map((note) => ({ role: "user", content: note + form }) as const);
			return { ...prepared, messages: [...kept, ...ours] };
		};
	}

	/** Why a step must not be made. */
	async #refusal(): Promise<unknown> {
		const { signal } = this.run;
		if (signal.aborted) return signal.reason;
		const outcome = await this.run.settle();
		if (outcome.kind === "interrupted") return new DOMException("Nobody reads the stream any more.", "AbortError");
		return new LimitExceeded(outcome, this.run.reason);
	}

	/** The SDK asks it where it would go on after a step. */
	stopWhen({ stopWhen = [] }: CallSettings): Condition {
		const theirs = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
		return async (options) => {
			const answers = this.#failing(() => Promise.all(theirs.map(async (condition) => await condition(options))));
			const stops = (await answers).some(Boolean);
			let next: Next = "go_on";
			// Otherwise a message of the user's own, or a late result of the provider's, starts another step.
			if (!this.#hasEnded) {
				this.#hasEnded = true;
				// Where their condition counts as many steps as the limit, the limit would have ended the run in the same place.
				const isExhausted =
					stops && !this.#asks && isSpent(this.run.snapshot()) && (await countsSteps(theirs, options));
				next = await this.run.endTurn({ goesOn: !stops || isExhausted, concluded: false });
			}
			// Only here can a limit end the run with what it has, also one that others have spent meanwhile.
			if (next !== "stop" && !stops) this.#admitted = await this.run.turn();
			// After an abort the SDK ends the call itself, in its own way.
			return stops || (this.#admitted === undefined && !this.run.signal.aborted);
		};
	}

	/** Calls a hook of the user's. The run fails with it, because a stream does not say that it threw. */
	async #failing<T>(hook: () => Promise<T>): Promise<T> {
		try {
			return await hook();
		} catch (error) {
			this.run.fail(error);
			throw error;
		}
	}

	/** The SDK has made no step. */
	get isIdle(): boolean {
		return !this.#hasStepped;
	}

	/** The gate before each call that would run. */
	toolApproval({ toolApproval }: CallSettings): (options: ApprovalOptions) => Promise<Status> {
		return async (options) => {
			const status = await this.#failing(() => statusOf(toolApproval, options));
			const { toolName: tool, toolCallId, input, providerExecuted } = options.toolCall;
			// It does not run here, or not yet. Before the first step the SDK asks again about approved calls, and those run now.
			if (
				providerExecuted === true ||
				status.type === "denied" ||
				(status.type === "user-approval" && this.#hasStepped)
			)
				return status;
			const reason = await this.run.call({ tool, input }, toolCallId);
			return reason === undefined ? status : { type: "denied", reason };
		};
	}

	/** Never throws, because the SDK would swallow the error. */
	async endStep(step: SdkStep): Promise<void> {
		try {
			if (isBrokenOff(step)) return this.run.fail("The response broke off.");
			await this.run.charge({ tokens: freshTokens(step) }, step);
			if (step.finishReason === "error") return this.run.fail("The provider ended the response with an error.");
			if (goesOn(step)) return;
			this.#hasEnded = true;
			const concluded = step.text.trim() !== "" && step.finishReason !== "length";
			if ((await this.run.endTurn({ goesOn: false, concluded })) === "again") void this.#steering.steer(NUDGE);
		} catch (error) {
			this.run.breakOff(error);
		}
	}

	/** A step failed, and the SDK does not repeat it. The caller's abort is no failure. */
	stepFailed(error: unknown): void {
		if (!this.run.signal.aborted) this.run.fail(error);
	}

	/** The call failed, or was aborted; gives the error for the caller. `signal`: the caller's. */
	async failed(error: unknown, signal: AbortSignal | undefined): Promise<unknown> {
		if (error instanceof LimitExceeded) return error;
		const isOurs = this.run.signal.aborted && !signal?.aborted;
		if (signal?.aborted) this.run.interrupt();
		else if (!isOurs) this.run.fail(error);
		const outcome = await this.run.settle();
		return isOurs ? new LimitExceeded(outcome, this.run.reason) : error;
	}
}

/** The SDK treats a stream that ends without a finish reason and usage as a normal step. */
function isBrokenOff({ finishReason, rawFinishReason, usage }: SdkStep): boolean {
	const isUsageKnown = usage.inputTokens !== undefined || usage.outputTokens !== undefined;
	return finishReason === "other" && rawFinishReason === undefined && !isUsageKnown;
}

/** No further turn would be let through. What others spend too is only known when it is asked for. */
function isSpent(meters: Snapshot): boolean {
	return OWN.some((id) => kindOf(id).gates.includes("turn") && meters[id].remaining === 0);
}

/** True if they stop after so many steps, whatever was done in them; not if they found an answer in a call. */
async function countsSteps(conditions: readonly Condition[], { steps }: Parameters<Condition>[0]): Promise<boolean> {
	const empty = steps.map(() => ({}) as SdkStep);
	const answers = await Promise.allSettled(conditions.map(async (condition) => await condition({ steps: empty })));
	return answers.some((answer) => answer.status === "fulfilled" && answer.value);
}

/** True if every call that is the program's to answer was answered: the SDK then takes another step. */
function goesOn({ content, finishReason }: SdkStep): boolean {
	const calls = content.filter((part) => part.type === "tool-call" && part.providerExecuted !== true);
	const answered = new Set(content.flatMap((part) => idAnswered(part)));
	const isOpen = calls.some((part) => part.type === "tool-call" && !answered.has(part.toolCallId));
	return calls.length > 0 && !isOpen && (finishReason as string) !== "interrupted";
}

function idAnswered(part: SdkStep["content"][number]): string[] {
	switch (part.type) {
		case "tool-result":
		case "tool-error":
			return [part.toolCallId];
		case "tool-approval-response":
			return part.approved ? [] : [part.toolCall.toolCallId];
		default:
			return [];
	}
}

/** Without what was read from the cache. */
function freshTokens({ usage }: SdkStep): number {
	const { inputTokens, outputTokens, inputTokenDetails } = usage;
	const { cacheReadTokens } = (inputTokenDetails as Partial<typeof inputTokenDetails> | undefined) ?? {};
	return Math.max(0, sum(inputTokens) - sum(cacheReadTokens)) + sum(outputTokens);
}

/** The user's own setting, or else the tool's, as the SDK would read them without ours. */
async function statusOf(approval: unknown, options: ApprovalOptions): Promise<Status> {
	const { toolCall, tools, messages, toolsContext, runtimeContext } = options;
	const { toolName, toolCallId, input } = toolCall;
	if (typeof approval === "function")
		return normalized(await (approval as (given: ApprovalOptions) => unknown)(options));
	const toolContext = own(toolsContext, toolName);
	const set = own(approval as Readonly<Record<string, unknown>> | undefined, toolName);
	if (set !== undefined && set !== null) {
		const more = { toolCallId, messages, toolContext, runtimeContext };
		return normalized(typeof set === "function" ? await (set as Decide)(input, more) : set);
	}
	const needs = own(tools, toolName)?.needsApproval;
	const more = { toolCallId, messages, context: toolContext };
	const isNeeded = typeof needs === "function" ? await (needs as Decide)(input, more) : needs;
	return { type: isNeeded ? "user-approval" : "not-applicable" };
}

type Decide = (input: unknown, options: object) => unknown;

function normalized(status: unknown): Status {
	return typeof status === "object" && status !== null
		? (status as Status)
		: { type: typeof status === "string" ? status : "not-applicable" };
}

/** The name of a tool comes from the model: only what the object has itself. */
function own<T>(record: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
	return record && Object.hasOwn(record, key) ? record[key] : undefined;
}
