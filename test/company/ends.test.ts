/** Whatever other extensions, the provider and the model do: how a run ended is told, and told right. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import {
	endless,
	fail,
	held,
	host,
	mark,
	spy,
	text,
	thinks,
	times,
	type HostOptions,
	type Reply,
	type Rpc,
	type Script,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";
import { reply } from "../settings/status.ts";
import { METERS, PASSES } from "./ends-runs.ts";
import { ends, lines, MODES, ours, records } from "./ends-seen.ts";

const ORDERS = ["before", "after"] as const;
const limit2 = { PI_MAX_TURNS: "2", PI_TURN_LIMIT_GRACE: "0" };

describe("the line on stderr is there, whatever another extension adds", () => {
	/** Adds something at every event of some kinds: ADDS_AT says when, ADDS what. */
	function adds(pi: ExtensionAPI): void {
		const note = { customType: "note", content: "A note.", display: true };
		for (const event of process.env["ADDS_AT"]?.split(",") ?? []) {
			pi.on(event as "turn_end", ({ entries }) => {
				switch (process.env["ADDS"]) {
					case "a message":
						return pi.sendMessage(note);
					case "an entry":
						return pi.appendEntry("note", "A note.");
					default:
						return { entries: [...entries, { type: "custom_message", ...note }] };
				}
			});
		}
	}

	for (const [what, at] of [
		["a message", "agent_settled"],
		["a message for the transcript", "turn_end"],
		["a message", "session_shutdown"],
		["a message", "turn_end,agent_end"],
		["an entry", "turn_end,agent_end,agent_settled"],
	] as const) {
		for (const [mode, order] of [
			["print", "before"],
			["print", "after"],
			["json", "after"],
		] as const) {
			test(`${what} in ${at}, by one that is loaded ${order} us (${mode})`, async (t) => {
				const env = { ...limit2, ADDS: what, ADDS_AT: at };
				const pi = await host(t, { model: endless(), env, [order]: [adds] });
				const { stderr, code } = await pi[mode]("go");
				assert.match(
					stderr,
					/^pi-turn-limit: stopped at the limit of 2 turns \(PI_MAX_TURNS\), without an answer; .*\n$/,
				);
				assert.equal(code, 53);
				assert.equal(pi.model.requests.length, 2);
			});
		}
	}

	test("after every prompt that a limit stopped", async (t) => {
		const env = { ...limit2, ADDS: "a message", ADDS_AT: "agent_settled" };
		const pi = await host(t, { model: endless(), env, after: [adds] });
		const { stderr } = await pi.print("first", "second");
		assert.match(stderr, /^(pi-turn-limit: stopped at the limit of 2 turns .*\n){2}$/);
	});

	/** Wakes pi once after the run. */
	function wakesOnce(pi: ExtensionAPI): void {
		let left = 1;
		pi.on("agent_settled", () => {
			const note = { customType: "wake-up", content: "Go on.", display: true };
			if (left-- > 0) pi.sendMessage(note, { triggerTurn: true });
		});
	}

	for (const mode of MODES) {
		test(`a wake-up does not take the line of the run that was stopped away (${mode})`, async (t) => {
			const pi = await host(t, { model: endless(), env: limit2, after: [wakesOnce] });
			const { stderr, code } = await pi[mode]("go");
			assert.equal(ours(stderr).filter((line) => line.includes("spent: 2 turns, 2 tool calls")).length, 1, stderr);
			assert.deepEqual(lines(stderr), ours(stderr));
			assert.equal(code, 53);
		});
	}
});

