/** Pi reloads its extensions while one of our handlers works, or at the end of a run: nothing passes, nothing is forgotten. */
import assert from "node:assert/strict";
import { before, describe, mock, test, type TestContext } from "node:test";
import { tmpdir } from "node:os";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI, ExtensionFactory } from "@earendil-works/pi-coding-agent";
import { METER_IDS } from "../../src/core/meters.ts";
import type { Outcome } from "../../src/core/outcome.ts";
import { finalPass, pointOut } from "../../src/core/to-model.ts";
import { turnLimit } from "../../src/index.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { write } from "../harness/folders.ts";
import { endless, held, text, times } from "../harness/model.ts";
import { SessionManager } from "../harness/pi.ts";
import { noop } from "../harness/session.ts";

/** Every instance that is left here is of another build: it hands over data, not objects, and knows no limits of a month. */
before(() => {
	const { legacies } = processMemory;
	const set = legacies.set.bind(legacies);
	mock.method(legacies, "set", (id: string, left: { state?: { meters?: object } }) => {
		const functions = Object.entries(left).filter(([, value]) => typeof value === "function");
		const data = Object.entries(left).filter(([, value]) => typeof value !== "function");
		const copy = structuredClone(Object.fromEntries(data)) as typeof left;
		for (const meter of Object.keys(copy.state?.meters ?? {}))
			if (meter.startsWith("month")) Reflect.deleteProperty(copy.state?.meters ?? {}, meter);
		return set(id, Object.assign(left, copy, Object.fromEntries(functions)));
	});
});

const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n), PI_TURN_LIMIT_GRACE: "0" });
const ends = (pi: Inside): string[] =>
	(pi.entries("turn-limit-outcome") as Outcome[]).map(({ kind, turns }) => `${kind} ${turns}`);

/** A session beside an extension that reloads pi once, at the nth such event, and waits for it or does not. */
async function reloading(
	t: TestContext,
	{ event, nth = 1, waits = false, first = false }: { event: string; nth?: number; waits?: boolean; first?: boolean },
	options: InsideOptions,
) {
	let seen = 0;
	let reloaded: Promise<void> | undefined;
	const reloads = (api: ExtensionAPI): void => {
		api.on(event as "agent_end", async () => {
			if (++seen !== nth) return;
			reloaded = pi.session.reload();
			if (waits) await reloaded;
		});
	};
	const extensions: ExtensionFactory[] = first ? [reloads, installed] : [installed, reloads];
	const pi = await inside(t, { model: endless(noop), ...options, extensions });
	return { pi, reloaded: () => reloaded };
}

describe("an extension that reloads pi, and does not wait for it,", () => {
	const events = [
		...["before_agent_start", "agent_start", "turn_start", "message_start", "message_end", "tool_call"],
		...["tool_execution_end", "turn_end", "agent_end", "agent_before_settle", "agent_settled"],
	];
	const trees = { "": {}, " and a tree is limited": { PI_TURN_LIMIT_TREE_TURNS: "100" } };
	for (const event of events)
		for (const first of [true, false])
			for (const [tree, env] of Object.entries(trees))
				test(`in ${event}, loaded ${first ? "before" : "after"} us${tree}: two prompts have 3 turns each`, async (t) => {
					const options = { env: { ...limit(3), ...env }, person: () => false };
					const { pi, reloaded } = await reloading(t, { event, first }, options);
					await pi.run("go");
					await reloaded();
					assert.equal(pi.model.requests.length, 3);
					await pi.run("again");
					assert.equal(pi.model.requests.length, 6);
					assert.deepEqual([ends(pi), pi.asked.length, pi.errors], [["declined 3", "declined 3"], 2, []]);
				});

	for (const nth of [2, 3])
		test(`in the start of turn ${nth}, while the ledger is asked: that turn is counted once`, async (t) => {
			const env = { ...limit(3), PI_TURN_LIMIT_TREE_TURNS: "100" };
			const { pi, reloaded } = await reloading(
				t,
				{ event: "turn_start", nth, first: true },
				{ env, person: () => false },
			);
			await pi.run("go");
			await reloaded();
			assert.deepEqual([pi.model.requests.length, ends(pi)], [3, ["declined 3"]]);
		});
});

