/** Sessions of a program that embeds pi: after their end, on a shared bus, and with one limit too many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { host, mark, type Reply, type Request, text } from "../harness/index.ts";
import { embedded } from "./program.ts";

/** 40 turns, so that a run which no limit stops ends all the same. */
const long = (_request: Request, n: number): Reply => (n < 40 ? mark() : text("done"));

test("a prompt to a session that was disposed of is refused before anything leaves", async (t) => {
	const pi = await host(t, { model: long });
	const ending = await embedded(pi, async ({ turnLimit, loader, open, ending }) => {
		const limit = turnLimit({ turns: 2, grace: 0 });
		const resources = loader([limit]);
		await resources.reload();
		const session = await open(resources);
		await ending(limit.prompt(session, "go"));
		session.dispose();
		return await ending(limit.prompt(session, "again"));
	});
	assert.equal(pi.model.requests.length, 2);
	assert.equal(ending[0], "Error");
});

test("sessions that were disposed of, one prompted without us and one woken by a message, have no turn beyond the limit", async (t) => {
	const pi = await host(t, { model: long });
	await embedded(pi, async ({ turnLimit, loader, open }) => {
		const message = { customType: "wake-up", content: "wake up", display: true };
		for (const isPrompted of [true, false]) {
			const resources = loader([turnLimit({ turns: 2, grace: 0 })]);
			await resources.reload();
			const session = await open(resources);
			session.dispose();
			const run = isPrompted ? session.prompt("go") : session.sendCustomMessage(message, { triggerTurn: true });
			await run.catch(() => {});
		}
		return null;
	});
	for (const words of ["go", "wake up"]) {
		const turns = pi.model.turns.filter((request) => request.count(words) > 0).length;
		assert.ok(turns <= 2, `${turns} requests after ${words}`);
	}
});

test("a program that gives a session two limits is told so", async (t) => {
	const pi = await host(t, { model: long });
	const [, message] = await embedded(pi, async ({ turnLimit, loader, open, ending }) => {
		const [first, second] = [turnLimit({ turns: 2 }), turnLimit({ turns: 3 })];
		const resources = loader([first, second]);
		await resources.reload();
		const session = await open(resources);
		await ending(first.prompt(session, "go"));
		return await ending(second.prompt(session, "go"));
	});
	assert.match(String(message), /two turnLimit\(\)/);
	assert.equal(pi.model.requests.length, 0);
});

test("two sessions whose loaders share an event bus know /turn-limit both", async (t) => {
	const pi = await host(t, { model: long });
	const limits = await embedded(pi, async ({ sdk, turnLimit, loader, open }) => {
		const bus = sdk.createEventBus();
		const guarded = [turnLimit({ turns: 3, grace: 0 }), turnLimit({ turns: 3, grace: 0 })].map((limit) => ({
			limit,
			resources: loader([limit], bus),
		}));
		for (const { resources } of guarded) await resources.reload();
		const limits: unknown[] = [];
		for (const { limit, resources } of guarded) {
			await (await open(resources)).prompt("/turn-limit 1");
			limits.push(limit.snapshot().turns.limit);
		}
		return limits;
	});
	assert.deepEqual(limits, [1, 1]);
	assert.equal(pi.model.requests.length, 0);
});
