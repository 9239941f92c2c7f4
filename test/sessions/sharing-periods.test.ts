/** Limits of a week and a month, in sessions of pi in this process. */
import assert from "node:assert/strict";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { describe, test, type TestContext } from "node:test";
import installed from "../../src/hosts/pi/extension.ts";
import { periodText } from "../../src/hosts/pi/command/period-text.ts";
import { perMeter } from "../../src/core/meters.ts";
import type { Inside } from "../harness/inside.ts";
import { text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";
import { member, questions, say, sharing } from "./sharing.ts";

/** A clock that the test sets, for everything in this process. */
function clock(t: TestContext, at: string): (to: string) => void {
	const { now } = Date;
	let offset = Date.parse(at) - now();
	t.mock.method(Date, "now", () => now() + offset);
	return (to) => void (offset = Date.parse(to) - now());
}

function zone(t: TestContext, TZ: string): void {
	const { TZ: before } = process.env;
	process.env["TZ"] = TZ;
	defer(t, () => {
		if (before === undefined) Reflect.deleteProperty(process.env, "TZ");
		else process.env["TZ"] = before;
	});
}

/** A model that works for ever; before its reply to request `at` it is `to`. */
const crossing = (set: (to: string) => void, at: number, to: string) => (_request: unknown, n: number) => {
	if (n === at) set(to);
	return noop;
};

describe("a week and a month", () => {
	for (const [what, TZ, limits, before, after] of [
		[
			"a week ends on Sunday",
			"Europe/Berlin",
			{ week: { maxTurns: 3 } },
			"2026-11-22T22:59:50Z",
			"2026-11-22T23:00:10Z",
		],
		["a week goes over New Year", "UTC", { week: { maxTurns: 3 } }, "2027-01-03T23:59:50Z", "2027-01-04T00:00:10Z"],
		["a month ends on its last day", "UTC", { month: { maxTurns: 3 } }, "2026-11-30T23:59:50Z", "2026-12-01T00:00:10Z"],
		[
			"February has 29 days in a leap year",
			"UTC",
			{ month: { maxTurns: 3 } },
			"2028-02-29T23:59:50Z",
			"2028-03-01T00:00:10Z",
		],
		[
			"a month ends after the clocks have changed",
			"Europe/Berlin",
			{ month: { maxTurns: 3 } },
			"2026-03-31T21:59:50Z",
			"2026-03-31T22:00:10Z",
		],
		[
			"a machine sleeps over the end",
			"UTC",
			{ month: { maxTurns: 3 } },
			"2026-11-30T18:00:00Z",
			"2026-12-02T08:00:00Z",
		],
	] as const) {
		test(`${what}: a run that crosses it has 3 turns before and 3 after`, async (t) => {
			zone(t, TZ);
			const set = clock(t, before);
			const pi = await sharing(t, { limits, model: crossing(set, 3, after) });
			await pi.run("go");
			assert.equal(pi.model.requests.length, 3 + 3, "the third turn counts where it began");
		});
	}

	for (const [what, limits, from, to] of [
		["New Year within a week", { week: { maxTurns: 3 } }, "2026-12-31T23:59:50Z", "2027-01-01T00:00:10Z"],
		["the last of February in a leap year", { month: { maxTurns: 3 } }, "2028-02-28T23:59:50Z", "2028-02-29T00:00:10Z"],
	] as const) {
		test(`${what} is no end: 3 turns`, async (t) => {
			zone(t, "UTC");
			const set = clock(t, from);
			const pi = await sharing(t, { limits, model: crossing(set, 2, to) });
			await pi.run("go");
			assert.equal(pi.model.requests.length, 3);
		});
	}

	test("are asked about before what is narrower, and say what they are", async (t) => {
		const limits = { month: { maxTurns: 2 }, week: { maxTurns: 2 }, day: { maxTurns: 2 }, tree: { maxTurns: 2 } };
		const pi = await sharing(t, { limits, person: (_asked, n) => n < 5 });
		await pi.run("go");
		assert.deepEqual(
			pi.asked.map(({ title }) => title),
			["Month", "Week", "Day", "Tree", "Month"].map((scope, i) => `${scope} turn limit reached (${(i % 4) + 1} of 4)`),
		);
		assert.equal(questions(pi)[0], "You've used 2 turns this month. Continue?");
		assert.equal(questions(pi)[1], "You've used 2 turns this week. Continue?");
	});

	test("a yes that is given after the end of the month is for the month that was asked about", async (t) => {
		zone(t, "UTC");
		const set = clock(t, "2026-11-30T23:59:30Z");
		const limits = { month: { maxTurns: 3 } };
		const person = (_asked: unknown, n: number): boolean => {
			if (n === 1) set("2026-12-01T00:00:30Z");
			return n === 1;
		};
		const pi = await sharing(t, { limits, person });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 3, "December has its own three, and no fourth");
		set("2026-11-30T23:59:40Z");
		assert.match((await say(pi, "month turns"))[0] ?? "", /3 of 4 /);
	});

	test("a raise at 23:59 of the last day is gone a minute later", async (t) => {
		zone(t, "UTC");
		const set = clock(t, "2026-11-30T23:59:00Z");
		const pi = await sharing(t, { limits: { month: { maxTurns: 3 } }, person: () => false });
		assert.deepEqual(await say(pi, "month +4"), ["4 turns more: 7 this month."]);
		set("2026-12-01T00:00:00Z");
		assert.match((await say(pi, "month turns"))[0] ?? "", /0 of 3 /);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
	});

	test("a subagent in another zone spends of the month of its root, and begins the next one in its zone", async (t) => {
		zone(t, "America/New_York");
		const set = clock(t, "2026-12-01T04:00:00Z");
		const limits = { month: { maxTurns: 4 } };
		const children: Inside[] = [];
		const child = async (): Promise<void> => {
			process.env["TZ"] = "Asia/Tokyo";
			const agent = await member(t, { limits, env: { PI_CODING_AGENT_DIR: pi.folder } });
			children.push(agent);
			await agent.run("go");
			process.env["TZ"] = "America/New_York";
		};
		const starts = (extension: ExtensionAPI): void => {
			extension.on("tool_call", async () => {
				if (children.length > 0) return;
				await child();
				set("2026-12-01T05:00:00Z");
				await child();
			});
		};
		const pi: Inside = await sharing(t, { limits, extensions: [installed, starts], person: () => false });
		await pi.run("go");
		assert.deepEqual(
			children.map(({ model }) => model.requests.length),
			[3, 4],
		);
		assert.equal(pi.model.requests.length, 1, "the next month is the child's, too, and spent");
		assert.match((await say(pi)).join("\n"), /^This month: 0 turns left, until Fri 1 Jan 00:00\.$/m);
	});
});

