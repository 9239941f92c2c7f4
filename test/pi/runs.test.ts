import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	endless,
	fail,
	held,
	host,
	type Host,
	mark,
	overflow,
	reloader,
	type Reply,
	type Request,
	type Rpc,
	text,
	times,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";

/** Without the wrap-up, which nobody asks about here. */
const limit = (n: number | "unlimited"): Record<string, string> => ({
	PI_MAX_TURNS: String(n),
	PI_TURN_LIMIT_GRACE: "0",
});

/** A window so small that a `full` reply brings about a compaction. */
const small = {
	modelFields: { contextWindow: 10_000 },
	settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
};
const full: Reply = { ...mark(), usage: { prompt: 9_000 } };

const kinds = ({ model }: Host): string[] => model.requests.map(({ kind }) => kind);
const turns = (n: number): string[] => Array.from({ length: n }, () => "turn");

/** The first line of every question. */
const asked = (rpc: Rpc): string[] => rpc.questions.map(({ message }) => message?.split("\n")[0] ?? "");

// Retries

for (const [how, broken] of [
	["HTTP 529", fail(529)],
	["a broken connection", { ...text("half"), cut: true }],
] as const) {
	test(`every second request fails with ${how}: 5 turns succeed, and nothing comes after`, async (t) => {
		const pi = await host(t, { model: (_request, n) => (n % 2 === 0 ? broken : mark()), env: limit(5) });
		await pi.print("go");
		assert.equal(pi.marks().length, 5);
		assert.equal(pi.model.requests.length, 9);
	});
}

for (const n of [1, 5]) {
	test(`turn ${n} of 5 fails twice: it is repeated, and 5 turns succeed`, async (t) => {
		const model = [...times(n - 1), ...times(2, fail(529)), ...times(6 - n)];
		const pi = await host(t, { model, env: limit(5) });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 7);
		assert.equal(pi.marks().length, 5);
		assert.deepEqual(asked(rpc), ["You've used 5 turns. Continue?"]);
	});
}

test("the last turn overflows the context: it is repeated after a summary, and nothing comes after", async (t) => {
	const pi = await host(t, { ...small, model: [...times(4), overflow(), mark()], env: limit(5) });
	await pi.print("go");
	assert.deepEqual(kinds(pi), [...turns(5), "summary", "turn"]);
	assert.equal(pi.marks().length, 5);
});

