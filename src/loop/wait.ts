/** Waits, unless one of the signals aborts first, or `sooner` comes. */
export async function pause(
	seconds: number,
	signals: readonly (AbortSignal | undefined)[],
	...sooner: Promise<void>[]
): Promise<void> {
	if (seconds === 0) return;
	let timer: NodeJS.Timeout | undefined;
	const over = new Promise((resolve) => (timer = setTimeout(resolve, seconds * 1000)));
	await unlessAborted(Promise.race([over, ...sooner]), signals);
	clearTimeout(timer);
}

/** The value of the promise; undefined if one of the signals aborts first. */
export async function unlessAborted<T>(
	promise: Promise<T>,
	signals: readonly (AbortSignal | undefined)[],
): Promise<T | undefined> {
	const ends = AbortSignal.any(signals.filter((signal) => signal !== undefined));
	if (ends.aborted) return undefined;
	let end = (): void => {};
	const aborted = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
	ends.addEventListener("abort", end);
	try {
		return await Promise.race([promise, aborted]);
	} finally {
		ends.removeEventListener("abort", end);
	}
}
