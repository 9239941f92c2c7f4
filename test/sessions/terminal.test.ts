/** What the extension does with a terminal: slash commands that a person enters, and advice. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import type * as advice from "../../src/hosts/pi/command/advise.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, held, text, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { personsSessions } from "../history/person.ts";

/** `/review` starts a run, as extensions' commands do. */
function reviews(pi: ExtensionAPI): void {
	pi.registerCommand("review", { handler: () => Promise.resolve(pi.sendUserMessage("review it")) });
}

/** A terminal whose keys the test presses. */
class Keys {
	listeners = new Set<(data: string) => unknown>();
	text = "";

	get ui(): Partial<ExtensionUIContext> {
		return {
			onTerminalInput: (listener) => {
				this.listeners.add(listener);
				return () => this.listeners.delete(listener);
			},
			getEditorText: () => this.text,
		};
	}

	press(data: string): unknown[] {
		return [...this.listeners].map((listener) => listener(data));
	}
}

describe("a slash command of another extension", () => {
	/** A stopped run, and then keys and the command. Gives how many requests the command's run made. */
	async function after(t: TestContext, typed: string, key: string, options: InsideOptions = {}): Promise<number> {
		const keys = new Keys();
		const env = { PI_MAX_TURNS: "2" };
		const terminal = { person: () => false, ui: keys.ui, mode: "tui", env, model: endless(noop) } as const;
		const pi = await inside(t, { ...terminal, extensions: [installed, reviews], ...options });
		await pi.run("go");
		keys.text = typed;
		assert.ok(keys.press(key).every((result) => result === undefined));
		await starting(pi, "/review");
		return pi.model.requests.length - 2;
	}

	/** Runs a command that starts a run, and waits for its end. */
	async function starting(pi: Inside, command: string): Promise<void> {
		const settled = (): number => pi.events.filter(({ type }) => type === "agent_settled").length;
		const before = settled();
		await pi.run(command);
		await pi.until("the end of the run", () => settled() > before);
	}

	for (const key of ["\r", "\n", "\x1b[13u", "\x1b[13;1u"]) {
		test(`that a person enters with ${JSON.stringify(key)} has all its turns`, async (t) => {
			assert.equal(await after(t, "/review", key), 2);
		});
	}

	test("refills for its own run, and for no other that comes after it", async (t) => {
		const keys = new Keys();
		const terminal = { person: () => false, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
		const model = [text("done"), ...times(9, noop)];
		const pi = await inside(t, { ...terminal, model, extensions: [installed, reviews] });
		keys.text = "/review";
		keys.press("\r");
		await starting(pi, "/review");
		await pi.session.sendUserMessage("more");
		assert.equal(pi.model.requests.length, 2);
	});

	test("that reloads pi before it starts a run has all its turns", async (t) => {
		let reload = (): Promise<void> => Promise.resolve();
		const reloads = (api: ExtensionAPI): void =>
			api.registerCommand("review", {
				handler: async () => {
					await reload();
					void pi.session.sendUserMessage("Review it.");
				},
			});
		const keys = new Keys();
		const terminal = { person: () => false, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
		const pi = await inside(t, { ...terminal, model: endless(noop), extensions: [installed, reloads] });
		reload = () => pi.session.reload();
		await pi.run("go");
		keys.text = "/review";
		keys.press("\r");
		await starting(pi, "/review");
		assert.equal(pi.model.requests.length - 2, 2);
	});

	for (const typed of ["/review the tests", "  /review", "/review\nall of it", "/rvw"]) {
		test(`is one also as ${JSON.stringify(typed)}`, async (t) => {
			assert.equal(await after(t, typed, "\r"), 2);
		});
	}

	for (const [what, typed, key] of [
		["another key", "/review", "x"],
		["Enter with a modifier", "/review", "\x1b[13;2u"],
		["a paste that has an Enter in it", "/review", "\r\r"],
		["other words", "review", "\r"],
		["words with a command in them", "do /review", "\r"],
		["a slash alone", "/", "\r"],
		["a command of nobody", "/nothing", "\r"],
		["our own command", "/turn-limit 3", "\r"],
		["a part of our own command", "/turn-l", "\r"],
		["a name with letters in another order", "/wr", "\r"],
		["a name with more letters", "/reviews", "\r"],
		["a part of a name, which pi does not complete before a blank", "/rvw it", "\r"],
	] as const) {
		test(`does not refill after ${what}`, async (t) => {
			assert.equal(await after(t, typed, key), 0);
		});
	}

	test("that begins like ours is another one's, and ours is not", async (t) => {
		const alike = (pi: ExtensionAPI): void => pi.registerCommand("turn-limits", { handler: () => Promise.resolve() });
		const extensions = [installed, reviews, alike];
		assert.equal(await after(t, "/turn-limits", "\r", { extensions }), 2);
		assert.equal(await after(t, "/turn-limit", "\r", { extensions }), 0);
	});

	test("of a prompt template or a skill is pi's own, and no extension's", async (t) => {
		const template = (pi: ExtensionAPI): void => {
			installed(
				Object.assign(Object.create(pi) as ExtensionAPI, {
					getCommands: () => [{ name: "review", source: "prompt", sourceInfo: { source: "local", path: "review.md" } }],
				}),
			);
		};
		assert.equal(await after(t, "/review", "\r", { extensions: [template, reviews] }), 0);
	});

	test("in the editor of an open question does not refill: the question takes the Enter", async (t) => {
		const keys = new Keys();
		keys.text = "/review";
		const person = (_asked: unknown, n: number): boolean => keys.press("\r").length > 0 && n === 1;
		const model = (_request: unknown, n: number) => (n === 3 ? text("done") : noop);
		const terminal = { person, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
		const pi = await inside(t, { ...terminal, model, extensions: [installed, reviews] });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		await starting(pi, "/review");
		assert.equal(pi.model.requests.length, 4);
	});

	test("refills one run, not the next one", async (t) => {
		const keys = new Keys();
		const terminal = { person: () => false, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
		const pi = await inside(t, { ...terminal, model: endless(noop), extensions: [installed, reviews] });
		keys.text = "/review";
		keys.press("\r");
		await starting(pi, "/review");
		assert.equal(pi.model.requests.length, 2);
		await starting(pi, "/review");
		assert.equal(pi.model.requests.length, 2);
	});

	test("is none whose Enter has answered the question", async (t) => {
		const keys = new Keys();
		const person = (_asked: unknown, n: number): boolean => {
			keys.text = "/review";
			keys.press("\r");
			return n === 1;
		};
		const terminal = { person, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
		const model = [noop, noop, text("done"), noop, noop];
		const pi = await inside(t, { ...terminal, model, extensions: [installed, reviews] });
		await pi.run("go");
		await starting(pi, "/review");
		assert.deepEqual([pi.asked.length, pi.model.requests.length], [2, 4]);
		assert.deepEqual(pi.notifications, [], "the transcript shows the stop");
	});

	for (const [what, reply, requests] of [
		["was stopped does not refill the next one", noop, 2],
		["ended by itself refills the next one", text("done"), 1 + 2],
	] as const) {
		test(`that a person enters in a run which ${what}`, async (t) => {
			const keys = new Keys();
			const slow = held(reply);
			const terminal = { person: () => false, ui: keys.ui, mode: "tui", env: { PI_MAX_TURNS: "2" } } as const;
			const model = [slow, noop, noop, noop];
			const pi = await inside(t, { ...terminal, model, extensions: [installed, reviews] });
			const run = pi.run("go");
			await pi.model.arrival(1);
			keys.text = "/review";
			keys.press("\r");
			slow.release();
			await run;
			await starting(pi, "/review");
			assert.equal(pi.model.requests.length, requests);
		});
	}

	test("over rpc is nobody's keys", async (t) => {
		const keys = new Keys();
		await inside(t, { person: () => false, ui: keys.ui });
		assert.equal(keys.listeners.size, 0);
	});

	test("is no longer watched for when the session has ended", async (t) => {
		const keys = new Keys();
		const pi = await inside(t, { person: () => false, ui: keys.ui, mode: "tui" });
		assert.equal(keys.listeners.size, 1);
		await pi.quit();
		assert.equal(keys.listeners.size, 0);
	});
});

describe("/turn-limit advise", () => {
	const env = { PI_MAX_TURNS: "7", PI_TURN_LIMIT_COST: "2" };

	test("prints on the stdout of a script, with the limits in force", async (t) => {
		const followed = new Followed(t);
		const pi = await inside(t, { env });
		await pi.run("/turn-limit advise");
		assert.match(followed.stdout, /^Your prompts\nNone in .*\n$/s);
		assert.equal(followed.stderr, "");
	});

	test("prints one object with --json, in which the limits stand as people write them", async (t) => {
		const followed = new Followed(t);
		const pi = await inside(t, { env, files: sessions() });
		await pi.run("/turn-limit advise --json");
		assert.match(followed.stdout, /^\{.*\}\n$/);
		const advice = JSON.parse(followed.stdout) as {
			whatIf: { meter: string; limit: number; is: string }[];
			prompts: number;
		};
		const present = advice.whatIf.filter(({ is }) => is === "present");
		assert.deepEqual(
			present.map(({ meter, limit }) => [meter, limit]),
			[
				["turns", 7],
				["cost", 2],
			],
		);
		assert.ok(advice.whatIf.every(({ limit }) => limit > 0));
		assert.equal(advice.prompts, 1);
	});

	test("leaves json mode its stdout, and says so", async (t) => {
		const followed = new Followed(t);
		const pi = await inside(t, { mode: "json" });
		await pi.run("/turn-limit advise");
		assert.deepEqual(
			[followed.stdout, followed.stderr],
			["", "pi-turn-limit: advise: not in json mode, where standard output belongs to pi.\n"],
		);
	});

	for (const [how, args, expected] of [
		["over rpc is a notification", "", /^Your prompts\nNone in /],
		["over rpc is a notification with --json too", " --json", /^\{.*\}$/],
	] as const) {
		test(how, async (t) => {
			const followed = new Followed(t);
			const pi = await inside(t, { person: () => false });
			const left = clocks(t);
			await pi.run(`/turn-limit advise${args}`);
			assert.equal(pi.notifications.length, 1);
			assert.equal(left(), 0);
			assert.equal(pi.notifications[0]?.type, "info");
			assert.match(pi.notifications[0].message, expected);
			assert.equal(followed.stdout, "");
		});
	}

	test("names a word that it does not know, as an error", async (t) => {
		const pi = await inside(t, { person: () => false });
		await pi.run("/turn-limit advise --weeks 2");
		assert.equal(pi.notifications[0]?.type, "error");
		assert.match(pi.notifications[0].message, /^advise: expected .*, got "--weeks"\.$/);
	});

	test("says why it cannot read the sessions, as an error", async (t) => {
		const pi = await inside(t, { person: () => false, files: { nothing: "" } });
		await pi.run(`/turn-limit advise --session-dir ${join(pi.folder, "none")}`);
		const [said] = pi.notifications;
		assert.match(said?.message ?? "", /^advise: .*none/);
		assert.equal(said?.type, "error");
	});

	test("says so in one line, whatever stands in the path that it quotes", async (t) => {
		const followed = new Followed(t);
		const directory = "sessions\u001b[2J\npi-turn-limit: completed";
		const pi = await inside(t, { env: { PI_CODING_AGENT_SESSION_DIR: directory }, files: { [directory]: "" } });
		await pi.run("/turn-limit advise");
		assert.match(followed.stderr, /^pi-turn-limit: advise: ENOTDIR: [^\p{Cc}]* pi-turn-limit: completed'\n$/u);
	});

	describe("--apply", () => {
		const files = Object.fromEntries(Object.entries(personsSessions()).slice(0, 20));
		const said = (pi: Inside): string[] => pi.notifications.slice(1).map(({ type, message }) => `${type}: ${message}`);

		const last = (pi: Inside): string => pi.notifications.at(-1)?.message ?? "";

		test("sets what is suggested after one question, for this session", async (t) => {
			const pi = await inside(t, { person: () => true, files, env });
			await pi.run("/turn-limit advise --apply");
			assert.match(pi.notifications[0]?.message ?? "", /\nSuggestion\n/);
			assert.equal(pi.asked.length, 1);
			const [{ title, message } = { title: "", message: "" }] = pi.asked;
			assert.equal(title, "Set these limits for this session?");
			assert.match(message, /^Turn limit: 7 → 15\nCost limit: \$2\.00 → \$\d+\.\d0\nTime limit: unlimited → \S+$/);
			const [turns, cost, time, save] = said(pi)[0]?.split("\n") ?? [];
			assert.equal(turns, "info: Turn limit set to 15.");
			assert.match(cost ?? "", /^Cost limit set to \$/);
			assert.match(time ?? "", /^Time limit set to /);
			assert.equal(save, "/turn-limit save keeps that for every session.");
			assert.match(pi.widgets.at(-1) ?? "", /^Turns: 0\/15 · Cost: /);
			await pi.run("/turn-limit advise --apply");
			assert.equal(pi.asked.length, 1);
			assert.match(last(pi), /\nSuggestion\n(.*\n)*\nNothing to apply: these limits are in force\.$/);
		});

		for (const [what, answer] of [
			["a no", false],
			["an answer that is none", "no"],
		] as const) {
			test(`changes nothing after ${what}`, async (t) => {
				const pi = await inside(t, { person: () => answer as boolean, files, env });
				await pi.run("/turn-limit advise --apply");
				assert.deepEqual(said(pi), ["info: Nothing has changed."]);
				assert.deepEqual([pi.asked.length, pi.widgets], [1, []]);
				assert.deepEqual(pi.entries("turn-limit"), []);
			});
		}

		test("asks nothing where nothing is suggested, and says so below the figures", async (t) => {
			const pi = await inside(t, { person: () => true, env });
			await pi.run("/turn-limit advise --apply");
			assert.match(last(pi), /^Your prompts\nNone in .*\n\nNothing to apply: there is no suggestion\.$/);
			await pi.run("/turn-limit advise");
			assert.match(last(pi), /^Your prompts\nNone in .*$/);
			await pi.run("/turn-limit advise --apply --json");
			assert.equal((JSON.parse(last(pi)) as { suggestion: unknown }).suggestion, null);
			assert.deepEqual([pi.notifications.length, pi.asked], [3, []]);
		});

		test("is refused where nobody is, and in a subagent, before anything is read", async (t) => {
			const nobody = "Not applied: only a person can do that, and only in a session that no agent started.";
			const followed = new Followed(t);
			const script = await inside(t, { files, env });
			await script.run("/turn-limit advise --apply");
			assert.deepEqual([followed.stdout, followed.stderr], ["", `pi-turn-limit: ${nobody}\n`]);
			const member = await inside(t, { person: () => true, files, env });
			await member.run("/turn-limit advise --apply");
			assert.deepEqual(member.notifications, [{ message: nobody, type: "error" }]);
			assert.deepEqual(member.asked, []);
		});

		test("closes its question when the session is left, and sets nothing", async (t) => {
			const person = ({ signal }: { signal: AbortSignal | undefined }): Promise<boolean> =>
				new Promise((answer) => signal?.addEventListener("abort", () => answer(false)));
			const pi = await inside(t, { person, files, env });
			const left = clocks(t);
			const applied = pi.run("/turn-limit advise --apply");
			await pi.until("question", () => pi.asked.length > 0);
			pi.session.dispose();
			await applied;
			assert.deepEqual([said(pi), left()], [[], 0]);
		});
	});

	/** Colours show as the name of the colour. */
	const theme = {
		fg: (colour: string, words: string) => `<${colour}>${words}`,
	} as unknown as ExtensionUIContext["theme"];

	/** Gives how many of the clocks that look after the session were left running. */
	function clocks(t: TestContext): () => number {
		const [set, cleared] = [t.mock.method(globalThis, "setInterval"), t.mock.method(globalThis, "clearInterval")];
		const isLeft = (clock: unknown): boolean => !cleared.mock.calls.some(({ arguments: [gone] }) => gone === clock);
		return () => set.mock.calls.filter(({ arguments: [, ms], result }) => ms === 250 && isLeft(result)).length;
	}

	test("in the terminal is painted and as wide as the screen, and its progress is shown and goes", async (t) => {
		const progress: unknown[] = [];
		const setStatus = (...shown: unknown[]): void => void progress.push(shown);
		const keys = new Keys();
		const ui = { ...keys.ui, theme, setStatus };
		const files = Object.fromEntries(Object.entries(personsSessions()).slice(0, 20));
		const pi = await inside(t, { person: () => false, ui, mode: "tui", env, files });
		const left = clocks(t);
		const columns = Object.getOwnPropertyDescriptor(process.stdout, "columns") ?? { configurable: true };
		t.after(() => Object.defineProperty(process.stdout, "columns", columns));
		for (const [width, shown] of [
			[80, /^<accent>7 turns \(now\) .*\n(.*\n)*<success>15 turns \(suggested\) /m],
			[79, /^<accent>7 turns\* .*\n(.*\n)*<success>15 turns\+ /m],
		] as const) {
			Object.defineProperty(process.stdout, "columns", { value: width, configurable: true });
			await pi.run("/turn-limit advise");
			const message = pi.notifications.at(-1)?.message ?? "";
			assert.match(message, shown);
			for (const part of [/^<accent>Your prompts$/m, /^<dim>limit /m, / 6–10 <muted>█/, / 11–15 <warning>█/])
				assert.match(message, part);
		}
		assert.deepEqual(progress[0], ["turn-limit", "Reading sessions: 0 of 20. Escape stops it."]);
		assert.deepEqual(progress.at(-1), ["turn-limit", undefined]);
		assert.equal(keys.listeners.size, 1, "only the one for slash commands");
		assert.equal(left(), 0);
	});

	test("tells its progress in whole percents, and goes on while the session is there", async (t) => {
		t.mock.timers.enable({ apis: ["setInterval"] });
		t.after(() => t.mock.timers.reset());
		const keys = new Keys();
		const progress: (string | undefined)[] = [];
		const setStatus = (_key: string, words: string | undefined): void => {
			progress.push(words);
			keys.press("\x1b");
			t.mock.timers.tick(250);
		};
		const pi = await inside(t, { person: () => false, ui: { ...keys.ui, setStatus }, files: sessions(150) });
		await pi.run("/turn-limit advise");
		assert.equal(progress.length, 102);
		assert.deepEqual(
			progress.slice(0, 3),
			[0, 2, 3].map((n) => `Reading sessions: ${n} of 150.`),
		);
		assert.deepEqual(progress.slice(-2), ["Reading sessions: 150 of 150.", undefined]);
		assert.match(pi.notifications[0]?.message ?? "", /^Your prompts/);
	});

	test("ends without a word when the session is left", async (t) => {
		t.mock.timers.enable({ apis: ["setInterval"] });
		t.after(() => t.mock.timers.reset());
		const progress: unknown[] = [];
		const stop = t.mock.method(AbortController.prototype, "abort");
		let stops = 0;
		const setStatus = (_key: string, words: string | undefined): void => {
			if (progress.push(words) > 1) return;
			pi.session.dispose();
			stop.mock.resetCalls();
			t.mock.timers.tick(250);
			stops = stop.mock.callCount();
		};
		const pi: Inside = await inside(t, { person: () => false, ui: { setStatus }, files: sessions(2) });
		await pi.run("/turn-limit advise");
		assert.deepEqual([progress, stops], [["Reading sessions: 0 of 2."], 1]);
		assert.deepEqual([pi.notifications, pi.errors], [[], []]);
	});

	for (const thrown of [new Error("broken"), "broken"]) {
		test(`says why it has failed with ${typeof thrown}`, async (t) => {
			const setStatus = (_key: string, words: string | undefined): void => {
				// eslint-disable-next-line @typescript-eslint/only-throw-error -- a client's code may do it
				if (words !== undefined) throw thrown;
			};
			const pi = await inside(t, { person: () => false, ui: { setStatus }, files: sessions() });
			await pi.run("/turn-limit advise");
			assert.deepEqual(pi.notifications, [{ message: "advise: broken", type: "error" }]);
		});
	}

	test("in the terminal stops at Escape, which it keeps to itself, and at no other key", async (t) => {
		const keys = new Keys();
		const progress: (string | undefined)[] = [];
		const kept: unknown[] = [];
		const setStatus = (_key: string, words: string | undefined): void => {
			if (progress.push(words) === 1) for (const key of ["x", "\x1b"]) kept.push(keys.press(key).at(-1));
		};
		const pi = await inside(t, {
			person: () => false,
			ui: { ...keys.ui, theme, setStatus },
			mode: "tui",
			files: sessions(30),
		});
		await pi.run("/turn-limit advise");
		assert.deepEqual(kept, [undefined, { consume: true }]);
		assert.deepEqual(pi.notifications, [{ message: "advise: stopped.", type: "info" }]);
		assert.match(progress[0] ?? "", /^Reading sessions: 0 of 30\. Escape stops it\.$/);
	});

	test("in the terminal leaves Escape to a question that is open", async (t) => {
		const keys = new Keys();
		const results: unknown[] = [];
		const setStatus = (): void => void results.push(...keys.press("\x1b"));
		const pi: Inside = await inside(t, {
			person: async () => {
				await pi.run("/turn-limit advise");
				return false;
			},
			...{ ui: { ...keys.ui, theme, setStatus }, mode: "tui", model: endless(noop) },
			...{ env: { PI_MAX_TURNS: "1" }, files: sessions() },
		});
		await pi.run("go");
		assert.ok(results.length > 0 && results.every((result) => result === undefined));
		assert.match(pi.notifications[0]?.message ?? "", /Your prompts/);
	});

	test("keeps the blanks in a quoted path, and ignores those around its words", async (t) => {
		const followed = new Followed(t);
		const files = Object.entries(sessions()).map(([name, lines]) => [name.replace("project", "a  b"), lines]);
		const pi = await inside(t, { files: Object.fromEntries(files) as Record<string, string> });
		const folder = join(pi.folder, "sessions/a  b");
		await pi.run(`/turn-limit   advise   --json  --session-dir "${folder}" `);
		assert.equal((JSON.parse(followed.stdout) as { prompts: number }).prompts, 1);
	});

	let copies = 0;

	test("loads what it reads with once, also where two begin together", async () => {
		const copy = `../../src/hosts/pi/command/advise.ts?${++copies}`;
		const { executeAdvise } = (await import(copy)) as typeof advice;
		const said: string[] = [];
		const session = { notices: { say: (words: string) => said.push(words) } };
		const begin = () => executeAdvise(session as never, "--days soon", {} as never);
		await Promise.all([begin(), begin()]);
		assert.deepEqual(said, Array(2).fill('--days: expected a number above 0, got "soon".'));
	});

	/** Session files of a sandbox, each with a prompt and its answer. */
	function sessions(n = 1): Record<string, string> {
		const message = (id: string, parentId: string | null, message: object): object => ({
			...{ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", message },
		});
		const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0.5 } };
		return Object.fromEntries(
			Array.from({ length: n }, (_, i) => {
				const lines = [
					{ type: "session", version: 3, id: `s${i}`, timestamp: "2026-01-01T00:00:00.000Z", cwd: "/project" },
					message(`a${i}`, null, { role: "user", content: [{ type: "text", text: `prompt ${i}` }], timestamp: i }),
					message(`b${i}`, `a${i}`, {
						...{
							role: "assistant",
							content: [{ type: "text", text: "done" }],
							stopReason: "stop",
							usage,
							timestamp: i,
						},
						...{ api: "x", provider: "x", model: "x" },
					}),
				];
				return [`sessions/project/${i}.jsonl`, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`];
			}),
		);
	}
});
