/** A person answers the question in the terminal; the run goes on, or ends. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { finalPass } from "../../src/core/to-model.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { inside, type InsideOptions } from "../harness/inside.ts";
import { calls, fail, text, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

const tell = { kind: "picked", id: "tell", text: "Use npm." };
const dismissed = { kind: "dismissed" };

/** A run in the terminal, at a limit of one turn; the person gives these answers, then stops it. */
async function answered(t: TestContext, answers: readonly object[], options: InsideOptions = {}) {
	const editor = { text: "draft" };
	let asked = 0;
	const ui = {
		custom: () => Promise.resolve((answers[asked++] ?? dismissed) as never),
		getEditorText: () => editor.text,
		setEditorText: (words: string) => void (editor.text = words),
	};
	const env = { PI_MAX_TURNS: "1", ...options.env };
	const pi = await inside(t, { model: [noop, text("done")], ...options, ui, mode: "tui", env });
	await pi.run("go");
	return { pi, editor };
}

describe("words for the model", () => {
	test("reach it with its next request, and stand in the transcript once", async (t) => {
		const { pi, editor } = await answered(t, [tell], { model: [noop, text("done")] });
		assert.equal(pi.model.turns[1]?.last, "Use npm.");
		const told = pi.session.messages.filter((message) => message.role === "custom");
		assert.deepEqual(
			told.map(({ customType, content }) => [customType, content]),
			[["turn-limit-guidance", "Use npm."]],
		);
		assert.equal(editor.text, "draft");
	});

	test("stand in the transcript too where the request that they go with is the last", async (t) => {
		const { pi } = await answered(t, [tell], { model: [text("done")], env: { PI_MAX_TURNS: "0" } });
		assert.equal(pi.model.requests[0]?.last, "Use npm.");
		assert.match(JSON.stringify(pi.session.messages.at(-1)), /"turn-limit-guidance","content":"Use npm\."/);
	});

	for (const [what, answers, options] of [
		["the person then stops the run", [tell, dismissed], { env: { PI_TURN_LIMIT_COST: "0.01" } }],
		["the request of the first turn fails", [tell], { model: [fail(400)], env: { PI_MAX_TURNS: "0" } }],
	] as [string, object[], InsideOptions][]) {
		test(`are back in the editor where ${what}`, async (t) => {
			const { editor } = await answered(t, answers, options);
			assert.equal(editor.text, "Use npm.\n\ndraft");
		});
	}

	test("are the person's only: an Escape puts nothing into the editor that we were about to tell the model", async (t) => {
		let called = 0;
		const escapes = (api: ExtensionAPI): void => {
			api.on("tool_result", (_event, ctx) => {
				if (++called === 3) ctx.abort();
			});
		};
		const options = { model: times(4, noop), env: { PI_MAX_TURNS: "9" }, extensions: [installed, escapes] };
		const { pi, editor } = await answered(t, [], options);
		assert.deepEqual([pi.model.requests.length, editor.text], [3, "draft"]);
	});
});

test("a person who wants an answer now gets it, without tools", async (t) => {
	const { pi } = await answered(t, [{ kind: "picked", id: "wrap_up" }]);
	assert.equal(pi.model.turns[1]?.last, finalPass({ meter: "turns", limit: 1 }));
	assert.match(JSON.stringify(pi.entries("turn-limit-outcome")), /^\[\{[^{]*"kind":"synthesized"/);
});

test("a question is asked also where pi fails to list its tools", async (t) => {
	const breaks = (pi: ExtensionAPI): void => {
		const getAllTools = () => {
			throw new Error("broken on purpose");
		};
		installed(Object.assign(Object.create(pi) as ExtensionAPI, { getAllTools }));
	};
	const env = { PI_TURN_LIMIT_TOOLS: "0" };
	const model = [calls({ name: "noop", args: { path: "src" } }), text("done")];
	const pi = await inside(t, { model, env, extensions: [breaks], person: () => false });
	await pi.run("go");
	assert.match(pi.asked[0]?.message ?? "", /Waiting: noop src/);
});

test("a model that goes in circles is told so once, with its next request", async (t) => {
	const pi = await inside(t, { model: [...times(4, noop), text("done")], person: () => false });
	await pi.run("go");
	const told = pi.model.turns.map((request) => request.count("You are going in circles"));
	assert.deepEqual(told, [0, 0, 0, 1, 1]);
});

test("a command that raises the limit takes the question away, and the run goes on", async (t) => {
	const pi = await inside(t, {
		...{ model: [noop, noop, text("done")], env: { PI_MAX_TURNS: "1" } },
		person: async ({ signal }) => {
			await pi.run("/turn-limit +5");
			return await new Promise<boolean>((resolve) => {
				if (signal?.aborted) resolve(false);
				signal?.addEventListener("abort", () => resolve(false));
			});
		},
	});
	await pi.run("go");
	assert.deepEqual([pi.asked.length, pi.model.requests.length], [1, 3]);
});

test("the widget counts the first turn before the model answers", async (t) => {
	const shown: unknown[] = [];
	const pi = await inside(t, {
		person: () => false,
		model: () => {
			shown.push(pi.widgets.at(-1));
			return text("done");
		},
	});
	await pi.run("go");
	assert.deepEqual(shown, ["Turns: 1/25"]);
});

test("the end of a run that nobody prompted is told once, however often such a run comes", async (t) => {
	const pi = await inside(t, { model: times(5, noop), env: { PI_MAX_TURNS: "1" }, person: () => false });
	await pi.run("go");
	const told: number[] = [];
	for (let woken = 0; woken < 3; woken++) {
		await pi.session.sendUserMessage("go on");
		told.push(pi.notifications.length);
	}
	assert.deepEqual([pi.model.requests.length, told], [1, [2, 2, 2]]);
	await pi.run("/turn-limit +1");
	await pi.session.sendUserMessage("go on");
	assert.equal(pi.model.requests.length, 2);
});
