/** Sees how a stream of the AI SDK ends, whoever reads it and however: the SDK itself does not say that it was cancelled. */
import { isObject } from "../../core/is-object.ts";
import { ServerResponse } from "node:http";
import type { Writable } from "node:stream";
import { ReadableStream as NodeStream, type UnderlyingSource } from "node:stream/web";

export interface StreamEnd {
	/** It was read to its end. */
	over(): Promise<void>;
	failed(error: unknown): Promise<unknown>;
	/** Nobody reads on. */
	cancelled(): Promise<void>;
}

/** The result, with every stream and every promise that it gives under watch. */
export function watch<R extends object>(result: R, end: StreamEnd): R {
	const readers = new Readers(end);
	const watched = (value: unknown): unknown => {
		if (value instanceof ReadableStream) return watchStream(value, readers, end);
		if (value instanceof Response && value.body) return new Response(watchStream(value.body, readers, end), value);
		if (value instanceof Promise) {
			readers.keep();
			value.catch((error: unknown) => end.failed(error));
		}
		return value;
	};
	return new Proxy(result, {
		get: (target, key) => {
			// The SDK's class has private fields, so the receiver has to be the result itself.
			const value: unknown = Reflect.get(target, key, target);
			if (typeof value !== "function") return watched(value);
			return (...args: unknown[]) => {
				if (args.some((arg) => isObject(arg) && arg["consumeSseStream"] !== undefined)) readers.keep();
				const given = (value as (...args: unknown[]) => unknown).apply(target, args);
				const [response] = args;
				if (!(response instanceof ServerResponse))
					return watched(key === "consumeStream" ? (given as Promise<void>).then(() => end.over()) : given);
				watchResponse(response, readers, end);
				return given;
			};
		},
	});
}

/** A run is left when the last of its readers leaves. */
class Readers {
	readonly #end: StreamEnd;
	#reading = 0;
	/** The SDK itself reads to the end, because somebody waits for it. */
	#isKept = false;

	constructor(end: StreamEnd) {
		this.#end = end;
	}

	keep(): void {
		this.#isKept = true;
	}

	/** Somebody begins to read; gives what to call if they leave. */
	begin(): () => Promise<void> {
		this.#reading++;
		return async () => {
			this.#reading--;
			if (this.#reading === 0 && !this.#isKept) await this.#end.cancelled();
		};
	}
}

function watchResponse(response: Writable, readers: Readers, end: StreamEnd): void {
	const leave = readers.begin();
	response.once("close", () => void (response.writableFinished ? end.over() : leave()));
}

function watchStream<T>(stream: ReadableStream<T>, readers: Readers, end: StreamEnd): ReadableStream<T> {
	const reader = stream.getReader();
	let leave: (() => Promise<void>) | undefined;
	const source: UnderlyingSource<T> = {
		pull: async (controller) => {
			leave ??= readers.begin();
			try {
				const { done, value } = await reader.read();
				if (!done) return controller.enqueue(value);
				await end.over();
				controller.close();
			} catch (error) {
				controller.error(await end.failed(error));
			}
		},
		cancel: async (reason) => {
			await (leave ?? readers.begin())();
			// Where others read on, this ends only with them.
			void reader.cancel(reason).catch(() => {});
		},
	};
	return new NodeStream(source, { highWaterMark: 0 });
}
