/** Shared limits under odd circumstances. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { meter } from "../../src/core/limit.ts";
import { perMeter } from "../../src/core/meters.ts";
import { Shares } from "../../src/pi/shares.ts";
import { endless, held, host, mark, type Reply } from "../harness/index.ts";
import { within } from "../harness/wait.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

for (const TZ of ["", "Not/AZone", "Asia/Kolkata"]) {
	test(`a day's limit holds where the variable TZ is ${JSON.stringify(TZ)}`, async (t) => {
		const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "2", TZ } });
		const { code } = await pi.print("go");
		assert.deepEqual([code, pi.model.requests.length], [53, 2]);
	});
}

/** By scope: what a person says in the second and in the fourth turn of a run with a limit of 3, and how many turns it gets. */
const CHANGES = [
	["tree", ["10"], ["5"], 5],
	["tree", ["+5"], ["12"], 12],
	["tree", ["+5", "12", "+2"], ["+1"], 15],
	["day", ["+5"], ["12"], 12],
	["day", ["+5"], ["4"], 4],
	["day", ["+5", "12", "+2"], [], 14],
] as const;

for (const [scope, second, fourth, turns] of CHANGES) {
	const said = [...second, ...fourth].join(", then ");
	test(`a ${scope} limit of 3 that is changed in mid-run to ${said} lets ${turns} turns run`, async (t) => {
		const replies = [mark(), held(), mark(), held()] as const;
		const model = (_request: unknown, n: number): Reply => replies[n - 1] ?? mark();
		const variable = `PI_TURN_LIMIT_${scope.toUpperCase()}_TURNS`;
		const pi = await host(t, { model, env: { ...NO_GRACE, [variable]: "3" } });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt("go");
		const say = async (turn: 2 | 4, words: readonly string[]): Promise<void> => {
			await pi.model.arrival(turn);
			for (const word of words) await rpc.send({ type: "prompt", message: `/turn-limit ${scope} turns ${word}` });
			replies[turn === 2 ? 1 : 3].release();
		};
		await say(2, second);
		await say(4, fourth);
		await rpc.settled();
		assert.equal(pi.model.requests.length, turns);
		assert.match(rpc.questions[0]?.message ?? "", new RegExp(`^You've used ${turns} turns `));
	});
}

test("a yes to a limit that was lowered below what is used buys a turn", async (t) => {
	const third = held();
	const model = (_request: unknown, n: number): Reply => (n === 3 ? third : mark());
	const pi = await host(t, { model, env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_TURNS: "9" } });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.prompt("go");
	await pi.model.arrival(3);
	for (const word of ["12", "+4", "2"]) await rpc.send({ type: "prompt", message: `/turn-limit tree turns ${word}` });
	third.release();
	await rpc.settled();
	assert.deepEqual([rpc.questions.length, pi.model.requests.length], [2, 4]);
});

test("Escape ends the wait for a ledger that does not answer", async () => {
	const limits = perMeter((id) => meter({ max: id === "dayTurns" ? 3 : "unlimited", policy: "abort" }));
	const shares = new Shares("nowhere", () => new Promise(() => {}), undefined);
	const escape = new AbortController();
	const reserved = shares.reserve(limits, [undefined, escape.signal]);
	escape.abort();
	assert.deepEqual(await within("the end of the wait", reserved, String), { type: "interrupted" });
});
