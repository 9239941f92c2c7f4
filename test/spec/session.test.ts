/** A real pi in this process does what the spec says: scripts by the hundred, played to both. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import type { ExtensionAPI, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { finalPass, METERS } from "../../src/core/wording.ts";
import { turnLimit } from "../../src/index.ts";
import { type Event, METER_IDS, perMeter } from "../../src/core/state.ts";
import { session, type Session } from "../harness/session.ts";
import type { Scope } from "../harness/wait.ts";
import { check } from "./check.ts";
import { setup, weighted } from "./events.ts";
import { Loop, RETRIES } from "./loop.ts";
import { fresh } from "./sides.ts";
import { type Act, type Reply, World } from "./world.ts";
import { transition } from "../../src/core/breaker.ts";

/** Plays a script to a real session; gives what somebody outside can see. */
async function play(scope: Scope, attended: boolean, events: readonly Event[], world: World): Promise<string[]> {
	const log: string[] = [];
	let reply: Reply = { type: "failure" };
	const perform = async (act: Act | undefined): Promise<void> => {
		if (act?.type === "abort") void real.session.abort();
		if (act?.type === "steer") await real.session.prompt("and", { streamingBehavior: "steer" });
		if (act?.type === "command") await real.session.prompt(act.text);
	};

	const before = (pi: ExtensionAPI): void => {
		pi.on("turn_start", async () => await perform(world.moment()));
		pi.on("turn_end", async () => await perform(world.moment()));
		pi.registerTool({
			...{ name: "work", label: "work", description: "Works.", parameters: { type: "object", properties: {} } },
			execute: async () => {
				log.push("call");
				await perform(world.moment());
				return { content: [{ type: "text", text: "done" }], details: undefined };
			},
		});
	};
	const after = (pi: ExtensionAPI): void => {
		pi.on("context", async ({ messages }, { signal }) => {
			if (signal?.aborted) return;
			const since = messages.findLastIndex(({ role }) => role !== "custom" && role !== "user");
			const told = messages.slice(since + 1).flatMap((message) => {
				if (message.role !== "custom") return [];
				return message.content === finalPass({ meter: "turns", limit: 0 }) ? ["demand"] : ["advise"];
			});
			const next = world.request();
			log.push(["turn", ...told].join(" "));
			for (const act of next.acts) await perform(act);
			reply = next.reply;
		});
	};
	const confirm: ExtensionUIContext["confirm"] = async (title, _message, options) => {
		log.push(`ask ${METER_IDS.find((id) => title.startsWith(METERS[id].limit))}`);
		await setImmediate();
		while (!options?.signal?.aborted) {
			const next = world.question();
			if (next.type === "answer" && next.answer === "none") throw new Error("The dialog is gone.");
			if (next.type === "answer") return next.answer === "yes";
			await perform(next);
		}
		return false;
	};

	const { meters, grace } = events.reduce((state, event) => transition(state, event)[0], fresh(attended));
	const limit = turnLimit({
		...perMeter((id) => meters[id].limit),
		grace,
		onOutcome: (outcome) => log.push(JSON.stringify(outcome)),
	});
	const real: Session = await session(scope, {
		extensions: [before, limit, after],
		...(attended ? { ui: { confirm } } : {}),
		settings: { retry: { baseDelayMs: 1, maxRetries: RETRIES } },
		reply: () => {
			if (reply.type === "aborted") void real.session.abort();
			if (reply.type === "failure") return { failure: { status: 529, message: "overloaded" } };
			const calls = reply.type === "message" ? reply.calls : 0;
			return { text: "text", calls: Array.from({ length: calls }, () => ({ name: "work", args: {} })) };
		},
	});
	real.session.subscribe(({ type }) => {
		if (type === "auto_retry_start") void perform(world.moment());
	});
	for (let next = world.idle(); next !== undefined; next = world.idle()) {
		if (next.type !== "prompt") await perform(next);
		else if (next.by === "person") await real.prompt("go");
		else await real.session.sendUserMessage("go on");
	}
	assert.deepEqual(real.errors, []);
	return log;
}

/** Lines of all logs; of an outcome its kind. */
const seen = new Set<string>();

test("a real session shows what the spec says", async () => {
	const script = fc.array(fc.oneof(...weighted), { maxLength: 40, size: "max" });
	const property = fc.asyncProperty(setup, script, async ({ attended, events }, script) => {
		const undos: (() => unknown)[] = [];
		const scope: Scope = { after: (undo) => undos.push(undo) };
		try {
			const expected = new Loop(attended, events, new World(script)).play();
			for (const line of expected) seen.add(/"kind":"(\w+)"/.exec(line)?.[1] ?? line);
			assert.deepEqual(await play(scope, attended, events, new World(script)), expected);
		} finally {
			for (const undo of undos) await undo();
		}
	});
	await check(property, 220);
});

test("in doing so every question is asked, every message given, every outcome reached", () => {
	assert.deepEqual([...seen].filter((line) => !line.startsWith("turn advise ")).sort(), [
		...["ask toolCalls", "ask turns", "call", "completed", "declined", "exhausted", "failed", "interrupted"],
		...["synthesized", "turn", "turn advise", "turn demand", "wrapped_up"],
	]);
});
