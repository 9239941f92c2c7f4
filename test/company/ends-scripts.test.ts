/** What a script gets: the exit code of everything it asked for, and lines that say who speaks. */
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { bash, calls, endless, held, host, mark, reloader, root, text, type HostOptions } from "../harness/index.ts";
import { fated } from "./ends-runs.ts";
import { lines, MODES, ours } from "./ends-seen.ts";

describe("exit code", () => {
	for (const [prompts, code] of [
		[["wraps up"], 54],
		[["wraps up", "ends"], 54],
		[["ends", "wraps up"], 54],
		[["wraps up", "runs on"], 53],
		[["runs on", "wraps up"], 53],
	] as const) {
		for (const mode of MODES) {
			test(`${code} after: ${prompts.join(", ")} (${mode})`, async (t) => {
				const pi = await host(t, fated);
				assert.equal((await pi[mode](...prompts)).code, code);
			});
		}
	}

	test("54 for a run that happens to end in its last turns, and stdout has its answer", async (t) => {
		const pi = await host(t, fated);
		const { stdout, stderr, code } = await pi.print("wraps up");
		assert.deepEqual({ stdout, code }, { stdout: "My report.\n", code: 54 });
		assert.match(
			stderr,
			/^pi-turn-limit: finished after the wrap-up near the limit of 3 turns \(PI_MAX_TURNS\); .*\n$/,
		);
	});

	for (const [prompts, code] of [
		[["wraps up", "fails"], 1],
		[["fails", "wraps up"], 54],
		[["runs on", "fails"], 53],
	] as const) {
		test(`${code} after: ${prompts.join(", ")}, where pi's own is 1 if the last run failed (print)`, async (t) => {
			const pi = await host(t, fated);
			assert.equal((await pi.print(...prompts)).code, code);
		});
	}

	test("143 after a wrap-up and SIGTERM", async (t) => {
		const model = [mark(), mark(), text("My report."), held()];
		const pi = await host(t, { model, env: fated.env });
		const run = pi.start("-p", "first", "second");
		await pi.model.arrival(4);
		run.child.kill("SIGTERM");
		assert.equal((await run.ended()).code, 143);
	});

	test("0 after a wrap-up with a person", async (t) => {
		const pi = await host(t, fated);
		const rpc = await pi.rpc();
		await rpc.run("wraps up");
		const { stderr, code } = await rpc.close();
		assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
		const tui = await pi.terminal();
		tui.type("wraps up\r");
		await tui.shows("My report.");
		await tui.lacks("Turns:");
		tui.press("ctrl+d");
		assert.equal(await tui.exit(), 0);
	});
});

describe("every line of ours on stderr says who speaks", () => {
	const FILE = "turn-limit.json";
	const done = { model: endless(text("done")) };

	/** Leaves an entry under our name that is not ours. */
	function vandal(pi: ExtensionAPI): void {
		pi.on("agent_settled", () => pi.appendEntry("turn-limit", { version: 1, values: { maxTurns: -1 } }));
	}

	/** Makes what our handler of `turn_start` needs fail: handlers of an event have one `ctx`. */
	function breaks(pi: ExtensionAPI): void {
		pi.on("turn_start", (_event, ctx) => {
			const get = (): never => {
				throw new Error("broken on purpose");
			};
			Object.defineProperty(ctx, "hasUI", { get });
		});
	}

	/** What is wrong, and what the lines have to name. */
	const WRONG: Record<string, HostOptions & { named: readonly string[]; prompts?: readonly string[] }> = {
		"bad flags and variables": {
			...done,
			env: { PI_TURN_LIMIT_COLOUR: "red", PI_TURN_LIMIT_POLICY: "never" },
			args: ["--turn-limit-grace=1.5"],
			named: ["PI_TURN_LIMIT_COLOUR", "PI_TURN_LIMIT_POLICY", "--turn-limit-grace"],
		},
		"bad values and unknown keys in a file": {
			...done,
			agentFiles: { [FILE]: { policy: 3, colour: "red" } },
			named: ["policy", "colour"],
		},
		"a file that is not JSON": { ...done, agentFiles: { [FILE]: "{ maxTurns" }, named: [FILE] },
		"a project's file that raises a limit": {
			...done,
			files: { [`.pi/${FILE}`]: { maxTurns: 99, maxToolCalls: "unlimited", policy: "synthesize" } },
			named: ["maxTurns", "policy"],
		},
		"a file that has changed when pi reloads": {
			model: (_request, n) =>
				n === 1 ? calls(bash(`echo '{ "maxTurns": 99 }' > "$PI_CODING_AGENT_DIR/${FILE}"`)) : text("done"),
			agentFiles: { [FILE]: { maxTurns: 30 } },
			after: [reloader],
			prompts: ["go", "/reload-now"],
			named: ["maxTurns"],
		},
		"a command that means nothing": { ...done, prompts: ["/turn-limit nonsense", "go"], named: ["nonsense"] },
		"our own failure": { ...done, before: [breaks], named: ["broken on purpose"] },
	};

	for (const [what, { named, prompts = ["go"], ...options }] of Object.entries(WRONG)) {
		for (const mode of MODES) {
			test(`${what} (${mode})`, async (t) => {
				const pi = await host(t, options);
				const { stderr } = await pi[mode](...prompts);
				assert.deepEqual(lines(stderr), ours(stderr));
				for (const name of named) assert.ok(stderr.includes(name), stderr);
			});
		}
	}

	test("damaged entries in the session", async (t) => {
		const pi = await host(t, { ...done, session: true, after: [vandal] });
		await pi.print("go");
		const { stderr } = await pi.print("--continue", "go");
		assert.deepEqual(lines(stderr), ours(stderr));
		assert.match(stderr, /damaged/);
	});

	test("a second copy", async (t) => {
		const pi = await host(t, { ...done, after: ["./copy"] });
		const isPart = (path: string): boolean => !/^(node_modules|\.git|\.hosts|test)\b/.test(relative(root, path));
		cpSync(root, join(pi.cwd, "copy"), { recursive: true, filter: isPart });
		const { stderr } = await pi.print("go");
		assert.deepEqual(lines(stderr), ours(stderr));
		assert.match(stderr, /twice/);
	});
});
