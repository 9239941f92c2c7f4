import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	bash,
	calls,
	endless,
	type Extra,
	held,
	host,
	type Host,
	mark,
	reloader,
	type Rpc,
	type Script,
	text,
	times,
} from "../harness/index.ts";

const limit = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };

/** A run that asks, or would ask, after two turns; the third would end it. */
async function asked(t: TestContext, env = {}, ...before: Extra[]): Promise<{ pi: Host; rpc: Rpc }> {
	const pi = await host(t, { model: [...times(2), text("Hello.")], env: { ...limit, ...env }, before });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	return { pi, rpc };
}

/** Nothing has left since the two turns; the next prompt is answered; nothing went wrong on the way. */
async function usable({ pi, rpc }: { pi: Host; rpc: Rpc }): Promise<void> {
	assert.equal(pi.model.requests.length, 2);
	await rpc.run("hello");
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual(rpc.errors, []);
	await leave(rpc);
}

/** The client goes: pi ends as it should, no rejection went unhandled. */
async function leave(rpc: Rpc): Promise<void> {
	const { stderr, code } = await rpc.close();
	assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
}

const byUser = "Agent aborted by user. Turn limit reached. Send a message to go on.";
const byNobody = "Turn limit reached; nobody answered. Send a message to go on.";

// The dialog

for (const [what, answer] of [
	["a cancelled dialog", { cancelled: true }],
	['"no" as a text', { confirmed: "no" }],
	["an answer without content", {}],
] as const) {
	test(`${what} is a no`, async (t) => {
		const { pi, rpc } = await asked(t);
		(await rpc.question()).answer(answer);
		await rpc.settled();
		assert.deepEqual(rpc.notifications, [{ message: byUser, type: "info" }]);
		await usable({ pi, rpc });
	});
}

test("a client that aborts while it is asked ends the run and is told nothing of a no", async (t) => {
	const { pi, rpc } = await asked(t);
	await rpc.question();
	await rpc.abort();
	assert.deepEqual(rpc.notifications, []);
	await usable({ pi, rpc });
});

test("an answer that comes after the abort changes nothing", async (t) => {
	const { pi, rpc } = await asked(t);
	const question = await rpc.question();
	await rpc.abort();
	question.yes();
	await usable({ pi, rpc });
});

test("while a client does not answer pi serves it, and no request leaves", async (t) => {
	const { pi, rpc } = await asked(t);
	await rpc.question();
	await rpc.steer("never mind");
	await rpc.prompt("/turn-limit");
	await rpc.send({ type: "bash", command: "true" });
	assert.equal(pi.model.requests.length, 2);
	assert.equal(rpc.questions.length, 1);
});

test("with PI_TURN_LIMIT_ASK_TIMEOUT the run ends then, and nobody is said to have said no", async (t) => {
	const { pi, rpc } = await asked(t, { PI_TURN_LIMIT_ASK_TIMEOUT: "1" });
	await rpc.settled();
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(rpc.notifications, [{ message: byNobody, type: "error" }]);
	await usable({ pi, rpc });
});

test("an answer in time counts, with PI_TURN_LIMIT_ASK_TIMEOUT too", async (t) => {
	const { pi, rpc } = await asked(t, { PI_TURN_LIMIT_ASK_TIMEOUT: "60" });
	(await rpc.question()).yes();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual(rpc.notifications, []);
});

/** All extensions of a session have one `ui`. */
function throwsInDialogs(pi: ExtensionAPI): void {
	pi.on("session_start", (_event, { ui }) => {
		ui.confirm = () => {
			throw new Error("No dialogs today");
		};
	});
}

function rejectsDialogs(pi: ExtensionAPI): void {
	pi.on("session_start", (_event, { ui }) => {
		ui.confirm = () => Promise.reject(new Error("No dialogs today"));
	});
}

for (const broken of [throwsInDialogs, rejectsDialogs]) {
	test(`a dialog that fails (${broken.name}) continues nothing`, async (t) => {
		const { pi, rpc } = await asked(t, {}, broken);
		await rpc.settled();
		assert.deepEqual(rpc.notifications, [{ message: byNobody, type: "error" }]);
		await usable({ pi, rpc });
	});
}

// Interruptions and ends

