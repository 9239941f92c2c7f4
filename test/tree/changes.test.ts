/** Shared limits that are set, raised and lifted while a run is under way, and after one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bash, calls, childCli, endless, held, host, mark, node, type Reply, text, times } from "../harness/index.ts";
import { family, tireless } from "../company/subagents-family.ts";
import { reply } from "../settings/status.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

test("a tree's limit that is set after a yes, a lower one or a raise is what all may spend", async (t) => {
	const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_TURNS: "3" } });
	const rpc = await pi.rpc({ answer: (_question, n) => (n === 1 ? true : undefined) });
	await rpc.prompt("go");
	const asked = async (n: number): Promise<number> => {
		await rpc.until(`question ${n}`, () => rpc.questions.length === n);
		return pi.model.requests.length;
	};
	assert.equal(await asked(2), 4);
	for (const [n, typed, turns] of [
		[3, "8", 8],
		[4, "+2", 10],
		[5, "14", 14],
	] as const) {
		await rpc.send({ type: "prompt", message: `/turn-limit tree turns ${typed}` });
		assert.equal(await asked(n), turns);
	}
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns 11" });
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns +3" });
	assert.equal(rpc.notifications.at(-1)?.message, "3 turns more: 17 in this tree of agents.");
	assert.equal(await asked(6), 17);
});

/** A pi of its own. */
const child = bash(`"${node}" "${childCli}" --offline --no-session -p a < /dev/null`);

test("a limit that the root's command has set holds for its members too, in place of the one in the file", async (t) => {
	for (const [scope, inFile, limit] of [
		["tree", 4, 9],
		["day", 4, 9],
		["tree", 9, 4],
	] as const) {
		const agentFiles = { "turn-limit.json": { grace: 0, [scope]: { maxTurns: inFile } } };
		const pi = await family(t, {
			starts: [child],
			child: tireless,
			agentFiles,
			env: { PI_TURN_LIMIT_TREE_TOKENS: "9M" },
		});
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.prompt(`/turn-limit ${scope} turns ${limit}`);
		await rpc.run("go");
		assert.equal(pi.model.turns.length, limit);
	}
});

test("a member whose root's command has raised the limit of the file says nothing of it beside its answer", async (t) => {
	const agentFiles = { "turn-limit.json": { grace: 0, month: { maxTurns: 4 } } };
	const pi = await family(t, { starts: [child], child: () => text("An answer."), agentFiles });
	const rpc = await pi.rpc();
	await rpc.prompt("/turn-limit month turns 9");
	await rpc.run("go");
	assert.equal(pi.model.turns.at(-1)?.last, "An answer.\n");
});

test("a member that starts after a grant and a new limit has the same limit as the root", async (t) => {
	const pi = await family(t, {
		...{ starts: [bash("true")], then: [...times(4), calls(child)], child: tireless },
		env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_TURNS: "4" },
	});
	const rpc = await pi.rpc({ answer: (_question, n) => (n === 1 ? true : n === 2 ? undefined : false) });
	await rpc.prompt("go");
	await rpc.until("the second question", () => rpc.questions.length === 2);
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns 9" });
	await rpc.settled();
	assert.deepEqual([pi.model.turns.length, rpc.questions.length], [9, 3]);
});

test("one of two limits of a tree is lifted in mid-run: the other one holds alone", async (t) => {
	const second = held();
	const pi = await host(t, {
		model: (_request: unknown, n: number): Reply => (n === 2 ? second : mark()),
		env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_TURNS: "3", PI_TURN_LIMIT_TREE_COST: "0.06" },
	});
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("go");
	await pi.model.arrival(2);
	await rpc.send({ type: "prompt", message: "/turn-limit tree turns unlimited" });
	second.release();
	await rpc.settled();
	assert.deepEqual(
		rpc.questions.map(({ title }) => title),
		["Tree cost limit reached"],
	);
	assert.equal(pi.model.requests.length, 6);
});

for (const scope of ["tree", "day"]) {
	test(`a limit of a ${scope} that grows in mid-turn is not short at the end of that turn`, async (t) => {
		const seventh = held();
		const pi = await host(t, {
			model: (_request: unknown, n: number): Reply => (n === 7 ? seventh : n < 10 ? mark() : text("done")),
			env: { PI_TURN_LIMIT_GRACE: "2", [`PI_TURN_LIMIT_${scope.toUpperCase()}_TURNS`]: "9" },
		});
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await pi.model.arrival(7);
		await rpc.send({ type: "prompt", message: `/turn-limit ${scope} turns 20` });
		seventh.release();
		await rpc.settled();
		assert.match(await reply(rpc), /Last run: finished by itself; spent: 10 turns/);
	});
}

test("between runs the status shows a tree's limit as it was set, for the next run", async (t) => {
	const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_TREE_TURNS: "3" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	for (const limit of [8, 2]) {
		await rpc.prompt(`/turn-limit tree turns ${limit}`);
		assert.match(await reply(rpc, "tree turns"), new RegExp(` 0 of ${limit} `));
	}
});

test("a day's limit that is set after a grant says what it is with the grant", async (t) => {
	const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "3" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit day turns +2");
	const told = await reply(rpc, "day turns 6");
	assert.equal(told, "Day turn limit set to 6; with what was granted it is 8 today.");
	await rpc.run("go");
	assert.equal(pi.model.requests.length, 8);
});
