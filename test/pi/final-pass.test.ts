import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { finalPass, NEW_RUN, wrapUp } from "../../src/core/to-model.ts";
import {
	calls,
	endless,
	fail,
	host,
	type Host,
	type HostOptions,
	mark,
	outcomes,
	type Rpc,
	type Script,
	spy,
	text,
	times,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";

/** The instruction when a meter has run out. */
const told = {
	turns: finalPass({ meter: "turns", limit: 3 }),
	toolCalls: finalPass({ meter: "toolCalls", limit: 3 }),
};

/** What both instructions have and nothing else. */
const sign = told.turns.split("\n").at(-1) ?? "";

/** How often an instruction stands in each request of a turn. */
const seen = ({ model }: Host): number[] => model.turns.map((request) => request.count(sign));

/** How each run ended, and by which meter. */
const ends = (pi: Host) =>
	outcomes(pi).map((outcome) => [outcome.kind, "meter" in outcome ? outcome.meter : undefined]);

/** 3 turns, or 3 tool calls, under `synthesize`; without the wrap-up, which is tested elsewhere. */
const limits = {
	turns: { PI_MAX_TURNS: "3", PI_TURN_LIMIT_POLICY: "synthesize", PI_TURN_LIMIT_GRACE: "0" },
	toolCalls: { PI_TURN_LIMIT_TOOLS: "3", PI_TURN_LIMIT_POLICY: "synthesize" },
};
const METERS = ["turns", "toolCalls"] as const;

/** Works until it is told to answer. */
const obedient: Script = (request) => (request.count(sign) > 0 ? text("My answer.") : mark());

// A model that answers

test("out of turns, the model is told by one last request, and its answer is the run's", async (t) => {
	const pi = await host(t, { model: obedient, env: limits.turns, after: [spy] });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.equal(pi.model.requests.length, 4);
	assert.equal(pi.model.requests[3]?.last, told.turns);
	assert.equal(pi.model.requests[3].body.messages.at(-1)?.role, "user");
	assert.equal(stdout, "My answer.\n");
	assert.match(
		stderr,
		/^pi-turn-limit: stopped at the limit of 3 turns \(PI_MAX_TURNS\), with a last answer; spent: 4 turns, /,
	);
	assert.equal(code, 53);
	assert.deepEqual(ends(pi), [["synthesized", "turns"]]);
});

test("out of tool calls, the model is told by the result of the refused call, and its answer is the run's", async (t) => {
	const pi = await host(t, { model: obedient, env: limits.toolCalls, after: [spy] });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 0, 1]);
	assert.equal(pi.model.requests.length, 5);
	assert.equal(pi.model.requests[4]?.last, `Not run. ${told.toolCalls}`);
	assert.equal(pi.model.requests[4].body.messages.at(-1)?.role, "tool");
	assert.equal(pi.marks().length, 3);
	assert.equal(stdout, "My answer.\n");
	assert.match(
		stderr,
		/^pi-turn-limit: stopped at the limit of 3 tool calls \(PI_TURN_LIMIT_TOOLS\), with a last answer; /,
	);
	assert.equal(code, 53);
	assert.deepEqual(ends(pi), [["synthesized", "toolCalls"]]);
});

test("every refused call of a batch carries the instruction", async (t) => {
	const pi = await host(t, { model: [mark("a", "b", "c", "d", "e"), text("My answer.")], env: limits.toolCalls });
	await pi.print("go");
	assert.equal(pi.marks().length, 3);
	assert.deepEqual(
		pi.model.requests[1]?.texts("tool").slice(3),
		times(2).map(() => `Not run. ${told.toolCalls}`),
	);
});

