import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { endless, type Host, host, type HostOptions, type Rpc, text } from "../harness/index.ts";
import type { Scope } from "../harness/wait.ts";

const FILE = "turn-limit.json";

/** Over rpc: what the commands say, one after the other. */
async function saying(t: Scope, options: HostOptions, ...commands: string[]): Promise<{ pi: Host; said: string[] }> {
	const pi = await host(t, options);
	const rpc = await pi.rpc();
	return { pi, said: await say(rpc, ...commands) };
}

async function say(rpc: Rpc, ...commands: string[]): Promise<string[]> {
	rpc.notifications.length = 0;
	for (const command of commands) await rpc.prompt(`/turn-limit ${command}`);
	return rpc.notifications.map(({ message, type }) => (type === "info" ? message : `${type}: ${message}`));
}

const saved = (pi: Host): unknown => JSON.parse(readFileSync(join(pi.agentDir, FILE), "utf8"));

describe("/turn-limit save", () => {
	test("writes what commands have set into the user's file, says what and where, and forgets the commands", async (t) => {
		const agentFiles = { [FILE]: { $schema: "./schema.json", mine: [1] } };
		const commands = ["50", "cost 2.50", "session cost 20", "policy synthesize", "save", "", "save"];
		const { pi, said } = await saying(t, { agentFiles }, ...commands);
		const path = join(pi.agentDir, FILE);
		assert.equal(said[4], `Saved to ${path}: maxTurns: 50, maxCost: 2.5, session.maxCost: 20, policy: "synthesize".`);
		assert.deepEqual(saved(pi), {
			...{ $schema: "./schema.json", mine: [1] },
			...{ maxTurns: 50, maxCost: 2.5, session: { maxCost: 20 }, policy: "synthesize" },
		});
		assert.match(said[5] ?? "", /turns +0 of 50 turns, synthesize +maxTurns in turn-limit\.json/);
		assert.doesNotMatch(said[5] ?? "", /\/turn-limit/);
		assert.equal(
			said[6],
			`Nothing new to save: ${path} has maxTurns: 50, maxCost: 2.5, session.maxCost: 20, policy: "synthesize".`,
		);
		const [later = ""] = await say(await pi.rpc(), "");
		assert.match(later, /session cost +\$0\.00 of \$20\.00, synthesize +session\.maxCost in turn-limit\.json/);
	});

	test("is refused where nobody is", async (t) => {
		const pi = await host(t, {});
		const { stderr } = await pi.print("/turn-limit 50", "/turn-limit save");
		assert.match(
			stderr,
			/^pi-turn-limit: Not saved: only a person can do that, and only in a session that no agent started\.$/m,
		);
		assert.equal(existsSync(join(pi.agentDir, FILE)), false);
	});
});

test("help names every word", async (t) => {
	const { said } = await saying(t, {}, "help");
	for (const word of ["25", "tools", "cost", "tokens", "time", "repeats", "session", "unlimited", "+10", "policy"])
		assert.match(said[0] ?? "", new RegExp(`^${word.replace("+", "\\+")}`, "m"));
	for (const word of ["grace", "wrap-up", "save", "default", "advise"])
		assert.match(said[0] ?? "", new RegExp(`^${word} `, "m"));
});

test("words mean the same in capitals, and a word alone shows its meter", async (t) => {
	const { said } = await saying(t, {}, "TOOLS 7", "Tools", "UNLIMITED", "Session", "DEFAULT", "Turns 9");
	assert.equal(said[0], "Tool limit set to 7.");
	assert.match(said[1] ?? "", /^tool calls +0 of 7 tool calls +\/turn-limit$/);
	assert.equal(said[2], "Turn limit set to unlimited; it never asks again in this session.");
	assert.equal(said[3]?.split("\n").length, 3);
	assert.match(said[4] ?? "", /^Back to your flags, environment and files\.\nturns .+ default\ntool calls .+ default$/);
	assert.equal(said[5], "Turn limit set to 9.");
});

for (const [words, first, last, line] of [
	["", "turns", "Last run", /^ [A-Za-z-]+: \S.*[a-z),;]$|^ (turns|tool calls) +█.*\d$|^ {3}\S.*$/],
	["help", "/turn-limit:", "help:", /^ \S.*:( .+)?$|^ {3}\S.*$/],
] as const) {
	test(`/turn-limit ${words} fits 40 columns: no line is broken`, async (t) => {
		const env = { PI_TURN_LIMIT_TOOLS: "200", PI_TURN_LIMIT_POLICY: "synthesize", PI_MAX_TURNS: "2" };
		const pi = await host(t, { model: endless(), env });
		const tui = await pi.terminal({ cols: 40, rows: words ? 90 : 60 });
		tui.type("go\r");
		await tui.shows("→ Continue");
		tui.press("escape");
		await tui.shows("the run ended");
		tui.type(`/turn-limit ${words}\r`);
		const screen = await tui.shows(last);
		const lines = screen
			.slice(screen.indexOf(` ${first}`), screen.lastIndexOf(` ${last}`))
			.trimEnd()
			.split("\n");
		assert.ok(lines.length > (words ? 15 : 5), screen);
		for (const shown of lines) assert.match(shown, line, screen);
		if (words) return;
		const bars =
			/^ turns {7}█{10} {2}2 of 2\n {3}PI_MAX_TURNS\n tool calls {2}█░{9} {2}2 of 200\n {3}PI_TURN_LIMIT_TOOLS\n/m;
		assert.match(screen, bars);
		assert.match(screen, /^ policy: synthesize\n {3}\(PI_TURN_LIMIT_POLICY\)$/m);
	});
}

test("the library has no file to save to", async (t) => {
	const { session } = await import("../harness/session.ts");
	const { turnLimit } = await import("../../src/index.ts");
	const said: string[] = [];
	const { prompt } = await session(t, {
		...{ reply: () => text("done"), extensions: [turnLimit()] },
		ui: { notify: (message) => void said.push(message) },
	});
	await prompt("/turn-limit 50");
	await prompt("/turn-limit save");
	assert.equal(said[1], "Not saved: the program that runs this session has limits of its own, and no settings file.");
});

describe("lines that are pasted as one", () => {
	test("are carried out one after the other", async (t) => {
		const { pi, said } = await saying(t, {}, "60\n/turn-limit session cost 20\n\n  /turn-limit save\n");
		assert.deepEqual(said.slice(0, 2), ["Turn limit set to 60.", "Session cost limit set to $20.00."]);
		assert.deepEqual(saved(pi), { maxTurns: 60, session: { maxCost: 20 } });
	});

	test("change nothing if something else stands among them", async (t) => {
		const { said } = await saying(t, {}, "3\nLook at every file.\n/turn-limit save", "turns", "3\n/turn-limits 4");
		const refused = "error: /turn-limit takes one line. Nothing has changed.";
		assert.deepEqual([said[0], said[2]], [refused, refused]);
		assert.match(said[1] ?? "", /0 of 25/);
	});
});