describe("a provider that fails in the final pass", () => {
	const gone = fail(400, "No such model");
	for (const [how, meter, replies] of [
		["in its first turn, out of turns", "turns", [gone]],
		["in its first turn, out of tool calls", "toolCalls", [gone]],
		["in its second turn", "turns", [mark(), gone]],
		["until pi gives up", "turns", times(2, fail(529, "No such model, it is overloaded"))],
	] as const) {
		const { work, env, limit } = PASSES[meter];
		const options: HostOptions = {
			...{ model: [...work, ...replies], env, after: [spy] },
			settings: { retry: { maxRetries: 1 } },
		};
		const end = ["failed", meter, 3];
		const said = new RegExp(`^pi-turn-limit: failed at the limit of ${limit} `);

		test(`${how}: print says which limit it was and why it failed, and exits with 53`, async (t) => {
			const pi = await host(t, options);
			const { stdout, stderr, code } = await pi.print("go");
			const isSaid = ours(stderr).map((line) => said.test(line));
			assert.deepEqual({ ends: ends(pi), isSaid, stdout, code }, { ends: [end], isSaid: [true], stdout: "", code: 53 });
			assert.match(stderr, /No such model/);
		});

		test(`${how}: json says which limit it was, records it, and exits with 53`, async (t) => {
			const pi = await host(t, options);
			const { stderr, code, events } = await pi.json("go");
			const isSaid = ours(stderr).map((line) => said.test(line));
			assert.deepEqual(
				{ ends: ends(pi), records: records(events), isSaid, code },
				{ ends: [end], records: [end], isSaid: [true], code: 53 },
			);
		});
	}
});

describe("in the final pass", () => {
	const NO_ANSWERS: Record<string, Reply> = {
		"an empty reply": text(""),
		"white space": text(" \n"),
		"thinking alone": thinks("What do I know?"),
		"a reply that is cut off at the maximal length": { ...text("I have found out th"), stop: "length" },
	};

	for (const [what, none] of Object.entries(NO_ANSWERS)) {
		for (const meter of what === "thinking alone" ? METERS : (["turns"] as const)) {
			const { work, env, limit } = PASSES[meter];

			test(`${what} is no answer, and the model is asked once more (${meter})`, async (t) => {
				const pi = await host(t, { model: [...work, none, text("My answer.")], env, after: [spy] });
				const { stdout, code } = await pi.print("go");
				assert.equal(pi.model.turns.length, work.length + 2);
				assert.deepEqual({ stdout, code }, { stdout: "My answer.\n", code: 53 });
				assert.deepEqual(ends(pi), [["synthesized", meter, 3]]);
			});

			test(`${what}, twice, is the end without an answer (${meter})`, async (t) => {
				const pi = await host(t, { model: [...work, none, none], env, after: [spy] });
				const { stderr, code, events } = await pi.json("go");
				assert.equal(pi.model.turns.length, work.length + 2);
				assert.deepEqual(ends(pi), [["exhausted", meter, 3]]);
				assert.deepEqual(records(events), [["exhausted", meter, 3]]);
				assert.match(stderr, new RegExp(`^pi-turn-limit: stopped at the limit of ${limit} .*\n$`));
				assert.equal(code, 53);
			});
		}
	}

	for (const [what, replies] of [
		["a refused call and then an empty reply", [mark(), text("")]],
		["an empty reply and then a refused call", [text(""), mark()]],
	] as const) {
		test(`${what} are no answer`, async (t) => {
			const { work, env } = PASSES.turns;
			const pi = await host(t, { model: [...work, ...replies], env, after: [spy] });
			const { stdout, code } = await pi.print("go");
			assert.equal(pi.model.turns.length, 5);
			assert.equal(pi.marks().length, 3);
			assert.deepEqual({ stdout: stdout.trim(), code }, { stdout: "", code: 53 });
			assert.deepEqual(ends(pi), [["exhausted", "turns", 3]]);
		});
	}

	test("text after thinking is an answer", async (t) => {
		const { work, env } = PASSES.turns;
		const model = [...work, { ...thinks("What do I know?"), ...text("My answer.") }];
		const pi = await host(t, { model, env, after: [spy] });
		assert.equal((await pi.print("go")).stdout, "My answer.\n");
		assert.equal(pi.model.turns.length, 4);
		assert.deepEqual(ends(pi), [["synthesized", "turns", 3]]);
	});

	test("a person who said no is told of a reply without an answer too", async (t) => {
		const { work, env } = PASSES.turns;
		const pi = await host(t, { model: [...work, ...times(2, thinks("What do I know?"))], env, after: [spy] });
		const rpc = await pi.rpc({ answer: "no" });
		await rpc.run("go");
		assert.equal(pi.model.turns.length, 5);
		assert.deepEqual(ends(pi), [["exhausted", "turns", 3]]);
		assert.match(rpc.notifications.map(({ message }) => message).join("\n"), /without an answer/);
	});
});