for (const meter of METERS) {
	test(`tools stay declared in the last request (${meter})`, async (t) => {
		const pi = await host(t, { model: obedient, env: limits[meter] });
		await pi.print("go");
		const declared = pi.model.requests.map(({ body }) => body.tools?.map((tool) => tool.function.name));
		assert.ok(declared[0]?.includes("bash"));
		assert.deepEqual(declared.at(-1), declared[0]);
	});

	test(`after a final answer the next prompt has its tools again (${meter})`, async (t) => {
		const model: Script = (_request, n) => (n === (meter === "turns" ? 4 : 5) ? text("My answer.") : mark());
		const pi = await host(t, { model, env: limits[meter] });
		await pi.print("go", "again");
		assert.equal(pi.marks().length, 6);
	});

	test(`a model that calls once more and then answers is in time (${meter})`, async (t) => {
		const last = meter === "turns" ? 5 : 6;
		const model: Script = (_request, n) => (n === last ? text("My answer.") : mark());
		const pi = await host(t, { model, env: limits[meter], after: [spy] });
		const { stdout } = await pi.print("go");
		assert.equal(stdout, "My answer.\n");
		assert.equal(pi.model.requests.length, last);
		assert.equal(pi.marks().length, 3);
		assert.deepEqual(ends(pi), [["synthesized", meter]]);
	});
}

// A model that does not

for (const [what, reply] of [
	["calls tools", mark()],
	["calls tools and talks", { ...text("Let me look."), ...mark() }],
] as const) {
	for (const meter of METERS) {
		test(`a model that ${what} all the same executes nothing and is stopped after two turns (${meter})`, async (t) => {
			const pi = await host(t, { model: endless(reply), env: limits[meter], after: [spy] });
			const { stdout, stderr, code } = await pi.print("go");
			assert.equal(pi.marks().length, 3);
			// 3 turns, or 3 and the one whose call met the limit; then two more.
			assert.equal(pi.model.requests.length, meter === "turns" ? 5 : 6);
			assert.equal(stdout, "");
			assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 /);
			assert.equal(code, 53);
			assert.deepEqual(ends(pi), [["exhausted", meter]]);
		});
	}
}

test("a model that calls tools which do not exist is stopped after two turns as well", async (t) => {
	const model: Script = (_request, n) => (n <= 3 ? mark() : calls({ name: "no_such_tool", args: {} }));
	const pi = await host(t, { model, env: limits.turns, after: [spy] });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 5);
	assert.deepEqual(ends(pi), [["exhausted", "turns"]]);
});

test("refused calls are told again what is due, and the message comes once", async (t) => {
	const pi = await host(t, { model: endless(), env: limits.turns });
	await pi.print("go");
	const last = pi.model.requests.at(-1);
	assert.deepEqual(last?.texts("user"), ["go", told.turns]);
	assert.equal(last.last, `Not run. ${told.turns}`);
});

test("a limit of 0 admits no turn, also under synthesize", async (t) => {
	const env = { ...limits.turns, PI_MAX_TURNS: "0" };
	const pi = await host(t, { model: obedient, env, after: [spy] });
	const { stdout, code } = await pi.print("go");
	assert.equal(pi.model.requests.length, 0);
	assert.deepEqual({ stdout, code }, { stdout: "", code: 53 });
	assert.deepEqual(ends(pi), [["exhausted", "turns"]]);
});

// With a person

/** One run with somebody who answers every question like this. */
async function attended(t: TestContext, answer: object, options: HostOptions): Promise<{ pi: Host; rpc: Rpc }> {
	const pi = await host(t, { ...options, after: [spy] });
	const rpc = await pi.rpc({ answer: () => answer });
	await rpc.run("go");
	return { pi, rpc };
}

for (const [how, answer] of [
	["a no", { confirmed: false }],
	["Escape", { cancelled: true }],
] as const) {
	for (const meter of METERS) {
		test(`${how} under synthesize gives the answer (${meter})`, async (t) => {
			const { pi, rpc } = await attended(t, answer, { model: obedient, env: limits[meter] });
			assert.equal(rpc.questions.length, 1);
			assert.equal(seen(pi).at(-1), 1);
			assert.equal(pi.marks().length, 3);
			assert.deepEqual(ends(pi), [["synthesized", meter]]);
			const limit = meter === "turns" ? "Turn limit" : "Tool limit";
			assert.deepEqual(rpc.notifications, [
				{ message: `${limit} reached; the model gave its final answer. Send a message to go on.`, type: "info" },
			]);
		});
	}
}

