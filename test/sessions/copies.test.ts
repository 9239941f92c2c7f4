/** More than one copy in a session, more than one session in a process, and pi's reloads. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Outcome, turnLimit, type TurnLimitOptions } from "../../src/index.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { processMemory } from "../../src/hosts/pi/host/process.ts";
import { openSqlite } from "../../src/ledger/sqlite/ledger.ts";
import { Followed, type Inside, inside, type InsideOptions, makeTheme } from "../harness/inside.ts";
import { calls, endless, fail, held, type Reply, text, thinks, times } from "../harness/model.ts";
import { noop } from "../harness/session.ts";
import { defer } from "../harness/wait.ts";

const limit = (n: number): Record<string, string> => ({ PI_MAX_TURNS: String(n), PI_TURN_LIMIT_GRACE: "0" });
const endlessly = { model: endless(noop), env: limit(3) };
const kinds = (outcomes: readonly Outcome[]): string[] => outcomes.map(({ kind, turns }) => `${kind} ${turns}`);

/** The limits of a program, with the outcomes that it hears. */
function programs(options: TurnLimitOptions) {
	const outcomes: Outcome[] = [];
	return { outcomes, limit: turnLimit({ grace: 0, ...options, onOutcome: (outcome) => outcomes.push(outcome) }) };
}

test("a session whose start failed halfway is guarded from its next event on", async (t) => {
	let asked = 0;
	const breaks = (pi: ExtensionAPI): void => {
		const getFlag = (name: string): boolean | string | undefined => {
			if (++asked === 1) throw new Error("broken on purpose");
			return pi.getFlag(name);
		};
		installed(Object.assign(Object.create(pi) as ExtensionAPI, { getFlag }));
	};
	const pi = await inside(t, { model: times(5, noop), env: limit(3), extensions: [breaks], person: () => false });
	assert.match(pi.notifications[0]?.message ?? "", /broken on purpose/);
	await pi.run("go");
	assert.deepEqual([pi.model.requests.length, pi.asked.length], [3, 1]);
});

