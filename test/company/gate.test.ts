import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	endless,
	held,
	host,
	type Host,
	mark,
	outcomes,
	reloader,
	type Reply,
	type Request,
	root,
	type Rpc,
	spy,
	text,
} from "../harness/index.ts";
import { settles, sleeper, wake } from "./extensions.ts";
import { embedded, documentedProgram, runProgram } from "./program.ts";
import { forge, stored } from "./sessions.ts";

/** Without the wrap-up, which nobody asks about here. */
const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n), PI_TURN_LIMIT_GRACE: "0" });

/** A model that works on a prompt for 40 turns, so that a run which no limit stops ends all the same. */
const long = (request: Request): Reply => (request.texts("tool").length < 40 ? mark() : text("done"));

const asked = (rpc: Rpc): string[] => rpc.questions.map(({ message }) => message?.split("\n")[0] ?? "");
const ended = (pi: Host): unknown[] => outcomes(pi).map(({ kind, turns }) => [kind, turns]);

describe("an extension says continue whenever a response has failed", () => {
	/** At most 20 times, so that a test that fails ends. */
	function persists(pi: ExtensionAPI): void {
		let left = 20;
		pi.on("agent_end", ({ messages }) => {
			const last = messages.at(-1);
			const isFailed = last?.role === "assistant" && last.stopReason === "error";
			if (isFailed && left-- > 0) pi.sendUserMessage("continue", { deliverAs: "followUp" });
		});
	}

	const failures: [how: string, reply: Reply, requestsPerTurn: number][] = [
		["a content filter stops every response", { ...text("I"), stop: "content_filter" }, 1],
		["every response breaks off, and once more when pi repeats it", { ...text("half"), cut: true }, 2],
	];

	for (const [how, reply, requestsPerTurn] of failures) {
		const beside = { after: [persists, spy], settings: { retry: { maxRetries: 1 } } };
		const options = { model: endless(reply), env: limit(3), ...beside };

		test(`${how}: a script gets 3 turns`, async (t) => {
			const pi = await host(t, options);
			const { code } = await pi.print("go");
			assert.equal(pi.model.requests.length, 3 * requestsPerTurn);
			assert.deepEqual(ended(pi), [["exhausted", 3]]);
			assert.equal(code, 53);
		});

		test(`${how}: a person is asked after 3 turns`, async (t) => {
			const pi = await host(t, options);
			const rpc = await pi.rpc({ answer: "no" });
			await rpc.run("go");
			assert.equal(pi.model.requests.length, 3 * requestsPerTurn);
			assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
			assert.deepEqual(ended(pi), [["declined", 3]]);
		});
	}
});

