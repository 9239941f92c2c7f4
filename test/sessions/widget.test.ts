/** The line above the editor, and what else is shown beside a run. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Notices } from "../../src/hosts/pi/ui/notices.ts";
import type { Context } from "../../src/hosts/pi/host/api.ts";
import { draw, fraction, idleWidget, nextRunMeter, type Part, plain, widget } from "../../src/hosts/pi/ui/widget.ts";
import { Driver, type Given } from "../core/driver.ts";

/** A run after some turns. */
function after(turns: number, given: Given): Driver {
	const run = new Driver({ attended: true, repeats: "unlimited", ...given }).prompt();
	run.turns(turns);
	return run;
}

/** Colours show as the name of the colour. */
const theme = { fg: (colour: string, words: string) => `<${colour}>${words}` };

describe("the line above the editor", () => {
	const levels = (turns: number, given: Given) => widget(after(turns, given).state).map(({ level }) => level);

	test("has the turns always, and the other meters where they are limited", () => {
		assert.equal(plain(widget(after(1, { turns: "unlimited" }).state)), "Turns: 1/∞");
		const { state } = after(1, { turns: 9, toolCalls: 90, cost: 2_500_000, sessionTurns: 70 });
		assert.equal(plain(widget(state)), "Turns: 1/9 · Tools: 0/90 · Cost: $0.00/$2.50 · Session turns: 1/70");
	});

	test("has the repetitions from the third on", () => {
		const run = after(0, { repeats: 5 });
		run.request();
		for (const shown of ["Turns: 1/25", "Turns: 1/25", "Turns: 1/25 · Repeats: 3/5"]) {
			run.call();
			assert.equal(plain(widget(run.state)), shown);
		}
	});

	test("warns from 80% of a limit on, and is an error where it is reached", () => {
		assert.deepEqual(levels(3, { turns: 5 }), ["normal"]);
		assert.deepEqual(levels(4, { turns: 5 }), ["warning"]);
		assert.deepEqual(levels(5, { turns: 5 }), ["error"]);
		assert.deepEqual(levels(5, { turns: "unlimited" }), ["normal"]);
	});

	test("tells how much was spent where each request is asked about, and does not warn", () => {
		const run = after(1, { turns: 0 });
		run.answer("yes");
		run.turns(1);
		assert.deepEqual(widget(run.state), [{ text: "Turns: 1, asks every time", level: "normal" }]);
		assert.deepEqual(idleWidget(new Driver({ turns: 0 }).state), [
			{ text: "Turns: 0, asks every time", level: "normal" },
		]);
	});

	test("says that the final answer is on its way", () => {
		const run = after(1, { turns: 1, policy: "synthesize", attended: false });
		run.request();
		assert.equal(run.phase, "finishing");
		assert.deepEqual(widget(run.state).at(-1), { text: "final answer", level: "normal" });
		assert.equal(plain(widget(run.state)), "Turns: 1/1 · final answer");
	});

	test("has the start values of the next prompt between runs, with what was granted, and goes on counting the session", () => {
		const run = after(2, { turns: 9, sessionTurns: 70 });
		run.finish();
		run.settle();
		assert.equal(plain(widget(run.state)), "Turns: 2/9 · Session turns: 2/70");
		run.raise("turns", 3);
		assert.equal(plain(idleWidget(run.state)), "Turns: 0/12 · Session turns: 2/70");
	});

	test("is that of the run while one is under way", () => {
		const { state } = after(2, { turns: 9 });
		assert.equal(plain(idleWidget(state)), "Turns: 2/9");
		assert.equal(nextRunMeter(state, "turns"), state.meters.turns);
	});

	test("writes the same fraction in words", () => {
		const { meters } = after(2, { turns: 9 }).state;
		assert.equal(fraction("turns", meters.turns, " of ", 7), "2 of 9");
	});
});

describe("the line above the editor in a terminal", () => {
	const parts: readonly Part[] = [
		{ text: "Turns: 1/25", level: "normal" },
		{ text: "Tools: 0/90", level: "warning" },
		{ text: "Cost: $0.00/$2.50", level: "error" },
	];

	test("is one line with a blank before it, and the colours of what warns", () => {
		assert.deepEqual(draw(parts, theme, 80), [" Turns: 1/25 · <warning>Tools: 0/90 · <error>Cost: $0.00/$2.50"]);
	});

	test("breaks between its parts where a line would leave no room at its end", () => {
		const lines = [" Turns: 1/25 · <warning>Tools: 0/90", " <error>Cost: $0.00/$2.50"];
		assert.deepEqual(draw(parts, theme, 46), lines);
		assert.equal(draw(parts, theme, 47).length, 1);
		assert.deepEqual(draw(parts, theme, 27), lines);
		assert.equal(draw(parts, theme, 26).length, 3);
		assert.deepEqual(draw([...parts.slice(1), ...parts.slice(0, 1)], theme, 34), [
			" <warning>Tools: 0/90 · <error>Cost: $0.00/$2.50",
			" Turns: 1/25",
		]);
	});

	test("cuts a part that is wider than the line", () => {
		assert.deepEqual(draw(parts, theme, 13), [" Turns: 1/25", " <warning>Tools: 0/90", " <error>Cost: $0.0…"]);
		assert.deepEqual(draw(parts.slice(0, 1), theme, 12), [" Turns: 1/…"]);
		assert.deepEqual(draw(parts.slice(0, 1), theme, 2), [" …"]);
		assert.deepEqual(draw(parts.slice(0, 1), theme, 1), ["…"]);
	});
});

