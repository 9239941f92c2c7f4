import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { endless, host, type Host, text, times } from "../harness/index.ts";

/** Pi with a limit for the day in the user's file. */
function limited(t: TestContext, maxTurns: number, model = endless()): Promise<Host> {
	return host(t, { model, agentFiles: { "turn-limit.json": { grace: 0, day: { maxTurns } } } });
}

test("a day's limit of 7 turns: three scripts one after the other make exactly 7 requests", async (t) => {
	const pi = await limited(t, 7, [...times(2), text("a"), ...times(2), text("b"), ...times(9)]);
	const codes = [];
	for (const prompt of ["one", "two", "three"]) codes.push((await pi.print(prompt)).code);
	assert.deepEqual([codes, pi.model.requests.length], [[0, 0, 53], 7]);
});

test("a day's limit of 9 turns: two scripts at once make exactly 9 requests", async (t) => {
	const pi = await limited(t, 9);
	const both = await Promise.all([pi.print("one"), pi.print("two")]);
	assert.deepEqual([both.map(({ code }) => code), pi.model.requests.length], [[53, 53], 9]);
	assert.match(both[0].stderr, /at the limit of 9 turns today \(day\.maxTurns in turn-limit\.json\)/);
});

test("an edit of the file takes effect the same day", async (t) => {
	const pi = await limited(t, 3);
	await pi.print("one");
	const edit = (maxTurns: number): void =>
		writeFileSync(join(pi.agentDir, "turn-limit.json"), JSON.stringify({ grace: 0, day: { maxTurns } }));
	edit(5);
	await pi.print("two");
	assert.equal(pi.model.requests.length, 5);
	edit(4);
	const { code } = await pi.print("three");
	assert.deepEqual([code, pi.model.requests.length], [53, 5]);
});

test("a project's file may lower the day's limit, and not raise it", async (t) => {
	const files = { ".pi/turn-limit.json": { day: { maxTurns: 2, maxCost: 99 } } };
	const agentFiles = { "turn-limit.json": { grace: 0, day: { maxTurns: 3, maxCost: 5 } } };
	const pi = await host(t, { model: endless(), files, agentFiles, args: ["--approve"] });
	const { stderr } = await pi.print("go");
	assert.match(stderr, /A project file can only lower a limit; ignoring day\.maxCost: 99\. Using \$5\.00/);
	assert.equal(pi.model.requests.length, 2);
});

test("what one person grants holds for the day, in every session", async (t) => {
	const pi = await limited(t, 20);
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.run("go");
	assert.deepEqual(
		rpc.questions.map(({ message }) => message?.split("\n")[0]),
		["You've used 20 turns today. Continue?", "You've used 22 turns today. Continue?"],
	);
	await rpc.close();
	const { stderr } = await pi.print("again");
	assert.match(stderr, /at the limit of 22 turns today/);
	assert.equal(pi.model.requests.length, 22);
});

test("/turn-limit day turns +5 raises the day at once, also between runs", async (t) => {
	const pi = await limited(t, 2);
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	await rpc.prompt("/turn-limit day turns +5");
	assert.equal(rpc.notifications.at(-1)?.message, "5 turns more: 7 today.");
	await rpc.run("go on");
	assert.equal(pi.model.requests.length, 7);
});

test("a raise of the day adds up with what another session has granted", async (t) => {
	const pi = await limited(t, 2);
	const [one, two] = await Promise.all([pi.rpc({ answer: "no" }), pi.rpc({ answer: "no" })]);
	await one.prompt("/turn-limit day +5");
	await two.prompt("/turn-limit day +1");
	assert.equal(two.notifications.at(-1)?.message, "1 turn more: 8 today.");
	await two.run("go");
	assert.equal(pi.model.requests.length, 8);
});

test("the outermost limit is asked about first: the day's, then the round's", async (t) => {
	const pi = await host(t, {
		model: endless(),
		agentFiles: { "turn-limit.json": { maxTurns: 3, day: { maxTurns: 3 } } },
	});
	const rpc = await pi.rpc({ answer: (_question, n) => n < 3 });
	await rpc.run("go");
	assert.deepEqual(
		rpc.questions.map(({ title }) => title),
		["Day turn limit reached (1 of 2)", "Turn limit reached (2 of 2)", "Day turn limit reached"],
	);
	assert.equal(pi.model.requests.length, 4);
});

for (const TZ of ["", "Not/AZone", "Asia/Kolkata"]) {
	test(`a day's limit holds where the variable TZ is ${JSON.stringify(TZ)}`, async (t) => {
		const env = { PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_DAY_TURNS: "2", TZ };
		const pi = await host(t, { model: endless(), env });
		const { code } = await pi.print("go");
		assert.deepEqual([code, pi.model.requests.length], [53, 2]);
	});
}