describe("the final answer stays on stdout when another extension goes on after it", () => {
	function followsUpAtTheEndOfATurn(pi: ExtensionAPI): void {
		pi.on("turn_end", () => pi.sendUserMessage("Go on.", { deliverAs: "followUp" }));
	}

	function followsUpAtTheEndOfALoop(pi: ExtensionAPI): void {
		pi.on("agent_end", () => pi.sendUserMessage("Go on.", { deliverAs: "followUp" }));
	}

	function continuesTurns(pi: ExtensionAPI): void {
		pi.on("turn_end", ({ entries }) => ({
			entries: [...entries, { type: "custom_message", customType: "more", content: "Go on.", display: true }],
			continue: true,
		}));
	}

	function continuesRuns(pi: ExtensionAPI): void {
		pi.on("agent_before_settle", ({ entries }) => ({
			entries: [...entries, { type: "custom_message", customType: "more", content: "Go on.", display: true }],
			continue: true,
		}));
	}

	/** A goal loop that gives up after two more runs. */
	function prompts(pi: ExtensionAPI): void {
		let left = 2;
		pi.on("agent_settled", () => {
			if (left-- > 0) pi.sendUserMessage("Go on.");
		});
	}

	/** The same with a message of its own. */
	function wakes(pi: ExtensionAPI): void {
		let left = 2;
		pi.on("agent_settled", () => {
			const note = { customType: "wake-up", content: "Go on.", display: true };
			if (left-- > 0) pi.sendMessage(note, { triggerTurn: true });
		});
	}

	const { work, env } = PASSES.turns;

	/** Works, answers, and does this whenever it is asked to go on. */
	const answering =
		(then: Reply): Script =>
		(_request, n) =>
			n <= work.length ? mark() : n === work.length + 1 ? text("My answer.") : then;

	/** How often the model is asked: runs that are started after the stop get nothing, the present one its second turn. */
	for (const [extension, requests] of [
		[followsUpAtTheEndOfATurn, 5],
		[followsUpAtTheEndOfALoop, 5],
		[continuesTurns, 5],
		[continuesRuns, 5],
		[prompts, 4],
		[wakes, 4],
	] as const) {
		for (const order of ORDERS) {
			test(`${extension.name}, loaded ${order} us, and the model calls a tool (print)`, async (t) => {
				const pi = await host(t, { model: answering(mark()), env, [order]: [extension] });
				const { stdout, stderr, code } = await pi.print("go");
				assert.equal(pi.model.requests.length, requests);
				assert.equal(pi.marks().length, 3);
				assert.deepEqual({ stdout, code }, { stdout: "My answer.\n", code: 53 });
				assert.match(
					stderr,
					/^pi-turn-limit: stopped at the limit of 3 turns \(PI_MAX_TURNS\), with a last answer; .*/,
				);
				assert.deepEqual(lines(stderr), ours(stderr));
			});
		}

		test(`${extension.name}: the run counts as answered (json)`, async (t) => {
			const pi = await host(t, { model: answering(mark()), env, after: [spy, extension] });
			const { stderr, code, events } = await pi.json("go");
			assert.deepEqual(ends(pi)[0], ["synthesized", "turns", 3]);
			assert.deepEqual(records(events)[0], ["synthesized", "turns", 3]);
			assert.match(stderr, /^pi-turn-limit: stopped at the limit of 3 turns \(PI_MAX_TURNS\), with a last answer; .*/);
			assert.equal(code, 53);
		});
	}

	for (const [what, then] of [
		["the same answer", text("My answer.")],
		["an empty reply", text("")],
		["a failure of the provider", fail(400, "No such model")],
	] as const) {
		test(`followsUpAtTheEndOfALoop, and the model's next is ${what} (print)`, async (t) => {
			const pi = await host(t, { model: answering(then), env, after: [spy, followsUpAtTheEndOfALoop] });
			const { stdout, code } = await pi.print("go");
			assert.equal(pi.model.requests.length, 5);
			assert.deepEqual({ stdout, code }, { stdout: "My answer.\n", code: 53 });
			assert.deepEqual(ends(pi), [["synthesized", "turns", 3]]);
		});
	}
});

