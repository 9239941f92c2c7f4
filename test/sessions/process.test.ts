/** What the extension does to the process of a script: its exit code, its standard error, its listeners. */
import assert from "node:assert/strict";
import fs, { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { turnLimit } from "../../src/index.ts";
import installed from "../../src/hosts/pi/extension.ts";
import { log, write } from "../../src/hosts/pi/outcome/exit.ts";
import { Followed, type Inside, inside, type InsideOptions } from "../harness/inside.ts";
import { endless, fail, type Reply, type Request, text } from "../harness/model.ts";
import { noop } from "../harness/session.ts";

/** A model that does what the last prompt says, and a limit of 2 turns of which the second comes with the wrap-up. */
const fated = {
	model: (request: Request): Reply => {
		const prompt = request.texts("user").findLast((words) => ["works", "ends", "wraps up"].includes(words));
		const isTold = request.texts("user").at(-1)?.startsWith("Only") ?? false;
		if (prompt === "ends" || (prompt === "wraps up" && isTold)) return text("My report.");
		return noop;
	},
	env: { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "1" },
};

const stopLine =
	"pi-turn-limit: stopped at the limit of 2 turns (PI_MAX_TURNS), without an answer; spent: 2 turns, 2 tool calls, $0.02.\n";
const partialLine =
	"pi-turn-limit: finished after the wrap-up near the limit of 2 turns (PI_MAX_TURNS); spent: 2 turns, 1 tool call, $0.02.\n";

/** The tree of a root that lives. */
function parent(): string {
	const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8").split(") ").at(-1) ?? "";
	return `${process.ppid}.${stat.split(" ")[19]}.1`;
}

/** A script with these prompts. */
async function script(t: TestContext, prompts: readonly string[], options: InsideOptions = {}) {
	const followed = new Followed(t);
	const pi = await inside(t, { ...fated, ...options });
	for (const prompt of prompts) await pi.run(prompt);
	return { pi, followed };
}

/** Adds a message when pi has settled, so that the reason of a stop is not the last message. */
function speaks(pi: ExtensionAPI): void {
	pi.on("agent_settled", () => pi.sendMessage({ customType: "peer", content: "I was here.", display: true }));
}

/** Leaves a message when the session ends, and starts no run. */
function leaves(pi: ExtensionAPI): void {
	pi.on("session_shutdown", () => pi.sendMessage({ customType: "peer", content: "Good night.", display: true }));
}

function explains(pi: ExtensionAPI): void {
	pi.on("message_end", ({ message }) =>
		message.role === "assistant" && message.stopReason === "aborted"
			? { message: { ...message, errorMessage: "I know better." } }
			: undefined,
	);
}

test("a script that is stopped three times leaves two listeners: for the code and for the line", async (t) => {
	const { followed } = await script(t, ["works", "works", "works"]);
	assert.equal(followed.listeners.length, 2);
});

test("a reload between two prompts that are stopped takes no line from either: ours, and the one that pi shows", async (t) => {
	const { pi, followed } = await script(t, ["works"]);
	await pi.session.reload();
	await pi.run("works");
	assert.equal(followed.stderr, stopLine);
	followed.end(1);
	assert.equal(followed.stderr, stopLine);
});

test("a prompt to another session of the process does not write the line that pi is about to show", async (t) => {
	const { followed } = await script(t, ["works"]);
	const other = await inside(t, { isPi: false });
	await other.run("go");
	assert.equal(followed.stderr, "");
	followed.end(1);
	assert.equal(followed.stderr, "");
});

test("a session whose settings could not be enforced gives the process to the next one, which is no member", async (t) => {
	const followed = new Followed(t);
	const bad = await inside(t, { agentFiles: { "turn-limit.json": { budget: { at: "nonsense" } } } });
	await bad.session.extensionRunner.emit({ type: "session_shutdown", reason: "new" });
	const pi = await inside(t, { ...fated, begins: "new" });
	await pi.run("works");
	assert.equal(followed.end(1), 53);
});

