import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { wrapUp as wrapUpAbout } from "../../src/core/to-model.ts";
import type { Max } from "../../src/core/meters.ts";
import {
	calls,
	endless,
	fail,
	host,
	type Host,
	type HostOptions,
	mark,
	outcomes,
	overflow,
	type Rpc,
	type Script,
	spy,
	text,
	times,
} from "../harness/index.ts";
import { during } from "../harness/scenes.ts";

/** The sentence that only the wrap-up has. */
const wrapUp = (remaining: Max): string => wrapUpAbout("turns", remaining);
const advice = wrapUp(1).split("\n").at(-1) ?? "";

/** How often the advice stands in each request of a turn. */
function seen({ model }: Host): number[] {
	return model.turns.map((request) => request.count(advice));
}

function limits(turns: number | "unlimited", grace?: number): Record<string, string> {
	return { PI_MAX_TURNS: String(turns), ...(grace === undefined ? {} : { PI_TURN_LIMIT_GRACE: String(grace) }) };
}

/** Works until it is told to wrap up. */
const obedient: Script = (request) => (request.count(advice) > 0 ? text("My report.") : mark());

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

interface Entry {
	type: string;
	customType: string;
	content: string;
	display: boolean;
}

const finish = { name: "finish", args: {} };
const go = { name: "go", args: {} };

/** How each run ended. */
function kinds(pi: Host): string[] {
	return outcomes(pi).map(({ kind }) => kind);
}

// A model that is told in time

test("a model that wraps up when it is told ends the run by itself, before the limit", async (t) => {
	const pi = await host(t, { model: obedient, env: limits(5, 2), after: [spy] });
	const { stdout, code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.equal(pi.model.requests.length, 4);
	assert.equal(stdout, "My report.\n");
	assert.equal(code, 54);
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

test("a model that ignores the wrap-up gets its 5 turns and no more, and was told once", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(5, 2), after: [spy] });
	const { code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
	assert.equal(pi.model.requests.length, 5);
	assert.equal(code, 53);
	assert.deepEqual(kinds(pi), ["exhausted"]);
});

test("the wrap-up is the last message of its request, from the user, and says how many turns remain", async (t) => {
	const pi = await host(t, { model: obedient, env: limits(5, 2) });
	await pi.print("go");
	assert.equal(pi.model.turns.at(-1)?.body.messages.at(-1)?.role, "user");
	assert.equal(pi.model.turns.at(-1)?.last, wrapUp(2));
});

test("the wrap-up stands in the transcript, once", async (t) => {
	const pi = await host(t, { model: obedient, env: limits(5, 2) });
	const { events } = await pi.json("go");
	const entries = events.flatMap(({ type, entry }) => (type === "entry_appended" ? [entry as Entry] : []));
	const messages = entries.filter(({ type }) => type === "custom_message");
	assert.deepEqual(
		messages.map(({ customType, content, display }) => ({ customType, content, display })),
		[{ customType: "turn-limit", content: wrapUp(2), display: true }],
	);
});

test("the wrap-up is shown in the terminal", async (t) => {
	const pi = await host(t, { model: obedient, env: limits(3, 1) });
	const tui = await pi.terminal();
	tui.type("go\r");
	const screen = await tui.shows("My report.");
	assert.match(screen, /Only 1 turn left in this run\. Begin nothing new\./);
});

test("the text of the user's own file takes the place of the built-in one", async (t) => {
	const agentFiles = { "turn-limit.json": { wrapUpMessage: "Land the plane." } };
	const pi = await host(t, { model: endless(), env: limits(3, 1), agentFiles });
	await pi.print("go");
	assert.deepEqual(
		pi.model.turns.map((request) => request.count("Land the plane.")),
		[0, 0, 1],
	);
	assert.deepEqual(seen(pi), [0, 0, 0]);
});

// It never costs a turn

test("a run that finishes by itself on the turn after which the advice would be due is left alone", async (t) => {
	const pi = await host(t, { model: [...times(2), text("finished")], env: limits(5, 2), after: [spy] });
	const { stdout, code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0]);
	assert.equal(pi.model.requests.length, 3);
	assert.deepEqual({ stdout, code }, { stdout: "finished\n", code: 0 });
	assert.deepEqual(kinds(pi), ["completed"]);
});

test("a run that a tool ends on the turn after which the advice would be due is left alone", async (t) => {
	const model = [...times(2), calls(finish)];
	const pi = await host(t, { model, env: limits(5, 2), after: [spy, finisher] });
	const { code } = await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0]);
	assert.equal(pi.model.requests.length, 3);
	assert.equal(code, 0);
	assert.deepEqual(kinds(pi), ["completed"]);
});

