/** More than one session in a process, sessions that come and go, and a person who comes later. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	bash,
	calls,
	endless,
	held,
	host,
	mark,
	text,
	type HostOptions,
	type Reply,
	type Request,
	type Rpc,
} from "../harness/index.ts";
import { embed, type World } from "./ends-embed.ts";
import { fated } from "./ends-runs.ts";
import { lines, MODES, ours } from "./ends-seen.ts";

interface Heard {
	kind: string;
	turns: number;
}

describe("in a program that embeds pi", () => {
	test("eight sessions in parallel: each counts for itself, ends once, and leaves nothing behind", async (t) => {
		const pi = await host(t, { model: endless() });
		const { value, stderr, code } = await embed(pi, async ({ pi, turnLimit, open }: World) => {
			const { readdirSync } = process.getBuiltinModule("node:fs");
			const look = (): unknown => [
				readdirSync(pi.getAgentDir()),
				process.eventNames().map((name) => [String(name), process.listenerCount(name)]),
				Object.entries(process.env).sort(),
				process.exitCode,
			];
			// What pi itself does with the process when its first session opens is not ours.
			(await open()).dispose();
			const untouched = look();
			const agents = await Promise.all(
				Array.from({ length: 8 }, async (_, i) => {
					const heard: Heard[] = [];
					const entries: unknown[] = [];
					const bus: unknown[] = [];
					const limit = turnLimit({
						turns: i + 1,
						grace: 0,
						onOutcome: ({ kind, turns }) => void heard.push({ kind, turns }),
					});
					const session = await open(limit, (pi) => {
						pi.events.on("turn-limit:outcome", (outcome) => bus.push((outcome as Heard).turns));
					});
					session.subscribe((event) => {
						if (event.type !== "entry_appended" || event.entry.type !== "custom") return;
						if (event.entry.customType === "turn-limit-outcome") entries.push((event.entry.data as Heard).turns);
					});
					return { limit, session, heard, entries, bus, i };
				}),
			);
			const results = await Promise.all(
				agents.map(async ({ limit, session, heard, entries, bus, i }) => {
					const error: unknown = await limit.prompt(session, `agent ${i}`).then(
						() => undefined,
						(thrown: unknown) => thrown,
					);
					return { error: (error as Error | undefined)?.name, heard, entries, bus };
				}),
			);
			for (const { session } of agents) session.dispose();
			return { results, untouched, after: look() };
		});
		assert.deepEqual(
			value.results,
			Array.from({ length: 8 }, (_, i) => ({
				error: "LimitExceeded",
				heard: [{ kind: "exhausted", turns: i + 1 }],
				entries: [i + 1],
				bus: [i + 1],
			})),
		);
		const asked = pi.model.requests.map((request) => request.texts("user")[0]);
		assert.deepEqual(
			Array.from({ length: 8 }, (_, i) => asked.filter((prompt) => prompt === `agent ${i}`).length),
			Array.from({ length: 8 }, (_, i) => i + 1),
		);
		assert.deepEqual(value.after, value.untouched);
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("eight sessions in parallel, each with a UI: each is asked for itself, and its answer is the model's", async (t) => {
		const work = (request: Request): Reply => {
			const agent = Number(request.texts("user")[0]?.replace("agent ", ""));
			return request.texts("assistant").length <= agent ? mark() : text("My answer.");
		};
		const pi = await host(t, { model: work });
		const { value, stderr, code } = await embed(pi, async ({ turnLimit, open }: World) => {
			const nothing = (): void => {};
			const agents = Array.from({ length: 8 }, async (_, i) => {
				const questions: string[] = [];
				const uiContext = {
					...{ notify: nothing, setStatus: nothing, setWidget: nothing },
					confirm: (_title: string, message: string) => {
						questions.push(message.split("\n")[0] ?? "");
						return Promise.resolve(false);
					},
				};
				const limit = turnLimit({ turns: i + 1, policy: "synthesize" });
				const session = await open(limit);
				await session.bindExtensions({ uiContext: uiContext as never, mode: "rpc" });
				const { kind } = await limit.prompt(session, `agent ${i}`);
				const answer = session.getLastAssistantText();
				session.dispose();
				return { questions, kind, answer };
			});
			return Promise.all(agents);
		});
		assert.deepEqual(
			value,
			Array.from({ length: 8 }, (_, i) => ({
				questions: [`You've used ${i + 1} ${i === 0 ? "turn" : "turns"}. Continue?`],
				kind: "synthesized",
				answer: "My answer.",
			})),
		);
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	for (const [when, event, reply] of [
		["while the model answers", "message_update", held(text("Let me see."))],
		["while a tool runs", "tool_execution_start", calls(bash("sleep 60"))],
	] as const) {
		test(`dispose() ${when} is an interruption`, async (t) => {
			const pi = await host(t, { model: [reply], env: { DISPOSE_AT: event } });
			const { value, stderr, code } = await embed(pi, async ({ turnLimit, open }: World) => {
				const heard: string[] = [];
				const limit = turnLimit({ turns: 5, onOutcome: ({ kind }) => void heard.push(kind) });
				const session = await open(limit);
				session.subscribe(({ type }) => {
					if (type === process.env["DISPOSE_AT"]) session.dispose();
				});
				await session.prompt("go");
				return heard;
			});
			assert.deepEqual(value, ["interrupted"]);
			assert.equal(pi.model.requests.length, 1);
			assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
		});
	}

	test("a UI that is bound after the first prompt is asked at the next", async (t) => {
		const pi = await host(t, { model: endless() });
		const { value } = await embed(pi, async ({ turnLimit, open }: World) => {
			const kinds: string[] = [];
			const questions: string[] = [];
			const session = await open(turnLimit({ turns: 2, onOutcome: ({ kind }) => void kinds.push(kind) }));
			await session.prompt("first");
			const nothing = (): void => {};
			const uiContext = {
				...{ notify: nothing, setStatus: nothing, setWidget: nothing },
				confirm: (title: string) => Promise.resolve(questions.push(title) === 1),
			};
			await session.bindExtensions({ uiContext: uiContext as never, mode: "rpc" });
			await session.prompt("second");
			session.dispose();
			return { kinds, questions };
		});
		assert.deepEqual(value, {
			kinds: ["exhausted", "declined"],
			questions: ["Turn limit reached", "Turn limit reached"],
		});
		assert.equal(pi.model.requests.length, 2 + 2 + 2);
	});
});

describe("in pi the next session is the root", () => {
	/** `/fresh` starts a new session as `/new` does, `/back` resumes the first. */
	function sessions(pi: ExtensionAPI): void {
		const slot = globalThis as { first?: string | undefined };
		pi.on("session_start", (_event, { sessionManager }) => {
			slot.first ??= sessionManager.getSessionFile();
		});
		pi.registerCommand("fresh", {
			handler: async (_args, ctx) => {
				await ctx.newSession();
			},
		});
		pi.registerCommand("back", {
			handler: async (_args, ctx) => {
				await ctx.switchSession(slot.first ?? "");
			},
		});
	}

	const options: HostOptions = { ...fated, session: true, after: [sessions] };

	for (const [prompts, code, said] of [
		[["/fresh", "runs on"], 53, ["stopped"]],
		[["ends", "/fresh", "runs on"], 53, ["stopped"]],
		[["ends", "/fresh", "/back", "runs on"], 53, ["stopped"]],
		[["runs on", "/fresh", "ends"], 53, ["stopped"]],
		[["runs on", "/fresh", "runs on"], 53, ["stopped", "stopped"]],
		[["ends", "/fresh", "wraps up"], 54, ["finished"]],
		[["wraps up", "/fresh", "ends"], 54, ["finished"]],
	] as const) {
		for (const mode of MODES) {
			test(`${prompts.join(", ")}: exit code ${code}, and a line for each stop (${mode})`, async (t) => {
				const pi = await host(t, options);
				const { stderr, code: returned } = await pi[mode](...prompts);
				assert.deepEqual(lines(stderr), ours(stderr));
				assert.deepEqual(
					{ code: returned, said: lines(stderr).map((line) => line.split(" ")[1]) },
					{ code, said: [...said] },
				);
			});
		}
	}

	/** The first line of every question. */
	const asked = (rpc: Rpc): string[] => rpc.questions.map(({ message }) => message?.split("\n")[0] ?? "");
	const question = "You've used 3 turns. Continue?";

	test("rpc: after new_session and switch_session the person is asked as before", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("ends");
		const { sessionFile } = (await rpc.send({ type: "get_state" })) as { sessionFile: string };
		await rpc.newSession();
		await rpc.run("runs on");
		assert.deepEqual(asked(rpc), [question]);
		await rpc.send({ type: "switch_session", sessionPath: sessionFile });
		await rpc.run("runs on");
		assert.deepEqual(asked(rpc), [question, question]);
		assert.equal(pi.model.requests.length, 1 + 3 + 3);
		const { stderr, code } = await rpc.close();
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
	});

	test("rpc: a session that was left at an open question leaves the next one its own", async (t) => {
		const pi = await host(t, options);
		const rpc = await pi.rpc();
		await rpc.prompt("runs on");
		await rpc.question();
		await rpc.newSession();
		await rpc.prompt("runs on");
		(await rpc.question()).no();
		await rpc.settled();
		assert.deepEqual(asked(rpc), [question, question]);
		assert.equal(pi.model.requests.length, 3 + 3);
	});

	test("the terminal: after /new and /resume the person is asked as before", async (t) => {
		const pi = await host(t, options);
		const tui = await pi.terminal();
		tui.type("ends\r");
		await tui.shows("Done.");
		tui.type("/new\r");
		await tui.lacks("Done.");
		tui.type("runs on\r");
		await tui.shows(question);
		tui.press("escape");
		await tui.lacks(question);
		tui.type("/resume\r");
		await tui.shows("Resume Session");
		tui.type("ends");
		await tui.shows(/› ends .* now/);
		tui.press("enter");
		await tui.shows("Done.");
		tui.type("runs on\r");
		await tui.shows(question);
		tui.press("escape");
		await tui.lacks(question);
		assert.equal(pi.model.requests.length, 1 + 3 + 3);
		tui.press("ctrl+d");
		assert.equal(await tui.exit(), 0);
	});
});