describe("the exit code", () => {
	for (const [prompts, code] of [
		[["ends"], 0],
		[["works"], 53],
		[["wraps up"], 54],
		[["wraps up", "works"], 53],
		[["works", "wraps up"], 53],
		[["works", "ends"], 53],
	] as const) {
		for (const mode of ["print", "json"] as const) {
			test(`is ${code} after: ${prompts.join(", ")} (${mode})`, async (t) => {
				const { exitCode } = process;
				const { followed } = await script(t, prompts, { mode });
				assert.equal(process.exitCode, exitCode, "it is pi's until the end");
				assert.equal(followed.end(0), code);
			});
		}
	}

	for (const [prompt, pis, code] of [
		["works", 1, 53],
		["wraps up", 1, 1],
		["works", 143, 143],
		["works", 2, 2],
	] as const) {
		test(`is ${code} where pi's own is ${pis} and the prompt was: ${prompt}`, async (t) => {
			const { followed } = await script(t, [prompt]);
			assert.equal(followed.end(pis), code);
		});
	}

	for (const options of [
		{ mode: "rpc" },
		{ mode: "tui" },
		{ isPi: false },
		{ person: () => false },
	] as InsideOptions[]) {
		test(`is pi's own where it is not a script: ${Object.entries(options).map(String).join()}`, async (t) => {
			const { followed } = await script(t, ["works", "wraps up"], options);
			assert.deepEqual([followed.end(0), followed.stderr, followed.listeners.length], [0, "", 0]);
		});
	}

	test("is 1 after a failure of ours, in json mode too", async (t) => {
		const breaks = (pi: ExtensionAPI): void => {
			pi.on("turn_start", (_event, ctx) => {
				Object.defineProperty(ctx, "signal", {
					get: () => {
						throw new Error("broken on purpose");
					},
				});
			});
		};
		const { followed } = await script(t, ["works"], { mode: "json", extensions: [breaks, installed] });
		assert.equal(process.exitCode, 1);
		assert.match(followed.stderr, /^pi-turn-limit: failed and stopped the run: Error: broken on purpose\n$/);
		assert.equal(followed.end(1), 1);
	});
});