test("a batch of which only one call would end the run goes on, and so the advice comes", async (t) => {
	const model = [...times(2), calls(finish, go), text("My report.")];
	const pi = await host(t, { model, env: limits(5, 2), after: [spy, finisher] });
	await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

// Once per round

test("a yes at the limit arms the wrap-up again, once for the new round", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(5, 2) });
	const rpc = await pi.rpc({ answer: (_question, n) => n === 1 });
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1, 1, 1, 1, 2, 2]);
});

test("a yes at the limit takes back the wrap-up: a run that then finishes early is completed", async (t) => {
	const model = [...times(5), text("finished")];
	const pi = await host(t, { model, env: limits(5, 2), after: [spy] });
	const rpc = await pi.rpc({ answer: "yes" });
	await rpc.run("go");
	assert.deepEqual(kinds(pi), ["completed"]);
});

test("a new prompt arms the wrap-up again", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(3, 1) });
	await pi.print("go", "again");
	assert.deepEqual(seen(pi), [0, 0, 1, 1, 1, 2]);
});

// When it is due

// The rest of this table stands in test/core/wrap-up.test.ts.
for (const [turns, grace, expected] of [
	[4, 2, [0, 0, 1, 1]],
	[4, 99, [0, 1, 1, 1]],
	[4, 0, [0, 0, 0, 0]],
	["unlimited", 2, [0, 0, 0, 0]],
] as const) {
	const first = expected.indexOf(1 as never) + 1;
	test(`limit ${turns}, grace ${grace}: ${first ? `the advice is in request ${first}` : "no advice"}`, async (t) => {
		const model: Script = (_request, n) => (turns === "unlimited" && n === 4 ? text("finished") : mark());
		const pi = await host(t, { model, env: limits(turns, grace) });
		await pi.print("go");
		assert.deepEqual(seen(pi), expected);
	});
}

test("limit 1, grace 1: no advice, in any round", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(1, 1) });
	const rpc = await pi.rpc({ answer: (_question, n) => n <= 2 });
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0, 0]);
});

test("a limit that is lowered in the middle of a run brings the advice with the next request", async (t) => {
	const lower = (rpc: Rpc) => rpc.prompt("/turn-limit 4");
	const { pi } = await during(t, 3, lower, { model: endless(), env: limits(10, 2), answer: "no" });
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
});

test("a limit that is raised before the advice was due puts it off", async (t) => {
	const raise = (rpc: Rpc) => rpc.prompt("/turn-limit 7");
	const { pi } = await during(t, 3, raise, { model: endless(), env: limits(5, 2), answer: "no" });
	assert.deepEqual(seen(pi), [0, 0, 0, 0, 0, 1, 1]);
});

test("a limit that is raised after the advice does not bring it a second time in the same round", async (t) => {
	const raise = (rpc: Rpc) => rpc.prompt("/turn-limit 7");
	const { pi } = await during(t, 4, raise, { model: endless(), env: limits(5, 2), answer: "no" });
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1, 1, 1]);
});

test("a limit that is lifted in the middle of a run lifts the wrap-up", async (t) => {
	const model = [...times(5), text("finished")];
	const lift = (rpc: Rpc) => rpc.prompt("/turn-limit unlimited");
	const { pi } = await during(t, 3, lift, { model, env: limits(5, 2) });
	assert.deepEqual(seen(pi), [0, 0, 0, 0, 0, 0]);
});

// Compaction and retries

const small: HostOptions = {
	modelFields: { contextWindow: 10_000 },
	settings: { compaction: { reserveTokens: 2_000, keepRecentTokens: 1 } },
};
const full = { ...mark(), usage: { prompt: 9_000 } };

/** How often a summary stands in each request of a turn. */
function summarized({ model }: Host): number[] {
	return model.turns.map((request) => request.count("A summary."));
}

test("advice that a compaction takes out of the model's sight is given once more", async (t) => {
	const pi = await host(t, { ...small, model: [...times(3), full, mark()], env: limits(5, 2) });
	await pi.print("go");
	assert.deepEqual(summarized(pi), [0, 0, 0, 0, 1]);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

test("advice that was given once more stays in the model's sight while the round lasts", async (t) => {
	const pi = await host(t, { ...small, model: [...times(3), full, ...times(3)], env: limits(7, 4) });
	await pi.print("go");
	assert.deepEqual(summarized(pi), [0, 0, 0, 0, 1, 1, 1]);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1, 1, 1]);
});

