import assert from "node:assert/strict";
import { test } from "node:test";
import {
	bash,
	type Call,
	calls,
	endless,
	host,
	type HostOptions,
	mark,
	outcomes,
	type Reply,
	spy,
	text,
} from "../harness/index.ts";

const VARIABLE = "PI_TURN_LIMIT_REPEATS";

/** With the limit of a fresh installation, unless told otherwise. */
function circling(options: HostOptions, limit = ""): HostOptions {
	const { env, ...others } = options;
	return { ...others, env: { PI_MAX_TURNS: "unlimited", ...env, [VARIABLE]: limit }, after: [spy] };
}

const CIRCLES = /You are going in circles/;

/** How often each request holds the sentence about circles. */
function told(pi: { model: { requests: readonly { body: unknown }[] } }): number[] {
	return pi.model.requests.map(({ body }) => JSON.stringify(body).split("going in circles").length - 1);
}

test("with a person the model is told at the third identical call, once, and the sixth waits for an answer", async (t) => {
	const pi = await host(t, circling({ model: endless() }));
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.equal(pi.marks().length, 5);
	assert.deepEqual(told(pi), [0, 0, 0, 1, 1, 1]);
	assert.match(pi.model.requests[3]!.last, CIRCLES);
	assert.deepEqual(
		rpc.questions.map(({ title, message }) => [title, message]),
		[
			[
				"Repeat limit reached",
				"The same call 5 times in a row. Continue?\nThis run so far: 6 turns, 5 tool calls, $0.06. Waiting: bash echo x >> marks\nSince your prompt: 5 bash\nLast: bash echo x >> marks · bash echo x >> marks · bash echo x >> marks\nYes: 5 more times. No: the run ends here.",
			],
		],
	);
	const [outcome] = outcomes(pi) as { kind: string; meter: string; repeats: number; turns: number }[];
	assert.deepEqual([outcome?.kind, outcome?.meter, outcome?.repeats, outcome?.turns], ["declined", "repeats", 5, 6]);
});

test("without a person ten run, the next is refused with the reason, and the run ends if it comes again", async (t) => {
	const pi = await host(t, circling({ model: endless() }));
	const { code, stderr } = await pi.print("go");
	assert.equal(pi.marks().length, 10);
	assert.equal(pi.model.requests.length, 12);
	assert.match(pi.model.requests[11]!.last, /^Not run: this would make 11 identical calls in a row\./);
	assert.equal(code, 53);
	assert.match(
		stderr,
		/^pi-turn-limit: stopped at the limit of 10 identical calls in a row \(default\), without an answer; spent: /,
	);
});

test("a model that does something else after the refusal goes on", async (t) => {
	const model = (_request: unknown, n: number): Reply => (n <= 3 ? mark() : n === 4 ? mark("y") : text("done"));
	const pi = await host(t, circling({ model }, "2"));
	const { code, stdout } = await pi.print("go");
	assert.deepEqual([stdout, code, pi.marks()], ["done\n", 0, ["x", "x", "y"]]);
});

/** What the model calls, turn after turn, and the turn whose call is the first that is refused under a limit of 3. */
const SCRIPTS: [name: string, call: (n: number) => Call[], refused: number | undefined][] = [
	["a call whose result differs each time", () => [bash("date +%s%N; echo x >> marks")], 4],
	["arguments in another order", (n) => [{ name: "bash", args: ordered(n) }], 4],
	["A B A B", (n) => [bash(`echo ${n % 2} >> marks`)], 8],
	["A B C A B C", (n) => [bash(`echo ${n % 3} >> marks`)], 12],
	["four calls in turn", (n) => [bash(`echo ${n % 4} >> marks`)], undefined],
	["different calls", (n) => [bash(`echo ${n} >> marks`)], undefined],
];

function ordered(n: number): Record<string, unknown> {
	const command = "echo x >> marks";
	return n % 2 === 0 ? { command, timeout: 9 } : { timeout: 9, command };
}

for (const [name, call, refused] of SCRIPTS) {
	test(`${name}: ${refused === undefined ? "left alone for 20 turns" : `found at turn ${refused}`}`, async (t) => {
		const model = ({ last }: { last: string }, n: number): Reply =>
			last.startsWith("Not run") || n > 20 ? text(`${n}`) : calls(...call(n));
		const pi = await host(t, circling({ model }, "3"));
		const { stdout } = await pi.print("go");
		assert.equal(stdout, `${refused === undefined ? 21 : refused + 1}\n`);
	});
}

test("a model that makes identical calls in one batch learns why one was refused before the policy applies", async (t) => {
	const model = ({ last }: { last: string }): Reply =>
		last === "go" ? mark("x", "x", "x", "x", "x") : text("Something else, then.");
	const pi = await host(t, { model, env: { PI_TURN_LIMIT_REPEATS: "3" } });
	const { code, stdout, stderr } = await pi.print("go");
	assert.deepEqual([stdout, stderr, code], ["Something else, then.\n", "", 0]);
	assert.deepEqual(pi.marks(), ["x", "x", "x"]);
});

test("identical calls with other calls between them are not in a row, though the tool of those may repeat", async (t) => {
	const look = calls({ name: "read", args: { path: "marks" } });
	const model = (_request: unknown, n: number): Reply =>
		n > 10 ? text("done") : n % 2 === 0 ? look : calls(bash(`echo ${n} >> marks`));
	const env = { PI_TURN_LIMIT_REPEATS: "3", PI_TURN_LIMIT_REPEATS_EXCEPT: "bash" };
	const pi = await host(t, { model, env });
	const { code, stdout, stderr } = await pi.print("go");
	assert.deepEqual([stdout, stderr, code], ["done\n", "", 0]);
});

test("identical calls of one batch count", async (t) => {
	const model = ({ last }: { last: string }): Reply => (last === "go" ? mark("x", "x", "x", "y") : text("done"));
	const pi = await host(t, circling({ model }, "2"));
	await pi.print("go");
	assert.deepEqual(pi.marks().toSorted(), ["x", "x", "y"]);
});

test("a tool that may repeat is left alone", async (t) => {
	const env = { PI_TURN_LIMIT_REPEATS_EXCEPT: "poll, bash", PI_MAX_TURNS: "20" };
	const pi = await host(t, circling({ model: endless(), env }, "3"));
	const { stderr } = await pi.print("go");
	assert.equal(pi.marks().length, 20);
	assert.match(stderr, /at the limit of 20 turns/);
	assert.deepEqual(told(pi).at(-1), 0);
});
