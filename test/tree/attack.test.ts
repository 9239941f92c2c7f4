/** Shared limits under odd circumstances. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { meter } from "../../src/core/limit.ts";
import { perMeter } from "../../src/core/meters.ts";
import type { Ledger } from "../../src/ledger/port.ts";
import { Shares } from "../../src/pi/shares.ts";
import { endless, host } from "../harness/index.ts";
import { within } from "../harness/wait.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

for (const TZ of ["", "Not/AZone", "Asia/Kolkata"]) {
	test(`a day's limit holds where the variable TZ is ${JSON.stringify(TZ)}`, async (t) => {
		const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "2", TZ } });
		const { code } = await pi.print("go");
		assert.deepEqual([code, pi.model.requests.length], [53, 2]);
	});
}

test("Escape ends the wait for a ledger that does not answer", async () => {
	const limits = perMeter((id) => meter({ max: id === "dayTurns" ? 3 : "unlimited", policy: "abort" }));
	const shares = new Shares("nowhere", () => new Promise(() => {}), undefined);
	const escape = new AbortController();
	const reserved = shares.reserve(limits, [undefined, escape.signal]);
	escape.abort();
	assert.deepEqual(await within("the end of the wait", reserved, String), { type: "interrupted" });
});

test("a ledger that breaks in an unknown way after Escape rejects nothing unhandled", async () => {
	const limits = perMeter((id) => meter({ max: id === "dayTurns" ? 3 : "unlimited", policy: "abort" }));
	let grant = (): void => {};
	const slow = { reserve: () => new Promise((resolve) => (grant = () => resolve({ granted: true, readings: [] }))) };
	let opened = 0;
	const open = async () => {
		if (++opened > 1) throw new TypeError("broken");
		await Promise.resolve();
		return { ...slow, close: () => {} } as unknown as Ledger;
	};
	const shares = new Shares("nowhere", open, undefined);
	const escape = new AbortController();
	const reserved = shares.reserve(limits, [undefined, escape.signal]);
	await new Promise(setImmediate);
	escape.abort();
	await reserved;
	grant();
	await new Promise(setImmediate);
	assert.equal(opened, 2);
});