test("the last turn is cut off at the context's end: pi repeats it after a summary, and it is one turn", async (t) => {
	const model = [mark(), { ...text("half an answ"), stop: "length" }, text("an answer")] as const;
	const pi = await host(t, { ...small, model, env: limit(2) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary", "turn"]);
	assert.equal(rpc.questions.length, 0);
});

// Compaction and cache warming

test("a compaction in the middle of a run neither counts nor refills", async (t) => {
	const pi = await host(t, { ...small, model: [mark(), full, ...times(3)], env: limit(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary", ...turns(3)]);
	assert.deepEqual(asked(rpc), ["You've used 5 turns. Continue?"]);
});

test("the question comes before a compaction that is due, and after a no there is none", async (t) => {
	const pi = await host(t, { ...small, model: [mark(), full], env: limit(2) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	assert.deepEqual(kinds(pi), turns(2));
	question.no();
	await rpc.settled();
	assert.deepEqual(kinds(pi), turns(2));
});

test("after a yes the compaction that was due is made up for", async (t) => {
	const pi = await host(t, { ...small, model: [mark(), full, text("done")], env: limit(2) });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary", "turn"]);
	assert.equal(rpc.questions.length, 1);
});

test("without a person no summary leaves once the limit has stopped the run", async (t) => {
	const pi = await host(t, { ...small, model: [mark(), full], env: limit(2) });
	await pi.print("go");
	assert.deepEqual(kinds(pi), turns(2));
});

test("a compaction that the person asks for while asked is made, and the run is over", async (t) => {
	const pi = await host(t, { ...small, model: [...times(2), text("done")], env: limit(2) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.send({ type: "compact" });
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary"]);
	await rpc.run("again");
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary", "turn"]);
	assert.equal(pi.model.turns[2]?.count("A summary."), 1);
});

/** Asks before pi's extensions hear that it has settled, so that the run is stopped and not over yet. */
function lingersAtTheEnd(pi: ExtensionAPI): void {
	pi.on("agent_settled", async (_event, ctx) => {
		await ctx.ui.confirm("Linger?", "");
	});
}

test("a compaction that the person asks for while the run is stopped is made", async (t) => {
	const pi = await host(t, { ...small, model: times(2), env: limit(2), before: [lingersAtTheEnd] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	(await rpc.question()).no();
	const linger = await rpc.question();
	await rpc.send({ type: "compact" });
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary"]);
	linger.yes();
	await rpc.settled();
});

/** When pi wants to warm the cache, lets it wait until the dialog with this title is open, and tells. */
function warmsAt(pi: ExtensionAPI): void {
	const dialog = new Promise<void>((open) => {
		pi.on("ui_prompt_start", ({ title }) => {
			if (title === process.env["WARMS_AT"]) open();
		});
	});
	pi.on("cache_warming_decision", async ({ action }, ctx) => {
		if (action !== "warm") return;
		await dialog;
		ctx.ui.notify("about to warm");
	});
}

/** Asks before a turn that has been refused, so that pi does not settle yet. */
function lingers(pi: ExtensionAPI): void {
	pi.on("turn_start", async (_event, ctx) => {
		if (ctx.signal?.aborted) await ctx.ui.confirm("Linger?", "");
	});
}

/** From turn 2 on the cache is worth warming, 50 ms after a request has left. */
const cached = { modelFields: { promptCache: { short: 10.05 } }, before: [warmsAt], after: [lingers] };
const costly: Reply = { ...mark(), usage: { prompt: 10_000 } };

/** Waits until pi wants to warm the cache, and then for a process, which takes longer than a request to leave. */
async function warmingDue(rpc: Rpc): Promise<void> {
	await rpc.until("warming", () => rpc.notifications.some(({ message }) => message === "about to warm"));
	await rpc.send({ type: "bash", command: "true" });
}

test("the cache is not warmed while the question is open, and is again after a yes", async (t) => {
	const slow = held(text("done"));
	const env = { ...limit(2), WARMS_AT: "Turn limit reached" };
	const pi = await host(t, { ...cached, model: [costly, costly, slow], env });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	await warmingDue(rpc);
	assert.deepEqual(kinds(pi), turns(2));
	question.yes();
	await pi.model.arrival(1, "warmings");
	slow.release();
	await rpc.settled();
	assert.equal(kinds(pi).indexOf("warming"), 3);
});

test("the cache is not warmed once the gate has closed, though pi has not settled", async (t) => {
	const pi = await host(t, { ...cached, model: [costly, costly], env: { ...limit(2), WARMS_AT: "Linger?" } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	(await rpc.question()).no();
	const linger = await rpc.question();
	await warmingDue(rpc);
	assert.deepEqual(kinds(pi), turns(2));
	linger.yes();
	await rpc.settled();
	assert.deepEqual(kinds(pi), turns(2));
});

// Who refills

for (const [how, command] of [
	["steering", { type: "steer" }],
	["a follow-up", { type: "follow_up" }],
	["a prompt that steers", { type: "prompt", streamingBehavior: "steer" }],
	["a prompt that follows up", { type: "prompt", streamingBehavior: "followUp" }],
] as const) {
	test(`${how} typed into a running run does not refill`, async (t) => {
		const options = { model: endless(), env: limit(3), answer: "no" } as const;
		const type = (rpc: Rpc): Promise<unknown> => rpc.send({ ...command, message: "look left" });
		const { pi, rpc } = await during(t, 2, type, options);
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
	});
}

test("follow-ups that the model answers spend turns of the run they were typed into", async (t) => {
	const queue = async (rpc: Rpc): Promise<void> => {
		await rpc.followUp("second");
		await rpc.followUp("third");
	};
	const model = endless(text("answer"));
	const { pi, rpc } = await during(t, 1, queue, { model, env: limit(2), answer: "no" });
	assert.deepEqual(
		pi.model.requests.map(({ last }) => last),
		["go", "second"],
	);
	assert.deepEqual(asked(rpc), ["You've used 2 turns. Continue?"]);
});

test("a person's new prompt refills", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(3) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.run("again");
	assert.equal(pi.model.requests.length, 6);
	assert.deepEqual(
		asked(rpc),
		times(2).map(() => "You've used 3 turns. Continue?"),
	);
	assert.match(rpc.questions[1]?.message ?? "", /This run so far: 3 turns, /);
});

test("a person's new prompt refills also after an abort", async (t) => {
	const { pi, rpc } = await during(t, 2, (rpc) => rpc.abort(), { model: endless(), env: limit(3), answer: "no" });
	assert.equal(rpc.questions.length, 0);
	await rpc.run("again");
	assert.equal(pi.model.requests.length, 2 + 3);
	assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
});

/** Starts three more runs, one whenever pi has settled, the way that goal loops do. */
function prompts(pi: ExtensionAPI): void {
	let left = 3;
	pi.on("agent_settled", () => {
		if (left-- > 0) pi.sendUserMessage("go on");
	});
}

/** The same with a message of its own, of which pi tells nobody by `input`. */
function wakesUp(pi: ExtensionAPI): void {
	let left = 3;
	pi.on("agent_settled", () => {
		if (left-- > 0) pi.sendMessage({ customType: "wake-up", content: "go on", display: true }, { triggerTurn: true });
	});
}

for (const starter of [prompts, wakesUp]) {
	test(`after a stop, runs that an extension (${starter.name}) starts are refused without a question`, async (t) => {
		const pi = await host(t, { model: endless(), env: limit(3), after: [starter] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt("go");
		for (let runs = 0; runs < 3; runs++) await rpc.settled();
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
	});

	test(`runs that an extension (${starter.name}) starts go on counting`, async (t) => {
		const pi = await host(t, { model: endless(text("answer")), env: limit(3), after: [starter] });
		const { code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 3);
		assert.equal(code, 53);
	});
}

/** Start a run as an extension does, by a prompt and by a message; and `ping`, which the extension answers itself. */
function starts(pi: ExtensionAPI): void {
	const message = { customType: "wake-up", content: "go on", display: true };
	pi.registerCommand("prompt", { handler: () => Promise.resolve(pi.sendUserMessage("go on")) });
	pi.registerCommand("wake-up", { handler: () => Promise.resolve(pi.sendMessage(message, { triggerTurn: true })) });
	pi.on("input", ({ text }) => (text === "ping" ? { action: "handled" } : undefined));
}

for (const command of ["/prompt", "/wake-up"]) {
	test(`what a person types and an extension answers itself does not refill that extension's ${command}`, async (t) => {
		const pi = await host(t, { model: endless(), env: limit(2), after: [starts] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		await rpc.prompt("ping");
		await rpc.run(command);
		assert.equal(pi.model.requests.length, 2);
		assert.equal(rpc.questions.length, 1);
	});
}

for (const command of ["/prompt", "/wake-up"]) {
	test(`a person's steering does not refill the run that an extension starts next by ${command}`, async (t) => {
		const model = (_request: Request, n: number): Reply => (n === 2 ? text("answer") : mark());
		const steer = (rpc: Rpc): Promise<void> => rpc.steer("look left");
		const { pi, rpc } = await during(t, 1, steer, { model, env: limit(3), after: [starts], answer: "no" });
		await rpc.run(command);
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
	});
}

function followsUp(pi: ExtensionAPI): void {
	pi.on("agent_end", () => pi.sendUserMessage("go on", { deliverAs: "followUp" }));
}

function continuesTurns(pi: ExtensionAPI): void {
	pi.on("turn_end", ({ entries }) => ({
		entries: [...entries, { type: "custom_message", customType: "more", content: "go on", display: true }],
		continue: true,
	}));
}

function continuesRuns(pi: ExtensionAPI): void {
	pi.on("agent_before_settle", ({ entries }) => ({
		entries: [...entries, { type: "custom_message", customType: "more", content: "go on", display: true }],
		continue: true,
	}));
}

for (const extension of [followsUp, continuesTurns, continuesRuns]) {
	test(`an extension (${extension.name}) that keeps a run going for ever meets the gate`, async (t) => {
		const pi = await host(t, { model: endless(text("answer")), env: limit(3), after: [extension] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
	});
}

for (const kind of ["steer", "followUp"] as const) {
	test(`a message (${kind}) that was queued at the stop goes with the next prompt, and is told`, async (t) => {
		const model = [...times(2), ...times(2, text("answer"))];
		const { pi, rpc } = await during(t, 2, (rpc) => rpc[kind]("look left"), { model, env: limit(2), answer: "no" });
		assert.equal(pi.model.requests.length, 2);
		await rpc.run("again");
		assert.equal(pi.model.requests.at(-1)?.count("look left"), 1);
		assert.match(rpc.notifications[0]?.message ?? "", /Messages that were queued are kept for the next prompt\.$/);
	});
}

// Changing the limit

test("unlimited: 60 turns run and are counted, and nobody is asked", async (t) => {
	const pi = await host(t, { model: [...times(59), text("done")], env: limit("unlimited") });
	const rpc = await pi.rpc();
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 60);
	assert.equal(rpc.questions.length, 0);
	const counted = Array.from({ length: 60 }, (_, i) => `Turns: ${i + 1}/∞`);
	assert.deepEqual(rpc.widgets().map(String), [...counted, "undefined"]);
});

test("from unlimited to a number the counter restarts at 0", async (t) => {
	const set = (rpc: Rpc): Promise<void> => rpc.prompt("/turn-limit 2");
	const { pi, rpc } = await during(t, 3, set, { model: endless(), env: limit("unlimited"), answer: "no" });
	assert.equal(pi.model.requests.length, 3 + 2);
	assert.deepEqual(rpc.widgets().map(String).slice(2, 4), ["Turns: 3/∞", "Turns: 0/2"]);
	assert.deepEqual(asked(rpc), ["You've used 2 turns. Continue?"]);
});

test("from a number to unlimited the counter stays and the gate is gone", async (t) => {
	const set = (rpc: Rpc): Promise<void> => rpc.prompt("/turn-limit unlimited");
	const { pi, rpc } = await during(t, 2, set, { model: [...times(4), text("done")], env: limit(2) });
	assert.equal(pi.model.requests.length, 5);
	assert.deepEqual(rpc.widgets().map(String).slice(1, 4), ["Turns: 2/2", "Turns: 2/∞", "Turns: 3/∞"]);
});

for (const [n, requests] of [
	[2, 3],
	[4, 4],
] as const) {
	test(`a limit set to ${n} in turn 3 gates turn ${requests + 1}, and the counter stays`, async (t) => {
		const set = (rpc: Rpc): Promise<void> => rpc.prompt(`/turn-limit ${n}`);
		const { pi, rpc } = await during(t, 3, set, { model: endless(), env: limit(9), answer: "no" });
		assert.equal(pi.model.requests.length, requests);
		assert.deepEqual(rpc.widgets().map(String).slice(2, 4), ["Turns: 3/9", `Turns: 3/${n}`]);
		assert.deepEqual(asked(rpc), [`You've used ${requests} turns. Continue?`]);
	});
}

// Sessions

test("each of two prompts in one print process has all its turns", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const { stderr, code } = await pi.print("first", "second");
	assert.equal(pi.model.requests.length, 4);
	assert.equal(stderr.match(/stopped at the limit of 2 turns/g)?.length, 2);
	assert.equal(code, 53);
});

test("/new starts from 0, and with the limit of the surroundings", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit 3");
	await rpc.run("go");
	await rpc.newSession();
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 3 + 2);
	assert.match(rpc.questions[1]?.message ?? "", /^You've used 2 turns\. Continue\?\nThis run so far: 2 turns, /);
});

test("/new in the middle of a run ends it, and the new session starts from 0", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.newSession();
	await rpc.prompt("go");
	(await rpc.question()).no();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 2 + 2);
	assert.deepEqual(rpc.errors, []);
});

test("/reload in the middle of a run keeps the counters", async (t) => {
	const reload = (rpc: Rpc): Promise<void> => rpc.prompt("/reload-now");
	const options = { model: endless(), env: limit(3), after: [reloader], answer: "no" } as const;
	const { pi, rpc } = await during(t, 2, reload, options);
	assert.equal(pi.model.requests.length, 3);
	assert.match(rpc.questions[0]?.message ?? "", /^You've used 3 turns\. Continue\?\nThis run so far: 3 turns, /);
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(rpc.errors, []);
});

test("/reload while the person is asked asks again, and lets nothing pass", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2), after: [reloader] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	await rpc.prompt("/reload-now");
	const again = await rpc.question();
	assert.match(again.message ?? "", /^You've used 2 turns\. Continue\?/);
	assert.equal(pi.model.requests.length, 2);
	again.yes();
	(await rpc.question()).no();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 4);
	assert.deepEqual(rpc.errors, []);
});

test("/reload between two runs keeps the counter: a run that an extension starts is refused", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2), after: [reloader, starts] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.prompt("/reload-now");
	await rpc.run("/prompt");
	assert.equal(pi.model.requests.length, 2);
	assert.equal(rpc.questions.length, 1);
});

test("after a /reload a person's prompt refills", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2), after: [reloader] });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.prompt("/reload-now");
	await rpc.run("again");
	assert.equal(pi.model.requests.length, 4);
	assert.match(rpc.questions[1]?.message ?? "", /^You've used 2 turns\. Continue\?\nThis run so far: 2 turns, /);
});