describe("the line about a stop", () => {
	test("is pi's to print where it is the last message, which print mode shows", async (t) => {
		const { pi, followed } = await script(t, ["works"]);
		followed.end(1);
		assert.equal(followed.stderr, "");
		assert.equal(`${pi.last?.errorMessage}\n`, stopLine);
		assert.equal(pi.last?.stopReason, "aborted");
	});

	for (const [where, extensions, code] of [
		["another message comes after it, so that pi shows nothing", [installed, speaks], 0],
		["another extension has put its own reason in the last message", [installed, explains], 1],
		["another extension ends the process before pi can show it", [installed], 2],
	] as const) {
		test(`is printed at the end where ${where}`, async (t) => {
			const { followed } = await script(t, ["works"], { extensions: [...extensions] });
			assert.equal(followed.stderr, "");
			followed.end(code);
			assert.equal(followed.stderr, stopLine);
		});
	}

	test("is not printed again where another extension leaves a message when pi has shown it", async (t) => {
		const { pi, followed } = await script(t, ["works"], { extensions: [leaves, installed] });
		await pi.quit();
		assert.notEqual(pi.session.messages.at(-1), pi.last, "the message is there");
		followed.end(1);
		assert.equal(followed.stderr, "");
	});

	for (const [what, extensions, line] of [
		["is not printed again where another extension ends the process with 0 when pi has shown it", [installed], ""],
		["is printed where pi had nothing to show and ends with 0", [installed, speaks], stopLine],
	] as const) {
		test(what, async (t) => {
			const handle = (): void => {};
			const signals = ["SIGTERM", "SIGHUP"] as const;
			for (const signal of signals) process.on(signal, handle);
			const { followed } = await script(t, ["works"], { extensions: [...extensions] });
			for (const signal of signals) process.off(signal, handle);
			assert.equal(followed.end(0), 53);
			assert.equal(followed.stderr, line);
		});
	}

	test("is printed before the next prompt, and not again at the end", async (t) => {
		const { followed } = await script(t, ["works", "ends"]);
		assert.equal(followed.stderr, stopLine);
		followed.end(0);
		assert.equal(followed.stderr, stopLine);
	});

	test("is printed once for every stop", async (t) => {
		const { followed } = await script(t, ["works", "works", "works"]);
		assert.equal(followed.stderr, stopLine + stopLine);
		followed.end(1);
		assert.equal(followed.stderr, stopLine + stopLine);
	});

	test("is printed at once in json mode", async (t) => {
		const { followed } = await script(t, ["works"], { mode: "json" });
		assert.equal(followed.stderr, stopLine);
	});

	test("is printed at once where the answer may be partial", async (t) => {
		const { followed } = await script(t, ["wraps up"]);
		assert.equal(followed.stderr, partialLine);
	});

	for (const reason of ["new", "resume", "fork"] as const)
		test(`is not printed before the run that an extension starts, and is when the session is left for another (${reason})`, async (t) => {
			const { pi, followed } = await script(t, ["works"]);
			await pi.session.sendUserMessage("go on");
			assert.equal(followed.stderr, "");
			await pi.session.extensionRunner.emit({ type: "session_shutdown", reason });
			assert.equal(followed.stderr, stopLine);
		});

	for (const reason of ["quit", "reload"] as const) {
		test(`is left to the end of the process at the session's end (${reason})`, async (t) => {
			const { pi, followed } = await script(t, ["works"]);
			await pi.session.extensionRunner.emit({ type: "session_shutdown", reason });
			assert.equal(followed.stderr, "");
		});
	}

	test("every line of a warning says who speaks", async (t) => {
		const env = { ...fated.env, PI_TURN_LIMIT_POLICY: "stop", PI_TURN_LIMIT_BELL: "loud" };
		const { followed } = await script(t, [], { env });
		assert.match(followed.stderr, /^(pi-turn-limit: PI_TURN_LIMIT_(POLICY|BELL): .*\n){2}$/);
	});
});