for (const meter of METERS) {
	test(`a no under abort gives the notification and no further request (${meter})`, async (t) => {
		const env = { ...limits[meter], PI_TURN_LIMIT_POLICY: "abort" };
		const { pi, rpc } = await attended(t, { confirmed: false }, { model: obedient, env });
		assert.equal(pi.model.requests.length, meter === "turns" ? 3 : 4);
		assert.deepEqual(ends(pi), [["declined", meter]]);
		const limit = meter === "turns" ? "Turn limit" : "Tool limit";
		assert.deepEqual(rpc.notifications, [
			{ message: `Agent aborted by user. ${limit} reached. Send a message to go on.`, type: "info" },
		]);
	});
}

test("a yes under synthesize goes on as ever", async (t) => {
	const model = [...times(4), text("finished")];
	const { pi } = await attended(t, { confirmed: true }, { model, env: limits.turns });
	assert.equal(pi.marks().length, 4);
	assert.deepEqual(ends(pi), [["completed", undefined]]);
});

test("nobody is asked in the final pass, whatever runs out there", async (t) => {
	const env = { ...limits.turns, PI_TURN_LIMIT_TOOLS: "3" };
	const { pi, rpc } = await attended(t, { confirmed: false }, { model: endless(), env });
	assert.equal(rpc.questions.length, 1);
	assert.deepEqual(ends(pi), [["exhausted", "turns"]]);
	assert.deepEqual(rpc.notifications, [
		{ message: "Turn limit reached; the run ended without an answer. Send a message to go on.", type: "error" },
	]);
});

test("the widget says that the final answer is due", async (t) => {
	const { rpc } = await attended(t, { confirmed: false }, { model: obedient, env: limits.turns });
	assert.deepEqual(rpc.widgets().map(String).slice(-3), ["Turns: 3/3", "Turns: 3/3 · final answer", "undefined"]);
});

test("the widget shows limited tool calls beside it", async (t) => {
	const { rpc } = await attended(t, { confirmed: false }, { model: obedient, env: limits.toolCalls });
	assert.deepEqual(rpc.widgets().map(String).slice(-3), [
		"Turns: 4/25 · Tools: 3/3",
		"Turns: 4/25 · Tools: 3/3 · final answer",
		"undefined",
	]);
});