describe("two copies in one session", () => {
	const twice = "This session loads pi-turn-limit twice; this copy does nothing.";

	test("know each other by names that no version may change", async (t) => {
		assert.equal(Reflect.get(globalThis, Symbol.for("pi-turn-limit/2")), processMemory);
		const answer = { rank: "installed", isFirst: true };
		const asks = (pi: ExtensionAPI): void => pi.events.emit("turn-limit:loading", answer);
		await inside(t, { ...endlessly, extensions: [installed, asks] });
		assert.equal(answer.isFirst, false);
	});

	test("both installed: the first guards, the second says so and is silent, and there is one command", async (t) => {
		const pi = await inside(t, { ...endlessly, person: () => false, extensions: [installed, installed] });
		assert.deepEqual(pi.notifications, [{ message: twice, type: "warning" }]);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 3);
		assert.equal(pi.asked.length, 1);
		const ours = pi.session.extensionRunner.getRegisteredCommands().filter(({ name }) => name.startsWith("turn-limit"));
		assert.deepEqual(
			ours.map(({ name, invocationName }) => [name, invocationName]),
			[["turn-limit", "turn-limit"]],
		);
		await pi.run("/turn-limit 2");
		await pi.run("again");
		assert.equal(pi.model.requests.length, 3 + 2);
	});

	test("both installed, in a script: the limit that is asked for is enforced, so the script runs", async (t) => {
		const followed = new Followed(t);
		const pi = await inside(t, { ...endlessly, extensions: [installed, installed] });
		await pi.run("go");
		assert.deepEqual([followed.exits, followed.stderr], [[], `pi-turn-limit: ${twice}\n`]);
		assert.equal(pi.model.requests.length, 3);
	});

	test("both installed: the limits of the second stop nothing", async (t) => {
		const env = { PI_TURN_LIMIT_REPEATS: "unlimited" };
		const pi = await inside(t, { model: times(14, noop), env, extensions: [installed, installed] });
		await pi.run("go");
		assert.equal(pi.model.requests.length, 15);
	});

	for (const order of ["first", "second"]) {
		test(`an installed one and a program's, which is loaded ${order}: the program's guards without a word`, async (t) => {
			const { limit, outcomes } = programs({ turns: 2 });
			const extensions = order === "first" ? [limit, installed] : [installed, limit];
			const pi = await inside(t, { ...endlessly, extensions, person: () => false });
			assert.deepEqual(pi.notifications, []);
			await pi.run("go");
			assert.equal(pi.model.requests.length, 2);
			assert.deepEqual(kinds(outcomes), ["declined 2"]);
			await pi.run("/turn-limit 4");
			await pi.run("again");
			assert.equal(pi.model.requests.length, 2 + 4);
			assert.equal(pi.entries("turn-limit-outcome").length, 2);
		});
	}

	test("both a program's: nothing runs, because only one can guard it", async (t) => {
		const [first, second] = [programs({ turns: 2 }), programs({ turns: 4 })];
		const pi = await inside(t, { ...endlessly, extensions: [first.limit, second.limit], person: () => false });
		const message = "This session has two turnLimit() extensions; it is stopped because only one can guard it.";
		assert.deepEqual(pi.notifications, [{ message, type: "warning" }]);
		await pi.run("go");
		assert.equal(pi.model.requests.length, 0);
		assert.equal(pi.errors.length, 0);
	});

	test("after the session the next one is guarded by its own copy", async (t) => {
		const pi = await inside(t, { ...endlessly, extensions: [installed, installed], person: () => false });
		await pi.quit();
		const next = await inside(t, { ...endlessly, person: () => false });
		await next.run("go");
		assert.equal(next.model.requests.length, 3);
	});

	test("a program learns before it prompts that its limit does not guard the session", async (t) => {
		const { limit } = programs({ turns: 2 });
		const other = await inside(t, { ...endlessly, extensions: [limit] });
		const pi = await inside(t, endlessly);
		const bare = await inside(t, { ...endlessly, extensions: [] });
		for (const { session } of [pi, bare]) await assert.rejects(limit.prompt(session, "go"), /does not guard/);
		await assert.rejects(limit.prompt(other.session, "go"), { name: "LimitExceeded" });
		await other.quit();
		for (const session of [other.session, { prompt: () => Promise.resolve() }])
			await assert.rejects(limit.prompt(session, "go"), /does not guard/);
		assert.equal(pi.model.requests.length + bare.model.requests.length, 0);
	});

	test("a program's limit that has seen no event may guard the session that has loaded it, and none that has a guard", async (t) => {
		const { limit } = programs({ turns: 2 });
		const guarded = await inside(t, endlessly);
		const free = await inside(t, { ...endlessly, extensions: [limit], begins: "unbound" });
		await assert.rejects(limit.prompt(guarded.session, "go"), /does not guard/);
		await assert.rejects(limit.prompt(free.session, "go"), { name: "LimitExceeded" });
	});

	test("a program's limit that no session has loaded yet may guard the first one", async (t) => {
		const { limit } = programs({ turns: 2 });
		await assert.rejects(limit.prompt({ prompt: () => Promise.resolve() }, "go"), /does not guard/);
		const pi = await inside(t, { ...endlessly, extensions: [limit] });
		await assert.rejects(limit.prompt({ prompt: (...args) => pi.session.prompt(...args) }, "go"), {
			name: "LimitExceeded",
		});
	});
});

for (const [what, copy, begins] of [
	["that pi has loaded one after the other", () => installed, undefined],
	["of a program that were loaded together", () => programs({ turns: 2 }).limit, "unbound"],
] as const) {
	test(`two sessions ${what} have both the command on one bus`, async (t) => {
		const listeners = new Set<(data: unknown) => void>();
		const events = {
			emit: (_name: string, data: unknown) => listeners.forEach((listener) => listener(data)),
			on: (_name: string, listener: (data: unknown) => void) => {
				listeners.add(listener);
				return () => void listeners.delete(listener);
			},
		};
		for (let n = 1; n <= 2; n++) {
			const extension = copy();
			const onBus = (pi: ExtensionAPI) => extension(Object.assign(Object.create(pi) as ExtensionAPI, { events }));
			const pi = await inside(t, { extensions: [onBus], ...(begins ? { begins } : {}) });
			assert.equal(pi.session.extensionRunner.getCommand("turn-limit")?.name, "turn-limit");
		}
	});
}

describe("a session that was disposed of", () => {
	test("is not prompted through its limit", async (t) => {
		const { limit } = programs({ turns: 2 });
		const pi = await inside(t, { ...endlessly, extensions: [limit] });
		await assert.rejects(limit.prompt(pi.session, "go"), { name: "LimitExceeded" });
		pi.session.dispose();
		await assert.rejects(limit.prompt(pi.session, "again"), /does not guard/);
		assert.equal(pi.model.requests.length, 2);
	});

	test("has no turn after a prompt, and none after the first that calls a tool where a message has woken it", async (t) => {
		const pi = await inside(t, { ...endlessly, extensions: [programs({ turns: 2 }).limit] });
		pi.session.dispose();
		await pi.session.prompt("go").catch(() => {});
		assert.equal(pi.model.requests.length, 0);
		const message = { customType: "wake-up", content: "wake up", display: true };
		await pi.session.sendCustomMessage(message, { triggerTurn: true });
		assert.equal(pi.model.requests.length, 1);
		const call = { type: "tool_call", toolCallId: "1", toolName: "noop", input: {} } as const;
		assert.deepEqual(await pi.session.extensionRunner.emitToolCall(call), {
			...{ block: true, terminate: true, reason: "Not run: this session was disposed of." },
		});
	});
});