describe("a limit that was not understood", () => {
	const bad = { model: endless(text("done")), env: { PI_MAX_TURNS: "abc", PI_TURN_LIMIT_BELL: "loud" } };
	const what = 'PI_MAX_TURNS: expected a whole number from 0, or unlimited, got "abc".';
	for (const mode of ["print", "json"] as const) {
		test(`ends a script before its first request, with one line and 1 (${mode})`, async (t) => {
			const { pi, followed } = await script(t, [], { ...bad, mode });
			assert.deepEqual([followed.stderr, followed.exits], ["", []]);
			await pi.session.prompt("go");
			assert.equal(followed.stderr, `pi-turn-limit: ${what} Not started.\n`);
			assert.deepEqual([followed.exits[0], pi.model.requests.length], [1, 0]);
		});
	}

	const file = "turn-limit.json";
	for (const [limit, options, line] of [
		["an empty flag", { flags: { "turn-limit": "" } }, '--turn-limit: expected COUNT, got "".'],
		[
			"two variables that are no limits",
			{ env: { PI_MAX_TURNS: "abc", PI_TURN_LIMIT_TOOLS: "-1" } },
			'PI_MAX_TURNS: expected COUNT, got "abc". PI_TURN_LIMIT_TOOLS: expected COUNT, got "-1".',
		],
		[
			"an amount with a comma",
			{ env: { PI_TURN_LIMIT_COST: "2,50" } },
			'PI_TURN_LIMIT_COST: expected dollars such as 2.50 or $2.50, or unlimited, got "2,50".',
		],
		[
			"a variable close to a limit's",
			{ env: { PI_TURN_LIMIT_COSTS: "5" } },
			"PI_TURN_LIMIT_COSTS: unknown variable, did you mean PI_TURN_LIMIT_COST?",
		],
		[
			"a value of the user's file that is no limit",
			{ agentFiles: { [file]: { maxCost: "0.02 $", bell: "loud" } } },
			'maxCost in USER_FILE: expected dollars such as 2.50 or $2.50, or unlimited, got "0.02 $".',
		],
		[
			"a budget that cannot be used",
			{ agentFiles: { [file]: { budget: { at: 5, account: "a", maxTurns: 5 } } } },
			"budget.at in USER_FILE: expected an address, got a number. The budget cannot be used.",
		],
	] as [string, InsideOptions, string][]) {
		test(`ends a script before its first request: ${limit}`, async (t) => {
			const { pi, followed } = await script(t, [], { env: {}, ...options });
			await pi.session.prompt("go");
			const count = "a whole number from 0, or unlimited";
			const named = line.replaceAll("COUNT", count).replace("USER_FILE", join(pi.folder, file));
			assert.equal(followed.stderr, `pi-turn-limit: ${named} Not started.\n`);
			assert.deepEqual([followed.exits[0], pi.model.requests.length], [1, 0]);
		});
	}

	test("ends no process of a program that loads us as pi does, whose runs are aborted", async (t) => {
		const { pi, followed } = await script(t, [], { ...bad, isPi: false });
		await pi.session.prompt("go");
		assert.deepEqual([followed.stderr, followed.exits, pi.model.requests.length], ["", [], 0]);
	});

	test("ends no process in a subagent of the same process, whose runs are aborted", async (t) => {
		const followed = new Followed(t);
		await inside(t);
		const member = await inside(t, bad);
		await member.session.prompt("go");
		assert.deepEqual([followed.stderr, followed.exits, member.model.requests.length], ["", [], 0]);
	});

	test("is named to whoever listens to a subagent over rpc, whose runs are aborted", async (t) => {
		const env = { ...bad.env, PI_TURN_LIMIT_ROOT: parent() };
		const { pi, followed } = await script(t, [], { ...bad, env, person: () => true });
		await pi.session.prompt("go");
		assert.deepEqual(pi.notifications[0], { message: what, type: "warning" });
		assert.deepEqual([followed.exits, pi.model.requests.length], [[], 0]);
	});

	test("is named to a person with what is used instead, and the run begins", async (t) => {
		const { pi, followed } = await script(t, ["go"], { ...bad, person: () => false });
		const loud = 'PI_TURN_LIMIT_BELL: expected true or false, got "loud". Using on (default).';
		assert.deepEqual(pi.notifications, [{ message: `${what} Using 25 (default).\n${loud}`, type: "warning" }]);
		assert.deepEqual([followed.exits, pi.model.requests.length], [[], 1]);
	});

	test("does not keep `/turn-limit` from answering, which names it and makes the exit code 1", async (t) => {
		const { followed } = await script(t, ["/turn-limit tools"], bad);
		const [first, second] = followed.stderr.split("\n");
		assert.match(first ?? "", /^pi-turn-limit: tool calls +0 tool calls, unlimited +default$/);
		assert.equal(second, `pi-turn-limit: ${what} No run would start.`);
		assert.deepEqual([followed.exits, process.exitCode], [[], 1]);
	});
});

