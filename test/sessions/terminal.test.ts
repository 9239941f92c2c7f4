/** What the extension does with a terminal: slash commands that a person enters, and advice. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import installed from "../../src/pi/extension.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, held, text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

/** `/review` starts a run, as extensions' commands do. */
function reviews(pi: ExtensionAPI): void {
	const handler = () => Promise.resolve(pi.sendUserMessage("review it"));
	pi.registerCommand("review", { handler });
	pi.registerCommand("turn-limits", { handler });
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

	for (const typed of ["/review the tests", "  /review", "/review\nall of it"]) {
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
	] as const) {
		test(`does not refill after ${what}`, async (t) => {
			assert.equal(await after(t, typed, key), 0);
		});
	}

	test("that begins like ours is another one's", async (t) => {
		assert.equal(await after(t, "/turn-limits", "\r"), 2);
	});

	test("of a prompt template or a skill is pi's own, and no extension's", async (t) => {
		const template = (pi: ExtensionAPI): void => {
			installed(
				Object.assign(Object.create(pi) as ExtensionAPI, { getCommands: () => [{ name: "review", source: "prompt" }] }),
			);
		};
		assert.equal(await after(t, "/review", "\r", { extensions: [template, reviews] }), 0);
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
			await pi.run(`/turn-limit advise${args}`);
			assert.equal(pi.notifications.length, 1);
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

	/** Colours show as the name of the colour. */
	const theme = {
		fg: (colour: string, words: string) => `<${colour}>${words}`,
	} as unknown as ExtensionUIContext["theme"];

	test("in the terminal is painted and as wide as the screen, and its progress is shown and goes", async (t) => {
		const progress: (string | undefined)[] = [];
		const setStatus = (_key: string, words: string | undefined): void => void progress.push(words);
		const keys = new Keys();
		const ui = { ...keys.ui, theme, setStatus };
		const pi = await inside(t, { person: () => false, ui, mode: "tui", env, files: sessions() });
		await pi.run("/turn-limit advise");
		const message = pi.notifications[0]?.message ?? "";
		assert.match(message, /<accent>Your prompts/);
		for (const colour of ["accent", "muted", "dim"]) assert.ok(message.includes(`<${colour}>`), colour);
		assert.equal(progress.at(-1), undefined);
		assert.equal(keys.listeners.size, 1, "only the one for slash commands");
	});

	test("in the terminal stops at Escape, which it keeps to itself, and at no other key", async (t) => {
		const keys = new Keys();
		const progress: (string | undefined)[] = [];
		const setStatus = (_key: string, words: string | undefined): void => {
			progress.push(words);
			assert.ok(keys.press("x").every((result) => result === undefined));
			const results = keys.press("\x1b");
			assert.deepEqual(results.at(-1), { consume: true });
		};
		const pi = await inside(t, {
			person: () => false,
			ui: { ...keys.ui, theme, setStatus },
			mode: "tui",
			files: sessions(30),
		});
		await pi.run("/turn-limit advise");
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
