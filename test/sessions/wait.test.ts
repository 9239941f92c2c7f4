import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test, type TestContext } from "node:test";
import { pause, unlessAborted } from "../../src/loop/wait.ts";

/** Timers that the test lets fire; gives how long they were to wait, and how many were cleared. */
function timers(t: TestContext) {
	const waits: number[] = [];
	const cleared: unknown[] = [];
	const fire: (() => void)[] = [];
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms: number) => {
		waits.push(ms);
		return fire.push(then);
	});
	t.mock.method(globalThis, "clearTimeout", (timer: unknown) => void cleared.push(timer));
	return { waits, cleared, fire };
}

test("a pause of 0 seconds is none, whatever has ended", async (t) => {
	const { waits } = timers(t);
	await pause(0, [AbortSignal.abort()]);
	assert.deepEqual(waits, []);
});

test("a pause lasts its seconds", async (t) => {
	const { waits, fire } = timers(t);
	let isOver = false;
	const paused = pause(2, [undefined, new AbortController().signal]).then(() => (isOver = true));
	await Promise.resolve();
	assert.deepEqual([waits, isOver], [[2000], false]);
	fire[0]?.();
	await paused;
});

for (const which of [0, 1]) {
	test(`a pause ends when signal ${which + 1} of 2 aborts, and leaves no timer`, async (t) => {
		const { cleared } = timers(t);
		const ends = [new AbortController(), new AbortController()];
		const paused = pause(
			2,
			ends.map(({ signal }) => signal),
		);
		ends[which]?.abort();
		await paused;
		assert.deepEqual(cleared, [1]);
	});
}

test("a pause after the end is over at once, and leaves no timer", async (t) => {
	const { cleared } = timers(t);
	await pause(2, [AbortSignal.abort(), undefined]);
	assert.deepEqual(cleared, [1]);
});

for (const [what, promise, expected] of [
	["the promise has one", Promise.resolve("value"), "value"],
	["a signal aborts first", new Promise<never>(() => {}), undefined],
] as const) {
	test(`a value is ${expected} where ${what}, and nothing listens to the signals any more`, async (t) => {
		const ends = new AbortController();
		t.mock.method(AbortSignal, "any", () => ends.signal);
		const value = unlessAborted<string>(promise, [undefined, ends.signal]);
		if (expected === undefined) ends.abort();
		assert.equal(await value, expected);
		assert.deepEqual(getEventListeners(ends.signal, "abort"), []);
	});
}

test("a value that comes after the end is none", async () => {
	assert.equal(await unlessAborted(Promise.resolve("value"), [AbortSignal.abort()]), undefined);
});
