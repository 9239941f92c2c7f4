import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
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

const LINE = /^pi-turn-limit: stopped at the limit of [^\n]*\n$/;

for (const [what, limit, model] of [
	["before its first turn", "0", endless()],
	["while the model answers", "0.3s", endless(held())],
	["under synthesize, with tools to the end", "0.3s", endless(calls(bash("sleep 0.3")))],
] as const) {
	test(`a run that is out of time ${what} leaves one line on standard error`, async (t) => {
		const env = {
			PI_TURN_LIMIT_TIME: limit,
			PI_TURN_LIMIT_POLICY: what.startsWith("under") ? "synthesize" : "abort",
		};
		const pi = await host(t, { model, env });
		const { code, stderr } = await pi.print("go");
		assert.equal(code, 53);
		assert.match(stderr, LINE);
	});
}

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
	const use = performance.eventLoopUtilization.bind(performance);
	performance.eventLoopUtilization = () => ({ active: 100 * use().active });
	const every = globalThis.setInterval;
	globalThis.setInterval = (act, ms, ...more) => every(act, ms === 5000 ? 50 : ms, ...more);
`)}`;

/** An extension to load beside ours: a tool that waits for another program and lets nothing else of pi run. */
async function blocks(pi: ExtensionAPI): Promise<void> {
	const { execSync } = await import("node:child_process");
	pi.registerTool({
		name: "block",
		label: "block",
		description: "Blocks.",
		parameters: { type: "object", properties: {} } as never,
		execute: () => {
			execSync("sleep 1");
			return Promise.resolve({ content: [{ type: "text", text: "ok" }], details: {} });
		},
	});
}

test("the time in which a tool blocks the process counts, however long it is", async (t) => {
	// In the fast process a second is 100.
	const env = { PI_TURN_LIMIT_TIME: "90s", PI_TURN_LIMIT_GRACE: "0", NODE_OPTIONS: `--import=${FAST}` };
	const model = [calls({ name: "block", args: {} }), text("done")];
	const pi = await host(t, { model, env, after: [blocks], fresh: true });
	const { code, stderr } = await pi.print("go");
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 1m30s/);
	assert.deepEqual([code, pi.model.requests.length], [53, 1]);
});

/** The numbers of epoll_wait and epoll_pwait, on Intel and ARM. */
const WAITS_FOR_EVENTS = /^(232|281|22) /;

/** Stops a process while it waits for events, as nearly every process does that a person or a closed lid stops. */
async function stopIdle(child: ChildProcess): Promise<void> {
	const proc = (file: string): string => readFileSync(`/proc/${child.pid}/${file}`, "utf8");
	for (;;) {
		child.kill("SIGSTOP");
		while (!/\) T /.test(proc("stat"))) await setImmediate();
		if (WAITS_FOR_EVENTS.test(proc("syscall"))) return;
		child.kill("SIGCONT");
		await setImmediate();
	}
}

test("the time in which the whole process is stopped does not count", async (t) => {
	const slow = held(text("done"));
	// In the fast process 30 minutes are 18 seconds, and a gap of 60 seconds is 0.6.
	const env = { PI_TURN_LIMIT_TIME: "30m", NODE_OPTIONS: `--import=${FAST}` };
	const pi = await host(t, { model: [slow], env, after: [spy] });
	const started = performance.now();
	const running = pi.start("-p", "go");
	await pi.model.arrival(1);
	await stopIdle(running.child);
	const stopped = performance.now();
	await setTimeout(1500); // Nothing tells of the time that passes in a stopped process.
	running.child.kill("SIGCONT");
	const gap = performance.now() - stopped;
	slow.release();
	const { code } = await running.ended();
	assert.equal(code, 0);
	// Ten fast seconds are 100 ms.
	const awake = (performance.now() - started - gap) / 10;
	assert.ok(outcomes(pi)[0]!.time <= awake, `${outcomes(pi)[0]!.time} s, with a gap of ${gap / 10} s`);
});
