import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Clock } from "../../src/loop/clock.ts";

/** A clock, and a way to let time pass: timers run as they would, every five seconds. */
function clock(t: TestContext): {
	clock: Clock;
	pass: (seconds: number) => void;
	/** No timer runs: the machine is suspended. */
	sleep: (seconds: number) => void;
	/** No timer runs: a tool has blocked the process. */
	block: (seconds: number) => void;
} {
	let now = 0;
	let busy = 0;
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	t.after(() => t.mock.timers.reset());
	const pass = (seconds: number): void => {
		for (let second = 0; second < seconds; second++) {
			now += 1000;
			t.mock.timers.tick(1000);
		}
	};
	const sleep = (seconds: number): void => void (now += 1000 * seconds);
	const block = (seconds: number): void => {
		sleep(seconds);
		busy += 1000 * seconds;
	};
	return {
		clock: new Clock(
			() => now,
			() => busy,
		),
		pass,
		sleep,
		block,
	};
}

test("a silent tool of ten minutes counts ten minutes", (t) => {
	const { clock: it, pass } = clock(t);
	it.run();
	pass(600);
	assert.equal(it.lap(), 600_000);
	assert.equal(it.lap(), 0);
});

test("a pause does not count, however long it is and however often it is told of", (t) => {
	const { clock: it, pass } = clock(t);
	it.run();
	pass(1);
	it.pause();
	it.pause();
	pass(900);
	it.run();
	it.run();
	pass(2);
	assert.equal(it.lap(), 3000);
});

test("while the machine is suspended nothing counts; a minute without a look still does", (t) => {
	const { clock: it, pass, sleep } = clock(t);
	it.run();
	pass(5);
	sleep(61);
	pass(10);
	assert.equal(it.lap(), 10_000, "the five seconds up to the first look after it are lost with the gap");
	it.stop();
	it.run();
	sleep(60);
	assert.equal(it.lap(), 60_000);
});

test("a tool that blocks the process for more than a minute counts, and only that does", (t) => {
	const { clock: it, pass, sleep, block } = clock(t);
	block(500);
	it.run();
	pass(5);
	block(125);
	pass(5);
	assert.equal(it.lap(), 135_000 - 5_000, "the tick that follows is in the same gap");
	block(70);
	sleep(300);
	assert.equal(it.lap(), 70_000);
	it.pause();
	block(80);
	it.run();
	sleep(61);
	assert.equal(it.lap(), 0);
});

test("without others, the clocks are those of the process: one that blocks is busy", async () => {
	await setImmediate();
	let now = 0;
	const it = new Clock(() => now);
	it.run();
	const started = performance.now();
	while (performance.now() - started < 20);
	now += 61_000;
	const counted = it.lap();
	it.stop();
	assert.ok(counted >= 20 && counted < 61_000, `it counted ${counted} ms`);
});

test("nothing counts and no alarm rings once the run is over", (t) => {
	const { clock: it, pass } = clock(t);
	let rang = 0;
	it.run();
	it.setAlarm(5000, () => rang++);
	it.setAlarm(4000, () => rang++);
	pass(4);
	assert.equal(rang, 1);
	it.setAlarm(5000, () => rang++);
	it.stop();
	it.lap();
	pass(60);
	assert.deepEqual([rang, it.lap()], [1, 0]);
});

test("an alarm in more than 24.8 days, of which Node would make one millisecond, does not ring at once", (t) => {
	const { clock: it } = clock(t);
	const { setTimeout } = globalThis;
	const waits: unknown[] = [];
	globalThis.setTimeout = Object.assign(
		(ring: () => void, ms?: number) => setTimeout(ring, waits.push(ms) && ms),
		setTimeout,
	);
	try {
		it.setAlarm(30 * 24 * 60 * 60 * 1000, () => assert.fail("It rang."));
	} finally {
		globalThis.setTimeout = setTimeout;
	}
	assert.deepEqual(waits, [2 ** 31 - 1]);
	it.cancelAlarm();
});

test("without another clock it is the process's, and no timer is left when the run is over", (t) => {
	t.mock.method(performance, "now", () => 7 + 1000 * looks++);
	let looks = 0;
	const stopped = t.mock.method(globalThis, "clearInterval");
	const ticking = t.mock.method(globalThis, "setInterval");
	const it = new Clock();
	it.run();
	assert.equal(it.lap(), 1000);
	it.stop();
	assert.equal(stopped.mock.calls[0]?.arguments[0], ticking.mock.calls[0]?.result);
});

test("fractions of a millisecond add up", () => {
	let now = 0;
	const it = new Clock(() => now);
	it.run();
	const laps = Array.from({ length: 8 }, () => {
		now += 0.25;
		return it.lap();
	});
	it.stop();
	assert.deepEqual(laps, [0, 0, 0, 1, 0, 0, 0, 1]);
});