test("a run that begins while pi ends a session sends nothing once the session is disposed of", async (t) => {
	const pi = await inside(t, { ...endlessly, extensions: [programs({ turns: 2 }).limit] });
	const isSent = (): Promise<boolean> =>
		Promise.race([pi.session.extensionRunner.emitContext([]).then(() => true), setImmediate(false)]);
	await pi.quit();
	assert.equal(await isSent(), true);
	pi.session.dispose();
	assert.equal(await isSent(), false);
});

describe("a subagent", () => {
	/** The variable by which a pi names itself to its children, as this process's parent would set it. */
	function parent({ pid = process.ppid, start = startOf(process.ppid), run = "1" } = {}): Record<string, string> {
		return { PI_TURN_LIMIT_ROOT: `${pid}.${start}.${run}` };
	}

	function startOf(pid: number): string {
		return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ")[19] ?? "";
	}

	const memberLine = "pi-turn-limit: the turn limit stopped this subagent before it gave an answer.";

	async function child(t: TestContext, variable: Record<string, string>, options: InsideOptions = {}) {
		const followed = new Followed(t);
		const pi = await inside(t, { ...endlessly, ...options, env: { ...limit(3), ...options.env, ...variable } });
		await pi.run("go");
		return { pi, followed };
	}

	const isMember = ({ last }: Inside): boolean => last?.errorMessage === memberLine;

	test("that is stopped without an answer says so in its last message, as a failure", async (t) => {
		const { pi, followed } = await child(t, parent());
		assert.deepEqual([pi.last?.stopReason, pi.last?.errorMessage], ["error", memberLine]);
		assert.equal(followed.end(1), 53);
		assert.equal(process.env["PI_TURN_LIMIT_ROOT"], `${process.pid}.${startOf(process.pid)}.1`);
	});

	test("stays one when it is reloaded after its parent has ended", async (t) => {
		const process = spawn("sleep", ["600"]);
		defer(t, () => process.kill());
		const { pid = 0 } = process;
		const { pi } = await child(t, parent({ pid, start: startOf(pid) }));
		const isOver = once(process, "exit");
		process.kill();
		await isOver;
		await pi.session.reload();
		await pi.run("go on");
		assert.deepEqual([pi.model.requests.length, isMember(pi)], [6, true]);
	});

	test("may be one of any run of its parent", async (t) => {
		const { pi } = await child(t, parent({ run: "12" }));
		assert.equal(isMember(pi), true);
	});

	test("is one of a pi whose name has a parenthesis and a space", async (t) => {
		const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
		defer(t, () => rmSync(folder, { recursive: true }));
		const name = join(folder, "an) agent");
		symlinkSync("/bin/sleep", name);
		const agent = spawn(name, ["600"], { stdio: "ignore" });
		defer(t, () => agent.kill());
		await once(agent, "spawn");
		const pid = agent.pid ?? 0;
		const { pi } = await child(t, parent({ pid, start: startOf(pid) }));
		assert.equal(isMember(pi), true);
	});

	for (const [who, variable] of [
		["a variable of a process that ended long ago", { pid: 4_190_000, start: "1" }],
		["a variable of an earlier process with the same number", { start: "1" }],
		["a variable that does not say when the process started", { start: "" }],
		["a variable of this very process", { pid: process.pid, start: startOf(process.pid) }],
		["a variable with more behind it", { run: "1.x" }],
		["a variable without a number", { pid: "x" as never }],
		["a variable with text before it", { pid: ` ${process.ppid}` as never }],
	] as [string, Parameters<typeof parent>[0]][]) {
		test(`is none that has ${who}`, async (t) => {
			const { pi } = await child(t, parent(variable));
			assert.equal(isMember(pi), false);
			assert.equal(pi.last?.stopReason, "aborted");
		});
	}

	for (const [start, expected] of [
		["", true],
		["1", false],
	] as const) {
		const what = start === "" ? "does not say either" : "does";
		test(`where the system does not say when a process started is ${expected ? "one" : "none"} if the variable ${what}`, async (t) => {
			t.mock.method(process, "kill", () => true);
			const { pi } = await child(t, parent({ pid: 4_190_000, start }));
			assert.equal(isMember(pi), expected);
		});
	}

	for (const [code, expected] of [
		["EPERM", true],
		["ESRCH", false],
	] as const) {
		test(`is ${expected ? "one" : "none"} if the system says ${code} of its parent`, async (t) => {
			t.mock.method(process, "kill", (_pid: number, signal: number) => {
				if (signal === 0) throw Object.assign(new Error(code), { code });
			});
			const { pi } = await child(t, parent());
			assert.equal(isMember(pi), expected);
		});
	}

	test("asks whether its parent lives, and does not end it", async (t) => {
		const kill = t.mock.method(process, "kill");
		await child(t, parent());
		assert.deepEqual(
			kill.mock.calls.map(({ arguments: args }) => args),
			[[process.ppid, 0]],
		);
	});

	test("with a person over rpc is not asked, and in a terminal of its own is", async (t) => {
		const { pi: rpc } = await child(t, parent(), { person: () => false });
		assert.deepEqual([rpc.asked.length, rpc.model.requests.length], [0, 3]);
		await rpc.quit();
		const env = { ...limit(3), ...parent() };
		const tui = await inside(t, { ...endlessly, env, person: () => false, mode: "tui" });
		await tui.run("go");
		assert.equal(tui.asked.length, 1);
	});

	const wrappingUp = { model: [noop, text("My report.")], env: { PI_TURN_LIMIT_GRACE: "1", PI_MAX_TURNS: "2" } };
	const note = "[pi-turn-limit: this answer may be partial; the subagent reached its turn limit.]";

	test("whose answer may be partial says so at its end, and exits like one that has answered", async (t) => {
		const { pi, followed } = await child(t, parent(), wrappingUp);
		assert.equal(pi.session.getLastAssistantText(), `My report.\n\n${note}`);
		assert.deepEqual([followed.end(0), followed.stderr], [0, ""]);
	});

	test("whose answer comes in the final pass says so too", async (t) => {
		const env = { ...limit(1), PI_TURN_LIMIT_POLICY: "synthesize" };
		const { pi, followed } = await child(t, parent(), { model: [noop, text("My report.")], env });
		assert.equal(pi.session.getLastAssistantText(), `My report.\n\n${note}`);
		assert.deepEqual([followed.end(0), followed.stderr], [0, ""]);
	});

	test("does not say so where PI_TURN_LIMIT_PARTIAL_NOTE is false", async (t) => {
		const env = { ...wrappingUp.env, PI_TURN_LIMIT_PARTIAL_NOTE: "false" };
		const { pi } = await child(t, parent(), { ...wrappingUp, env });
		assert.equal(pi.session.getLastAssistantText(), "My report.");
	});

	test("in the same process as its parent says so in its stream too, once", async (t) => {
		await child(t, {}, { model: [text("done")] });
		let streamed = "";
		const env = { ...limit(2), PI_TURN_LIMIT_GRACE: "1" };
		const pi = await inside(t, { model: [noop, text("My report.")], env });
		pi.session.subscribe((event) => {
			if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") return;
			streamed += event.assistantMessageEvent.delta;
		});
		await pi.run("go");
		assert.equal(streamed, `My report.\n\n${note}`);
	});

	test("that ends by itself does not say so", async (t) => {
		const { pi } = await child(t, parent(), { model: [noop, text("My report.")] });
		assert.equal(pi.session.getLastAssistantText(), "My report.");
	});

	test("that is stopped after an answer repeats it, with the note", async (t) => {
		const goesOn = (pi: ExtensionAPI): void => {
			pi.on("agent_end", () => pi.sendUserMessage("go on", { deliverAs: "followUp" }));
		};
		const model = [text("My report. "), noop, noop];
		const { pi, followed } = await child(t, parent(), { model, extensions: [installed, goesOn] });
		assert.equal(pi.session.getLastAssistantText(), `My report.\n\n${note}`);
		assert.deepEqual([pi.last?.stopReason, pi.last?.errorMessage], ["stop", undefined]);
		assert.deepEqual([followed.end(0), followed.stderr], [0, ""]);
	});

	describe("in its final pass", () => {
		const env = { ...limit(1), PI_TURN_LIMIT_POLICY: "synthesize" };
		const goesOn = (pi: ExtensionAPI): void => {
			let left = 1;
			pi.on("agent_end", () => {
				if (left-- > 0) pi.sendUserMessage("go on", { deliverAs: "followUp" });
			});
		};
		const went = "[pi-turn-limit: the subagent had reached its turn limit.]";

		for (const [what, model, stops, expected] of [
			["gives no answer", [noop, text(""), thinks("Hm.")], ["toolUse", "stop", "error"], memberLine],
			["calls tools to the end", times(5, noop), ["toolUse", "toolUse", "toolUse", "error"], memberLine],
			["fails", [noop, fail(400, "No such model.")], ["toolUse", "error"], `400: {"message":"No such model."} ${went}`],
		] as [string, Reply[], string[], string][]) {
			test(`that ${what} says so as a failure`, async (t) => {
				const { pi } = await child(t, parent(), { model, env });
				const replies = pi.session.messages.filter((message) => message.role === "assistant");
				assert.deepEqual(
					replies.map(({ stopReason }) => stopReason),
					stops,
				);
				assert.equal(pi.last?.errorMessage, expected);
			});
		}

		test("and before it leaves a failure of the provider as it is", async (t) => {
			const { pi, followed } = await child(t, parent(), { model: [fail(400, "No such model.")], env });
			assert.equal(pi.last?.errorMessage, '400: {"message":"No such model."}');
			assert.equal(followed.stderr, "");
		});

		test("that is aborted says nothing of the limit", async (t) => {
			const slow = held(text("My"));
			const pi = await inside(t, { model: [noop, text(""), slow], env: { ...env, ...parent() } });
			const run = pi.run("go");
			await pi.model.arrival(3);
			await pi.session.abort();
			slow.release();
			await run;
			assert.equal(pi.last?.stopReason, "aborted");
			assert.doesNotMatch(pi.last.errorMessage ?? "", /limit/);
		});

		test("that answers in its last turn without the note is left as it is", async (t) => {
			const model = [noop, text(""), { ...thinks("Hm."), ...text("My report.") }];
			const { pi } = await child(t, parent(), { model, env: { ...env, PI_TURN_LIMIT_PARTIAL_NOTE: "false" } });
			assert.deepEqual(
				pi.last?.content.map(({ type }) => type),
				["thinking", "text"],
			);
		});

		for (const reply of [text(""), noop]) {
			test(`repeats an answer that it gave before: ${Object.keys(reply).join()}`, async (t) => {
				const model = [text("My report."), ...times(3, reply)];
				const { pi } = await child(t, parent(), { model, env, extensions: [installed, goesOn] });
				assert.equal(pi.session.getLastAssistantText(), `My report.\n\n${note}`);
				assert.deepEqual([pi.last?.stopReason, pi.last?.errorMessage], ["stop", undefined]);
			});
		}
	});

	/** Runs a subagent in the process of its parent; gives its answer as it is streamed. */
	async function streamed(t: TestContext, options: InsideOptions): Promise<string> {
		await inside(t, { ...endlessly, person: () => true });
		const pi = await inside(t, options);
		let answer = "";
		pi.session.subscribe((event) => {
			if (event.type !== "message_update") return;
			const { assistantMessageEvent: part } = event;
			if (part.type === "text_start") answer = "";
			if (part.type === "text_delta") answer += part.delta;
		});
		await pi.run("go");
		return answer;
	}

	test("in the same process says in the stream too that its answer may be partial", async (t) => {
		assert.equal(await streamed(t, wrappingUp), `My report.\n\n${note}`);
	});

	/** Parts of a text that end while a subagent in the process of its parent answers, after `meanwhile`. */
	async function endings(t: TestContext, env: Record<string, string>, meanwhile: string): Promise<unknown[]> {
		await inside(t, { ...endlessly, person: () => true });
		const slow = held(text("My report."));
		const pi = await inside(t, { model: [noop, slow], env, person: () => true });
		const run = pi.run("go");
		await pi.model.arrival(2);
		await pi.run(`/turn-limit ${meanwhile}`);
		const parts = [{ type: "text_delta" }, { type: "text_end" }, { type: "text_end" }];
		for (const assistantMessageEvent of parts)
			await pi.session.extensionRunner.emit({ type: "message_update", assistantMessageEvent } as never);
		slow.release();
		await run;
		return parts;
	}

	test("says so once where a text has several parts, and not where the limit was raised meanwhile", async (t) => {
		const delta = `\n\n${note}`;
		const once = [{ type: "text_delta" }, { type: "text_delta", delta }, { type: "text_end" }];
		assert.deepEqual(await endings(t, wrappingUp.env, "tools 99"), once);
		const env = { ...limit(1), PI_TURN_LIMIT_POLICY: "synthesize" };
		const never = [{ type: "text_delta" }, { type: "text_end" }, { type: "text_end" }];
		assert.deepEqual(await endings(t, env, "+5"), never);
	});

	test("in the same process that ends by itself does not say so in the stream", async (t) => {
		assert.equal(await streamed(t, { ...wrappingUp, env: limit(9) }), "My report.");
	});

	test("in the same process as its parent warns of nothing on standard error", async (t) => {
		const followed = new Followed(t);
		await inside(t, endlessly);
		await inside(t, { ...endlessly, env: { PI_TURN_LIMIT_TOOLS: "-1" }, begins: "new" });
		assert.equal(followed.stderr, "");
	});

	test("in the same process as its parent is one, and leaves exit code and variable to it", async (t) => {
		const { pi: root, followed } = await child(t, {}, { person: () => true, model: [text("done")] });
		const before = process.env["PI_TURN_LIMIT_ROOT"];
		const pi = await inside(t, endlessly);
		await pi.run("go");
		assert.equal(isMember(pi), true);
		assert.deepEqual([followed.end(0), followed.stderr], [0, ""]);
		assert.equal(process.env["PI_TURN_LIMIT_ROOT"], undefined, "the harness has put the child's own variables");
		assert.notEqual(before, undefined);
		await pi.quit();
		await root.quit();
		const next = await inside(t, endlessly);
		await next.run("go");
		assert.equal(isMember(next), false);
		assert.equal(followed.end(0), 53);
	});

	test("a pi names itself and its run to the processes that it starts", async (t) => {
		const seen: (string | undefined)[] = [];
		const looks = (pi: ExtensionAPI): void => {
			pi.on("session_start", () => void seen.push(process.env["PI_TURN_LIMIT_ROOT"]));
			pi.on("tool_call", () => void seen.push(process.env["PI_TURN_LIMIT_ROOT"]));
		};
		const { pi } = await child(
			t,
			{},
			{ extensions: [installed, looks], model: [noop, text("done"), noop, text("done")] },
		);
		await pi.run("again");
		const root = `${process.pid}.${startOf(process.pid)}`;
		assert.deepEqual(seen, [`${root}.0`, `${root}.1`, `${root}.2`]);
	});

	test("a pi names itself without its start where the system does not say it", async (t) => {
		const { readFileSync: real } = fs;
		const read = t.mock.method(fs, "readFileSync", (...args: Parameters<typeof real>) => {
			if (String(args[0]).startsWith("/proc/")) throw new Error("There is no such file.");
			return real(...args);
		});
		syncBuiltinESMExports();
		defer(t, () => {
			read.mock.restore();
			syncBuiltinESMExports();
		});
		await child(t, {}, { model: [text("done")] });
		assert.equal(process.env["PI_TURN_LIMIT_ROOT"], `${process.pid}..1`);
	});

	test("that ends leaves the process to its root", async (t) => {
		const root = await inside(t, endlessly);
		for (const end of ["quits", "quits too"]) {
			const pi = await inside(t, endlessly);
			await pi.run(end);
			assert.equal(isMember(pi), true);
			await pi.quit();
		}
		await root.quit();
	});

	const themed: InsideOptions = { isStartedByPi: false, extensions: [installed, makeTheme] };

	for (const [how, options, expected] of [
		["an extension has made", { isStartedByPi: false }, true],
		["an extension has made, and has bound to nothing", { isStartedByPi: false, begins: "unbound" }, true],
		["an extension has made, and in which another one makes a theme", themed, true],
		["an extension has made in json mode, and in which another one makes a theme", { ...themed, mode: "json" }, true],
		["pi has made in place of another one", { isStartedByPi: false, begins: "new" }, false],
		["pi has made", {}, false],
	] as [string, InsideOptions, boolean][]) {
		test(`is ${expected ? "the session" : "no session"} that ${how}`, async (t) => {
			const { pi } = await child(t, {}, options);
			assert.equal(isMember(pi), expected);
		});
	}

	describe("that reads of a tree", () => {
		const tree = { name: "unknown", limits: { "tree.maxTurns": 9 } };

		async function announced(t: TestContext, announcement: (at: string) => string) {
			const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
			defer(t, () => rmSync(folder, { recursive: true, force: true }));
			const value = `${parent().PI_TURN_LIMIT_ROOT} ${announcement(join(folder, "ledger"))}`;
			return await child(t, { PI_TURN_LIMIT_ROOT: value });
		}

		for (const overruled of [{}, { overruled: {} }]) {
			test(`joins it, and is stopped if the ledger does not know it: ${Object.keys(overruled).join()}`, async (t) => {
				const { pi } = await announced(t, (at) => JSON.stringify({ ...tree, at, ...overruled }));
				assert.equal(pi.model.requests.length, 0);
				assert.match(pi.last?.errorMessage ?? "", /The ledger does not know the tree unknown/);
			});
		}

		for (const wrong of [{ name: 1 }, { name: "" }, { at: 1 }, { limits: 9 }, { limits: undefined }]) {
			test(`has none if that is wrong: ${Object.entries(wrong).join()}`, async (t) => {
				const { pi } = await announced(t, (at) => JSON.stringify({ ...tree, at, ...wrong }));
				assert.deepEqual([isMember(pi), pi.model.requests.length], [true, 3]);
			});
		}

		for (const [minutes, mode, expected] of [
			[59, "print", true],
			[59, "json", true],
			[-59, "print", true],
			[61, "print", false],
			[-61, "print", false],
			[59, "rpc", false],
		] as const) {
			test(`whose agents are gone, and that was used ${minutes} minutes ago, ${expected ? "joins it" : "is a root"} in ${mode} mode`, async (t) => {
				const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
				defer(t, () => rmSync(folder, { recursive: true, force: true }));
				const at = join(folder, "ledger");
				const ledger = await openSqlite({ directory: at, within: folder, now: () => Date.now() - minutes * 60_000 });
				await ledger.join({ scope: "tree", name: "known", caps: {} });
				ledger.close();
				const gone = parent({ pid: 4_190_000, start: "1" }).PI_TURN_LIMIT_ROOT;
				const value = `${gone} ${JSON.stringify({ ...tree, name: "known", at })}`;
				const { pi } = await child(t, { PI_TURN_LIMIT_ROOT: value }, { mode });
				assert.equal(isMember(pi), expected);
				const { name } = JSON.parse(/ (.*)/.exec(process.env["PI_TURN_LIMIT_ROOT"] ?? "")?.[1] ?? "{}") as {
					name?: string;
				};
				assert.equal(name, expected ? "known" : undefined);
			});
		}

		for (const wrong of ["", "{broken", "null", '"unknown"']) {
			test(`has none if that is ${JSON.stringify(wrong)}`, async (t) => {
				const { pi } = await announced(t, () => wrong);
				assert.deepEqual([isMember(pi), pi.model.requests.length], [true, 3]);
			});
		}
	});

	describe("that a program made which an agent started", () => {
		const gone = { pid: 4_190_000, start: "1" };
		const person = (): boolean => false;

		for (const [how, extension, options, expected] of [
			["is one where the extension is installed", installed, {}, true],
			["is one where the extension is installed and there is a UI", installed, { person }, true],
			["is none where the program limits it", programs({ turns: 3 }).limit, {}, false],
		] as const) {
			test(how, async (t) => {
				const { pi, followed } = await child(t, parent(), { isPi: false, extensions: [extension], ...options });
				assert.deepEqual([isMember(pi), pi.asked.length, followed.listeners], [expected, 0, []]);
				assert.equal(process.env["PI_TURN_LIMIT_ROOT"], parent().PI_TURN_LIMIT_ROOT);
			});
		}

		for (const [how, options, expected] of [
			["joins its tree", {}, true],
			["is a root if there is a UI", { person, mode: "print" }, false],
		] as const) {
			test(`and that begins when that agent has ended ${how}`, async (t) => {
				const folder = mkdtempSync(join(tmpdir(), "pi-test-"));
				defer(t, () => rmSync(folder, { recursive: true, force: true }));
				const at = join(folder, "ledger");
				const ledger = await openSqlite({ directory: at, within: folder });
				await ledger.join({ scope: "tree", name: "known", caps: {} });
				ledger.close();
				const tree = { name: "known", at, limits: { "tree.maxTurns": 9 } };
				const variable = { PI_TURN_LIMIT_ROOT: `${parent(gone).PI_TURN_LIMIT_ROOT} ${JSON.stringify(tree)}` };
				const { pi } = await child(t, variable, { isPi: false, ...options });
				assert.equal(isMember(pi), expected);
			});
		}
	});

	for (const [what, options] of [
		["embeds pi", { isPi: false }],
		["is run by node and embeds pi", { isPi: true, title: "node" }],
		["is run by bun and embeds pi", { isPi: true, title: "/usr/bin/bun x" }],
		["is called pi and embeds pi", { isPi: false, title: "pi" }],
		["is called pi-hole and embeds pi", { isPi: true, title: "pi-hole" }],
		["is called tapi and embeds pi", { isPi: true, title: "tapi" }],
	] as [string, InsideOptions & { title?: string }][]) {
		test(`a program that ${what} has roots only, and no variable`, async (t) => {
			const { title, ...more } = options;
			const titled = (): void => {
				if (title) process.title = title;
			};
			await inside(t, { ...endlessly, ...more, extensions: [titled, installed] });
			const pi = await inside(t, { ...endlessly, ...more, extensions: [titled, installed] });
			await pi.run("go");
			assert.equal(isMember(pi), false);
			assert.equal(process.env["PI_TURN_LIMIT_ROOT"], undefined);
		});
	}
});