describe("a program that embeds pi", () => {
	/** The prompts that the requests belong to, with how many there were of each. */
	function spent({ model }: Host): Record<string, number> {
		const prompts = model.turns.map((request) => request.texts("user").at(-1) ?? "");
		return Object.fromEntries([...new Set(prompts)].map((name) => [name, prompts.filter((p) => p === name).length]));
	}

	test("two sessions whose loaders share an event bus have 3 turns each", async (t) => {
		const pi = await host(t, { model: long });
		const endings = await embedded(pi, async ({ sdk, turnLimit, loader, open, ending }) => {
			const bus = sdk.createEventBus();
			const guarded = async () => {
				const limit = turnLimit({ turns: 3, grace: 0 });
				const resources = loader([limit], bus);
				await resources.reload();
				return { limit, session: await open(resources) };
			};
			const [first, second] = [await guarded(), await guarded()];
			return await Promise.all([
				ending(first.limit.prompt(first.session, "first")),
				ending(second.limit.prompt(second.session, "second")),
			]);
		});
		assert.deepEqual(spent(pi), { first: 3, second: 3 });
		assert.deepEqual(endings, [
			["exhausted", 3],
			["exhausted", 3],
		]);
	});

	test("a loader that has loaded twice before there is a session guards it", async (t) => {
		const pi = await host(t, { model: long });
		const ending = await embedded(pi, async ({ turnLimit, loader, open, ending }) => {
			const limit = turnLimit({ turns: 3, grace: 0 });
			const resources = loader([limit]);
			await resources.reload();
			await resources.reload();
			return await ending(limit.prompt(await open(resources), "go"));
		});
		assert.deepEqual(spent(pi), { go: 3 });
		assert.deepEqual(ending, ["exhausted", 3]);
	});

	test("a loader that loads again for a second session guards both", async (t) => {
		const pi = await host(t, { model: long });
		const kinds = await embedded(pi, async ({ turnLimit, loader, open }) => {
			const kinds: string[] = [];
			const resources = loader([turnLimit({ turns: 3, grace: 0, onOutcome: ({ kind }) => void kinds.push(kind) })]);
			await resources.reload();
			const first = await open(resources);
			await first.prompt("first");
			await resources.reload();
			await (await open(resources)).prompt("second");
			await first.prompt("third");
			return kinds;
		});
		assert.deepEqual(spent(pi), { first: 3, second: 3, third: 3 });
		assert.deepEqual(kinds, ["exhausted", "exhausted", "exhausted"]);
	});

	test("a prompt to a session that the limit does not guard is refused before anything leaves", async (t) => {
		const pi = await host(t, { model: long });
		const [name] = await embedded(pi, async ({ turnLimit, loader, open, ending }) => {
			const resources = loader([]);
			await resources.reload();
			return await ending(turnLimit({ turns: 3 }).prompt(await open(resources), "go"));
		});
		assert.equal(name, "Error");
		assert.deepEqual(spent(pi), {});
	});

	for (const [where, env] of [
		["", {}],
		[" and told of a limit by the environment", { PI_MAX_TURNS: "5" }],
	] as const) {
		test(`the program in docs/embedding.md keeps its own limit where the extension is installed too${where}`, async (t) => {
			const pi = await host(t, { model: long, settings: { packages: [root] }, env });
			const { stdout, stderr, code } = await runProgram(pi, documentedProgram());
			assert.equal(pi.model.requests.length, 10);
			assert.match(stdout, /kind: 'exhausted'/);
			assert.match(stdout, /^Stopped: pi-turn-limit: stopped at the limit of 10 turns \(option\)/m);
			assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
		});
	}
});

