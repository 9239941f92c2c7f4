/** Limits for the AI SDK: its `generateText`, `streamText` and `ToolLoopAgent`, under a limit. Each call is a run. */
import * as ai from "ai";
import { isObject } from "../../core/is-object.ts";
import { isBroken, type Outcome } from "../../core/outcome.ts";
import { isAmountLimited } from "../loop/amounts.ts";
import { LimitExceeded } from "../loop/limit-exceeded.ts";
import { limitFor, type LoopLimit, type LoopOptions } from "../loop/limit.ts";
import { expect } from "../loop/run.ts";
import { asParent, treeOf } from "../../loop/tree/parents.ts";
import { Guard, type CallSettings, type SdkStep } from "./guard.ts";
import { watch } from "./watch.ts";

export { LimitExceeded, type LoopOptions, type Outcome };

/** The dollars that a step has cost. */
export type Price = (step: SdkStep) => number | Promise<number>;

export type AiOptions = Omit<LoopOptions, "price"> & {
	/** The SDK reports no prices, so a cost limit needs this. */
	readonly price?: Price;
};

export interface AiLimit extends Pick<LoopLimit, "snapshot" | "environment"> {
	/** As the SDK's own. Rejects with `LimitExceeded` if a limit allows no step, cuts one off or cannot be enforced. */
	readonly generateText: typeof ai.generateText;
	/** As the SDK's own. */
	readonly streamText: typeof ai.streamText;
	/** As the SDK's own; without `stopWhen` it takes as many steps as the limit allows. */
	readonly ToolLoopAgent: typeof ai.ToolLoopAgent;
	/** How the call behind this result ended. Reads a stream to its end if nobody else does. */
	outcomeOf(result: object): Promise<Outcome>;
}

interface Callbacks extends CallSettings {
	readonly experimental_steering?: ReturnType<typeof ai.experimental_createSteering> | undefined;
	readonly onStepEnd?: Callback;
	readonly onStepFinish?: Callback;
	readonly onEnd?: Callback;
	readonly onFinish?: Callback;
	readonly onAbort?: Callback;
	readonly onStepError?: Callback;
}

type Callback = ((event: never) => unknown) | undefined;

/** How a wrapped agent hands its guard to its own `prepareCall`. */
const GUARD = Symbol("pi-turn-limit");

