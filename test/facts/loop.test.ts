import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, fail, held, mark, overflow, type Reply, text } from "../harness/index.ts";
import { bare, kinds, said, small } from "./bare.ts";

const full: Reply = { ...mark(), usage: { prompt: 8_100 } };

// Handlers

test("handlers are awaited: a dialog in turn_start holds the request", async (t) => {
	const pi = await bare(t, (pi) => {
		pi.on("turn_start", async (_event, ctx) => {
			await ctx.ui.confirm("Wait?", "");
		});
	});
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	await rpc.send({ type: "bash", command: "true" });
	assert.equal(pi.model.requests.length, 0);
	question.yes();
	await rpc.settled();
	assert.equal(pi.model.requests.length, 1);
});

test("handlers are awaited: a dialog in turn_end holds the compaction that is due", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		pi.on("turn_end", async (_event, ctx) => {
			await ctx.ui.confirm("Wait?", "");
		});
	};
	const pi = await bare(t, extension, { ...small, model: [full, text("done")] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	const question = await rpc.question();
	await rpc.send({ type: "bash", command: "true" });
	assert.deepEqual(kinds(pi), ["turn"]);
	question.yes();
	await rpc.question();
	assert.deepEqual(kinds(pi), ["turn", "summary", "turn"]);
});

test("the handlers of one event run one after the other, in the order of loading", async (t) => {
	const slow = (pi: ExtensionAPI): void => {
		pi.on("turn_start", async () => {
			await new Promise(setImmediate);
			console.error("first");
		});
	};
	const quick = (pi: ExtensionAPI): void => void pi.on("turn_start", () => console.error("second"));
	assert.deepEqual(await said(t, [slow, quick]), ["first", "second"]);
});

for (const event of ["input", "turn_start", "tool_execution_end", "message_end", "turn_end", "agent_settled"]) {
	test(`a handler of ${event} that throws is reported, and the run goes on`, async (t) => {
		const throws = (pi: ExtensionAPI): void => {
			pi.on(process.env["THROWS_IN"] as "turn_start", () => {
				throw new Error("on purpose");
			});
		};
		const pi = await bare(t, throws, { model: [mark(), text("done")], env: { THROWS_IN: event } });
		const { stdout, stderr, code } = await pi.print("go");
		assert.match(stderr, /on purpose/);
		assert.deepEqual({ stdout, code }, { stdout: "done\n", code: 0 });
	});
}

test("pi.on gives back what unsubscribes", async (t) => {
	const once = (pi: ExtensionAPI): void => {
		const off = pi.on("turn_start", () => {
			console.error("heard");
			off();
		});
	};
	assert.deepEqual(await said(t, once, { model: [mark(), mark(), text("done")] }), ["heard"]);
});

for (const event of ["turn_start", "tool_call", "message_end"]) {
	test(`a turn_end handler registered in ${event} hears the end of that turn, and not of those after it is gone`, async (t) => {
		const listens = (pi: ExtensionAPI): void => {
			let turns = 0;
			pi.on("turn_start", () => {
				turns++;
			});
			let off: (() => void) | undefined;
			pi.on(process.env["LISTENS_IN"] as "turn_start", () => {
				off ??= pi.on("turn_end", () => console.error("end of turn", turns));
			});
			pi.on("turn_start", () => {
				if (turns === 2) off?.();
			});
		};
		const model = [mark(), mark(), text("done")];
		assert.deepEqual(await said(t, listens, { model, env: { LISTENS_IN: event } }), ["end of turn 1"]);
	});
}

// Starts and ends

/** Tells when a run starts, ends and has settled. */
function tells(pi: ExtensionAPI): void {
	for (const name of ["agent_start", "agent_end", "agent_settled"] as const) {
		pi.on(name as "agent_start", () => console.error(name));
	}
}

const again = ["agent_start", "agent_end", "agent_start", "agent_end", "agent_settled"];

test("agent_start and agent_end fire again for a retry, agent_settled once", async (t) => {
	assert.deepEqual(await said(t, tells, { model: [fail(529), text("done")] }), again);
});

test("agent_start and agent_end fire again after an overflow, agent_settled once", async (t) => {
	assert.deepEqual(await said(t, tells, { ...small, model: [mark(), overflow(), text("done")] }), again);
});