/** Records what a person sees. */
class Screen {
	readonly seen: unknown[] = [];
	text = "";

	context(mode: "tui" | "rpc" | "print"): Context {
		const ui = {
			notify: (...said: unknown[]) => this.seen.push(said),
			setWidget: (_key: string, widget: unknown) => this.seen.push(widget),
			setEditorText: (text: string) => (this.text = text),
			getEditorText: () => this.text,
		};
		return { mode, hasUI: mode !== "print", ui } as unknown as Context;
	}
}

describe("notices", () => {
	test("draws the line in a terminal, and sends it as text over rpc", () => {
		const screen = new Screen();
		const { state } = after(1, { turns: 25, toolCalls: 90 });
		const notices = new Notices(() => {});
		assert.equal(notices.isShowing, false);
		notices.showRun(state, screen.context("tui"));
		assert.equal(notices.isShowing, true);
		const make = screen.seen[0] as (tui: unknown, of: typeof theme) => { render: (width: number) => string[] };
		assert.deepEqual(make(undefined, theme).render(20), [" Turns: 1/25", " Tools: 0/90"]);
		new Notices(() => {}).showRun(state, screen.context("rpc"));
		assert.deepEqual(screen.seen[1], ["Turns: 1/25 · Tools: 0/90"]);
	});

	test("shows the same line once, and clears it between runs", () => {
		const screen = new Screen();
		const notices = new Notices(() => {});
		const run = after(1, { turns: 25 });
		const rpc = screen.context("rpc");
		notices.showRun(run.state, rpc);
		notices.showRun(run.state, rpc);
		notices.showIdle(run.state, rpc);
		run.finish();
		run.settle();
		notices.showRun(run.state, rpc);
		assert.deepEqual(screen.seen, [["Turns: 1/25"], undefined]);
		notices.showIdle(run.state, rpc);
		assert.deepEqual(screen.seen.slice(2), [["Turns: 0/25"]]);
	});

	test("shows what is next only between runs", () => {
		const screen = new Screen();
		const notices = new Notices(() => {});
		notices.showIdle(after(1, { turns: 25 }).state, screen.context("rpc"));
		assert.deepEqual(screen.seen, []);
	});

	test("shows nothing where there is no screen, and says things on the log", () => {
		const screen = new Screen();
		const said: string[] = [];
		const notices = new Notices((message) => said.push(message));
		const print = screen.context("print");
		notices.showRun(after(1, { turns: 25 }).state, print);
		notices.showIdle(new Driver().state, print);
		notices.say("hello", "info", print);
		notices.giveBack(["a"], print);
		assert.deepEqual([screen.seen, screen.text, said], [[], "", ["hello"]]);
		assert.equal(notices.isShowing, false);
	});

	test("leaves room at the end of a terminal's lines, and has all room elsewhere", () => {
		assert.equal(
			new Notices(
				() => {},
				() => 80,
			).room,
			78,
		);
		assert.equal(new Notices(() => {}).room, Infinity);
	});

	test("warns once of a bad value, and never where there is no problem", () => {
		const screen = new Screen();
		const notices = new Notices(() => {});
		const rpc = screen.context("rpc");
		assert.equal(notices.use({ value: 1 }, rpc), 1);
		assert.equal(notices.use({ value: 2, problem: "bad" }, rpc), 2);
		assert.equal(screen.seen.length, 1);
		assert.equal(notices.use({ value: 3, problem: "bad" }, rpc), 3);
		assert.deepEqual(screen.seen, [["bad", "warning"]]);
	});

	test("puts texts that were not sent before what the person types", () => {
		const screen = new Screen();
		const notices = new Notices(() => {});
		const tui = screen.context("tui");
		notices.giveBack(["one", "two"], tui);
		assert.equal(screen.text, "one\n\ntwo");
		notices.giveBack(["zero"], tui);
		assert.equal(screen.text, "zero\n\none\n\ntwo");
		Object.assign(tui.ui, { setEditorText: () => assert.fail("nothing to give back") });
		notices.giveBack([], tui);
	});
});