test("advice that falls together with a compaction reaches the model once", async (t) => {
	const pi = await host(t, { ...small, model: [...times(2), full, ...times(2)], env: limits(5, 2) });
	await pi.print("go");
	assert.deepEqual(summarized(pi), [0, 0, 0, 1, 1]);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

test("a compaction before the advice is due brings none", async (t) => {
	const pi = await host(t, { ...small, model: [mark(), full, ...times(3)], env: limits(5, 2) });
	await pi.print("go");
	assert.deepEqual(summarized(pi), [0, 0, 1, 1, 1]);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

test("a request with the advice that fails is repeated with it", async (t) => {
	const pi = await host(t, { model: [...times(3), fail(529), ...times(2)], env: limits(5, 2) });
	await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1, 1]);
});

test("a request with the advice that overflows the context is repeated with it", async (t) => {
	const pi = await host(t, { ...small, model: [...times(3), overflow(), mark()], env: limits(4, 1) });
	await pi.print("go");
	assert.deepEqual(summarized(pi), [0, 0, 0, 0, 1]);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

// The user's own messages

for (const messages of [["left"], ["left", "right"]]) {
	test(`the advice is in the very next request also when ${messages.length} of the user's are queued`, async (t) => {
		const steer = async (rpc: Rpc) => {
			for (const message of messages) await rpc.steer(message);
		};
		const { pi } = await during(t, 3, steer, { model: endless(), env: limits(5, 2), answer: "no" });
		assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
		assert.deepEqual(pi.model.turns.at(-1)?.texts("user"), ["go", wrapUp(2), ...messages]);
	});
}

test("the advice comes when only a message of the user keeps the loop going", async (t) => {
	const model = [...times(2), text("finished?"), text("My report.")];
	const steer = (rpc: Rpc) => rpc.steer("and now?");
	const { pi } = await during(t, 3, steer, { model, env: limits(5, 2), after: [spy] });
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

test("the advice comes when only a follow-up of the user keeps the loop going", async (t) => {
	const model = [...times(2), text("finished?"), text("My report.")];
	const follow = (rpc: Rpc) => rpc.followUp("and now?");
	const { pi } = await during(t, 3, follow, { model, env: limits(5, 2), after: [spy] });
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.deepEqual(pi.model.turns.at(-1)?.texts("user").at(-1), "and now?");
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

// Other extensions

/** Adds a message of its own after every turn. */
function chatty(pi: ExtensionAPI): void {
	pi.on("turn_end", ({ entries }) => ({
		entries: [...entries, { type: "custom_message", customType: "chatty", content: "By the way.", display: true }],
	}));
}

for (const place of ["before", "after"] as const) {
	test(`a message that an extension ${place} us adds at the same boundary arrives too`, async (t) => {
		const pi = await host(t, { model: times(3), env: limits(3, 1), [place]: [chatty] });
		await pi.print("go");
		assert.deepEqual(seen(pi), [0, 0, 1]);
		assert.equal(pi.model.turns[2]?.count("By the way."), 2);
	});
}

/** Lets a run go on, once, that would have finished. */
function insistent(pi: ExtensionAPI): void {
	let left = 1;
	pi.on("turn_end", ({ toolResults, entries }) => {
		const message = { type: "custom_message", customType: "insistent", content: "Go on.", display: true } as const;
		return toolResults.length === 0 && left-- > 0 ? { entries: [...entries, message], continue: true } : undefined;
	});
}

for (const place of ["before", "after"] as const) {
	test(`the advice comes when only an extension ${place} us keeps the loop going`, async (t) => {
		const model = [...times(2), text("finished?"), text("My report.")];
		const after = place === "after" ? [spy, insistent] : [spy];
		const pi = await host(t, { model, env: limits(5, 2), before: place === "before" ? [insistent] : [], after });
		await pi.print("go");
		assert.deepEqual(seen(pi), [0, 0, 0, 1]);
		assert.deepEqual(kinds(pi), ["wrapped_up"]);
	});
}

/** Starts another run when the first has settled. */
function restarts(pi: ExtensionAPI): void {
	let left = 1;
	pi.on("agent_settled", () => {
		if (left-- > 0) pi.sendUserMessage("go on");
	});
}

test("a run that an extension starts goes on in the same round: the advice comes when it is due", async (t) => {
	const model = [...times(2), text("finished"), text("My report.")];
	const pi = await host(t, { model, env: limits(5, 2), after: [spy, restarts] });
	await pi.print("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1]);
	assert.deepEqual(kinds(pi), ["completed", "wrapped_up"]);
});

// Defaults and settings

test("where nobody can be asked the grace is 2 by default", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(5) });
	await pi.json("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

test("where a person can be asked there is no wrap-up by default", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0, 0, 0, 0]);
});

test("/turn-limit grace sets it for the session", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(5) });
	const rpc = await pi.rpc({ answer: "no" });
	await rpc.prompt("/turn-limit grace 3");
	await rpc.run("go");
	assert.deepEqual(rpc.notifications[0], { message: "Grace set to 3.", type: "info" });
	assert.deepEqual(seen(pi), [0, 0, 1, 1, 1]);
});

test("a grace that is widened in the middle of a run brings the advice with the next request", async (t) => {
	const widen = (rpc: Rpc) => rpc.prompt("/turn-limit grace 4");
	const { pi } = await during(t, 2, widen, { model: endless(), env: limits(5, 1), answer: "no" });
	assert.deepEqual(seen(pi), [0, 0, 1, 1, 1]);
});

test("a grace that the command cannot take is refused with a message and changes nothing", async (t) => {
	const pi = await host(t, { model: endless(), env: limits(3, 1) });
	const rpc = await pi.rpc({ answer: "no" });
	for (const bad of ["-1", "1.5", "two", "unlimited"]) await rpc.prompt(`/turn-limit grace ${bad}`);
	assert.deepEqual(
		rpc.notifications.map(({ message, type }) => [type, message]),
		["-1", "1.5", "two", "unlimited"].map((bad) => [
			"error",
			`grace: expected a whole number from 0, got "${bad}". Nothing has changed.`,
		]),
	);
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0, 0, 1]);
});

test("a grace that the environment gets wrong is named, and the default serves", async (t) => {
	const pi = await host(t, { model: endless(), env: { PI_MAX_TURNS: "5", PI_TURN_LIMIT_GRACE: "soon" } });
	const { stderr } = await pi.print("go");
	assert.match(
		stderr,
		/^pi-turn-limit: PI_TURN_LIMIT_GRACE: expected a whole number from 0, got "soon"\. Using 2 \(default\)\.$/m,
	);
	assert.deepEqual(seen(pi), [0, 0, 0, 1, 1]);
});

// At the person's wish

test("/turn-limit wrap-up tells the model with the next request, once", async (t) => {
	const wish = (rpc: Rpc) => rpc.prompt("/turn-limit wrap-up");
	const model = [...times(4), text("My report.")];
	const { pi, rpc } = await during(t, 2, wish, { model, after: [spy] });
	assert.deepEqual(seen(pi), [0, 0, 1, 1, 1]);
	assert.equal(pi.model.turns[2]?.last, wrapUp(23));
	assert.deepEqual(rpc.notifications, [
		{ message: "The model will be told to wrap up with its next request.", type: "info" },
	]);
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

test("/turn-limit wrap-up works without any limit", async (t) => {
	const wish = (rpc: Rpc) => rpc.prompt("/turn-limit wrap-up");
	const { pi } = await during(t, 2, wish, { model: obedient, env: limits("unlimited"), after: [spy] });
	assert.deepEqual(seen(pi), [0, 0, 1]);
	assert.equal(pi.model.turns[2]?.last, wrapUp("unlimited"));
	assert.deepEqual(kinds(pi), ["wrapped_up"]);
});

test("/turn-limit wrap-up says when nothing is running, and nothing is sent", async (t) => {
	const pi = await host(t, { model: [text("finished")] });
	const rpc = await pi.rpc();
	await rpc.prompt("/turn-limit wrap-up");
	assert.deepEqual(rpc.notifications, [{ message: "Nothing is running.", type: "info" }]);
	assert.equal(pi.model.requests.length, 0);
	await rpc.run("go");
	assert.deepEqual(seen(pi), [0]);
});

test("/turn-limit wrap-up costs a run that is finishing no turn, and does not reach the next run", async (t) => {
	const wish = (rpc: Rpc) => rpc.prompt("/turn-limit wrap-up");
	const model = [mark(), text("finished"), mark(), text("finished")];
	const { pi, rpc } = await during(t, 2, wish, { model, after: [spy] });
	await rpc.run("again");
	assert.deepEqual(seen(pi), [0, 0, 0, 0]);
	assert.deepEqual(kinds(pi), ["completed", "completed"]);
});

test("/turn-limit wrap-up at an open question reaches the model after a yes", async (t) => {
	const pi = await host(t, { model: obedient, env: limits(2) });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	await rpc.prompt("/turn-limit wrap-up");
	question.yes();
	await rpc.settled();
	assert.deepEqual(seen(pi), [0, 0, 1]);
});
