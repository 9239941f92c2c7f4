import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host, mark, text, times } from "../harness/index.ts";

const five = { PI_MAX_TURNS: "5", PI_TURN_LIMIT_GRACE: "0" };

test("a model that never stops gets exactly 5 turns in print mode", async (t) => {
	const pi = await host(t, { model: endless(), env: five });
	const { stdout, stderr, code } = await pi.print("go");
	assert.equal(pi.model.requests.length, 5);
	assert.equal(pi.marks().length, 5);
	assert.equal(stdout, "");
	assert.equal(
		stderr,
		"pi-turn-limit: exhausted at the limit of 5 turns (PI_MAX_TURNS); spent: 5 turns, 5 tool calls, $0.05.\n",
	);
	assert.equal(code, 53);
});

test("a model that never stops gets exactly 5 turns in json mode", async (t) => {
	const pi = await host(t, { model: endless(), env: five });
	const { stderr, code, events } = await pi.json("go");
	assert.equal(pi.model.requests.length, 5);
	assert.match(stderr, /^pi-turn-limit: exhausted at the limit of 5 turns \(PI_MAX_TURNS\).*\n$/);
	assert.equal(code, 53);
	assert.equal(events.filter((event) => event.type === "entry_appended").length, 1);
});

test("at the limit the person is asked; no stops the run and says so", async (t) => {
	const pi = await host(t, { model: endless(), env: five });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await rpc.settled();
	assert.equal(pi.model.requests.length, 5);
	assert.equal(rpc.questions.length, 1);
	assert.equal(rpc.questions[0]?.title, "Turn limit reached");
	assert.equal(
		rpc.questions[0]?.message,
		"You've used 5 turns. Continue?\nThis run so far: 5 turns, 5 tool calls, $0.05. Last call: bash echo x >> marks",
	);
	assert.deepEqual(rpc.notifications, [
		{ message: "Agent aborted by user. Turn limit reached. Send a message to go on.", type: "error" },
	]);
	assert.deepEqual(rpc.widgets().map(String), [
		"Turns: 1/5",
		"Turns: 2/5",
		"Turns: 3/5",
		"Turns: 4/5",
		"Turns: 5/5",
		"undefined",
	]);
	assert.deepEqual(rpc.errors, []);
});

test("each yes admits another round: 10 turns after one, 15 after two", async (t) => {
	const pi = await host(t, { model: endless(), env: five });
	const rpc = await pi.rpc({ answer: (_question, n) => n <= 2 });
	await rpc.prompt("go");
	await rpc.settled();
	assert.equal(pi.model.requests.length, 15);
	assert.deepEqual(
		rpc.questions.map(({ message }) => message?.split("\n")[0]),
		times(3).map(() => "You've used 5 turns. Continue?"),
	);
	assert.match(rpc.questions[2]?.message ?? "", /This run so far: 15 turns, 15 tool calls, \$0.15/);
	assert.ok(rpc.widgets().map(String).includes("Turns: 0/5"));
});

test("a run that finishes on turn 5 of 5 is neither asked about nor stopped", async (t) => {
	const pi = await host(t, { model: [...times(4), text("finished")], env: five });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual({ stdout, stderr, code }, { stdout: "finished\n", stderr: "", code: 0 });
	assert.equal(pi.model.requests.length, 5);
});
