/** A limit that was not understood is no limit: a script does not start without it. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { startOf } from "../../src/loop/tree/process-start.ts";
import { endless, host, type HostOptions, text } from "../harness/index.ts";
import { run } from "../settings/status.ts";

const FILE = "turn-limit.json";

const COUNT = "a whole number from 0, or unlimited";

// Every kind of limit and place stands in test/sessions/process.test.ts.
describe("a script does not start, says why in one line and exits 1, with", () => {
	for (const [what, mode, options, line] of [
		[
			"a flag that is no limit",
			"print",
			{ args: ["--turn-limit-cost", "5 USD"] },
			'--turn-limit-cost: expected dollars such as 2.50 or $2.50, or unlimited, got "5 USD".',
		],
		[
			"a variable that is no limit",
			"json",
			{ env: { PI_MAX_TURNS: "abc" } },
			`PI_MAX_TURNS: expected ${COUNT}, got "abc".`,
		],
		[
			"a key close to a limit's",
			"json",
			{ agentFiles: { [FILE]: { maxCots: 5 } } },
			'USER_FILE: unknown key: "maxCots" (did you mean maxCost?).',
		],
		[
			"a project's value that is no limit",
			"print",
			{ files: { [`.pi/${FILE}`]: { session: { maxTurns: "few" } } } },
			`session.maxTurns in .pi/turn-limit.json: expected ${COUNT}, got "few".`,
		],
	] as [string, "print" | "json", HostOptions, string][]) {
		test(`${what} (${mode})`, async (t) => {
			const pi = await host(t, options);
			const { stderr, code } = await pi[mode]("go");
			const named = line.replace("USER_FILE", join(pi.agentDir, FILE));
			assert.deepEqual([stderr, code], [`pi-turn-limit: ${named} Not started.\n`, 1]);
			assert.equal(pi.model.requests.length, 0);
		});
	}

	test("one comma too many in the user's file", async (t) => {
		const pi = await host(t, { agentFiles: { [FILE]: '{ "maxTurns": 5, }' } });
		const { stderr, code } = await pi.print("go");
		assert.match(stderr, /^pi-turn-limit: \/\S+\/turn-limit\.json: .*JSON at position 17.*\. Not started\.\n$/);
		assert.deepEqual([code, pi.model.requests.length], [1, 0]);
	});

	for (const mode of ["print", "json"] as const) {
		test(`a subagent that was started with one (${mode})`, async (t) => {
			const parent = `${process.pid}.${startOf(process.pid) ?? ""}.1`;
			const pi = await host(t, { env: { PI_MAX_TURNS: "abc", PI_TURN_LIMIT_ROOT: parent } });
			const { stderr, code } = await pi[mode]("go");
			assert.match(stderr, /^pi-turn-limit: PI_MAX_TURNS: .* Not started\.\n$/);
			assert.deepEqual([code, pi.model.requests.length], [1, 0]);
		});
	}
});

describe("a script starts, and is told, with", () => {
	for (const [what, options, line] of [
		[
			"another setting that is bad",
			{ env: { PI_TURN_LIMIT_POLICY: "stop" } },
			'PI_TURN_LIMIT_POLICY: expected abort or synthesize, got "stop". Using abort (default).',
		],
		[
			"a limit that a flag overrules",
			{ env: { PI_MAX_TURNS: "abc" }, args: ["--turn-limit", "7"] },
			`PI_MAX_TURNS: expected ${COUNT}, got "abc". Using 7 (--turn-limit).`,
		],
		[
			"a later version's variable",
			{ env: { PI_TURN_LIMIT_PLANET_COST: "5" } },
			"PI_TURN_LIMIT_PLANET_COST: unknown variable. Ignoring it.",
		],
		[
			"two variables that differ",
			{ env: { PI_MAX_TURNS: "5", PI_TURN_LIMIT_TURNS: "7" } },
			"PI_MAX_TURNS is 5 and PI_TURN_LIMIT_TURNS is 7. Using the lower one.",
		],
	] as [string, HostOptions, string][]) {
		test(what, async (t) => {
			const pi = await host(t, { model: [text("done")], ...options });
			const { stdout, stderr, code } = await pi.print("go");
			assert.deepEqual([stdout, stderr, code], ["done\n", `pi-turn-limit: ${line}\n`, 0]);
		});
	}
});

test("PI_TURN_LIMIT_TURNS is a limit of turns", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_TURN_LIMIT_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" } });
	const { stderr, code } = await pi.print("go");
	assert.match(stderr, /^pi-turn-limit: stopped at the limit of 2 turns \(PI_TURN_LIMIT_TURNS\), without an answer; /);
	assert.deepEqual([code, pi.model.requests.length], [53, 2]);
});

test("with a person it is named with what is used instead, and pi runs", async (t) => {
	const pi = await host(t, { model: [text("done")], env: { PI_MAX_TURNS: "abc", PI_TURN_LIMIT_COSTS: "5" } });
	const rpc = await pi.rpc();
	await run(rpc);
	const [warning] = rpc.notifications;
	assert.equal(
		warning?.message,
		`PI_TURN_LIMIT_COSTS: unknown variable, did you mean PI_TURN_LIMIT_COST? Ignoring it.\nPI_MAX_TURNS: expected ${COUNT}, got "abc". Using 25 (default).`,
	);
	assert.equal(pi.model.requests.length, 1);
});

describe("a command in a script", () => {
	test("answers where a limit was not understood, names it and exits 1", async (t) => {
		const pi = await host(t, { env: { PI_MAX_TURNS: "abc" } });
		const { stderr, code } = await pi.print("/turn-limit");
		const why = `pi-turn-limit: PI_MAX_TURNS: expected ${COUNT}, got "abc". No run would start.`;
		assert.match(stderr, /^pi-turn-limit: turns +0 of 25 turns +default\n/);
		assert.deepEqual([stderr.split("\n").at(-2), code], [why, 1]);
	});

	for (const mode of ["print", "json"] as const) {
		test(`that sets such a limit lets the prompt after it run; the bad value is only named (${mode})`, async (t) => {
			const pi = await host(t, { model: [text("done")], env: { PI_TURN_LIMIT_COST: "5 USD" } });
			const { stderr, code } = await pi[mode]("/turn-limit cost 5", "go");
			const bad = 'PI_TURN_LIMIT_COST: expected dollars such as 2.50 or $2.50, or unlimited, got "5 USD".';
			assert.deepEqual(stderr.split("\n"), [
				"pi-turn-limit: Cost limit set to $5.00.",
				`pi-turn-limit: ${bad} Using $5.00 (/turn-limit).`,
				"",
			]);
			assert.deepEqual([code, pi.model.requests.length], [0, 1]);
		});
	}

	test("that sets no such limit, or takes it back, leaves the prompt after it without a run, for the reason that counts", async (t) => {
		const pi = await host(t, { env: { PI_MAX_TURNS: "abc" } });
		const why = `pi-turn-limit: PI_MAX_TURNS: expected ${COUNT}, got "abc". Not started.`;
		for (const commands of [["/turn-limit"], ["/turn-limit tools 5"], ["/turn-limit 5", "/turn-limit default"]]) {
			const { stderr, code } = await pi.print(...commands, "go");
			assert.deepEqual([stderr.split("\n").at(-2), code, pi.model.requests.length], [why, 1, 0]);
		}
	});

	for (const mode of ["print", "json"] as const) {
		test(`exits 1 if it was not understood, and no prompt after it runs (${mode})`, async (t) => {
			const pi = await host(t, { model: [text("done")] });
			const alone = await pi[mode]("/turn-limit foo");
			assert.match(alone.stderr, /^pi-turn-limit: .*foo.*\n$/);
			assert.equal(alone.code, 1);
			const followed = await pi[mode]("/turn-limit cost 5USD", "go");
			assert.match(
				followed.stderr,
				/got "5USD".*\npi-turn-limit: A command before this prompt failed\. Not started\.\n$/,
			);
			assert.deepEqual([followed.code, pi.model.requests.length], [1, 0]);
		});
	}

	test("that was understood exits 0", async (t) => {
		const { code } = await (await host(t)).print("/turn-limit");
		assert.equal(code, 0);
	});
});