describe("a reload at the end of a run in a script", () => {
	const demand = finalPass({ meter: "turns", limit: 2 });
	const runs = {
		"that answered in the final pass": {
			model: (request) => (request.last === demand ? text("All I have.") : noop),
			...{ policy: "synthesize", grace: "0", code: 53, end: "synthesized 3" },
		},
		"that was told to wrap up": {
			model: [noop, text("Done.")],
			policy: "abort",
			grace: "1",
			code: 54,
			end: "wrapped_up 2",
		},
		"that was stopped": { model: endless(noop), policy: "abort", grace: "0", code: 53, end: "exhausted 2" },
	} satisfies Record<string, InsideOptions & { policy: string; grace: string; code: number; end: string }>;
	for (const [what, { model, policy, grace, code, end }] of Object.entries(runs))
		for (const event of ["turn_end", "agent_end", "agent_before_settle", "agent_settled"])
			for (const first of [true, false])
				test(`${what}, in ${event}, ${first ? "before" : "after"} us: it ends as without it`, async (t) => {
					const followed = new Followed(t);
					const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: grace, PI_TURN_LIMIT_POLICY: policy };
					const nth = event === "turn_end" ? 2 : 1;
					const { pi, reloaded } = await reloading(t, { event, nth, waits: true, first }, { model, env });
					await pi.run("go");
					await reloaded();
					assert.deepEqual([ends(pi), followed.end(0)], [[end], code]);
					assert.ok(followed.stderr.split("\n").length <= 2, followed.stderr);
				});
});

test("a reload in the pause before a run is refused does not let it through", async (t) => {
	const { setTimeout: real } = globalThis;
	let wait = (): void => {};
	let over = (): void => {};
	const waiting = new Promise<void>((resolve) => (wait = resolve));
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
		if (ms !== 1000) return Reflect.apply(real, undefined, [then, ms === 2000 ? 0 : ms, ...args]) as unknown;
		over = then;
		wait();
		return undefined;
	});
	const pi = await inside(t, { model: endless(noop), env: limit(1), person: () => false });
	await pi.run("go");
	const wake = (): Promise<void> =>
		pi.session.sendCustomMessage({ customType: "peer", content: "go on", display: true }, { triggerTurn: true });
	await wake();
	const run = wake();
	await waiting;
	await pi.session.reload();
	over();
	await run;
	assert.equal(pi.model.requests.length, 1);
});

test("a question is open when pi reloads, and another extension takes its time to start: the turn waits", async (t) => {
	const { setTimeout: real, clearTimeout: realClear } = globalThis;
	const patience = new Map<object, () => void>();
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
		if (ms !== 10_000) return Reflect.apply(real, undefined, [then, ms, ...args]) as unknown;
		const timer = { ref: () => {}, unref: () => {} };
		patience.set(timer, then);
		return timer;
	});
	t.mock.method(globalThis, "clearTimeout", (timer: object | undefined) => {
		if (!timer || !patience.delete(timer)) realClear(timer as NodeJS.Timeout | undefined);
	});
	let start = (): void => {};
	let begin = (): void => {};
	const started = new Promise<void>((resolve) => (start = resolve));
	const begun = new Promise<void>((resolve) => (begin = resolve));
	const slow = (api: ExtensionAPI): void => {
		api.on("session_start", async ({ reason }) => {
			if (reason !== "reload") return;
			begin();
			await started;
		});
	};
	const pi = await inside(t, {
		...{ model: [text("done")], env: limit(0), extensions: [slow, installed] },
		person: ({ signal }, n) =>
			n > 1 || new Promise((resolve) => signal?.addEventListener("abort", () => resolve(false))),
	});
	const run = pi.run("go");
	await pi.until("the question", () => pi.asked.length > 0);
	const reloaded = pi.session.reload();
	await begun;
	for (const tooLate of patience.values()) tooLate();
	for (let i = 0; i < 20; i++) await setImmediate();
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [0, 1]);
	start();
	await reloaded;
	await run;
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [1, 2]);
});

for (const event of ["input", "before_agent_start"] as const)
	for (const first of [true, false])
		test(`a reload between a prompt and its run, in ${event} ${first ? "before" : "after"} us, leaves the prompt its turns`, async (t) => {
			const { pi } = await reloading(t, { event, nth: 2, waits: true, first }, { env: limit(3), person: () => false });
			await pi.run("go");
			await pi.run("again");
			assert.deepEqual([pi.model.requests.length, ends(pi)], [6, ["declined 3", "declined 3"]]);
		});

test("the model is told of its circle, though pi reloads during the third call", async (t) => {
	const env = { PI_TURN_LIMIT_REPEATS: "10" };
	const options = { env, model: times(4, noop) };
	const { pi } = await reloading(t, { event: "tool_result", nth: 3, waits: true }, options);
	await pi.run("go");
	const words = pointOut({ tool: "noop", input: {} }, 3);
	assert.deepEqual(
		pi.model.requests.map((request) => request.count(words)),
		[0, 0, 0, 1, 1],
	);
});

