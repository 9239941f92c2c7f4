import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Outcome } from "../../src/core/outcome.ts";
import { Session } from "../../src/pi/session.ts";
import { bash, calls, endless, held, host, outcomes, type Reply, spy, text } from "../harness/index.ts";
import { noop, session, type SessionOptions } from "../harness/session.ts";

const SECOND = 1000;

/** A session with a limit on its time, and a clock in the hands of the test. */
async function timed(t: TestContext, maxTime: string, seconds: number, options: Partial<SessionOptions> = {}) {
	const clock = { now: 0 };
	const heard: Outcome[] = [];
	const limit = (pi: ExtensionAPI): void => {
		const places = [{ values: { maxTime, grace: 0 }, name: () => "option", strength: "start" as const }];
		const onReport = ({ outcome }: { outcome: Outcome }): void => void heard.push(outcome);
		new Session(pi, { rank: "program", places, now: () => clock.now, onReport });
	};
	const reply = (n: number): Reply => {
		clock.now += seconds * SECOND;
		return options.reply?.(n) ?? noop;
	};
	const pi = await session(t, { ...options, extensions: [limit, ...(options.extensions ?? [])], reply });
	return { ...pi, clock, heard };
}

test("the turn in which the time runs out is the last", async (t) => {
	const { prompt, turns, heard } = await timed(t, "10s", 4);
	await prompt("go");
	assert.equal(turns(), 3);
	assert.deepEqual(
		heard.map((outcome) => [outcome.kind, "meter" in outcome && outcome.meter, outcome.time]),
		[["exhausted", "time", 12]],
	);
});

test("the clock stands still while the person is asked, and a yes gives as much again", async (t) => {
	const asked: string[] = [];
	const confirm = (title: string, message: string): Promise<boolean> => {
		asked.push(`${title}: ${message.split("\n")[0]}`);
		scene.clock.now += 900 * SECOND;
		return Promise.resolve(asked.length === 1);
	};
	const scene = await timed(t, "10s", 5, { ui: { confirm } });
	await scene.prompt("go");
	const question = "Time limit reached: You've used 10s. Continue?";
	assert.deepEqual([asked, scene.turns()], [[question, question], 4]);
	assert.equal(scene.heard[0]?.time, 20);
});

test("another extension's dialog does not count", async (t) => {
	const asker = (pi: ExtensionAPI): void => {
		pi.on("tool_call", async (_event, { ui }) => {
			await ui.select("Allow?", ["yes", "no"]);
		});
	};
	const select = async (): Promise<string> => {
		await setImmediate(); // A person does not answer before pi has told that it asks.
		scene.clock.now += 50 * SECOND;
		return "yes";
	};
	const reply = (n: number): Reply => (n < 4 ? noop : { text: "done" });
	const scene = await timed(t, "30s", 2, { ui: { select }, extensions: [asker], reply });
	await scene.prompt("go");
	assert.deepEqual(
		scene.heard.map(({ kind, time }) => [kind, time]),
		[["completed", 8]],
	);
});

test("after a dialog whose end never comes the clock runs again when the agent works", async (t) => {
	const asker = (pi: ExtensionAPI): void => {
		pi.on("tool_call", (_event, { ui }) => {
			void ui.select("Replaced?", ["yes"]);
		});
	};
	const select = (): Promise<string> => new Promise(() => {});
	const reply = (n: number): Reply => (n < 4 ? noop : { text: "done" });
	const scene = await timed(t, "unlimited", 2, { ui: { select }, extensions: [asker], reply });
	await scene.prompt("go");
	assert.deepEqual(
		scene.heard.map(({ kind, time }) => [kind, time]),
		[["completed", 8]],
	);
});

const ONE_SECOND = { PI_TURN_LIMIT_TIME: "1s", PI_TURN_LIMIT_GRACE: "0" };
const CUT =
	/^pi-turn-limit: exhausted at the limit of 1s \(PI_TURN_LIMIT_TIME\), which cut off what was under way; spent: /;

test("a headless run with a second of time does not wait for a slow model", async (t) => {
	const slow = held();
	const pi = await host(t, { model: endless(slow), env: ONE_SECOND, after: [spy] });
	const { stderr, code } = await pi.print("go");
	slow.release();
	assert.match(stderr, CUT);
	assert.equal(code, 53);
	assert.equal(pi.model.requests.length, 1);
	assert.equal((outcomes(pi)[0] as { cut?: boolean }).cut, true);
});

test("a headless run with a second of time does not wait for a slow tool", async (t) => {
	const pi = await host(t, { model: endless(calls(bash("sleep 999"))), env: ONE_SECOND, after: [spy] });
	const { stderr, code } = await pi.print("go");
	assert.match(stderr, CUT);
	assert.equal(code, 53);
	assert.equal(pi.model.requests.length, 1);
});

test("under synthesize nothing is cut off: the answer comes after the call", async (t) => {
	const model = ({ last }: { last: string }): Reply =>
		/is spent/.test(last) ? text("All I have.") : calls(bash("sleep 1.2; echo x >> marks"));
	const pi = await host(t, { model, env: { ...ONE_SECOND, PI_TURN_LIMIT_POLICY: "synthesize" } });
	const { stdout, code } = await pi.print("go");
	assert.deepEqual([stdout, code, pi.marks()], ["All I have.\n", 53, ["x"]]);
});

/** Makes a process live a hundred times faster, as far as our clock can tell. */
const FAST = `data:text/javascript,${encodeURIComponent(`
	const now = performance.now.bind(performance);
	performance.now = () => 100 * now();
	const every = globalThis.setInterval;
	globalThis.setInterval = (act, ms, ...more) => every(act, ms === 5000 ? 50 : ms, ...more);
`)}`;

test("the time in which the whole process is stopped does not count", async (t) => {
	const slow = held(text("done"));
	// In the fast process 30 minutes are 18 seconds, and a gap of 60 seconds is 0.6.
	const env = { PI_TURN_LIMIT_TIME: "30m", NODE_OPTIONS: `--import=${FAST}` };
	const pi = await host(t, { model: [slow], env, after: [spy] });
	const running = pi.start("-p", "go");
	await pi.model.arrival(1);
	running.child.kill("SIGSTOP");
	const stopped = performance.now();
	await setTimeout(1500); // Nothing tells of the time that passes in a stopped process.
	running.child.kill("SIGCONT");
	const gap = performance.now() - stopped;
	slow.release();
	const { code } = await running.ended();
	assert.equal(code, 0);
	assert.ok(outcomes(pi)[0]!.time < gap / 10, `${outcomes(pi)[0]!.time} s, with a gap of ${gap / 10} s`);
});
