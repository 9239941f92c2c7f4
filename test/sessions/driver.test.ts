import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { type MeterId, perMeter } from "../../src/core/meters.ts";
import { create } from "../../src/core/state.ts";
import { NO_REPLY } from "../../src/loop/open-question.ts";
import { Driver } from "../../src/loop/driver.ts";
import { SharedLimits } from "../../src/loop/sharing/shared-limits.ts";

/** Makes drivers that share a limit of one turn a day, in hosts that only listen. `opens`: the ledger is needed. */
function drivers(t: TestContext): (opens?: () => void) => Driver<undefined> {
	const folder = mkdtempSync(join(tmpdir(), "pi-driver-"));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	const nothing = (): void => {};
	const host = {
		...{ post: nothing, withdraw: nothing, goOn: nothing, abort: nothing, committed: nothing },
		...{ debtLeft: nothing, ended: nothing, signal: nothing as () => undefined, wrapUp: (text: string) => text },
		ask: () => ({ reply: Promise.resolve(NO_REPLY), close: nothing }),
	};
	const limits = perMeter((id: MeterId) => ({ max: id === "dayTurns" ? 1 : "unlimited", policy: "abort" }) as const);
	return (opens = nothing) => {
		const state = create({ attended: false, isMember: false, limits, grace: 0, exempt: [] });
		const sharing = () => {
			opens();
			return { at: join(folder, "ledger") };
		};
		return new Driver(host, state, new SharedLimits(sharing));
	};
}

test("a driver that is left while it waits for the ledger gives back what it is granted", async (t) => {
	const make = drivers(t);
	const heard: string[] = [];
	const left = make(() => void left.leave((event) => Promise.resolve(void heard.push(event.type))));
	assert.equal(await left.request({ type: "turn_requested" }, undefined), "left");
	assert.deepEqual(heard, []);
	const next = make();
	assert.equal(await next.request({ type: "turn_requested" }, undefined), "admit");
	await next.settle(undefined, false);
});

test("the end of a session is told to whatever waits in it, and not to what begins later", async (t) => {
	const driver = drivers(t)();
	const { endSignal } = driver;
	await driver.shutDown(undefined);
	assert.deepEqual([endSignal.aborted, driver.endSignal.aborted], [true, false]);
});