describe("a message that arrives while a prompt is still starting", () => {
	/** The second prompt waits for an answer. */
	function slow(pi: ExtensionAPI): void {
		let prompts = 0;
		pi.on("before_agent_start", async (_event, ctx) => {
			if (++prompts === 2) await ctx.ui.confirm("Still starting", "");
		});
	}

	/** The third turn fills the window, so that pi compacts before the next prompt. */
	function crowded() {
		const summary = held(text("A summary."));
		const model = (_request: Request, n: number): Reply => (n === 3 ? { ...mark(), usage: { prompt: 9_000 } } : mark());
		const settings = { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } };
		return { summary, model, settings, modelFields: { contextWindow: 10_000 }, env: limit(3) };
	}

	test("leaves the prompt its 3 turns: another extension is slow", async (t) => {
		const pi = await host(t, { model: endless(), env: limit(3), before: [slow] });
		const rpc = await pi.rpc({ answer: ({ title }) => (title === "Still starting" ? undefined : false) });
		await rpc.run("go");
		await rpc.question();
		const accepted = rpc.prompt("again");
		const starting = await rpc.question();
		await rpc.steer("look left");
		starting.yes();
		await accepted;
		await rpc.settled();
		assert.equal(pi.model.turns.length, 3 + 3);
	});

	/** `/nudge` steers where pi counts a prompt that is starting as a run (1.x); elsewhere it would start one of its own. */
	function nudges(pi: ExtensionAPI): void {
		pi.registerCommand("nudge", {
			handler: (_args, ctx) => {
				if (!ctx.isIdle()) pi.sendUserMessage("look left", { deliverAs: "steer" });
				return Promise.resolve();
			},
		});
	}

	test("leaves the prompt its 3 turns: an extension steers, and another one is slow", async (t) => {
		const pi = await host(t, { model: endless(), env: limit(3), before: [slow, nudges] });
		const rpc = await pi.rpc({ answer: ({ title }) => (title === "Still starting" ? undefined : false) });
		await rpc.run("go");
		await rpc.question();
		const accepted = rpc.prompt("again");
		const starting = await rpc.question();
		await rpc.prompt("/nudge");
		starting.yes();
		await accepted;
		await rpc.settled();
		assert.equal(pi.model.turns.length, 3 + 3);
	});

	test("leaves the prompt its 3 turns: pi compacts first", async (t) => {
		const options = crowded();
		const pi = await host(t, options);
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		const accepted = rpc.prompt("again");
		await pi.model.arrival(1, "summaries");
		await rpc.steer("look left");
		options.summary.release();
		await accepted;
		await rpc.settled();
		assert.equal(pi.model.turns.length, 3 + 3);
	});

	test("leaves the prompt its 3 turns: pi compacts first, and a person types in the terminal", async (t) => {
		const options = crowded();
		const pi = await host(t, { ...options, after: [settles] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("You've used 3 turns. Continue?");
		tui.press("escape");
		await tui.shows("settled 1");
		tui.type("again\r");
		await pi.model.arrival(1, "summaries");
		tui.type("look left\r");
		await tui.shows("Steering: look left");
		options.summary.release();
		await tui.shows("You've used 3 turns. Continue?");
		assert.equal(pi.model.turns.length, 3 + 3);
	});
});

describe("a slash command of another extension that starts a run, in the terminal", () => {
	function reviews(pi: ExtensionAPI): void {
		const message = { customType: "review", content: "review it", display: true };
		const later = (starts: () => void) => () => Promise.resolve(starts());
		pi.registerCommand("review", { handler: later(() => pi.sendUserMessage("review it")) });
		pi.registerCommand("remind", { handler: later(() => pi.sendMessage(message, { triggerTurn: true })) });
		pi.registerCommand("inspect", {
			handler: async (_args, ctx) => {
				if (await ctx.ui.confirm("Inspect everything?", "")) pi.sendUserMessage("review it");
			},
		});
	}

	/** A terminal after a prompt that has used 2 of 3 turns and ended by itself. Of the later turns these end a run. */
	async function afterTwo(t: TestContext, ...last: number[]) {
		const model = (_request: Request, n: number): Reply => ([2, ...last].includes(n) ? text("done") : mark());
		const pi = await host(t, { model, env: limit(3), after: [reviews, sleeper, settles] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("settled 1");
		return { pi, tui };
	}

	test("it has 3 turns after a stop", async (t) => {
		const pi = await host(t, { model: endless(), env: limit(3), after: [reviews, settles] });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("You've used 3 turns. Continue?");
		tui.press("escape");
		await tui.shows("settled 1");
		tui.type("/review\r");
		await tui.shows("You've used 3 turns. Continue?");
		assert.equal(pi.model.requests.length, 3 + 3);
	});

	for (const command of ["/review", "/review src", "/remind"]) {
		test(`${command} has 3 turns after a run that used 2`, async (t) => {
			const { pi, tui } = await afterTwo(t);
			tui.type(`${command}\r`);
			await tui.shows("You've used 3 turns. Continue?");
			assert.equal(pi.model.requests.length, 2 + 3);
		});
	}

	test("it has 3 turns when the command has asked something first", async (t) => {
		const { pi, tui } = await afterTwo(t);
		tui.type("/inspect\r");
		await tui.shows("Inspect everything?");
		tui.press("enter");
		await tui.shows("You've used 3 turns. Continue?");
		assert.equal(pi.model.requests.length, 2 + 3);
	});

	test("it refills for that run only: the next one that starts by itself counts on", async (t) => {
		const { pi, tui } = await afterTwo(t, 4);
		tui.type("/review\r");
		await tui.shows(/settled 2|Continue\?/);
		assert.equal(pi.model.requests.length, 2 + 2);
		wake(pi);
		await tui.shows("You've used 3 turns. Continue?");
		assert.equal(pi.model.requests.length, 2 + 2 + 1);
	});

	for (const [typed, shown] of [
		["have a look at", "have a look at"],
		["/review", "/review"],
		["/turn-limit\r", "2 of 3 "],
	] as const) {
		test(`a run that an extension starts by itself after ${JSON.stringify(typed)} was typed counts on`, async (t) => {
			const { pi, tui } = await afterTwo(t);
			tui.type(typed);
			await tui.shows(shown);
			wake(pi);
			await tui.shows("You've used 3 turns. Continue?");
			assert.equal(pi.model.requests.length, 2 + 1);
		});
	}
});

describe("a limit that an earlier process has left in the session file", () => {
	/** Works on "go" only. */
	const model = (request: Request): Reply => (request.texts("user").at(-1) === "go" ? long(request) : text("hello"));

	/** A sandbox that keeps its sessions. */
	const keeping = (t: TestContext, env: Record<string, string> = {}): Promise<Host> =>
		host(t, { model, session: true, env: { PI_TURN_LIMIT_GRACE: "0", ...env } });

	/** A person sets a limit by command, and leaves. */
	async function forgotten(pi: Host, command: string): Promise<void> {
		const rpc = await pi.rpc();
		await rpc.run("hi");
		await rpc.prompt(command);
		await rpc.close();
	}

	/** Another session, into whose file a process that the model's bash has left behind copies such a command. */
	async function forged(pi: Host, command: string): Promise<void> {
		await forgotten(pi, command);
		const copied = stored(pi, "turn-limit").at(-1);
		assert.ok(copied);
		await pi.print("hi");
		forge(pi, "turn-limit", copied);
	}

	for (const leave of [forged, forgotten]) {
		describe(`a ${leave.name} /turn-limit unlimited`, () => {
			const flag = ["--turn-limit", "3"];
			// The other places stand in test/sessions/session-settings.test.ts and test/sessions/places.test.ts.
			for (const [name, flags, turns] of [
				["--turn-limit 3", flag, 3],
				["the default", [], 25],
			] as const) {
				test(`leaves a script the ${turns} turns of ${name}`, async (t) => {
					const pi = await keeping(t);
					await leave(pi, "/turn-limit unlimited");
					const { stderr, code } = await pi.print("--continue", ...flags, "go");
					assert.equal(pi.marks().length, turns);
					assert.match(stderr, new RegExp(`^pi-turn-limit: stopped at the limit of ${turns} turns `, "m"));
					assert.equal(code, 53);
				});
			}

			test("leaves a person who says --turn-limit 3 the question after 3 turns", async (t) => {
				const pi = await keeping(t);
				await leave(pi, "/turn-limit unlimited");
				const rpc = await pi.rpc({ args: ["--continue", ...flag], answer: "no" });
				await rpc.run("go");
				assert.equal(pi.marks().length, 3);
				assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
			});

			// What has been forged is the same for whoever reads it.
			if (leave === forged) return;

			test("holds with a person, also against the environment, and is announced before the first prompt", async (t) => {
				const pi = await keeping(t, { PI_MAX_TURNS: "3" });
				await leave(pi, "/turn-limit unlimited");
				const rpc = await pi.rpc({ args: ["--continue"], answer: "no" });
				assert.equal(rpc.notifications.filter(({ message }) => message.includes("unlimited")).length, 1);
				await rpc.run("go");
				assert.equal(pi.marks().length, 40);
				assert.deepEqual(rpc.questions, []);
			});

			test("is announced in the terminal", async (t) => {
				const pi = await keeping(t);
				await leave(pi, "/turn-limit unlimited");
				const tui = await pi.terminal({ args: ["--continue"] });
				tui.type("hi again");
				const screen = await tui.shows("hi again");
				assert.match(screen, /unlimited/);
			});

			test("leaves a person in the terminal who says --turn-limit 3 the question after 3 turns", async (t) => {
				const pi = await keeping(t);
				await leave(pi, "/turn-limit unlimited");
				const tui = await pi.terminal({ args: ["--continue", ...flag] });
				tui.type("go\r");
				await tui.shows(/You've used 3 turns\. Continue\?|done/);
				assert.equal(pi.marks().length, 3);
			});
		});
	}

	test("a forgotten /turn-limit tools unlimited leaves a script its 3 tool calls", async (t) => {
		const pi = await keeping(t);
		await forgotten(pi, "/turn-limit tools unlimited");
		const { code } = await pi.print("--continue", "--turn-limit-tools", "3", "go");
		assert.equal(pi.marks().length, 3);
		assert.equal(code, 53);
	});

	test("a lower one holds in a script, also against a flag", async (t) => {
		const pi = await keeping(t);
		await forgotten(pi, "/turn-limit 2");
		const { code } = await pi.print("--continue", "--turn-limit", "3", "go");
		assert.equal(pi.marks().length, 2);
		assert.equal(code, 53);
	});

	test("a lower one holds with a person, who need not be told", async (t) => {
		const pi = await keeping(t);
		await forgotten(pi, "/turn-limit 2");
		const rpc = await pi.rpc({ args: ["--continue"], answer: "no" });
		assert.deepEqual(rpc.notifications, []);
		await rpc.run("go");
		assert.deepEqual(asked(rpc), ["You've used 2 turns. Continue?"]);
	});

	test("a lower one does not hold for a person who says --turn-limit 3", async (t) => {
		const pi = await keeping(t);
		await forgotten(pi, "/turn-limit 2");
		const rpc = await pi.rpc({ args: ["--continue", "--turn-limit", "3"], answer: "no" });
		await rpc.run("go");
		assert.deepEqual(asked(rpc), ["You've used 3 turns. Continue?"]);
	});
});

describe("a limit that a command of this process sets", () => {
	const flags = ["--turn-limit", "3"];

	test("holds against the flag, up and down, also after a reload", async (t) => {
		const pi = await host(t, { model: endless(), env: { PI_TURN_LIMIT_GRACE: "0" }, after: [reloader] });
		const rpc = await pi.rpc({ args: flags, answer: "no" });
		for (const n of [5, 2]) {
			await rpc.prompt(`/turn-limit ${n}`);
			await rpc.run("go");
			await rpc.prompt("/reload-now");
			await rpc.run("go");
		}
		assert.deepEqual(
			asked(rpc),
			[5, 5, 2, 2].map((n) => `You've used ${n} turns. Continue?`),
		);
		assert.equal(pi.model.requests.length, 5 + 5 + 2 + 2);
	});

	test("holds against the flag in a script", async (t) => {
		const pi = await host(t, { model: endless(), env: { PI_TURN_LIMIT_GRACE: "0" } });
		await pi.print(...flags, "/turn-limit 5", "go");
		assert.equal(pi.model.requests.length, 5);
	});

	/** Stores, under our name, the last thing that we have stored. */
	function copies(pi: ExtensionAPI): void {
		pi.registerCommand("copy", {
			handler: (_args, ctx) => {
				const ours = ctx.sessionManager.getEntries().filter((entry) => entry.type === "custom");
				const first = ours.find(({ customType }) => customType === "turn-limit");
				return Promise.resolve(pi.appendEntry("turn-limit", first?.data));
			},
		});
	}

	test("is known from memory: what stands in the session is not taken for it after a reload", async (t) => {
		const pi = await host(t, { model: long, env: { PI_TURN_LIMIT_GRACE: "0" }, after: [reloader, copies] });
		const rpc = await pi.rpc({ args: flags, answer: "no" });
		await rpc.prompt("/turn-limit unlimited");
		await rpc.prompt("/turn-limit 4");
		await rpc.prompt("/copy");
		await rpc.prompt("/reload-now");
		await rpc.run("go");
		assert.deepEqual(asked(rpc), ["You've used 4 turns. Continue?"]);
	});
});