describe("/turn-limit", () => {
	test("says what is left of each period that is limited, and when it ends", async (t) => {
		zone(t, "Europe/Berlin");
		clock(t, "2026-11-18T12:00:00Z");
		const limits = { day: { maxTurns: 9 }, week: { maxCost: 5 }, month: { maxTurns: 90, maxCost: 200 } };
		const pi = await sharing(t, { limits, model: [noop, text("done")], person: () => false });
		await pi.run("go");
		const lines = (await say(pi)).join("\n").split("\n");
		assert.deepEqual(
			lines.filter((line) => /^(Today|This)/.test(line)),
			[
				"This month: 88 turns, $199.98 left, until Tue 1 Dec 00:00.",
				"This week: $4.98 left, until Mon 23 Nov 00:00.",
				"Today: 7 turns left, until Thu 19 Nov 00:00.",
			],
		);
	});

	test("says nothing of periods where none is limited", async (t) => {
		const pi = await sharing(t, { limits: { tree: { maxTurns: 9 } }, person: () => false });
		assert.doesNotMatch((await say(pi)).join("\n"), /This month|This week|Today/);
	});

	test("counts a grant as left", (t) => {
		zone(t, "UTC");
		const limit = { max: "unlimited", policy: "abort" } as const;
		const meter = { used: 0, extra: 0, isPassed: false, limit };
		const meters = perMeter((id) =>
			id === "dayTurns" ? { ...meter, used: 8, extra: 2, limit: { ...limit, max: 7 } } : meter,
		);
		const end = Date.parse("2026-11-19T00:00:00Z");
		assert.equal(periodText(meters as never, { scope: "day", end }), "Today: 1 turn left, until Thu 19 Nov 00:00.");
	});
});
