import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host, mark, text, times } from "../harness/index.ts";

/** Without the wrap-up, which nobody asks about here. */
const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n), PI_TURN_LIMIT_GRACE: "0" });

/** What is no limit. */
const nonsense = ["abc", "-1", "1.5", "1e3", "9".repeat(400), "🙂"];

const name = (value: string): string => (value.length > 9 ? `${value.length} digits` : value);

// Headless

test("a model that never stops gets exactly 5 turns in print mode, and stderr says why", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const { stdout, stderr, code } = await pi.print("go");
	assert.equal(pi.model.requests.length, 5);
	assert.equal(pi.marks().length, 5);
	assert.equal(stdout, "");
	assert.equal(
		stderr,
		"pi-turn-limit: stopped at the limit of 5 turns (PI_MAX_TURNS), without an answer; spent: 5 turns, 5 tool calls, $0.05.\n",
	);
	assert.equal(code, 53);
});

test("a model that never stops gets exactly 5 turns in json mode, and stdout stays pi's", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const { stderr, code, events } = await pi.json("go");
	assert.equal(pi.model.requests.length, 5);
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 5 turns \(PI_MAX_TURNS\).*\n$/);
	assert.equal(code, 53);
	assert.equal(events.at(-1)?.type, "agent_settled");
});

test("without any setting 25 turns run", async (t) => {
	const pi = await host(t, { model: endless() });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 25);
});

test("a run that finishes on turn 5 of 5 is not stopped: its text is printed", async (t) => {
	const pi = await host(t, { model: [...times(4), text("finished")], env: limit(5) });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual({ stdout, stderr, code }, { stdout: "finished\n", stderr: "", code: 0 });
	assert.equal(pi.model.requests.length, 5);
});

test("a limit of 1 admits exactly one request", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(1) });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 1);
});

for (const policy of ["abort", "synthesize"]) {
	test(`without a person a limit of 0 admits no request, policy ${policy}`, async (t) => {
		const pi = await host(t, { model: endless(), env: { ...limit(0), PI_TURN_LIMIT_POLICY: policy } });
		const { stdout, stderr, code } = await pi.print("go");
		assert.equal(pi.model.requests.length, 0);
		assert.equal(stdout, "");
		assert.match(stderr, /^pi-turn-limit: stopped at the limit of 0 turns/);
		assert.equal(code, 53);
	});
}

// With a person

test("at the limit the person is asked, with what helps to decide below", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const { method, title, message } = await rpc.question();
	assert.equal(pi.model.requests.length, 5);
	assert.equal(method, "confirm");
	assert.equal(title, "Turn limit reached");
	assert.equal(
		message,
		"You've used 5 turns. Continue?\nThis run so far: 5 turns, 5 tool calls, $0.05.\nSince your prompt: 5 bash\nLast: bash echo x >> marks · bash echo x >> marks · bash echo x >> marks\nYes: 5 more turns. No: the run ends here.",
	);
});

test("a no stops the run, and one notification says so", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 5);
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(rpc.notifications, [
		{ message: "Agent aborted by user. Turn limit reached. Send a message to go on.", type: "info" },
	]);
	assert.deepEqual(rpc.errors, []);
});

test("after two yes and a no 15 turns have run", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const rpc = await pi.rpc({ answer: (_question, n) => n <= 2 });
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 15);
	assert.match(
		rpc.questions[2]?.message ?? "",
		/^You've used 5 turns\. Continue\?\nThis run so far: 15 turns, 15 tool calls, /,
	);
});

for (const [turns, questions] of [
	[5, 0],
	[6, 1],
] as const) {
	test(`a run that takes ${turns} turns of 5 is asked about ${questions} times`, async (t) => {
		const pi = await host(t, { model: [...times(turns - 1), text("finished")], env: limit(5) });
		const rpc = await pi.rpc({ answer: "yes" });
		await rpc.run("go");
		assert.equal(pi.model.requests.length, turns);
		assert.equal(rpc.questions.length, questions);
		assert.deepEqual(rpc.notifications, []);
	});
}

test("the widget counts from the first turn's start, restarts with a yes and goes when pi has settled", async (t) => {
	const pi = await host(t, { model: [...times(2), text("done")], env: limit(2) });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	const shown = ["Turns: 1/2", "Turns: 2/2", "Turns: 0/2", "Turns: 1/2", "undefined"];
	assert.deepEqual(rpc.widgets().map(String), shown);
});