/** @throws RangeError or TypeError that names the option, its value and what was expected. */
export function aiLimit(options: AiOptions = {}): AiLimit {
	const limit = limitFor("aiLimit", options);
	if (options.price === undefined && isAmountLimited(limit.snapshot(), "cost"))
		throw new TypeError("price: expected a function, because cost is limited and the AI SDK reports none.");
	const outcomes = new WeakMap<object, () => Promise<Outcome>>();

	function guard(name: string, given: Callbacks) {
		expect(isObject(given), `${name}(): expected an object of settings`, given);
		const { abortSignal: signal, experimental_steering } = given;
		const run = limit.start({ signal });
		const steering = experimental_steering ?? ai.experimental_createSteering();
		return { guard: new Guard(run, steering, options.ask !== undefined), run, signal, steering };
	}
	type Guarded = ReturnType<typeof guard>;

	/** The common part of a call and an agent's call. */
	function watched({ guard, run, steering }: Guarded, given: Callbacks): object {
		return {
			abortSignal: run.signal,
			experimental_steering: steering,
			onStepEnd: both(given.onStepEnd ?? given.onStepFinish, (step: SdkStep) => guard.endStep(step)),
		};
	}

	function gated(guard: Guard, given: Callbacks): object {
		return {
			prepareStep: guard.prepareStep(given),
			stopWhen: guard.stopWhen(given),
			toolApproval: guard.toolApproval(given),
			onStepError: both(given.onStepError, ({ error }: { error: unknown }) => guard.stepFailed(error)),
		};
	}

	async function generated<R extends object>({ guard, run, signal }: Guarded, call: () => Promise<R>): Promise<R> {
		try {
			const result = await call();
			const outcome = await run.settle();
			if (isBroken(outcome)) throw new LimitExceeded(outcome, run.reason);
			outcomes.set(result, () => Promise.resolve(outcome));
			return result;
		} catch (error) {
			throw await guard.failed(error, signal);
		}
	}

	function streamed<R extends { consumeStream: () => PromiseLike<void> }>(
		{ guard, run, signal }: Guarded,
		result: R,
	): R {
		let isOver = false;
		const seen = watch(result, {
			over: async () => {
				isOver = true;
				if (signal?.aborted) run.interrupt();
				else if (guard.isIdle) run.fail("The AI SDK made no step.");
				await run.settle();
			},
			failed: (error) => {
				isOver = true;
				return guard.failed(error, signal);
			},
			cancelled: async () => {
				isOver = true;
				run.interrupt();
				await run.settle();
			},
		});
		outcomes.set(seen, async () => {
			if (!isOver) await seen.consumeStream();
			return await run.settle();
		});
		return seen;
	}

	/** `onEnd` is not called for every end; the watch on the result sees the others. */
	function ends({ guard, run, signal }: Guarded, given: Callbacks): object {
		return {
			onEnd: both(given.onEnd ?? given.onFinish, () => run.settle()),
			// Also for the SDK's own timeout.
			onAbort: both(given.onAbort, ({ reason }: { reason?: unknown }) => guard.failed(reason, signal)),
		};
	}

	class LimitedAgent extends ai.ToolLoopAgent {
		constructor(settings: ConstructorParameters<typeof ai.ToolLoopAgent>[0]) {
			type Prepare = (given: Callbacks & { [GUARD]?: Guard }) => Promise<object>;
			const theirs = settings.prepareCall as unknown as Prepare | undefined;
			const prepareCall: Prepare = async ({ [GUARD]: guard, ...given }) => {
				const prepared = (await theirs?.(given)) ?? given;
				return guard === undefined ? prepared : { ...prepared, ...gated(guard, prepared) };
			};
			const stopWhen = settings.stopWhen ?? ai.isLoopFinished();
			super({ ...settings, stopWhen, prepareCall } as never);
		}

		override async generate(
			given: Parameters<ai.ToolLoopAgent["generate"]>[0],
		): ReturnType<ai.ToolLoopAgent["generate"]> {
			const made = guard("generate", given);
			const call = { ...given, ...watched(made, given), [GUARD]: made.guard };
			return await generated(made, () => super.generate(call));
		}

		override async stream(given: Parameters<ai.ToolLoopAgent["stream"]>[0]): ReturnType<ai.ToolLoopAgent["stream"]> {
			const made = guard("stream", given);
			const call = {
				...given,
				...watched(made, given),
				...ends(made, given),
				[GUARD]: made.guard,
			};
			try {
				return streamed(made, await super.stream(call));
			} catch (error) {
				throw await made.guard.failed(error, made.signal);
			}
		}
	}

	const generateText = async (given: Callbacks): Promise<object> => {
		const made = guard("generateText", given);
		const call = { ...given, ...gated(made.guard, given), ...watched(made, given) };
		return await generated(made, () => ai.generateText(call as never));
	};

	const streamText = (given: Callbacks): object => {
		const made = guard("streamText", given);
		const call = { ...given, ...gated(made.guard, given), ...watched(made, given), ...ends(made, given) };
		try {
			return streamed(made, ai.streamText(call as never));
		} catch (error) {
			void made.guard.failed(error, made.signal);
			throw error;
		}
	};

	const made: AiLimit = {
		generateText: generateText as unknown as typeof ai.generateText,
		streamText: streamText as unknown as typeof ai.streamText,
		ToolLoopAgent: LimitedAgent as unknown as typeof ai.ToolLoopAgent,
		outcomeOf: async (result) => {
			const outcome = outcomes.get(result);
			if (outcome === undefined) throw new TypeError("outcomeOf(): expected a result of this limit.");
			return await outcome();
		},
		snapshot: () => limit.snapshot(),
		environment: () => limit.environment(),
	};
	asParent(made, () => treeOf(limit));
	return made;
}

/** Theirs first; ours even if theirs throws. */
function both<E>(theirs: Callback, ours: (event: E) => unknown): (event: E) => Promise<void> {
	return async (event) => {
		try {
			await (theirs as ((event: E) => unknown) | undefined)?.(event);
		} finally {
			await ours(event);
		}
	};
}