test("agent_start and agent_end fire again when an extension continues a run, agent_settled once", async (t) => {
	const continues = (pi: ExtensionAPI): void => {
		let left = 1;
		const entry = { type: "custom_message", customType: "more", content: "go on", display: true } as const;
		pi.on("agent_before_settle", ({ entries }) =>
			left-- > 0 ? { entries: [...entries, entry], continue: true } : undefined,
		);
	};
	assert.deepEqual(await said(t, [tells, continues], { model: endless(text("done")) }), again);
});

describe("agent_before_settle fires once, when pi repeats nothing any more", () => {
	const settles = (pi: ExtensionAPI): void => {
		for (const name of ["turn_start", "agent_before_settle"] as const)
			pi.on(name as "turn_start", () => console.error(name));
	};

	test("after a retry", async (t) => {
		const names = await said(t, settles, { model: [fail(529), text("done")] });
		assert.deepEqual(names, ["turn_start", "turn_start", "agent_before_settle"]);
	});

	test("after an overflow", async (t) => {
		const names = await said(t, settles, { ...small, model: [mark(), overflow(), text("done")] });
		assert.deepEqual(names, ["turn_start", "turn_start", "turn_start", "agent_before_settle"]);
	});
});

test("a failed turn has a message_end whose message says error", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		pi.on("message_end", ({ message }) => {
			if (message.role === "assistant") console.error(message.stopReason);
		});
	};
	assert.deepEqual(await said(t, extension, { model: [fail(529), text("done")] }), ["error", "stop"]);
});

test("ctx.signal is there from agent_start to agent_end, and not before or after", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		const names = ["input", "agent_start", "turn_start", "turn_end", "agent_end", "agent_settled"] as const;
		for (const name of names) pi.on(name as "agent_start", (_event, ctx) => console.error(name, typeof ctx.signal));
	};
	assert.deepEqual(await said(t, extension), [
		"input undefined",
		...["agent_start", "turn_start", "turn_end", "agent_end"].map((name) => `${name} object`),
		"agent_settled undefined",
	]);
});

// The boundary between two turns

test("compaction asks before turn_start, and after turn_end", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		for (const name of ["turn_start", "turn_end", "session_before_compact", "session_compact"] as const) {
			pi.on(name as "turn_start", () => console.error(name));
		}
	};
	const pi = await bare(t, extension, { ...small, model: [full, text("done")] });
	const { stderr } = await pi.print("go");
	assert.deepEqual(stderr.trimEnd().split("\n"), [
		...["turn_start", "turn_end", "session_before_compact", "session_compact", "turn_start", "turn_end"],
	]);
	assert.deepEqual(kinds(pi), ["turn", "summary", "turn"]);
});

test("compaction asks also after an abort in turn_end", async (t) => {
	const aborts = (pi: ExtensionAPI): void => void pi.on("turn_end", (_event, ctx) => ctx.abort());
	const pi = await bare(t, aborts, { ...small, model: [full] });
	await pi.print("go");
	assert.deepEqual(kinds(pi), ["turn", "summary"]);
});

test("session_before_compact can cancel a compaction", async (t) => {
	const cancels = (pi: ExtensionAPI): void => void pi.on("session_before_compact", () => ({ cancel: true }));
	const pi = await bare(t, cancels, { ...small, model: [full, text("done")] });
	assert.equal((await pi.print("go")).stdout, "done\n");
	assert.deepEqual(kinds(pi), ["turn", "turn"]);
});

test("session_before_compact tells a compaction that the person asks for from one that is due", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		pi.on("session_before_compact", ({ reason }, ctx) => ctx.ui.notify(reason));
	};
	const pi = await bare(t, extension, { ...small, model: [full, text("done")] });
	const rpc = await pi.rpc();
	await rpc.run("go");
	await rpc.send({ type: "compact" });
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		["threshold", "manual"],
	);
});

