/** Outcomes that stand in a session: what they say after a resume, and how they look in the transcript. */
import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { Context } from "../../src/hosts/pi/host/api.ts";
import { readOutcome, recalledOutcome } from "../../src/hosts/pi/outcome/record.ts";
import { lastRunText } from "../../src/hosts/pi/outcome/sentences.ts";
import * as transcript from "../../src/hosts/pi/outcome/transcript.ts";
import { SessionManager } from "../harness/pi.ts";

const spent = { turns: 3, toolCalls: 2, cost: 0.02, tokens: 900, time: 4, continuations: 1, advised: true };
const stored = { version: 1, attended: true, ...spent };
const trip = { meter: "turns", limit: 3 };
const exhausted = { ...stored, kind: "exhausted", ...trip };

test("an outcome is read as the core counts it", () => {
	assert.deepEqual(readOutcome({ ...exhausted, answered: "yes" }), {
		...{ ...spent, cost: 20_000, time: 4_000, repeats: 0 },
		...{ kind: "exhausted", answered: false, by: undefined, ...trip },
	});
	const bare = { version: 1, kind: "failed", by: "provider", advised: 1, continuations: "2", answered: true };
	assert.deepEqual(readOutcome(bare), {
		...{ turns: 0, toolCalls: 0, cost: 0, tokens: 0, time: 0, repeats: 0, continuations: 0, advised: false },
		...{ kind: "failed", answered: true, by: "provider", message: "" },
	});
});

for (const wrong of [
	undefined,
	null,
	"exhausted",
	{ ...exhausted, version: 2 },
	{ ...exhausted, kind: "toString" },
	{ ...exhausted, meter: "fuel" },
	{ ...exhausted, limit: "many" },
	...["wrapped_up", "synthesized", "declined", "exhausted"].map((kind) => ({ ...stored, kind })),
]) {
	test(`no outcome is read from ${JSON.stringify(wrong)}`, () => {
		assert.equal(readOutcome(wrong), undefined);
	});
}

for (const [outcome, words] of [
	[{ kind: "completed" }, "finished by itself"],
	[{ kind: "wrapped_up", ...trip }, "finished after the wrap-up at the limit of 3 turns"],
	[{ kind: "wrapped_up", meter: "turns", limit: "unlimited" }, "finished after the wrap-up"],
	[{ kind: "synthesized", ...trip }, "stopped with an answer at the limit of 3 turns"],
	[{ kind: "declined", answered: true, ...trip }, "stopped by you at the limit of 3 turns"],
	[{ kind: "declined", ...trip }, "stopped, nobody answered at the limit of 3 turns"],
	[{ kind: "exhausted", meter: "cost", limit: 2.5 }, "stopped without an answer at the limit of $2.50"],
	[{ kind: "interrupted" }, "interrupted"],
	[{ kind: "failed" }, "failed"],
] as const) {
	test(`the last run: ${words}`, () => {
		const read = readOutcome({ ...stored, ...outcome });
		assert.equal(read && lastRunText(read), `Last run: ${words}; spent: 3 turns, 2 tool calls, $0.02.`);
	});
}

describe("the outcome of the last run", () => {
	for (const [what, story, expected] of [
		["is the newest one", "older newest", "exhausted"],
		["is known behind entries of others", "newest other", "exhausted"],
		["is not known once a message has come", "newest message", undefined],
		["is not known where there is none", "message other", undefined],
	] as const) {
		test(what, () => {
			const session = SessionManager.inMemory();
			for (const word of story.split(" ")) {
				if (word === "message") session.appendMessage({ role: "user", content: "go", timestamp: 0 });
				else if (word === "other") session.appendCustomEntry("peer", exhausted);
				else
					session.appendCustomEntry(
						"turn-limit-outcome",
						word === "newest" ? exhausted : { ...stored, kind: "failed" },
					);
			}
			assert.equal(recalledOutcome({ sessionManager: session } as unknown as Context)?.kind, expected);
		});
	}
});

