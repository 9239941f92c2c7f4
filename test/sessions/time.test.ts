/** The limit of time: what counts, and what is cut off where nobody can be asked. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Outcome } from "../../src/core/outcome.ts";
import { NOT_REQUESTED } from "../../src/hosts/pi/host/api.ts";
import { Clock } from "../../src/loop/clock.ts";
import { Session } from "../../src/hosts/pi/session.ts";
import { type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, held, text, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

/** A session with a limit on its time, whose clock and alarms are in the hands of the test; each reply takes so many seconds. */
async function timed(t: TestContext, maxTime: string, seconds: number, options: InsideOptions = {}, policy = "abort") {
	const clock = { now: 0, isBroken: false };
	const heard: Outcome[] = [];
	const alarms: number[] = [];
	const open = new Map<Clock, () => void>();
	const now = (): number => {
		if (!clock.isBroken) return clock.now;
		clock.isBroken = false;
		throw new Error("broken on purpose");
	};
	const limit = (pi: ExtensionAPI): void => {
		const places = [{ values: { maxTime, grace: 0, policy }, name: () => "option", strength: "start" as const }];
		const onReport = ({ outcome }: { outcome: Outcome }): void => void heard.push(outcome);
		const watch = new Clock(now);
		t.mock.method(watch, "setAlarm", (ms: number, ring: () => void) => {
			alarms.push(ms);
			open.set(watch, ring);
		});
		t.mock.method(watch, "cancelAlarm", () => void open.delete(watch));
		new Session(pi, { rank: "program", places, clock: watch, onReport });
	};
	const { model = endless(noop), extensions = [], ...others } = options;
	const pi = await inside(t, {
		...{ isPi: false, ...others, extensions: [limit, ...extensions] },
		model: (request, n) => {
			clock.now += 1000 * seconds;
			return typeof model === "function" ? model(request, n) : (model[n - 1] ?? text("done"));
		},
	});
	/** Lets so many seconds pass while the model works on its nth reply, then rings. */
	const ringDuring = async (n: number, seconds: number): Promise<void> => {
		await pi.model.arrival(n);
		clock.now += 1000 * seconds;
		for (const ring of open.values()) ring();
		await setImmediate();
	};
	const ends = (): unknown[] => heard.map(({ kind, time }) => [kind, time]);
	return { pi, clock, heard, alarms, open, ringDuring, ends };
}

test("the turn in which the time runs out is the last", async (t) => {
	const { pi, heard, ends } = await timed(t, "10s", 4);
	await pi.run("go");
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual(ends(), [["exhausted", 12]]);
	assert.equal("meter" in heard[0]! && heard[0].meter, "time");
});

test("time that is granted in the final pass takes back that it is spent", async (t) => {
	const slowTool = (pi: ExtensionAPI): void => {
		pi.on("tool_execution_end", () => void (scene.clock.now += 10_000));
	};
	const slow = held(noop);
	const scene = await timed(t, "10s", 0, { extensions: [slowTool], model: [noop, slow] }, "synthesize");
	const run = scene.pi.run("go");
	await scene.pi.model.arrival(2);
	await scene.pi.run("/turn-limit time +60s");
	slow.release();
	await run;
	const told = scene.pi.model.turns.map((request) => [
		request.count("is spent"),
		request.count("The limit was raised"),
	]);
	assert.deepEqual(told, [
		[0, 0],
		[1, 0],
		[0, 1],
	]);
});

