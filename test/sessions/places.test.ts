/** Where the limits of a session come from, and what the person learns of them. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import installed from "../../src/hosts/pi/extension.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, text } from "../harness/model.ts";
import { SessionManager } from "../harness/pi.ts";
import { noop } from "../harness/session.ts";

const FILE = "turn-limit.json";
const PROJECT = ".pi/turn-limit.json";

const attended = { person: () => false, model: endless(noop) };

/** What `/turn-limit` says, line by line. */
async function status(pi: Inside): Promise<string[]> {
	pi.notifications.length = 0;
	await pi.run("/turn-limit");
	return pi.notifications[0]?.message.split("\n") ?? [];
}

const turns = async (pi: Inside): Promise<string> => (await status(pi))[0] ?? "";

/** All that a person was told, but for the answers of `/turn-limit`. */
const warnings = (pi: Inside): string[] =>
	pi.notifications.filter(({ type }) => type === "warning").map(({ message }) => message);

describe("the place that counts", () => {
	const everywhere = {
		...attended,
		flags: { "turn-limit": "3" },
		env: { PI_MAX_TURNS: "4" },
		agentFiles: { [FILE]: { maxTurns: 5 } },
	};

	for (const [place, options, expected] of [
		["none", {}, /^turns +0 of 25 turns +default$/],
		["the user's file", { agentFiles: everywhere.agentFiles }, /^turns +0 of 5 turns +maxTurns in turn-limit\.json$/],
		["a variable", { ...everywhere, flags: {} }, /^turns +0 of 4 turns +PI_MAX_TURNS$/],
		["a flag", everywhere, /^turns +0 of 3 turns +--turn-limit$/],
		[
			"a project's file that is lower than the user's",
			{ ...attended, files: { [PROJECT]: { maxTurns: 2 } }, agentFiles: everywhere.agentFiles },
			/^turns +0 of 2 turns +maxTurns in \.pi\/turn-limit\.json$/,
		],
	] as [string, InsideOptions, RegExp][]) {
		test(`is ${place}`, async (t) => {
			assert.match(await turns(await inside(t, { ...attended, ...options })), expected);
		});
	}

	test("is not a project's file that is higher than the user's, and the person learns it", async (t) => {
		const pi = await inside(t, {
			...attended,
			files: { [PROJECT]: { maxTurns: 9 } },
			agentFiles: { [FILE]: { maxTurns: 5 } },
		});
		assert.deepEqual(warnings(pi), [
			"A project file can only lower a limit; ignoring maxTurns: 9. Using 5 (maxTurns in turn-limit.json).",
		]);
		assert.match(await turns(pi), /0 of 5 turns +maxTurns in turn-limit\.json$/);
	});

	test("is not a project's file of a folder that the person does not trust", async (t) => {
		const untrusted = (pi: ExtensionAPI): void => {
			pi.on("session_start", (_event, ctx) => void Object.assign(ctx, { isProjectTrusted: () => false }));
		};
		const pi = await inside(t, {
			...attended,
			files: { [PROJECT]: { maxTurns: 2 } },
			extensions: [untrusted, installed],
		});
		assert.deepEqual(warnings(pi), []);
		assert.match(await turns(pi), /0 of 25 turns +default$/);
	});

	test("is not a project's file for a budget, and the person learns it", async (t) => {
		const budget = { at: "postgres://127.0.0.1:1/fleet", account: "team", maxTurns: 9 };
		const pi = await inside(t, { ...attended, files: { [PROJECT]: { budget } } });
		assert.deepEqual(warnings(pi), ["A project file cannot set a budget; ignoring budget in .pi/turn-limit.json."]);
		assert.doesNotMatch((await status(pi)).join(), /budget/);
	});

	test("problems with the files are told, those of the user's first", async (t) => {
		const files = { agentFiles: { [FILE]: { maxTurns: 5, turns: 1 } }, files: { [PROJECT]: "{ broken" } };
		const pi = await inside(t, { ...attended, ...files });
		const lines = (warnings(pi)[0] ?? "").split("\n").map((line) => line.replace(pi.folder, "…").slice(0, 40));
		assert.deepEqual(lines, ['…/turn-limit.json: unknown key: "turns" ', ".pi/turn-limit.json: Expected property n"]);
	});
});