describe("in the transcript", () => {
	type Renderer = (entry: object, options: object, theme: object) => { render(width: number): string[] } | undefined;
	const theme = {
		fg: (name: string, text: string) => `<${name}>${text}`,
		bg: (name: string, text: string) => `[${name}]${text}`,
	};

	async function shown(session = SessionManager.inMemory(), { tryRegisterRenderers, prepareEntries } = transcript) {
		const renderers: Record<string, Renderer> = {};
		const register = (name: string, renderer: unknown): void => void (renderers[name] = renderer as Renderer);
		const pi = { registerEntryRenderer: register, registerMessageRenderer: register } as unknown as ExtensionAPI;
		assert.equal(tryRegisterRenderers(pi), true);
		await prepareEntries({ sessionManager: session } as unknown as Context);
		return renderers;
	}

	for (const [data, width, lines] of [
		[exhausted, 80, [" <warning>Turn limit reached; the run ended without an answer. Send a message to go on."]],
		[
			{ ...exhausted, kind: "synthesized" },
			50,
			[" <dim>Turn limit reached; the model gave its final", " <dim>answer. Send a message to go on."],
		],
		[
			{ ...exhausted, kind: "wrapped_up" },
			11,
			["Ended", "after the", "wrap-up;", "the", "answer", "may be", "partial."].map((line) => ` <dim>${line}`),
		],
		[
			{ ...exhausted, kind: "wrapped_up" },
			0,
			Array.from("Endedafterthewrap-up;theanswermaybepartial.").map((line) => ` <dim>${line}`),
		],
		[{ ...stored, kind: "completed" }, 80, undefined],
		["nothing of ours", 80, undefined],
	] as const) {
		test(`an outcome looks like ${JSON.stringify(lines)} in ${width} columns`, async () => {
			const { "turn-limit-outcome": renderer } = await shown();
			assert.deepEqual(renderer?.({ data }, {}, theme)?.render(width), lines);
		});
	}

	test("what the person has said at the question looks like a message of theirs, also in a session that goes on later", async () => {
		const session = SessionManager.inMemory();
		session.appendCustomMessageEntry("turn-limit-guidance", "Go left.", true);
		const { "turn-limit-guidance": renderer } = await shown(session);
		const lines = renderer?.({ content: "Go left." }, { outputPad: 1 }, theme)?.render(40) ?? [];
		assert.deepEqual([lines.length, lines[1]?.trimEnd()], [3, "[userMessageBg] <userMessageText>Go left."]);
		assert.equal(renderer?.({ content: [] }, { outputPad: 1 }, theme), undefined);
	});

	/** As in a process that has shown no dialog yet: its terminal library is not loaded. */
	async function inNewProcess(): Promise<typeof transcript> {
		const hooks = registerHooks({
			resolve: (name, from, next) => {
				const found = next(name, from);
				if (!/\/(?:transcript|load-pi-tui)\.ts/.test(found.url)) return found;
				return { ...found, url: `${found.url}${found.url.includes("?") ? "&" : "?"}process=${processes}` };
			},
		});
		processes++;
		try {
			return await import("../../src/hosts/pi/outcome/transcript.ts");
		} finally {
			hooks.deregister();
		}
	}
	let processes = 0;

	test("what the person has said is shown by a process that resumes the session; one without it loads no terminal library", async () => {
		const session = SessionManager.inMemory();
		const render = async (): Promise<number | undefined> => {
			const { "turn-limit-guidance": renderer } = await shown(session, await inNewProcess());
			return renderer?.({ content: "Go left." }, { outputPad: 1 }, theme)?.render(40).length;
		};
		assert.equal(await render(), undefined);
		session.appendCustomMessageEntry("turn-limit-guidance", "Go left.", true);
		assert.equal(await render(), 3);
	});

	test("what the person has said holds nothing that a terminal obeys, and keeps its lines", async () => {
		const session = SessionManager.inMemory();
		session.appendCustomMessageEntry("turn-limit-guidance", "Go left.", true);
		const { "turn-limit-guidance": renderer } = await shown(session);
		const lines = renderer?.({ content: "One.\n  Two.\u001b[31m" }, { outputPad: 1 }, theme)?.render(60) ?? [];
		assert.deepEqual(
			lines.slice(1, 3).map((line) => line.trimEnd()),
			["[userMessageBg] <userMessageText>One.", "[userMessageBg]   Two.\uFFFD[31m"],
		);
	});

	test("nothing is shown on a pi that lacks what shows it", () => {
		assert.equal(transcript.tryRegisterRenderers({} as ExtensionAPI), false);
	});
});