describe("the clock stands still", () => {
	test("while the person is asked, and a yes gives as much again", async (t) => {
		const person = (_asked: unknown, n: number): boolean => {
			scene.clock.now += 50_000;
			return n === 1;
		};
		const scene = await timed(t, "10s", 5, { person });
		await scene.pi.run("go");
		const question = "Time limit reached: You've used 10s. Continue?";
		assert.deepEqual(
			scene.pi.asked.map(({ title, message }) => `${title}: ${message.split("\n")[0]}`),
			[question, question],
		);
		assert.equal(scene.pi.model.requests.length, 4);
		assert.deepEqual(scene.ends(), [["declined", 20]]);
		assert.deepEqual(scene.alarms, []);
	});

	test("while another extension's dialog is open", async (t) => {
		const asker = (pi: ExtensionAPI): void => {
			pi.on("tool_call", async (_event, { ui }) => {
				await ui.select("Allow?", ["yes", "no"]);
			});
		};
		const select = async (): Promise<string> => {
			await setImmediate(); // A person does not answer before pi has told that it asks.
			scene.clock.now += 50_000;
			return "yes";
		};
		const scene = await timed(t, "30s", 2, { ui: { select }, extensions: [asker], model: times(3, noop) });
		await scene.pi.run("go");
		assert.deepEqual(scene.ends(), [["completed", 8]]);
	});

	test("between two runs", async (t) => {
		const scene = await timed(t, "10s", 2, { model: [] });
		await scene.pi.run("go");
		scene.clock.now += 50_000;
		await scene.pi.session.sendUserMessage("go on");
		assert.deepEqual(scene.ends(), [
			["completed", 2],
			["completed", 2],
		]);
	});

	test("after a call that a command makes between two runs", async (t) => {
		const scene = await timed(t, "10s", 2, { model: [] });
		await scene.pi.run("go");
		const call = { type: "tool_call", toolCallId: "x", toolName: "noop", input: {} } as const;
		await scene.pi.session.extensionRunner.emitToolCall(call);
		scene.clock.now += 50_000;
		await scene.pi.session.sendUserMessage("go on");
		assert.deepEqual(scene.ends(), [
			["completed", 2],
			["completed", 2],
		]);
	});

	test("while the person is asked beside another extension's dialog, of which alone pi tells", async (t) => {
		const asker = (pi: ExtensionAPI): void => {
			pi.on("tool_call", (_event, { ui }) => void ui.select("Allow?", ["yes"]));
		};
		const person = (_asked: unknown, n: number): boolean => {
			scene.clock.now += 50_000;
			return n === 1;
		};
		const ui = { select: (): Promise<string> => new Promise(() => {}) };
		const scene = await timed(t, "10s", 5, { person, ui, extensions: [asker] });
		await scene.pi.run("go");
		assert.deepEqual(scene.ends(), [["declined", 20]]);
	});

	test("until the yes, beside another extension's dialog too: the call that waited takes its time", async (t) => {
		const asker = (pi: ExtensionAPI): void => {
			pi.on("tool_call", (_event, { ui }) => void ui.select("Allow?", ["yes"]));
			pi.on("tool_result", () => void (scene.clock.now += 3_000));
		};
		const person = (_asked: unknown, n: number): boolean => n === 1;
		const ui = { select: (): Promise<string> => new Promise(() => {}) };
		const scene = await timed(t, "10s", 5, { person, ui, extensions: [asker] });
		await scene.pi.run("go");
		// The first call does not count: pi has just told of the dialog.
		assert.deepEqual(scene.ends(), [["declined", 5 + 0 + 5 + 3 + 5 + 3]]);
	});

	test("while another extension's dialog is open, also after a reload", async (t) => {
		let open = (): void => {};
		const opened = new Promise<void>((resolve) => (open = resolve));
		let answer: (choice: string) => void = () => {};
		const asker = (pi: ExtensionAPI): void => {
			pi.on("tool_call", async (_event, { ui }) => {
				await ui.select("Allow?", ["yes"]);
			});
		};
		const select = (): Promise<string> => {
			open();
			return new Promise((resolve) => (answer = resolve));
		};
		const scene = await timed(t, "30s", 2, { ui: { select }, extensions: [asker], model: times(1, noop) });
		const run = scene.pi.run("go");
		await opened;
		await setImmediate();
		await scene.pi.session.reload();
		scene.clock.now += 20_000;
		answer("yes");
		await run;
		assert.deepEqual(scene.ends(), [["completed", 4]]);
	});

	test("until the agent works again, where the end of a dialog never comes", async (t) => {
		const asker = (pi: ExtensionAPI): void => {
			pi.on("tool_call", (_event, { ui }) => void ui.select("Replaced?", ["yes"]));
		};
		const select = (): Promise<string> => new Promise(() => {});
		const scene = await timed(t, "unlimited", 2, { ui: { select }, extensions: [asker], model: times(3, noop) });
		await scene.pi.run("go");
		assert.deepEqual(scene.ends(), [["completed", 8]]);
	});
});

