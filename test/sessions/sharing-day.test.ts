/** Limits of a day, in sessions of pi in this process. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { Inside } from "../harness/inside.ts";
import { text, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { defer, within } from "../harness/wait.ts";
import { say, sharing } from "./sharing.ts";

/** A clock that the test sets, for everything in this process. */
function clock(t: TestContext, at: string): (to: string) => void {
	const { now } = Date;
	let offset = Date.parse(at) - now();
	t.mock.method(Date, "now", () => now() + offset);
	return (to) => void (offset = Date.parse(to) - now());
}

/** Midnight where this process is. */
const NIGHT = "2031-05-04T23:59:50";

describe("a day", () => {
	test("begins at midnight, also in the middle of a run", async (t) => {
		const set = clock(t, NIGHT);
		const model = (_request: unknown, n: number) => {
			if (n === 3) set("2031-05-05T00:00:10");
			return noop;
		};
		const pi = await sharing(t, { limits: { day: { maxTurns: 3 } }, model });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 3, "the third turn counts on the day on which it began");
	});

	test("begins at midnight where the variable TZ says", async (t) => {
		zone(t, "Asia/Kolkata");
		const set = clock(t, "2031-05-04T18:29:50Z");
		const model = (_request: unknown, n: number) => {
			if (n === 3) set("2031-05-04T18:30:10Z");
			return noop;
		};
		const pi = await sharing(t, { limits: { day: { maxTurns: 3 } }, model });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 3);
	});

	for (const TZ of ["", "Not/AZone"]) {
		test(`is one of UTC where the variable TZ is ${JSON.stringify(TZ)}`, async (t) => {
			zone(t, TZ);
			const set = clock(t, "2031-05-04T23:59:50Z");
			const model = (_request: unknown, n: number) => {
				if (n === 2) set("2031-05-05T00:00:10Z");
				return noop;
			};
			const pi = await sharing(t, { limits: { day: { maxTurns: 2 } }, model });
			await pi.run("go");
			assert.equal(pi.model.requests.length, 2 + 2);
			await pi.quit();
			process.env["TZ"] = "UTC";
			const env = { PI_CODING_AGENT_DIR: pi.folder };
			const next = await sharing(t, { limits: { day: { maxTurns: 2 } }, env });
			await next.run("go");
			assert.equal(next.model.requests.length, 0);
		});
	}

	test("that a clock which is set back has left is found again", async (t) => {
		const set = clock(t, "2031-05-05T12:00:00");
		const model = (_request: unknown, n: number) => {
			if (n === 3) set("2031-05-04T12:00:00");
			if (n === 5) set("2031-05-05T12:00:00");
			return noop;
		};
		const pi = await sharing(t, { limits: { day: { maxTurns: 4 } }, model });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 6);
	});

	test("is one for all sessions, and what is granted in one of them holds in the next", async (t) => {
		const limits = { day: { maxTurns: 3 } };
		const pi = await sharing(t, { limits, person: (_asked, n) => n === 1 });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 1);
		await pi.quit();
		const next = await sharing(t, { limits, person: () => false, env: { PI_CODING_AGENT_DIR: pi.folder } });
		assert.match((await say(next, "day turns"))[0] ?? "", /4 of 4 /);
		await next.run("go");
		assert.equal(next.model.requests.length, 0);
		assert.equal(next.asked[0]?.message.split("\n")[0], "You've used 4 turns today. Continue?");
	});

	test("without a limit is not counted, and of a limited one what is limited is shown", async (t) => {
		const limits = { tree: { maxTurns: 9 } };
		const pi = await sharing(t, { limits, model: [...times(2, noop), text("done")], person: () => false });
		await pi.run("go");
		await say(pi, "day 9");
		const [said = ""] = await say(pi, "day");
		assert.deepEqual(rows(said), [
			"day turns  0 of 9  /turn-limit",
			"day cost  unlimited  default",
			"day tokens  unlimited  default",
		]);
	});

	test("alone shows no tree, and lets its members know theirs, in which nothing is limited", async (t) => {
		const variables: (string | undefined)[] = [];
		const model = () => {
			variables.push(process.env["PI_TURN_LIMIT_ROOT"]);
			return text("done");
		};
		const pi = await sharing(t, { limits: { day: { maxTurns: 9 } }, model, person: () => false });
		await pi.run("go");
		const [, tree = ""] = /^\d+\.\d+\.1 (.*)$/.exec(variables[0] ?? "") ?? [];
		assert.deepEqual((JSON.parse(tree) as { limits: object }).limits, { "day.maxTurns": 9 });
		assert.doesNotMatch((await say(pi))[0] ?? "", /tree/i);
		assert.deepEqual(pi.errors, []);
	});
});

describe("a grant for the day", () => {
	test("on the morning after a day that was full raises the new day", async (t) => {
		const set = clock(t, "2031-05-04T12:00:00");
		const pi = await sharing(t, { limits: { day: { maxTurns: 3 } }, person: () => false });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		set("2031-05-05T12:00:00");
		assert.deepEqual(await say(pi, "day turns +5"), ["5 turns more: 8 today."]);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 8);
	});

	test("adds up with what the day has, not with yesterday's grants", async (t) => {
		const set = clock(t, NIGHT);
		const pi = await sharing(t, { limits: { day: { maxTurns: 3 } }, person: () => false });
		assert.deepEqual(await say(pi, "day +2"), ["2 turns more: 5 today."]);
		set("2031-05-05T00:00:10");
		assert.deepEqual(await say(pi, "day +4"), ["4 turns more: 7 today."]);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 7);
	});

	test("after midnight in a run is for the new day", async (t) => {
		const { now } = Date;
		let offset = Date.parse(NIGHT) - now();
		t.mock.method(Date, "now", () => now() + offset);
		let told: Promise<unknown> | undefined;
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 3 } },
			model: (_request: unknown, n: number) => {
				if (n === 5) told = say(pi, "day turns +2");
				return noop;
			},
			person: (_asked, n) => {
				offset += 60_000;
				return n === 1;
			},
		});
		await pi.run("go");
		await within("the answer to the command", Promise.resolve(told), String);
		assert.equal(pi.model.requests.length, 3 + 3 + 2);
	});

	test("while yesterday's question is open is for today", async (t) => {
		const set = clock(t, NIGHT);
		const pi: Inside = await sharing(t, {
			limits: { day: { maxTurns: 3 } },
			person: async (_asked, n) => {
				set("2031-05-05T00:00:10");
				if (n === 1) assert.deepEqual(await say(pi, "day +2"), ["2 turns more: 5 today."]);
				return false;
			},
		});
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3 + 5);
	});

	test("is not the tree's", async (t) => {
		const pi = await sharing(t, { limits: { day: { maxTurns: 9 }, tree: { maxTurns: 3 } }, person: () => false });
		await say(pi, "day +5");
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(
			pi.asked.map(({ title }) => title),
			["Tree turn limit reached"],
		);
	});
});

/** Without the spaces that align them. */
function rows(status: string): string[] {
	return status.split("\n").map((line) => line.replaceAll(/ {2,}/g, "  "));
}

function zone(t: TestContext, TZ: string): void {
	const { TZ: before } = process.env;
	process.env["TZ"] = TZ;
	defer(t, () => {
		if (before === undefined) Reflect.deleteProperty(process.env, "TZ");
		else process.env["TZ"] = before;
	});
}
