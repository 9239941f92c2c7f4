import assert from "node:assert/strict";
import { test } from "node:test";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { calls, mark, text } from "../harness/index.ts";
import { bare, said } from "./bare.ts";

/** `goOn` and `finish` tell that they run; `finish` terminates. */
function tools(pi: ExtensionAPI): void {
	for (const name of ["goOn", "finish"]) {
		pi.registerTool({
			...{ name, label: name, description: name },
			parameters: { type: "object", properties: { how: { type: "string" } } },
			execute: () => {
				console.error(`${name} runs`);
				return Promise.resolve({ content: [], details: {}, terminate: name === "finish" });
			},
		});
	}
}

const call = (name: string, args = {}) => ({ name, args });

test("a blocked call does not run, and the model reads the reason as its result", async (t) => {
	const blocks = (pi: ExtensionAPI): void => {
		pi.on("tool_call", async () => {
			await new Promise(setImmediate);
			return { block: true, reason: "Not today." };
		});
	};
	const pi = await bare(t, blocks, { model: [mark(), text("done")] });
	assert.equal((await pi.print("go")).stdout, "done\n");
	assert.deepEqual(pi.marks(), []);
	assert.equal(pi.model.requests[1]?.last, "Not today.");
});

test("a tool_call handler that throws blocks that call, and the run goes on", async (t) => {
	const throws = (pi: ExtensionAPI): void => {
		pi.on("tool_call", ({ input }) => {
			if (JSON.stringify(input).includes("echo a")) throw new Error("on purpose");
		});
	};
	const pi = await bare(t, throws, { model: [mark("a", "b"), text("done")] });
	assert.equal((await pi.print("go")).stdout, "done\n");
	assert.deepEqual(pi.marks(), ["b"]);
});

test("in a batch every call passes tool_call, one after the other, before the first of them runs", async (t) => {
	const slow = (pi: ExtensionAPI): void => {
		pi.on("tool_call", async ({ toolName }) => {
			console.error(`${toolName} asks`);
			await new Promise(setImmediate);
			console.error(`${toolName} may`);
		});
	};
	const model = [calls(call("goOn"), call("finish")), text("done")];
	const [first, second, third, fourth, ...ran] = await said(t, [slow, tools], { model });
	assert.deepEqual([first, second, third, fourth], ["goOn asks", "goOn may", "finish asks", "finish may"]);
	assert.deepEqual(ran.sort(), ["finish runs", "goOn runs"]);
});

test("calls of unknown tools and with invalid arguments do not reach tool_call", async (t) => {
	const tells = (pi: ExtensionAPI): void =>
		void pi.on("tool_call", ({ input }) => console.error(JSON.stringify(input)));
	const batch = calls(call("noSuchTool"), call("goOn", { how: ["wrong"] }), call("goOn", { how: "well" }));
	assert.deepEqual(await said(t, [tells, tools], { model: [batch, text("done")] }), ['{"how":"well"}', "goOn runs"]);
});

test("after a block the handlers of later extensions do not see the call", async (t) => {
	const blocks = (pi: ExtensionAPI): void => void pi.on("tool_call", () => ({ block: true }));
	const tells = (pi: ExtensionAPI): void => void pi.on("tool_call", () => console.error("seen"));
	const model = [mark(), text("done")];
	assert.deepEqual(await said(t, [blocks, tells], { model }), [""]);
	assert.deepEqual(await said(t, [tells, blocks], { model }), ["seen"]);
});

for (const [batch, requests] of [
	[["finish", "finish"], 1],
	[["finish", "goOn"], 2],
] as const) {
	test(`after a batch of ${batch.join(" and ")} ${requests} requests have left, and tool_execution_end shows who terminates`, async (t) => {
		const tells = (pi: ExtensionAPI): void => {
			pi.on("tool_execution_end", ({ toolName, result }) =>
				console.error(toolName, (result as { terminate?: boolean }).terminate),
			);
		};
		const model = [calls(...batch.map((name) => call(name))), text("done")];
		const pi = await bare(t, [tools, tells], { model });
		const { stderr } = await pi.print("go");
		for (const name of batch) assert.match(stderr, new RegExp(`${name} ${name === "finish"}`));
		assert.equal(pi.model.requests.length, requests);
	});
}

test("turn_end carries the results of the turn's tool calls, by id", async (t) => {
	const tells = (pi: ExtensionAPI): void => {
		const ids: string[] = [];
		pi.on("tool_execution_end", ({ toolCallId }) => void ids.push(toolCallId));
		pi.on("turn_end", ({ toolResults }) =>
			console.error(
				toolResults.length,
				toolResults.every(({ toolCallId }) => ids.includes(toolCallId)),
			),
		);
	};
	assert.deepEqual(await said(t, tells, { model: [mark("a", "b"), text("done")] }), ["2 true", "0 true"]);
});
