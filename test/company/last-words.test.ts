/** Beside an extension that starts a run when the session ends: a memory, a journal. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Host, host, type HostOptions, mark, type Reply, type Request, text } from "../harness/index.ts";

/** Lets the model write down what it has learned, and waits for it. */
function journal(pi: ExtensionAPI): void {
	pi.on("session_shutdown", async (_event, ctx) => {
		pi.sendUserMessage("Write down what you have learned.");
		const { setTimeout } = process.getBuiltinModule("node:timers/promises");
		do await setTimeout(20);
		while (!ctx.isIdle());
	});
}

/** The same, without waiting: pi disposes of the session while the run begins. */
function hastyJournal(pi: ExtensionAPI): void {
	pi.on("session_shutdown", () => pi.sendUserMessage("Write down what you have learned."));
}

/** The same by a message of its own type, of which pi tells nobody before the run. */
function hastyNote(pi: ExtensionAPI): void {
	pi.on("session_shutdown", () =>
		pi.sendMessage({ customType: "note", content: "Go on.", display: true }, { triggerTurn: true }),
	);
}

/** Begins a run and reloads pi at once, by what its command has kept; the reload is halfway when pi disposes of the session. */
function reloadingJournal(pi: ExtensionAPI): void {
	const slot = globalThis as { kept?: { reload(): Promise<void> } | undefined };
	pi.registerCommand("keep", { handler: (_args, ctx) => Promise.resolve(void (slot.kept = ctx)) });
	pi.on("session_shutdown", async ({ reason }, ctx) => {
		const { setTimeout } = process.getBuiltinModule("node:timers/promises");
		const { kept } = slot;
		slot.kept = undefined;
		if (kept !== undefined) {
			pi.sendUserMessage("Write down what you have learned.");
			void kept.reload();
			await setTimeout(20);
		}
		try {
			while (reason === "reload" && typeof ctx.cwd === "string") await setTimeout(20);
		} catch {
			return;
		}
	});
}

/** Works without end; a run that nobody stops ends after 30 requests, so that a test that fails ends. */
const works = (_request: Request, n: number): Reply => (n < 30 ? mark() : text("done"));

const stopped = /^pi-turn-limit: [^\n]* at the limit of 3 turns/;

/** Who says `fresh` leaves a run behind that a process would not survive. */
function ending(t: TestContext, options: HostOptions = {}): Promise<Host> {
	const env = { PI_MAX_TURNS: "3", PI_TURN_LIMIT_GRACE: "0" };
	return host(t, { model: works, after: [journal], ...options, env: { ...env, ...options.env } });
}

describe("an extension that starts a run when a script ends", () => {
	for (const [mode, place] of [
		["print", "before"],
		["print", "after"],
		["json", "after"],
	] as const) {
		test(`gets no request past the limit if it is loaded ${place} ours, and there is one line (${mode})`, async (t) => {
			const pi = await ending(t, { before: [], after: [], [place]: [journal] });
			const { stderr, code } = await pi[mode]("go");
			assert.equal(pi.model.requests.length, 3);
			assert.match(stderr, stopped);
			assert.equal(stderr.match(/pi-turn-limit:/g)?.length, 1);
			assert.equal(code, 53);
		});
	}

	for (const [mode, hasty] of [
		["print", hastyJournal],
		["json", hastyNote],
	] as const) {
		test(`gets no request past the limit if it does not wait for the run (${hasty.name}, ${mode})`, async (t) => {
			const pi = await ending(t, { after: [hasty], fresh: true });
			const { stderr, code } = await pi[mode]("go");
			assert.deepEqual([pi.model.requests.length, stderr.match(/pi-turn-limit:/g)?.length, code], [3, 1, 53]);
		});
	}

	test("gets the turns that are left of a run, a session and a day", async (t) => {
		const day = { PI_MAX_TURNS: "9", PI_TURN_LIMIT_SESSION_TURNS: "4", PI_TURN_LIMIT_DAY_TURNS: "3" };
		for (const env of [{}, day]) {
			const model = (request: Request, n: number): Reply => (n === 1 ? text("done") : works(request, n));
			const pi = await ending(t, { model, env });
			await pi.print("go");
			assert.equal(pi.model.requests.length, 3);
		}
	});
});

/** Wakes the agent five times, whatever comes of it. */
function insists(pi: ExtensionAPI): void {
	pi.on("session_shutdown", async (_event, ctx) => {
		const { setTimeout } = process.getBuiltinModule("node:timers/promises");
		for (let n = 0; n < 5; n++) {
			pi.sendMessage({ customType: "note", content: "Go on.", display: true }, { triggerTurn: true });
			do await setTimeout(20);
			while (!ctx.isIdle());
		}
	});
}

for (const [policy, answer, place] of [
	["abort", "", "before"],
	["synthesize", "done\n", "after"],
] as const) {
	test(`an extension that insists when a script ends, loaded ${place} ours, changes neither its line nor its answer (${policy})`, async (t) => {
		const model = (_request: Request, n: number): Reply => (n <= 3 ? mark() : text("done"));
		const env = { PI_TURN_LIMIT_POLICY: policy };
		const pi = await ending(t, { model, after: [], [place]: [insists], env, fresh: true });
		const { stdout, stderr, code } = await pi.print("go");
		assert.deepEqual([stdout, stderr.match(/pi-turn-limit:/g)?.length, code], [answer, 1, 53]);
	});
}

test("over rpc a no, and then a new session, leave nothing to an extension that starts a run at its end", async (t) => {
	const pi = await ending(t);
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.newSession();
	assert.deepEqual([pi.model.requests.length, rpc.questions.length], [3, 1]);
});

for (const hasty of [hastyJournal, hastyNote]) {
	test(`over rpc a run that begins while a session ends, and for which nobody waits, sends nothing (${hasty.name})`, async (t) => {
		const pi = await ending(t, { after: [hasty], fresh: true });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		await rpc.newSession();
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 6);
	});
}

for (const place of ["before", "after"] as const) {
	describe(`an extension, loaded ${place} ours, that begins a run and reloads pi when a session ends`, () => {
		test("gets no request past the limit", async (t) => {
			const pi = await ending(t, { after: [], [place]: [reloadingJournal], fresh: true });
			const { stderr, code } = await pi.print("/keep", "go");
			assert.deepEqual([pi.model.requests.length, stderr.match(/pi-turn-limit:/g)?.length, code], [3, 1, 53]);
		});

		test("leaves the next session to the person", async (t) => {
			const pi = await ending(t, { after: [], [place]: [reloadingJournal], fresh: true });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.prompt("/keep");
			await rpc.run("go");
			await rpc.newSession();
			await rpc.run("go");
			assert.deepEqual([pi.model.requests.length, rpc.questions.length], [6, 2]);
		});
	});
}

test("in the terminal a run that begins when pi is left asks nobody", async (t) => {
	const pi = await ending(t);
	const tui = await pi.terminal();
	tui.type("/turn-limit 2\r");
	await tui.shows("Turn limit set to 2");
	tui.press("ctrl+d");
	await tui.exit();
	assert.equal(pi.model.requests.length, 2);
});