describe("the user's file", () => {
	/** A home with the file in a folder of it. */
	function home(folder: string) {
		return (pi: ExtensionAPI): void => {
			pi.on("session_start", (_event, { cwd }) => {
				process.env["HOME"] = cwd;
				mkdirSync(join(cwd, folder), { recursive: true });
				writeFileSync(join(cwd, folder, FILE), '{ "maxTurns": 7 }');
			});
		};
	}

	for (const [where, folder, env] of [
		["in .pi/agent of the home", ".pi/agent", { PI_CODING_AGENT_DIR: "" }],
		["in a folder of the home that begins with a tilde", "own", { PI_CODING_AGENT_DIR: "~/own" }],
		["in the home that is a tilde", ".", { PI_CODING_AGENT_DIR: "~" }],
	] as const) {
		test(`is found ${where}`, async (t) => {
			const { HOME } = process.env;
			t.after(() => (process.env["HOME"] = HOME));
			const pi = await inside(t, { ...attended, env, extensions: [home(folder), installed] });
			assert.match(await turns(pi), /0 of 7 turns/);
		});
	}

	test("a tilde elsewhere in the folder's name is a letter like any other", async (t) => {
		const { HOME } = process.env;
		t.after(() => (process.env["HOME"] = HOME));
		const env = { PI_CODING_AGENT_DIR: "~own" };
		const pi = await inside(t, { ...attended, env, extensions: [home("own"), installed] });
		assert.match(await turns(pi), /0 of 25 turns/);
	});

	test("with a budget that is wrong lets nothing run, and the person learns why, once", async (t) => {
		const budget = { account: "team", maxTurns: 9 };
		const pi = await inside(t, { ...attended, agentFiles: { [FILE]: { budget } } });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 0);
		assert.equal(warnings(pi).length, 1);
		assert.match(warnings(pi)[0] ?? "", /^budget\.at in \/\S+\/turn-limit\.json: /);
	});

	test("a limit that has changed when pi reloads is told, once", async (t) => {
		const pi = await inside(t, { ...attended, agentFiles: { [FILE]: { maxTurns: 5 } } });
		assert.deepEqual(warnings(pi), []);
		writeFileSync(join(pi.folder, FILE), '{ "maxTurns": 99, "maxToolCalls": 8 }');
		await pi.session.reload();
		const changes = [
			"maxTurns in turn-limit.json has changed since it was last read: it was 5 and is now 99.",
			"maxToolCalls in turn-limit.json has changed since it was last read: it was not set and is now 8.",
		];
		assert.deepEqual(warnings(pi), [changes.join("\n")]);
		assert.match(await turns(pi), /0 of 99 turns/);
		pi.notifications.length = 0;
		await pi.session.reload();
		assert.deepEqual(warnings(pi), []);
	});
});

test("the address of a budget leaves the environment when pi loads us, before a tool can inherit it", async (t) => {
	t.after(() => Reflect.deleteProperty(processMemory, "address"));
	await inside(t, { env: { PI_TURN_LIMIT_BUDGET: "postgres://agent:secret@127.0.0.1:1/fleet" }, begins: "unbound" });
	assert.doesNotMatch(process.env["PI_TURN_LIMIT_BUDGET"] ?? "", /secret/);
});

describe("flags", () => {
	test("say in pi's help what they take and what holds without them", async (t) => {
		const pi = await inside(t);
		const flags = [...pi.session.extensionRunner.getFlags().values()];
		const ours = Object.fromEntries(flags.map(({ name, type, description }) => [name, [type, description]]));
		const count = "a whole number from 0, or unlimited";
		assert.deepEqual(ours["turn-limit"], ["string", `Turn limit: ${count} (default 25)`]);
		assert.deepEqual(ours["turn-limit-tools"], ["string", `Tool limit: ${count} (default unlimited)`]);
		const grace = "Grace: a whole number from 0 (default 2, 0 with a person)";
		assert.deepEqual(ours["turn-limit-grace"], ["string", grace]);
		assert.ok(!Object.keys(ours).includes("undefined"));
	});
});

