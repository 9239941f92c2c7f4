import assert from "node:assert/strict";
import { test } from "node:test";
import { loopLimit } from "../../src/hosts/loop/index.ts";
import { inUse, soak } from "./soak.ts";

test("20 runs of 20 turns are counted right and leave nothing behind; npm run soak takes 2,000", async () => {
	await soak(20);
});

test("a run of a program leaves nothing behind in its limit", async (t) => {
	t.mock.timers.enable({ apis: ["Date"] });
	const limit = loopLimit({ sessionTurns: 1_000_000 });
	const play = async (runs: number): Promise<number> => {
		for (let n = 0; n < runs; n++) {
			const run = limit.start();
			await run.turn();
			await run.endTurn({ goesOn: false });
			await run.settle();
			t.mock.timers.tick(60_000);
		}
		return inUse();
	};
	const first = await play(1_000);
	const growth = (await play(5_000)) - first;
	assert.ok(growth < 2_500_000, `the heap has grown by ${growth} bytes`);
});