test("the terminal shows the instruction and the answer", async (t) => {
	const pi = await host(t, { model: obedient, env: { ...limits.turns, PI_MAX_TURNS: "1" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("You've used 1 turn. Continue?");
	tui.press("escape");
	const screen = await tui.shows("My answer.");
	assert.match(screen, /The budget of turns for this run is spent/);
});

test("an abort in the final pass is an interruption", async (t) => {
	const { pi } = await during(t, 4, (rpc) => rpc.abort(), {
		...{ model: obedient, env: limits.turns, after: [spy], answer: "no" },
	});
	assert.equal(pi.model.requests.length, 4);
	assert.deepEqual(ends(pi), [["interrupted", undefined]]);
});

test("what is typed into the final pass reaches the model and opens no new round", async (t) => {
	const model: Script = (_request, n) => (n <= 3 ? mark() : n === 4 ? text("My answer.") : mark());
	const steer = (rpc: Rpc) => rpc.steer("and?");
	const { pi, rpc } = await during(t, 4, steer, { model, env: limits.turns, after: [spy], answer: "no" });
	assert.equal(pi.model.requests.length, 5);
	assert.equal(pi.model.requests[4]?.last, "and?");
	assert.equal(pi.marks().length, 3);
	assert.equal(rpc.questions.length, 1);
});

test("an answer that was given stays one when the user has more messages queued than turns are left", async (t) => {
	const queue = async (rpc: Rpc) => {
		for (const message of ["one", "two"]) await rpc.followUp(message);
	};
	const model: Script = (_request, n) => (n <= 3 ? mark() : text("My answer."));
	const { pi, rpc } = await during(t, 4, queue, { model, env: limits.turns, after: [spy], answer: "no" });
	assert.equal(pi.model.requests.length, 5);
	assert.deepEqual(ends(pi), [["synthesized", "turns"]]);
	await rpc.run("again");
	assert.deepEqual(pi.model.requests.at(-1)?.texts("user").slice(2).sort(), [NEW_RUN, "again", "one", "two"]);
});

test("/turn-limit wrap-up in the final pass says that the run is ending already", async (t) => {
	const wish = (rpc: Rpc) => rpc.prompt("/turn-limit wrap-up");
	const { pi, rpc } = await during(t, 4, wish, { model: obedient, env: limits.turns, answer: "no" });
	assert.deepEqual(rpc.notifications[0], { message: "The run is ending already.", type: "info" });
	assert.equal(pi.model.requests.length, 4);
});

// Together with the rest

test("the wrap-up comes first, the final pass after it", async (t) => {
	const pi = await host(t, { model: obedient, env: { ...limits.turns, PI_TURN_LIMIT_GRACE: "1" }, after: [spy] });
	await pi.print("go");
	assert.deepEqual(pi.model.turns.at(-1)?.texts("user"), ["go", wrapUp("turns", 1), told.turns]);
	assert.deepEqual(ends(pi), [["synthesized", "turns"]]);
});

test("a request of the final pass that fails is repeated and counts once", async (t) => {
	const model = [...times(3), fail(529), mark(), fail(529), text("My answer.")];
	const pi = await host(t, { model, env: limits.turns, after: [spy] });
	const { stdout } = await pi.print("go");
	assert.equal(stdout, "My answer.\n");
	assert.deepEqual(ends(pi), [["synthesized", "turns"]]);
});

const small: HostOptions = {
	modelFields: { contextWindow: 10_000 },
	settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
};
const full = { usage: { prompt: 9_000 } };

for (const [meter, model] of [
	["turns", [...times(2), { ...mark(), ...full }, text("My answer.")]],
	["toolCalls", [...times(3), { ...mark(), ...full }, text("My answer.")]],
] as const) {
	test(`a compaction at its start is made, and the model is told once (${meter})`, async (t) => {
		const pi = await host(t, { ...small, model, env: limits[meter], after: [spy] });
		const { stdout } = await pi.print("go");
		assert.equal(stdout, "My answer.\n");
		assert.equal(pi.model.turns.at(-1)?.count("A summary."), 1);
		assert.equal(seen(pi).at(-1), 1);
		assert.deepEqual(ends(pi), [["synthesized", meter]]);
	});
}

for (const [meter, before] of [
	["turns", times(3)],
	["toolCalls", times(4)],
] as const) {
	test(`an instruction that a compaction takes out of the model's sight is given again (${meter})`, async (t) => {
		// The result of a call that does not exist is pi's own, and carries no instruction.
		const model = [...before, { ...calls({ name: "no_such_tool", args: {} }), ...full }, text("My answer.")];
		const pi = await host(t, { ...small, model, env: limits[meter] });
		await pi.print("go");
		assert.equal(pi.model.turns.at(-1)?.count("A summary."), 1);
		assert.equal(seen(pi).at(-1), 1);
	});
}

/** A tool that makes a call where pi lets tools do that (1.x), and keeps to itself what came of it. */
function nesting(pi: ExtensionAPI): void {
	pi.registerTool({
		...{ name: "nest", label: "nest", description: "nest", parameters: { type: "object", properties: {} } },
		execute: async (_id, _parameters, _signal, _onUpdate, ctx) => {
			const { executeTool } = ctx as { executeTool?: (name: string, args: object) => Promise<unknown> };
			await executeTool?.("bash", { command: "echo x >> marks" });
			return { content: [{ type: "text", text: executeTool ? "nested" : "cannot nest" }], details: {} };
		},
	});
}

test("a call that a tool makes is refused: the model is told though the tool hides it", async (t) => {
	const model: Script = (request, n) => {
		if (request.count(sign) > 0) return text("My answer.");
		// Where tools make no calls, the model makes it.
		return n === 1 ? calls({ name: "nest", args: {} }) : request.last === "cannot nest" ? mark() : text("Never told.");
	};
	const pi = await host(t, { model, env: { ...limits.toolCalls, PI_TURN_LIMIT_TOOLS: "1" }, after: [spy, nesting] });
	const { stdout } = await pi.print("go");
	assert.equal(stdout, "My answer.\n");
	assert.deepEqual(pi.marks(), []);
	assert.deepEqual(ends(pi), [["synthesized", "toolCalls"]]);
});

describe("after a final pass", () => {
	const AGAIN = /^A new run has begun, and tool calls run again\./;

	const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0", PI_TURN_LIMIT_POLICY: "synthesize" };

	/** The first prompt meets the limit; the next ones end by themselves. */
	const model = [mark(), mark(), text("An answer."), mark(), text("done"), text("done")];

	for (const isCompacted of [false, true]) {
		test(`the model reads with the next prompt that it may work again${isCompacted ? ", also after a compaction" : ""}`, async (t) => {
			const compaction = { reserveTokens: 100, keepRecentTokens: 1 };
			const pi = await host(t, { model, env, settings: { compaction }, summary: text("Every tool call is refused.") });
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			if (isCompacted) await rpc.send({ type: "compact" });
			const before = pi.model.turns.length;
			await rpc.run("go on");
			const [first, second] = pi.model.turns.slice(before);
			assert.match(first?.texts("user").at(-1) ?? "", AGAIN);
			assert.equal(first?.texts("user").at(-2), "go on");
			assert.equal(second?.texts("user").filter((words) => AGAIN.test(words)).length, 1);
			await rpc.run("once more");
			assert.equal(
				pi.model.turns
					.at(-1)
					?.texts("user")
					.filter((words) => AGAIN.test(words)).length,
				1,
			);
		});
	}

	test("the model reads that it may work again in a run of another extension, once a command has given it room", async (t) => {
		const wakes = (pi: ExtensionAPI): void => {
			pi.registerCommand("wake", {
				handler: (_args, ctx) => {
					pi.sendUserMessage("wake up");
					return ctx.waitForIdle();
				},
			});
		};
		const pi = await host(t, { model, env, after: [wakes] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		const before = pi.model.turns.length;
		await rpc.run("/wake");
		assert.equal(pi.model.turns.length, before, "there was no room yet");
		await rpc.prompt("/turn-limit 50");
		await rpc.run("/wake");
		const [first, second] = pi.model.turns.slice(before);
		assert.match(first?.texts("user").at(-1) ?? "", AGAIN);
		assert.equal(second?.texts("user").filter((words) => AGAIN.test(words)).length, 1);
	});
});

// Settings

test("/turn-limit policy sets it for the session", async (t) => {
	const pi = await host(t, { model: obedient, env: { PI_MAX_TURNS: "2" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit policy synthesize");
	assert.deepEqual(rpc.notifications, [{ message: "Policy set to synthesize.", type: "info" }]);
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0, 1]);
});

test("/turn-limit policy at an open question counts for its answer", async (t) => {
	const pi = await host(t, { model: obedient, env: { PI_MAX_TURNS: "2" } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	await rpc.prompt("/turn-limit policy synthesize");
	question.no();
	await rpc.settled();
	assert.deepEqual(seen(pi), [0, 0, 1]);
});

test("a policy that the command cannot take is refused with a message and changes nothing", async (t) => {
	const wrong = ["stop", "synthesise", "1"];
	const pi = await host(t, { model: obedient, env: { PI_MAX_TURNS: "2" } });
	const rpc = await pi.rpc({ answer: "no" });
	for (const value of wrong) await rpc.prompt(`/turn-limit policy ${value}`);
	assert.deepEqual(
		rpc.notifications,
		wrong.map((value) => ({
			message: `policy: expected abort or synthesize, got "${value}". Nothing has changed.`,
			type: "error",
		})),
	);
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0]);
});

test("a policy that the environment gets wrong is named, and the default serves", async (t) => {
	const pi = await host(t, { model: obedient, env: { ...limits.turns, PI_TURN_LIMIT_POLICY: "answer" } });
	const { stderr } = await pi.print("go");
	assert.match(
		stderr,
		/^pi-turn-limit: PI_TURN_LIMIT_POLICY: expected abort or synthesize, got "answer"\. Using abort \(default\)\.$/m,
	);
	assert.equal(pi.model.requests.length, 3);
});

test("completion explains synthesize", async (t) => {
	const pi = await host(t);
	const tui = await pi.terminal();
	tui.type("/turn-limit policy s");
	await tui.shows(/policy synthesize.*one last answer, tools refused/);
});