test("a reload between runs keeps what was granted for the next prompt, and that only a prompt starts one", async (t) => {
	const pi = await inside(t, { model: endless(noop), env: limit(2), person: () => false });
	await pi.run("go");
	await pi.session.reload();
	await pi.session.sendCustomMessage({ customType: "peer", content: "go on", display: true }, { triggerTurn: true });
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [2, 1]);
	await pi.run("/turn-limit +1");
	await pi.session.reload();
	await pi.run("again");
	assert.deepEqual([pi.model.requests.length, ends(pi).at(-1)], [2 + 3, "declined 3"]);
});

test("a second reload while the first is under way ends no instance that has just begun", async (t) => {
	const pi = await inside(t, { model: endless(noop), env: limit(2), person: () => false });
	await Promise.all([pi.session.reload(), pi.session.reload()]);
	await pi.run("go");
	assert.deepEqual([pi.model.requests.length, pi.asked.length, ends(pi)], [2, 1, ["declined 2"]]);
});

test("two reloads at once, of which another extension delays the second: one copy guards the session", async (t) => {
	let ends = 0;
	let goOn = (): void => {};
	const delayed = new Promise<void>((resolve) => (goOn = resolve));
	const slow = (api: ExtensionAPI): void => {
		api.on("session_shutdown", async () => {
			if (++ends === 2) await delayed;
		});
	};
	const pi = await inside(t, {
		model: endless(noop),
		env: limit(2),
		person: () => false,
		extensions: [slow, installed],
	});
	const reloads = [pi.session.reload(), pi.session.reload()];
	await reloads[0];
	goOn();
	await reloads[1];
	await pi.run("go");
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [2, 1]);
});

test("a reload after settings that cannot be enforced were mended: the limit holds, and no run is stopped", async (t) => {
	const bad = { "turn-limit.json": { budget: { at: "nonsense" } } };
	const pi = await inside(t, { model: endless(noop), env: limit(3), person: () => false, agentFiles: bad });
	await pi.run("go");
	assert.equal(pi.model.requests.length, 0);
	await pi.session.reload();
	await pi.run("again");
	assert.equal(pi.model.requests.length, 0);
	write(pi.folder, { "turn-limit.json": {} });
	await pi.session.reload();
	await pi.run("again");
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [3, 1]);
});

describe("what waits for the next instance", () => {
	/** Our timers of so many seconds that are neither over nor cleared. */
	function waiting(t: TestContext, ...seconds: number[]): Set<NodeJS.Timeout> {
		const timers = new Set<NodeJS.Timeout>();
		const { setTimeout: real, clearTimeout: end } = globalThis;
		t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
			const timer = Reflect.apply(real, undefined, [then, ms, ...args]) as NodeJS.Timeout;
			if (seconds.includes(ms / 1000)) timers.add(timer);
			return timer;
		});
		t.mock.method(globalThis, "clearTimeout", (timer: NodeJS.Timeout) => {
			timers.delete(timer);
			end(timer);
		});
		return timers;
	}

	test("waits no longer once that one has begun, so pi can end", async (t) => {
		const { pi, reloaded } = await reloading(t, { event: "tool_call" }, { env: limit(3) });
		const timers = waiting(t, 10, 60);
		await pi.run("go");
		await reloaded();
		assert.equal(pi.model.requests.length, 3);
		assert.equal(timers.size, 0);
	});

	test("lets pi end, also in mid-run, and keeps it as soon as a handler of pi waits too", async (t) => {
		const slow = held(noop);
		const pi = await inside(t, { env: limit(2), model: [text("done"), slow, noop] });
		const timers = waiting(t, 10);
		const keepsPi = (): boolean[] => [...timers].map((timer) => timer.hasRef());
		const leaves = () => pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "reload" });
		await pi.run("go");
		await leaves();
		assert.deepEqual(keepsPi(), [false]);
		await pi.session.reload();
		const run = pi.run("go on");
		await pi.model.arrival(2);
		await leaves();
		assert.deepEqual(keepsPi(), [false]);
		slow.release();
		while (!keepsPi()[0]) await setImmediate();
		await pi.session.reload();
		await run;
		assert.deepEqual([pi.model.requests.length, keepsPi()], [1 + 2, []]);
	});
});

test("the demand of the final pass is in one request, though pi reloads in that turn", async (t) => {
	const env = { PI_TURN_LIMIT_TREE_TURNS: "2", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_POLICY: "synthesize" };
	const demand = finalPass({ meter: "treeTurns", limit: 2 });
	const model: InsideOptions["model"] = (request) => (request.count(demand) > 0 ? text("All I have.") : noop);
	for (const event of ["turn_start", "message_end"]) {
		const nth = event === "turn_start" ? 3 : 6;
		const { pi } = await reloading(t, { event, nth, waits: true }, { env, model });
		await pi.run("go");
		await pi.run("again");
		assert.deepEqual(
			pi.model.requests.map((request) => request.count(demand)),
			[0, 0, 1, 0, 0, 1],
		);
	}
});