test("an abort during the last turn's tool ends the run without a question", async (t) => {
	const model = [calls(bash("echo x >> marks; sleep 60")), text("Hello.")];
	const pi = await host(t, { model, env: { ...limit, PI_MAX_TURNS: "1" } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.event("tool_execution_start");
	await rpc.abort();
	assert.deepEqual([rpc.questions, rpc.notifications], [[], []]);
	assert.equal(pi.model.requests.length, 1);
	await rpc.run("hello");
	assert.equal(pi.model.requests.length, 2);
	await leave(rpc);
});

/** Takes its time when a session ends or is reloaded, as extensions do that save something: ten processes. */
function takesItsTime(pi: ExtensionAPI): void {
	pi.on("session_shutdown", async (_event, ctx) => {
		const { execFile } = process.getBuiltinModule("node:child_process");
		ctx.ui.notify("leaving");
		for (let i = 0; i < 10; i++) await new Promise((done) => execFile("true", done));
	});
}

/** A model that never stops; its second reply waits for the release. */
async function slowSecond(t: TestContext): Promise<{ pi: Host; rpc: Rpc; release: () => void }> {
	const slow = held();
	const model: Script = (_request, n) => (n === 2 ? slow : mark());
	const pi = await host(t, { model, env: limit, after: [reloader, takesItsTime] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await pi.model.arrival(2);
	return { pi, rpc, release: slow.release };
}

const leaving = (rpc: Rpc): Promise<boolean> => rpc.until("shutdown", () => rpc.notifications.length > 0);

for (const [how, after] of [
	["at once", []],
	["while another extension takes its time", [takesItsTime]],
] as const) {
	test(`a client that closes while it is asked ends pi ${how}, and no request leaves`, async (t) => {
		const pi = await host(t, { model: endless(), env: limit, after });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await rpc.question();
		await leave(rpc);
		assert.equal(pi.model.requests.length, 2);
	});
}

test("a client that closes during the last turn: the limit holds while another extension takes its time", async (t) => {
	const { pi, rpc, release } = await slowSecond(t);
	const left = leave(rpc);
	await leaving(rpc);
	release();
	await left;
	assert.equal(pi.model.requests.length, 2);
});

test("a reload during the last turn: the limit holds while another extension takes its time", async (t) => {
	const { pi, rpc, release } = await slowSecond(t);
	const reloaded = rpc.send({ type: "prompt", message: "/reload-now" });
	await leaving(rpc);
	release();
	await reloaded;
	await rpc.settled();
	assert.equal(pi.model.requests.length, 2);
});

// Failing closed

/** Makes what our handler of one event needs fail: handlers of an event have one `ctx`. */
function breaks(pi: ExtensionAPI): void {
	pi.on(process.env["BREAKS"] as "turn_end", (_event, ctx) => {
		const get = (): never => {
			throw new Error("broken on purpose");
		};
		Object.defineProperty(ctx, "hasUI", { get });
	});
}

for (const [event, requests, ran] of [
	["turn_start", 0, 0],
	["message_end", 1, 0],
	["tool_call", 1, 0],
	["turn_end", 1, 1],
] as const) {
	test(`where our own ${event} fails the run stops, and stderr says why`, async (t) => {
		const env = { PI_MAX_TURNS: "2", BREAKS: event };
		const pi = await host(t, { model: endless(), env, before: [breaks] });
		const { stdout, stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, requests);
		assert.equal(pi.marks().length, ran);
		assert.match(stderr, /^pi-turn-limit: failed and stopped the run: Error: broken on purpose\n/);
		assert.deepEqual({ stdout, code }, { stdout: "", code: 1 });
	});
}

function breaksWidgets(pi: ExtensionAPI): void {
	pi.on("session_start", (_event, { ui }) => {
		ui.setWidget = () => {
			throw new Error("No widgets today");
		};
	});
}

test("where the widget cannot be shown the run stops, and the person is told", async (t) => {
	const pi = await host(t, { model: endless(), env: limit, before: [breaksWidgets] });
	const rpc = await pi.rpc();
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 0);
	assert.deepEqual(rpc.notifications, [
		{ message: "pi-turn-limit: failed and stopped the run: Error: No widgets today", type: "error" },
	]);
	assert.deepEqual(rpc.errors, []);
	await leave(rpc);
});

test("a session that cannot be read runs nothing, and a script is told why", async (t) => {
	const breaks = (pi: ExtensionAPI): void => {
		pi.on("session_start", (_event, { sessionManager }) => {
			const entries = sessionManager.getEntries.bind(sessionManager);
			sessionManager.getEntries = () => {
				// Pi reads them too.
				if (new Error().stack?.includes("resumedState")) throw new Error("the session cannot be read");
				return entries();
			};
		});
	};
	const pi = await host(t, { before: [breaks] });
	const { stderr, code } = await pi.print("go");
	assert.equal(pi.model.requests.length, 0);
	assert.match(stderr, /pi-turn-limit: failed and stopped the run: Error: the session cannot be read/);
	assert.equal(code, 1);
});
