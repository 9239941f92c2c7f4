/** Sees how a stream of the AI SDK ends, whoever reads it and however: the SDK itself does not say that it was cancelled. */
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
	const watched = (value: unknown): unknown => {
		if (value instanceof ReadableStream) return watchStream(value, end);
		if (value instanceof Response && value.body) return new Response(watchStream(value.body, end), value);
		if (value instanceof Promise) value.catch((error: unknown) => end.failed(error));
		return value;
	};
	return new Proxy(result, {
		get: (target, key) => {
			// The SDK's class has private fields, so the receiver has to be the result itself.
			const value: unknown = Reflect.get(target, key, target);
			if (typeof value !== "function") return watched(value);
			return (...args: unknown[]) => watched((value as (...args: unknown[]) => unknown).apply(target, args));
		},
	});
}

function watchStream<T>(stream: ReadableStream<T>, end: StreamEnd): ReadableStream<T> {
	const reader = stream.getReader();
	const source: UnderlyingSource<T> = {
		pull: async (controller) => {
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
			await end.cancelled();
			await reader.cancel(reason);
		},
	};
	return new NodeStream(source, { highWaterMark: 0 });
}
