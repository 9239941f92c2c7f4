/** pi itself plays the scenes: a real pi with the extension, and settings in place of options. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type Host, host, outcomes, type Reply, spy } from "../harness/index.ts";
import { defer } from "../harness/wait.ts";
import type { Scene, Seen } from "./hosts.ts";
import type { LoopReply } from "./model.ts";
import { playAll } from "./scenes.ts";

/** The scene's tool, which runs in the test's own process. */
function noop(pi: ExtensionAPI): void {
	const url = process.env["SCENE_TOOL"] ?? "";
	pi.registerTool({
		name: "noop",
		label: "noop",
		description: "Does nothing.",
		parameters: { type: "object", properties: {} },
		execute: async (_id, _args, signal) => {
			const response = await fetch(url, { method: "POST", signal: signal ?? null });
			const text = await response.text();
			if (!response.ok) throw new Error(text);
			return { content: [{ type: "text", text }], details: undefined };
		},
	});
}

/** Serves the scene's tool; gives its address. */
async function serve(t: TestContext, run: () => Promise<string>): Promise<string> {
	const server = createServer((_request, response) => {
		run().then(
			(text) => response.end(text),
			(error: unknown) => response.writeHead(500).end(String(error)),
		);
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	defer(t, () => server.close().closeAllConnections());
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The options as the variables of a pi. */
const VARIABLES = {
	...{ turns: "PI_MAX_TURNS", toolCalls: "PI_TURN_LIMIT_TOOLS", cost: "PI_TURN_LIMIT_COST" },
	...{ tokens: "PI_TURN_LIMIT_TOKENS", repeats: "PI_TURN_LIMIT_REPEATS" },
	...{ policy: "PI_TURN_LIMIT_POLICY", grace: "PI_TURN_LIMIT_GRACE" },
} as const;

function variables(options: Scene["options"]): Record<string, string> {
	const set = Object.entries<unknown>(options).filter(([name]) => name !== "ask");
	return Object.fromEntries(
		set.map(([name, value]) => {
			const variable: string | undefined = VARIABLES[name as keyof typeof VARIABLES];
			assert.ok(variable, `no variable for ${name}`);
			return [variable, String(value)];
		}),
	);
}

/** Each reply costs a quarter of a dollar, of 500 and 50 tokens. */
const COST = { input: 250, output: 2_500, cacheRead: 0, cacheWrite: 0 };

function elsewhere(): never {
	throw new Error("The run is in a process of its own.");
}

/** JSON says null in place of these. */
const UNREPORTED = { prompt: Number.NaN, completion: Number.NaN };

function overHttp({ usage = {}, ...reply }: LoopReply): Reply {
	return { ...reply, usage: usage ?? UNREPORTED };
}

async function play({ options, script, tool = () => "ok", abort }: Scene, t: TestContext): Promise<Seen> {
	let ran = 0;
	/** After the person's abort nothing is answered any more: pi hangs up. */
	const untilAborted = async <T>(value: T): Promise<T> => {
		if (abort?.signal.aborted) await new Promise(() => {});
		return value;
	};
	const url = await serve(t, async () =>
		untilAborted(String(await tool(++ran, elsewhere, { snapshot: elsewhere, environment: elsewhere }))),
	);
	const pi = await host(t, {
		model: async (request, n) => untilAborted(overHttp(await script(n, request.texts()))),
		modelFields: { cost: COST },
		before: [noop, spy],
		env: { ...variables(options), SCENE_TOOL: url },
	});
	const answer = options.ask || abort ? await prompt(pi, options.ask, abort?.signal) : (await pi.print("go")).stdout;
	const requests = pi.model.turns.map((request) => request.texts());
	return { requests, ran, outcomes: outcomes(pi), answer: answer?.trim(), error: undefined };
}

/** Through a client that can answer and abort. */
async function prompt(
	pi: Host,
	ask: Scene["options"]["ask"],
	signal = new AbortController().signal,
): Promise<string | undefined> {
	const rpc = await pi.rpc({
		answer: ({ title, message = "" }) => {
			const answer = ask?.({ title, message, lines: [], choices: [], meter: "turns" }, signal);
			return typeof answer === "boolean" ? answer : undefined;
		},
	});
	const aborted = new Promise<void>((resolve, reject) => {
		signal.addEventListener("abort", () => void rpc.abort().then(resolve, reject));
	});
	await rpc.prompt("go");
	await Promise.race([rpc.settled(), aborted]);
	const { text } = (await rpc.send({ type: "get_last_assistant_text" })) as { text: string | undefined };
	await rpc.close();
	return text;
}

const IN_A_TERMINAL = "an rpc client answers yes or no; test/pi/question-answers.test.ts plays it in a terminal";
const GOES_ON = "pi reports what an extension throws, and goes on; test/facts/loop.test.ts plays it";

playAll({
	name: "pi",
	cannot: {
		"a person's words reach the model with the next request": IN_A_TERMINAL,
		"a person who wants an answer gets a final pass": IN_A_TERMINAL,
		"an ask that throws is no answer": "a client cannot throw",
		"an abort before the first turn lets no request leave": "there is nothing to abort yet",
		"a price that throws makes the run fail, although it has its answer": "pi has prices of its own",
		"a cost that nobody knows is said once, and turns stay exact":
			"pi has prices of its own; test/pi/cost.test.ts plays a model without",
		"a hook before a request that throws makes the run fail, and nothing more leaves": GOES_ON,
		"a hook after a turn that throws makes the run fail, and nothing more leaves": GOES_ON,
		"two runs at once count apart": "a session has one run; test/tree plays several",
		"a run inside a tool counts apart": "such a run is a member of the tree; test/tree plays it",
		"a throwing onOutcome harms nothing": "a person has no such function; test/library plays it",
	},
	play,
});