describe("a limit that is raised in the final pass", () => {
	/** One run over rpc: a no at the limit, and this command while the model gives its nth reply. */
	async function commanded(t: Parameters<typeof during>[0], n: number, command: string, options: During) {
		return during(t, n, (rpc: Rpc) => reply(rpc, command), { ...options, after: [spy], answer: "no" });
	}
	type During = HostOptions & { model: Script };

	for (const [command, meter] of [
		["+10", "turns"],
		["50", "turns"],
		["unlimited", "turns"],
		["tools +10", "toolCalls"],
		["tools 50", "toolCalls"],
		["tools unlimited", "toolCalls"],
	] as const) {
		const { work, env } = PASSES[meter];

		test(`/turn-limit ${command} lets the model work on, and the run ends by itself`, async (t) => {
			const model = [...work, ...times(2, mark("again")), text("Finished.")];
			const { pi, rpc } = await commanded(t, work.length + 1, command, { model, env });
			assert.equal(pi.marks().filter((label) => label === "again").length, 2);
			assert.equal(pi.model.turns.length, work.length + 3);
			assert.equal(rpc.questions.length, 1);
			assert.deepEqual(ends(pi), [["completed"]]);
		});
	}

	for (const [command, meter] of [
		["+10", "turns"],
		["tools 50", "toolCalls"],
	] as const) {
		test(`/turn-limit ${command} in its second turn lets the model work on too`, async (t) => {
			const { work, env } = PASSES[meter];
			const model = [...work, mark(), ...times(2, mark("again")), text("Finished.")];
			const { pi } = await commanded(t, work.length + 2, command, { model, env });
			assert.equal(pi.marks().filter((label) => label === "again").length, 2);
			assert.deepEqual(ends(pi), [["completed"]]);
		});
	}

	test("holds where it is now", async (t) => {
		const { pi, rpc } = await commanded(t, 4, "+2", { model: endless(), env: PASSES.turns.env });
		assert.deepEqual(
			rpc.questions.map(({ message }) => message?.split("\n")[0]),
			["You've used 3 turns. Continue?", "You've used 5 turns. Continue?"],
		);
		// The turn of the final pass in which the limit was raised came on top of it.
		assert.equal(pi.marks().length, 5 + 1);
		assert.equal(pi.model.requests.length, 5 + 1 + 2);
		assert.deepEqual(ends(pi), [["exhausted", "turns", 5]]);
	});

	for (const command of ["2", "tools 50"]) {
		test(`/turn-limit ${command} does not raise it: tools stay refused`, async (t) => {
			const { pi } = await commanded(t, 4, command, { model: endless(), env: PASSES.turns.env });
			assert.equal(pi.marks().length, 3);
			assert.equal(pi.model.requests.length, 5);
		});
	}

	test("in the terminal too", async (t) => {
		const { work, env } = PASSES.turns;
		const slow = held(mark("again"));
		const pi = await host(t, { model: [...work, slow, text("Finished.")], env });
		const tui = await pi.terminal();
		tui.type("go\r");
		await tui.shows("You've used 3 turns. Continue?");
		tui.press("escape");
		await pi.model.arrival(4);
		tui.type("/turn-limit +10\r");
		await tui.shows("10 turns more");
		slow.release();
		await tui.shows("Finished.");
		assert.equal(pi.marks().at(-1), "again");
	});
});