describe("/turn-limit", () => {
	test("outranks every place for this session, and `default` goes back to them", async (t) => {
		const pi = await inside(t, { ...attended, flags: { "turn-limit": "3" } });
		await pi.run("/turn-limit 9");
		assert.match(await turns(pi), /0 of 9 turns +\/turn-limit$/);
		assert.deepEqual(pi.widgets, ["Turns: 0/9"]);
		await pi.run("/turn-limit default");
		assert.match(await turns(pi), /0 of 3 turns +--turn-limit$/);
		assert.deepEqual(pi.entries("turn-limit"), [
			{ version: 1, values: { maxTurns: 9 } },
			{ version: 1, values: {} },
		]);
	});

	test("sets one value after the other", async (t) => {
		const pi = await inside(t, attended);
		await pi.run("/turn-limit 9");
		await pi.run("/turn-limit tools 7");
		await pi.run("/turn-limit policy synthesize");
		const lines = await status(pi);
		assert.match(lines.join("\n"), /0 of 9 turns, synthesize .*\n.*0 of 7 tool calls, synthesize/);
		assert.deepEqual(pi.entries("turn-limit").at(-1), {
			version: 1,
			values: { maxTurns: 9, maxToolCalls: 7, policy: "synthesize" },
		});
	});

	test("sets what holds at the limit of the next run", async (t) => {
		const pi = await inside(t, attended);
		await pi.run("/turn-limit 2");
		await pi.run("go");
		assert.equal(pi.model.requests.length, 2);
		assert.equal(pi.asked.length, 1);
	});

	test("is back where the session was when the person goes back in its tree", async (t) => {
		const pi = await inside(t, { ...attended, model: endless(text("done")) });
		await pi.run("go");
		const { sessionManager } = pi.session;
		await pi.session.navigateTree(sessionManager.getBranch()[0]?.id ?? "", { summarize: false });
		assert.equal(pi.widgets.at(-1), undefined);
		await pi.run("go");
		const before = sessionManager.getLeafId() ?? "";
		await pi.run("/turn-limit 9");
		const after = sessionManager.getLeafId() ?? "";
		await pi.session.navigateTree(before, { summarize: false });
		assert.match(await turns(pi), /0 of 25 turns +default$/);
		assert.equal(pi.widgets.at(-1), "Turns: 0/25");
		await pi.session.navigateTree(after, { summarize: false });
		assert.match(await turns(pi), /0 of 9 turns +\/turn-limit$/);
		assert.deepEqual(warnings(pi), []);
		sessionManager.branch(before);
		const other = sessionManager.appendCustomEntry("turn-limit", {
			version: 1,
			values: { maxTurns: 50, policy: "synthesize" },
		});
		await pi.session.navigateTree(after, { summarize: false });
		await pi.session.navigateTree(other, { summarize: false });
		assert.match(warnings(pi).join(), /^Turn limit: 50, .*\nPolicy: synthesize, /);
	});

	test("of an earlier process holds with a person, who is told where it is looser", async (t) => {
		const sessionManager = SessionManager.inMemory();
		const entry = { version: 1, values: { maxTurns: 9, maxToolCalls: 5, grace: 4, policy: "synthesize" } };
		sessionManager.appendCustomEntry("turn-limit", entry);
		const pi = await inside(t, { ...attended, sessionManager, env: { PI_MAX_TURNS: "4" } });
		const earlier = "set by an earlier /turn-limit of this session; without it";
		const back = "/turn-limit default goes back to that.";
		assert.deepEqual(warnings(pi), [
			[
				`Turn limit: 9, ${earlier} 4 (PI_MAX_TURNS). ${back}`,
				`Policy: synthesize, ${earlier} abort (default). ${back}`,
			].join("\n"),
		]);
		assert.match(await turns(pi), /0 of 9 turns, synthesize +\/turn-limit$/);
		await pi.run("/turn-limit default");
		assert.match(await turns(pi), /0 of 4 turns +PI_MAX_TURNS$/);
	});

	test("of an earlier process gives way to a flag, and what this process sets does not", async (t) => {
		const sessionManager = SessionManager.inMemory();
		sessionManager.appendCustomEntry("turn-limit", { version: 1, values: { maxTurns: 9, maxToolCalls: 8 } });
		const pi = await inside(t, { ...attended, sessionManager, flags: { "turn-limit": "3" } });
		assert.match((await status(pi)).join("\n"), /0 of 3 turns +--turn-limit\n.*0 of 8 tool calls +\/turn-limit/);
		await pi.run("/turn-limit tools 6");
		assert.match((await status(pi)).join("\n"), /0 of 3 turns +--turn-limit\n.*0 of 6 tool calls +\/turn-limit/);
		await pi.run("/turn-limit 11");
		assert.match(await turns(pi), /0 of 11 turns +\/turn-limit$/);
		await pi.session.reload();
		assert.match(await turns(pi), /0 of 11 turns +\/turn-limit$/);
	});

	test("of an earlier process can only lower the limits of a script", async (t) => {
		const followed = new Followed(t);
		const sessionManager = SessionManager.inMemory();
		sessionManager.appendCustomEntry("turn-limit", { version: 1, values: { maxTurns: 9, maxToolCalls: 1 } });
		const model = endless(noop);
		const pi = await inside(t, { model, sessionManager, env: { PI_MAX_TURNS: "4", PI_TURN_LIMIT_TOOLS: "2" } });
		assert.equal(
			followed.stderr,
			"pi-turn-limit: An earlier /turn-limit of this session can only lower a limit; ignoring maxTurns: 9. Using 4 (PI_MAX_TURNS).\n",
		);
		await pi.run("go");
		assert.equal(pi.last?.errorMessage?.includes("at the limit of 1 tool call (/turn-limit)"), true);
	});

	test("that was damaged is told, and changes nothing", async (t) => {
		const sessionManager = SessionManager.inMemory();
		sessionManager.appendCustomEntry("turn-limit", { version: 1, values: { maxTurns: 9 } });
		sessionManager.appendCustomEntry("turn-limit", "nonsense");
		sessionManager.appendCustomEntry("another", { version: 1, values: { maxTurns: 3 } });
		const pi = await inside(t, { ...attended, sessionManager });
		assert.match(warnings(pi).join("\n"), /damaged/);
		assert.doesNotMatch(await turns(pi), /0 of 3 turns/);
	});

	test("is known from memory: the same entry in another place of the session counts as an earlier one", async (t) => {
		const pi = await inside(t, { ...attended, flags: { "turn-limit": "3" } });
		await pi.run("/turn-limit 9");
		pi.session.sessionManager.appendCustomEntry("turn-limit", { version: 1, values: { maxTurns: 50 } });
		await pi.session.reload();
		assert.match(await turns(pi), /0 of 9 turns +\/turn-limit$/);
	});
});

describe("a person who comes or goes", () => {
	test("is asked at the next run, with the defaults for a person", async (t) => {
		new Followed(t);
		const pi = await inside(t, { model: endless(noop), env: { PI_MAX_TURNS: "3" } });
		await pi.run("go");
		assert.equal(pi.model.requests[1]?.count("Only 2 turns left"), 1);
		await pi.bind({ person: () => false });
		const before = pi.model.requests.length;
		await pi.run("again");
		assert.equal(pi.asked.length, 1);
		assert.equal(pi.model.requests.length - before, 3);
		const told = pi.model.requests.at(-1)?.count("turns left") ?? 0;
		assert.equal(told, 1, "only the one of the first run");
		assert.match((await status(pi)).join("\n"), /grace +0 +default/);
	});
});
