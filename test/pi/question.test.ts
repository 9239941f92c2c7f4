import assert from "node:assert/strict";
import { appendFileSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { endless, type Host, host, mark, outcomes, spy, type Terminal, text, times } from "../harness/index.ts";
import { editor } from "./questions.ts";

const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n) });
const tools = (n: number): Record<string, string> => ({ PI_TURN_LIMIT_TOOLS: String(n) });

const stopped = "You stopped the run at the turn limit. Send a message to go on.";

/** Picks the second choice and types a line. */
async function tell(tui: Terminal, words: string): Promise<void> {
	tui.press("down");
	tui.press("enter");
	await tui.shows("What should it know?");
	tui.type(words);
	await tui.shows(editor(words));
	tui.press("enter");
}

/** Leaves pi and comes back with `pi -c`. */
async function comeBack(pi: Host, tui: Terminal): Promise<Terminal> {
	tui.press("ctrl+d");
	await tui.exit();
	return await pi.terminal({ args: ["-c"] });
}

/** Of the one session that was stored. */
function sessionFile(pi: Host): string {
	const folder = join(dirname(pi.cwd), "sessions");
	const [file = ""] = globSync("**/*.jsonl", { cwd: folder });
	return join(folder, file);
}

// What the person says

for (const [gate, env, turns] of [
	["turn", limit(2), 2],
	["call", tools(1), 2],
] as const) {
	test(`what the person says at a question before a ${gate} is in the very next request, once, in their name, and costs no turn`, async (t) => {
		const pi = await host(t, { model: [...times(2), text("I looked.")], env, after: [spy] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("→ Continue");
		assert.equal(pi.model.requests.length, turns);
		await tell(tui, "Look left. 日本");
		await tui.shows("I looked.");
		await tui.lacks("Working");
		const next = pi.model.requests[turns];
		assert.equal(next?.body.messages.at(-1)?.role, "user");
		assert.equal(next.last, "Look left. 日本");
		assert.equal(next.count("Look left."), 1);
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(
			outcomes(pi).map(({ kind, turns, continuations }) => [kind, turns, continuations]),
			[["completed", 3, 1]],
		);
	});
}

test("what the person says before the first turn is in its request, and in those after it", async (t) => {
	const pi = await host(t, { model: [mark(), text("I looked.")], env: limit(0) });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue (1 more turn)");
	assert.doesNotMatch(tui.screen(), /Wrap up now/);
	await tell(tui, "Look left.");
	assert.equal((await pi.model.arrival(1)).last, "Look left.");
	await tui.shows("→ Continue");
	tui.press("enter");
	await tui.shows("I looked.");
	assert.equal(pi.model.requests[1]?.count("Look left."), 1);
});

test("what the person says looks like their other messages, also after a resume", async (t) => {
	const settings = { theme: "dark" };
	const pi = await host(t, { model: [mark(), text("I looked.")], env: limit(1), session: true, settings });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue");
	await tell(tui, "Look left.");
	await tui.shows("I looked.");
	await tui.lacks("Working");
	assert.match(tui.screen(), /^ Look left\.$/m);
	assert.equal(tui.background("Look left."), tui.background(" go"));
	assert.notEqual(tui.background("Look left."), tui.background("I looked."));
	const again = await comeBack(pi, tui);
	await again.shows(/^ Look left\.$/m);
	assert.equal(again.background("Look left."), again.background(" go"));
});

for (const command of ["/reload", "/resume"]) {
	test(`what the person says, and the line about the stop, look the same after ${command}`, async (t) => {
		const settings = { theme: "dark" };
		const pi = await host(t, { model: endless(mark()), env: limit(1), session: true, settings });
		const tui = await pi.terminal({ rows: 60 });
		tui.type("begin\r");
		await tui.shows("→ Continue");
		await tell(tui, "Look left.");
		await pi.model.arrival(2);
		await tui.shows("→ Continue");
		tui.press("escape");
		await tui.shows(stopped);
		tui.type(`${command}\r`);
		if (command === "/resume") {
			await tui.shows("› begin");
			tui.press("enter");
		}
		await tui.shows(command === "/resume" ? "Resumed session" : "Reloaded");
		await tui.shows(stopped);
		await tui.shows(/^ Look left\.$/m);
		assert.equal(tui.background("Look left."), tui.background(" begin"));
	});
}

test("what the person says is back in the editor if the run ends before it leaves", async (t) => {
	const pi = await host(t, { model: endless(mark("a", "b")), env: { ...limit(1), ...tools(0) } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("Tool limit reached");
	await tui.shows("→ Continue");
	await tell(tui, "Look left.");
	await tui.shows("Tool limit reached");
	await tui.shows("→ Continue (1 more tool call)");
	assert.match(tui.screen(), /Waiting: bash echo b >> marks/);
	tui.press("escape");
	await tui.shows(/─\nLook left\.\n─/);
	assert.equal(pi.model.requests.length, 1);
});

// Wrap up now

for (const [gate, env] of [
	["turn", limit(2)],
	["call", tools(1)],
] as const) {
	test(`Wrap up now at a question before a ${gate} brings one last answer without tools, whatever the policy`, async (t) => {
		const model = [...times(2), mark("refused"), text("From what I have.")];
		const pi = await host(t, { model: gate === "turn" ? model : model.toSpliced(2, 1), env, after: [spy] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("→ Continue");
		tui.press("down");
		tui.press("down");
		await tui.shows("→ Wrap up now");
		tui.press("enter");
		await tui.shows("From what I have.");
		await tui.shows("limit reached; the model gave its final answer. Send a message to go on.");
		assert.ok(!pi.marks().includes("refused"));
		assert.deepEqual(
			outcomes(pi).map(({ kind }) => kind),
			["synthesized"],
		);
	});
}

test("under synthesize there is no Wrap up now, and the no is a stop with an answer", async (t) => {
	const env = { ...limit(1), PI_TURN_LIMIT_POLICY: "synthesize" };
	const pi = await host(t, { model: [mark(), text("From what I have.")], env });
	const tui = await pi.terminal();
	tui.type("go\r");
	const choices = ["→ Continue (1 more turn) [y]", "  Continue, and tell it something…", "  Stop with an answer [n]"];
	const screen = await tui.shows(choices.map((choice) => ` ${choice}`).join("\n"));
	assert.match(screen, /Stop with an answer: from what it has, without tools\. Stop now ends the run\./);
	tui.type("n");
	await tui.shows("From what I have.");
});

// The end of the run

test("a no leaves one line that is no error; it stands there the day after, and /turn-limit says how the run ended", async (t) => {
	const pi = await host(t, { model: [...times(2), text("Done."), text("More.")], env: limit(2), session: true });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("→ Continue");
	tui.type("n");
	await tui.shows(`\n ${stopped}`);
	assert.doesNotMatch(tui.screen(), /Error/);
	assert.equal(tui.screen().split("You stopped the run").length, 2);
	const status = "Last run: stopped by you at the limit of 2 turns; spent: 2 turns, 2 tool calls, $0.02.";
	tui.type("/turn-limit\r");
	await tui.shows(status);
	const again = await comeBack(pi, tui);
	await again.shows(`\n ${stopped}`);
	again.type("/turn-limit\r");
	await again.shows(status);
	again.type("again\r");
	await again.shows("Done.");
	await again.lacks("Working");
	again.type("/turn-limit\r");
	await again.shows("Last run: finished by itself; spent: 1 turn");
	const later = await comeBack(pi, again);
	await later.shows(stopped);
	later.type("/turn-limit\r");
	await later.shows("Unlimited: ");
	assert.doesNotMatch(later.screen(), /Last run/);
});

test("an entry that others have written into the session shows nothing that we do not say", async (t) => {
	const pi = await host(t, { model: [text("Done.")], session: true });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("Done.");
	await tui.lacks("Working");
	tui.press("ctrl+d");
	await tui.exit();
	const parentId = (JSON.parse(readFileSync(sessionFile(pi), "utf8").trim().split("\n").at(-1) ?? "") as { id: string })
		.id;
	const forged = [
		{ version: 1, kind: "declined", answered: true, meter: "\u001b[31mEvil", limit: 1 },
		{ version: 1, kind: "evil", meter: "turns", limit: 1 },
		{ version: 1, kind: "declined", answered: true, meter: "turns", limit: -1 },
		"evil",
		null,
	];
	forged.forEach((data, i) => {
		const entry = { type: "custom", customType: "turn-limit-outcome", id: `evil${i}`, timestamp: new Date(0), data };
		appendFileSync(sessionFile(pi), `${JSON.stringify({ ...entry, parentId: i === 0 ? parentId : `evil${i - 1}` })}\n`);
	});
	const again = await pi.terminal({ args: ["-c"] });
	await again.shows("Done.");
	again.type("/turn-limit\r");
	await again.shows("Unlimited: ");
	assert.doesNotMatch(again.screen(), /evil|Evil|reached|Last run/);
});

// Called back

for (const [switched, options, bells] of [
	["by default", {}, 1],
	["switched off in the environment", { env: { PI_TURN_LIMIT_BELL: "false" } }, 0],
	["switched off in turn-limit.json", { agentFiles: { "turn-limit.json": { bell: false } } }, 0],
] as const) {
	test(`the bell rings ${bells} times when the question opens, ${switched}`, async (t) => {
		const env = { ...limit(1), ...("env" in options ? options.env : {}) };
		const pi = await host(t, { model: [mark(), text("Done.")], ...options, env });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("→ Continue");
		tui.press("enter");
		await tui.shows("Done.");
		assert.equal(tui.bells, bells);
	});
}