describe("a command that sets a limit that was not understood", () => {
	const env = { PI_TURN_LIMIT_COST: "5 USD" };
	const bad = 'PI_TURN_LIMIT_COST: expected dollars such as 2.50 or $2.50, or unlimited, got "5 USD".';

	test("lets a script run, with the bad value named; going back to the other places does not", async (t) => {
		const { pi, followed } = await script(t, ["/turn-limit cost 5", "ends"], { ...fated, env });
		const said = `pi-turn-limit: Cost limit set to $5.00.\npi-turn-limit: ${bad} Using $5.00 (/turn-limit).\n`;
		assert.deepEqual([followed.stderr, process.exitCode, pi.model.requests.length], [said, undefined, 1]);
		await pi.run("/turn-limit cost 6");
		assert.equal(followed.stderr, `${said}pi-turn-limit: Cost limit set to $6.00.\n`);
		await pi.run("/turn-limit default");
		assert.ok(followed.stderr.endsWith(`\npi-turn-limit: ${bad} No run would start.\n`), followed.stderr);
		await pi.session.prompt("ends");
		assert.ok(followed.stderr.endsWith(`\npi-turn-limit: ${bad} Not started.\n`), followed.stderr);
		assert.deepEqual([followed.exits[0], pi.model.requests.length], [1, 1]);
	});

	test("lets a subagent run that listens over rpc, and says nothing of runs where it sets another", async (t) => {
		const member = { ...env, PI_TURN_LIMIT_ROOT: parent() };
		const { pi } = await script(t, [], { ...fated, env: member, person: () => true });
		await pi.run("/turn-limit tools 5");
		const said = [bad, "Tool limit set to 5."];
		const messages = () => pi.notifications.map(({ message }) => message);
		assert.deepEqual(messages(), said);
		await pi.run("/turn-limit cost 5");
		const named = [`${bad} Using $5.00 (/turn-limit).`, "Cost limit set to $5.00."];
		assert.deepEqual(messages().toSorted(), [...said, ...named].toSorted());
		await pi.session.prompt("ends");
		assert.equal(pi.model.requests.length, 1);
	});
});

describe("a command that is not carried out", () => {
	test("makes the exit code of a script 1, and no prompt after it runs", async (t) => {
		const { pi, followed } = await script(t, ["/turn-limit foo"]);
		assert.equal(process.exitCode, 1);
		await pi.session.prompt("ends");
		assert.match(
			followed.stderr,
			/^pi-turn-limit: .*\npi-turn-limit: A command before this prompt failed\. Not started\.\n$/,
		);
		assert.deepEqual(followed.exits, [1]);
	});

	test("ends nothing where it is not a script", async (t) => {
		const { exitCode } = process;
		for (const options of [{ person: () => false }, { isPi: false }]) {
			const { pi, followed } = await script(t, ["/turn-limit foo", "ends"], options);
			assert.deepEqual([followed.exits, process.exitCode, pi.model.requests.length], [[], exitCode, 1]);
			t.mock.restoreAll();
		}
	});

	test("a command that is carried out leaves the exit code", async (t) => {
		const { exitCode } = process;
		const { followed } = await script(t, ["/turn-limit 7", "/turn-limit", "ends"]);
		assert.deepEqual([followed.exits, process.exitCode], [[], exitCode]);
	});
});

test("a line on stderr holds nothing that a terminal obeys", (t) => {
	const followed = new Followed(t);
	log("one\u001b[31m\ntwo\u009b");
	assert.equal(followed.stderr, "pi-turn-limit: one\uFFFD[31m\npi-turn-limit: two\uFFFD\n");
});

