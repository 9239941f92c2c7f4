/** A real pi in this process does what the spec says: both play the same scripts, by the hundred. */
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import type { ExtensionAPI, ExtensionUIContext } from "@earendil-works/pi-coding-agent";
import { transition } from "../../src/core/breaker.ts";
import { isShared, kindOf, type Max, METER_IDS, type MeterId } from "../../src/core/meters.ts";
import { POLICY_IDS } from "../../src/core/policies.ts";
import type { Event } from "../../src/core/protocol.ts";
import { finalPass, NEW_RUN, pointOut, RESUMED } from "../../src/core/to-model.ts";
import { turnLimit } from "../../src/index.ts";
import { session, type Session } from "../harness/session.ts";
import type { Scope } from "../harness/wait.ts";
import { check } from "./check.ts";
import { sequence, setup } from "./events.ts";
import { Loop, RETRIES } from "./loop.ts";
import { fresh, type Input } from "./sides.ts";
import { type Act, type Amounts, type Reply, type Work, World } from "./world.ts";

const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The usage that reports these amounts; a cost is in millionths. */
function usage({ cost = 0, tokens = 0 }: Amounts) {
	return { ...NO_TOKENS, input: tokens, totalTokens: tokens, cost: { ...NO_TOKENS, total: cost / 1_000_000 } };
}

/** Time passes only where the script says so. */
let elapsed = 0;
mock.method(performance, "now", () => elapsed);

const TOOLS = ["work", "poll"];

/** The kind of a message of ours. */
function kindOfMessage(content: unknown): string {
	if (content === RESUMED) return "resume";
	if (TOOLS.some((tool) => content === pointOut({ tool, input: {} }, 3))) return "point_out";
	return METER_IDS.some((meter) => content === finalPass({ meter, limit: 0 })) ? "demand" : "advise";
}