describe("where nobody can be asked the alarm", () => {
	test("is set for the time that is left, with each turn and each call", async (t) => {
		const { pi, alarms } = await timed(t, "10s", 4, { model: [noop] });
		await pi.run("go");
		assert.deepEqual(alarms, [10_000, 6_000, 6_000]);
	});

	test("cuts off the turn that is under way", async (t) => {
		const slow = held(noop);
		const scene = await timed(t, "10s", 0, { model: [noop, slow] });
		const run = scene.pi.run("go");
		await scene.ringDuring(2, 10);
		await run;
		slow.release();
		const [outcome] = scene.heard;
		assert.deepEqual(
			[outcome?.kind, outcome?.time, outcome && "cut" in outcome && outcome.cut],
			["exhausted", 10, true],
		);
		assert.equal(scene.pi.model.requests.length, 2);
	});

	test("is set once more where a dialog has stopped the clock meanwhile", async (t) => {
		const slow = held(text("done"));
		const scene = await timed(t, "10s", 0, { model: [slow] });
		const run = scene.pi.run("go");
		await scene.ringDuring(1, 7);
		assert.deepEqual(scene.alarms, [10_000, 3_000]);
		slow.release();
		await run;
		assert.deepEqual(scene.ends(), [["completed", 7]]);
	});

	test("is not set where the time is unlimited, nor without a run", async (t) => {
		const unlimited = await timed(t, "unlimited", 4, { model: [noop] });
		await unlimited.pi.run("go");
		const idle = await timed(t, "10s", 0);
		await callIdly(idle.pi);
		assert.deepEqual([...unlimited.alarms, ...idle.alarms], []);
	});

	test("leaves the model the answer that the final pass asks for", async (t) => {
		const slow = held(noop);
		const scene = await timed(t, "10s", 0, { model: [slow, text("All I have.")] }, "synthesize");
		const run = scene.pi.run("go");
		await scene.ringDuring(1, 10);
		slow.release();
		await run;
		assert.deepEqual(scene.ends(), [["synthesized", 10]]);
		assert.equal(scene.alarms.length, 2, "one for each turn");
	});

	test("is set anew by the copy that a reload brings, for the time that is left", async (t) => {
		const slow = held(noop);
		const scene = await timed(t, "10s", 0, { model: [slow] });
		const run = scene.pi.run("go");
		await scene.pi.model.arrival(1);
		scene.clock.now += 4_000;
		await scene.pi.session.reload();
		await scene.ringDuring(1, 6);
		await run;
		slow.release();
		assert.deepEqual(scene.alarms, [10_000, 6_000]);
		assert.deepEqual(scene.ends(), [["exhausted", 10]]);
	});

	test("is silent after a session's end, and its run has all its time", async (t) => {
		const slow = held(noop);
		const scene = await timed(t, "10s", 0, { model: [slow] });
		void scene.pi.session.prompt("go");
		await scene.pi.model.arrival(1);
		scene.clock.now += 4_000;
		await scene.pi.quit();
		assert.deepEqual([scene.ends(), scene.open.size], [[["interrupted", 4]], 0]);
		slow.release();
	});

	test("stops a run for which we fail then", async (t) => {
		const slow = held(noop);
		const scene = await timed(t, "10s", 0, { model: [slow] });
		const run = scene.pi.run("go");
		await scene.pi.model.arrival(1);
		scene.clock.isBroken = true;
		await scene.ringDuring(1, 10);
		await run;
		slow.release();
		assert.deepEqual(
			scene.heard.map((outcome) => outcome.kind === "failed" && outcome.message),
			["Error: broken on purpose"],
		);
		const { rawStopReason } = scene.pi.last as { rawStopReason?: string };
		assert.notEqual(rawStopReason, NOT_REQUESTED, "the model was asked");
	});
});

/** The command of another extension can call a tool without a run. */
async function callIdly({ session }: Inside): Promise<void> {
	const event = { type: "tool_call", toolCallId: "1", toolName: "noop", input: {} } as const;
	assert.equal(await session.extensionRunner.emitToolCall(event), undefined);
}