describe("an extension that wakes the agent whenever it has settled", () => {
	/** Until the process would have ended, or so many times. */
	const waker =
		(followed: Followed, left = 5) =>
		(pi: ExtensionAPI): void => {
			pi.on("agent_settled", () => {
				if (followed.exits.length === 0 && left-- > 0) pi.sendUserMessage("go on");
			});
		};

	/** Waits of whole seconds take no time; gives how long they were. */
	function hurry(t: TestContext): number[] {
		const waits: number[] = [];
		const { setTimeout: real } = globalThis;
		t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) => {
			const isOurs = [1000, 2000, 4000, 8000].includes(ms);
			if (isOurs) waits.push(ms);
			return Reflect.apply(real, undefined, [then, isOurs ? 0 : ms, ...args]) as unknown;
		});
		return waits;
	}

	async function woken(t: TestContext, options: InsideOptions = {}, prompt = "works") {
		const waits = hurry(t);
		const followed = new Followed(t);
		const { extensions = [installed] } = options;
		const pi = await inside(t, { ...fated, ...options, extensions: [...extensions, waker(followed)] });
		await pi.run(prompt);
		await pi.until("rest", () => pi.session.isIdle);
		return { pi, followed, waits };
	}

	test("ends a script after the third refused run, with the line and 53", async (t) => {
		const { pi, followed, waits } = await woken(t);
		await pi.until("exit", () => followed.exits.length > 0);
		assert.deepEqual(followed.exits, [53]);
		assert.equal(followed.stderr, stopLine);
		assert.equal(followed.stdout, "");
		assert.deepEqual(waits, [1000]);
		assert.equal(pi.model.requests.length, 2);
	});

	test("ends a script with its answer on stdout", async (t) => {
		const { pi, followed } = await woken(t, {}, "ends");
		await pi.until("exit", () => followed.exits.length > 0);
		assert.deepEqual(followed.exits, [53]);
		assert.equal(followed.stdout, "My report.\n");
	});

	for (const [taken, stdout] of [
		[["SIGTERM", "SIGHUP"], ""],
		[["SIGTERM"], "My report.\n"],
		[["SIGHUP"], "My report.\n"],
	] as const) {
		test(`after pi has taken back its handlers of ${taken.join(" and ")}, the script writes ${JSON.stringify(stdout)}`, async (t) => {
			const [handle, other] = [(): void => {}, (): void => {}];
			for (const signal of ["SIGTERM", "SIGHUP"]) for (const one of [other, handle]) process.on(signal, one);
			t.after(() => {
				for (const signal of ["SIGTERM", "SIGHUP"]) for (const one of [other, handle]) process.off(signal, one);
			});
			const shows = (pi: ExtensionAPI): void => {
				pi.on("agent_settled", () => {
					for (const signal of taken) process.off(signal, handle);
				});
			};
			const { pi, followed } = await woken(t, { extensions: [shows, installed] }, "ends");
			await pi.until("exit", () => followed.exits.length > 0);
			assert.equal(followed.stdout, stdout);
		});
	}

	test("leaves stdout to pi in json mode", async (t) => {
		const { pi, followed } = await woken(t, { mode: "json" }, "ends");
		await pi.until("exit", () => followed.exits.length > 0);
		assert.equal(followed.stdout, "");
	});

	for (const [whose, limit] of [
		["that loads us as pi does", installed],
		["with limits of its own", turnLimit({ turns: 2, grace: 1 })],
	] as const) {
		test(`ends no process of a program ${whose}, and waits longer each time`, async (t) => {
			const { pi, followed, waits } = await woken(t, { isPi: false, extensions: [limit] });
			await pi.until("the longest wait", () => waits.includes(4000));
			assert.deepEqual([followed.exits, followed.stdout], [[], ""]);
			assert.deepEqual(waits.slice(0, 3), [1000, 2000, 4000]);
			assert.equal(pi.model.requests.length, 2);
		});
	}

	test("ends a script also where it keeps one run going, with the line and 53", async (t) => {
		hurry(t);
		const followed = new Followed(t);
		const goesOn = (pi: ExtensionAPI): void => {
			const more = { type: "custom_message", customType: "peer", content: "Go on.", display: true } as const;
			pi.on("turn_end", () => (followed.exits.length > 0 ? undefined : { entries: [more], continue: true }));
		};
		const env = { ...fated.env, PI_TURN_LIMIT_POLICY: "synthesize" };
		const model = (_request: Request, n: number): Reply => (n === 3 ? text("My report.") : noop);
		const pi = await inside(t, { model, env, extensions: [installed, goesOn] });
		await pi.run("go");
		assert.deepEqual(followed.exits, [53]);
		assert.match(
			followed.stderr,
			/^pi-turn-limit: stopped at the limit of 2 turns \(PI_MAX_TURNS\), with a last answer; .*/,
		);
	});

	for (const [prompt, code, stdout] of [
		["ends", 0, /^My report\.\n\n\[pi-turn-limit: .*\]\n$/],
		["works", 53, /^$/],
	] as const) {
		test(`ends a subagent with ${code} after: ${prompt}`, async (t) => {
			const stat = readFileSync(`/proc/${process.ppid}/stat`, "utf8").split(") ").at(-1) ?? "";
			const env = { ...fated.env, PI_TURN_LIMIT_ROOT: `${process.ppid}.${stat.split(" ")[19]}.1` };
			const { pi, followed } = await woken(t, { env }, prompt);
			await pi.until("exit", () => followed.exits.length > 0);
			assert.deepEqual(followed.exits, [code]);
			assert.match(followed.stdout, stdout);
		});
	}

	for (const [what, act] of [
		["Escape", (pi: Inside) => pi.session.abort()],
		["the end of the session", (pi: Inside) => pi.quit()],
	] as const) {
		test(`waits no longer after ${what}`, async (t) => {
			const { setTimeout: real } = globalThis;
			let wait = (): void => {};
			const waiting = new Promise<void>((resolve) => (wait = resolve));
			t.mock.method(globalThis, "setTimeout", (then: () => void, ms = 0, ...args: unknown[]) =>
				ms === 1000 ? wait() : (Reflect.apply(real, undefined, [then, ms, ...args]) as unknown),
			);
			const followed = new Followed(t);
			const pi = await inside(t, { ...fated, isPi: false, extensions: [installed, waker(followed, 2)] });
			const run = pi.run("works");
			await waiting;
			await act(pi);
			await run;
		});
	}

	test("starts no third run where there is a person", async (t) => {
		const { pi, followed, waits } = await woken(t, { person: () => false });
		await pi.until("the second refusal", () => pi.session.isIdle && waits.length > 0);
		assert.deepEqual([followed.exits, followed.stdout], [[], ""]);
		assert.deepEqual(waits, [1000]);
		assert.equal(pi.model.requests.length, 2);
		const actions: string[] = [];
		for (const source of ["extension", "interactive", "extension"] as const)
			actions.push((await pi.session.extensionRunner.emitInput("x", undefined, source)).action);
		assert.deepEqual(
			actions,
			["handled", "continue", "continue"],
			"the person's prompt, and what comes with it, is not dropped",
		);
	});
});

