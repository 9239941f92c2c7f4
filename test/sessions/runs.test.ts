/** Runs of a session in this process: what reaches the model, what is counted, how it ends. */
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { CacheWarmingDecisionEvent, ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { finalPass, NOT_RUN, wrapUp as wrapUpText } from "../../src/core/to-model.ts";
import { type Outcome, turnLimit, type TurnLimitOptions } from "../../src/index.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { calls, endless, fail, held, overflow, type Reply, text, thinks, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

/** Asks for so many calls at once. */
const batch = (n: number): Reply => calls(...Array.from({ length: n }, () => ({ name: "noop", args: {} })));

/** A session with the limits of a program, which no setting disturbs. */
async function guarded(t: TestContext, limits: TurnLimitOptions, options: InsideOptions = {}) {
	const outcomes: Outcome[] = [];
	let hear = (): void => {};
	const heard = new Promise<void>((resolve) => (hear = resolve));
	const onOutcome = (outcome: Outcome): void => {
		outcomes.push(outcome);
		hear();
	};
	const limit = turnLimit({ grace: 0, ...limits, onOutcome });
	const { extensions = [], ...others } = options;
	const pi = await inside(t, { model: endless(noop), isPi: false, ...others, extensions: [limit, ...extensions] });
	return { pi, limit, outcomes, heard, kinds: () => outcomes.map(({ kind }) => kind) };
}

/** How often a text stands in each request of a turn. */
const seen = ({ model }: Inside, words: string): number[] => model.turns.map((request) => request.count(words));

/** How many messages of extensions in the transcript have a text. */
function stored({ session }: Inside, words: string): number {
	const messages = session.messages.filter(({ role }) => role === "custom");
	return messages.filter((message) => JSON.stringify(message).includes(words)).length;
}

const wrapUp = (remaining: number): string => wrapUpText("turns", remaining);
const demand = finalPass({ meter: "turns", limit: 0 });

/** A window so small that a `full` reply brings about a compaction. */
const small = {
	modelFields: { contextWindow: 10_000 },
	settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
};
const full: Reply = { ...noop, usage: { prompt: 9_000 } };

/** Starts a run, as extensions do, by a prompt and by a message; and answers `ping` itself. */
function starts(pi: ExtensionAPI): void {
	const message = { customType: "peer", content: "go on", display: true };
	pi.registerCommand("by-prompt", { handler: () => Promise.resolve(pi.sendUserMessage("go on")) });
	pi.registerCommand("by-message", {
		handler: () => Promise.resolve(pi.sendMessage(message, { triggerTurn: true })),
	});
	pi.on("input", ({ text }) => (text === "ping" ? { action: "handled" } : undefined));
}

/** Runs a command that starts a run, and waits for its end. */
async function starting(pi: Inside, command: string): Promise<void> {
	const settled = (): number => pi.events.filter(({ type }) => type === "agent_settled").length;
	const before = settled();
	await pi.run(command);
	await pi.until("the end of the run", () => settled() > before);
}

describe("who refills", () => {
	test("a person's next prompt does", async (t) => {
		const { pi, kinds } = await guarded(t, { turns: 2 });
		await pi.run("go");
		await pi.run("again");
		assert.equal(pi.model.requests.length, 4);
		assert.deepEqual(kinds(), ["exhausted", "exhausted"]);
	});

	for (const command of ["/by-prompt", "/by-message"]) {
		test(`the run that an extension starts with ${command} does not`, async (t) => {
			const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts] });
			await pi.run("go");
			await starting(pi, command);
			assert.equal(pi.model.requests.length, 2);
		});

		test(`the run that an extension starts with ${command} does not after words that it has answered`, async (t) => {
			const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts], model: [noop, text("done"), noop] });
			await pi.run("go");
			await pi.session.prompt("ping");
			await starting(pi, command);
			assert.equal(pi.model.requests.length, 2);
		});

		test(`a person's prompt after ${command} does`, async (t) => {
			const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts] });
			await pi.run("go");
			await starting(pi, command);
			await pi.run("again");
			assert.equal(pi.model.requests.length, 4);
		});
	}

	test("a prompt after words that an extension has answered does", async (t) => {
		const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts] });
		await pi.run("go");
		await pi.session.prompt("ping");
		await pi.run("again");
		assert.equal(pi.model.requests.length, 4);
	});

	for (const streamingBehavior of ["steer", "followUp"] as const) {
		test(`a message that enters a run (${streamingBehavior}) does not`, async (t) => {
			const slow = held(noop);
			const { pi } = await guarded(t, { turns: 3 }, { model: [noop, slow, ...times(5, noop)] });
			const run = pi.run("go");
			await pi.model.arrival(2);
			await pi.session.prompt("look left", { streamingBehavior });
			slow.release();
			await run;
			assert.equal(pi.model.requests.length, 3);
		});
	}

	/** Rewords what comes from this source. */
	function rewords(of: string) {
		return (pi: ExtensionAPI): void => {
			pi.on("input", ({ source, text }) => (source === of ? { action: "transform", text: `${text}!` } : undefined));
		};
	}

	test("the run that an extension starts with other words than it sent does not after words that it has answered", async (t) => {
		const model = [noop, text("done"), ...times(5, noop)];
		const { pi } = await guarded(t, { turns: 3 }, { model, extensions: [starts, rewords("extension")] });
		await pi.run("go");
		await pi.session.prompt("ping");
		await starting(pi, "/by-prompt");
		assert.equal(pi.model.requests.length, 3);
	});

	test("a person's prompt does though an extension sends words before its run begins", async (t) => {
		const interjects = (pi: ExtensionAPI): void => {
			pi.on("input", async ({ source }) => {
				if (source === "interactive") await host.pi.session.extensionRunner.emitInput("x", undefined, "extension");
			});
		};
		const host = await guarded(t, { turns: 2 }, { extensions: [interjects] });
		await host.pi.run("go");
		await host.pi.run("again");
		assert.equal(host.pi.model.requests.length, 4);
	});

	test("a person's prompt with other words than were typed does, also after words of an extension that started no run", async (t) => {
		const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts, rewords("interactive")] });
		await pi.run("go");
		await pi.session.sendUserMessage("ping");
		await pi.run("again");
		assert.equal(pi.model.requests.length, 4);
	});

	test("a message to start turns that another extension marks as custom does not, as on newer hosts", async (t) => {
		const { pi, limit } = await guarded(t, { turns: 3 }, { model: [noop, text("done"), noop] });
		await pi.run("go");
		const { extensionRunner } = pi.session;
		await extensionRunner.emit({ type: "input", text: "x", source: "interactive" } as never);
		await extensionRunner.emit({ type: "before_agent_start", messageType: "custom" } as never);
		await pi.session.sendCustomMessage({ customType: "x", content: "x", display: true }, { triggerTurn: true });
		assert.equal(limit.snapshot().turns.used, 3);
	});
});

