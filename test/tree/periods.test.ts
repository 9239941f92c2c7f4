/** Days, weeks and months that real processes share. */
import assert from "node:assert/strict";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
	bash,
	type Call,
	childCli,
	endless,
	held,
	type Host,
	host,
	mark,
	node,
	type Reply,
	text,
} from "../harness/index.ts";
import { family, tireless } from "../company/subagents-family.ts";

const NO_GRACE = { PI_TURN_LIMIT_GRACE: "0" };

for (const scope of ["month", "week"]) {
	test(`a ${scope} of 7 turns: four pi at once make exactly 7 requests`, async (t) => {
		const agentFiles = { "turn-limit.json": { grace: 0, [scope]: { maxTurns: 7 } } };
		const pi = await host(t, { model: endless(), agentFiles, fresh: true });
		const all = await Promise.all(["one", "two", "three", "four"].map((prompt) => pi.print(prompt)));
		assert.deepEqual([all.map(({ code }) => code), pi.model.requests.length], [[53, 53, 53, 53], 7]);
		for (const { stderr } of all)
			assert.ok(
				stderr.includes(`at the limit of 7 turns this ${scope} (${scope}.maxTurns in turn-limit.json)`),
				stderr,
			);
	});
}

/** An extension that sets the clock of its process by a file, in milliseconds from the real time. */
function clock(): void {
	const { readFileSync } = process.getBuiltinModule("node:fs");
	const { now } = Date;
	Date.now = () => now() + Number(readFileSync(process.env["TEST_CLOCK"] ?? "", "utf8"));
}

/** Sets that clock; `pi.env` names its file. */
function set(pi: Host, to: string): void {
	const file = (pi.env["TEST_CLOCK"] ??= join(pi.cwd, "clock"));
	// Renamed into place, because a process may read it at any moment.
	writeFileSync(`${file}.new`, String(Date.parse(to) - Date.now()));
	renameSync(`${file}.new`, file);
}

test("roots that are each in another time zone, shortly before its midnight, have two days in all", async (t) => {
	const env = { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "2" };
	const pi = await host(t, { model: endless(), before: [clock], env, fresh: true });
	const requests: number[] = [];
	for (const [TZ, at] of [
		["Pacific/Kiritimati", "09:50"],
		["Pacific/Midway", "10:05"],
		["Pacific/Fiji", "11:05"],
		["Asia/Tokyo", "14:05"],
	] as const) {
		set(pi, `2026-11-20T${at}:00Z`);
		Object.assign(pi.env, { TZ });
		await pi.print("go");
		requests.push(pi.model.requests.length);
	}
	assert.deepEqual(requests, [2, 4, 4, 4]);
});

test("two pi that cross the end of a month at once make 5 requests before it and 5 after it", async (t) => {
	const model = (_request: unknown, n: number): Reply => {
		if (n === 6) set(pi, "2026-12-01T00:00:10Z");
		return mark();
	};
	const pi = await host(t, { model, before: [clock], fresh: true });
	Object.assign(pi.env, NO_GRACE, { TZ: "UTC" });
	set(pi, "2026-11-30T23:59:30Z");
	// Makes the ledger: by this clock its file is days old, so another pi would take it for damaged while it is being made.
	Object.assign(pi.env, { PI_TURN_LIMIT_TREE_TURNS: "1" });
	await pi.print("none");
	Object.assign(pi.env, { PI_TURN_LIMIT_TREE_TURNS: "unlimited", PI_TURN_LIMIT_MONTH_TURNS: "5" });
	const both = await Promise.all([pi.print("one"), pi.print("two")]);
	assert.deepEqual([both.map(({ code }) => code), pi.model.requests.length - 1], [[53, 53], 10]);
});

/** A pi of its own, somewhere else on earth. */
function child(TZ: string): Call {
	return bash(`TZ=${TZ} "${node}" "${childCli}" --offline --no-session -p look < /dev/null`);
}

test("children in other time zones spend of the day of the agent that started them", async (t) => {
	const starts = ["Asia/Tokyo", "Europe/Berlin", "America/New_York"].map(child);
	const env = { ...NO_GRACE, PI_TURN_LIMIT_DAY_TURNS: "4", TZ: "Pacific/Auckland" };
	const pi = await family(t, { starts, child: tireless, env });
	assert.equal((await pi.print("go")).code, 53);
	assert.equal(pi.model.turns.length, 4);
});

test("a pi that is killed in mid-turn has spent that turn of the month", async (t) => {
	const killed = held();
	const model = (_request: unknown, n: number): Reply => (n === 2 ? killed : mark());
	const pi = await host(t, { model, env: { ...NO_GRACE, PI_TURN_LIMIT_MONTH_TURNS: "9" } });
	const script = pi.start("-p", "go");
	await pi.model.arrival(2);
	script.child.kill("SIGKILL");
	await script.ended();
	const rpc = await pi.rpc();
	await rpc.prompt("/turn-limit month");
	assert.match(rpc.notifications.at(-1)?.message ?? "", /^month turns +2 of 9/);
});

test("a month whose ledger is damaged stops a script once, and says where the ledger went", async (t) => {
	const pi = await host(t, { model: [text("done")], env: { PI_TURN_LIMIT_MONTH_COST: "200" } });
	await pi.print("one");
	writeFileSync(join(pi.agentDir, "turn-limit-ledger/ledger.sqlite"), "no database at all".repeat(500));
	const { code, stderr } = await pi.print("two");
	assert.deepEqual([code, pi.model.requests.length], [1, 1]);
	assert.match(stderr, /It was moved to .*turn-limit-ledger\.damaged-/);
});

test("a project's file may lower the month's limit, and not raise it", async (t) => {
	const files = { ".pi/turn-limit.json": { month: { maxTurns: 2, maxCost: 999 } } };
	const agentFiles = { "turn-limit.json": { grace: 0, month: { maxTurns: 3, maxCost: 200 } } };
	const pi = await host(t, { model: endless(), files, agentFiles, args: ["--approve"] });
	const { stderr } = await pi.print("go");
	assert.match(stderr, /A project file can only lower a limit; ignoring month\.maxCost: 999\. Using \$200\.00/);
	assert.equal(pi.model.requests.length, 2);
});