describe("a pi that is too old", () => {
	/** Handlers of an event have one `ctx`: here it lacks what pi 0.74 has not, and its session manager what came with 0.87. */
	function ages(pi: ExtensionAPI): void {
		const age = (_event: unknown, ctx: object): void => {
			const young = Reflect.get(ctx, "sessionManager") as object;
			const old = new Proxy(young, {
				get: (target, name) =>
					name === "buildSessionProjection" ? undefined : (Reflect.get(target, name, target) as unknown),
			});
			Object.defineProperty(ctx, "sessionManager", { value: old });
			Object.defineProperty(ctx, "isProjectTrusted", { value: undefined });
		};
		for (const event of ["session_start", "input", "turn_start", "tool_call", "agent_settled"])
			(pi.on as (name: string, handler: unknown) => void)(event, age);
	}
	const old = { extensions: [ages, installed], model: endless(text("done")) };
	const tooOld = "This session is not guarded: pi-turn-limit needs pi 0.87 or newer.";

	for (const [how, options] of [
		["a variable", { env: { PI_MAX_TURNS: "3" } }],
		["a flag", { flags: { "turn-limit-tools": "3" } }],
	] as [string, InsideOptions][]) {
		test(`does not run a script that asks for a limit by ${how}`, async (t) => {
			const followed = new Followed(t);
			await inside(t, { ...old, ...options }).catch(() => {});
			assert.deepEqual(followed.exits, [1]);
			assert.equal(followed.stderr, `pi-turn-limit: ${tooOld}\n`);
		});
	}

	for (const env of [{}, { PI_TURN_LIMIT_POLICY: "abort" }]) {
		test(`runs a script that asks for no limit, and says that there is none: ${Object.keys(env).join()}`, async (t) => {
			const followed = new Followed(t);
			const pi = await inside(t, { ...old, env });
			await pi.run("go");
			assert.deepEqual(followed.exits, []);
			assert.equal(followed.stderr, `pi-turn-limit: ${tooOld}\n`);
			assert.equal(pi.model.requests.length, 1);
		});
	}

	test("tells a person who asks for a limit, and runs", async (t) => {
		const followed = new Followed(t);
		const pi = await inside(t, { ...old, env: { PI_MAX_TURNS: "3" }, person: () => false });
		await pi.run("go");
		assert.deepEqual(followed.exits, []);
		assert.deepEqual(pi.notifications, [{ message: tooOld, type: "warning" }]);
		assert.equal(pi.model.requests.length, 1);
	});

	test("runs nothing under the limits of a program, which would not hold", async (t) => {
		const pi = await inside(t, {
			...old,
			extensions: [ages, turnLimit({ turns: 3 })],
			isPi: false,
			person: () => false,
		});
		await pi.run("go");
		assert.equal(pi.model.requests.length, 0);
		assert.deepEqual(pi.notifications, [{ message: tooOld, type: "warning" }]);
	});

	test("is the reason that a program gets for its first prompt", async (t) => {
		const limit = turnLimit({ turns: 3 });
		const { session, model } = await inside(t, { ...old, extensions: [ages, limit], isPi: false, begins: "unbound" });
		for (const prompt of ["go", "again"]) await assert.rejects(limit.prompt(session, prompt), { message: tooOld });
		assert.equal(model.requests.length, 0);
	});

	test("answers /turn-limit with the reason why it does nothing", async (t) => {
		const pi = await inside(t, { ...old, person: () => false });
		pi.notifications.length = 0;
		Object.defineProperty(pi.session.sessionManager, "buildSessionProjection", { value: undefined });
		await pi.run("/turn-limit");
		assert.deepEqual(pi.notifications, [{ message: tooOld, type: "error" }]);
	});
});

