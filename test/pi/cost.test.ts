import assert from "node:assert/strict";
import type { Outcome } from "../../src/core/outcome.ts";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { embedded } from "../company/program.ts";
import { family, turnsOfChildren } from "../company/subagents-family.ts";
import { small } from "../facts/bare.ts";
import {
	type Answer,
	calls,
	endless,
	fail,
	host,
	type Host,
	type HostOptions,
	mark,
	essence,
	outcomes,
	type Reply,
	type Rpc,
	type Script,
	spy,
	text,
	times,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { reply, status } from "../settings/status.ts";

// A reply of the scripted model costs one cent unless it says otherwise.

const VARIABLE = "PI_TURN_LIMIT_COST";
const FILE = "turn-limit.json";

const cost = (dollars: number | string): Record<string, string> => ({ [VARIABLE]: String(dollars) });

/** The reply at another price. */
function cents(price: number, reply: Reply = mark()): Reply {
	return { ...reply, usage: { prompt: 500 * price, completion: 50 * price } };
}

/** The title and the first line of every question. */
function asked(rpc: Rpc): string[] {
	return rpc.questions.map(({ title, message }) => `${title}: ${message?.split("\n")[0]}`);
}

function askedAfter(amount: string, place = ""): string {
	return `Cost limit reached${place}: You've used ${amount}. Continue?`;
}

/** How each run ended, after how many turns, and what it cost. */
function ends(pi: Host): [kind: string, turns: number, cost: number][] {
	return outcomes(pi).map(({ kind, turns, cost }) => [kind, turns, cost]);
}

/** One run with somebody to ask, to its end. */
async function attended(t: TestContext, answer: Answer, options: HostOptions): Promise<{ pi: Host; rpc: Rpc }> {
	const pi = await host(t, { ...options, after: [spy, ...(options.after ?? [])] });
	const rpc = await pi.rpc({ answer });
	await rpc.run("go");
	return { pi, rpc };
}

// Without a person

for (const [name, options] of [
	[VARIABLE, { env: cost(0.03) }],
	["--turn-limit-cost", { args: ["--turn-limit-cost", "$0.03"], env: cost("unlimited") }],
	[`maxCost in ${FILE}`, { agentFiles: { [FILE]: { maxCost: 0.03 } } }],
	[
		`maxCost in .pi/${FILE}`,
		{ agentFiles: { [FILE]: { maxCost: 2 } }, files: { [`.pi/${FILE}`]: { maxCost: "$0.03" } } },
	],
] as const) {
	test(`set by ${name}, $0.03 pays for three responses of a cent, and stderr names limit and place`, async (t) => {
		const pi = await host(t, { ...options, model: endless(), after: [spy] });
		assert.deepEqual(await pi.print("go"), {
			stdout: "",
			stderr: `pi-turn-limit: stopped at the limit of $0.03 (${name}), without an answer; spent: 3 turns, 3 tool calls, $0.03.\n`,
			code: 53,
			signal: null,
		});
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(outcomes(pi).map(essence), [
			{
				...{ kind: "exhausted", meter: "cost", limit: 0.03 },
				...{ turns: 3, toolCalls: 3, cost: 0.03, continuations: 0, advised: false },
			},
		]);
	});
}

test("under synthesize one more turn gives the answer, with its tool calls refused", async (t) => {
	const model = [...times(3), mark("refused"), text("The best I have.")];
	const env = { ...cost(0.03), PI_TURN_LIMIT_POLICY: "synthesize" };
	const pi = await host(t, { model, env, after: [spy] });
	assert.deepEqual(await pi.print("go"), {
		stdout: "The best I have.\n",
		stderr: `pi-turn-limit: stopped at the limit of $0.03 (${VARIABLE}), with a last answer; spent: 5 turns, 3 tool calls, $0.05.\n`,
		code: 53,
		signal: null,
	});
	assert.match(pi.model.turns[3]?.last ?? "", /^The budget of US dollars for this run is spent;/);
	assert.match(pi.model.turns[4]?.last ?? "", /^Not run\. The budget of US dollars for this run is spent;/);
	assert.deepEqual(pi.marks(), ["x", "x", "x"]);
	assert.deepEqual(ends(pi), [["synthesized", 5, 0.05]]);
});

test("one response can go beyond the limit, none follows it, and a new prompt has the whole limit again", async (t) => {
	const pi = await host(t, { model: endless(cents(2)), env: cost(0.03), after: [spy] });
	await pi.print("go", "again");
	assert.equal(pi.model.requests.length, 4);
	assert.deepEqual(
		ends(pi),
		times(2).map(() => ["exhausted", 2, 0.04]),
	);
});

test("a limit of 0 admits no request", async (t) => {
	const pi = await host(t, { model: endless(), env: cost(0) });
	const { stderr, code } = await pi.print("go");
	assert.equal(pi.model.requests.length, 0);
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of \$0\.00 \(/);
	assert.equal(code, 53);
});

// With a person

test("the person is asked with the amount, a yes starts the count anew, and a no stops the run", async (t) => {
	const { pi, rpc } = await attended(t, (_question, n) => n === 1, { model: endless(), env: cost(0.03) });
	assert.deepEqual(
		rpc.questions.map(({ title, message }) => ({ title, message })),
		[
			["$0.03", "3 turns, 3 tool calls, $0.03", "prompt"],
			["$0.03", "6 turns, 6 tool calls, $0.06", "yes"],
		].map(([used, spent, since]) => ({
			title: "Cost limit reached",
			message: [
				`You've used ${used}. Continue?`,
				`This run so far: ${spent}.`,
				`Since your ${since}: 3 bash`,
				"Last: bash echo x >> marks · bash echo x >> marks · bash echo x >> marks",
				"Yes: $0.03 more. No: the run ends here.",
			].join("\n"),
		})),
	);
	assert.equal(pi.model.requests.length, 6);
	assert.deepEqual(rpc.notifications, [
		{ message: "Agent aborted by user. Cost limit reached. Send a message to go on.", type: "info" },
	]);
	assert.deepEqual(outcomes(pi).map(essence), [
		{
			...{ kind: "declined", answered: true, meter: "cost", limit: 0.03 },
			...{ turns: 6, toolCalls: 6, cost: 0.06, continuations: 1, advised: false },
		},
	]);
});

test("the widget shows what was spent as soon as a response has arrived, and a yes sets it to 0", async (t) => {
	const model = [...times(2), text("done")];
	const { rpc } = await attended(t, "yes", { model, env: cost("$0.02") });
	assert.deepEqual(rpc.widgets().map(String), [
		"Turns: 1/25 · Cost: $0.00/$0.02",
		"Turns: 1/25 · Cost: $0.01/$0.02",
		"Turns: 2/25 · Cost: $0.01/$0.02",
		"Turns: 2/25 · Cost: $0.02/$0.02",
		"Turns: 2/25 · Cost: $0.00/$0.02",
		"Turns: 3/25 · Cost: $0.00/$0.02",
		"Turns: 3/25 · Cost: $0.01/$0.02",
		"undefined",
	]);
});

test("the terminal asks, with the amount in the question and above the editor", async (t) => {
	const pi = await host(t, { model: endless(), env: cost(0.02) });
	const tui = await pi.terminal();
	tui.type("go\r");
	const screen = await tui.shows("You've used $0.02. Continue?");
	assert.match(screen, /Cost limit reached/);
	assert.match(screen, /Turns: 2\/25 · Cost: \$0\.02\/\$0\.02/);
	tui.press("escape");
	await tui.shows("You stopped the run at the cost limit.");
	assert.equal(pi.model.requests.length, 2);
});

test("a limit of 0 for turns and for cost: two questions before each turn, and two yes admit it", async (t) => {
	const env = { ...cost(0), PI_MAX_TURNS: "0" };
	const { pi, rpc } = await attended(t, (_question, n) => n <= 4, { model: endless(), env });
	assert.deepEqual(asked(rpc), [
		"Turn limit reached (1 of 2): You've used 0 turns. Continue?",
		askedAfter("$0.00", " (2 of 2)"),
		"Turn limit reached (1 of 2): You've used 1 turn. Continue?",
		askedAfter("$0.01", " (2 of 2)"),
		"Turn limit reached (1 of 2): You've used 1 turn. Continue?",
	]);
	assert.equal(pi.model.requests.length, 2);
	assert.deepEqual(ends(pi), [["declined", 2, 0.02]]);
});

test("limits of every scope run out in the same turn: each question has its number, and names the next", async (t) => {
	const wider = { PI_TURN_LIMIT_DAY_COST: "0.01", PI_TURN_LIMIT_TREE_TURNS: "1", PI_TURN_LIMIT_SESSION_COST: "0.01" };
	const env = { ...cost(0.01), PI_MAX_TURNS: "1", ...wider };
	const { rpc } = await attended(t, "yes", { model: [mark(), text("done")], env });
	const said = rpc.questions.map(({ title, message }) => `${title}: ${/Yes: (.*?)\. No:/.exec(message ?? "")?.[1]}`);
	assert.deepEqual(said, [
		"Day cost limit reached (1 of 5): $0.001 more; the tree turn limit is next",
		"Tree turn limit reached (2 of 5): 1 more turn; the session cost limit is next",
		"Session cost limit reached (3 of 5): $0.001 more; the turn limit is next",
		"Turn limit reached (4 of 5): 1 more turn; the cost limit is next",
		"Cost limit reached (5 of 5): $0.001 more, then the session cost limit",
	]);
});

test("turns and cost run out in the same turn: one question each, and each yes resets its own meter", async (t) => {
	const model = [...times(3), text("done")];
	const { pi, rpc } = await attended(t, "yes", { model, env: { ...cost(0.02), PI_MAX_TURNS: "2" } });
	assert.deepEqual(asked(rpc), [
		"Turn limit reached (1 of 2): You've used 2 turns. Continue?",
		askedAfter("$0.02", " (2 of 2)"),
	]);
	assert.deepEqual(rpc.widgets().map(String).slice(3), [
		"Turns: 2/2 · Cost: $0.02/$0.02",
		"Turns: 0/2 · Cost: $0.02/$0.02",
		"Turns: 0/2 · Cost: $0.00/$0.02",
		"Turns: 1/2 · Cost: $0.00/$0.02",
		"Turns: 1/2 · Cost: $0.01/$0.02",
		"Turns: 2/2 · Cost: $0.01/$0.02",
		"Turns: 2/2 · Cost: $0.02/$0.02",
		"undefined",
	]);
	assert.deepEqual(ends(pi), [["completed", 4, 0.04]]);
});

// The command

test("/turn-limit cost sets, raises, shows and lifts the limit, and refuses what is no amount", async (t) => {
	const rpc = await (await host(t)).rpc();
	const expected = "cost: expected dollars such as 2.50 or $2.50, or unlimited, got";
	for (const [args, answer] of [
		["cost", "cost  $0.00, unlimited  default"],
		["cost +1", "Cost limit is unlimited; there is nothing to raise."],
		["cost 2.50", "Cost limit set to $2.50."],
		["cost +1", "$1.00 more: $3.50 in the next run's first round."],
		["cost +$0.25", "$0.25 more: $3.75 in the next run's first round."],
		["cost", "cost  $0.00 of $3.75 (2.50 + 1.25)  /turn-limit"],
		["COST $5", "Cost limit set to $5.00."],
		...["-1", "2,50", "1e3", "five", "$", "2.50 EUR", "1234567890"].map((bad) => [
			`cost ${bad}`,
			`${expected} "${bad}". Nothing has changed.`,
		]),
		...["+0", "+"].map((bad) => [
			`cost ${bad}`,
			`cost: expected an increase such as +1, got "${bad}". Nothing has changed.`,
		]),
		["cost", "cost  $0.00 of $5.00  /turn-limit"],
		["cost Unlimited", "Cost limit set to unlimited; it never asks again in this session."],
	]) {
		assert.equal(await reply(rpc, args), answer);
	}
	assert.deepEqual(rpc.widgets().map(String), [
		"Turns: 0/25 · Cost: $0.00/$2.50",
		"Turns: 0/25 · Cost: $0.00/$3.50",
		"Turns: 0/25 · Cost: $0.00/$3.75",
		"Turns: 0/25 · Cost: $0.00/$5.00",
		"Turns: 0/25",
	]);
});

test("/turn-limit cost in mid-run counts from there, and /turn-limit shows what was spent", async (t) => {
	const set = async (rpc: Rpc): Promise<void> => {
		assert.equal(await reply(rpc, "cost 0.02"), "Cost limit set to $0.02.");
		assert.equal((await status(rpc))["cost"], "$0.00 of $0.02 | /turn-limit");
	};
	const { pi, rpc } = await during(t, 3, set, { model: endless(), answer: "no" });
	assert.deepEqual(asked(rpc), [askedAfter("$0.02")]);
	assert.equal(pi.model.requests.length, 4);
	assert.equal((await status(rpc))["cost"], "$0.02 of $0.02 | /turn-limit");
});

test("/turn-limit cost +0.02 at an open question answers it and keeps the count", async (t) => {
	const pi = await host(t, { model: endless(), env: cost(0.02) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.question();
	assert.equal(await reply(rpc, "cost +0.02"), "$0.02 more: $0.04 in this round.");
	(await rpc.question()).no();
	await rpc.settled();
	assert.deepEqual(asked(rpc), [askedAfter("$0.02"), askedAfter("$0.04")]);
	assert.equal(pi.model.requests.length, 4);
});

test("a limit that the command has set is the same amount when the session is continued", async (t) => {
	const pi = await host(t, { model: endless(text("done")), session: true });
	const first = await pi.rpc();
	await reply(first, "cost $2.50");
	await first.run("go");
	await first.close();
	const second = await pi.rpc({ args: ["--continue"] });
	assert.equal((await status(second))["cost"], "$0.00 of $2.50 | /turn-limit");
});

// What is charged

/** A tool that reports a price of two cents with its result, and a tool that calls it twice where pi lets tools do that. */
function dear(pi: ExtensionAPI): void {
	const prices = { input: 0, output: 0.02, cacheRead: 0, cacheWrite: 0 };
	const usage = { input: 0, output: 9, cacheRead: 0, cacheWrite: 0, totalTokens: 9, cost: { ...prices, total: 0.02 } };
	const parameters = { type: "object", properties: {} };
	pi.registerTool({
		...{ name: "dear", label: "dear", description: "dear", parameters },
		execute: () => Promise.resolve({ content: [{ type: "text", text: "found" }], details: {}, usage }),
	});
	pi.registerTool({
		...{ name: "nest", label: "nest", description: "nest", parameters },
		execute: async (_id, _parameters, _signal, _onUpdate, ctx) => {
			const { executeTool } = ctx as { executeTool?: (name: string, args: object) => Promise<unknown> };
			for (const name of ["dear", "dear"]) await executeTool?.(name, {});
			return { content: [{ type: "text", text: executeTool ? "nested" : "cannot nest" }], details: {} };
		},
	});
}

const call = (name: string) => ({ name, args: {} });
const twice = calls(call("dear"), call("dear"));

test("what tools report with their results is charged, once for each call", async (t) => {
	const pi = await host(t, { model: endless(twice), env: cost(0.06), after: [spy, dear] });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 2);
	assert.deepEqual(ends(pi), [["exhausted", 2, 0.1]]);
});

test("what the calls of a tool report is charged once", async (t) => {
	const model: Script = ({ last }, n) => {
		if (n === 1) return calls(call("nest"));
		return last === "cannot nest" ? twice : text("done");
	};
	const pi = await host(t, { model, after: [spy, dear] });
	await pi.print("go");
	const [, turns = 0, total = 0] = ends(pi)[0] ?? [];
	assert.equal((total - 0.01 * turns).toFixed(2), "0.04");
});

/** A reply that fills the window of `small`, for nine cents, and a summary for two. */
const full: Reply = { ...mark(), usage: { prompt: 9_000, completion: 0 } };
const compacting = { ...small, summary: cents(2, text("A summary.")), after: [spy] };

test("a compaction is charged, once, and no turn follows it when it reached the limit", async (t) => {
	const model = [full, text("done")];
	const env = { PI_TURN_LIMIT_GRACE: "0" };
	const stopped = await host(t, { ...compacting, model, env: { ...env, ...cost(0.11) } });
	await stopped.print("go");
	assert.deepEqual(
		stopped.model.requests.map(({ kind }) => kind),
		["turn", "summary"],
	);
	assert.deepEqual(ends(stopped), [["exhausted", 1, 0.11]]);
	const enough = await host(t, { ...compacting, model, env: { ...env, ...cost(0.12) } });
	await enough.print("go");
	assert.deepEqual(ends(enough), [["completed", 2, 0.12]]);
});

test("a tool whose price reaches the limit stops the run before a compaction that is due", async (t) => {
	const model = [{ ...full, ...calls(call("dear")) }, text("done")];
	const pi = await host(t, { ...compacting, model, env: cost(0.11), after: [spy, dear] });
	await pi.print("go");
	assert.deepEqual(
		pi.model.requests.map(({ kind }) => kind),
		["turn"],
	);
	assert.deepEqual(ends(pi), [["exhausted", 1, 0.11]]);
});

test("a compaction that pi makes before a prompt is charged to that prompt", async (t) => {
	const model: Script = (_request, n) => (n === 1 ? full : mark());
	const pi = await host(t, { ...compacting, model, env: cost(0.04) });
	await pi.print("go", "again");
	assert.deepEqual(
		pi.model.requests.map(({ kind }) => kind),
		["turn", "summary", "turn", "turn"],
	);
	assert.deepEqual(ends(pi), [
		["exhausted", 1, 0.09],
		["exhausted", 2, 0.04],
	]);
});

test("a request that failed and a response that broke off cost nothing, their retries what they report", async (t) => {
	const broken = { ...text("I was about to"), cut: true };
	const model = [fail(529), broken, mark(), mark(), fail(400, "beyond the limit")];
	const pi = await host(t, { model, env: cost(0.02), after: [spy] });
	await pi.print("go");
	assert.equal(pi.model.requests.length, 4);
	assert.deepEqual(ends(pi), [["exhausted", 2, 0.02]]);
});

// The wrap-up

/** The words that only the wrap-up has. */
const ADVICE = "Begin nothing new.";

test("with a tenth of the amount left the model is told which budget is short, once in all", async (t) => {
	// After 2 turns 20% are left, after 3 turns 10%; turns come to their own wrap-up at the same time.
	const model = [cents(4), cents(4), cents(1), cents(0.5), cents(0.5)];
	const env = { ...cost(0.1), PI_MAX_TURNS: "6", PI_TURN_LIMIT_GRACE: "2" };
	const pi = await host(t, { model, env, after: [spy] });
	await pi.print("go");
	assert.deepEqual(
		pi.model.turns.map((request) => request.count(ADVICE)),
		[0, 0, 0, 1, 1],
	);
	assert.match(pi.model.turns[3]?.last ?? "", /^Only \$0\.01 left in this run\. Begin nothing new\./);
	assert.deepEqual(ends(pi), [["exhausted", 5, 0.1]]);
});

test("a run that ends after the wrap-up names the limit that it was about", async (t) => {
	const pi = await host(t, { model: [cents(9), text("My report.")], env: cost(0.1), after: [spy] });
	assert.deepEqual(await pi.print("go"), {
		stdout: "My report.\n",
		stderr: `pi-turn-limit: finished after the wrap-up near the limit of $0.10 (${VARIABLE}); spent: 2 turns, 1 tool call, $0.10.\n`,
		code: 54,
		signal: null,
	});
	assert.deepEqual(ends(pi), [["wrapped_up", 2, 0.1]]);
});

for (const [what, env] of [
	["1k tokens", { PI_TURN_LIMIT_TOKENS: "1k" }],
	["$1", cost(1)],
] as const) {
	test(`a reply that reports 1e17 tokens meets a limit of ${what}`, async (t) => {
		const pi = await host(t, { model: endless({ ...mark(), usage: { prompt: 1e17 } }), env });
		assert.deepEqual([(await pi.print("go")).code, pi.model.requests.length], [53, 1]);
	});
}

// A model without prices

const FREE = { modelFields: { cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } };

/** Models to switch to: one with prices, one without. */
function others(pi: ExtensionAPI): void {
	const model = (id: string, price: number): object => ({
		...{ id, name: id, reasoning: false, input: ["text"], contextWindow: 200_000, maxTokens: 8_000 },
		cost: { input: price, output: price, cacheRead: 0, cacheWrite: 0 },
	});
	pi.registerProvider("elsewhere", {
		...{ baseUrl: "http://127.0.0.1:9/v1", apiKey: "none", api: "openai-completions" },
		models: [model("priced", 1), model("gift", 0)] as never,
	});
}

/**
 * A model `router/auto` without prices of its own, whose replies cost what the scripted model's do. Where pi has no virtual
 * models yet, it is one whose provider reports its own prices.
 */
async function routes(pi: ExtensionAPI): Promise<void> {
	const { readFileSync } = await import("node:fs");
	const file = readFileSync(`${process.env["PI_CODING_AGENT_DIR"]}/models.json`, "utf8");
	const [[provider, { baseUrl }]] = Object.entries((JSON.parse(file) as { providers: object }).providers) as [
		[string, { baseUrl: string }],
	];
	const virtual = pi as unknown as { registerVirtualModel?: (model: object) => void };
	if (virtual.registerVirtualModel) {
		const route = (_request: unknown, ctx: { modelRegistry: { find: (...name: string[]) => object } }) => ({
			...{ model: ctx.modelRegistry.find(provider, "scripted"), thinkingLevel: "off" },
		});
		return virtual.registerVirtualModel({ provider: "router", id: "auto", name: "Auto", route });
	}
	const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
	const limits = { reasoning: false, input: ["text"], contextWindow: 200_000, maxTokens: 8_000 };
	pi.registerProvider("router", {
		...{ baseUrl: `${baseUrl}/openrouter.ai`, apiKey: "none", api: "openai-completions" },
		models: [{ id: "auto", name: "Auto", cost, ...limits }] as never,
	});
	pi.on("message_end", ({ message }) => {
		if (message.role !== "assistant" || message.usage.output === 0) return undefined;
		const { usage } = message;
		return { message: { ...message, usage: { ...usage, cost: { ...usage.cost, total: 0.01 } } } };
	});
}

const ROUTED = { before: [routes], args: ["--provider", "router", "--model", "auto"] };

test("a model that has prices only in its replies is held to the limit, and nothing else is said", async (t) => {
	const pi = await host(t, { ...ROUTED, model: endless(), env: cost(0.03) });
	const { stderr, code } = await pi.print("go");
	const spent = "spent: 3 turns, 3 tool calls, $0.03";
	assert.equal(stderr, `pi-turn-limit: stopped at the limit of $0.03 (${VARIABLE}), without an answer; ${spent}.\n`);
	assert.deepEqual([pi.model.requests.length, code], [3, 53]);
});

test("without a person, stderr says once that a model without prices cannot be held to the limit", async (t) => {
	const pi = await host(t, { ...FREE, model: (_request, n) => (n < 5 ? mark() : text("done")), env: cost(0.03) });
	assert.deepEqual(await pi.print("go", "again"), {
		stdout: "done\n",
		stderr: "pi-turn-limit: Cost limit of $0.03 cannot be enforced: scripted has no prices.\n",
		code: 0,
		signal: null,
	});
	assert.equal(pi.model.requests.length, 6);
});

test("a subagent in the same process leaves stderr to its parent", async (t) => {
	const pi = await family(t, {
		...{ ...FREE, env: cost(0.03), child: () => text("done") },
		tool: join(import.meta.dirname, "../company/subagents-in-process.ts"),
		starts: [{ name: "delegate", args: { task: "Look." } }],
	});
	const { stderr } = await pi.print("go");
	assert.equal(turnsOfChildren(pi), 1);
	assert.equal(stderr, "pi-turn-limit: Cost limit of $0.03 cannot be enforced: scripted has no prices.\n");
});

test("a person is told at the start, when the model changes, and when the limit is set, once each", async (t) => {
	const pi = await host(t, { ...FREE, model: endless(text("done")), env: cost(0.03), after: [others] });
	const rpc = await pi.rpc();
	const warning = (amount: string, model: string): string =>
		`Cost limit of ${amount} cannot be enforced: ${model} has no prices.`;
	const said = (): string[] => rpc.notifications.flatMap(({ message, type }) => (type === "warning" ? [message] : []));
	const select = async (provider: string, modelId: string): Promise<string[]> => {
		await rpc.send({ type: "set_model", provider, modelId });
		return said();
	};
	const start = [warning("$0.03", "scripted")];
	assert.deepEqual(said(), start);
	await rpc.run("go");
	assert.deepEqual(said(), start);
	assert.deepEqual(await select("elsewhere", "priced"), start);
	const changed = [...start, warning("$0.03", "gift")];
	assert.deepEqual(await select("elsewhere", "gift"), changed);
	await rpc.prompt("/turn-limit 30");
	assert.deepEqual(said(), changed);
	await rpc.prompt("/turn-limit cost 1");
	await rpc.prompt("/turn-limit cost 1");
	const set = [...changed, warning("$1.00", "gift")];
	assert.deepEqual(said(), set);
	await rpc.prompt("/turn-limit cost unlimited");
	assert.deepEqual(await select("loopback", "scripted"), set);
});

// The library

test("a program limits the cost by a number or an amount with a policy, and reads dollars", async (t) => {
	const pi = await host(t, { model: ({ last }) => (last.includes("is spent") ? text("All I have.") : mark()) });
	const seen = await embedded(pi, async ({ turnLimit, loader, open }) => {
		const run = async (limit: ReturnType<typeof turnLimit>): Promise<unknown[]> => {
			const loaded = loader([limit]);
			await loaded.reload();
			const session = await open(loaded);
			const ending = await limit.prompt(session, "go").catch((error: unknown) => error as Error);
			const { outcome = ending, message } = ending as { outcome?: unknown; message?: string };
			const { kind, turns, toolCalls, cost, meter, limit: max } = outcome as Outcome & { meter: string; limit: number };
			return [{ kind, turns, toolCalls, cost, meter, limit: max }, message, limit.snapshot().cost];
		};
		const refusal = (options: object): string => {
			try {
				turnLimit(options);
				return "";
			} catch (error) {
				return String(error);
			}
		};
		return [
			await run(turnLimit({ cost: 0.03 })),
			await run(turnLimit({ cost: { max: "$0.03", policy: "synthesize" } })),
			...[{ cost: -1 }, { cost: "much" }, { cost: { max: "$" } }].map(refusal),
		];
	});
	const gauge = { used: 0.03, limit: 0.03, remaining: 0, softLimit: 0.027, advised: false };
	const trip = { meter: "cost", limit: 0.03 };
	const expected = "expected dollars such as 2.50 or $2.50, or unlimited, got";
	assert.deepEqual(seen, [
		[
			{ kind: "exhausted", turns: 3, toolCalls: 3, cost: 0.03, ...trip },
			"pi-turn-limit: stopped at the limit of $0.03 (option), without an answer; spent: 3 turns, 3 tool calls, $0.03.",
			{ ...gauge, policy: "abort" },
		],
		[
			{ kind: "synthesized", turns: 4, toolCalls: 3, cost: 0.04, ...trip },
			null,
			{ ...gauge, used: 0.04, policy: "synthesize" },
		],
		`RangeError: cost: ${expected} -1.`,
		`RangeError: cost: ${expected} "much".`,
		`RangeError: cost.max: ${expected} "$".`,
	]);
});