describe("the wrap-up", () => {
	test("reaches the model with the request that it is due for, once, and stands in the transcript", async (t) => {
		const { pi, kinds } = await guarded(t, { turns: 4, grace: 2 });
		await pi.run("go");
		assert.deepEqual(seen(pi, wrapUp(2)), [0, 0, 1, 1]);
		assert.equal(pi.model.turns[2]?.last, wrapUp(2));
		const ours = pi.session.messages.filter((message) => message.role === "custom");
		assert.deepEqual(
			ours.map(({ customType, content, display }) => ({ customType, content, display })),
			[{ customType: "turn-limit", content: wrapUp(2), display: true }],
		);
		assert.deepEqual(kinds(), ["exhausted"]);
	});

	test("leaves entries of other extensions in the transcript", async (t) => {
		const leaves = (pi: ExtensionAPI): void => {
			pi.on("turn_end", ({ entries }) => ({
				entries: [...entries, { type: "custom_message", customType: "peer", content: "I was here.", display: true }],
			}));
		};
		const limit = turnLimit({ turns: 3, grace: 2 });
		const pi = await inside(t, { model: endless(noop), isPi: false, extensions: [leaves, limit] });
		await pi.run("go");
		assert.deepEqual(seen(pi, wrapUp(2)), [0, 1, 1]);
		assert.deepEqual(seen(pi, "I was here."), [0, 1, 2]);
	});

	test("does not come where the model ends by itself on the turn before", async (t) => {
		const { pi, kinds } = await guarded(t, { turns: 3, grace: 2 }, { model: [text("done")] });
		await pi.run("go");
		assert.deepEqual(
			pi.session.messages.filter(({ role }) => role === "custom"),
			[],
		);
		assert.deepEqual(kinds(), ["completed"]);
	});

	/** Tools `finish`, which ends the run, and `go`, which does not. */
	function finisher(pi: ExtensionAPI): void {
		for (const name of ["finish", "go"]) {
			pi.registerTool({
				...{ name, label: name, description: name, parameters: { type: "object", properties: {} } },
				execute: () =>
					Promise.resolve({ content: [{ type: "text", text: name }], details: {}, terminate: name === "finish" }),
			});
		}
	}

	test("does not come where every call of the turn before ends the run, and comes where one does not", async (t) => {
		const finish = { name: "finish", args: {} };
		const model = [calls(finish, finish), calls(finish, { name: "go", args: {} }), text("done")];
		const { pi, kinds } = await guarded(t, { turns: 3, grace: 2 }, { model, extensions: [finisher] });
		await pi.run("go");
		await pi.run("again");
		assert.deepEqual(seen(pi, wrapUp(2)), [0, 0, 1]);
		assert.deepEqual(kinds(), ["completed", "wrapped_up"]);
	});

	test("comes where only a message of the person keeps the run going", async (t) => {
		const slow = held(text("finished?"));
		const { pi, kinds } = await guarded(t, { turns: 3, grace: 2 }, { model: [slow, text("done")] });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.session.prompt("and?", { streamingBehavior: "steer" });
		slow.release();
		await run;
		assert.deepEqual(seen(pi, wrapUp(2)), [0, 1]);
		assert.deepEqual(kinds(), ["wrapped_up"]);
	});

	test("comes where only another extension keeps the run going", async (t) => {
		const continues = (pi: ExtensionAPI): void => {
			let left = 1;
			pi.on("turn_end", ({ entries }) => ({ entries, ...(left-- > 0 ? { continue: true } : {}) }));
		};
		const limit = turnLimit({ turns: 3, grace: 2 });
		const model = [text("finished?"), text("done")];
		const pi = await inside(t, { model, isPi: false, extensions: [continues, limit] });
		await pi.run("go");
		assert.deepEqual(seen(pi, wrapUp(2)), [0, 1]);
	});

	test("that was asked for reaches the request of a turn that has begun, its retries, and then the transcript", async (t) => {
		const asks = (pi: ExtensionAPI): void => {
			let turns = 0;
			pi.on("turn_start", async () => {
				if (++turns === 2) await host.pi.session.prompt("/turn-limit wrap-up");
			});
		};
		const outcomes: Outcome[] = [];
		const limit = turnLimit({ turns: 9, grace: 0, onOutcome: (outcome) => outcomes.push(outcome) });
		const slow = held(fail(529));
		const model = [noop, slow, noop, text("done")];
		const host = { pi: await inside(t, { model, isPi: false, extensions: [asks, limit], person: () => false }) };
		const run = host.pi.run("go");
		await host.pi.model.arrival(2);
		await host.pi.run("/turn-limit 10");
		slow.release();
		await run;
		const words = "Begin nothing new.";
		assert.deepEqual(seen(host.pi, words), [0, 1, 1, 1]);
		assert.equal(host.pi.model.turns[1]?.last.includes(words), true);
		assert.equal(host.pi.notifications[0]?.message, "The model will be told to wrap up with its next request.");
		assert.deepEqual(
			outcomes.map(({ kind, advised, turns }) => [kind, advised, turns]),
			[["wrapped_up", true, 3]],
		);
	});

	for (const [what, reply] of [
		["ends the run", text("done")],
		["is stopped", noop],
	] as const) {
		test(`that came with the request of the turn that ${what} is not kept in the transcript`, async (t) => {
			const asks = (pi: ExtensionAPI): void => {
				pi.on("turn_start", async ({ turnIndex }) => {
					if (turnIndex === 1) await host.pi.session.prompt("/turn-limit wrap-up");
				});
			};
			const extensions = [asks, turnLimit({ turns: 2, grace: 0 })];
			const host = { pi: await inside(t, { model: [noop, reply], isPi: false, extensions, person: () => false }) };
			await host.pi.run("go");
			assert.deepEqual(seen(host.pi, "Begin nothing new."), [0, 1]);
			assert.equal(stored(host.pi, "Begin nothing new."), 0);
		});
	}

	test("that was asked for and not delivered when the run ended does not reach the next one", async (t) => {
		const slow = held(text("done"));
		const { pi } = await guarded(t, { turns: 9 }, { model: [slow, text("done")], person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.run("/turn-limit wrap-up");
		slow.release();
		await run;
		await pi.run("again");
		assert.deepEqual(seen(pi, "Begin nothing new."), [0, 0]);
	});

	test("has the person's own text, and the program's before it", async (t) => {
		const agentFiles = { "turn-limit.json": { maxTurns: 2, wrapUpMessage: "Stop\u001b now.", grace: 1 } };
		const pi = await inside(t, { model: endless(noop), agentFiles, mode: "rpc" });
		await pi.run("go");
		assert.deepEqual(seen(pi, "Stop\uFFFD now."), [0, 1]);
		const { pi: own } = await guarded(t, { turns: 2, grace: 1, wrapUpMessage: "Done, please." });
		await own.run("go");
		assert.deepEqual(seen(own, "Done, please."), [0, 1]);
	});

	test("is given again when a compaction takes it out of sight, and only then", async (t) => {
		const model = [noop, noop, full, noop, text("done")];
		const { pi } = await guarded(t, { turns: 5, grace: 3 }, { ...small, model });
		await pi.run("go");
		assert.deepEqual(seen(pi, "A summary."), [0, 0, 0, 1, 1]);
		assert.deepEqual(seen(pi, "Begin nothing new."), [0, 0, 1, 1, 1]);
	});

	test("that was given again stays in sight to the end of the run", async (t) => {
		const model = [noop, noop, full, noop, noop, noop, text("done")];
		const { pi } = await guarded(t, { turns: 9, grace: 7 }, { ...small, model });
		await pi.run("go");
		assert.deepEqual(seen(pi, "A summary."), [0, 0, 0, 1, 1, 1, 1]);
		assert.deepEqual(seen(pi, "Begin nothing new."), [0, 0, 1, 1, 1, 1, 1]);
		assert.equal(stored(pi, "Begin nothing new."), 1);
	});

	test("that falls together with a compaction reaches the model once", async (t) => {
		const model = [noop, full, noop, text("done")];
		const { pi } = await guarded(t, { turns: 4, grace: 2 }, { ...small, model });
		await pi.run("go");
		assert.deepEqual(seen(pi, "A summary."), [0, 0, 1, 1]);
		assert.deepEqual(seen(pi, "Begin nothing new."), [0, 0, 1, 1]);
	});

	test("of a message that another extension left is not ours", async (t) => {
		const leaves = (pi: ExtensionAPI): void => {
			pi.on("turn_end", ({ entries, turnIndex }) => ({
				entries:
					turnIndex === 2
						? [...entries, { type: "custom_message", customType: "peer", content: "I was here.", display: true }]
						: entries,
			}));
		};
		const limit = turnLimit({ turns: 5, grace: 3 });
		const options = { ...small, model: [noop, noop, full, noop, text("done")], isPi: false };
		const pi = await inside(t, { ...options, extensions: [leaves, limit] });
		await pi.run("go");
		assert.deepEqual(seen(pi, "Begin nothing new."), [0, 0, 1, 1, 1]);
	});
});

describe("the final pass", () => {
	const synthesize = { turns: 2, policy: "synthesize" } as const;

	test("is one request with the instruction, and its answer is the run's", async (t) => {
		const { pi, kinds } = await guarded(t, synthesize, { model: [noop, noop, text("My answer.")] });
		await pi.run("go");
		assert.deepEqual(seen(pi, demand), [0, 0, 1]);
		assert.equal(pi.session.getLastAssistantText(), "My answer.");
		assert.deepEqual(kinds(), ["synthesized"]);
	});

	test("refuses calls with the instruction, and stops a model that goes on", async (t) => {
		const { pi, kinds } = await guarded(t, synthesize);
		await pi.run("go");
		assert.deepEqual(seen(pi, demand), [0, 0, 1, 2]);
		assert.equal(pi.model.turns[3]?.last, `${NOT_RUN}. ${demand}`);
		assert.deepEqual(kinds(), ["exhausted"]);
	});

	for (const [what, reply] of [
		["says nothing", text("")],
		["says blanks", text(" \n")],
		["only thinks", thinks("Hm.")],
		["is cut off", { ...text("My ans"), stop: "length" }],
	] as [string, Reply][]) {
		test(`asks once more where the model ${what}`, async (t) => {
			const { pi, kinds } = await guarded(t, synthesize, { model: [noop, noop, reply, text("My answer.")] });
			await pi.run("go");
			assert.equal(pi.model.requests.length, 4);
			assert.equal(pi.model.turns[3]?.last, demand);
			assert.deepEqual(kinds(), ["synthesized"]);
		});
	}

	test("after a refused call asks in a message where another extension hides that it was refused", async (t) => {
		const hides = (pi: ExtensionAPI): void => {
			pi.on("message_end", ({ message }) =>
				message.role === "toolResult"
					? { message: { ...message, content: [{ type: "text", text: "hidden" }] } }
					: undefined,
			);
		};
		const limits = { toolCalls: 1, policy: "synthesize" } as const;
		const model = [noop, noop, text("My answer.")];
		const { pi } = await guarded(t, limits, { model, extensions: [hides] });
		await pi.run("go");
		assert.equal(pi.model.turns[2]?.last, finalPass({ meter: "toolCalls", limit: 1 }));
		const { pi: open } = await guarded(t, limits, { model: [batch(2), text("My answer.")] });
		await open.run("go");
		assert.match(open.model.turns[1]?.last ?? "", /^Not run\. The budget/);
		assert.equal(seen(open, "The budget of tool calls").at(-1), 1);
	});

	test("does not ask in a message where the hidden refusal was the run's last call", async (t) => {
		const hides = (pi: ExtensionAPI): void => {
			pi.on("message_end", ({ message }) =>
				message.role === "toolResult"
					? { message: { ...message, content: [{ type: "text", text: "hidden" }] } }
					: undefined,
			);
		};
		const { pi, kinds } = await guarded(t, { toolCalls: 1 }, { extensions: [hides] });
		await pi.run("go");
		assert.deepEqual(kinds(), ["exhausted"]);
		assert.equal(pi.session.messages.filter(({ role }) => role === "custom").length, 0);
	});

	test("is taken back when the limit is raised: the model is told, and its calls run", async (t) => {
		const slow = held(noop);
		const model = [noop, noop, slow, noop, text("done")];
		const { pi, kinds } = await guarded(t, synthesize, { model, person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(3);
		await pi.run("/turn-limit +5");
		slow.release();
		await run;
		assert.equal(seen(pi, "The limit was raised.").at(-1), 1);
		assert.equal(stored(pi, "The limit was raised."), 1);
		assert.deepEqual(kinds(), ["completed"]);
		assert.equal(pi.model.requests.at(-1)?.count(NOT_RUN), 0);
	});

	test("that is taken back while the model gives its answer costs no further request", async (t) => {
		const slow = held(text("My answer."));
		const { pi } = await guarded(t, synthesize, { model: [noop, noop, slow], person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(3);
		await pi.run("/turn-limit +5");
		slow.release();
		await run;
		assert.equal(pi.model.requests.length, 3);
	});

	test("is given again when a compaction takes the instruction out of sight", async (t) => {
		const model = [noop, noop, full, text("My answer.")];
		const { pi } = await guarded(t, synthesize, { ...small, model });
		await pi.run("go");
		assert.deepEqual(seen(pi, "A summary."), [0, 0, 0, 1]);
		assert.ok((pi.model.turns[3]?.count(demand) ?? 0) > 0);
	});

	test("costs a failed request no turn", async (t) => {
		const { pi, kinds } = await guarded(t, synthesize, { model: [noop, noop, fail(529), noop, text("My answer.")] });
		await pi.run("go");
		assert.deepEqual(kinds(), ["synthesized"]);
		assert.equal(pi.model.requests.length, 5);
	});
});

describe("failures and aborts", () => {
	test("a turn that fails and is repeated counts once", async (t) => {
		const { pi, outcomes } = await guarded(t, { turns: 2 }, { model: [fail(529), noop, fail(529), noop] });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 4);
		assert.deepEqual(
			outcomes.map(({ kind, turns }) => [kind, turns]),
			[["exhausted", 2]],
		);
	});

	test("a run whose last turn fails and is repeated has ended by itself", async (t) => {
		const { pi, kinds } = await guarded(t, { turns: 9 }, { model: [fail(529), text("done")] });
		await pi.run("go");
		assert.deepEqual(kinds(), ["completed"]);
	});

	test("a turn that overflows the context and is repeated after a summary counts once", async (t) => {
		const { pi, outcomes } = await guarded(t, { turns: 2 }, { ...small, model: [noop, overflow(), text("done")] });
		await pi.run("go");
		assert.equal(pi.model.turns.length, 3);
		assert.deepEqual(
			outcomes.map(({ kind, turns }) => [kind, turns]),
			[["completed", 2]],
		);
	});

	test("an answer that is cut off at the window's end and repeated after a summary counts once", async (t) => {
		const model = [noop, { ...text("half an answ"), stop: "length" } as const, text("an answer")];
		const { pi, outcomes } = await guarded(t, { turns: 2 }, { ...small, model });
		await pi.run("go");
		assert.deepEqual(
			pi.model.requests.map(({ kind }) => kind),
			["turn", "turn", "summary", "turn"],
		);
		assert.deepEqual(
			outcomes.map(({ kind, turns }) => [kind, turns]),
			[["completed", 2]],
		);
	});

	test("a request that another extension makes pi repeat after a failure for good is a turn of its own", async (t) => {
		const goesOn = (pi: ExtensionAPI): void => {
			let left = 9;
			const goal = { type: "custom_message" as const, customType: "goal", content: "go on", display: true };
			pi.on("agent_before_settle", ({ entries }) =>
				left-- > 0 ? { entries: [...entries, goal], continue: true } : undefined,
			);
		};
		const options = { model: endless(fail(400)), settings: { retry: { maxRetries: 0 } }, extensions: [goesOn] };
		const { pi, outcomes } = await guarded(t, { turns: 3 }, options);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(
			outcomes.map(({ kind, turns }) => [kind, turns]),
			[["exhausted", 3]],
		);
	});

	test("the provider's failure for good is the run's, with its words", async (t) => {
		const { pi, outcomes } = await guarded(t, { turns: 2 }, { model: [fail(400, "No such model.")] });
		await pi.run("go");
		const [outcome] = outcomes;
		assert.ok(outcome?.kind === "failed");
		assert.match(outcome.message, /No such model\./);
		assert.equal(outcome.by, "provider");
	});

	test("an abort while the model answers is an interruption, and no limit's", async (t) => {
		const slow = held(noop);
		const { pi, kinds } = await guarded(t, { turns: 2 }, { model: [noop, slow], person: () => true });
		const run = pi.run("go");
		await pi.model.arrival(2);
		await pi.session.abort();
		slow.release();
		await run;
		assert.deepEqual(kinds(), ["interrupted"]);
		assert.deepEqual([pi.asked, pi.notifications], [[], []]);
		assert.notEqual(pi.last?.errorMessage?.includes("turn-limit"), true);
	});

	test("an abort after an answer leaves a script the aborted message, not the answer", async (t) => {
		const goesOn = (pi: ExtensionAPI): void => {
			pi.on("agent_end", () => pi.sendUserMessage("go on", { deliverAs: "followUp" }));
		};
		const slow = held(noop);
		const pi = await inside(t, { model: [text("My report."), slow], extensions: [installed, goesOn] });
		const run = pi.run("go");
		await pi.model.arrival(2);
		await pi.session.abort();
		slow.release();
		await run;
		assert.notEqual(pi.last?.stopReason, "stop");
	});

	test("a failure at the start of a session does not leave it unguarded", async (t) => {
		const breaks = (pi: ExtensionAPI): void => {
			pi.on("session_start", (_event, ctx) => {
				Object.defineProperty(ctx, "cwd", {
					get: () => {
						throw new Error("broken on purpose");
					},
				});
			});
		};
		const env = { PI_MAX_TURNS: "2" };
		const pi = await inside(t, { model: endless(noop), env, extensions: [breaks, installed], person: () => false });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 2);
		assert.equal(pi.asked.length, 1);
		assert.doesNotMatch(pi.notifications.map(({ message }) => message).join(), /twice/);
		assert.deepEqual(pi.notifications[0], {
			...{ message: "pi-turn-limit: failed and stopped the run: Error: broken on purpose", type: "warning" },
		});
	});

	/** A tool that aborts the run while it works. */
	function suicidal(host: () => Inside, terminate = false) {
		return (pi: ExtensionAPI): void => {
			pi.registerTool({
				...{ name: "abort", label: "abort", description: "", parameters: { type: "object", properties: {} } },
				execute: async () => {
					void host().session.abort();
					await setImmediate();
					return { content: [{ type: "text", text: "ok" }], details: {}, terminate };
				},
			});
		};
	}

	test("an abort while a tool works that ends the run is an interruption", async (t) => {
		const host: { pi?: Inside } = {};
		const extensions = [suicidal(() => host.pi as Inside, true)];
		const { pi, kinds } = await guarded(t, { turns: 2 }, { model: [calls({ name: "abort", args: {} })], extensions });
		host.pi = pi;
		await pi.run("go");
		assert.deepEqual(kinds(), ["interrupted"]);
	});

	test("an abort while the last turn's tool works asks nothing", async (t) => {
		const host: { pi?: Inside } = {};
		const extensions = [suicidal(() => host.pi as Inside)];
		const model = [noop, calls({ name: "abort", args: {} }), text("done")];
		const { pi, kinds } = await guarded(t, { turns: 2, grace: () => 0 }, { model, extensions, person: () => true });
		host.pi = pi;
		await pi.run("go");
		assert.deepEqual(kinds(), ["interrupted"]);
		assert.deepEqual(pi.asked, []);
		assert.equal(pi.model.requests.length, 2);
		await pi.run("again");
		assert.equal(pi.model.requests.length, 3);
	});

	for (const end of ["abort", "dispose"] as const) {
		test(`a session that ends while the question is open was interrupted: ${end}`, async (t) => {
			const { pi, kinds, heard } = await guarded(
				t,
				{ turns: 2 },
				{ person: ({ signal }) => new Promise((resolve) => signal?.addEventListener("abort", () => resolve(true))) },
			);
			void pi.session.prompt("go").catch(() => {});
			await pi.until("the question", () => pi.asked.length > 0);
			await pi.session[end]();
			await heard;
			assert.deepEqual(kinds(), ["interrupted"]);
			const ours = pi.errors.filter(({ extensionPath }) => extensionPath !== "<boundary>");
			assert.deepEqual([pi.model.requests.length, ours], [2, []]);
		});
	}

	for (const [when, model, event, costs] of [
		["before the model has answered", [noop, held(noop)], "turn_start", 1],
		["before a call has ended", [noop, calls({ name: "hang", args: {} })], "tool_execution_start", 2],
	] as const) {
		test(`a session that is disposed of ${when} was interrupted`, async (t) => {
			const hangs = (pi: ExtensionAPI): void => {
				pi.registerTool({
					...{ name: "hang", label: "hang", description: "", parameters: { type: "object", properties: {} } },
					execute: (_id, _args, signal) =>
						new Promise<never>((_resolve, reject) =>
							signal?.addEventListener("abort", () => reject(new Error("gone"))),
						),
				});
			};
			const { pi, outcomes, heard } = await guarded(
				t,
				{ turns: 3 },
				{ model, extensions: [hangs], person: () => true },
			);
			void pi.session.prompt("go").catch(() => {});
			await pi.model.arrival(2);
			await pi.until(event, () => pi.events.filter(({ type }) => type === event).length === 2);
			pi.session.dispose();
			await heard;
			assert.deepEqual(
				outcomes.map(({ kind, cost }) => [kind, cost]),
				[["interrupted", 0.01 * costs]],
			);
		});
	}

	for (const [when, before, lost] of [
		["while it waits for the first reply", [], 1],
		["while it waits for the second reply", [noop], 1],
		["while it waits for the repetition of a failed one, whose message stands there", [fail(529)], 0],
	] as const) {
		test(`a session that is shut down ${when} leaves ${lost === 1 ? "a" : "no"} turn without a reply in its entries`, async (t) => {
			const slow = held(noop);
			const { pi } = await guarded(t, { turns: 9 }, { model: [...before, slow] });
			const run = pi.run("go");
			await pi.model.arrival(before.length + 1);
			await pi.quit();
			assert.equal(pi.entries("turn-limit-lost-turn").length, lost);
			slow.release();
			await pi.session.abort();
			await run;
		});
	}

	for (const turns of [0, 1])
		test(`a session that is shut down at a question after ${turns} turns, or between runs, has lost no turn`, async (t) => {
			const { pi } = await guarded(t, { turns }, { model: [noop], person: () => pi.quit().then(() => false) });
			await pi.run("go");
			await pi.quit();
			assert.equal(pi.entries("turn-limit-lost-turn").length, 0);
		});

	test("a session that is shut down in mid-run was interrupted, and late events change nothing", async (t) => {
		const slow = held(noop);
		const { pi, kinds, limit } = await guarded(t, { turns: 3 }, { model: [slow, noop, text("done")] });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.quit();
		assert.deepEqual(kinds(), ["interrupted"]);
		slow.release();
		await run;
		assert.deepEqual(kinds(), ["interrupted"]);
		assert.equal(limit.snapshot().turns.used, 1);
	});

	test("a turn that another extension makes fail stops the run: the first one too", async (t) => {
		const breaks = (pi: ExtensionAPI): void => {
			pi.on("turn_start", (_event, ctx) => {
				Object.defineProperty(ctx, "signal", {
					get: () => {
						throw new Error("broken on purpose");
					},
				});
			});
		};
		const outcomes: Outcome[] = [];
		const limit = turnLimit({ turns: 3, onOutcome: (outcome) => outcomes.push(outcome) });
		const pi = await inside(t, { model: endless(noop), isPi: false, extensions: [breaks, limit], person: () => true });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 0);
		assert.deepEqual(
			outcomes.map((outcome) => [outcome.kind, outcome.turns, "message" in outcome && outcome.message]),
			[["failed", 0, "Error: broken on purpose"]],
		);
		assert.deepEqual(pi.notifications, [
			{ message: "pi-turn-limit: failed and stopped the run: Error: broken on purpose", type: "error" },
		]);
		assert.equal((pi.last as { rawStopReason?: string } | undefined)?.rawStopReason, "pi-turn-limit: not requested");
	});

	test("a failure of ours while the question is open closes it, and the run stops", async (t) => {
		const { pi, outcomes } = await guarded(
			t,
			{ turns: 1 },
			{ person: ({ signal }) => new Promise((resolve) => signal?.addEventListener("abort", () => resolve(true))) },
		);
		const run = pi.run("go");
		await pi.until("the question", () => pi.asked.length > 0);
		const call = { type: "tool_call", toolCallId: "1", toolName: "noop", input: {} } as const;
		const broken = Object.defineProperty({ ...call }, "input", {
			get: () => {
				throw new Error("broken on purpose");
			},
		});
		const result = await pi.session.extensionRunner.emitToolCall(broken);
		assert.deepEqual(result, { block: true, reason: "Not run: this run is being stopped." });
		await run;
		assert.deepEqual(
			outcomes.map((outcome) => "message" in outcome && outcome.message),
			["Error: broken on purpose"],
		);
		assert.equal(pi.model.requests.length, 1);
	});

	test("a tool call for which we fail is not made, and the run stops", async (t) => {
		const breaks = (pi: ExtensionAPI): void => {
			pi.on("tool_call", (_event, ctx) => {
				Object.defineProperty(ctx, "signal", {
					get: () => {
						throw new Error("broken on purpose");
					},
				});
			});
		};
		const limit = turnLimit({ turns: 3 });
		const pi = await inside(t, { model: endless(noop), isPi: false, extensions: [breaks, limit] });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 1);
		const result = pi.session.messages.find((message) => message.role === "toolResult");
		assert.match(JSON.stringify(result), /Not run: this run is being stopped\./);
	});
});

describe("the stop", () => {
	test("is told to the person, and the widget counts and goes", async (t) => {
		const atRequests: unknown[] = [];
		const model = (): Reply => {
			atRequests.push(pi.widgets.at(-1));
			return noop;
		};
		const { pi } = await guarded(t, { turns: 2 }, { person: () => false, model });
		await pi.run("go");
		assert.deepEqual(pi.notifications, [
			{ message: "Agent aborted by user. Turn limit reached. Send a message to go on.", type: "info" },
		]);
		assert.deepEqual(atRequests, ["Turns: 1/2", "Turns: 2/2"]);
		assert.deepEqual(pi.widgets, [...atRequests, undefined]);
	});

	test("after a question about both meters resets each with its own yes, and the widget shows it before the second", async (t) => {
		const shown: unknown[] = [];
		const { pi } = await guarded(
			t,
			{ turns: 1, toolCalls: 1, cost: "$0.01" },
			{
				model: [noop, noop, text("done")],
				person: ({ title }) => {
					shown.push([title, pi.widgets.at(-1)]);
					return true;
				},
			},
		);
		await pi.run("go");
		assert.deepEqual(shown.slice(0, 3), [
			["Turn limit reached (1 of 2)", "Turns: 1/1 · Tools: 1/1 · Cost: $0.01/$0.01"],
			["Cost limit reached (2 of 2)", "Turns: 0/1 · Tools: 1/1 · Cost: $0.01/$0.01"],
			["Tool limit reached", "Turns: 1/1 · Tools: 1/1 · Cost: $0.01/$0.01"],
		]);
	});

	test("refuses the calls of a batch beyond the limit, and says so to the model and to the person", async (t) => {
		const { pi } = await guarded(t, { toolCalls: 2 }, { model: [batch(4), text("next")], person: () => false });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 1);
		assert.equal(pi.asked.length, 1);
		await pi.run("again");
		const refused = "Not run: the limit of 2 tool calls for this run is reached, and the run is being stopped.";
		assert.deepEqual(pi.model.turns[1]?.texts("tool"), ["ok", "ok", refused, refused]);
	});

	test("marks the reply that pi makes up for the refused turn, and no other, for the count of a session that goes on later", async (t) => {
		const { pi } = await guarded(t, { turns: 3 }, { model: [noop, fail(529), noop, noop] });
		await pi.run("go");
		const replies = pi.session.messages.filter(({ role }) => role === "assistant") as { rawStopReason?: string }[];
		const marked = replies.map(({ rawStopReason }) => rawStopReason === "pi-turn-limit: not requested");
		assert.deepEqual(marked, [false, false, false, true]);
	});

	test("keeps queued messages for the next prompt and says so, once", async (t) => {
		const slow = held(noop);
		const { pi } = await guarded(t, { turns: 1 }, { model: [slow, text("a"), noop], person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.session.prompt("look left", { streamingBehavior: "steer" });
		slow.release();
		await run;
		assert.match(pi.notifications[0]?.message ?? "", /Messages that were queued are kept for the next prompt\.$/);
		await pi.run("/turn-limit 2");
		await pi.run("again");
		assert.equal(pi.model.requests.at(-1)?.count("look left"), 1);
		await pi.run("/turn-limit 1");
		pi.notifications.length = 0;
		await pi.run("and again");
		assert.equal(
			pi.notifications.at(-1)?.message,
			"Agent aborted by user. Turn limit reached. Send a message to go on.",
		);
	});

	test("says nothing of queued messages in the terminal, which puts them into the editor", async (t) => {
		const slow = held(noop);
		const plain = (pi: ExtensionAPI): void => {
			const registerEntryRenderer = (): never => {
				throw new Error("This pi has none.");
			};
			installed(Object.assign(Object.create(pi) as ExtensionAPI, { registerEntryRenderer }));
		};
		const env = { PI_MAX_TURNS: "1" };
		const pi = await inside(t, { model: [slow], env, mode: "tui", extensions: [plain], person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.session.prompt("look left", { streamingBehavior: "steer" });
		slow.release();
		await run;
		assert.deepEqual(
			pi.notifications.map(({ message }) => message),
			["You stopped the run at the turn limit. Send a message to go on."],
		);
	});

	test("comes before a compaction that is due also where the limit is lowered while a tool works", async (t) => {
		const lowers = (pi: ExtensionAPI): void => {
			pi.registerTool({
				...{ name: "lower", label: "lower", description: "", parameters: { type: "object", properties: {} } },
				execute: async () => {
					await host.pi?.run("/turn-limit 1");
					return { content: [{ type: "text", text: "ok" }], details: {} };
				},
			});
		};
		const host: { pi?: Inside } = {};
		const model = [{ ...calls({ name: "lower", args: {} }), usage: { prompt: 9_000 } }, text("done")];
		const { pi } = await guarded(t, { turns: 9 }, { ...small, model, extensions: [lowers], person: () => false });
		host.pi = pi;
		await pi.run("go");
		assert.equal(pi.asked.length, 1);
		assert.deepEqual(
			pi.model.requests.map(({ kind }) => kind),
			["turn"],
		);
	});

	test("leaves what was added to a round when another setting changes", async (t) => {
		const { pi, limit } = await guarded(t, { turns: 2 }, { person: () => false });
		const limits: unknown[] = [];
		await pi.run("/turn-limit +3");
		await pi.run("/turn-limit tools 99");
		await pi.run("go");
		limits.push(limit.snapshot().turns.used);
		assert.deepEqual([limits, pi.model.requests.length], [[5], 5]);
	});

	test("cancels a compaction that is due, and not one that the person asks for", async (t) => {
		const { pi } = await guarded(t, { turns: 2 }, { ...small, model: [noop, full] });
		await pi.run("go");
		assert.deepEqual(pi.model.summaries, []);
		await pi.session.compact();
		assert.equal(pi.model.summaries.length, 1);
	});

	test("leaves a compaction alone that the person asks for while the question is open", async (t) => {
		const results: unknown[] = [];
		const person = async (): Promise<boolean> => {
			for (const reason of ["manual", "threshold"])
				results.push(await pi.session.extensionRunner.emit({ type: "session_before_compact", reason } as never));
			return false;
		};
		const { pi } = await guarded(t, { turns: 1 }, { person });
		await pi.run("go");
		assert.deepEqual(results, [undefined, { cancel: true }]);
	});

	test("stops the warming of the cache while a question is open and after the stop, not before", async (t) => {
		const warm = (): Promise<string> =>
			pi.session.extensionRunner.emitCacheWarmingDecision({
				...{ type: "cache_warming_decision", action: "warm" },
			} as CacheWarmingDecisionEvent);
		const seen: unknown[] = [];
		const { pi } = await guarded(
			t,
			{ turns: 1 },
			{
				model: () => {
					void warm().then((decision) => seen.push(decision));
					return noop;
				},
				person: async () => {
					seen.push(await warm());
					return false;
				},
			},
		);
		await pi.run("go");
		assert.deepEqual(seen, ["warm", "stop"]);
	});

	test("of a script repeats an answer that was given before, with its exit code and line", async (t) => {
		const followed = new Followed(t);
		const goesOn = (pi: ExtensionAPI): void => {
			pi.on("agent_end", () => pi.sendUserMessage("go on", { deliverAs: "followUp" }));
		};
		const env = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };
		const pi = await inside(t, { model: [text("My report."), noop], env, extensions: [installed, goesOn] });
		await pi.run("go");
		assert.deepEqual([pi.last?.stopReason, pi.session.getLastAssistantText()], ["stop", "My report."]);
		assert.equal("errorMessage" in (pi.last ?? {}), false);
		assert.equal(followed.end(0), 53);
		assert.match(
			followed.stderr,
			/^pi-turn-limit: stopped at the limit of 2 turns \(PI_MAX_TURNS\), with an earlier answer; .*\n$/,
		);
		await pi.run("again");
		assert.equal(pi.last?.errorMessage?.includes("without an answer"), true, "the answer was the last prompt's");
	});

	test("with a person stands as the reason in the last message, also after an answer", async (t) => {
		const goesOn = (pi: ExtensionAPI): void => {
			pi.on("agent_end", () => pi.sendUserMessage("go on", { deliverAs: "followUp" }));
		};
		const { pi } = await guarded(
			t,
			{ turns: 2 },
			{ model: [text("My report."), noop], extensions: [goesOn], person: () => false },
		);
		await pi.run("go");
		assert.equal(pi.last?.stopReason, "aborted");
		assert.match(
			pi.last.errorMessage ?? "",
			/^pi-turn-limit: stopped at the limit of 2 turns \(option\) by a no, with an earlier answer; /,
		);
	});

	test("stands as the reason of the runs that an extension starts after it", async (t) => {
		const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts], person: () => false });
		await pi.run("go");
		const { errorMessage } = pi.last ?? {};
		await starting(pi, "/by-prompt");
		assert.equal(pi.last?.errorMessage, errorMessage);
		assert.equal(pi.asked.length, 1);
		assert.equal(pi.model.requests.length, 2);
	});
});

test("a run that is refused after a reload has a reason too, though its line is not known any more", async (t) => {
	const { pi } = await guarded(t, { turns: 2 }, { extensions: [starts], person: () => false });
	await pi.run("go");
	await pi.session.reload();
	await starting(pi, "/by-prompt");
	assert.equal(pi.model.requests.length, 2);
	assert.equal(typeof pi.last?.errorMessage, "string");
});

test("a refused run that waits ends with the session", async (t) => {
	const { setTimeout: real } = globalThis;
	let wait = (): void => {};
	const waiting = new Promise<void>((resolve) => (wait = resolve));
	t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
		return Reflect.apply(real, undefined, ms === 1000 ? [wait, 0] : [then, ms, ...args]) as unknown;
	});
	const { pi } = await guarded(t, { turns: 1 }, { extensions: [starts] });
	await pi.run("go");
	await starting(pi, "/by-prompt");
	const run = starting(pi, "/by-prompt");
	await waiting;
	await pi.quit();
	await run;
	assert.equal(pi.model.requests.length, 1);
});

