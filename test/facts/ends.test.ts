import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { endless, fail, held, mark, text } from "../harness/index.ts";
import { bare } from "./bare.ts";

/** Aborts after the first turn. */
function aborts(pi: ExtensionAPI): void {
	pi.on("turn_end", (_event, ctx) => ctx.abort());
}

/** Gives the message that pi makes after an abort a reason. */
function explains(pi: ExtensionAPI): void {
	pi.on("message_end", ({ message }) => {
		if (message.role !== "assistant" || message.stopReason !== "error") return undefined;
		return { message: { ...message, stopReason: "aborted", errorMessage: "My reason." } };
	});
}

// Print and json

test("an aborted run prints nothing, says one line on stderr and exits with 1", async (t) => {
	const pi = await bare(t, aborts, { model: endless({ ...text("Working."), ...mark() }) });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual({ stdout, code }, { stdout: "", code: 1 });
	assert.match(stderr, /^.+\n$/);
});

test("message_end may change the errorMessage that -p prints", async (t) => {
	const pi = await bare(t, [aborts, explains], { model: endless() });
	const { stdout, stderr, code } = await pi.print("go");
	assert.deepEqual({ stdout, stderr, code }, { stdout: "", stderr: "My reason.\n", code: 1 });
});

test("json exits with 0, whatever happened", async (t) => {
	const failed = await bare(t, [], { model: [fail(400, "No such model")] });
	assert.equal((await failed.json("go")).code, 0);
	const aborted = await bare(t, aborts, { model: endless() });
	assert.equal((await aborted.json("go")).code, 0);
});

test("process.exitCode survives json", async (t) => {
	const exits = (pi: ExtensionAPI): void => void pi.on("agent_settled", () => void (process.exitCode = 7));
	const pi = await bare(t, [aborts, exits], { model: endless() });
	assert.equal((await pi.json("go")).code, 7);
});

for (const [how, extensions] of [
	["failed", [aborts]],
	["well", []],
] as const) {
	test(`a process exit listener has the last word in print, after a run that ended ${how}`, async (t) => {
		const exits = (pi: ExtensionAPI): void => {
			pi.on("agent_settled", () => {
				process.once("exit", (code) => {
					console.error("pi says", code);
					process.exitCode = 7;
				});
			});
		};
		const pi = await bare(t, [...extensions, exits], { model: [mark(), text("done")] });
		const { stderr, code } = await pi.print("go");
		assert.equal(code, 7);
		assert.match(stderr, how === "failed" ? /pi says 1/ : /pi says 0/);
	});
}

for (const [signal, code] of [
	["SIGTERM", 143],
	["SIGHUP", 129],
] as const) {
	test(`after ${signal} a process exit listener is given ${code}`, async (t) => {
		const tells = (): void => {
			process.once("exit", (code) => console.error("pi says", code));
		};
		const pi = await bare(t, tells, { model: [held(text("never"))] });
		const run = pi.start("-p", "go");
		await pi.model.arrival(1);
		run.child.kill(signal);
		const ended = await run.ended();
		assert.equal(ended.code, code);
		assert.match(ended.stderr, new RegExp(`pi says ${code}`));
	});
}

test("console.error goes to stderr, and stdout stays pi's", async (t) => {
	const tells = (pi: ExtensionAPI): void => void pi.on("agent_settled", () => console.error("over"));
	const pi = await bare(t, tells);
	const { stdout, stderr } = await pi.print("go");
	assert.deepEqual({ stdout, stderr }, { stdout: "done\n", stderr: "over\n" });
});

// What was queued

for (const kind of ["steer", "followUp"] as const) {
	test(`over rpc a message (${kind}) that is queued at an abort is pending then, and the model sees it after the next prompt`, async (t) => {
		const abortsOnce = (pi: ExtensionAPI): void => {
			let left = 1;
			pi.on("turn_end", (_event, ctx) => {
				ctx.ui.notify(String(ctx.hasPendingMessages()));
				if (left-- > 0) ctx.abort();
			});
		};
		const slow = held();
		const pi = await bare(t, abortsOnce, { model: [slow, text("one"), text("two")] });
		const rpc = await pi.rpc();
		await rpc.prompt("go");
		await pi.model.arrival(1);
		await rpc[kind]("look left");
		slow.release();
		await rpc.settled();
		assert.equal(rpc.notifications[0]?.message, "true");
		assert.equal(pi.model.requests.length, 1);
		await rpc.run("again");
		assert.equal(pi.model.requests.at(-1)?.count("look left"), 1);
		assert.equal(rpc.notifications.at(-1)?.message, "false");
	});
}

test("in the terminal an abort puts what was queued back into the editor, and nothing is pending", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		pi.on("agent_settled", (_event, ctx) => ctx.ui.notify(`pending: ${ctx.hasPendingMessages()}`));
	};
	const slow = held();
	const pi = await bare(t, [aborts, tells], { model: [slow] });
	const tui = await pi.terminal();
	tui.type("go\r");
	await pi.model.arrival(1);
	tui.type("look left\r");
	await tui.shows("Steering: look left");
	slow.release();
	await tui.shows("pending: false");
	await tui.shows(/─\nlook left\n─/);
});

for (const [stopReason, hint] of [
	["error", true],
	["aborted", false],
] as const) {
	test(`in the terminal a reason of ours that says ${stopReason} is shown ${hint ? "with" : "without"} a hint to report a bug`, async (t) => {
		const explains = (pi: ExtensionAPI): void => {
			pi.on("message_end", ({ message }) => {
				if (message.role !== "assistant" || message.stopReason !== "error") return undefined;
				const stopReason = process.env["STOP_REASON"] as "error" | "aborted";
				return { message: { ...message, stopReason, errorMessage: "My reason." } };
			});
			pi.on("agent_settled", (_event, ctx) => ctx.ui.notify("settled"));
		};
		const pi = await bare(t, [aborts, explains], { model: endless(), env: { STOP_REASON: stopReason } });
		const tui = await pi.terminal();
		tui.type("go\r");
		assert.equal(/sends a report/.test(await tui.shows("settled")), hint);
	});
}