test("a failure of the provider is pi's to report", async (t) => {
	const { followed } = await script(t, ["works"], { model: endless(fail(400)) });
	assert.deepEqual([followed.end(1), followed.stderr], [1, ""]);
});

describe("what is written to standard output", () => {
	/** A pipe that answers each write with the next of these: how many bytes it takes, or why it takes none. */
	function pipe(t: TestContext, answers: readonly (number | string)[]) {
		const waits: unknown[] = [];
		let [taken, n] = ["", 0];
		t.mock.method(Atomics, "wait", (...args: unknown[]) => void waits.push(args[3]));
		const { mock } = t.mock.method(fs, "writeSync", (fd: number, rest: Buffer) => {
			assert.equal(fd, 1);
			const answer = answers[n++];
			if (typeof answer !== "number") throw Object.assign(new Error(answer), { code: answer });
			taken += rest.subarray(0, answer).toString();
			return answer;
		});
		syncBuiltinESMExports();
		t.after(() => {
			mock.restore();
			syncBuiltinESMExports();
		});
		return { waits, taken: () => taken };
	}

	for (const [what, answers, waits, taken] of [
		["is all of it, in as many parts as the pipe takes", [2, 1, 7], [], "My wörds."],
		["waits a moment for a pipe that is full", [2, "EAGAIN", "EAGAIN", 8], [10, 10], "My wörds."],
		["ends where its reader goes, as head does", [2, "EPIPE"], [], "My"],
	] as const) {
		test(what, (t) => {
			const seen = pipe(t, answers);
			write("My wörds.");
			assert.deepEqual([seen.waits, seen.taken()], [waits, taken]);
		});
	}

	test("fails where it cannot be written", (t) => {
		pipe(t, ["EIO"]);
		assert.throws(() => write("My words"), { code: "EIO" });
	});
});
