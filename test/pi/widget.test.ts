import assert from "node:assert/strict";
import { test } from "node:test";
import { endless, held, host, mark, type Reply, text } from "../harness/index.ts";

for (const theme of ["dark", "light"]) {
	test(`in the ${theme} theme the widget has the theme's warning colour from 80% on, and its error colour from the last turn on`, async (t) => {
		const turns = Array.from({ length: 5 }, () => held());
		const env = { PI_MAX_TURNS: "5", PI_TURN_LIMIT_TOOLS: "90" };
		const colours = { warning: "", error: "" };
		const pi = await host(t, {
			model: (_request, n): Reply => turns[n - 1] ?? text("Done."),
			env,
			settings: { theme },
		});
		const tui = await pi.terminal();
		tui.type("go\r");
		for (const [i, turn] of turns.entries()) {
			await tui.shows(`Turns: ${i + 1}/5`);
			const colour = tui.colour(`Turns: ${i + 1}/5`);
			if (i < 3) assert.equal(colour, "default");
			if (i === 3) colours.warning = colour;
			if (i === 4) colours.error = colour;
			assert.equal(tui.colour(`Tools: ${i}/90`), "default");
			turn.release();
		}
		assert.equal(new Set(["default", ...Object.values(colours)]).size, 3);
		await tui.shows("→ Continue");
		assert.equal(tui.colour("Turns: 5/5"), colours.error);
		tui.press("enter");
		await tui.shows("Done.");
	});
}

test("with a cost limit the widget shows dollars", async (t) => {
	const slow = held(text("Done."));
	const pi = await host(t, { model: (_request, n) => (n === 3 ? slow : mark()), env: { PI_TURN_LIMIT_COST: "2.50" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	await tui.shows("Turns: 3/25 · Cost: $0.02/$2.50");
	slow.release();
});

test("in a narrow terminal the widget breaks between its parts, and its parts only where one is wider than the line", async (t) => {
	const slow = held(text("Done."));
	const env = { PI_TURN_LIMIT_TOOLS: "90", PI_TURN_LIMIT_COST: "2.50" };
	const pi = await host(t, { model: [slow], env });
	const tui = await pi.terminal({ cols: 40 });
	tui.type("go\r");
	await tui.shows(" Turns: 1/25 · Tools: 0/90\n Cost: $0.00/$2.50\n");
	tui.resize(14, 40);
	await tui.shows(" Turns: 1/25\n Tools: 0/90\n Cost: $0.00…\n");
	slow.release();
});

test("a limit of 0 asks every time and does not read 1/0", async (t) => {
	const turns = Array.from({ length: 2 }, () => held());
	const pi = await host(t, { model: (_request, n): Reply => turns[n - 1] ?? mark(), env: { PI_MAX_TURNS: "0" } });
	const tui = await pi.terminal();
	tui.type("go\r");
	for (const [i, turn] of turns.entries()) {
		await tui.shows("→ Continue");
		assert.match(tui.screen(), new RegExp(` Turns: ${i}, asks every time\n`));
		tui.press("enter");
		await tui.shows(` Turns: ${i + 1}, asks every time\n`);
		turn.release();
	}
	await tui.shows("→ Continue");
	tui.type("n");
	await tui.shows("You stopped the run");
	tui.type("/turn-limit\r");
	await tui.shows(/turns +░+ +0, asks every time +PI_MAX_TURNS/);
});

test("over rpc the widget is plain text", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_MAX_TURNS: "1", FORCE_COLOR: "3" } });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.deepEqual(rpc.widgets(), [["Turns: 1/1"], undefined]);
});
