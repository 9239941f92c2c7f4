/** `/turn-limit` in a real terminal. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { host, mark, text } from "../harness/index.ts";
import { personsSessions } from "../history/person.ts";

const SETTINGS = { policy: "synthesize", session: { maxCost: 20 } };

describe("the status in the terminal", () => {
	for (const { cols, rows, shown } of [
		{
			...{ cols: 80, rows: 24 },
			shown: [
				/^ turns {9}░{10} {2}0 of 25 {25}default$/m,
				/^ session cost {2}█░{9} {2}\$0\.02 of \$25\.00 \(20\.00 \+ 5\.00\) {2}turn-limit\.json$/m,
				/^ Unlimited: tool calls, cost, tokens, time, /m,
				/^ policy: synthesize \(policy in turn-limit\.json\)$/m,
			],
		},
		{
			...{ cols: 60, rows: 20 },
			shown: [
				/^ turns {9}░{10} {2}0 of 25 {2}default$/m,
				/^ session cost {2}█░{9} {2}\$0\.02 of \$25\.00 \(20\.00 \+ 5\.00\)$/m,
				/^ {3}session\.maxCost in turn-limit\.json$/m,
				/^ policy: synthesize \(policy in turn-limit\.json\)$/m,
			],
		},
		{
			...{ cols: 40, rows: 24 },
			shown: [
				/^ turns: 0 of 25\n {3}░{10} default$/m,
				/^ session cost: \$0\.02 of \$25\.00\n {3}\(20\.00 \+ 5\.00\)\n {3}█░{9}\n {3}session\.maxCost in turn-limit\.json$/m,
				/^ policy: synthesize\n {3}\(policy in turn-limit\.json\)$/m,
			],
		},
		{ cols: 40, rows: 15, shown: [/^ policy: synthesize\n {3}\(policy in turn-limit\.json\)$/m] },
	]) {
		test(`at ${cols}x${rows} shows limits with bars, what was raised, and the last run at the end`, async (t) => {
			const agentFiles = { "turn-limit.json": SETTINGS };
			const pi = await host(t, { model: [mark(), text("Done.")], agentFiles });
			const tui = await pi.terminal({ cols, rows });
			tui.type("go\r");
			await tui.shows("Done.");
			await tui.lacks("Working");
			tui.type("/turn-limit session cost +5\r");
			await tui.shows("$5.00 more: $25.00");
			tui.type("/turn-limit\r");
			const screen = await tui.shows(/Last run: finished by\s+itself; spent: 2/);
			assert.match(screen, / Turns: 0\/25( · |\n )Session cost: \$0\.02\/\$25\.00\n/, "the widget says the same");
			for (const line of shown) assert.match(screen, line);
			assert.ok(screen.split("\n").every((line) => line.length <= cols));
		});
	}

	test("has a bar in the theme's colour for a limit that is reached, and what is unlimited in that of sources", async (t) => {
		const pi = await host(t, { model: [mark(), text("Done.")], env: { PI_MAX_TURNS: "2", COLORTERM: "truecolor" } });
		const tui = await pi.terminal({ cols: 80, rows: 24 });
		tui.type("go\r");
		await tui.shows("Done.");
		await tui.lacks("Working");
		tui.type("/turn-limit\r");
		await tui.shows("Last run: ");
		const [bar, amount, unlimited, source] = ["█", "2 of 2", "Unlimited: ", "PI_MAX_TURNS"].map((of) => tui.colour(of));
		assert.notEqual(bar, amount);
		assert.equal(source, unlimited);
	});

	test("scripts get a table without colours and bars", async (t) => {
		const pi = await host(t, { env: { FORCE_COLOR: "3" } });
		const { stderr } = await pi.print("/turn-limit");
		assert.match(stderr, /turns +0 of 25 turns +default\n/);
		assert.doesNotMatch(stderr, /\x1b|█|░/);
	});
});

describe("/turn-limit advise --apply in the terminal", () => {
	test("sets the suggested limits after a yes", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const tui = await pi.terminal({ cols: 80, rows: 40 });
		tui.type("/turn-limit advise --apply\r");
		await tui.shows("Set these limits for this session?");
		assert.match(tui.screen(), /Turn limit: 25 → \d+/);
		tui.press("enter");
		await tui.shows(/Turn limit set to \d+\./);
		await tui.shows(/^ Turns: 0\/\d+ · Cost: \$0\.00\/\$/m);
	});

	test("changes nothing after Escape", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const tui = await pi.terminal({ cols: 80, rows: 40 });
		tui.type("/turn-limit advise --apply\r");
		await tui.shows("Set these limits for this session?");
		tui.press("escape");
		await tui.shows("Nothing has changed.");
		tui.type("/turn-limit\r");
		await tui.shows(/turns +░+ +0 of 25 +default/);
	});

	test("a script's bash cannot raise a person's limits with it", async (t) => {
		const pi = await host(t, { agentFiles: personsSessions() });
		const { stdout, stderr } = await pi.print("/turn-limit advise --apply");
		assert.equal(stdout, "");
		assert.match(stderr, /^pi-turn-limit: Not applied: only a person can do that, /);
	});
});