describe("amounts", () => {
	/** A tool that reports what it has cost, in dollars. */
	function pays(pi: ExtensionAPI): void {
		const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
		pi.registerTool({
			...{ name: "pay", label: "pay", description: "" },
			parameters: { type: "object", properties: { cost: { type: "number" } } },
			execute: (_id, args) => {
				const usage = { ...none, totalTokens: 0, cost: { ...none, total: (args as { cost: number }).cost } };
				return Promise.resolve({ content: [{ type: "text", text: "paid" }], details: {}, usage });
			},
		});
	}

	test("what the model and its tools report is charged, rounded to millionths", async (t) => {
		const model = [calls({ name: "pay", args: { cost: 0.0200004 } }), text("done")];
		const { pi, limit, outcomes } = await guarded(t, { cost: 1 }, { model, extensions: [pays] });
		await pi.run("go");
		assert.equal(limit.snapshot().cost.used, 0.04);
		assert.equal(outcomes[0]?.cost, 0.04);
	});

	test("a response that reaches the limit stops the run before the next", async (t) => {
		const { pi, kinds } = await guarded(t, { cost: "$0.02" });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 2);
		assert.deepEqual(kinds(), ["exhausted"]);
	});

	test("a tool whose price reaches the limit stops the run before a compaction that is due", async (t) => {
		const model = [{ ...calls({ name: "pay", args: { cost: 1 } }), usage: { prompt: 9_000 } }, text("done")];
		const { pi, kinds } = await guarded(t, { cost: 1 }, { ...small, model, extensions: [pays] });
		await pi.run("go");
		assert.deepEqual(
			pi.model.requests.map(({ kind }) => kind),
			["turn"],
		);
		assert.deepEqual(kinds(), ["exhausted"]);
	});

	for (const [cost, used] of [
		[-1, 0.02],
		[Number.MAX_VALUE, 1_000_000.01],
	] as const) {
		test(`an amount of ${cost} that a tool reports makes ${used} of the run`, async (t) => {
			const model = [calls({ name: "pay", args: { cost } }), text("done")];
			const { pi, limit } = await guarded(t, { cost: 1 }, { model, extensions: [pays] });
			await pi.run("go");
			assert.equal(limit.snapshot().cost.used, used);
		});
	}

	for (const limits of [{ tokens: 1000 }, { cost: 1 }]) {
		test(`a reply that reports more than a safe number meets a limit of ${JSON.stringify(limits)}`, async (t) => {
			const model = endless({ ...noop, usage: { prompt: 1e17 } });
			const { pi, kinds } = await guarded(t, limits, { model });
			await pi.run("go");
			assert.deepEqual([pi.model.requests.length, kinds()], [1, ["exhausted"]]);
		});
	}

	test("a compaction in a run is charged to it", async (t) => {
		const { pi, limit } = await guarded(t, { cost: 9 }, { ...small, model: [full, text("done")] });
		await pi.run("go");
		assert.equal(pi.model.summaries.length, 1);
		const [first, summary, last] = [9_000 * 10 + 50 * 100, 10_000, 10_000];
		assert.equal(limit.snapshot().cost.used, (first + summary + last) / 1e6);
	});

	test("a compaction that pi makes before a prompt is charged to that prompt, once, and one that the person makes is not", async (t) => {
		const model = (_request: unknown, n: number): Reply => (n === 1 ? full : text("done"));
		const { pi, limit } = await guarded(t, { turns: 1, cost: 9 }, { ...small, model });
		const spent: unknown[] = [];
		for (const prompt of ["go", "again", "and again"]) {
			await pi.run(prompt);
			spent.push([limit.snapshot().cost.used, pi.model.summaries.length]);
			if (prompt === "again") await pi.session.compact();
		}
		assert.deepEqual(spent, [
			[0.095, 0],
			[0.02, 1],
			[0.01, 3],
		]);
	});

	test("a compaction that the person makes after words that started no run is charged to the session at once", async (t) => {
		const options = { ...small, extensions: [starts], model: [noop, text("done")] };
		const { pi, limit } = await guarded(t, { sessionCost: 9 }, options);
		await pi.run("go");
		await pi.session.prompt("ping");
		await pi.session.compact();
		assert.equal(limit.snapshot().sessionCost.used, 0.01 * pi.model.requests.length);
	});

	test("a compaction in a run is charged to it before its next turn, also if a prompt has come meanwhile", async (t) => {
		const slow = held(full);
		const { pi } = await guarded(t, { cost: 0.1 }, { ...small, model: [slow, noop] });
		const run = pi.run("go");
		await pi.model.arrival(1);
		await pi.session.extensionRunner.emit({ type: "input", text: "x", source: "interactive" } as never);
		slow.release();
		await run;
		assert.deepEqual(
			pi.model.requests.map(({ kind }) => kind),
			["turn", "summary"],
		);
	});

	describe("of a model without prices", () => {
		const free = { modelFields: { cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } } };
		const warning = "Cost limit of $1.00 cannot be enforced: scripted has no prices.";

		test("cannot be enforced, and the person is told once at the start and again when the limit changes", async (t) => {
			const options = { ...free, env: { PI_TURN_LIMIT_COST: "1" }, person: () => false, model: endless(text("done")) };
			const pi = await inside(t, options);
			assert.deepEqual(pi.notifications, [{ message: warning, type: "warning" }]);
			await pi.run("go");
			await pi.run("/turn-limit cost 2");
			await pi.run("/turn-limit cost 2");
			const messages = pi.notifications.map(({ message }) => message);
			assert.equal(messages.filter((message) => message.includes("cannot be enforced")).length, 2);
		});

		test("is told when it takes the place of one with prices", async (t) => {
			const pi = await inside(t, { env: { PI_TURN_LIMIT_COST: "1" }, person: () => false });
			assert.deepEqual(pi.notifications, []);
			const { model } = pi.session;
			assert.ok(model);
			await pi.session.setModel({ ...model, id: "cheap", cost: { ...model.cost, input: 0, output: 0 } });
			assert.deepEqual(pi.notifications, [{ message: warning.replace("scripted", "cheap"), type: "warning" }]);
		});

		test("is named in one line that a terminal does not obey", async (t) => {
			const pi = await inside(t, { env: { PI_TURN_LIMIT_COST: "1" }, person: () => false });
			const { model } = pi.session;
			assert.ok(model);
			const id = "cheap\npi-turn-limit: finished\u001b[31m";
			await pi.session.setModel({ ...model, id, cost: { ...model.cost, input: 0, output: 0 } });
			assert.deepEqual(
				pi.notifications.map(({ message }) => message),
				[warning.replace("scripted", "cheap pi-turn-limit: finished [31m")],
			);
		});

		for (const cost of [
			{ input: 1, output: 0 },
			{ input: 0, output: 1 },
		]) {
			test(`is none that has one price: ${JSON.stringify(cost)}`, async (t) => {
				const modelFields = { cost: { cacheRead: 0, cacheWrite: 0, ...cost } };
				const pi = await inside(t, { modelFields, env: { PI_TURN_LIMIT_COST: "1" }, person: () => false });
				assert.deepEqual(pi.notifications, []);
			});
		}

		const reports = (total: number) => (api: ExtensionAPI) => {
			api.on("message_end", ({ message }) => {
				if (message.role !== "assistant") return undefined;
				return { message: { ...message, usage: { ...message.usage, cost: { ...message.usage.cost, total } } } };
			});
		};
		for (const [what, change] of [
			["routes to another", () => ({ id: "auto", api: "pi-virtual" })],
			["is one of OpenRouter's", () => ({ provider: "openrouter" })],
			["is reached through OpenRouter", () => ({ baseUrl: "https://openrouter.ai/api/v1" })],
		] as const) {
			test(`is no news before its first reply if it ${what}, because the reply may have a price`, async (t) => {
				const pi = await inside(t, { env: { PI_TURN_LIMIT_COST: "1" }, person: () => false });
				const model = { ...pi.session.model, ...free.modelFields, ...change() };
				await pi.session.extensionRunner.emit({ type: "model_select", model, source: "set" } as never);
				assert.deepEqual(pi.notifications, []);
			});
		}

		for (const [total, said] of [
			[0, [{ message: warning, type: "warning" }]],
			[0.000_000_1, []],
		] as const) {
			test(`is told with the first reply, once, if the reply says $${total}`, async (t) => {
				const options = { env: { PI_TURN_LIMIT_COST: "1" }, person: () => false, model: endless(text("done")) };
				const pi = await inside(t, { ...options, extensions: [reports(total), installed] });
				await pi.run("go");
				await pi.run("go on");
				assert.deepEqual(pi.notifications, said);
			});
		}

		test("is no news of a reply without any tokens", async (t) => {
			const nothing = { ...text("done"), usage: { prompt: 0, completion: 0 } };
			const options = { env: { PI_TURN_LIMIT_COST: "1" }, person: () => false, model: endless(nothing) };
			const pi = await inside(t, options);
			await pi.run("go");
			assert.deepEqual(pi.notifications, []);
		});

		test("is nobody's concern without a limit", async (t) => {
			const pi = await inside(t, { ...free, person: () => false });
			assert.deepEqual(pi.notifications, []);
		});
	});
});

describe("policies of single limits", () => {
	test("hold until the command sets one for all", async (t) => {
		const limits: TurnLimitOptions = { turns: { max: 2, policy: "synthesize" }, toolCalls: 9 };
		const { pi, limit } = await guarded(t, limits, { person: () => false });
		const policies = (): unknown[] => [limit.snapshot().turns.policy, limit.snapshot().toolCalls.policy];
		assert.deepEqual(policies(), ["synthesize", "abort"]);
		await pi.run("/turn-limit 3");
		assert.deepEqual(policies(), ["synthesize", "abort"]);
		await pi.run("/turn-limit policy abort");
		assert.deepEqual(policies(), ["abort", "abort"]);
		await pi.run("/turn-limit default");
		assert.deepEqual(policies(), ["synthesize", "abort"]);
	});
});