/** Plays a script to a real session; gives everything that somebody outside can see. */
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
		// The model itself spends nothing.
		pi.on("message_end", ({ message }) => {
			return message.role === "assistant" ? { message: { ...message, usage: usage({}) } } : undefined;
		});
		for (const name of TOOLS) {
			pi.registerTool({
				...{ name, label: name, description: "Works." },
				parameters: { type: "object", properties: { path: { type: "string" }, spends: { type: "object" } } },
				execute: async (_id, args) => {
					log.push(name);
					await perform(world.moment());
					const { spends } = args as Work["args"];
					elapsed += spends.time ?? 0;
					return { content: [{ type: "text", text: "done" }], details: undefined, usage: usage(spends) };
				},
			});
		}
	};
	const after = (pi: ExtensionAPI): void => {
		pi.on("context", async ({ messages }, { signal }) => {
			if (signal?.aborted) return;
			const since = messages.findLastIndex(({ role }) => role !== "custom" && role !== "user");
			// Pi's transcript keeps what the final pass was told, so the host takes it back with the next prompt; the core does not know.
			const ours = messages.slice(since + 1).filter((message) => message.role === "custom");
			const told = ours.map(({ content }) => content).filter((content) => content !== NEW_RUN);
			const next = world.request();
			log.push(["turn", ...told.map(kindOfMessage)].join(" "));
			for (const act of next.acts) await perform(act);
			reply = next.reply;
		});
	};
	const confirm: ExtensionUIContext["confirm"] = async (title, _message, options) => {
		log.push(`ask ${METER_IDS.find((id) => title.startsWith(kindOf(id).title))}`);
		await setImmediate();
		while (!options?.signal?.aborted) {
			const next = world.question();
			if (next.type === "answer" && next.answer === "none") throw new Error("The dialog is gone.");
			if (next.type === "answer") return next.answer === "yes";
			await perform(next);
		}
		return false;
	};

	const { meters, grace, exempt } = events.reduce((state, event) => transition(state, event)[0], fresh(attended));
	const written = (id: MeterId, max: Max): Max => (max === "unlimited" ? max : kindOf(id).unit.write(max));
	const limit = turnLimit({
		...Object.fromEntries(HERE.map((id) => [id, { ...meters[id].limit, max: written(id, meters[id].limit.max) }])),
		grace,
		repeatsExcept: exempt,
		onOutcome: (outcome) => log.push(JSON.stringify(outcome)),
	});
	const real: Session = await session(scope, {
		extensions: [before, limit, after],
		...(attended ? { ui: { confirm } } : {}),
		settings: { retry: { baseDelayMs: 1, maxRetries: RETRIES } },
		reply: () => {
			if (reply.type === "aborted") void real.session.abort();
			if (reply.type === "failure") return { failure: { status: 529, message: "overloaded" } };
			const { calls, hasText } = reply.type === "message" ? reply : { calls: [], hasText: true };
			return { text: hasText ? "text" : "", calls: [...calls] };
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

/** A fleet's budget needs a server: test/fleet has it. */
const HERE = METER_IDS.filter((id) => kindOf(id).scope !== "fleet");

/** Plays a script to the spec and to a real session; their logs have to agree. */
async function compare(attended: boolean, all: readonly Event[], script: readonly Input[]): Promise<void> {
	const events = all.filter((event) => !("meter" in event) || HERE.includes(event.meter));
	const undos: (() => unknown)[] = [];
	const scope: Scope = { after: (undo) => undos.push(undo) };
	try {
		const expected = new Loop(attended, events, new World(attended, script)).play();
		for (const line of expected) seen.add(/"kind":"(\w+)"/.exec(line)?.[1] ?? line);
		assert.deepEqual(await play(scope, attended, events, new World(attended, script)), expected);
	} finally {
		for (const undo of undos) await undo();
	}
}

const likeTheSpec = fc.asyncProperty(setup, sequence(40), ({ attended, events }, script) =>
	compare(attended, events, script),
);

test("a real session shows what the spec says", async () => {
	await check(likeTheSpec, 60, 25);
});

/** A turn with one call, always the same, that spends some of a meter. */
function turnThatSpends(id: MeterId): readonly Input[] {
	const isAmount = kindOf(id).known === "after";
	return [
		{ type: "tool_call_requested", call: { tool: "work", input: {} } },
		...(isAmount ? [{ type: "charged", amounts: { [kindOf(id).of]: 10 } } as const] : []),
		{ type: "turn_ended", goesOn: true },
	];
}

for (const id of HERE) {
	test(`a real session asks about ${id}, goes on and stops as the spec says`, async () => {
		const turns = Array.from({ length: 5 }, () => turnThatSpends(id)).flat();
		const [yes, no] = (["yes", "no"] as const).map((answer) => ({ type: "answered", answer }) as const);
		const script = [{ type: "prompted" } as const, ...turns, yes!, ...turns, yes!, ...turns, no!];
		const max = kindOf(id).known === "after" ? 40 : 4;
		const limits = HERE.map((meter) => {
			return { type: "limit_set", meter, max: meter === id ? max : "unlimited" } as const;
		});
		// Half of the pairs, and the other half for the next meter.
		for (const [i, policy] of POLICY_IDS.entries()) {
			const events = [...limits, { type: "policy_set", meter: id, policy } as const];
			await compare((HERE.indexOf(id) + i) % 2 === 0, events, script);
		}
	});
}

for (const meter of HERE.filter((id) => kindOf(id).of === "turns")) {
	test(`a real session works on where ${meter} are raised in the final pass, which chance seldom brings`, async () => {
		const limits: readonly Event[] = [
			{ type: "limit_set", meter: "turns", max: "unlimited" },
			{ type: "limit_set", meter, max: 1 },
			{ type: "policy_set", meter, policy: "synthesize" },
		];
		const turns = Array.from({ length: 5 }, () => turnThatSpends(meter)).flat();
		await compare(false, limits, [
			{ type: "prompted" },
			{ type: "turn_ended", goesOn: true },
			{ type: "tool_call_requested", call: { tool: "work", input: {} } },
			{ type: "limit_raised", meter, by: 3 },
			{ type: "turn_ended", goesOn: true },
			...turns,
		]);
	});
}

for (const meter of HERE.filter(isShared)) {
	test(`a real session that is aborted before its first turn does not wait for the ledger about ${meter}, which chance seldom brings`, async () => {
		await compare(false, [{ type: "limit_set", meter, max: 0 }], [{ type: "prompted" }, { type: "interrupted" }]);
	});
}

test("a real session that is aborted before its first turn is interrupted at a limit of 0 too, which chance seldom brings", async () => {
	const limits = [{ type: "limit_set", meter: "sessionTurns", max: 0 } as const];
	for (const attended of [true, false]) {
		for (const begin of [{ type: "prompted" }, { type: "turn_requested" }] as const)
			await compare(attended, limits, [begin, { type: "interrupted" }]);
	}
});

test("a real session counts what a call spends after a limit that was raised beside the call, which chance seldom brings", async () => {
	const call: Input = { type: "tool_call_requested", call: { tool: "work", input: {} } };
	await compare(
		false,
		[{ type: "limit_set", meter: "cost", max: 10 }],
		[
			{ type: "prompted" },
			...[{ type: "charged", amounts: { cost: 30 } } as const, call, { type: "turn_ended", goesOn: true } as const],
			...[
				{ type: "limit_raised", meter: "turns", by: 1 } as const,
				{ type: "limit_raised", meter: "cost", by: 10 } as const,
			],
		],
	);
});

test("a real session fails as the spec says where every repetition of a turn fails, which chance seldom brings", async () => {
	const failures = Array.from({ length: RETRIES + 1 }, () => ({ type: "turn_failed", message: "overloaded" }) as const);
	await compare(false, [], [{ type: "prompted" }, ...failures]);
	assert.ok(seen.has("failed"));
});

test("in doing so every question is asked, every message given, every outcome reached", async () => {
	const all = [
		...HERE.map((id) => `ask ${id}`),
		...["work", "poll", "completed", "declined", "exhausted", "failed", "interrupted", "synthesized", "wrapped_up"],
		...["turn", "turn advise", "turn demand", "turn point_out", "turn resume"],
	].sort();
	const found = (): string[] => [...seen].filter((line) => !/^turn \w+ /.test(line)).sort();
	// The sequences of one day need not bring everything.
	for (let more = 0; more < 40 && found().length < all.length; more++) await check(likeTheSpec, 25);
	assert.deepEqual(found(), all);
});