test("an installed copy does not take over from the limit of a program, which goes on counting", async (t) => {
	const outcomes: Outcome[] = [];
	const program = turnLimit({ turns: 3, grace: 0, onOutcome: (outcome) => outcomes.push(outcome) });
	const slow = held(noop);
	const model = [noop, slow, ...times(5, noop)];
	const pi = await inside(t, { model, isPi: false, extensions: [installed, program] });
	const run = pi.run("go");
	await pi.model.arrival(2);
	await pi.session.reload();
	slow.release();
	await run;
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual(
		outcomes.map(({ kind, turns }) => [kind, turns]),
		[["exhausted", 3]],
	);
});

test("a copy that is removed in mid-run and put back later: the next prompt has all its turns", async (t) => {
	const { setTimeout: real } = globalThis;
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
		return Reflect.apply(real, undefined, [then, ms === 10_000 ? 0 : ms, ...args]) as unknown;
	});
	const slow = held(noop);
	const pi = await inside(t, {
		model: [noop, slow, text("done"), ...times(9, noop)],
		env: limit(3),
		person: () => false,
	});
	const run = pi.run("go");
	await pi.model.arrival(2);
	await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "reload" });
	slow.release();
	await run;
	await pi.session.reload();
	await pi.run("again");
	assert.equal(pi.model.requests.length, 3 + 3);
});

describe("an instance of another version", () => {
	/** As 2.0 leaves it: without weeks and months, and with objects of its own. */
	function leftBehind(t: TestContext, state: object): { manager: SessionManager; ended: string[] } {
		const manager = SessionManager.inMemory(tmpdir());
		const ended: string[] = [];
		const shares = { endRun: () => Promise.resolve(void ended.push("shares")) };
		const rest = { rank: "installed", isWorking: false, turn: {}, telling: {}, prompt: { isPersons: false } };
		const legacy = { ...rest, state, shares, messages: {}, succeed: () => ended.push("old"), expectHeir: () => {} };
		Map.prototype.set.call(processMemory.legacies, manager.getSessionId(), legacy);
		t.after(() => processMemory.legacies.clear());
		return { manager, ended };
	}

	const limitOf = (id: string): object => ({ max: id === "turns" ? 3 : "unlimited", policy: "abort" });
	const ids = METER_IDS.filter((id) => !/^(week|month)/.test(id));
	const none = { turns: 0, toolCalls: 0, cost: 0, tokens: 0, time: 0, repeats: 0, continuations: 0 };
	/** 2.0's, in mid-run after so many turns. */
	const afterTurns = (turns: number): object => ({
		...{ attended: false, isMember: false, grace: 0, exempt: [], advice: "armed" },
		meters: Object.fromEntries(
			ids.map((id) => [id, { limit: limitOf(id), used: id === "turns" ? turns : 0, extra: 0 }]),
		),
		streak: { recent: [], same: [0, 0, 0], warned: "no" },
		phase: {
			name: "running",
			run: {
				...{ spent: { ...none, turns }, turn: "ended", passes: [], lastCall: { tool: "noop", input: {} } },
				...{ endsAsking: false, refusals: 0, isHeld: false, isWaived: false },
			},
		},
	});

	test("that has counted 2 of 3 turns leaves 1, and its holds in the ledger end", async (t) => {
		const { manager, ended } = leftBehind(t, afterTurns(2));
		const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_MONTH_TURNS: "9" };
		const pi = await inside(t, { model: endless(noop), env, sessionManager: manager });
		assert.deepEqual(ended, ["shares", "old"]);
		await pi.session.sendUserMessage("go on");
		await pi.until("the end", () => pi.events.some(({ type }) => type === "agent_settled"));
		assert.deepEqual([pi.model.requests.length, pi.errors], [1, []]);
	});

	test("that was idle leaves what was granted for the next prompt", async (t) => {
		const promised = Object.fromEntries(ids.map((id) => [id, id === "turns" ? 2 : 0]));
		const { manager } = leftBehind(t, { ...afterTurns(3), phase: { name: "idle", prompted: false, promised } });
		const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" };
		const pi = await inside(t, { model: endless(noop), env, sessionManager: manager });
		await pi.run("go");
		assert.deepEqual([pi.model.requests.length, pi.errors], [3 + 2, []]);
	});

	test("that says nothing we understand leaves a session that counts from its start", async (t) => {
		const { manager, ended } = leftBehind(t, { phase: { name: "hovering" } });
		const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" };
		const pi = await inside(t, { model: endless(noop), env, sessionManager: manager });
		await pi.run("go");
		assert.deepEqual([pi.model.requests.length, pi.errors, ended], [3, [], ["shares", "old"]]);
	});
});