test("with a limit of 0 the person is asked before every turn, and each yes admits one", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(0) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const first = await rpc.question();
	assert.match(first.message ?? "", /^You've used 0 turns\. Continue\?/);
	assert.equal(pi.model.requests.length, 0);
	first.yes();
	const second = await rpc.question();
	assert.match(second.message ?? "", /^You've used 1 turn\. Continue\?/);
	assert.equal(pi.model.requests.length, 1);
	second.yes();
	(await rpc.question()).no();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 2);
});

test("with a limit of 0 a no before the first turn lets no request leave", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(0) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 0);
	assert.match(rpc.notifications[0]?.message ?? "", /^Agent aborted by user\./);
});

// Setting it

test("a time limit of 0 that is asked about before a call says that a yes buys a call", async (t) => {
	const model = (_request: unknown, n: number) => (n > 1 ? text("done") : mark());
	const pi = await host(t, { model, env: { PI_TURN_LIMIT_TIME: "0" } });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(
		rpc.questions.map(({ message }) => /Yes: (.*?)\./.exec(message ?? "")?.[1]),
		["1 more turn", "1 more tool call", "1 more turn"],
	);
});

test("a session's cost limit of 0 says that a yes buys a turn", async (t) => {
	const pi = await host(t, { env: { PI_TURN_LIMIT_SESSION_COST: "0" } });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.match(rpc.questions[0]?.message ?? "", /Yes: 1 more turn\./);
});

test("a repeat limit of 0 does not tell the model that a call has come 0 times in a row", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_TURN_LIMIT_REPEATS: "0" } });
	await pi.print("go");
	assert.doesNotMatch(pi.model.requests[1]?.last ?? "", / 0 times in a row/);
});

test("/turn-limit sets the limit, says so and shows it at once", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit 3");
	assert.deepEqual(rpc.notifications, [{ message: "Turn limit set to 3.", type: "info" }]);
	assert.deepEqual(rpc.widgets(), [["Turns: 0/3"]]);
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 3);
});

test("/turn-limit refuses what is no limit, says what is, and changes nothing", async (t) => {
	const pi = await host(t, { model: endless(), env: limit(2) });
	const rpc = await pi.rpc({ answer: "no" });
	for (const value of nonsense) await rpc.prompt(`/turn-limit ${value}`);
	assert.equal(rpc.notifications.length, nonsense.length);
	for (const { message, type } of rpc.notifications) {
		assert.match(
			message,
			/^turns: expected a whole number from 0, or unlimited, got .*Nothing has changed\.$|^Unknown word .*\/turn-limit help lists all\.$/,
		);
		assert.equal(type, "error");
	}
	assert.deepEqual(rpc.widgets(), []);
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 2);
});

for (const value of ["abc", "9".repeat(400)]) {
	test(`PI_MAX_TURNS=${name(value)} is named with its value on stderr, and nothing runs`, async (t) => {
		const pi = await host(t, { model: [text("done")], env: { PI_MAX_TURNS: value } });
		const { stdout, stderr, code } = await pi.print("go");
		assert.ok(
			stderr.startsWith("pi-turn-limit: PI_MAX_TURNS: expected a whole number from 0, or unlimited, got "),
			stderr,
		);
		assert.ok(stderr.includes(`"${value.slice(0, 50)}`), stderr);
		assert.match(stderr, /^[^\n]* Not started\.\n$/);
		assert.deepEqual({ stdout, code }, { stdout: "", code: 1 });
		assert.equal(pi.model.requests.length, 0);
	});
}

test("with a person and a PI_MAX_TURNS that is no limit 25 turns run", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_MAX_TURNS: "abc" } });
	await (await pi.rpc({ answer: "no" })).run("go");
	assert.equal(pi.model.requests.length, 25);
});

test("a person is warned of a PI_MAX_TURNS that is no limit", async (t) => {
	const pi = await host(t, { env: { PI_MAX_TURNS: "abc" } });
	const rpc = await pi.rpc();
	assert.equal(rpc.notifications.length, 1);
	assert.match(rpc.notifications[0]?.message ?? "", /^PI_MAX_TURNS: expected .*, got "abc"\. Using 25 \(default\)\.$/);
	assert.equal(rpc.notifications[0]?.type, "warning");
});

test("an empty PI_MAX_TURNS counts as unset", async (t) => {
	const pi = await host(t, { model: endless(mark()), env: { PI_MAX_TURNS: "" } });
	const { stderr } = await pi.print("go");
	assert.equal(pi.model.requests.length, 25);
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 25 turns \(default\)/);
});
