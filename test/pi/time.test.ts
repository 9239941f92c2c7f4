import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { bash, calls, endless, held, host, outcomes, type Reply, spy, text } from "../harness/index.ts";

const ONE_SECOND = { PI_TURN_LIMIT_TIME: "1s", PI_TURN_LIMIT_GRACE: "0" };
const CUT =
	/^pi-turn-limit: stopped at the limit of 1s \(PI_TURN_LIMIT_TIME\), which cut off what was under way, without an answer; spent: /;

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