test("session_compact says that the turn is repeated after an answer that the context cut off, and only then", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		pi.on("session_compact", ({ reason, willRetry }) => console.error(reason, willRetry));
	};
	const truncated: Reply = { ...text("half an answ"), stop: "length" };
	const pi = await bare(t, tells, { ...small, model: [mark(), truncated, text("done")] });
	assert.equal((await pi.print("go")).stderr, "overflow true\n");
	assert.deepEqual(kinds(pi), ["turn", "turn", "summary", "turn"]);
	assert.deepEqual(await said(t, tells, { ...small, model: [full, text("done")] }), ["threshold false"]);
});

test("cache_warming_decision: stop prevents warming", async (t) => {
	const extension = (pi: ExtensionAPI): void => {
		pi.on("cache_warming_decision", ({ action }, ctx) => {
			if (action !== "warm") return undefined;
			ctx.ui.notify("about to warm");
			return { action: "stop" };
		});
	};
	const model = [{ ...mark(), usage: { prompt: 10_000 } }, held(text("done"))];
	const pi = await bare(t, extension, { model, modelFields: { promptCache: { short: 10.05 } } });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.until("warming", () => rpc.notifications.length > 0);
	await rpc.send({ type: "bash", command: "true" }); // takes longer than a request to leave
	assert.deepEqual(kinds(pi), ["turn", "turn"]);
});

// Aborts

/** Tells of every turn and every assistant message. */
function watches(pi: ExtensionAPI): void {
	pi.on("turn_start", (_event, ctx) => ctx.ui.notify(`turn_start ${ctx.signal?.aborted}`));
	pi.on("message_end", ({ message }, ctx) => {
		if (message.role === "assistant") ctx.ui.notify(`message_end ${message.stopReason}`);
	});
	pi.on("turn_end", ({ message }, ctx) => {
		if (message.role === "assistant") ctx.ui.notify(`turn_end ${message.stopReason} ${ctx.signal?.aborted}`);
	});
	pi.on("agent_end", (_event, ctx) => ctx.ui.notify(`agent_end ${ctx.signal?.aborted}`));
}

test("ctx.abort() between turns makes one more turn_start, with an aborted signal, and a message that was never requested", async (t) => {
	const aborts = (pi: ExtensionAPI): void => {
		pi.on("turn_end", (_event, ctx) => ctx.abort());
	};
	const pi = await bare(t, [watches, aborts], { model: endless() });
	const rpc = await pi.rpc();
	await rpc.run("go");
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		[
			...["turn_start false", "message_end toolUse", "turn_end toolUse false"],
			...["turn_start true", "message_end error", "turn_end error true", "agent_end true"],
		],
	);
	assert.equal(pi.model.requests.length, 1);
});

test("ctx.abort() in turn_start: the request does not leave", async (t) => {
	const aborts = (pi: ExtensionAPI): void => void pi.on("turn_start", (_event, ctx) => ctx.abort());
	const pi = await bare(t, aborts);
	await pi.print("go");
	assert.equal(pi.model.requests.length, 0);
});

test("a message that is aborted in mid-stream says so", async (t) => {
	const pi = await bare(t, watches, { model: [held(text("half"))] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await pi.model.arrival(1);
	await rpc.abort();
	assert.deepEqual(
		rpc.notifications.map(({ message }) => message),
		["turn_start false", "message_end aborted", "turn_end aborted true", "agent_end true"],
	);
});

test("an abort while a tool runs leaves a turn_end that looks normal but for the signal, and agent_end has it too", async (t) => {
	const pi = await bare(t, watches, { model: [{ calls: [{ name: "bash", args: { command: "sleep 60" } }] }] });
	const rpc = await pi.rpc();
	await rpc.prompt("go");
	await rpc.event("tool_execution_start");
	await rpc.abort();
	const told = rpc.notifications.map(({ message }) => message);
	assert.deepEqual([told[2], told.at(-1)], ["turn_end toolUse true", "agent_end true"]);
	assert.equal(pi.model.requests.length, 1);
});

test("after an abort nothing is retried", async (t) => {
	const aborts = (pi: ExtensionAPI): void => {
		pi.on("turn_end", (_event, ctx) => ctx.abort());
	};
	const pi = await bare(t, [tells, aborts], { model: [fail(529), text("done")] });
	const { stderr } = await pi.print("go");
	assert.equal(stderr.match(/agent_start/g)?.length, 1);
	assert.equal(pi.model.requests.length, 1);
});
