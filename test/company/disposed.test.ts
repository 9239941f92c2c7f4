/** Sessions of a program that embeds pi: on a shared bus, and with one limit too many. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { host, mark, type Reply, type Request, text } from "../harness/index.ts";
import { embedded } from "./program.ts";

/** 40 turns, so that a run which no limit stops ends all the same. */
const long = (_request: Request, n: number): Reply => (n < 40 ? mark() : text("done"));

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