describe("pi reloads its extensions", () => {
	/** An answer that comes only when the dialog is closed, and is a yes. */
	function closed({ signal }: { signal: AbortSignal | undefined }): Promise<boolean> {
		return new Promise((resolve) => signal?.addEventListener("abort", () => resolve(true)));
	}

	test("in the middle of a run: it counts on, and the limit holds", async (t) => {
		const slow = held(noop);
		const pi = await inside(t, { model: [noop, slow, ...times(5, noop)], env: limit(3), person: () => false });
		const run = pi.run("go");
		await pi.model.arrival(2);
		await pi.session.reload();
		slow.release();
		await run;
		assert.equal(pi.model.requests.length, 3);
		assert.deepEqual(
			pi.asked.map(({ message }) => message.split("\n")[0]),
			["You've used 3 turns. Continue?"],
		);
		assert.deepEqual(pi.errors, []);
		assert.equal(processMemory.legacies.size, 0);
	});

	test("with other settings: calls may repeat that might not before", async (t) => {
		const model = [...times(2, noop), text("done"), ...times(4, noop)];
		const env = { PI_TURN_LIMIT_REPEATS: "2" };
		const pi = await inside(t, { model, env, person: () => false });
		await pi.run("go");
		process.env["PI_TURN_LIMIT_REPEATS_EXCEPT"] = "noop";
		await pi.session.reload();
		await pi.run("again");
		assert.deepEqual([pi.model.requests.length, pi.asked.length], [3 + 5, 0]);
	});

	test("while the question is open: it is asked again, and the first dialog is closed", async (t) => {
		const pi = await inside(t, {
			...endlessly,
			person: (asked, n) => (n === 1 ? closed(asked) : n === 2),
		});
		const run = pi.run("go");
		await pi.until("the question", () => pi.asked.length > 0);
		await pi.session.reload();
		await run;
		assert.equal(pi.asked.length, 3);
		assert.equal(pi.model.requests.length, 6);
	});

	test("while the question before the first turn is open: it is asked again, and the turn waits for the answer", async (t) => {
		const pi = await inside(t, {
			model: [text("done")],
			env: limit(0),
			person: (asked, n) => (n === 1 ? closed(asked) : true),
		});
		const run = pi.run("go");
		await pi.until("the question", () => pi.asked.length > 0);
		await pi.session.reload();
		await run;
		assert.equal(pi.asked.length, 2);
		assert.equal(pi.model.requests.length, 1);
	});

	test("leaves no timer behind", async (t) => {
		const { setTimeout: real, clearTimeout: realClear } = globalThis;
		const open = new Set<unknown>();
		t.mock.method(globalThis, "setTimeout", (...args: Parameters<typeof setTimeout>) => {
			const timer = real(...args);
			if (args[1] === 10_000) open.add(timer);
			return timer;
		});
		t.mock.method(globalThis, "clearTimeout", (timer: NodeJS.Timeout | undefined) => {
			open.delete(timer);
			realClear(timer);
		});
		const pi = await inside(t, { ...endlessly, person: () => false });
		await pi.session.reload();
		assert.equal(open.size, 0);
	});

	test("between two runs: the next one is guarded as before, and what the command has set holds", async (t) => {
		const pi = await inside(t, { ...endlessly, person: () => false });
		await pi.run("/turn-limit 2");
		await pi.session.reload();
		await pi.run("go");
		assert.equal(pi.model.requests.length, 2);
		assert.equal(pi.asked.length, 1);
	});

	test("a call that waits for an answer is not made, because its tools are gone", async (t) => {
		const env = { PI_TURN_LIMIT_TOOLS: "1" };
		const two = calls({ name: "noop", args: {} }, { name: "noop", args: {} });
		const pi = await inside(t, {
			...{ model: [two, text("done")], env },
			person: (asked, n) => (n === 1 ? closed(asked) : true),
		});
		const run = pi.run("go");
		await pi.until("the question", () => pi.asked.length > 0);
		await pi.session.reload();
		await run;
		const results = pi.model.requests[1]?.texts("tool") ?? [];
		assert.equal(results[1], "Not run: the extensions were reloaded meanwhile. Call it again if it is still needed.");
	});

	test("and ours does not come back: the run goes on after ten seconds", async (t) => {
		const { setTimeout: real } = globalThis;
		const waits: number[] = [];
		t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
			if (ms === 10_000) waits.push(ms);
			return Reflect.apply(real, undefined, [then, ms === 10_000 ? 0 : ms, ...args]) as unknown;
		});
		const pi = await inside(t, { model: [noop, text("done")], env: limit(3), person: () => false });
		await pi.session.extensionRunner.emit({ type: "session_shutdown", reason: "reload" });
		await pi.run("go");
		assert.deepEqual(waits, [10_000]);
		assert.deepEqual(pi.errors, []);
		assert.equal(pi.model.requests.length, 2);
		assert.deepEqual(pi.asked, []);
	});
});
