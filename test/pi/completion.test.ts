import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { host, type Terminal } from "../harness/index.ts";
import { echoesKeys, Typist } from "../harness/typist.ts";

/** A terminal, and somebody who types there no faster than pi can complete. */
async function typing(t: TestContext): Promise<{ tui: Terminal; typist: Typist }> {
	const tui = await (await host(t, { after: [echoesKeys] })).terminal();
	return { tui, typist: new Typist(tui) };
}

const commands: [args: string, reply: string][] = [
	["5", "Turn limit set to 5."],
	["2", "Turn limit set to 2."],
	["25", "Turn limit set to 25."],
	["+1", "1 turn more"],
	["+10", "10 turns more"],
	["unlimited", "Turn limit set to unlimited; it never asks again in this session."],
	["tools 2", "Tool limit set to 2."],
	["tools 200", "Tool limit set to 200."],
	["policy abort", "Policy set to abort."],
	["grace 0", "Grace set to 0."],
	["wrap-up", "Nothing is running."],
];

test("what is typed in full behind /turn-limit is sent as typed", async (t) => {
	const { tui, typist } = await typing(t);
	for (const [args, reply] of commands) {
		await t.test(`/turn-limit ${args}, with the first Enter`, async () => {
			tui.press("ctrl+u");
			assert.equal(await typist.type(`/turn-limit ${args}`), `/turn-limit ${args}`);
			assert.equal(await typist.type("\r"), "");
			await tui.shows(reply);
		});
	}
});

for (const command of ["/turn-limit", "/turn-limit "]) {
	test(`${JSON.stringify(command)} and Enter shows the status`, async (t) => {
		const { tui, typist } = await typing(t);
		await typist.type(command);
		assert.equal(await typist.type("\r"), "");
		await tui.shows(/turns +░+ +0 of 25 +default/);
	});
}

test("what is not yet typed in full is completed, and Enter sends it then", async (t) => {
	const { tui, typist } = await typing(t);
	await typist.type("/turn-limit unl");
	assert.equal(await typist.type("\r"), "/turn-limit unlimited");
	assert.equal(await typist.type("\r"), "");
	await tui.shows("Turn limit set to unlimited; it never asks again in this session.");
});

for (const [command, ...offered] of [
	["/turn-limit ", "turns until you are asked", "unlimited", "tools"],
	["/turn-limit tools ", "tools 200", "tools unlimited", "tools +10"],
	["/turn-limit advise ", "--project", "only prompts in this folder", "--json"],
	["/turn-limit advise --project ", "--days 30", "only the last 30 days", "--json"],
] as const) {
	test(`Tab behind ${JSON.stringify(command)} lists what can follow, and no file`, async (t) => {
		const pi = await host(t, { after: [echoesKeys], files: { "some-file.txt": "" } });
		const tui = await pi.terminal();
		const typist = new Typist(tui);
		assert.equal(await typist.type(command), command);
		tui.type("\t");
		for (const words of offered) await tui.shows(words);
		assert.ok(!tui.screen().includes("some-file"));
	});
}

test("Tab takes the only value that fits, and Enter sends it", async (t) => {
	const { tui, typist } = await typing(t);
	await typist.type("/turn-limit tools u");
	tui.type("\t");
	await tui.shows("/turn-limit tools unlimited");
	assert.equal(await typist.type("\r"), "");
	await tui.shows("Tool limit set to unlimited; it never asks again in this session.");
});
