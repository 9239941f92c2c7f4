/** A fleet's budget that programs spend, on loops of their own and on the AI SDK, beside a real pi. */
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { jsonSchema, tool } from "ai";
import { aiLimit } from "../../src/hosts/ai/index.ts";
import { loopLimit, type LoopOptions, type Outcome } from "../../src/hosts/loop/index.ts";
import { calls, endless, type Host, host } from "../harness/index.ts";
import { aiModel, ScriptedModel } from "../loops/model.ts";
import { budgets, type Database, database } from "./database.ts";

type Caps = Omit<NonNullable<LoopOptions["budget"]>, "at" | "account">;

function options(base: Database, caps: Caps): LoopOptions {
	return { turns: "unlimited", grace: 0, budget: { at: base.address("agent"), account: "ticket-42", ...caps } };
}

/** Takes turns until the run says no. */
async function ownLoop(given: LoopOptions): Promise<[requests: number, Outcome]> {
	const run = loopLimit(given).start();
	let turns = 0;
	while ((await run.turn()) !== undefined) {
		turns++;
		await run.charge({ tokens: 100, cost: 0.01 });
		if ((await run.endTurn({ goesOn: true })) === "stop") break;
	}
	return [turns, await run.settle()];
}

async function aiSdk(given: LoopOptions): Promise<[requests: number, Outcome]> {
	const limit = aiLimit({ ...given, price: () => 0.01 });
	const model = new ScriptedModel((n) => calls({ name: "noop", args: { n } }));
	const noop = tool({ inputSchema: jsonSchema<object>({ type: "object" }), execute: () => "ok" });
	const made = limit.generateText({ model: aiModel(model), prompt: "go", tools: { noop }, maxRetries: 0 });
	const outcome = await made.then(
		(result) => limit.outcomeOf(result),
		(error: unknown) => (error as { outcome: Outcome }).outcome,
	);
	return [model.requests.length, outcome];
}

/** A pi on a machine of its own. */
async function machine(t: TestContext, base: Database, caps: Caps): Promise<Host> {
	const { budget } = options(base, caps);
	const settings = { grace: 0, maxTurns: "unlimited", budget };
	const pi = await host(t, { model: endless(), agentFiles: { "turn-limit.json": settings } });
	chmodSync(join(pi.agentDir, "turn-limit.json"), 0o600);
	return pi;
}

test("a budget of 9 turns over two programs and a pi admits exactly 9 requests", async (t) => {
	const base = await database(t);
	const caps = { maxTurns: 9 };
	const pi = await machine(t, base, caps);
	const [own, sdk] = await Promise.all([ownLoop(options(base, caps)), aiSdk(options(base, caps)), pi.print("go")]);
	assert.equal(own[0] + sdk[0] + pi.model.turns.length, 9);
	for (const [, { kind, ...outcome }] of [own, sdk])
		assert.deepEqual([kind, "meter" in outcome && outcome.meter], ["exhausted", "budgetTurns"]);
});

test("a budget of dollars over two programs and a pi is kept but for one turn of each", async (t) => {
	const base = await database(t);
	const caps = { maxCost: 0.1 };
	const pi = await machine(t, base, caps);
	const [own, sdk] = await Promise.all([ownLoop(options(base, caps)), aiSdk(options(base, caps)), pi.print("go")]);
	const all = own[0] + sdk[0] + pi.model.turns.length;
	assert.ok(all >= 10 && all <= 13, String(all));
	const [[, , used] = []] = (await budgets(base)).filter((row) => (row as unknown[])[1] === "cost") as unknown[][];
	assert.equal(Number(used).toFixed(2), (all * 0.01).toFixed(2));
});

test("a program whose budget is out of reach sends no request", async () => {
	const budget = { at: "postgres://agent:secret@127.0.0.1:1/nowhere", account: "a", maxTurns: 9 };
	const [requests, outcome] = await ownLoop({ budget });
	assert.ok(requests === 0 && outcome.kind === "failed" && outcome.by === "breaker");
	assert.doesNotMatch(outcome.message, /secret/);
});
