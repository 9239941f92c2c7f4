/** Shared limits under odd circumstances. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, host } from "../harness/index.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

for (const TZ of ["", "Not/AZone", "Asia/Kolkata"]) {
	test(`a day's limit holds where the variable TZ is ${JSON.stringify(TZ)}`, async (t) => {
		const pi = await host(t, { model: endless(), env: { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "2", TZ } });
		const { code } = await pi.print("go");
		assert.deepEqual([code, pi.model.requests.length], [53, 2]);
	});
}
